"""Passes as SQL: PostgreSQL encodes, rotates and sums the rows, and only sums leave the database.

The arithmetic is that of `domain.encoding` and `domain.coordinates`, operation by operation, in float8, which is IEEE
754 on both sides; `round` of float8 rounds ties to even, as `numpy.rint` does. Sums are those of bigint, which are
exact. Numbers are written as text that is read back to the same bits. Each step is a subquery of its own, which
``OFFSET 0`` keeps the planner from taking apart: otherwise every step would be computed again for each use. All sums of
products of a pass are asked for in one statement, which reads each row once.

Levels are compared byte by byte, whatever the collation of a column, and one CASE finds the place of a row's level, so
that no row has two. Nothing depends on settings of the server, of the user or of the session.

PostgreSQL refuses products that overflow or underflow, where numpy goes on with infinity or zero. So values far outside
the bounds are first moved closer, which changes nothing after clipping, and tiny ones count as zero, which changes
nothing after rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.arrays import Floats, Ints
from discreet.core.problems import Problems
from discreet.data.engines.derived import DerivedNumbers
from discreet.data.engines.sql import float8, text, with_columns
from discreet.data.passes.base import Pass
from discreet.data.passes.first_pass import FirstPass
from discreet.data.passes.moments import MomentsPass, layout
from discreet.data.passes.stages import ScoreProductPass, StagePass
from discreet.data.sources.base import Remote
from discreet.data.sources.postgres import Snapshot, quoted
from discreet.data.sums import LIMB, PartialSums
from discreet.domain import LATTICE_BITS, Domain
from discreet.domain.cells import CELLS
from discreet.domain.coordinates import Coordinates
from discreet.domain.encoding import ONE, Encoder, refuse_non_finite
from discreet.domain.kinds.base import Column
from discreet.domain.kinds.categorical import Categorical
from discreet.domain.kinds.numeric import Numeric
from discreet.domain.kinds.searched import LEAST, MOST, Searched
from discreet.domain.sketch import SketchCoordinates
from discreet.domain.value_types import TEXT
from discreet.domain.values import read_column
from discreet.errors import DataError, ParameterError
from discreet.families.coordinates import ModelCoordinates

_AT_ONCE = 1600
"""The most sums in one SELECT: planning time grows with the square of their number."""

_FAR = 1e100
"""Larger absolute values in columns of a `data_norm` are refused: their squares may overflow."""

_TINY = 1e-150
"""Smaller absolute values in columns of a `data_norm`, in lattice units, count as zero: their squares may underflow."""

Sums = dict[tuple[int, int], str]
"""Maps places in an array of sums to the SQL expressions that are summed."""


class PushdownSource(Remote):
    """Rows that are summed by a database."""

    home = "in a database that sums them up itself. Remedy: leave out pushdown, so that they are read here"

    def __init__(self, transaction: Snapshot, domain: Domain) -> None:
        if not domain.unit.plain:
            raise ParameterError(
                "With pushdown the database sums up rows that are one person each and count alike; persons and weights "
                "are for rows that are read here. Remedy: leave out pushdown."
            )
        _refuse_derived(domain)
        kinds = Numeric, Searched, Categorical
        unknown = [name for name, column in domain.columns.items() if type(column) not in kinds]
        if unknown:
            raise ParameterError(
                f"With pushdown the database sums up numbers, dates and categories, and {unknown[0]!r} is another kind "
                "of column. Remedy: leave out pushdown."
            )
        transaction.check(domain)
        self.domain, self._transaction, self._checked = domain, transaction, False

    def refuse_models(self) -> None:
        """Refuse models of classes and counts: the database is not asked for their residuals."""
        raise ParameterError(
            "With pushdown the database sums up rows for linear models. Models of classes and counts need rows that "
            "are read here. Remedy: leave out pushdown."
        )

    def sums(self, what: Pass, report: Callable[[float], None]) -> PartialSums:
        """Return the sums of a pass."""
        if not self._checked:
            _refuse_bad(self._transaction, self.domain)
            self._checked = True
        run = _QueryRun(self._transaction, what.domain, report)
        if isinstance(what, MomentsPass):
            return run.moments(what)
        if isinstance(what, FirstPass):
            return run.first_pass(what)
        own = getattr(what, "coordinates", None)
        if isinstance(own, ModelCoordinates | SketchCoordinates) or getattr(own, "shrinkage", None) is not None:
            self.refuse_models()
        if isinstance(what, StagePass):
            return run.stage(what.coordinates, gram=what.gram)
        if isinstance(what, ScoreProductPass):
            return run.score_products(what.coordinates)
        raise ParameterError("This method needs sums that the database is not asked for. Remedy: leave out pushdown.")


def _refuse_derived(domain: Domain) -> None:
    """Refuse derived columns that the database cannot make."""
    inputs = dict.fromkeys(domain.inputs, "x")
    for name, column in domain.columns.items():
        try:
            if column.factors:
                DerivedNumbers(inputs).add(column)
        except ParameterError as error:
            raise ParameterError(
                f"With pushdown the database does not make the derived column {name!r}: {error}. Remedy: make it a "
                "column of the query and declare its bounds, or leave out pushdown."
            ) from None


class _QueryRun:
    """The statements of one pass."""

    def __init__(self, transaction: Snapshot, domain: Domain, report: Callable[[float], None]) -> None:
        self._transaction, self._domain, self._report = transaction, domain, report
        self._done, self._all = 0, 1

    def moments(self, what: MomentsPass) -> PartialSums:
        what.facts()  # refuses a sample
        products, d = layout(self._domain, what.targets), len(self._domain.entries)
        rows = _encoded(self._transaction, self._domain)
        if not products.outcomes:
            places = {(i, j): f"z{i} * z{j}" for i, j in combinations_with_replacement(range(d), 2)}
        else:
            F, f = list(products.features), len(products.features)
            both = [*F, *products.outcomes]
            places = {(a, b): f"z{i} * z{j}" for a, i in enumerate(F) for b, j in enumerate(both) if b >= min(a, f)}
            places |= {(f, f + b): f"z{j} * z{j}" for b, j in enumerate(products.outcomes)}
        columns = () if what.column is None else (what.column,)
        self._all = 1 + len(columns)
        found = _limbs(self._ask(rows, list(places.values()), self._lattice), places, products.shape)
        limbs = _symmetric(*found, min(products.shape) - bool(products.outcomes))
        return PartialSums(*limbs, [self._cells(column) for column in columns])

    def first_pass(self, what: FirstPass) -> PartialSums:
        d = len(self._domain.entries)
        sums = {(0, j): f"z{j} * {int(ONE)}" for j in range(d)} | {(1, j): f"z{j} * z{j}" for j in range(d)}
        self._all = 1 + len(what.columns)
        found = self._ask(_encoded(self._transaction, self._domain), list(sums.values()), self._lattice)
        return PartialSums(*_limbs(found, sums, (2, d)), [self._cells(column) for column in what.columns])

    def stage(self, coordinates: Coordinates, *, gram: bool) -> PartialSums:
        q, places = len(coordinates.axes), _places(coordinates)
        l = len(places)  # noqa: E741
        pairs = combinations_with_replacement(range(q), 2) if gram else ()
        sums = {(l + a, b): f"u{a} * u{b}" for a, b in pairs}
        sums |= {(i, b): f"e{i} * u{b}" for i in range(l) for b in range(q)}
        sums |= {(i, q): f"e{i} * e{i}" for i in range(l)}
        within = [f"abs(v{j}) <= {float8(b * ONE)}" for j, b in places]
        within += [f"length <= {float8(edge * ONE)}" for edge in coordinates.row_norms]
        rows = _rotated(_encoded(self._transaction, self._domain), coordinates, self._domain)
        kept = [*_lines(l, q), *(f"v{j}" for j in range(len(coordinates.outcomes))), "length"]
        found = self._ask(rows, [*sums.values(), "1", *(f"({test})::int" for test in within)], kept)
        high, low = _limbs(found, sums, (l + gram * q, q + 1))
        for limb in (high, low) if gram else ():
            limb[l:, :q] = _mirrored(limb[l:, :q])
        (count, *below), parts, start = found[len(sums) :], [], 0
        for own in coordinates.widths:
            parts.append(np.diff([0, *below[start : start + len(own)], count]))
            start += len(own)
        edges = below[start:]
        row_norms = np.diff([0, *edges, count]) if edges else np.zeros(0, dtype=np.int64)
        return PartialSums(high, low, [*parts, row_norms, np.array([count])])

    def score_products(self, coordinates: Coordinates) -> PartialSums:
        q, m = len(coordinates.axes), len(coordinates.outcomes)
        rows = _rotated(_encoded(self._transaction, self._domain), coordinates, self._domain)
        scores = [
            f"round(u{a}::float8 * (e{j}::float8 / {float8(ONE)}))::bigint AS s{j}_{a}"
            for j in range(m)
            for a in range(q)
        ]
        rows = with_columns(rows, scores)
        pairs = list(combinations_with_replacement(range(q), 2))
        sums = {(j * q + a, b): f"s{j}_{a} * s{j}_{b}" for j in range(m) for a, b in pairs}
        if m == 1:
            sums |= {(q + a, b): f"(abs(e0) < {int(ONE)})::int * u{a} * u{b}" for a, b in pairs}
        parts, kept = m + (m == 1), [*_lines(m, q), *(f"s{j}_{a}" for j in range(m) for a in range(q))]
        high, low = _limbs(self._ask(rows, list(sums.values()), kept), sums, (parts * q, q))
        for limb in (high, low):
            for j in range(parts):
                limb[j * q : (j + 1) * q] = _mirrored(limb[j * q : (j + 1) * q])
        return PartialSums(high, low)

    # ------------------------------------------------------------ statements

    @property
    def _lattice(self) -> list[str]:
        return [f"z{i}" for i in range(len(self._domain.entries))]

    def _ask(self, rows: str, terms: Sequence[str], kept: Sequence[str]) -> list[int]:
        """Return sums of integers over all rows, in one statement that computes the kept columns of a row once.

        So all sums are over the same rows, even if the query gives different ones each time, as with random().
        """
        some = [terms[i : i + _AT_ONCE] for i in range(0, len(terms), _AT_ONCE)]
        if len(some) > 1:
            held = f"WITH t AS MATERIALIZED (SELECT {', '.join(kept)} FROM {rows}) "
            rows = "t"
        else:
            held = ""
        sums = (", ".join(f"coalesce(sum({term}), 0)" for term in own) for own in some)
        parts = [f"SELECT {i} AS part, ARRAY[{own}]::text AS sums FROM {rows}" for i, own in enumerate(sums)]
        found = dict(self._fetch(held + " UNION ALL ".join(parts)))
        return [int(value) for i in range(len(some)) for value in found[i].strip("{}").split(",")]

    def _cells(self, outcome: str) -> Ints:
        """Return the counts of an outcome, over all rows that have one."""
        own, shift = self._domain.alone(outcome), LATTICE_BITS + 1 - (CELLS.bit_length() - 1)
        (place,) = own.indices([outcome])
        cell = f"least((z{place} + {int(ONE)}) >> {shift}, {CELLS - 1})::int"
        query = f"SELECT {cell} AS cell, count(*) FROM {_encoded(self._transaction, own)} GROUP BY 1"
        counts = np.zeros(CELLS, dtype=np.int64)
        for place, count in self._fetch(query):
            counts[place] = count
        return counts

    def _fetch(self, query: str) -> list[tuple[Any, ...]]:
        found = self._transaction.fetch(query)
        self._done += 1
        self._report(self._done / self._all)
        return found


def _limbs(found: Sequence[int], sums: Sums, shape: tuple[int, int]) -> tuple[Ints, Ints]:
    """Put the first of the found sums at their places in an array, as limbs."""
    high, low = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for place, value in zip(sums, found, strict=False):
        high[place], low[place] = value >> LIMB, value & ((1 << LIMB) - 1)
    return high, low


def _lines(residuals: int, axes: int) -> list[str]:
    return [*(f"e{i}" for i in range(residuals)), *(f"u{a}" for a in range(axes))]


# ---------------------------------------------------------------- rows on the lattice


def _encoded(transaction: Snapshot, domain: Domain) -> str:
    """Return SQL for the encoded rows: lattice integers z0, z1, ..., one for each coordinate of the domain."""
    encoder = Encoder(domain)
    numbers = {name: column for name, column in domain.columns.items() if column.bounds}
    categories = {name: column for name, column in domain.columns.items() if column.levels}
    read = {name: column for name, column in domain.inputs.items() if column.bounds}
    inputs = {name: f"i{i}" for i, name in enumerate(read)}
    raw = [f"{_number(transaction, name, column)} AS {inputs[name]}" for name, column in read.items()]
    raw += [f"{_level(transaction, name, column)} AS k{_place(domain, name)}" for name, column in categories.items()]
    rows = f"{transaction.rows()}{_where(transaction, domain)}"
    rows = with_columns(rows, [f"{int(ONE)}::bigint AS z0", *raw], keep=False)
    made = DerivedNumbers(inputs)
    found = {name: made.add(column) if column.factors else inputs[name] for name, column in numbers.items()}
    found |= {name: _searched(inputs[name], domain.columns[name]) for name in domain.searched}
    rows = with_columns(made.rows(rows), [f"{own} AS x{_place(domain, name)}" for name, own in found.items()])
    levels = [
        f"(k{_place(domain, name)} = {k})::int::bigint * {int(ONE)} AS z{place}"
        for name in categories
        for k, place in enumerate(domain.positions[name])
    ]
    rows = with_columns(rows, levels)
    places, ball = [_place(domain, name) for name in numbers], sorted(_place(domain, n) for n in domain.norm_columns)
    rows = with_columns(rows, [f"{_scaled(encoder, i, ball=i in ball)} AS y{i}" for i in places])
    plain = [i for i in places if i not in ball]
    if ball:
        rows = with_columns(rows, [f"{' + '.join(f'y{i} * y{i}' for i in ball)} AS squares"])
        rows = with_columns(rows, [f"{float8(ONE)} / greatest(sqrt(squares), {float8(ONE)}) AS short"])
        rows = with_columns(rows, [f"round(y{i} * short)::bigint AS q{i}" for i in ball])
        inside = f"{' + '.join(f'q{i} * q{i}' for i in ball)} <= {domain.ball_lattice}"
        rows = with_columns(rows, [f"CASE WHEN {inside} THEN q{i} ELSE 0 END AS z{i}" for i in ball])
    return with_columns(rows, [f"round(y{i})::bigint AS z{i}" for i in plain])


def _searched(x: str, column: Any) -> str:
    """Return SQL for the cell of a number without bounds: the number of powers of two up to its size, with its sign."""
    x = x if column.low == -math.inf else f"greatest({x}, {float8(column.low)})"
    x = x if column.high == math.inf else f"least({x}, {float8(column.high)})"
    size, powers = f"({x} - {float8(column.origin)})", ", ".join(float8(2.0**e) for e in range(LEAST + 1, MOST + 1))
    return f"sign({size}) * (width_bucket(abs({size}), ARRAY[{powers}]) + 1)"


def _place(domain: Domain, name: str) -> int:
    return domain.positions[name][0]


def _scaled(encoder: Encoder, place: int, *, ball: bool) -> str:
    """Return SQL for (x - c) s, clipped."""
    c, s, low, high = encoder.affine(place)
    x, near = f"x{place}", _near(c, s, low, high)
    if near is not None:
        x = f"least(greatest({x}, {float8(near[0])}), {float8(near[1])})"
    difference = f"({x} - {float8(c)})"
    product = f"{difference} * {float8(s)}"
    if ball or s < 1:
        least = (_TINY if ball else 0.25) / s
        product = f"CASE WHEN abs({difference}) < {float8(least)} THEN 0::float8 ELSE {product} END"
    return f"least(greatest({product}, {float8(low)}), {float8(high)})"


def _near(c: float, s: float, low: float, high: float) -> tuple[float, float] | None:
    """Return limits beyond both bounds, to which values can be moved before clipping; None without bounds."""
    if max(-low, high) > 2 * ONE:
        return None
    least, most = c - 4 * (ONE / s), c + 4 * (ONE / s)
    if not (math.isfinite(least) and math.isfinite(most) and (least - c) * s <= low and (most - c) * s >= high):
        raise ParameterError("With pushdown, bounds must leave room for numbers beyond them. Leave out pushdown.")
    return least, most


def _number(transaction: Snapshot, name: str, column: Column) -> str:
    """Return SQL for a number in float8; dates are days since 1970."""
    kind, value = transaction.kind(name), quoted(name)
    if not column.date:
        return f"{value}::int::float8" if kind == "bool" else f"{value}::float8"
    if kind == "date":
        return f"({value} - DATE '1970-01-01')::float8"
    return f"(extract(epoch FROM {value}) * 1000000)::bigint::float8 / {float8(86_400_000_000.0)}"


def _level(transaction: Snapshot, name: str, column: Column) -> str:
    """Return SQL for the place of a row's level among those declared, -1 if it is none of them."""
    kind, value, levels = transaction.kind(name), quoted(name), enumerate(column.levels)
    if column.entries is TEXT:
        value = f'{value}::text COLLATE pg_catalog."C"'  # byte by byte, whatever the collation of the column
        known = [(k, text(str(level))) for k, level in levels if "\0" not in str(level)]  # PostgreSQL text has no NUL
    elif kind in ("float4", "float8", "numeric"):
        value = f"{value}::float8"
        known = [(k, float8(int(level))) for k, level in levels if int(float(level)) == int(level)]
    else:
        value = f"{value}::int" if kind == "bool" else value
        known = [(k, f"'{int(level)}'::bigint") for k, level in levels if -(2**63) <= int(level) < 2**63]
    arms = " ".join(f"WHEN {level} THEN {k}" for k, level in known)
    return f"CASE {value} {arms} ELSE -1 END" if arms else "-1"


def _where(transaction: Snapshot, domain: Domain) -> str:
    """Return the WHERE clause that drops rows with missing values, if they are to be dropped."""
    if domain.missing != "drop":
        return ""
    lacking = (_lacks(transaction, name) for name in domain.inputs)
    return f" WHERE NOT ({' OR '.join(lacking)})"


def _lacks(transaction: Snapshot, name: str) -> str:
    return f"({quoted(name)} IS NULL" + (f" OR {_is_nan(name)})" if _can_be_nan(transaction, name) else ")")


def _can_be_nan(transaction: Snapshot, name: str) -> bool:
    return transaction.kind(name) in ("float4", "float8", "numeric")


def _is_nan(name: str) -> str:
    return f"{quoted(name)} = 'NaN'"


# ---------------------------------------------------------------- rows in the coordinates of a stage


def _rotated(rows: str, coordinates: Coordinates, domain: Domain) -> str:
    """Return SQL for the rotated rows u and e, with v and the row norms; see `domain.coordinates`."""
    x, y = domain.indices(coordinates.design), domain.indices(coordinates.outcomes)
    P, theta, q = coordinates.P.floats.T, coordinates.theta.floats.T, len(coordinates.axes)
    rotated = [f"{_product(p, x)} AS w{a}" for a, p in enumerate(P)]
    rotated += [
        f"z{place}::float8 + {_product(-t, x)} AS r{j}" for j, (t, place) in enumerate(zip(theta, y, strict=True))
    ]
    rows = with_columns(rows, rotated)
    rows = with_columns(rows, [f"greatest(sqrt({_tree(q)}), {float8(coordinates.radius * ONE)}) AS length"])
    short = [f"round(w{a} * ({float8(ONE)} / length))::bigint AS o{a}" for a in range(q)]
    short += [f"r{j} * ({float8(coordinates.radius * ONE)} / length) AS v{j}" for j in range(len(y))]
    rows = with_columns(rows, short)
    inside = f"{' + '.join(f'o{a} * o{a}' for a in range(q))} <= {coordinates.norm_squared_lattice}"
    clipped = [f"CASE WHEN inside THEN o{a} ELSE 0 END AS u{a}" for a in range(q)]
    clipped += [f"{_clipped(j, b)} AS e{i}" for i, (j, b) in enumerate(_places(coordinates))]
    return with_columns(with_columns(rows, [f"{inside} AS inside"]), clipped)


def _places(coordinates: Coordinates) -> list[tuple[int, float]]:
    """Return the outcome and the half width of each e."""
    return [(j, b) for j, own in enumerate(coordinates.widths) for b in own]


def _clipped(j: int, b: float) -> str:
    inverse = float(1 / np.float64(b))
    return f"round(least(greatest(v{j} * {float8(inverse)}, {float8(-ONE)}), {float8(ONE)}))::bigint"


def _product(weights: Floats, places: Sequence[int]) -> str:
    """Return SQL for a product of weights with coordinates, which is exact in any order."""
    terms = [f"{float8(w)} * z{place}" for w, place in zip(weights.tolist(), places, strict=True) if w]
    return f"({' + '.join(terms) or float8(0.0)})"


def _tree(q: int) -> str:
    """Return SQL for the sum of squares, in the order of `domain.coordinates`."""
    terms = [f"w{a} * w{a}" for a in range(q)]
    while (k := len(terms)) > 1:
        half = k // 2
        terms = [f"({terms[i]} + {terms[k - half + i]})" for i in range(half)] + terms[half : k - half]
    return terms[0]


# ---------------------------------------------------------------- bad data


def _refuse_bad(transaction: Snapshot, domain: Domain) -> None:
    """Refuse rows with missing or infinite numbers, or with levels that are not declared, in the usual words."""
    flaws = [flaw for name, column in domain.inputs.items() for flaw in _flaws(transaction, name, column, domain)]
    tests = ", ".join(f"coalesce(bool_or({test}), false)" for test, _ in flaws)
    rows = f"{transaction.rows()}{_where(transaction, domain)}"
    ((found,),) = transaction.fetch(f"SELECT ARRAY[{tests}]::text FROM {rows}")
    problems = Problems()
    for is_there, (_, tell) in zip(found.strip("{}").split(","), flaws, strict=True):
        if is_there == "t":
            with problems.met():
                tell()
    problems.tell()


def _flaws(
    transaction: Snapshot, name: str, column: Column, domain: Domain
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield SQL tests of one column, each with a function that raises its error by reading a made-up entry."""

    def reading(entry: object, kind: pa.DataType) -> Callable[[], None]:
        def tell() -> None:
            refuse_non_finite(name, read_column(pa.array([entry], kind), name, column))

        return tell

    value = quoted(name)
    if column.levels:
        lacks, other = pa.string() if column.entries is TEXT else pa.float64(), _undeclared(column)
        yield _lacks(transaction, name), reading(None, lacks)
        yield f"NOT {_lacks(transaction, name)} AND {_level(transaction, name, column)} < 0", reading(other, lacks)
        return
    yield f"{value} IS NULL", reading(None, pa.float64())
    if _can_be_nan(transaction, name):
        yield _is_nan(name), reading(math.nan, pa.float64())
        yield f"abs({value}::float8) = 'Infinity'", reading(math.inf, pa.float64())
    if column.date:
        yield f"NOT isfinite({value})", lambda: _refuse_far(name, "dates without end")
    if name in domain.norm_columns:
        far = f"abs({value}::float8) BETWEEN {float8(_FAR)} AND {float8(np.finfo(float).max)}"
        yield far, lambda: _refuse_far(name, "numbers beyond 1e100, which the database does not shorten")


def _refuse_far(name: str, what: str) -> None:
    raise DataError(f"Column {name!r} holds {what}. Remedy: mend them before the release, or leave out pushdown.")


def _undeclared(column: Column) -> str | float:
    """Return an entry that is not a declared level."""
    return "".join(map(str, column.levels)) + "?" if column.entries is TEXT else 0.5


# ---------------------------------------------------------------- limbs


def _mirrored(upper: Ints) -> Ints:
    """Return a symmetric matrix, given its upper triangle."""
    return np.triu(upper) + np.triu(upper, k=1).T


def _symmetric(high: Ints, low: Ints, size: int) -> tuple[Ints, Ints]:
    """Make the first square block of both limbs symmetric, given its upper triangle."""
    for limb in (high, low):
        limb[:size, :size] = _mirrored(limb[:size, :size])
    return high, low
