r"""Gaussian noise on a sample of the rows beside Gaussian releases of all rows: the curve at a row's own mu.

The curve of both is the mean of the sample's (``privacy.sampled``) over the loss of the Gaussian part. That is made
discrete as in the certificate, by a curve that joins points of the Gaussian one linearly in e^epsilon: so the result is
never too small (``docs/mathematics.md``, 9.4). On a grid coarser than the certificate's it is a few per cent too large
at most, and epsilon less than 1e-3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.checks import Neighbors
from discreet.privacy.events.sampled import sampled
from discreet.privacy.laws import Law, Point, gaussian_curve

Floats = NDArray[np.float64]

LEVELS = 24
"""To which mu is rounded up where several releases of samples are convolved."""

_GRID = np.linspace(-1, 1, 321)[:, None]
_REACH = 9.0
_BESIDE, _LEAST = 1e-4, 1e-8  # mu of the Gaussian part is at least this: relative to that of the sample, and at all
_UP = 1 + 1e-8


@dataclass(frozen=True)
class SampledCurve:
    """Noise on a sample, from the mu that it would have on all rows, for each row.

    Parameters
    ----------
    rate : float
        q: how likely a row is in the sample.
    neighbors : {"add-remove", "replace-one"}
        The relation, and with it the sampling.

    Examples
    --------
    >>> one = np.ones(1)
    >>> SampledCurve(0.1, "add-remove").delta(0.2 * one, 0.1 * one, one[None]).round(3)
    array([0.013])
    """

    width: ClassVar[int] = 1
    failure: ClassVar[float] = 0.0

    rate: float
    neighbors: Neighbors

    def delta(self, epsilon: Floats, mu: Floats, statistics: Floats) -> Floats:
        """The worse of the directions."""
        size = self.size(statistics)
        losses, masses, infinite = _discrete(np.maximum(mu, np.maximum(_BESIDE * size, _LEAST)))
        own: Any = np.maximum(statistics[0], 1e-100)
        ways = sampled(self.rate, own, self.neighbors).ways
        found = np.max([(masses * way(epsilon - losses)).sum(axis=0) for way in ways], axis=0) + infinite
        return np.where((size > 0) | (mu > 0), np.minimum(found * _UP, 1.0), 0.0)

    def size(self, statistics: Floats) -> Floats:
        """About q mu."""
        found: Floats = self.rate * statistics[0]
        return found

    def levels(self, mu: Floats, top: float) -> tuple[tuple[Law, ...], Floats]:
        """Laws at a few mu, evenly on a log scale over three powers of two up to the top; and the place of each row."""
        mus = top * 2.0 ** (3 * (np.arange(1, LEVELS + 1) - LEVELS) / LEVELS)
        laws: tuple[Law, ...] = (Point(0.0), *(sampled(self.rate, float(one), self.neighbors) for one in mus))
        return laws, np.where(mu > 0, np.minimum(np.searchsorted(mus, mu * (1 - 2.0**-40)) + 1.0, LEVELS), 0.0)


def _discrete(mu: Floats) -> tuple[Floats, Floats, Floats]:
    """Losses, their probabilities and that of an infinite one: the pair whose curve joins points of the mu-GDP one."""
    losses = (_REACH * mu + mu**2 / 2) * _GRID
    a, curve = np.exp(losses), gaussian_curve(mu, losses)  # type: ignore[arg-type]
    first, last = (1 - curve[:1]) / a[:1], np.zeros_like(a[:1])
    slope = np.concatenate([first, -np.diff(curve, axis=0) / np.diff(a, axis=0), last])
    return losses, np.maximum(-np.diff(slope, axis=0), 0.0) * a, curve[-1]
