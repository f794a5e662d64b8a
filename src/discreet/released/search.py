"""The result of a search for bounds: the share of the rows that seem to lie outside of what was found."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from discreet.core.arrays import Bools
from discreet.domain.kinds.searched import LEAST, POWERS
from discreet.drivers.replay import Mismatch
from discreet.released.moments import ReleasedMoments
from discreet.statistics.searching import MAGNITUDES, PARTS


class Outside(NamedTuple):
    """The share of the rows beyond the bounds of a column, the sd of its noise, and whether anything was seen of it."""

    share: float
    sd: float
    seen: bool = True

    @property
    def words(self) -> str:
        """The share that it is hardly above, four sds of noise included.

        Examples
        --------
        >>> Outside(0.01, 0.005).words, Outside(0.1, 0.4).words, Outside(0.5, 0.1, seen=False).words
        ('below 3.0 %', 'not known', 'nothing was seen')
        """
        most = max(self.share, 0.0) + 4 * self.sd
        return ("not known" if most >= 1 else f"below {100 * most:.1f} %") if self.seen else "nothing was seen"


def outside(released: ReleasedMoments) -> dict[str, Outside]:
    """Return, for each column whose bounds were searched for, the noisy share of rows beyond them.

    Rows are counted in the parts of the wide bounds; those beyond these are in the first or the last part. Where such a
    part lies within the bounds that were found, rows are counted in the powers of two beyond instead. The same counts
    chose the bounds, so the share tends to be too low, by up to a few sds.
    """
    certificate = released.certificate
    if certificate.searched is None:
        return {}
    arrays = released.arrays
    powers, parts = (
        {block.columns[0]: (block.sd, own) for block, own in arrays.items() if block.kind is kind}
        for kind in (MAGNITUDES, PARTS)
    )
    found, unseen, (_, wide) = {}, certificate.unseen(released.values), certificate.encodings(released.values)
    for name in certificate.searched.searched:
        column: Any = certificate.domain.columns[name]
        declared: Any = certificate.searched.columns[name]
        widest: Any = wide.columns[name]
        centre, half = wide.map(name)
        (far_sd, far), (sd, counts) = powers[name], parts[name]
        middles = centre + half * ((np.arange(len(counts)) + 0.5) * 2 / len(counts) - 1)
        origin, total, variance = declared.origin, 0.0, 0.0
        for sign, end, first in ((-1, column.low, widest.low), (1, column.high, widest.high)):
            if end in (declared.low, declared.high):
                continue
            own, beyond, noise = counts, sign * middles > sign * end, sd
            if abs(end - first) < half / len(counts):
                own, noise = far, far_sd
                beyond = _beyond(sign * (end - origin))[::sign]
            total, variance = total + float(own[beyond].sum()), variance + noise**2 * int(beyond.sum())
        rows = max(float(counts.sum()), sd * math.sqrt(len(counts)))
        found[name] = Outside(total / rows, math.sqrt(variance) / rows, name not in unseen)
    return found


def outside_words(released: ReleasedMoments) -> tuple[str, ...]:
    """Say what share of the rows may lie beyond bounds that were found; nothing where all were declared.

    A file whose values do not lead to its bounds tells none; its check says why.
    """
    try:
        beyond = outside(released)
    except Mismatch:
        return ()
    shown = ", ".join(f"{name} {own.words}" for name, own in list(beyond.items())[:8])
    more = f", and {len(beyond) - 8} more" if len(beyond) > 8 else ""
    return (f"Rows beyond the bounds that were found, by noisy counts: {shown}{more}.",) if beyond else ()


def _beyond(high: float) -> Bools:
    """Whether cells by sign and power of two, from the largest negative power on, lie beyond a distance.

    Examples
    --------
    >>> [int(_beyond(high).sum()) for high in (1.0, 0.5, 0.0, -1.0)]
    [61, 62, 101, 142]
    """
    powers = np.ldexp(1.0, np.arange(POWERS) + LEAST)
    least = np.concatenate([[-math.inf], -powers[:0:-1], [-powers[0], 0.0], powers[1:]])
    found: Bools = least >= high
    return found
