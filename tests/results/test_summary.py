"""Tables as people read them: what is missing stands there once, and divided tables keep their names."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import AdaSSP, Domain, DPLinearRegression, ReuseCov, compare, formula
from discreet.cli import console
from discreet.results.summary import Summary, formula_title

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


def test_a_title_counts_levels_where_there_are_too_many_to_read():
    domain = Domain({"occ": [f"work {i}" for i in range(302)], "age": (18, 90), "sex": ["F", "M"], "y": (0, 1)})
    made = formula("y ~ occ + age + sex + age:occ", domain)
    names = made.domain.design_names(made.features)[1:]
    title = formula_title("y", names, made.domain)
    assert title == "y ~ occ (302 levels) + age + sex + age:occ (302 levels)"
    assert formula_title("y", ["occ[work 1]", "age"], domain) == "y ~ occ[work 1] + age"
    assert formula_title("y", [], domain) == "y ~ 1"


def test_a_title_of_hundreds_of_numbers_ends_with_how_many_more_there_are():
    names = [f"measurement_{i:03}" for i in range(400)]
    title = formula_title("y", names, Domain(dict.fromkeys(names, (0, 1))))
    assert len(title) < 330
    shown = title.count("measurement_")
    assert title.endswith(f" + {400 - shown} more")


def test_the_summary_of_a_model_of_many_levels_has_a_short_title():
    levels = [f"a very long name of an occupation, number {i}" for i in range(30)]
    rows = pa.table({"occ": RNG.choice(levels, 2000), "y": X[:, 0]})
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=Domain({"occ": levels, "y": (0, 1)}), random_state=0)
    assert model.fit_source(rows, "y").results_.summary().title == "y ~ occ (30 levels)"


def test_a_certificate_names_a_statistic_once_with_how_often_it_was_released():
    words = DPLinearRegression(**GIVEN).fit(X, X[:, 0]).certificate_.words()
    assert "counts of y (twice)" in words
    assert "counts of y, counts of y" not in words
    assert "twice" not in AdaSSP(**GIVEN).fit(X, X[:, 0]).certificate_.words()
