"""Persons in every engine: the same rows are the same persons, and what is no key is refused in the same words."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, Moments
from discreet.errors import DataError, ParameterError

pytestmark = pytest.mark.more

DOMAIN = Domain({"x": (-1, 1)}, person="id", rows_per_person=2)
WORDS = "must hold whole numbers or text, which tell whose a row is"
ROWS = 600
LETTERS = ["a", "A", "a ", " a", "á", "a\u0301", "1", "01", "1.0", "-1", "it's", 'q"q', "\\", "", "ß", "SS", "ﬁ"]


def table(ids):
    rng = np.random.default_rng(1)
    return pa.table({"id": ids, "x": rng.integers(-8, 9, len(ids)) / 8})


def drawn(values, kind):
    rng = np.random.default_rng(0)
    return pa.array([values[i] for i in rng.integers(0, len(values), ROWS)], kind)


KEYS = {
    "int16": drawn(list(range(-40, 40)), pa.int16()),
    "int32": drawn(list(range(40)), pa.int32()),
    "int64": drawn([2**53, 2**53 + 1, 2**63 - 1, -(2**63), 0, 7], pa.int64()),
    "text": drawn(LETTERS, pa.string()),
    "text of numbers": drawn([f"{k}" for k in range(50)], pa.string()),
}
OTHERS = {
    "float": pa.array([1.0, 2.0, 1.5]),
    "decimal": pa.array([Decimal("1.00"), Decimal("2.00")]),
    "truth value": pa.array([True, False]),
    "date": pa.array([dt.date(2001, 2, 3), dt.date(2002, 2, 3)]),
    "bytes": pa.array([b"1", b"2"]),
}


def by_person(engine, source):
    """The moments of persons; engines that do not divide rows by person say so, and are done."""
    if engine.name == "pushdown":
        with pytest.raises(ParameterError, match="leave out pushdown"):
            Moments.from_source(source, DOMAIN)
        return None
    if engine.name in ("processes", "delayed"):
        with pytest.raises(DataError, match="does not divide rows by person"):
            Moments.from_source(source, DOMAIN)
        return None
    return Moments.from_source(source, DOMAIN)


@pytest.mark.parametrize("kind", KEYS)
def test_the_same_rows_are_the_same_persons(engine, kind):
    """Compared with keys as Python writes them, in memory."""
    ids = KEYS[kind]
    reference = Moments.from_source(table(pa.array([str(key) for key in ids.to_pylist()])), DOMAIN)
    assert by_person(engine, engine(table(ids))) in (None, reference)


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_key_is_refused(engine, kind):
    source = engine(table(OTHERS[kind]))
    if engine.name in ("pushdown", "processes", "delayed"):
        with pytest.raises((DataError, ParameterError)):
            Moments.from_source(source, DOMAIN)
        return
    with pytest.raises(DataError, match=WORDS):
        Moments.from_source(source, DOMAIN)
