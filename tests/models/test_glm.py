"""Models by objective perturbation, and any source of any model: right without noise, certified, and refusing."""

import contextlib
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import expit
from sklearn.linear_model import ElasticNet, LogisticRegression, PoissonRegressor
from sklearn.metrics import r2_score

from discreet import (
    Budget,
    BudgetError,
    Domain,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    ObjectivePerturbation,
    PrivateMoments,
)
from discreet.data import rows
from discreet.data.reading import Table
from discreet.errors import (
    DataError,
    DiscreetError,
    DiscreetWarning,
    DomainError,
    FileFormatError,
    GuaranteeError,
    ParameterError,
)
from discreet.families import Logistic
from discreet.gate.entropy import NO_NOISE
from discreet.mechanisms.objective_perturbation import release as objective
from discreet.mechanisms.objective_perturbation.event import gradient_error
from discreet.models.perturbed import TwoStages
from discreet.privacy.laws import Point
from discreet.released.certificate import Certificate
from discreet.results.effects import effects
from discreet.results.report import report
from discreet.results.results import Results
from discreet.results.saved import load_certificate
from discreet.results.summary import number
from discreet.solve.newton import WeightedPenalty, minimise, subgradient

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")

RNG = np.random.default_rng(0)
N = 2000
X = np.rint(RNG.uniform(-1, 1, (N, 4)) * 1024) / 1024  # on the lattice, so that rounding changes nothing
ONES = np.column_stack([np.ones(N), X])
THETA = np.array([0.3, 2.0, -1.0, 0.0, 0.5])
BINARY = (RNG.random(N) < expit(ONES @ THETA)).astype(int)
COUNTS = np.minimum(RNG.poisson(np.exp(ONES @ THETA / 3)), 12)
NUMBERS = np.rint(1024 * (ONES @ THETA / 8 + RNG.normal(0, 0.05, N))) / 1024
CLASSIFIERS = [DPLogisticRegression, DPLinearSVC]
GIVEN = {
    DPLogisticRegression: (BINARY, {"classes": [0, 1], "stages": 1}),
    DPLinearSVC: (BINARY, {"classes": [0, 1], "stages": 1}),
    DPPoissonRegression: (COUNTS, {"bounds_y": (0, 12), "stages": 1}),
    ObjectivePerturbation: (NUMBERS, {"bounds_y": (-1, 1)}),
}
MODELS = list(GIVEN)


def model(cls, **options):
    given = {"epsilon": 1, "delta": 1e-6, "bounds_X": (-1, 1), "n_jobs": 1, "random_state": 0}
    return cls(**given | GIVEN[cls][1] | options)


def fitted(cls, **options):
    return model(cls, **options).fit(X, GIVEN[cls][0])


def theta_of(one):
    """The released minimiser, in mapped units: bounds of (-1, 1) leave features as they are."""
    return np.concatenate([np.ravel(one.intercept_), np.ravel(one.coef_)])


# -------------------------------------------------------------------- without noise


@pytest.mark.parametrize("alpha", [25.0, 200.0])
def test_without_noise_it_is_scikit_learns_logistic_regression(alpha):
    ours = fitted(DPLogisticRegression, alpha=alpha, random_state=NO_NOISE)
    theirs = LogisticRegression(C=1 / alpha, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(ONES, BINARY)
    assert ours.modulus_ == alpha
    np.testing.assert_allclose(theta_of(ours), theirs.coef_[0], atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(ONES), atol=1e-6)


def test_without_noise_it_is_scikit_learns_poisson_regression():
    ours = fitted(DPPoissonRegression, epsilon=50, alpha=40.0, random_state=NO_NOISE)
    theirs = PoissonRegressor(alpha=40 / N, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(ONES, COUNTS)
    np.testing.assert_allclose(theta_of(ours), theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(ONES), rtol=1e-6)


@pytest.mark.parametrize("l1_ratio", [0.2, 0.9])
def test_without_noise_it_is_scikit_learns_elastic_net(l1_ratio):
    alpha = 200.0
    plain = {"penalty": "elasticnet", "alpha": alpha, "l1_ratio": l1_ratio, "fit_intercept": False, "radius": 3.0}
    ours = fitted(ObjectivePerturbation, epsilon=50, random_state=NO_NOISE, **plain)
    assert ours.modulus_ == pytest.approx(alpha * (1 - l1_ratio))
    theirs = ElasticNet(alpha=alpha / N, l1_ratio=l1_ratio, fit_intercept=False, tol=1e-12, max_iter=100_000)
    theirs.fit(X, NUMBERS)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert (ours.coef_ == 0).tolist() == (theirs.coef_ == 0).tolist()
    assert (ours.coef_ == 0).any()


def test_without_noise_sparse_logistic_regression_is_scikit_learns():
    ours = fitted(DPLogisticRegression, penalty="elasticnet", alpha=60.0, l1_ratio=0.7, random_state=NO_NOISE,
                  fit_intercept=False, epsilon=20)  # fmt: skip
    theirs = LogisticRegression(C=1 / 60, l1_ratio=0.7, solver="saga", fit_intercept=False, tol=1e-12, max_iter=50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X, BINARY)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert (ours.coef_ == 0).any()
    table = ours.results_.selection()
    assert [row["name"] for row in table if row["selected"]] == [
        f"x{j}" for j in np.argsort(-np.abs(ours.coef_[0])) if ours.coef_[0, j] != 0
    ]


def test_coefficients_are_in_the_users_units():
    wide = np.column_stack([50 + 40 * X[:, 0], 1e6 * X[:, 1]])
    bounds = ([10, -1e6], [90, 1e6])
    both = [
        model(DPLogisticRegression, bounds_X=b, random_state=NO_NOISE).fit(rows, BINARY)
        for b, rows in ((bounds, wide), ((-1, 1), X[:, :2]))
    ]
    np.testing.assert_allclose(both[0].decision_function(wide), both[1].decision_function(X[:, :2]), atol=1e-4)
    np.testing.assert_allclose(both[0].coef_[0] * [40, 1e6], both[1].coef_[0], rtol=1e-3)


@pytest.mark.parametrize("radius", [0.05, 0.3, 50.0])
def test_the_constraint_holds_and_is_optimal(radius):
    one = fitted(ObjectivePerturbation, radius=radius, alpha=30.0, epsilon=30, random_state=NO_NOISE)
    theta = theta_of(one)
    free = np.linalg.solve(ONES.T @ ONES + one.modulus_ * np.eye(5), ONES.T @ NUMBERS)
    assert np.linalg.norm(theta) <= radius * (1 + 1e-9)
    if np.linalg.norm(free) <= radius:
        np.testing.assert_allclose(theta, free, atol=1e-6)
    else:
        outward = ONES.T @ NUMBERS - ONES.T @ ONES @ theta - one.modulus_ * theta
        assert np.linalg.norm(theta) == pytest.approx(radius, rel=1e-9)
        assert outward @ theta == pytest.approx(np.linalg.norm(outward) * radius, rel=1e-6)


def test_the_solver_meets_its_tolerance_with_and_without_an_l1_norm():
    H = np.cov(RNG.normal(size=(30, 6)).T) + 0.1 * np.eye(6)
    c = RNG.normal(size=6)

    def value(theta, penalty):
        return theta @ H @ theta / 2 + c @ theta + penalty(theta)

    for l1 in (np.zeros(6), np.full(6, 0.4), np.array([0, 5.0, 0.2, 0, 0.5, 1])):
        penalty = WeightedPenalty(np.full(6, 0.3), l1)
        theta, residual = minimise(lambda t: (t @ H @ t / 2, H @ t, H), c, penalty, np.zeros(6), 1e-10)
        assert residual <= 1e-10
        assert subgradient(H @ theta + 0.3 * theta + c, theta, l1) <= 2e-10
        for step in [*1e-3 * np.eye(6), *-1e-3 * np.eye(6)]:
            assert value(theta, penalty) <= value(theta + step, penalty)


# -------------------------------------------------------------------- noise


@pytest.mark.parametrize("cls", MODELS)
def test_the_noise_is_as_stated(cls):
    """-G(theta) is the noise in the objective: its coordinates have the stated sd."""
    found = []
    for seed in range(60):
        one = fitted(cls, random_state=seed, fit_intercept=False)
        (event,) = one.certificate_.events
        theta = np.ravel(one.coef_)
        outcome = BINARY if cls in CLASSIFIERS else GIVEN[cls][0].astype(float)
        G = X.T @ event.loss.parts(X @ theta, outcome)[1] + event.modulus * theta
        found.append(G / event.scale)
    assert np.std(found) == pytest.approx(1, abs=0.13)
    assert abs(np.mean(found)) < 0.25


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("cls", MODELS)
def test_real_releases_are_certified(cls, neighbors, noise, tmp_path):
    one = fitted(cls, neighbors=neighbors, noise=noise, random_state=None, rows=N, delta=None)
    c = one.certificate_
    assert all(finding.ok for finding in c.check())
    assert c.guarantee.status == "verified"
    assert 0.99 < c.epsilon <= 1
    assert c.guarantee.delta == (0 if noise == "laplace" else 1 / N**2)
    assert "floating point" in c.words()
    one.release_.save(tmp_path / "model.json")
    loaded = Results.load(tmp_path / "model.json")
    assert loaded.certificate == c
    assert loaded.coefficients == one.results_.coefficients
    assert load_certificate(tmp_path / "model.json") == c
    assert str(loaded) == str(one.results_.summary())
    with pytest.raises(FileFormatError, match="not a release file"):
        PrivateMoments.load(tmp_path / "model.json")


@pytest.mark.parametrize(
    "change", [{"scale": 0.9}, {"modulus": 0.2}, {"norm": 0.9}, {"tolerance": 30.0}, {"output": 0.03}]
)
@pytest.mark.parametrize("cls", MODELS)
def test_an_event_with_less_noise_than_promised_is_found(cls, change):
    c = fitted(cls, random_state=None).certificate_
    ((name, times),) = change.items()
    less = replace(c.events[0], **{name: getattr(c.events[0], name) * times})  # what follows from it follows
    forged = Certificate.from_dict(c.to_dict() | {"events": [event.to_dict() for event in (less, *c.events[1:])]})
    assert not all(finding.ok for finding in forged.check())


def test_add_remove_noise_does_not_pass_for_replace_one():
    facts = fitted(DPLogisticRegression, random_state=None).certificate_.to_dict()
    facts["guarantee"]["neighbors"] = "replace-one"
    assert not all(finding.ok for finding in Certificate.from_dict(facts).check())
    facts["events"][0]["neighbors"] = "replace-one"
    assert not all(finding.ok for finding in Certificate.from_dict(facts).check())


def test_old_readers_refuse_and_new_ones_find_damage(tmp_path):
    path = tmp_path / "model.json"
    fitted(DPLogisticRegression, random_state=None).release_.save(path)
    body = json.loads(path.read_text())
    assert body["format_version"] == 3
    path.write_text(path.read_text().replace('"coef"', '"cöef"'))
    with pytest.raises(FileFormatError):
        Results.load(path)
    with pytest.raises(GuaranteeError, match="simulation"):
        fitted(DPLogisticRegression).release_.save(path)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize(("beyond", "released"), [(-2.1, True), (0.1, False)])
def test_whether_a_minimiser_is_released_depends_on_it_and_on_public_facts_alone(monkeypatch, noise, beyond, released):
    """Not on where the solver stopped, nor on how many rows there are: neighbours could be told apart by a refusal."""
    (event,) = fitted(DPLogisticRegression, noise=noise).certificate_.events
    largest, reach = event.largest(2**20, event.modulus), objective._reach(event, 5)
    assert largest >= 31
    for residual in (0.0, event.tolerance / 4):
        found = np.r_[largest + beyond * reach, np.zeros(4)], residual
        monkeypatch.setattr(objective, "minimise", lambda *_, found=found: found)
        for count in (10, N):
            with contextlib.nullcontext() if released else pytest.raises(DataError, match="alpha"):
                model(DPLogisticRegression, noise=noise).fit(X[:count], BINARY[:count])


def test_tables_much_larger_than_declared_are_refused():
    fitted(DPLogisticRegression, rows=N // 2)
    with pytest.raises(DataError, match="rows="):
        fitted(DPLogisticRegression, rows=N // 2 - 1)


def test_the_rounding_bound_covers_what_exact_arithmetic_finds():
    from fractions import Fraction

    domain = Domain.from_bounds([f"x{i}" for i in range(4)], ["y"], bounds_X=(-1, 1), bounds_y=(0, 1))
    design = ["(intercept)", "x0", "x1", "x2", "x3"]
    some = rows.Rows(Table.of((X[:300], BINARY[:300]), domain), design, "y")
    theta = np.array([0.1, 30.0, -7.0, 3.0, 11.0]) / 3
    import mpmath

    mpmath.mp.prec = 200
    exact = [mpmath.mpf(0)] * 5
    for x, y in zip(ONES[:300], BINARY[:300], strict=True):
        eta = sum(Fraction(a) * Fraction(t) for a, t in zip(x.tolist(), theta.tolist(), strict=True))
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(eta.numerator) / eta.denominator))
        exact = [g + (p - int(y)) * mpmath.mpf(a) for g, a in zip(exact, x.tolist(), strict=True)]
    found = some.sums(Logistic(), theta, lambda y: (y > 0).astype(float)).gradient
    error = float(mpmath.norm([g - mpmath.mpf(f) for g, f in zip(exact, found.tolist(), strict=True)]))
    assert error <= gradient_error(Logistic(), 5, np.sqrt(5), 300, float(np.linalg.norm(theta)))


# -------------------------------------------------------------------- penalties and stages


def test_the_public_rule_looks_at_public_facts_only():
    a = model(DPLogisticRegression).fit(X, BINARY)
    b = model(DPLogisticRegression).fit(X[:50], 1 - BINARY[:50])
    assert a.modulus_ == b.modulus_
    assert a.certificate_.events == b.certificate_.events
    assert model(DPLogisticRegression, epsilon=0.1).fit(X, BINARY).modulus_ > 5 * a.modulus_


def test_the_quadratic_part_counts_and_what_is_missing_is_added():
    small, large = (fitted(DPLogisticRegression, alpha=alpha).certificate_.events[0] for alpha in (1e-6, 500.0))
    assert large.modulus == 500
    assert 0 < small.modulus < 10
    assert large.scale < small.scale
    lasso = fitted(DPLogisticRegression, penalty="l1", alpha=3.0)
    assert lasso.modulus_ == small.modulus


@pytest.mark.parametrize("cls", MODELS)
def test_two_stages_are_held_to_what_was_declared(cls):
    one = fitted(cls, adaptive=True, random_state=None)
    pilot, second = one.certificate_.events
    assert pilot.declared is None
    assert isinstance(second.law, Point)
    assert second.declared == (0.7, 5e-7)
    assert second.keeps_declared()
    assert all(finding.ok for finding in one.certificate_.check())
    facts = one.certificate_.to_dict()
    facts["events"][1]["scale"] *= 0.9
    assert not all(finding.ok for finding in Certificate.from_dict(facts).check())
    assert {"name", "selected", "size", "weight"} == set(one.results_.selection()[0])


def test_the_budget_that_the_pilot_frees_is_recycled():
    """Where the pilot finds only small coefficients, all weights exceed the least, and less noise is needed."""

    from discreet.mechanisms.objective_perturbation.event import Calibration
    from discreet.models.perturbed import Penalty

    plain = Calibration(Logistic(), ("x0", "x1"), 2.0**0.5, 1.0, 1e-6)
    plan = TwoStages.plan(plain, Penalty("l2", None, 0.5), [lambda y: y])
    (reserved,) = plan.reserved
    (same,) = plan.stages().then([np.array([3.0, 0.1])])
    (freed,) = plan.stages().then([np.array([0.2, 0.1])])
    assert same.event == reserved
    assert freed.penalty.quadratic.tolist() == [5 * reserved.modulus, 10 * reserved.modulus]
    assert freed.event.modulus == 5 * reserved.modulus
    assert freed.event.scale < 0.95 * reserved.scale
    assert freed.event.keeps_declared()
    assert not replace(freed.event, modulus=reserved.modulus).keeps_declared()


def test_a_later_stage_other_than_the_declared_one_is_refused(monkeypatch):

    task = TwoStages._task
    monkeypatch.setattr(
        TwoStages, "_task", lambda *a: replace(t := task(*a), event=replace(t.event, declared=(0.9, 5e-7)))
    )
    with pytest.raises(GuaranteeError, match="declared"):
        fitted(DPLogisticRegression, adaptive=True)


def test_adaptive_weights_kill_what_is_not_there():
    rng = np.random.default_rng(1)
    many = rng.uniform(-1, 1, (20_000, 8))
    y = (rng.random(20_000) < expit(3 * many[:, 0] - 3 * many[:, 1])).astype(int)
    sparse = model(DPLogisticRegression, penalty="l1", adaptive=True, random_state=3, rows=20_000).fit(many, y)
    table = sparse.results_.selection()
    assert {row["name"] for row in table[:2]} == {"x0", "x1"}
    assert [row["selected"] for row in table[:2]] == [True, True]
    assert sum(row["selected"] for row in table) <= 4


# -------------------------------------------------------------------- classes, sources, formulas

REGIONS = ["north", "south", "west"]
DOMAIN = Domain({"age": (18, 90), "region": REGIONS, "hours": (0, 80), "bought": bool, "visits": (0, 20)})


def people(n=4000):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, n), "region": rng.choice(REGIONS, n)})
    frame["hours"] = rng.uniform(0, 80, n)
    eta = (frame["age"] - 54) / 12 + 2 * (frame["region"] == "west")
    frame["bought"] = rng.random(n) < expit(eta)
    frame["visits"] = np.minimum(rng.poisson(np.exp(frame["hours"] / 40)), 20)
    return frame


FRAME = people()
FEATURES = ["age", "region", "hours"]


def on_people(cls, **options):
    return cls(**{"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "random_state": NO_NOISE, "n_jobs": 1} | options)


def test_frames_files_and_formulas_give_the_same_model(tmp_path):
    pq.write_table(pa.Table.from_pandas(FRAME), tmp_path / "people.parquet", row_group_size=700)
    frame = on_people(DPLogisticRegression).fit(FRAME[FEATURES], FRAME["bought"])
    assert frame.classes_.tolist() == [False, True]
    assert frame.get_feature_names_out().tolist() == ["age", "region[south]", "region[west]", "hours"]
    file = on_people(DPLogisticRegression, n_jobs=2).fit_source(tmp_path / "people.parquet", "bought", FEATURES)
    formula = on_people(DPLogisticRegression).fit_formula("bought ~ age + region + hours", FRAME)
    for other in (file, formula):
        assert np.array_equal(other.coef_, frame.coef_)
    assert frame.score(FRAME[FEATURES], FRAME["bought"]) > 0.79


def test_frames_files_and_formulas_give_the_same_minimiser(tmp_path, monkeypatch):
    pq.write_table(pa.Table.from_pandas(FRAME), tmp_path / "people.parquet", row_group_size=700)
    frame = on_people(DPLogisticRegression, stages=1).fit(FRAME[FEATURES], FRAME["bought"])
    kept = on_people(DPLogisticRegression, stages=1).fit_source(tmp_path / "people.parquet", "bought", FEATURES)
    read_again = []
    monkeypatch.setattr(rows, "KEEP_BYTES", 0)
    monkeypatch.setattr(rows.Rows, "_draw", lambda self, *a, old=rows.Rows._draw: read_again.append(1) or old(self, *a))
    streamed = on_people(DPLogisticRegression, stages=1, n_jobs=2)
    streamed.fit_source(tmp_path / "people.parquet", "bought", FEATURES)
    assert len(read_again) > 6
    formula = on_people(DPLogisticRegression, stages=1).fit_formula("bought ~ age + region + hours", FRAME)
    for other in (kept, streamed, formula):
        np.testing.assert_allclose(other.coef_, frame.coef_, atol=1e-9)


def test_the_order_of_levels_does_not_matter():
    """With a quadratic penalty all levels have a coefficient; only what they are reported against differs."""
    facts = DOMAIN.to_dict()
    facts["columns"]["region"] = {"levels": ["west", "north", "south"]}
    one = on_people(DPLogisticRegression, stages=1).fit(FRAME[FEATURES], FRAME["bought"])
    other = on_people(DPLogisticRegression, stages=1, domain=Domain.from_dict(facts))
    two = other.fit(FRAME[FEATURES], FRAME["bought"])
    np.testing.assert_allclose(
        one.decision_function(FRAME[FEATURES]), two.decision_function(FRAME[FEATURES]), atol=1e-7
    )
    assert one.results_.params["region[west]"] == pytest.approx(-two.results_.params["region[north]"], abs=1e-7)
    assert len(one.certificate_.events[0].design) == 6
    assert len(one.results_.params) == 5


def test_one_level_is_an_outcome_and_three_have_a_predictor_each():
    few = ["age", "hours"]
    west = on_people(DPLogisticRegression).fit_source(FRAME, "region[west]", few)
    assert west.classes_.tolist() == [False, True]
    three = on_people(DPLogisticRegression).fit_source(FRAME, "region", few)
    assert three.classes_.tolist() == REGIONS
    assert three.coef_.shape == (3, 2)
    assert three.predict_proba(FRAME[few]).sum(axis=1) == pytest.approx(1)
    assert set(three.predict(FRAME[few])) <= set(REGIONS)
    assert len(three.results_.params) == 6
    alone, among = (
        on_people(DPLogisticRegression, alpha=100.0).fit_source(FRAME, target, few)
        for target in ("region[west]", "region")
    )
    assert len([event for event in among.certificate_.events if event.law is not None]) == 3
    np.testing.assert_allclose(alone.coef_[0], among.coef_[2], atol=1e-9)


def test_three_classes_cost_less_than_three_promises():
    one, three = (
        on_people(DPLogisticRegression, random_state=None, alpha=1e4).fit_source(FRAME, target, ["age", "hours"])
        for target in ("region[west]", "region")
    )
    assert all(finding.ok for finding in three.certificate_.check())
    times = three.certificate_.events[0].scale / one.certificate_.events[0].scale
    assert 3**0.5 < times < 2


def test_progress_rises_to_one(monkeypatch):
    for keep in (1 << 31, 0):
        monkeypatch.setattr(rows, "KEEP_BYTES", keep)
        told = []
        on_people(DPLogisticRegression).fit_source(people(40_000), "bought", FEATURES, progress=told.append)
        assert told == sorted(told)
        assert told[-1] == 1
        assert len(told) > 3


def test_a_stream_that_can_be_read_once_is_kept():
    table = pa.Table.from_pandas(FRAME)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(500))
    once = on_people(DPLogisticRegression).fit_source(stream, "bought", FEATURES)
    again = on_people(DPLogisticRegression, stages=1).fit_source(table, "bought", FEATURES)
    np.testing.assert_allclose(once.coef_, again.coef_, atol=1e-9)


def test_rows_that_change_between_passes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "KEEP_BYTES", 0)
    domain = DOMAIN.select(["age", "bought"])
    path = tmp_path / "people.parquet"
    pq.write_table(pa.Table.from_pandas(FRAME), path)
    some = rows.Rows(Table.of(path, domain), ["(intercept)", "age"], "bought")
    pq.write_table(pa.Table.from_pandas(FRAME[:3000]), path)
    with pytest.raises(FileFormatError, match="changed"):
        some.sums(Logistic(), np.zeros(2), lambda y: y)


def test_counts_in_a_table():
    visits = on_people(DPPoissonRegression, epsilon=10).fit_source(FRAME, "visits", ["hours"])
    assert visits.coef_[0] == pytest.approx(1 / 40, rel=0.1)
    assert r2_score(np.exp(FRAME["hours"] / 40), visits.predict(FRAME[["hours"]])) > 0.95
    assert visits.results_.unit("hours") == "log rate"


def test_labels_of_any_kind_come_back():
    words = np.where(BINARY == 1, "yes", "no")
    for labels, y in ((["no", "yes"], words), ([-1, 1], 2 * BINARY - 1), ([False, True], BINARY == 1)):
        one = model(DPLinearSVC, classes=labels, random_state=NO_NOISE).fit(X, y)
        assert one.classes_.tolist() == labels
        assert np.mean(one.predict(X) == y) > 0.75
    swapped = model(DPLinearSVC, classes=["yes", "no"], random_state=NO_NOISE).fit(X, words)
    np.testing.assert_allclose(swapped.coef_, -one.coef_, atol=1e-6)


# -------------------------------------------------------------------- budgets


def test_promises_are_added_up_once_a_release_is_not_gaussian():
    with Budget(1, 1e-5) as budget:
        fitted(DPLogisticRegression, epsilon=0.4, random_state=None)
        linear = DPLinearRegression(epsilon=0.5, delta=1e-6, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, NUMBERS)
        assert linear.certificate_.guarantee.status == "verified"
        assert budget.epsilon_spent == pytest.approx(0.9, abs=1e-6)
        assert budget.delta_spent == pytest.approx(2e-6)
        assert budget.epsilon_left == pytest.approx(0.1, abs=1e-6)
        with pytest.raises(BudgetError, match="exceed"):
            fitted(DPLinearSVC, epsilon=0.2, random_state=None)
        fitted(DPLinearSVC, epsilon=0.09, random_state=None)
        assert [set(r) for r in budget.to_dict()["releases"]] == [{"method", "epsilon", "delta"}] * 3


def test_deltas_are_added_up_too():
    with Budget(10, 1.5e-6):
        fitted(DPLogisticRegression, epsilon=0.1, random_state=None)
        with pytest.raises(BudgetError, match="delta"):
            fitted(DPLogisticRegression, epsilon=0.1, random_state=None)


def test_a_budget_that_began_with_gaussian_releases_refuses_others_unless_it_adds():
    def linear():
        return DPLinearRegression(epsilon=0.2, delta=1e-6, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, NUMBERS)

    with Budget(1, 1e-5):
        linear()
        with pytest.raises(BudgetError, match="others="):
            fitted(DPLogisticRegression, epsilon=0.1, random_state=None)
    with Budget(1, 1e-5, adding=True) as budget:
        linear()
        fitted(DPLogisticRegression, epsilon=0.1, random_state=None)
        assert budget.epsilon_spent == pytest.approx(0.3, abs=1e-6)


def test_a_published_release_is_charged_with_what_can_be_proven():
    with Budget(5, 1e-5) as budget:
        one = fitted(ObjectivePerturbation, published="wang2018", random_state=None)
        assert budget.epsilon_spent == max(1.0, one.certificate_.epsilon)


# -------------------------------------------------------------------- published, refusals, command line


def test_published_constants_are_those_of_the_cited_theorem():
    one = fitted(ObjectivePerturbation, published="wang2018", random_state=None)
    (event,) = one.certificate_.events
    B2 = 5
    L = np.sqrt(B2) * (1 + np.sqrt(B2))
    assert event.modulus == pytest.approx(2 * B2)
    assert event.scale == pytest.approx(L * np.sqrt(8 * np.log(2e6) + 4), rel=1e-6)
    assert one.certificate_.guarantee.status == "claimed"
    assert "E25" in one.certificate_.guarantee.reason
    assert np.linalg.norm(theta_of(one)) < 1.01


BAD = [
    (DPLogisticRegression, {"penalty": "lasso"}, "penalty must be one of"),
    (DPLogisticRegression, {"alpha": -1}, "alpha must be a finite number above 0"),
    (DPLogisticRegression, {"l1_ratio": 2}, "l1_ratio must lie between"),
    (DPLogisticRegression, {"noise": "cauchy"}, "noise must be one of"),
    (DPLogisticRegression, {"adaptive": "yes"}, "adaptive must be one of"),
    (DPLogisticRegression, {"epsilon": None}, "epsilon is required"),
    (DPLogisticRegression, {"delta": None}, "delta is required"),
    (DPLogisticRegression, {"classes": None}, "Declare the classes"),
    (DPLogisticRegression, {"classes": [0]}, "at least two"),
    (DPLogisticRegression, {"classes": [0, 0]}, "twice"),
    (DPLogisticRegression, {"classes": [0, 2]}, "not among the declared classes"),
    (DPLogisticRegression, {"bounds_X": None}, "No bounds"),
    (DPLogisticRegression, {"domain": DOMAIN}, "not both"),
    (DPLogisticRegression, {"neighbors": "all"}, "neighbors must be one of"),
    (DPLogisticRegression, {"n_jobs": 0}, "n_jobs"),
    (DPLinearSVC, {"width": 0}, "width must be a finite number above 0"),
    (DPPoissonRegression, {"bounds_y": (-1, 5)}, "Counts are at least 0"),
    (DPPoissonRegression, {"bounds_y": None}, "No bounds"),
    (ObjectivePerturbation, {"radius": 0}, "radius must be a finite number above 0"),
    (ObjectivePerturbation, {"published": "piazza2021"}, "published must be one of"),
    (ObjectivePerturbation, {"published": "wang2018", "neighbors": "replace-one"}, "published="),
    (ObjectivePerturbation, {"adaptive": True, "radius": 2.0}, "radius=None"),
]


@pytest.mark.parametrize(("cls", "wrong", "advice"), BAD)
def test_bad_parameters_are_refused_before_noise(cls, wrong, advice, monkeypatch):
    monkeypatch.setattr(objective, "_noise", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(DiscreetError, match=advice):
        fitted(cls, **wrong)


def test_outcomes_of_another_kind_are_refused():
    with pytest.raises(ParameterError, match="classifier needs classes"):
        on_people(DPLogisticRegression).fit_source(FRAME, "visits", ["age"])
    with pytest.raises(ParameterError, match="is a category"):
        on_people(DPPoissonRegression).fit_source(FRAME, "bought", ["age"])
    with pytest.raises(DomainError, match="domain must be a Domain"):
        on_people(DPLogisticRegression, domain=3).fit(FRAME[FEATURES], FRAME["bought"])
    with pytest.raises(DataError, match="no row"):
        on_people(DPLogisticRegression).fit_source(FRAME[:0], "bought", ["age"])


def test_the_command_line_fits_and_checks(run, tmp_path):
    pq.write_table(pa.Table.from_pandas(FRAME), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(
        '[columns]\nage = { low = 18, high = 90 }\nhours = { low = 0, high = 80 }\nbought = { type = "bool" }\n'
        "visits = { low = 0, high = 20 }\n"
    )
    promise = ("--epsilon", "1", "--delta", "1e-6")
    common = ("people.parquet", "--schema", "people.toml", *promise, "--features", "age,hours")
    for method, target in (("DPLogisticRegression", "bought"), ("DPPoissonRegression", "visits")):
        done = run("fit", *common, "--target", target, "--method", method)
        assert done.code == 0, done.err
        assert "discreet model" not in done.said
        path = f"people.{target}.release.json"
        checked = run("check", path, "--json")
        assert checked.code == 0
        assert json.loads(checked.out)["ok"] is True
        shown = run("model", path)
        assert shown.code == 0, shown.err
        assert "std err" in shown.out
        assert run("model", path, "--target", "age").code == 2
        told = run("predict", path, "people.parquet", "--out", f"{target}.csv")
        assert told.code == 0, told.err
    body = json.loads((tmp_path / path).read_text())
    assert body["kind"] == "model"
    assert "DPLinearSVC" in run("methods").out


def test_warnings_are_ours():
    with pytest.warns(DiscreetWarning, match="promises little"):
        fitted(DPLogisticRegression, epsilon=20)


def test_a_report_and_a_picture_of_a_model_with_several_predictors():
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, (500, 2)), rng.integers(0, 3, 500)
    options = {"epsilon": 5, "delta": 1e-6, "bounds_X": (-1, 1), "classes": [0, 1, 2], "stages": 1}
    fitted = DPLogisticRegression(**options).fit(X, y).results_
    assert [head for head, _ in fitted.lines] == ["0: ", "1: ", "2: "]
    assert effects(fitted, 0.95).names == tuple(f"{label}: {name}" for label in (0, 1, 2) for name in ("x0", "x1"))
    page = report(fitted)
    for name, value in fitted.params.items():
        assert name in page
        assert number(value) in page
    assert "perturbed minimiser" in page
    assert "Noise against signal" not in page
    assert fitted.std_err.reason in page
    frame = fitted.to_frame()
    assert frame["coef"].to_dict() == pytest.approx(fitted.coefficients)
    assert frame["std_err"].isna().all()
    assert next(text.get_text() for text in fitted.plot().axes[0].get_yticklabels()).startswith("0: x0")
