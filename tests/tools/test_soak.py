"""The soak finds what it is for, and a few of its seeds find nothing."""

import random

import pytest
from tools.soak.__main__ import tried
from tools.soak.watch import Marks, Watch

from discreet.errors import DataError


def watch():
    return Watch(Marks.drawn(random.Random(0)), 0)


def refuse(text):
    raise DataError(text)


def test_what_is_ours_is_counted():
    own = watch()
    assert own.attempt("a call", lambda: 3) == 3
    assert own.attempt("a refusal", lambda: refuse("Column 'age' holds a bad value.")) is None
    assert (own.calls, own.done, own.refused["DataError"], own.foreign, own.leaks) == (2, 1, 1, [], [])


def test_other_exceptions_are_found():
    own = watch()
    own.attempt("division", lambda: 1 / 0)
    assert "ZeroDivisionError" in own.foreign[0]


@pytest.mark.parametrize("spelled", ["{0.numbers[0]}", "{0.numbers[1]:.9g}", "{0.word}", "{0.rows} rows"])
def test_leaks_in_errors_are_found(spelled):
    own = watch()
    own.attempt("a refusal", lambda: refuse(spelled.format(own.marks)))
    assert len(own.leaks) == 1


def test_leaks_in_output_and_bytes_are_found():
    own = watch()
    own.attempt("a word", lambda: print(own.marks.numbers[0]))
    own.read_bytes("a pickle", b"..." + own.marks.packed[1] + b"...")
    assert len(own.leaks) == 2


@pytest.mark.parametrize(
    ("part", "trials"),
    [("inputs", 3), ("parameters", 6), ("files", 6), ("commands", 3), ("units", 20), ("expressions", 4)],
)
def test_a_few_seeds_find_nothing(part, trials):
    found = tried(part, 20_000, trials)
    assert found["calls"] >= trials
    assert not found["foreign"]
    assert not found["leaks"]
