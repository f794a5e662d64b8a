"""The custodian's own look at rows: what a schema refuses or clips, with counts; **confidential**.

Nothing here is private: the counts are exact, and follow from the rows. They belong beside the data and not in a
release, a schema or a message to others. A bound that is chosen because of them is no public fact.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.arrays import Floats
from discreet.data.sources.arrow import ArrowSource
from discreet.data.tables import open_source
from discreet.domain import Domain
from discreet.domain.keys import keys
from discreet.domain.kinds.base import Column
from discreet.domain.values import plain
from discreet.errors import DataError

CONFIDENTIAL = (
    "CONFIDENTIAL: exact counts of private rows. Keep them with the data. Do not publish or send them, and do not "
    "choose bounds by them: what a release promises holds only for bounds and levels that are public knowledge."
)

ENDS = 24
"""How many of the least and of the largest values of a column are kept."""

FEWEST, GAP, WIDER = 3, 0.2, 3.0
"""A code stands in so many rows or more; the gap to all other values is this share of their range, and so many times as
wide as the gaps among the next of them."""

_ROWS = 1 << 16


@dataclass(frozen=True, repr=False)
class ColumnFit:
    """The values of one column beside what is declared of it; **confidential**."""

    column: Column
    rows: int = 0
    missing: int = 0
    infinite: int = 0
    below: int = 0
    above: int = 0
    levels: Mapping[Any, int] = field(default_factory=dict)  # of a category: rows of every value
    ends: Mapping[float, int] = field(default_factory=dict)  # of a number: rows of the least and the largest values

    @property
    def undeclared(self) -> dict[Any, int]:
        """Values of a category that are no declared level, with their rows."""
        declared = set(self.column.levels)
        return {value: count for value, count in self.levels.items() if value not in declared}

    @property
    def absent(self) -> list[Any]:
        """Declared levels that no row has."""
        return [level for level in self.column.levels if not self.levels.get(level)]

    @property
    def codes(self) -> dict[float, int]:
        """Whole numbers at an end, in several rows, far from all other values: -999, 99999; with their rows.

        Examples
        --------
        >>> from discreet.domain import Numeric
        >>> ColumnFit(Numeric(0, 120), rows=70, ends={-999.0: 5, 18.0: 30, 19.0: 5, 20.0: 30}).codes
        {-999.0: 5}
        """
        left, found = dict(self.ends), dict[float, int]()
        while more := _code(left, 1.0) or _code({-value: count for value, count in left.items()}, -1.0):
            found |= {value: left.pop(value) for value in more}
        return dict(sorted(found.items()))

    @property
    def remarks(self) -> str:
        """Say what else is unexpected: infinite values, codes, levels that nobody declared or has."""
        coded = ", ".join(f"{self.column.shown(value, '{:g}'.format)} in {n:,} rows" for value, n in self.codes.items())
        listed = ", ".join(f"{value!r} in {n:,} rows" for value, n in self.undeclared.items())
        parts = [
            f"{self.infinite:,} infinite" if self.infinite else "",
            f"codes? {coded}" if coded else "",
            f"undeclared: {listed}" if listed else "",
            f"in no row: {', '.join(map(repr, self.absent))}" if self.absent else "",
        ]
        return "; ".join(filter(None, parts))

    def refusals(self, name: str, *, drop: bool) -> list[str]:
        """Say why a fit would refuse these values."""
        found = [f"{name}: {self.infinite:,} infinite values"] if self.infinite else []
        found += [f"{name}: {self.missing:,} missing values"] if self.missing and not drop else []
        return found + [f"{name}: level {value!r} in {n:,} rows, undeclared" for value, n in self.undeclared.items()]


@dataclass(frozen=True, repr=False)
class RowFit:
    """The rows of a table beside its schema; **confidential**.

    Attributes
    ----------
    columns : dict
        The declared columns.
    rows : int
        The number of rows.
    persons, crowded : int
        The number of persons, and of those who have more than `rows_per_person` rows.
    most : int
        The largest number of rows of a person.
    nobody : int
        Rows that do not tell whose they are.
    heavy, negative, weightless : int
        Rows whose weight is above the largest, below 0, or missing.
    """

    domain: Domain
    columns: dict[str, ColumnFit]
    rows: int
    persons: int = 0
    crowded: int = 0
    most: int = 0
    nobody: int = 0
    heavy: int = 0
    negative: int = 0
    weightless: int = 0

    @property
    def refusals(self) -> list[str]:
        """Say why a fit would refuse these rows; empty if it would not."""
        drop, unit = self.domain.missing == "drop", self.domain.unit
        found = [text for name, fit in self.columns.items() for text in fit.refusals(name, drop=drop)]
        if not drop:
            found += [f"{unit.person}: {self.nobody:,} rows without a person"] if self.nobody else []
            found += [f"{unit.weights}: {self.weightless:,} missing weights"] if self.weightless else []
        return found if self.rows else ["the table has no row"]

    @property
    def unit_words(self) -> list[str]:
        """Say how rows of persons, and weights, go with what is declared."""
        unit, found = self.domain.unit, []
        if unit.person:
            found.append(
                f"{self.persons:,} persons ({unit.person!r}); {self.crowded:,} have more than {unit.rows_per_person} "
                f"rows, at most {self.most:,}; {self.nobody:,} rows tell of no person."
            )
        if unit.weights:
            found.append(
                f"Weights ({unit.weights!r}): {self.heavy:,} above {unit.largest_weight:g}, {self.negative:,} below 0, "
                f"{self.weightless:,} missing."
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all counts as JSON."""
        return {
            "confidential": CONFIDENTIAL,
            "rows": self.rows,
            "columns": {name: _as_json(fit) for name, fit in self.columns.items()},
            **{name: getattr(self, name) for name in self._of_unit},
            "refusals": self.refusals,
        }

    @property
    def _of_unit(self) -> list[str]:
        person = ["persons", "crowded", "most", "nobody"] if self.domain.unit.person else []
        return person + (["heavy", "negative", "weightless"] if self.domain.unit.weights else [])

    def __repr__(self) -> str:
        return f"RowFit({len(self.columns)} columns, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Counts of rows are confidential and are not pickled.")


def check_rows(source: Any, domain: Domain) -> RowFit:
    """Read all rows of a file or table and count what the schema refuses, clips or does not expect.

    Parameters
    ----------
    source : path, frame, Arrow table or another source of rows with names
        The rows.
    domain : Domain
        The schema.

    Examples
    --------
    >>> fit = check_rows(pa.table({"age": [20.0, 30.0, 200.0]}), Domain({"age": (18, 90)}))
    >>> fit.columns["age"].above, fit.refusals, fit
    (1, [], RowFit(1 columns, confidential))
    """
    reader = open_source(source, domain.with_missing("drop"))
    if not isinstance(reader, ArrowSource):
        raise DataError("Rows are checked one by one in files, frames and Arrow tables; save these rows to a file.")
    seen = _RowTotals(domain)
    with contextlib.closing(reader):
        for batch in _batches(reader):
            seen.add(batch)
        reader.check_unchanged()
    return seen.fit()


def _batches(reader: ArrowSource) -> Iterator[pa.RecordBatch]:
    return itertools.chain.from_iterable(reader.parts(_ROWS))


class _RowTotals:
    """Counts over the batches that were read."""

    def __init__(self, domain: Domain) -> None:
        self._domain, self._rows = domain, 0
        self._fits = {name: ColumnFit(column) for name, column in domain.inputs.items()}
        self._persons: dict[str | None, int] = {}
        self._weights = np.zeros(3, dtype=np.int64)

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch."""
        unit = self._domain.unit
        self._rows += batch.num_rows
        for name, fit in self._fits.items():
            self._fits[name] = _joined(fit, _fit_of(batch.column(name), fit.column))
        if unit.person is not None:
            self._persons = _added(self._persons, _counted(keys(batch.column(unit.person), unit.person)))
        if unit.weights is not None:
            known = _numbers(batch.column(unit.weights), self._domain.reads[unit.weights])
            self._weights += [(known > unit.largest_weight).sum(), (known < 0).sum(), np.isnan(known).sum()]

    def fit(self) -> RowFit:
        """Return the counts of all rows."""
        persons = dict(self._persons)
        nobody, m = persons.pop(None, 0), self._domain.unit.rows_per_person
        return RowFit(
            self._domain,
            self._fits,
            self._rows,
            len(persons),
            sum(count > m for count in persons.values()),
            max(persons.values(), default=0),
            nobody,
            *(int(count) for count in self._weights),
        )


def _fit_of(array: pa.Array, column: Column) -> ColumnFit:
    """Return the counts of one column of a batch."""
    if column.bounds is None:
        return _of_category(plain(array, column), column)
    x = _numbers(array, column)
    finite = x[np.isfinite(x)]
    low, high = column.bounds
    values, counts = np.unique(finite, return_counts=True)
    return ColumnFit(
        column,
        len(x),
        int(np.isnan(x).sum()),
        int(np.isinf(x).sum()),
        int((finite < low).sum()),
        int((finite > high).sum()),
        ends=_ends(dict(zip(values.tolist(), counts.tolist(), strict=True))),
    )


def _of_category(array: pa.Array, column: Column) -> ColumnFit:
    counts = _counted(array.dictionary_decode() if pa.types.is_dictionary(array.type) else array)
    levels = {_level(value, column): count for value, count in counts.items() if not _is_gap(value)}
    return ColumnFit(column, len(array), sum(n for value, n in counts.items() if _is_gap(value)), levels=levels)


def _level(value: Any, column: Column) -> Any:
    """Return a value as the declared level that it stands for, or as it is: 1.0 is the level 1, and 1 is yes."""
    return next((level for level in column.levels if level == value), value)


def _is_gap(value: Any) -> bool:
    return value is None or value != value


def _numbers(array: pa.Array, column: Any) -> Floats:
    """Return numbers, or days, with NaN where one is missing."""
    array = plain(array, column)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    found = np.full(len(array), np.nan)
    try:
        found[valid] = column.read(array.drop_null(), "")
    except (OverflowError, pa.ArrowException):
        raise DataError("Some dates are too far away to be counted in microseconds. Mend them first.") from None
    return found


def _counted(array: pa.Array) -> dict[Any, int]:
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(array).to_pylist()}


def _added(one: Mapping[Any, int], other: Mapping[Any, int]) -> dict[Any, int]:
    found = dict(one)
    for value, count in other.items():
        found[value] = found.get(value, 0) + count
    return found


def _joined(one: ColumnFit, other: ColumnFit) -> ColumnFit:
    return ColumnFit(
        one.column,
        one.rows + other.rows,
        one.missing + other.missing,
        one.infinite + other.infinite,
        one.below + other.below,
        one.above + other.above,
        _added(one.levels, other.levels),
        _ends(_added(one.ends, other.ends)),
    )


def _ends(counts: Mapping[float, int]) -> dict[float, int]:
    """Keep the least and the largest values; those of all batches are among those of each."""
    values = sorted(counts)
    kept = values if len(values) <= 2 * ENDS else [*values[:ENDS], *values[-ENDS:]]
    return {value: counts[value] for value in kept}


def _code(counts: Mapping[float, int], sign: float) -> list[float]:
    """Return the least value, times the sign, with those close to it, if a wide gap parts them from all others."""
    values = sorted(counts)
    steps = np.diff(values[:ENDS])
    for i, step in enumerate(steps[:-1]):
        rest = values[-1] - values[i + 1]
        if step > GAP * rest and step > WIDER * steps[i + 1 :].max():
            near = values[: i + 1]
            coded = all(counts[value] >= FEWEST and value.is_integer() for value in near)
            return [sign * value for value in near] if coded else []
    return []


def _as_json(fit: ColumnFit) -> dict[str, Any]:
    shared = {"missing": fit.missing}
    if fit.column.bounds is None:
        undeclared = [{"value": value, "rows": count} for value, count in fit.undeclared.items()]
        return shared | {"undeclared": undeclared, "absent": fit.absent}
    codes = [{"value": value, "rows": count} for value, count in fit.codes.items()]
    return shared | {"infinite": fit.infinite, "below": fit.below, "above": fit.above, "codes": codes}
