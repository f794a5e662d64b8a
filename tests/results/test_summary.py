"""Tables as people read them: what is missing stands there once, and divided tables keep their names."""

import numpy as np
import pytest

from discreet import AdaSSP, DPLinearRegression, ReuseCov, compare
from discreet.cli import console
from discreet.results.summary import Summary

RNG = np.random.default_rng(0)
X = RNG.random((2000, 2))
GIVEN = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, 1), "bounds_y": (0, 1), "random_state": 1}


def test_standard_errors_that_were_not_released_fill_one_column():
    read = AdaSSP(**GIVEN).fit(X, X[:, 0]).results_.summary()
    assert read.columns == ("", "estimate", "std err", "privacy noise", "unit")
    assert {row[2] for row in read.rows} == {"not released"}
    whole = DPLinearRegression(**GIVEN).fit(X, X[:, 0]).results_.summary()
    assert whole.columns[4:7] == ("P>|t|", "[0.025", "0.975]")


def test_differences_without_intervals_have_no_columns_for_them():
    fitted = DPLinearRegression(**GIVEN).fit(X, X[:, 0]).results_
    read = compare(fitted, fitted).summary()
    assert read.columns == ("", "A", "A 95 % interval", "B", "B 95 % interval", "B - A", "unit")
    assert any("Intervals of differences are not available" in note for note in read.notes)
    assert all(len(row) == len(read.columns) for row in read.rows)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_each_part_of_a_divided_table_names_the_outcome_and_the_coefficient(width, monkeypatch):
    monkeypatch.setattr(console.out, "_width", width)
    read = ReuseCov(**GIVEN).fit(X, X).results_.summary()
    parts = console._fitting(read)
    assert all(part[:2] == [0, 1] for part in parts)
    assert [i for part in parts for i in part[2:]] == list(range(2, len(read.columns)))


def test_columns_are_left_out_by_their_place():
    read = Summary("", (), ("", "a", "a", "b"), (("x", "1", "2", "3"),)).without(1)
    assert (read.columns, read.rows) == (("", "a", "b"), (("x", "2", "3"),))
