"""The driver that reads rows: what it refuses before anything is charged, and what it charges."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from discreet import Budget, Domain, DPLinearRegression, DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.data.moments import Moments
from discreet.drivers.run import run
from discreet.drivers.sources import MomentsSource
from discreet.errors import GuaranteeError, ParameterError
from discreet.gate.session import Session, promised
from discreet.recipes.base import Recipe, Spending
from discreet.recipes.glm import Glm
from discreet.recipes.linear import Linear
from discreet.recipes.steps import total

X = np.random.default_rng(0).uniform(0, 1, (200, 2))
GIVEN = {"epsilon": 1.0, "delta": 1e-6, "bounds_X": (0, 1), "n_jobs": 1}
MODELS = {
    Linear: (DPLinearRegression(**GIVEN, bounds_y=(0, 2)), X.sum(axis=1)),
    Glm: (DPLogisticRegression(**GIVEN, classes=[0, 1]), (X[:, 0] > 0.5).astype(int)),
}


def refuse(*_):
    raise ParameterError("no noise keeps this promise")


@pytest.mark.parametrize(("recipe", "place"), [(Linear, "extremes"), (Glm, "check"), (Glm, "extremes")])
def test_a_promise_that_no_noise_keeps_is_refused_before_it_is_charged(recipe, place, monkeypatch):
    model, y = MODELS[recipe]
    monkeypatch.setattr(recipe, place, refuse)
    with Budget(2.0, 1e-5) as budget, pytest.raises(ParameterError, match="no noise"):
        model.fit(X, y)
    assert budget.epsilon_spent == 0


@pytest.mark.parametrize("estimator", [DPLogisticRegression, DPLinearSVC, DPPoissonRegression])
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-12), (1e4, 1e-6), (1e8, 1e-6), (1e11, 0.1)])
def test_extreme_promises_of_models_spend_nothing_where_they_are_refused(estimator, epsilon, delta):
    own = {"bounds_y": (0, 4)} if estimator is DPPoissonRegression else {"classes": [0, 1]}
    model = estimator(**GIVEN | {"epsilon": epsilon, "delta": delta}, **own)
    with Budget(1e12, 0.5) as budget:
        try:
            model.fit(X, (X[:, 0] > 0.5).astype(int))
        except ParameterError:
            assert budget.epsilon_spent == 0


@dataclass(frozen=True)
class TooMuch(Recipe):
    """A recipe that asks for more than it pays for."""

    name = "too much"

    def steps(self):
        for _ in range(3):
            yield from total(Spending(self.facts, 10 * self.facts.mu), "(intercept)")

    @classmethod
    def listed(cls, facts, events, options):
        return cls(facts)


def test_what_costs_more_than_was_charged_is_not_released(monkeypatch):
    """The recipe is trusted with decisions, not with accounting."""
    domain = Domain({"x": (0, 1)})
    moments = Moments.from_source(pd.DataFrame({"x": X[:, 0]}), domain)
    session = Session(promised(1.0, 1e-6, None, "add-remove"), "moments", None, None)
    monkeypatch.setattr("discreet.recipes.budget.ROWS", 1.0)
    with Budget(5.0, 1e-5), pytest.raises(GuaranteeError, match="defect"):
        run(TooMuch(session.facts(domain)), MomentsSource(moments), session)
