"""Location and spread of an outcome, from two levels of noisy counts: ``docs/mathematics``, section 12.1.

Outcomes are taken to follow a law of a centre m and a spread s, three parts normal and one part Cauchy. With c the
noisy counts over a span and n the number of rows, which is noisy itself,

    c_j | n, m, s ~ N(n p_j(m, s), sd^2 + (misfit n)^2)
    s  log-uniform,   m | s ~ N(0, s^2) with odds 100 : 1 against uniform on [-1, 1]

on a grid of (n, m, s). With an intercept they may lie in two places, too, as those do that are 0 or 1: each pair of
16ths of the bounds with another one between them, and each share of the upper one, has the weight of a uniform m. They
may also be skewed, as spending or days of illness are: a share of them at one place, the others exponential from there.
Where noise drowns the counts, m stays at the middle of the declared bounds: a centre estimated from noise would be
worse. Levels of categories, which are 0 or 1, need no law: `locate_level`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from discreet.core.arrays import Floats
from discreet.domain.cells import BINS, CELLS, Span
from discreet.solve.outcome import shares, trusted

_SPREADS = np.geomspace(0.004, 1.0, 24)
_CENTRES = (97, 65)
"""Points of the grid of m: over the whole range, and over a span of it."""

_UPPER = np.linspace(0.05, 0.95, 19)
"""The share of the upper of two places."""

_STARTS = np.linspace(-255 / 256, 255 / 256, 256) + 1 / CELLS
_TAILS, _SPIKES = np.geomspace(0.1, 0.5, 3), np.array([0.3, 0.6])
"""Skewed laws: their starts, none of which is an end of a part; the scales of their tails; and the shares of outcomes
at the start."""

_ROWS = np.linspace(-2.5, 2.5, 11)
"""The grid of n, in sds of its noise."""

_ODDS = 100.0
_HEAVY = 0.25
_MISFIT = 0.03
_REACH = 3.5
"""The span of the second level extends this many sds of an outcome to each side of its centre."""

_UNIFORM, _RAREST = 1 / 12, 0.001
"""The variance of a share that may be any, and the least share of either value of a yes or no."""

WHOLE: Span = (-1.0, 1.0)


class BinCounts(NamedTuple):
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
    """The location of an outcome estimated from noisy counts, in its mapped units.

    `centre`, `spread`: the centre and the spread of the outcome; 0 where the spread is not known.
    `hypotheses`: the possible values of its mean.
    """

    rows: float
    centre: float
    spread: float
    hypotheses: tuple[Hypothesis, ...]


def rows_of(counts: BinCounts) -> tuple[float, float]:
    """Return the number of rows and the sd of its noise, from counts over the whole range alone."""
    noise = counts.sd * math.sqrt(BINS)
    return max(float(counts.values.sum()), noise), noise


def next_span(counts: BinCounts, rows: tuple[float, float], *, centred: bool = True) -> Span:
    """Return the span, made of cells, in which an outcome should be counted again."""
    p, (M, S, _), _ = _posterior([counts], rows, counts.span, _CENTRES[0], centred=centred)
    m = float(p @ M)
    half = min(1.0, _REACH * math.sqrt(float(p @ ((M - m) ** 2 + S**2))) + 2 / BINS / 4)
    part, least = 2 / BINS, 2 / CELLS
    cell = part if half >= part else least  # a wide span ends where parts do, so that none is counted by halves
    low = math.floor(max(-1.0, m - half) / cell) * cell
    width = math.ceil((min(1.0, m + half) - low) / max(cell, least * BINS)) * max(cell, least * BINS)
    high = low + width
    return (low, high) if high <= 1 else (max(1 - width, -1.0), 1.0)


def locate(counts: Sequence[BinCounts], rows: tuple[float, float], *, centred: bool = True) -> Location:
    """Estimate the location of an outcome.

    `counts`: counts over the whole range, and over a span of it; none where the first stage estimates the spread.
    `rows`: the number of rows, noisy or declared, and the sd of its noise.
    `centred`: whether the model has an intercept; without one the centre is 0.
    """
    if not counts:
        return Location(max(rows[0], rows[1], 1.0), 0.0, 0.0, (Hypothesis(1.0, 0.0, 0.0),))
    p, (M, S, near), n = _posterior(counts, rows, counts[-1].span, _CENTRES[-1], centred=centred)
    m, s = float(p @ M), math.exp(float(p @ np.log(S)))
    if not centred:
        return Location(n, 0.0, s, (Hypothesis(1.0, 0.0, 0.0),))
    spike = near / (near + 0.5)
    found = [_moments(p * part, M) for part in (spike, 1 - spike)]
    held = Location(n, m, s, tuple(h._replace(variance=h.variance + s**2 / 4) for h in found if h.probability > 1e-9))
    return _by_histogram(counts, held) if trusted(counts[-1].sd, n) else held


def locate_level(counts: Sequence[BinCounts], rows: tuple[float, float]) -> Location:
    """Estimate the location of a level, which is 0 or 1, so that two of the 16 parts of the range hold all rows.

    `counts`: counts over the whole range, all with the same noise; `rows`: as for `locate`.

    The share of ones is uniform beforehand, as far as its mean and variance go.

    Examples
    --------
    >>> counts = np.zeros(16)
    >>> counts[[8, 15]] = 700, 300
    >>> found = locate_level([BinCounts(counts, WHOLE, 1.0)], (1000.0, 1.0))
    >>> round(found.centre, 3), round(found.spread, 3)
    (0.3, 0.458)
    """
    n = max(*rows, 1.0)
    no, yes = (float(np.mean([own.values[part] for own in counts])) for part in (BINS // 2, BINS - 1))
    noise = counts[0].sd ** 2 / len(counts) / (2 * n**2)
    weight = _UNIFORM / (_UNIFORM + noise)
    p = 0.5 + weight * (yes - no) / (2 * n)
    variance = weight * noise
    least = min(max(math.sqrt(variance), _RAREST), 0.5)
    p = min(max(p, least), 1 - least)
    return Location(n, p, math.sqrt(p * (1 - p)), (Hypothesis(1.0, p, variance + (0.2 / BINS) ** 2),))


def _moments(p: Floats, M: Floats) -> Hypothesis:
    total = float(p.sum())
    mean = float(p @ M) / max(total, 1e-300)
    return Hypothesis(total, mean, float(p @ (M - mean) ** 2) / max(total, 1e-300))


def _by_histogram(counts: Sequence[BinCounts], found: Location) -> Location:
    """Return the location with the mean of the histogram, which assumes no shape, where its noise is small."""
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


class _OutcomeLaws(NamedTuple):
    """Laws that an outcome may follow: means, spreads, and odds of a centre near the middle."""

    M: Floats
    S: Floats
    near: Floats


def _posterior(
    counts: Sequence[BinCounts], rows: tuple[float, float], span: Span, points: int, *, centred: bool
) -> tuple[Floats, _OutcomeLaws, float]:
    """Return the probabilities of the laws, the laws, and the mean number of rows."""
    laws = _laws(span, points) if centred else _one_place((0.0, 0.0), 1)
    n0, noise = rows
    N = np.maximum(n0 + noise * _ROWS, 0.05 * noise) if noise > 0 else np.array([max(n0, 1.0)])
    log = np.log(laws.near + 0.5 if centred else np.ones(len(laws.M)))[:, None]
    log = log + (-0.5 * ((N - n0) / noise) ** 2 if noise > 0 else 0.0)
    for c in counts:
        P, P2 = _parts(span, points, c.span) if centred else _with_norms(_one_place_parts((0.0, 0.0), 1, c.span))
        variance = c.sd**2 + (_MISFIT * max(n0, noise, 1.0)) ** 2
        fit, size = (P @ c.values)[:, None] * N, P2[:, None] * N**2
        size /= 2
        fit -= size
        fit /= variance
        log += fit
    log -= log.max()
    p = np.exp(log, out=log)
    p /= p.sum()
    return p.sum(axis=1), laws, max(float(p.sum(axis=0) @ N), 1.0)


_kept = functools.lru_cache(maxsize=8)
"""A cache: the gate, replays and each release over the same bounds need the same laws."""


@_kept
def _laws(span: Span, points: int) -> _OutcomeLaws:
    """Return laws with one centre in a span, laws with two places, and skewed laws."""
    kinds = _one_place(span, points), _two_places()[0], _one_side()[0]
    return _OutcomeLaws(*(np.concatenate(parts) for parts in zip(*kinds, strict=True)))


@_kept
def _parts(span: Span, points: int, counted: Span) -> tuple[Floats, Floats]:
    """Return the shares p of outcomes that these laws have in the parts of another span, and |p|^2 of each law."""
    laws = _one_place_parts(span, points, counted), _two_places_parts(counted), _one_side_parts(counted)
    return _with_norms(np.vstack(laws))


def _with_norms(P: Floats) -> tuple[Floats, Floats]:
    return P, (P * P).sum(axis=1)


def _one_place(span: Span, points: int) -> _OutcomeLaws:
    M, S = (part.ravel() for part in np.meshgrid(np.linspace(*span, points), _SPREADS, indexing="ij"))
    return _OutcomeLaws(M, S, _ODDS * np.exp(-0.5 * (M / S) ** 2) / (math.sqrt(2 * math.pi) * S))


def _one_place_parts(span: Span, points: int, counted: Span) -> Floats:
    M, S, _ = _one_place(span, points)

    def law(y: Floats) -> Floats:
        t = (y - M[:, None]) / S[:, None]
        F: Floats = (1 - _HEAVY) * ndtr(t) + _HEAVY * (0.5 + np.arctan(t) / np.pi)
        return F

    low, high = law(np.array(WHOLE)).T[:, :, None]
    return np.diff((law(np.linspace(*counted, BINS + 1)) - low) / (high - low), axis=1)


@functools.cache
def _two_places() -> tuple[_OutcomeLaws, Floats, Floats, Floats]:
    """Return laws spread evenly over two 16ths of the bounds, which are not neighbours, with the upper one's share."""
    edges = np.linspace(*WHOLE, BINS + 1)
    pairs = np.column_stack(np.triu_indices(BINS, k=2))
    low, high = (np.repeat(edges[own], len(_UPPER)) for own in pairs.T)
    p, part = np.tile(_UPPER, len(pairs)), 2 / BINS
    M = (1 - p) * low + p * high + part / 2
    S = np.sqrt(p * (1 - p) * (high - low) ** 2 + part**2 / 12)
    return _OutcomeLaws(M, S, np.zeros(len(M))), low, high, p


@_kept
def _two_places_parts(counted: Span) -> Floats:
    _, low, high, p = _two_places()
    y, part = np.linspace(*counted, BINS + 1), 2 / BINS
    lower, upper = (np.clip((y - own[:, None]) / part, 0.0, 1.0) for own in (low, high))
    return np.diff((1 - p)[:, None] * lower + p[:, None] * upper, axis=1)


class _OneSided(NamedTuple):
    """Exponential laws cut off at the end of the bounds: start, side (-1 or 1), scale, length, and share of a spike."""

    start: Floats
    side: Floats
    S: Floats
    L: Floats
    p: Floats

    @property
    def missing(self) -> Floats:
        """The mass that truncation takes away from an exponential law."""
        return np.exp(-self.L / self.S)


@functools.cache
def _one_side() -> tuple[_OutcomeLaws, _OneSided]:
    """Return skewed laws: exponential to one side of a start, with a share of the outcomes at the start."""
    grid = np.meshgrid(_STARTS, [-1.0, 1.0], _TAILS, _SPIKES, indexing="ij")
    start, side, S, p = (part.ravel() for part in grid)
    L = 1 - side * start
    tail = _OneSided(*(part[L > S] for part in (start, side, S, L, p)))
    start, side, S, L, p = tail
    odds = tail.missing / (1 - tail.missing)
    mean, square = (1 - p) * (S - L * odds), (1 - p) * (2 * S**2 - (L**2 + 2 * L * S) * odds)
    return _OutcomeLaws(start + side * mean, np.sqrt(square - mean**2), np.zeros(len(S))), tail


@_kept
def _one_side_parts(counted: Span) -> Floats:
    tail = _OneSided(*(part[:, None] for part in _one_side()[1]))
    far = tail.side * (np.linspace(*counted, BINS + 1) - tail.start)
    F = (1 - np.exp(-np.maximum(far, 0.0) / tail.S)) / (1 - tail.missing)
    near = np.where(far < 0, 0.0, tail.p + (1 - tail.p) * np.minimum(F, 1.0))
    return np.diff(np.where(tail.side > 0, near, 1 - near), axis=1)
