"""Rows that lack a value are left out for the columns that models use, and for no others; what is left out is told."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLinearRegression, release
from discreet.errors import DiscreetWarning, ParameterError

COLUMNS = {"age": (18, 90), "sex": ["F", "M"], "hours": (0, 80), "income": (0, 9_999), "wealth": (0, 9)}
DOMAIN = Domain(COLUMNS, missing="drop")
PROMISE = {"epsilon": 2, "delta": 1e-6}
ROWS = 5_000


def table(lacking=0.6):
    """A table in which most have no wealth, and those have a higher income."""
    rng = np.random.default_rng(0)
    age, hours = rng.uniform(18, 90, ROWS), rng.uniform(0, 80, ROWS)
    found = pd.DataFrame({"age": age, "sex": rng.choice(["F", "M"], ROWS), "hours": hours})
    lacks = rng.random(ROWS) < lacking
    found["income"] = 1_000 + 30 * age + 2_000 * lacks + rng.normal(0, 100, ROWS)
    return found.assign(wealth=np.where(lacks, np.nan, 5.0))


def rows_of(released):
    """About how many rows a release is of."""
    return released.equations("income").n


@pytest.mark.parametrize("how", ["models", "features", "select"])
def test_a_release_that_names_its_models_keeps_the_rows_that_they_can_use(how):
    named = {
        "models": {"models": ["income ~ age + sex"]},
        "features": {"targets": ["income"], "features": ["age", "sex"]},
        "select": {"domain": DOMAIN.select(["age", "sex", "income"]), "models": "income ~ age + sex"},
    }[how]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DiscreetWarning)
        found = release(table(), **{"domain": DOMAIN, **named}, **PROMISE, random_state=0)
    assert list(found.domain.inputs) == ["age", "sex", "income"]
    assert abs(rows_of(found) - ROWS) < 0.05 * ROWS
    middle = np.asarray(found.fit("income ~ age + sex").predict(pd.DataFrame({"age": [54.0], "sex": ["F"]})))
    assert abs(middle[0] - (1_000 + 30 * 54 + 0.6 * 2_000)) < 150


def test_a_release_of_all_columns_says_which_it_leaves_out_rows_for():
    with pytest.warns(DiscreetWarning, match=r"any of the 5 declared columns \(age, sex, hours, income, wealth\)"):
        found = release(table(), domain=DOMAIN, targets=["income"], **PROMISE, random_state=0)
    assert rows_of(found) < 0.5 * ROWS
    with warnings.catch_warnings():
        warnings.simplefilter("error", DiscreetWarning)
        release(table(0), domain=Domain(COLUMNS), targets=["income"], **PROMISE, random_state=0)


def test_several_models_share_a_release():
    texts = ["income ~ age + sex", "hours ~ age + age^2"]
    found = release(table(), domain=DOMAIN, models=texts, **PROMISE)
    assert (sorted(found.domain.inputs), found.outcomes) == (["age", "hours", "income", "sex"], ("income", "hours"))
    for text in texts:
        assert len(found.fit(text).names) == 2
    chained = release(table(), domain=DOMAIN, models=["income ~ age + hours", "hours ~ age"], **PROMISE)
    assert chained.fit("income ~ age + hours").names == ("age", "hours")
    assert chained.fit("hours ~ age").names == ("age",)


def test_models_of_a_ball_keep_its_norm():
    ball = Domain({"a": (-1, 1), "b": (-1, 1), "y": (0, 1)}, data_norm=1.0, norm_columns=["a", "b"])
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.uniform(0, 0.5, (500, 3)), columns=["a", "b", "y"])
    found = release(rows, domain=ball, models="y ~ a", **PROMISE).domain
    assert (found.data_norm, found.norm_columns) == (1.0, ("a",))


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"models": []}, "models must be formulas"),
        ({"models": ["income ~ age", "hours ~ age - 1"]}, "an intercept, or none"),
        ({"models": ["income ~ sex", 'hours ~ C(sex, Treatment("M"))']}, "against different levels"),
        ({"models": "income ~ age", "features": ["age"]}, "either models="),
    ],
)
def test_models_that_do_not_go_together(named, words):
    with pytest.raises(ParameterError, match=words):
        release(table(), domain=DOMAIN, **named, **PROMISE)


def test_fits_read_the_columns_that_they_use():
    model = DPLinearRegression(domain=DOMAIN, **PROMISE, random_state=0)
    for fit in (
        lambda: model.fit_formula("income ~ age + sex", table()),
        lambda: model.fit_source(table(), "income", ["age", "sex"]),
    ):
        assert abs(rows_of(fit().release_) - ROWS) < 0.05 * ROWS


def test_the_command_line_says_it_before_and_after(run, tmp_path):
    table().to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.json").write_text(json.dumps(DOMAIN.to_dict()))
    release_ = ["release", "t.parquet", "--schema", "t.json", "--epsilon", 2, "--delta", 1e-6]
    ran = run(*release_, "--targets", "income", "--out", "all.json")
    assert ran.code == 0
    assert "any of the 5 declared columns" in ran.said
    assert "lack a value of hours, wealth, which" in run("model", "all.json", "--features", "age,sex").said
    ran = run(*release_, "--formula", "income ~ age + sex", "--out", "some.json")
    assert ran.code == 0
    assert "declared columns" not in ran.said
    assert "which this model does not use" not in run("model", "some.json", "--formula", "income ~ age + sex").said
    assert run(*release_, "--formula", "income ~ age", "--features", "age").code == 2
