"""Where an outcome lies and how far it spreads, from two levels of noisy counts: ``docs/mathematics.md``, section 12.1.

Outcomes are taken to follow a law of a centre m and a spread s, three parts normal and one part Cauchy. With c the
noisy counts over a span and n the number of rows, which is noisy itself,

    c_j | n, m, s ~ N(n p_j(m, s), sd^2 + (misfit n)^2)
    s  log-uniform,   m | s ~ N(0, s^2) with odds 100 : 1 against uniform on [-1, 1]

on a grid of (n, m, s). Where noise drowns the counts, m stays at the middle of the declared bounds: a centre that is
found in noise would be worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from discreet.core.arrays import Floats
from discreet.privacy.events.gaussian import BINS, CELLS, Span
from discreet.released.solve.outcome import shares, trusted

_SPREADS = np.geomspace(0.004, 1.0, 24)
_CENTRES = (97, 65)
"""Points of the grid of m: over the whole range, and over a span of it."""

_ROWS = np.linspace(-2.5, 2.5, 11)
"""The grid of n, in sds of its noise."""

_ODDS = 100.0
_HEAVY = 0.25
_MISFIT = 0.03
_REACH = 3.5
"""The span of the second level reaches this many sds of an outcome to each side of its centre."""

WHOLE: Span = (-1.0, 1.0)


class Counts(NamedTuple):
    """Noisy counts of an outcome over 16 equal parts of a span, and the sd of their noise."""

    values: Floats
    span: Span
    sd: float

    @property
    def edges(self) -> Floats:
        """The ends of the parts."""
        return np.linspace(*self.span, BINS + 1)


class Hypothesis(NamedTuple):
    """One explanation of the counts: its probability, and mean and variance of the outcome's centre."""

    probability: float
    mean: float
    variance: float


@dataclass(frozen=True, eq=False)
class Location:
    """What noisy counts tell of an outcome, in its mapped units.

    Parameters
    ----------
    rows : float
        The number of rows.
    centre, spread : float
        Where the outcome lies, and how far it spreads; 0 where that is not known.
    hypotheses : tuple of Hypothesis
        What its mean may be.

    Examples
    --------
    >>> counts = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 700, 200, 0, 0, 0.0])
    >>> found = locate([Counts(counts, WHOLE, 1.0)], (1000.0, 0.0))
    >>> round(found.centre, 2), found.spread < 0.2
    (0.45, True)
    """

    rows: float
    centre: float
    spread: float
    hypotheses: tuple[Hypothesis, ...]


def rows_of(counts: Sequence[Counts]) -> tuple[float, float]:
    """The number of rows and the sd of its noise, where counts over the whole range are all that tells it."""
    first = counts[0]
    return max(float(first.values.sum()), first.sd * math.sqrt(BINS)), first.sd * math.sqrt(BINS)


def next_span(counts: Counts, rows: tuple[float, float], *, centred: bool = True) -> Span:
    """The span, made of cells, in which an outcome should be counted again."""
    p, M, S, _ = _posterior([counts], rows, counts.span, _CENTRES[0], centred=centred)
    m = float(p @ M)
    half = min(1.0, _REACH * math.sqrt(float(p @ ((M - m) ** 2 + S**2))) + 2 / BINS / 4)
    cell, parts = 2 / CELLS, BINS
    low = math.floor(max(-1.0, m - half) / cell) * cell
    width = math.ceil((min(1.0, m + half) - low) / (cell * parts)) * parts * cell
    high = low + width
    return (low, high) if high <= 1 else (max(1 - width, -1.0), 1.0)


def locate(counts: Sequence[Counts], rows: tuple[float, float], *, centred: bool = True) -> Location:
    """Where the outcome lies.

    Parameters
    ----------
    counts : sequence of Counts
        Over the whole range, and over a span of it; none where the first stage is to tell the spread.
    rows : tuple of float
        The number of rows, noisy or declared, and the sd of its noise.
    centred : bool
        Whether the model has an intercept; without one the centre is 0.
    """
    if not counts:
        return Location(max(rows[0], rows[1], 1.0), 0.0, 0.0, (Hypothesis(1.0, 0.0, 0.0),))
    p, M, S, n = _posterior(counts, rows, counts[-1].span, _CENTRES[-1], centred=centred)
    m, s = float(p @ M), math.exp(float(p @ np.log(S)))
    if not centred:
        return Location(n, 0.0, s, (Hypothesis(1.0, 0.0, 0.0),))
    spike = _spike(M, S) / (_spike(M, S) + 0.5)
    found = [_moments(p * part, M) for part in (spike, 1 - spike)]
    held = Location(n, m, s, tuple(h._replace(variance=h.variance + s**2 / 4) for h in found if h.probability > 1e-9))
    return _by_histogram(counts, held) if trusted(counts[-1].sd, n) else held


def _moments(p: Floats, M: Floats) -> Hypothesis:
    total = float(p.sum())
    mean = float(p @ M) / max(total, 1e-300)
    return Hypothesis(total, mean, float(p @ (M - mean) ** 2) / max(total, 1e-300))


def _by_histogram(counts: Sequence[Counts], found: Location) -> Location:
    """The same with the mean of the histogram, which takes no shape for granted, where its noise is small."""
    inner, edges = counts[-1], counts[0].edges
    outside = (edges[1:] <= inner.span[0] + 1e-9) | (edges[:-1] >= inner.span[1] - 1e-9)
    middles = [(own[1:] + own[:-1]) / 2 for own in (inner.edges, edges)]
    y = np.concatenate([middles[0], middles[1][outside]])
    values = np.concatenate([inner.values, counts[0].values[outside]])
    sds = np.repeat([inner.sd, counts[0].sd], [BINS, int(outside.sum())])
    p = shares(values, max(float(values.sum()), 1.0))
    mean = float(p @ y)
    noise = math.sqrt(float((((y - mean) * sds)[p > 0] ** 2).sum())) / found.rows
    width = inner.edges[1] - inner.edges[0]
    return replace(found, centre=mean, hypotheses=(Hypothesis(1.0, mean, noise**2 + (0.2 * width) ** 2),))


def _posterior(
    counts: Sequence[Counts], rows: tuple[float, float], span: Span, points: int, *, centred: bool
) -> tuple[Floats, Floats, Floats, float]:
    """Probabilities of the points (m, s), the points, and the mean number of rows."""
    centres = np.linspace(*span, points) if centred else np.zeros(1)
    M, S = (part.ravel() for part in np.meshgrid(centres, _SPREADS, indexing="ij"))
    n0, noise = rows
    N = np.maximum(n0 + noise * _ROWS, 0.05 * noise) if noise > 0 else np.array([max(n0, 1.0)])
    log = np.log(_spike(M, S) + 0.5 if centred else np.ones(len(M)))[:, None]
    log = log + (-0.5 * ((N - n0) / noise) ** 2 if noise > 0 else 0.0)
    for c in counts:
        F, ends = _law(c.edges, M, S), _law(np.array(WHOLE), M, S)
        P = np.diff(F, axis=1) / (ends[:, 1] - ends[:, 0])[:, None]
        variance = c.sd**2 + (_MISFIT * max(n0, noise, 1.0)) ** 2
        log = log + ((P @ c.values)[:, None] * N - (P * P).sum(axis=1)[:, None] * N**2 / 2) / variance
    p = np.exp(log - log.max())
    p /= p.sum()
    return p.sum(axis=1), M, S, max(float(p.sum(axis=0) @ N), 1.0)


def _law(y: Floats, M: Floats, S: Floats) -> Floats:
    t = (y - M[:, None]) / S[:, None]
    law: Floats = (1 - _HEAVY) * ndtr(t) + _HEAVY * (0.5 + np.arctan(t) / np.pi)
    return law


def _spike(M: Floats, S: Floats) -> Floats:
    """The odds of a centre near the middle times its density, on the scale on which the uniform density is 1/2."""
    density: Floats = _ODDS * np.exp(-0.5 * (M / S) ** 2) / (math.sqrt(2 * math.pi) * S)
    return density
