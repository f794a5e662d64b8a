"""Events that are not Gaussian: bounds from the norm of a row, the certificate's own curve, mechanisms to come."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from discreet import Domain
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.per_instance import losses
from discreet.per_instance.mechanisms import parts
from discreet.per_instance.mechanisms.parts import Part, parts_of
from discreet.privacy import accounting
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.laws import Point
from discreet.privacy.losses import Logistic, Squared
from discreet.released.certificate import Certificate

DOMAIN = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(-1, 1), bounds_y=(0, 1), intercept=False)


def event(**options):
    given = {"loss": Logistic(), "design": ("a", "b"), "norm": math.sqrt(2) * (1 + 1e-12), "modulus": 2.0}
    return ObjectiveEvent(**(given | {"scale": 3.0, "tolerance": 1e-9, "output": 1e-3} | options))


def certificate(*events, neighbors="add-remove"):
    promise = Guarantee(accounting.epsilon(events, 1e-6) * (1 + 1e-9), 1e-6, neighbors, "verified")
    return Certificate(promise, "test", DOMAIN, events)


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.uniform(-1, 1, (n, 3)) * rng.uniform(0, 1, (n, 1))
    A[0], A[1] = [1, -1, 1], [0, 0, 1]
    return A[:, :2], A[:, 2]


@pytest.mark.parametrize("loss", [Logistic(), Squared(1.0)])
def test_a_perturbed_objective_costs_rows_by_their_norm(loss):
    X, y = rows()
    certified = certificate(event(loss=loss))
    found = losses((X, y), certified)
    assert not found.exact
    assert "norm of the row" in found.notes[0]
    epsilon, norm = found.epsilon(), np.linalg.norm(X, axis=1)
    assert epsilon.max() <= certified.epsilon * (1 + 1e-6)
    assert epsilon[0] == pytest.approx(certified.epsilon, rel=1e-6)  # the longest row
    assert epsilon[1] < 1e-3  # a row of zeros moves nothing but the place where the solver stops
    assert (np.diff(epsilon[np.argsort(norm)]) >= -1e-9).all()
    assert (found.delta(0.5) <= accounting.delta(certified.events, 0.5) * (1 + 1e-6)).all()


def test_the_bound_by_the_norm_covers_real_minimisers():
    """One column, logistic: the density of the minimiser of the noisy objective, with and without a short row."""
    rng = np.random.default_rng(0)
    x, y, modulus, scale = rng.uniform(-1, 1, 6), rng.integers(0, 2, 6).astype(float), 1.0, 0.5
    domain = Domain.from_bounds(["a"], ["y"], bounds_X=(-1, 1), bounds_y=(0, 1), intercept=False)
    made = event(design=("a",), norm=1.0, modulus=modulus, scale=scale, tolerance=1e-12, output=1e-6)
    promise = Guarantee(accounting.epsilon([made], 1e-6) * 1.001, 1e-6, "add-remove", "verified")
    short = np.array([0.4])
    found = losses((x[:, None], y), Certificate(promise, "t", domain, (made,)), targets=(short[:, None], np.ones(1)))
    theta = np.linspace(-12, 12, 40_001)

    def density(a, b):
        eta = np.outer(theta, a)
        _, slope, bend = Logistic().parts(eta, np.broadcast_to(b, eta.shape))
        gradient = slope @ a + modulus * theta
        return np.exp(-(gradient**2) / (2 * scale**2)) * (bend @ a**2 + modulus) / (scale * math.sqrt(2 * math.pi))

    P, Q = density(x, y), density(np.append(x, short), np.append(y, 1.0))
    step = theta[1] - theta[0]
    assert P.sum() * step == pytest.approx(1, rel=1e-6)
    for epsilon in (0.0, 0.2, 0.6):
        true = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() * step for p, q in ((P, Q), (Q, P)))
        assert true > 0 or epsilon > 0.5
        assert true <= found.delta(epsilon)[0] * (1 + 1e-6)
        assert found.delta(epsilon)[0] < accounting.delta([made], epsilon)


@pytest.mark.parametrize("options", [{"declared": (2.0, 1e-7)}, {"neighbors": "replace-one"}])
def test_where_the_norm_says_nothing_the_own_curve_is_stated(options):
    made = event(**options)
    certified = certificate(made, neighbors=options.get("neighbors", "add-remove"))
    found = losses(rows(), certified)
    assert "own bound for everybody" in found.notes[0]
    assert found.epsilon() == pytest.approx(certified.epsilon, rel=1e-6)


def test_gaussian_and_other_events_together():
    gaussian = GaussianEvent(2.0**-0.5 * (1 + 1e-9), (Block("gram", ("a", "b"), (), 2 * math.sqrt(2)),))
    certified = certificate(gaussian, event())
    X, y = rows()
    found = losses((X, y), certified)
    alone = losses((X, y), certificate(event())).epsilon()
    assert found.epsilon().max() <= certified.epsilon * (1 + 1e-6)
    assert found.for_all() <= certified.epsilon * (1 + 1e-6)
    assert (found.epsilon() >= alone - 1e-9).all()
    assert (found.epsilon()[2:] < certified.epsilon).all()


@dataclass(frozen=True)
class Coin:
    """A mechanism that came later: randomised response on one bit."""

    strength: float
    mu = 0.0
    name = "a noisy bit"

    @property
    def law(self):
        return Point(self.strength)


def test_a_mechanism_without_a_formula_gets_its_own_curve():
    certified = Certificate(Guarantee(1.0, 1e-6, "add-remove", "verified"), "test", DOMAIN, (Coin(1.0),))
    found = losses(rows(), certified)
    assert found.notes == ["a noisy bit: the certificate's own bound for everybody"]
    assert found.epsilon() == pytest.approx(1.0)


def test_a_mechanism_brings_its_formula(monkeypatch):
    monkeypatch.setattr(parts, "_MAKERS", dict(parts._MAKERS))

    @parts_of(Coin)
    def coin(event, facts):
        levels = (Point(0.0), Point(event.strength))
        return [Part(event.name, lambda r: (r.Z[:, 1] > 0).astype(float), laws=levels)]

    X, y = rows()
    certified = Certificate(Guarantee(1.0, 1e-6, "add-remove", "verified"), "test", DOMAIN, (Coin(1.0),))
    found = losses((X, y), certified)
    assert found.exact
    assert found.epsilon() == pytest.approx(np.where(X[:, 0] > 2.0**-21, 1.0, 0.0))
    assert found.for_all() == pytest.approx(1.0)
