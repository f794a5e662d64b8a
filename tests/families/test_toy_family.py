"""A worked example: quantile regression, added as a family object and an estimator class, and nothing else.

Everything below `QuantileRegression` is there already: noise that is calibrated to the loss, a certificate that checks,
a file that is read again, words for people, and the contract that every family passes.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from families import test_family_contract as contract
from privacy.test_objective import NEGLIGIBLE, divergences, event
from scipy.special import expit

from discreet import Domain, ObjectivePerturbation, Results
from discreet.families import FAMILIES, Family, FamilyWords, Loss
from discreet.privacy import accounting
from discreet.results.saved import check_file

# ---------------------------------------------------------------- the file of the family


@dataclass(frozen=True)
class SmoothQuantile(Loss):
    """The pinball loss of the quantile `level`, with its corner rounded by a logistic of this width."""

    level: float = 0.8
    width: float = 0.03

    name: ClassVar[str] = "smooth quantile"
    one_signed: ClassVar[bool] = False
    bell: ClassVar[bool] = False

    @property
    def slope(self):
        return max(self.level, 1 - self.level)

    @property
    def span(self):
        return 1.0

    @property
    def curvature(self):
        return 0.25 / self.width

    def parts(self, eta, y):
        """f, f' = s - level and f'' = s (1 - s)/width, with s = 1/(1 + e^-((eta - y)/width))."""
        u = (eta - y) / self.width
        s = expit(u)
        value = self.width * (np.maximum(u, 0) + np.log1p(np.exp(-np.abs(u)))) - self.level * (eta - y)
        return value, s - self.level, s * expit(-u) / self.width


class QuantileFamily(Family):
    """Numbers, of which a quantile is linear."""

    name = "quantile"
    link = "quantile"
    words = FamilyWords("quantile regression", "the unit of the outcome")
    losses = (SmoothQuantile,)
    linear = True

    def loss(self, most=1.0):
        return SmoothQuantile()

    def label(self, domain, column, place=1):
        return lambda y: y

    def predictor_sd(self, r_squared, mean):
        return math.sqrt(r_squared / (1 - r_squared))

    def simulate(self, means, rng):
        return means + rng.standard_normal(len(means))

    def expected_loss(self, means, truth):
        return float(np.mean(np.abs(means - truth)))


QUANTILE = QuantileFamily()


# ---------------------------------------------------------------- the file of the estimator


class QuantileRegression(ObjectivePerturbation):
    """A quantile of the outcome, by objective perturbation."""

    family = QUANTILE


# ---------------------------------------------------------------- and what follows


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    """Its place in the table of families."""
    monkeypatch.setitem(FAMILIES, QUANTILE.link, QUANTILE)


def people(rows=20_000):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, rows)
    return {"x": x, "y": np.clip(35 + 3 * x + 12 * rng.standard_normal(rows), 0, 100)}


def fitted():
    domain = Domain({"x": (0, 10), "y": (0, 100)})
    return QuantileRegression(epsilon=2, delta=1e-6, domain=domain).fit_source(pd.DataFrame(people()), "y", ["x"])


def test_it_keeps_the_contract_of_families():
    (loss,), ys = contract.losses(QUANTILE), contract.outcomes(QUANTILE)
    contract.check_derivatives(loss, ys)
    contract.check_bounds(loss, ys)
    contract.check_mean(QUANTILE)
    contract.check_simulator(QUANTILE)


def test_a_fit_predicts_the_quantile():
    model, table = fitted(), people()
    below = table["y"] <= model.predict(table["x"][:, None])
    assert below.mean() == pytest.approx(0.8, abs=0.03)
    assert model.results_.kind == "quantile regression"
    assert "quantile regression" in str(model.results_)


def test_its_certificate_checks_and_its_file_is_read_again(tmp_path):
    model = fitted()
    assert model.certificate_.guarantee.status == "verified"
    assert all(finding.ok for finding in model.certificate_.check())
    model.results_.save(tmp_path / "model.json")
    saved, findings = check_file(tmp_path / "model.json")
    assert all(finding.ok for finding in findings)
    assert isinstance(saved, Results)
    assert saved.family is QUANTILE
    assert saved.certificate.events[0].loss == SmoothQuantile()


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_no_neighbour_exceeds_what_its_loss_is_charged(relation):
    """The exact divergence of small tables, by quadrature, against the accounting of the event."""
    loss, modulus, scale, one = SmoothQuantile(), 4.0, 2.0, np.ones(1)
    epsilons = np.array([0.1, 0.5, 1.0])
    bound = np.array([accounting.delta([event(loss, modulus, scale, relation)], e) for e in epsilons])
    for y in (-1.0, 1.0):
        first = [(one, 1.0, 3)] if relation == "add-remove" else [(one, 1.0, 3), (-one, -y, 1)]
        exact = divergences(loss, (first, [(one, 1.0, 3), (one, y, 1)]), modulus, scale, epsilons, 20_001)
        assert np.all(exact <= bound + NEGLIGIBLE)
