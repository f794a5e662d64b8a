"""NAPP: augmented rows are what proposition 1 says, limits are known estimators, guarantees say what is proven."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import gamma, kstest, truncnorm
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from discreet import (
    NAPP,
    Budget,
    BudgetError,
    Domain,
    DPLogisticRegression,
    DPPoissonRegression,
    NappAugmentation,
    NappConstants,
    ObjectivePerturbation,
)
from discreet.errors import DiscreetError, GuaranteeError, ParameterError
from discreet.families import Logistic, Poisson, QuadraticHinge
from discreet.gate.entropy import NO_NOISE, SeededEntropy
from discreet.mechanisms.napp.algorithm import LossSum, NAPPPlan, SquaredLosses, iterate
from discreet.mechanisms.napp.augmented import KNEE, PLACES, DrawnRows, Limit, Regularizer, SquaredRows
from discreet.mechanisms.napp.release import draw
from discreet.results.report import report
from discreet.results.saved import load_certificate
from discreet.solve.newton import WeightedPenalty, minimise

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")

RNG = np.random.default_rng(0)
N, D = 400, 5
X = np.rint(RNG.uniform(-1, 1, (N, D)) * 512) / 1024
THETA = np.array([1.5, -1.0, 0.5, 0.0, 0.0])
NUMBERS = np.rint(1024 * np.clip(X @ THETA / 2 + RNG.normal(0, 0.1, N), -1, 1)) / 1024
COUNTS = np.minimum(RNG.poisson(np.exp(X @ THETA)), 8)
BINARY = (RNG.random(N) < expit(3 * X @ THETA)).astype(int)
SLOPES = np.ones(D, dtype=bool)
GIVEN = {
    "linear": (NUMBERS, {"bounds_y": (-1, 1)}),
    "poisson": (COUNTS, {"bounds_y": (0, 8)}),
    "logistic": (BINARY, {"classes": [0, 1]}),
    "hinge": (BINARY, {"classes": [0, 1]}),
}
ROWS = {"linear": None, "poisson": Poisson(8.0), "logistic": Logistic(), "hinge": QuadraticHinge()}
REGULARIZERS = ("ridge", "bridge", "lasso", "elasticnet", "scad", "l0")


def model(loss="linear", **options):
    given = {"epsilon": 1, "delta": 1e-4, "bounds_X": (-1, 1), "fit_intercept": False, "n_jobs": 1, "random_state": 0}
    return NAPP(**NAPP.grouped(given | {"loss": loss, "alpha": 4.0} | GIVEN[loss][1] | options))


def published(loss="linear", **options):
    return model(loss, **{"published": "li2021"} | options)


def fitted(loss="linear", **options):
    return published(loss, **options).fit(X, GIVEN[loss][0])


def data(loss):
    y = GIVEN[loss][0].astype(float)
    return SquaredLosses(X.T @ X, X.T @ y, float(y @ y)) if loss == "linear" else LossSum(X, y, ROWS[loss])


# -------------------------------------------------------------------- augmented rows (proposition 1)


@pytest.mark.parametrize("loss", GIVEN)
def test_augmented_rows_are_the_noise_and_the_penalty_as_they_grow_in_number(loss):
    w, b, theta = np.array([5.0, 20.0, 1.0]), np.array([3.0, -8.0, 2.0]), np.array([0.4, -0.3, 1.0])
    limit = Limit(w, b)
    want = [limit(theta)[0], *limit(theta)[1]]
    errors = []
    for n_e in (400, 40_000):
        found = []
        for seed in range(60):
            rng = np.random.default_rng([n_e, seed])
            if loss == "linear":
                part = SquaredRows.draw(w, b, n_e, rng)
            else:
                part = DrawnRows.draw(ROWS[loss], PLACES[loss], w, b, n_e, rng)
            found.append([part(theta)[0] - part(np.zeros(3))[0], *part(theta)[1]])
        errors.append(np.sqrt(np.mean((np.array(found) - want) ** 2, axis=0)))
    assert (errors[1] < errors[0] / 6).all()
    assert (errors[1] < 0.02 * (1 + np.abs(want))).all()


@pytest.mark.parametrize("loss", ["poisson", "logistic", "hinge"])
def test_gradients_and_hessians_of_augmented_rows(loss):
    part = DrawnRows.draw(ROWS[loss], PLACES[loss], np.array([5.0, 9.0]), np.array([30.0, 10.0]), 200, RNG)
    theta, h = np.array([0.3, -0.2]), 1e-5
    for j in range(2):
        step = h * np.eye(2)[j]
        assert (part(theta + step)[0] - part(theta - step)[0]) / (2 * h) == pytest.approx(part(theta)[1][j], rel=1e-6)
        second = (part(theta + step)[1] - part(theta - step)[1]) / (2 * h)
        np.testing.assert_allclose(second, part(theta)[2][j], rtol=1e-5, atol=1e-5)


def test_moments_of_squared_rows_have_the_law_of_drawn_rows():
    """Bartlett's decomposition against the rows themselves: means and covariances of the moments."""
    w, n_e = np.array([2.0, 7.0]), 40
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(6000):
        E = rng.standard_normal((n_e // 2, 2)) * np.sqrt(2 * w / n_e)
        drawn.append((2 * E.T @ E)[np.triu_indices(2)])
    ours = [SquaredRows.draw(w, np.zeros(2), n_e, rng).G[np.triu_indices(2)] for _ in range(6000)]
    a, b = np.array(drawn), np.array(ours)
    np.testing.assert_allclose(b.mean(axis=0), [4, 0, 14], atol=0.15)
    np.testing.assert_allclose(np.cov(a.T), np.cov(b.T), atol=0.12 * np.cov(a.T).max())
    assert all(kstest(a[:, j], b[:, j]).pvalue > 1e-3 for j in range(3))


# -------------------------------------------------------------------- regularisers (table 2)


@pytest.mark.parametrize("kind", REGULARIZERS)
def test_weights_realise_the_value_of_the_target(kind):
    target = Regularizer(kind, 2.5, gamma=0.7, kappa=0.3, knot=0.4)
    theta = np.array([-3.0, -0.5, 0.1, 0.39, 1.0, 2.0])
    np.testing.assert_allclose(target.weights(theta) * theta**2, target.value(theta))
    assert np.isfinite(target.weights(np.zeros(2))).all()


def test_table_2():
    theta = np.array([0.5])
    at = {kind: Regularizer(kind, 2.0, gamma=0.5, kappa=0.25) for kind in REGULARIZERS}
    assert at["ridge"].weights(theta) == 2
    assert at["bridge"].weights(theta) == pytest.approx(2 * 0.5**-0.5)
    assert at["lasso"].weights(theta) == 4
    assert at["elasticnet"].weights(theta) == 4 + 0.5
    assert [at[kind].first for kind in REGULARIZERS] == [2, 0, 0, 0.5, 0, 0]
    assert at["lasso"].realised(theta, 3.0, 1, moor=True) == 4
    assert at["lasso"].realised(theta, 5.0, 1, moor=True) == 5
    assert at["lasso"].realised(theta, 5.0, 1, moor=False) == 9
    assert at["ridge"].realised(theta, 5.0, 1, moor=False) == 5
    assert at["lasso"].realised(None, 3.0, 1, moor=True) == at["lasso"].realised(None, 3.0, 1, moor=False) == 3
    assert at["elasticnet"].realised(None, 3.0, 1, moor=False) == 3.5


def test_scad_joins_up():
    """|theta| to the knot, flat from 3.7 knots on, and no jump in value or slope."""
    scad, h = Regularizer("scad", 1.0, knot=0.5), 1e-6

    def slope(at):
        return float((scad.value(np.array(at + h)) - scad.value(np.array(at - h))) / (2 * h))

    assert [round(slope(at), 4) for at in (0.2, 0.5 + 2 * h, KNEE * 0.5 - 2 * h, 3.0)] == [1, 1, 0, 0]
    assert scad.value(np.array(9.0)) == pytest.approx(0.5 * (KNEE + 1) / 2)


# -------------------------------------------------------------------- without noise: known estimators


def lasso(loss, penalty):
    """The lasso without privacy, by scikit-learn where it has it."""
    y = GIVEN[loss][0]
    if loss == "linear":
        return Lasso(alpha=penalty / N, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y).coef_
    if loss == "logistic":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = LogisticRegression(C=1 / penalty, l1_ratio=1, solver="saga", fit_intercept=False, tol=1e-10,
                                       max_iter=20_000)  # fmt: skip
            return found.fit(X, y).coef_[0]
    zero = np.zeros(D)
    return minimise(data(loss), zero, WeightedPenalty(zero + 1e-9, np.full(D, penalty)), zero, 1e-8)[0]


@pytest.mark.parametrize("loss", ["linear", "poisson", "logistic"])
def test_lasso_weights_approach_the_lasso_as_rows_are_added(loss):
    """b = 0: the fixed point of the weights Lambda/|theta| solves the lasso with 2 Lambda; the limit is exact."""
    Lambda = {"linear": 1.5, "poisson": 12.0, "logistic": 1.5}[loss]
    want = lasso(loss, 2 * Lambda)
    assert (want == 0).any()
    assert (want != 0).any()

    def error(n_e, seeds, T=100):
        plan = NAPPPlan(loss, Regularizer("lasso", Lambda), 1e-3, SLOPES, n_e=n_e, T=T)
        runs = [iterate(data(loss), ROWS[loss], plan, np.zeros(D), np.random.default_rng(s)) for s in range(seeds)]
        return float(np.mean([np.linalg.norm(run.coefficients(plan) - want) for run in runs]))

    few, many, limit = error(200, 3), error(20_000, 3), error(None, 1, T=300)
    assert limit < 1e-3
    assert many < few / 3
    assert many < 0.05


def test_e33_the_weights_of_table_2_solve_another_problem_than_the_target():
    """p = 1, X'X = 1, X'y = 6, Lambda = 1: the lasso is 5, the fixed point 4. A bridge has 2/(2 - gamma) Lambda."""
    plan = NAPPPlan("linear", Regularizer("lasso", 1.0), 1e-3, np.array([True]), n_e=None, T=300)
    one = SquaredLosses(np.eye(1), np.array([6.0]), 0.0)
    found = iterate(one, None, plan, np.zeros(1), np.random.default_rng(0)).coefficients(plan)[0]
    assert found == pytest.approx(6 - 2 * 1.0, abs=1e-6)
    power, bridge = 1.5, replace(plan, regularizer=Regularizer("bridge", 1.0, gamma=0.5))
    found = iterate(one, None, bridge, np.zeros(1), np.random.default_rng(0)).coefficients(bridge)[0]
    assert 6 - found == pytest.approx(2 / power * (power * found ** (power - 1)), abs=1e-6)
    assert 6 - found > 1.3 * power * found ** (power - 1)


@pytest.mark.parametrize("loss", ["linear", "poisson", "logistic"])
def test_moor_is_closer_to_the_lasso(loss):
    """Figure 3: with the maximum of weights rather than their sum."""
    Lambda, modulus, want = 1.5, 3.0, lasso(loss, 3.0)
    both = []
    for moor in (True, False):
        plan = NAPPPlan(loss, Regularizer("lasso", Lambda), modulus, SLOPES, moor=moor, n_e=10_000, T=60)
        run = iterate(data(loss), ROWS[loss], plan, np.zeros(D), np.random.default_rng(0))
        both.append(np.linalg.norm(run.coefficients(plan) - want))
    assert both[0] < 0.9 * both[1]


def test_ridge_is_scikit_learns():
    theirs = Ridge(alpha=2 * 4.0, fit_intercept=False).fit(X, NUMBERS).coef_
    facts = {"regularizer": "ridge", "epsilon": 50, "random_state": NO_NOISE}
    np.testing.assert_allclose(published(n_e=None, **facts).fit(X, NUMBERS).coef_, theirs, atol=1e-6)
    np.testing.assert_allclose(model(**facts).fit(X, NUMBERS).coef_, theirs, atol=1e-6)
    np.testing.assert_allclose(published(n_e=200_000, **facts).fit(X, NUMBERS).coef_, theirs, atol=0.02)


@pytest.mark.parametrize("loss", GIVEN)
@pytest.mark.parametrize("kind", ["l1", "l2", "elasticnet", "bridge", "scad", "l0"])
def test_every_loss_with_every_regulariser(loss, kind):
    for noise, selection, n_e in (("gaussian", "VS+", None), ("laplace", -3.0, 2000)):
        delta = 1e-4 if noise == "gaussian" else None
        facts = {"noise": noise, "selection": selection, "n_e": n_e, "delta": delta}
        one = fitted(loss, penalty=kind, iterations=20, **facts)
        assert np.isfinite(one.coef_).all()
        assert one.predict(X).shape == (N,)


# -------------------------------------------------------------------- the noise b


@pytest.mark.parametrize("c", [None, 0.0, -1.3])
def test_gaussian_noise_has_its_law(c):
    drawn = np.concatenate([draw(500, 2.0, "gaussian", c, SeededEntropy(seed)) for seed in range(8)])
    law = truncnorm(-np.inf if c is None else c / 2, np.inf, scale=2.0)
    assert kstest(drawn, law.cdf).pvalue > 1e-3
    assert c is None or drawn.min() > c


@pytest.mark.parametrize("c", [0.0, -0.6])
def test_truncated_spherical_laplace_noise_has_its_law(c):
    """Against rejection from the untruncated law: norms and coordinates."""
    d, scale = 3, 1.5
    rng = np.random.default_rng(1)
    z = rng.standard_normal((100_000, d))
    whole = scale * z / np.linalg.norm(z, axis=1)[:, None] * rng.gamma(d, 1.0, len(z))[:, None]
    kept = whole[(whole > c).all(axis=1)]
    ours = np.array([draw(d, scale, "laplace", c, SeededEntropy(seed)) for seed in range(2000)])
    assert ours.min() > c
    assert kstest(np.linalg.norm(ours, axis=1), np.linalg.norm(kept, axis=1)).pvalue > 1e-3
    assert kstest(ours[:, 0], kept[:, 0]).pvalue > 1e-3


def test_spherical_laplace_noise_has_shape_p():
    norms = [np.linalg.norm(draw(6, 2.0, "laplace", None, SeededEntropy(seed))) for seed in range(1500)]
    assert kstest(norms, gamma(6, scale=2.0).cdf).pvalue > 1e-3


def test_the_noise_is_eq_4_and_moves_the_estimate_by_as_much():
    """Linear, ridge, the limit: theta - theta(b = 0) = -(X'X + 2w)^-1 b, with b of the listed sd."""
    facts = {"regularizer": "ridge", "n_e": None, "iterations": 1}
    plain = fitted(**facts, random_state=NO_NOISE)
    (event,) = plain.certificate_.events
    L = np.sqrt(5) * 2
    assert event.gradient == pytest.approx(L, rel=1e-5)
    assert event.scale == pytest.approx(L * np.sqrt(2 * (0.5 - np.log(1e-4))) / 0.5, rel=1e-5)
    assert event.modulus == pytest.approx(2 * 5 / 1, rel=1e-4)
    H = X.T @ X + 2 * max(4.0, event.modulus / 2) * np.eye(D)
    b = np.concatenate([H @ (fitted(**facts, random_state=s).coef_ - plain.coef_) for s in range(80)])
    assert kstest(b / event.scale, "norm").pvalue > 1e-3


# -------------------------------------------------------------------- guarantees


@pytest.mark.parametrize("kind", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("loss", GIVEN)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_fixed_penalty_is_verified(loss, kind, noise):
    delta = 1e-6 if noise == "gaussian" else None
    one = model(loss, penalty=kind, noise=noise, delta=delta, random_state=None).fit(X, GIVEN[loss][0])
    assert one.certificate_.guarantee.status == "verified"
    assert all(finding.ok for finding in one.certificate_.check())
    assert one.certificate_.method == "NAPP with a fixed penalty"


def test_a_fixed_penalty_is_the_perturbed_objective_of_the_other_models():
    pairs = [
        ("linear", ObjectivePerturbation, {"penalty": "l2"}, {"penalty": "l2", "alpha": 8.0}),
        ("poisson", DPPoissonRegression, {"penalty": "l1"}, {"penalty": "l1", "alpha": 4.0}),
        (
            "logistic",
            DPLogisticRegression,
            {"penalty": "elasticnet", "kappa": 0.5},
            {"penalty": "elasticnet", "alpha": 8.0, "l1_ratio": 0.5},
        ),
    ]
    for loss, cls, options, plain in pairs:
        y, facts = GIVEN[loss]
        given = {"epsilon": 1, "delta": 1e-4, "bounds_X": (-1, 1), "fit_intercept": False, "random_state": 5}
        ours = model(loss, random_state=5, **options).fit(X, y)
        theirs = cls(**given, **facts, **plain).fit(X, y)
        np.testing.assert_array_equal(np.ravel(ours.coef_), np.ravel(theirs.coef_))
        assert ours.certificate_.events == theirs.certificate_.events


REASONS = [
    ({}, ("E10",), ("E11", "E12", "E13")),
    ({"moor": False}, ("E10",), ()),
    ({"selection": "VS"}, ("E10", "E12"), ("E11",)),
    ({"selection": "VS+"}, ("E11",), ("E12",)),
    ({"selection": -1.0}, ("E11",), ("E12",)),
    ({"retrieval": "return"}, ("E13",), ()),
    ({"retrieval": "recycle"}, ("E13",), ()),
    ({"penalty": "l2"}, ("augmented rows",), ("E10",)),
    ({"penalty": "l2", "n_e": None}, ("printed",), ("E10",)),
]


@pytest.mark.parametrize(("options", "named", "not_named"), REASONS)
def test_the_published_method_is_claimed_with_its_errata(options, named, not_named, tmp_path):
    one = fitted(random_state=None, iterations=5, **options)
    g = one.certificate_.guarantee
    assert g.status == "claimed"
    assert one.certificate_.method == "NAPP as published in li2021"
    assert all(word in g.reason for word in named)
    assert not any(word in g.reason for word in not_named)
    assert one.certificate_.epsilon == np.inf
    assert not all(finding.ok for finding in one.certificate_.check())
    one.release_.save(tmp_path / "model.json")
    assert load_certificate(tmp_path / "model.json") == one.certificate_
    assert "A paper states" in one.certificate_.words()
    assert "CLAIMED, NOT VERIFIED" in report(one.results_)


def test_a_returned_budget_is_what_the_paper_then_claims():
    one = fitted(retrieval="return", penalty="elasticnet", kappa=5.0, alpha=6.0, random_state=None)
    (event,) = one.certificate_.events
    (found,) = one.retrieved_
    assert 0 < found == event.retrieved < 0.5
    assert one.certificate_.guarantee.epsilon == 1 - found
    least = (1 - found / 0.5) ** -1 * event.modulus / 2
    assert least >= 6.0 * 5.0
    again = fitted(retrieval="recycle", rounds=3, penalty="elasticnet", kappa=5.0, alpha=6.0, random_state=None)
    assert again.certificate_.guarantee.epsilon == 1
    assert 1 <= len(again.retrieved_) <= 3
    assert not hasattr(fitted(), "retrieved_")


def test_recycled_budget_means_less_noise():
    """b is drawn first, so the same seed has the same b; only its scale differs."""
    facts = {"regularizer": "ridge", "alpha": 50.0, "n_e": None}
    plain, recycled, free = (
        fitted(**facts, retrieval=r, random_state=s) for r, s in ((None, 1), ("recycle", 1), ("recycle", NO_NOISE))
    )
    moved = [np.linalg.norm(one.coef_ - free.coef_) for one in (plain, recycled)]
    assert moved[1] < 0.65 * moved[0]
    (event,) = recycled.certificate_.events
    assert event.retrieved == pytest.approx(0.5 * (1 - event.modulus / 100), rel=1e-6)


def test_the_intercept_does_not_keep_budget_from_being_recycled():
    """Its weight is Lambda_0 in the first run; in the next it has the floor of the others (eq. (15))."""
    facts = {"regularizer": "ridge", "alpha": 50.0, "n_e": None, "fit_intercept": True}
    one = fitted(**facts, retrieval="recycle", rounds=3)
    (event,) = one.certificate_.events
    assert one.retrieved_ == [pytest.approx(0.5 * (1 - event.modulus / 100), rel=1e-6)]
    flat = fitted(**facts | {"alpha": event.modulus / 2}, retrieval="recycle")
    assert flat.retrieved_ == []


def test_nothing_is_returned_where_the_intercept_keeps_its_weight(monkeypatch):
    monkeypatch.setattr("discreet.mechanisms.napp.release.draw", None)
    with pytest.raises(ParameterError, match="fit_intercept=False"):
        fitted(retrieval="return", alpha=1e6, fit_intercept=True)


def test_a_seed_is_a_simulation_and_a_budget_is_not_spent_on_claims(tmp_path):
    assert fitted().certificate_.simulation
    with pytest.raises(GuaranteeError):
        fitted().release_.save(tmp_path / "model.json")
    with Budget(epsilon=5, delta=1e-3), pytest.raises(BudgetError):
        fitted(random_state=None)


# -------------------------------------------------------------------- convergence and traces


def test_the_trace_is_of_simulations_only():
    with pytest.raises(ParameterError, match="simulations"):
        published(keep_trace=True, random_state=None).fit(X, NUMBERS)
    one = fitted("logistic", keep_trace=True, iterations=12)
    assert one.trace_["theta"].shape == (12, D)
    assert len(one.trace_["loss"]) == 12
    assert not hasattr(one.set_params(augmentation__keep_trace=False).fit(X, BINARY), "trace_")


def test_iterations_end_where_the_loss_settles():
    early = fitted(tol=1e-3, keep_trace=True, n_e=None)
    losses = early.trace_["loss"]
    assert 2 <= len(losses) < 80
    changes = np.abs(np.diff(losses) / losses[:-1])
    assert changes[-1] < 1e-3
    assert (changes[:-1] >= 1e-3).all()


def test_iterations_do_not_see_more_than_they_are_given():
    """The loss in the trace is that of data and augmented rows together."""
    one = fitted(n_e=None, iterations=1, penalty="l2", keep_trace=True)
    (event,) = one.certificate_.events
    b = draw(D, event.scale, "gaussian", None, SeededEntropy(0))
    theta = one.coef_
    value = np.sum((X @ theta - NUMBERS) ** 2) / 2 + b @ theta + max(4.0, event.modulus / 2) * theta @ theta
    assert one.trace_["loss"][0] == pytest.approx(value, rel=1e-6)


# -------------------------------------------------------------------- units, tables, errors

TABLE = pd.DataFrame({"age": 50 + 40 * X[:, 0], "smoker": X[:, 1] > 0, "ward": RNG.choice(["a", "b", "c"], N)})
TABLE["stay"] = 5 + 0.1 * (TABLE["age"] - 50) + RNG.normal(0, 0.2, N)
TABLE["left"] = TABLE["age"] > 55
WARD = Domain({"age": (10, 90), "smoker": bool, "ward": ["a", "b", "c"], "stay": (0, 10), "left": bool})


def test_tables_with_categories_and_an_intercept():
    facts = {
        "epsilon": 1,
        "delta": 1e-4,
        "domain": WARD,
        "alpha": 1e-3,
        "published": "li2021",
        "random_state": NO_NOISE,
    }
    limit = {"constants": NappConstants(modulus=1e-3), "augmentation": NappAugmentation(n_e=None)}
    linear = NAPP(**facts, **limit).fit_source(TABLE, "stay", ["age", "smoker", "ward"])
    assert linear.results_.params["age"] == pytest.approx(0.1, abs=0.01)
    assert linear.feature_names_in_.tolist() == ["age", "smoker", "ward"]
    assert linear.get_feature_names_out().tolist() == ["age", "smoker[True]", "ward[b]", "ward[c]"]
    assert linear.score(TABLE[["age", "smoker", "ward"]], TABLE["stay"]) > 0.9
    classes = NAPP(**facts, loss="logistic").fit_formula("left ~ age + ward", TABLE)
    assert classes.classes_.tolist() == [False, True]
    assert classes.predict_proba(TABLE[["age", "ward"]]).shape == (N, 2)
    assert not hasattr(linear, "predict_proba")
    assert json.loads(json.dumps(classes.certificate_.to_dict()))["events"][0]["loss"] == "logistic"
    assert np.array_equal(pickle.loads(pickle.dumps(linear)).coef_, linear.coef_)


def test_the_constant_is_neither_selected_nor_weighed():
    one = published(fit_intercept=True, alpha=1e6, n_e=None, random_state=NO_NOISE).fit(X, NUMBERS + 0.5)
    assert (one.coef_ == 0).all()
    assert one.intercept_ > 0.3


WRONG = [
    ({"penalty": "bridge", "published": None}, "published"),
    ({"selection": "VS+", "published": None}, "published"),
    ({"n_e": None, "published": None}, "published"),
    ({"published": "wang2018"}, "published"),
    ({"loss": "huber"}, "loss"),
    ({"penalty": "lasso"}, "penalty"),
    ({"augmentation": {"n_e": None}}, "augmentation must be a NappAugmentation"),
    ({"alpha": None}, "alpha"),
    ({"alpha": -1.0}, "alpha"),
    ({"selection": 1.0}, "selection"),
    ({"selection": "both"}, "selection"),
    ({"n_e": 101}, "even"),
    ({"n_e": 4}, "n_e"),
    ({"share": 1.0}, "share"),
    ({"gamma": 2.0}, "gamma"),
    ({"iterations": 0}, "iterations"),
    ({"rounds": 0}, "rounds"),
    ({"retrieval": "keep"}, "retrieval"),
    ({"neighbors": "replace-one"}, "add-remove"),
    ({"noise": "laplace"}, "delta"),
    ({"classes": [0, 1]}, "bounds_y"),
    ({"moor": "no"}, "moor"),
    ({"tol": 0.0}, "tol"),
]


@pytest.mark.parametrize(("options", "word"), WRONG)
def test_what_cannot_be_meant_is_refused_before_anything_is_read(options, word, monkeypatch):
    monkeypatch.setattr("discreet.mechanisms.napp.release.draw", None)
    given = {"epsilon": 1, "delta": 1e-4, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "alpha": 1.0, "published": "li2021"}
    with pytest.raises(DiscreetError, match=word):
        NAPP(**NAPP.grouped(given | options)).fit(X, NUMBERS)


def test_three_classes_are_refused_as_published_and_fitted_with_a_fixed_penalty():
    y = RNG.integers(0, 3, N)
    with pytest.raises(ParameterError, match="two classes"):
        published("logistic", classes=[0, 1, 2]).fit(X, y)
    assert model("logistic", classes=[0, 1, 2]).fit(X, y).coef_.shape == (3, D)
