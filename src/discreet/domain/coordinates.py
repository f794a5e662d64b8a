"""Private coordinates: rows transformed by public matrices, weighted into a ball, and rounded to the lattice.

With x the design's coordinates of an encoded row and y_j an outcome, both on the lattice, a stage is

    z   = P' x
    w   = min(1, r/|z|)                      u   = w z / r                            |u| <= 1
    v_j = w (y_j - theta_j' x)               e_j = clip(v_j, -b_j, b_j) / b_j         |e_j| <= 1

with u, e and the scores s_j = u e_j rounded to the lattice. P, theta, r and b are public: they are functions of what
was released before. The products with P and theta are exact, and all else is done row by row in a fixed order, so u,
e, s and |z| are functions of the row alone. Proofs in ``docs/mathematics``, section 11.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.core import checks
from discreet.core.arrays import Bools, Floats, Ints, on_device
from discreet.core.field_kinds import ABOVE_0, NAMES, many, record, whole
from discreet.core.fields import Fields, FileRecord
from discreet.core.placeholders import Remembered
from discreet.domain.directions import MOST_EXPONENT, ROOM_BITS, Directions
from discreet.domain.domain import CONSTANT, LATTICE_BITS, Domain, rounded_ball
from discreet.domain.encoding import ONE
from discreet.domain.shrinkage import Shrinkage
from discreet.domain.unit import MOST_ROWS
from discreet.errors import DomainError, FileFormatError, ParameterError

MOST_WIDTHS = 64
"""Maximum number of candidate half widths of one outcome, and of edges between row norms."""

_LINES = 256
"""Number of rows transposed at a time, few enough for a processor's cache."""

_SPARSE = 0.8
"""A matrix is multiplied in parts where they hold less than this share of its entries."""


@dataclass(frozen=True)
class Coordinates(FileRecord):
    """Public coordinates of one stage; P and theta have one vector for each coordinate u, and for each outcome."""

    design: tuple[str, ...]  # names of the coordinates that x consists of
    outcomes: tuple[str, ...]  # those of y; there may be none
    P: Directions
    theta: Directions  # the model whose residuals are taken
    radius: float  # r: rows with |z| > r are scaled down to it, with their residuals
    widths: tuple[tuple[float, ...], ...]  # half widths of each outcome in rising order, one of which is chosen later
    row_norms: tuple[float, ...] = ()  # rising edges between which rows are counted by |z|, none below the radius
    most: int = 1  # the largest number of rows that one person counts for
    shrinkage: Shrinkage | None = None  # of a wide table, whose theta is over u

    def __post_init__(self) -> None:
        d, m = len(self.design), len(self.outcomes)
        if checks.repeated([*self.design, *self.outcomes]) is not None:
            raise ParameterError("A coordinate is named twice in a stage, or is regressor and outcome at once.")
        sizes = {self.P.length, *(len(vector) for vector in self.theta.integers)}
        if not self.P.integers or sizes != {d} or self.theta.along or len(self.widths) != m or not self._is_modelled:
            raise ParameterError("A stage needs directions over its design: one or more, and a model for each outcome.")
        if self.shrinkage is not None and not (self.P.along and self.shrinkage.directions.length == d):
            raise ParameterError("Directions that are shrunk are over axes along the columns.")
        if self.P.along and (self.P.integers[1][0] or (self.design[0] != CONSTANT and any(self.P.integers[1]))):
            raise ParameterError("Axes along the columns are shifted by multiples of the constant alone.")
        models = zip(self.theta.integers, self.theta.exponents, strict=True)
        if not all(0 <= t <= ROOM_BITS and (1 << t) + sum(map(abs, own)) <= 1 << ROOM_BITS for own, t in models):
            raise ParameterError(f"The model of a stage does not leave exact residuals within 2^{ROOM_BITS}.")
        if not _is_size(self.radius):
            raise ParameterError("The radius of a stage must be a number above 0, neither tiny nor huge.")
        if not all(own and _are_rising(own) for own in self.widths):
            raise ParameterError("Half widths of an outcome must be numbers above 0 in rising order.")
        if not _are_rising(self.row_norms) or any(edge < self.radius for edge in self.row_norms):
            raise ParameterError("Edges between row norms must be numbers in rising order, none below the radius.")
        if type(self.most) is not int or not 1 <= self.most <= MOST_ROWS:
            raise ParameterError("A person counts for a whole number of rows.")

    @classmethod
    def rounded(
        cls,
        design: Sequence[str],
        outcomes: Sequence[str],
        P: ArrayLike,
        theta: ArrayLike,
        radius: float,
        widths: Sequence[Sequence[float]],
        row_norms: Sequence[float] = (),
        most: int = 1,
    ) -> Coordinates:
        """Return coordinates whose matrices are the nearest that have exact products with rows.

        P and theta are finite, and have a line for each name of the design. Columns of P are rounded to about 2^-32 of
        the sum of their sizes; the sizes of a column of theta add up to less than 2^31.
        """
        d, m = len(design), len(outcomes)
        models = Directions.rounded(np.reshape(theta, (d, m)), bits=ROOM_BITS - 2, most=ROOM_BITS - 1)
        own = tuple(tuple(map(float, widths_)) for widths_ in widths)
        rotated, edges = Directions.rounded(P), tuple(map(float, row_norms))
        return cls(tuple(design), tuple(outcomes), rotated, models, float(radius), own, edges, most)

    @property
    def _is_modelled(self) -> bool:
        """Whether each outcome has a model."""
        return len(self.theta.integers) == len(self.outcomes)

    def of_model(self, outcomes: Sequence[str], theta: ArrayLike, widths: Sequence[Sequence[float]]) -> Coordinates:
        """Return the same axes and radius at a model of some outcomes, with other half widths."""
        shape = len(self.design), len(outcomes)
        models = Directions.rounded(np.reshape(theta, shape), bits=ROOM_BITS - 2, most=ROOM_BITS - 1)
        own = tuple(tuple(map(float, widths_)) for widths_ in widths)
        held = self.design, tuple(outcomes), self.P, models, self.radius, own, (), self.most
        return Coordinates(*held, self.shrinkage)

    def linear(self, gamma: Floats) -> Floats:
        """Return the coefficients of the mapped columns, for predictors gamma'z/r in whitened z, or gamma'u of u."""
        if self.shrinkage is None:
            return self.P.times(gamma) / self.radius
        return self.P.times(self.shrinkage.applied(gamma)) / (self.radius * self.shrinkage.radius)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Names of the coordinates u, none of which is that of an outcome."""
        prefixes = ("u" * k for k in itertools.count(1))
        names = (tuple(f"{prefix}{j + 1}" for j in range(len(self.P.exponents))) for prefix in prefixes)
        return next(own for own in names if not set(own) & set(self.outcomes))

    def bins(self, outcome: str) -> int:
        """Return the number of bins that an outcome's half widths make of the sizes of its weighted residuals."""
        return len(self.widths[self.outcomes.index(outcome)]) + 1

    @cached_property
    def norm_squared_lattice(self) -> int:
        """The squared norm that the rounded u never exceeds, in lattice units."""
        return rounded_ball(len(self.axes))

    @cached_property
    def norms(self) -> Mapping[tuple[str, ...], float]:
        """Largest squared norms: of u, and of each set of outcomes as many as there are."""
        return Remembered(self._norm_squared)

    def _norm_squared(self, names: tuple[str, ...]) -> float:
        if names and names == self.axes:
            return math.ldexp(float(self.norm_squared_lattice), -2 * LATTICE_BITS)
        return float(len([self.outcomes.index(name) for name in names]))

    def check(self, domain: Domain) -> None:
        """Refuse names that the domain lacks, outcomes that are features too, and another unit than the domain's."""
        if self.most != domain.most:
            raise DomainError("A stage and its domain do not agree on how many rows a person counts for.")
        known = domain.column_of
        if unknown := [name for name in (*self.design, *self.outcomes) if name not in known]:
            raise DomainError(f"A stage names the coordinate {unknown[0]!r}, which the domain does not have.")
        domain.refuse_outcomes(
            {known[name] for name in self.outcomes}, [known[name] for name in self.design], DomainError
        )

    FIELDS = Fields(
        "coordinates",
        "Coordinates in which rows are rotated, weighted and clipped before they are summed.",
        design=NAMES,
        outcomes=NAMES,
        P=record(Directions)("z = P'x of a mapped row x; where it is missing, that of the stage before.", absent=None),
        theta=record(Directions)("The model so far: residuals are y - theta'x."),
        radius=ABOVE_0("r: rows with a longer z are scaled to this norm, with their residuals; u = z/r."),
        widths=many(many(ABOVE_0))("For each outcome the half widths b that it could be clipped to; e = residual/b."),
        lengths=many(ABOVE_0)("Edges between which rows are counted by |z|.", absent=(), attribute="row_norms"),
        most=whole(1)("The largest number of rows that one person counts for; 1 by default.", absent=1),
        shrinkage=record(Shrinkage)("Directions that are shrunk, of a wide table; theta is over u there.", absent=None),
    )

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild from `to_dict`."""
        try:
            return super().from_dict(facts)
        except ParameterError as error:
            raise FileFormatError(str(error)) from None


def _is_size(value: Any) -> bool:
    return checks.is_real(value) and 2.0**-MOST_EXPONENT <= value <= 2.0**MOST_EXPONENT


def _are_rising(values: Sequence[Any]) -> bool:
    sizes = len(values) <= MOST_WIDTHS and all(map(_is_size, values))
    return sizes and all(a < b for a, b in itertools.pairwise(values))


class RotatedBatch(NamedTuple):
    """Rows of a batch in the coordinates of a stage, a column each, in lattice units, valid until the next batch."""

    both: Floats  # e and then u, as lattice integers
    E: Floats  # the rows of e: the half widths of the first outcome, then of the next
    U: Floats  # the rows of u
    V: Floats  # the weighted residuals v of each outcome
    row_norms: Floats  # max(|z|, r) of each row
    w: Floats  # the weight of each row


class CoordinateMap:
    """Transforms batches of at most `rows` encoded rows of one domain into the coordinates of a stage.

    It holds the arrays that it works in: each thread needs its own.
    """

    _of_outcome = 1.0

    def __init__(self, coordinates: Coordinates, domain: Domain, rows: int) -> None:
        coordinates.check(domain)
        self._q, self._m = len(coordinates.axes), len(coordinates.widths)
        self._shrinkage = None if coordinates.shrinkage is None else _ShrinkageMap(coordinates, domain)
        self._alone, W = self._axes(coordinates, domain)
        self._parts = _parts(W)
        self._radius, self._norm = coordinates.radius * ONE, float(coordinates.norm_squared_lattice)
        self._widths = [np.array(own) for own in coordinates.widths]
        self._l, self._edges = sum(map(len, self._widths)), np.array(coordinates.row_norms) * ONE
        self._both, self._work = np.empty((self._l + self._q + self._m) * rows), np.empty(self._q * rows)

    def _axes(self, coordinates: Coordinates, domain: Domain) -> tuple[tuple[Any, Floats, Floats] | None, Floats]:
        """Return the axes along single columns, if all are, and the rows of the matrix of all other products."""
        q, x = self._q, domain.indices(coordinates.design)
        along, models = coordinates.P.along, () if self._shrinkage else coordinates.theta.floats.T
        W = np.zeros((len(models) if along else q + len(models), len(domain.entries)))
        places = domain.indices(coordinates.outcomes[: len(models)])
        for row, model, place in zip(W[len(W) - len(models) :], models, places, strict=True):
            row[x], row[place] = -model, self._of_outcome
        if along:
            return _along(coordinates.P, np.array(x)), W
        W[:q, x] = coordinates.P.floats.T
        alone = _alone(W[:q])
        return alone, W if alone is None else W[q:]

    def rotate(self, A: Floats) -> RotatedBatch:
        """Transform a batch, one encoded row a line."""
        self._make_room(A)
        l, q, n = self._l, self._q, len(A)  # noqa: E741
        lines = l + q + self._m
        held = self._both[: lines * n].reshape(lines, n)  # without gaps, for numpy's sake
        both, E, U, V = held[: l + q], held[:l], held[l : l + q], held[l + q :]
        self._products(A, held[l:])
        work = self._work[: q * n].reshape(q, n)
        length = np.maximum(np.sqrt(squared_norms(U, work)), self._radius)
        w = self._radius / length
        into_ball(U, length, self._norm)
        if self._shrinkage is not None:
            w *= self._shrinkage.shrink(U, work)
            self._shrinkage.residuals(U, w, A, V, self._of_outcome)
        self._weigh(V, w, A)
        self._clip(V, E)
        return RotatedBatch(both, E, U, V, length, w)

    def again(self, U: Floats, w: Floats, A: Any) -> RotatedBatch:
        """Transform rows of a wide table whose u and weights are known, at the model of these coordinates.

        `A[:, place]` must be the encoded column at the place of each outcome, and of an exposure.
        """
        assert self._shrinkage is not None
        l, q, n = self._l, self._q, len(w)  # noqa: E741
        held = self._both[: (l + q + self._m) * n].reshape(l + q + self._m, n)
        E, V = held[:l], held[l + q :]
        held[l : l + q] = U
        self._shrinkage.residuals(held[l : l + q], w, A, V, self._of_outcome)
        self._weigh(V, w, A)
        self._clip(V, E)
        return RotatedBatch(held[: l + q], E, held[l : l + q], V, np.empty(0), w)

    def _weigh(self, V: Floats, w: Floats, A: Floats) -> None:
        """Weight the residuals: y - theta'x becomes v."""
        V *= w

    def _products(self, A: Floats, out: Floats) -> None:
        """Compute P'x and y - theta'x, exactly."""
        first = 0 if self._alone is None else self._q
        for rows, columns, W in self._parts:
            np.matmul(W, A[:, columns].T, out=out[first:][rows])
        if self._alone is None:
            return
        (places, factors, shifts), Z = self._alone, out[:first]
        step = max(1, len(A)) if on_device(A) else _LINES
        for i in range(0, len(A), step):
            Z[:, i : i + step] = A[i : i + step, places].T
        Z *= factors[:, None]
        Z += shifts[:, None]

    def _clip(self, V: Floats, E: Floats) -> None:
        start = 0
        for v, widths in zip(V, self._widths, strict=True):
            own = E[start : start + len(widths)]
            np.clip(np.multiply(v, (1 / widths)[:, None], out=own), -ONE, ONE, out=own)
            start += len(widths)
        np.rint(E, out=E)

    def _make_room(self, A: Floats) -> None:
        """Take longer arrays to work in where a batch needs them: on a device, whose batches are longer."""
        lines = self._l + self._q + self._m
        if len(self._both) < lines * len(A):
            self._both, self._work = np.empty(lines * len(A), like=A), np.empty(self._q * len(A), like=A)

    def counts(self, V: Floats, weights: Floats | None = None) -> list[Ints]:
        """Count the weighted residuals of a batch in each bin between the half widths of its outcome."""
        pairs = zip(np.abs(V), self._widths, strict=True)
        return [_between(v, own * ONE, weights) for v, own in pairs]

    def row_norms(self, row_norms: Floats, weights: Floats | None = None) -> Ints:
        """Count the rows of a batch by norm, in the bins between the edges; empty if there are no edges."""
        return _between(row_norms, self._edges, weights) if len(self._edges) else np.zeros(0, dtype=np.int64)


def _between(sizes: Floats, edges: Floats, weights: Floats | None) -> Ints:
    """Count the sizes, or add their weights, in the bins that end at each edge, and beyond the last."""
    if on_device(sizes):  # each count would be waited for
        return np.bincount(np.searchsorted(edges, sizes), weights, minlength=len(edges) + 1).astype(np.int64)

    def count(these: Bools) -> int:
        return int(np.count_nonzero(these) if weights is None else weights[these].sum())

    everything = np.ones(len(sizes), dtype=bool)
    return np.diff([0, *(count(sizes <= edge) for edge in edges), count(everything)])


def shortened(T: Floats, radius: float, norm_squared: int) -> Floats:
    """Scale columns by 1/radius, clip their norms to 1, and round to lattice integers within a squared norm.

    A column of T, of any exact numbers, is a person; `radius` is in their units.

    Examples
    --------
    >>> (shortened(np.array([[3.0, 30.0], [4.0, 40.0]]), 10.0, 2**41) / ONE).round(6).tolist()
    [[0.3, 0.6], [0.4, 0.8]]
    """
    length = np.maximum(np.sqrt(squared_norms(T, np.empty_like(T))), radius)
    S = np.rint(T * (ONE / length))
    inside: Floats = S * (np.einsum("ij,ij->j", S, S) <= norm_squared)
    return inside


def scores(U: Floats, e: Floats, out: Floats | None = None) -> Floats:
    """Compute the scores u e of one outcome, as lattice integers: in no coordinate larger than u."""
    products: Floats = np.multiply(U, e / ONE, out=out)
    return np.rint(products, out=products)


def into_ball(U: Floats, length: Floats, norm: float) -> None:
    """Scale columns by 1/length and round them to the lattice, in place; set those beyond a squared norm to 0."""
    U *= ONE / length
    np.rint(U, out=U)
    inside = np.einsum("ij,ij->j", U, U) <= norm
    if not inside.all():
        U *= inside


class _ShrinkageMap:
    """Shrinks the directions of a stage of a wide table in batches of rows."""

    def __init__(self, coordinates: Coordinates, domain: Domain) -> None:
        own = coordinates.shrinkage
        assert own is not None
        self._Q, self._shares = own.directions.scaled, np.array(own.shares)[:, None]
        self._radius, self._norm = own.radius * ONE, float(coordinates.norm_squared_lattice)
        self._theta, self._outcomes = coordinates.theta.scaled, domain.indices(coordinates.outcomes)

    def shrink(self, U: Floats, work: Floats) -> Floats:
        """Shrink u0 to u, in place; return the weights of the rows."""
        T = np.rint(self._Q.T @ U)
        U -= np.matmul(self._Q, np.rint(self._shares * T), out=work)
        length = np.maximum(np.sqrt(squared_norms(U, work)), self._radius)
        into_ball(U, length, self._norm)
        weights: Floats = self._radius / length
        return weights

    def residuals(self, U: Floats, w: Floats, A: Floats, V: Floats, of_outcome: float) -> None:
        """Compute y - theta'u/w of each outcome, or without y."""
        for v, theta, place in zip(V, self._theta.T, self._outcomes, strict=True):
            np.matmul(-theta, U, out=v)
            v /= w
            if of_outcome:
                v += A[:, place]


def _along(P: Directions, x: Ints) -> tuple[slice | Ints, Floats, Floats]:
    """Return indices, factors and shifts of axes along the columns."""
    in_turn = np.array_equal(x, np.arange(x[0], x[0] + len(x)))
    factors, shifts = P.scaled
    return slice(int(x[0]), int(x[0]) + len(x)) if in_turn else x, factors, shifts * ONE


def _parts(W: Floats) -> list[tuple[slice, slice, Floats]]:
    """Split a matrix into parts of some rows each, without the columns at either end that are 0 in them."""
    parts: list[tuple[slice, slice, Floats]] = []
    if not len(W):
        return parts
    for rows in np.array_split(np.arange(len(W)), max(1, min(4, len(W) // 32))):
        columns = np.flatnonzero(W[rows].any(axis=0))
        low, high = (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 1)
        part = slice(int(rows[0]), int(rows[-1]) + 1)
        parts.append((part, slice(low, high), np.ascontiguousarray(W[part, low:high])))
    if sum(part.size for _, _, part in parts) > _SPARSE * W.size:
        return [(slice(0, len(W)), slice(0, W.shape[1]), W)]
    return parts


def _alone(W: Floats) -> tuple[slice | Ints, Floats, Floats] | None:
    """Return indices, factors and shifts, if each row of a matrix needs at most one coordinate besides the constant."""
    others = W[:, 1:] != 0
    if (others.sum(axis=1) > 1).any():
        return None
    places: Ints = np.where(others.any(axis=1), others.argmax(axis=1) + 1, 0)
    factors, shifts = W[np.arange(len(W)), places], np.where(places > 0, W[:, 0], 0.0) * ONE
    first = int(places[0])
    in_turn = np.array_equal(places, np.arange(first, first + len(places)))
    return slice(first, first + len(places)) if in_turn else places, factors, shifts


def squared_norms(Z: Floats, work: Floats) -> Floats:
    """Return the squared norms of the columns, each summed in an order that depends on the number of rows alone."""
    np.multiply(Z, Z, out=work)
    k = len(work)
    while k > 1:
        half = k // 2
        work[:half] += work[k - half : k]
        k -= half
    squares: Floats = work[0]
    return squares
