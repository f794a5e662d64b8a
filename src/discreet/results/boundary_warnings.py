"""Warnings that an outcome's bounds cut it off, from released counts."""

from __future__ import annotations

from discreet.core.arrays import Floats
from discreet.released.moments import ReleasedMoments
from discreet.results.summary import number

_SURE, _TIMES, _LEAST = 4.0, 2.0, 0.02
"""A pile at a bound is this many sds of noise and this many times as high as the part next to it, which is not empty,
and has this share of all rows."""


def remarks(released: ReleasedMoments, target: str) -> tuple[str, ...]:
    """Return warnings about an outcome's bounds; none where they seem wide enough or no counts were released."""
    column = (released.certificate.declared or released.domain).columns.get(target)
    held = [
        (block, counts)
        for block, counts in released.arrays.items()
        if block.statistic == "counts" and block.columns == (target,) and block.span is None
    ]
    if column is None or column.bounds is None or not held:
        return ()
    (low, high), (block, counts) = column.bounds, held[0]
    ends = [("upper", high, counts[::-1])]
    if low != 0:  # many outcomes are 0 and cannot be less
        ends.append(("lower", low, counts))
    return tuple(
        f"Many values of {target} lie at its {side} bound, {number(end)}. If others were cut off there, coefficients "
        "are too small: release again with wider bounds, if people can have such values."
        for side, end, own in ends
        if is_piled(own, block.sd)
    )


def is_piled(counts: Floats, sd: float) -> bool:
    """Whether there is a pile in the first of some counts."""
    first, second = float(counts[0]), float(counts[1])
    clear = first - second > _SURE * sd * 2**0.5 and second > _SURE * sd
    return clear and first > _TIMES * second and first > _LEAST * float(counts.sum())
