"""Exposures by formula: the same model as by parameter, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLinearRegression, DPPoissonRegression, check, plan, release
from discreet.errors import ParameterError

DOMAIN = Domain({"age": (18, 90), "days": (1, 365), "days off": (1, 30), "falls": (0, 20), "stay": (0, 30)})
OPTIONS = {"epsilon": 5, "delta": 1e-6, "domain": DOMAIN, "random_state": 0}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.uniform(18, 90, 4000), "days": rng.uniform(1, 365, 4000)})
    table["falls"] = rng.poisson(0.01 * table["days"] * np.exp(0.01 * (table["age"] - 50))).clip(0, 20)
    table["days off"], table["stay"] = rng.uniform(1, 30, 4000), rng.uniform(0, 30, 4000)
    return table


def test_an_offset_is_the_exposure(people):
    by_formula = DPPoissonRegression(**OPTIONS).fit_formula("falls ~ age + offset(log(days))", people)
    by_name = DPPoissonRegression(**OPTIONS, exposure="days").fit_source(people, "falls", ["age"])
    both = DPPoissonRegression(**OPTIONS, exposure="days").fit_formula("falls ~ age", people)
    for model in (by_formula, both):
        assert model.results_.coefficients == by_name.results_.coefficients
        np.testing.assert_array_equal(model.predict(people[["age"]][:9]), by_name.predict(people[["age"]][:9]))
    assert "one unit of days" in str(by_formula.results_.summary())


def test_the_file_of_a_model_with_an_offset_passes_check(people, tmp_path):
    model = DPPoissonRegression(**OPTIONS | {"random_state": None})
    model.fit_formula("falls ~ age + offset(log(days))", people).release_.save(tmp_path / "falls.json")
    assert check(tmp_path / "falls.json").ok


def test_a_name_in_backticks(people):
    model = DPPoissonRegression(**OPTIONS).fit_formula("falls ~ age + offset(log(`days off`))", people)
    assert "one unit of days off" in str(model.results_.summary())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("falls ~ age - offset(log(days))", "An offset is"),
        ("falls ~ age + offset(days)", "An offset is"),
        ("falls ~ age + offset(log(days + 1))", "An offset is"),
        ("falls ~ offset(log(days)) + offset(log(days))", "An offset is"),
        ("falls ~ (age + offset(log(days)))^2", "An offset is"),
        ("falls ~ age + days + offset(log(days))", "is the exposure, and no feature"),
        ("falls ~ age + offset(log(weeks))", "'weeks' is not declared"),
    ],
)
def test_offsets_that_are_refused(text, words, people):
    with pytest.raises(ParameterError, match=words):
        DPPoissonRegression(**OPTIONS).fit_formula(text, people)


def test_two_exposures_are_refused(people):
    with pytest.raises(ParameterError, match="names 'days off'"):
        DPPoissonRegression(**OPTIONS, exposure="days off").fit_formula("falls ~ age + offset(log(days))", people)


def test_only_a_model_of_counts_has_an_offset(people):
    with pytest.raises(ParameterError, match="model of counts"):
        DPLinearRegression(**OPTIONS).fit_formula("stay ~ age + offset(log(days))", people)
    with pytest.raises(ParameterError, match="model of counts"):
        release(people, models=["stay ~ age + offset(log(days))"], **OPTIONS)
    with pytest.raises(ParameterError, match="model of counts"):
        plan(DOMAIN, "falls ~ age + offset(log(days))", rows=4000, epsilon=1, methods=["DPPoissonRegression"])
