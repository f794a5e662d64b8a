"""What the estimators of posterior sampling and the other families really do, on data made to break them.

The events that estimators list are held against exact or integrated divergences for tables and their neighbours: tiny
and near-singular ones, saturated bounds, coefficients as large as they get.
"""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from discreet import (
    OPS,
    AdaOPS,
    Domain,
    Moments,
    NoisyGradientDescent,
    NoisySGD,
    OutputPerturbation,
    SubsampleAggregate,
)
from discreet.data.blocks import block_sums
from discreet.data.reading import Table
from discreet.domain.encoding import ONE
from discreet.errors import DataError, ParameterError
from discreet.gate.entropy import SeededEntropy
from discreet.mechanisms.gradient_descent import release as descent
from discreet.mechanisms.gradient_descent.batches_release import _coins, clipped_gradients
from discreet.mechanisms.gradient_descent.event import gradient_change, sampled_curve
from discreet.mechanisms.output_perturbation.event import output_change, root
from discreet.mechanisms.posterior_sampling.event import relative, tolerance, trace_bound
from discreet.mechanisms.posterior_sampling.release import BoundedRidge
from discreet.mechanisms.subsample_aggregate.release import _chooser, block_coefficients
from discreet.models.spec import FitSpec
from discreet.privacy import gdp, ops

ROWS = 400


def pairs():
    """A table and a row that comes or goes: lattice points, norms of at most 1, outcomes at the bounds."""
    yield "one tiny row", np.array([[2.0**-10]]), np.array([1.0]), np.array([1.0]), -1.0
    yield "opposite", np.full((ROWS - 1, 1), 1.0), np.ones(ROWS - 1), np.array([1.0]), -1.0
    yield "long and opposite", np.full((ROWS - 1, 1), 0.25), np.ones(ROWS - 1), np.array([1.0]), -1.0
    yield "largest norm", np.full((ROWS - 1, 1), 0.1875), np.ones(ROWS - 1), np.array([1.0]), -1.0
    yield "new direction", np.tile([1.0, 0.0], (60, 1)), np.ones(60), np.array([0.0, 1.0]), 1.0
    X = np.vstack([np.tile([1.0, 0.0], (50, 1)), np.tile([0.0, 0.25], (300, 1))])
    yield "huge coefficient", X, np.r_[np.zeros(50), np.ones(300)], np.array([0.0, 1.0]), -1.0
    X = np.vstack([np.tile([0.75, 0.625], (200, 1)), [[0.625, -0.75]] * 2])
    yield "near singular", X, np.r_[np.ones(200), -1, -1], np.array([0.625, -0.75]), 1.0


PAIRS = list(pairs())
IDS = [pair[0] for pair in PAIRS]


def domain(d):
    return Domain.from_bounds([f"x{i}" for i in range(d)], ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)


def moments(X, y):
    return Moments.from_source((X, y), domain(X.shape[1]), n_jobs=1)


def ridge(X, y, lambda_):
    H = X.T @ X + lambda_ * np.eye(X.shape[1])
    return H, np.linalg.solve(H, X.T @ y)


def fitted(cls, X, y, **options):
    given = {"epsilon": 1.0, "delta": 1e-4, "rows": ROWS, "random_state": 0} | options
    return cls(**given).fit_moments(moments(X, y), "y")


# -------------------------------------------------------------------- OPS


@pytest.mark.parametrize("calibration", ["balanced", "diffuse", "concentrated", "conservative"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3), (5.0, 1e-8)])
def test_the_sample_keeps_its_promise_on_all_pairs_and_nearly_spends_it(calibration, epsilon, delta):
    """Among them ROWS - 1 equal rows of any length against one of norm 1: some length nearly spends all."""
    options = {"epsilon": epsilon, "delta": delta, "calibration": calibration}
    events = {X.shape[1]: fitted(OPS, X, y, **options).certificate_.events[0] for _, X, y, _, _ in PAIRS}
    equal = [(np.full((ROWS - 1, 1), s), np.ones(ROWS - 1), np.ones(1), -1.0) for s in np.geomspace(0.01, 1, 60)]
    spent = []
    for X, y, x, target in [pair[1:] for pair in PAIRS] + equal:
        event = events[X.shape[1]]
        H, theta = ridge(X, y, event.penalty)
        m, r = float(x @ np.linalg.solve(H, x)), float(target - x @ theta)
        hidden = gdp.delta(2 * event.tolerance / event.output, event.spare)
        spent.append(ops.delta(epsilon - event.spare, m, r, event.gamma) + hidden)
    assert 0.7 * delta < max(spent) <= delta
    for event in events.values():
        assert 0.999 * delta <= event.law.delta(epsilon) <= delta
        assert event.law.delta(event.spare / 2) == 1


def test_a_larger_precision_would_break_the_promise_of_the_sample():
    X, y = np.full((ROWS - 1, 1), 0.125), np.ones(ROWS - 1)
    (event,) = fitted(OPS, X, y, calibration="diffuse").certificate_.events
    worst = 0.0
    for scale in np.linspace(0.02, 0.4, 39):
        H, theta = ridge(np.rint(np.full((ROWS - 1, 1), scale) * ONE) / ONE, y, event.penalty)
        r = float(1 + theta[0])
        worst = max(worst, ops.delta(1.0 - event.spare, 1 / float(H[0, 0]), r, 1.3 * event.gamma))
    assert worst > 1e-4
    assert replace(event, gamma=1.3 * event.gamma).law.delta(1.0) > 1e-4
    assert not replace(event, tolerance=event.tolerance / 2).keeps()


# -------------------------------------------------------------------- AdaOPS


def integral(plan, mu_out, X, y, x, target, epsilon, *, without, count=41):
    """The divergence of the whole, over both Gaussian releases and the noise that hides rounding errors."""
    from privacy_integrals import signed_delta

    edges = np.linspace(-8, 8, count + 1)
    z, weight = (edges[:-1] + edges[1:]) / 2, np.diff(ndtr(edges))
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    hidden, hidden_weight = mu_out * nodes + mu_out**2 / 2, weights / weights.sum()
    data = (X, y), (np.vstack([X, x]), np.append(y, target))
    first, second = data if without else data[::-1]
    least = [float(np.linalg.eigvalsh(t[0].T @ t[0])[0]) for t in (first, second)]
    move1, total = (least[0] - least[1]) / plan.s1, 0.0
    smaller = float(np.linalg.eigvalsh(X.T @ X)[0])
    for z1, w1 in zip(z, weight, strict=True):
        chosen = plan.penalty(least[0] + plan.s1 * z1)
        if chosen.lt > smaller:
            total += w1
            continue
        (_, a), (_, b) = (ridge(*t, chosen.lambda_) for t in (first, second))
        a, b = (math.log(plan.Y + plan.B * float(np.linalg.norm(v))) for v in (a, b))
        H, theta = ridge(X, y, chosen.lambda_)
        m, r = float(x @ np.linalg.solve(H, x)), float(target - x @ theta)
        R = np.array([plan.residual_bound(chosen, a + chosen.s2 * z2) for z2 in z])
        move2 = (a - b) / chosen.s2
        loss = z1 * move1 + move1**2 / 2 + z * move2 + move2**2 / 2
        gamma = plan.precision(chosen, 1.0) / R**2
        for extra, share in zip(hidden, hidden_weight, strict=True):
            total += w1 * share * float(weight @ signed_delta(epsilon - loss - extra, m, r, gamma, without=without))
    return total


@pytest.mark.parametrize(("name", "X", "y", "x", "target"), PAIRS[1:], ids=IDS[1:])
def test_the_estimator_of_ada_ops_keeps_its_promise_as_a_whole(name, X, y, x, target):
    model = AdaOPS(epsilon=1.0, delta=1e-3, rows=ROWS, random_state=0).fit_moments(moments(X, y), "y")
    (event,) = model.certificate_.events
    spec = FitSpec(("y",), list(model._features), model._check())
    plan = model._plan(model._subject(domain(X.shape[1]), spec), model._check())
    mu_out = 2 * event.tolerance / event.output
    assert gdp.compose([plan.mu, mu_out]) <= event.mu * (1 + 1e-9)
    for without in (True, False):
        assert integral(plan, mu_out, X, y, x, target, 1.0, without=without) <= 1e-3


@pytest.mark.parametrize("variant", ["wang2018", "kappa"])
@pytest.mark.parametrize(("name", "X", "y", "x", "target"), PAIRS, ids=IDS)
def test_released_bounds_cover_the_row_and_tampering_is_found(name, X, y, x, target, variant):
    for seed in range(5):
        (event,) = fitted(AdaOPS, X, y, variant=variant, random_state=seed).certificate_.events
        H, theta = ridge(X, y, event.penalty)
        assert np.linalg.eigvalsh(H)[0] >= event.h * (1 - 1e-12)
        assert abs(target - x @ theta) <= event.residual
        margin = event.eigenvalue_sd * -ndtri(event.failures[0]) + event.eigenvalue_change
        assert event.least == pytest.approx(max(0.0, event.eigenvalue - margin), rel=1e-9)
        assert event.keeps()
        for fact, factor in (("gamma", 1.05), ("tolerance", 0.5), ("residual", 0.5), ("eigenvalue_change", 0.9)):
            assert not replace(event, **{fact: factor * getattr(event, fact)}).keeps(), fact
        assert not replace(event, draw=0.9 * event.draw).keeps()


# -------------------------------------------------------------------- output perturbation


@pytest.mark.parametrize("shape", ["isotropic", "fisher", "democratic"])
@pytest.mark.parametrize(("name", "X", "y", "x", "target"), PAIRS, ids=IDS)
def test_given_what_was_released_before_the_coefficients_keep_their_share(name, X, y, x, target, shape, monkeypatch):
    """The last stage is Gaussian: mu is the change of C theta over its sd, for the C that was used."""
    used = []

    def record(*args):
        used.append(root(*args))
        return used[-1]

    monkeypatch.setattr("discreet.mechanisms.output_perturbation.release.root", record)
    X1, y1 = np.vstack([X, x]), np.append(y, target)
    for seed, (A, b) in enumerate([(X, y), (X1, y1)] * 4):
        (event,) = fitted(OutputPerturbation, A, b, shape=shape, random_state=seed).certificate_.events
        assert event.keeps()
        C = used.pop() if shape != "isotropic" else np.eye(X.shape[1])
        change = np.linalg.norm(C @ (ridge(X1, y1, event.penalty)[1] - ridge(X, y, event.penalty)[1]))
        declared = math.sqrt(event.gamma) * change
        left = math.sqrt(event.mu**2 - (event.eigenvalue_change / event.eigenvalue_sd) ** 2)
        assert declared <= left
        assert np.linalg.norm(C, 2) <= event.stretch
    assert not replace(event, residual=event.residual / 2).keeps()
    assert output_change(replace(event, stretch=1e15)) > 1.5 * output_change(event)
    if shape != "isotropic":
        assert not replace(event, tau=event.tau / 2).keeps()


def test_the_change_of_the_coefficients_is_reached():
    """Opposite rows reach a good part of the bound: it is not idle."""
    X, y = np.ones((ROWS - 1, 1)), np.ones(ROWS - 1)
    (event,) = fitted(OutputPerturbation, X, y, epsilon=10.0).certificate_.events
    change = ridge(X, y, event.penalty)[1] - ridge(np.vstack([X, [1.0]]), np.append(y, -1), event.penalty)[1]
    own = math.sqrt(event.mu**2 * 0.8)
    assert 0.4 * own < math.sqrt(event.gamma) * abs(change[0]) <= own


# -------------------------------------------------------------------- gradient descent


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("name", "X", "y", "x", "target"), PAIRS, ids=IDS)
def test_gradients_move_as_little_as_their_noise_assumes(name, X, y, x, target, neighbors, monkeypatch):
    thetas, sds = [], []
    product, noise = descent._product, descent.add_rounded_normal
    monkeypatch.setattr(descent, "_product", lambda *S: thetas.append(S[-1] / 2**16) or product(*S))
    monkeypatch.setattr(descent, "add_rounded_normal", lambda g, sd, source: sds.append(sd) or noise(g, sd, source))
    model = fitted(NoisyGradientDescent, X, y, neighbors=neighbors, steps=12)
    (event,) = model.certificate_.events
    assert np.concatenate(thetas).tolist() == list(event.iterates)
    assert [sd * 2.0**-56 for sd in sds] == list(event.sds)
    moved = [np.linalg.norm(x * (x @ theta - target)) for theta in thetas]
    if neighbors == "replace-one":
        moved = [m + np.linalg.norm(-x * (-x @ theta - target)) for m, theta in zip(moved, thetas, strict=True)]
    spent = gdp.compose(m / sd for m, sd in zip(moved, event.sds, strict=True))
    assert spent <= event.mu <= gdp.mu(1.0, 1e-4)
    assert all(m <= gradient_change(event, size) for m, size in zip(moved, event.sizes, strict=True))
    assert moved[0] > 0.9 * gradient_change(event, 0.0)


def test_descent_without_noise_finds_the_least_squares_coefficients():
    from discreet.gate.entropy import NO_NOISE

    rng = np.random.default_rng(0)
    X = np.rint(rng.uniform(-0.5, 0.5, (ROWS, 3)) * ONE) / ONE
    y = X @ [0.5, -0.25, 0.125]
    model = NoisyGradientDescent(epsilon=1, delta=1e-4, rows=ROWS, steps=300, time=100.0, random_state=NO_NOISE)
    assert np.abs(model.fit_moments(moments(X, y), "y").coef_ - [0.5, -0.25, 0.125]).max() < 1e-3


# -------------------------------------------------------------------- sampled batches


@pytest.mark.parametrize(("multiplier", "rate"), [(1.0, 0.1), (0.7, 0.5), (2.0, 0.01), (1.5, 1.0)])
def test_the_accountant_is_above_and_close_to_the_exact_curve(multiplier, rate):
    """One step, by integration: P = N(0, s^2) against Q = (1 - q) N(0, s^2) + q N(1, s^2), both ways."""
    w = np.linspace(-14 * multiplier, 14 * multiplier + 1, 400_001)
    p = np.exp(-((w / multiplier) ** 2) / 2)
    q = (1 - rate) * p + rate * np.exp(-(((w - 1) / multiplier) ** 2) / 2)
    scale = (w[1] - w[0]) / multiplier / math.sqrt(2 * math.pi)
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        exact = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() * scale for a, b in ((p, q), (q, p)))
        found = sampled_curve(multiplier, rate, 1)(epsilon)
        assert exact * (1 - 1e-6) <= found <= exact * 1.01 + 1e-6


def test_two_steps_of_the_accountant_are_above_the_exact_curve():
    s, rate, epsilon = 1.0, 0.2, 0.5
    w = np.linspace(-8, 9, 1201)
    p = np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi) * (w[1] - w[0])
    q = (1 - rate) * p + rate * np.exp(-((w - 1) ** 2) / 2) / math.sqrt(2 * math.pi) * (w[1] - w[0])
    P, Q = np.outer(p, p), np.outer(q, q)
    exact = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((P, Q), (Q, P)))
    assert exact <= sampled_curve(s, rate, 2)(epsilon) * (1 + 1e-9) <= 1.02 * exact


def test_what_a_row_contributes_depends_on_that_row_alone():
    rng = np.random.default_rng(1)
    X = np.rint(rng.uniform(-0.3, 0.3, (500, 7)) * ONE) / ONE
    y, theta = np.rint(rng.uniform(-1, 1, 500) * ONE) / ONE, np.rint(rng.normal(0, 3, 7) * 2**16) / 2**16
    whole = clipped_gradients(X, y, theta, 0.25)
    for size in (1, 3, 64):
        parts = [clipped_gradients(X[i : i + size], y[i : i + size], theta, 0.25) for i in range(0, 500, size)]
        assert np.array_equal(np.concatenate(parts), whole)
    norms = np.sqrt((whole.astype(float) ** 2).sum(axis=1)) / 2**20
    assert norms.max() <= 0.25 + math.sqrt(7) * 2.0**-21
    assert norms.max() > 0.249
    free = clipped_gradients(X, y, theta, 1e6) / 2**20
    np.testing.assert_allclose(free, X * (X @ theta - y)[:, None], atol=2.0**-20)


def test_coins_and_blocks_are_drawn_with_their_probabilities():
    source = SeededEntropy(0)
    heads = _coins(1_000_000, 0.125, source).mean()
    assert abs(heads - 0.125) < 5 * math.sqrt(0.125 * 0.875 / 1e6)
    counts = np.bincount(_chooser(7, source)(700_000), minlength=7)
    assert len(counts) == 7
    assert 10 < np.abs(counts - 100_000).max() < 5 * math.sqrt(1e5)
    assert set(np.unique(_chooser(5000, source)(200_000))) == set(range(5000))
    first, second = (_chooser(7, source)(7000) for _ in range(2))
    assert abs(np.mean(first == second) - 1 / 7) < 0.03
    assert abs(np.mean(first == np.arange(7000) % 7) - 1 / 7) < 0.03


def test_batches_spend_what_was_promised():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    given = {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "rows": 300, "steps": 10, "random_state": 0}
    for neighbors in ("add-remove", "replace-one"):
        model = NoisySGD(epsilon=1, delta=1e-5, neighbors=neighbors, **given).fit(X, X[:, 0])
        (event,) = model.certificate_.events
        assert 0.98 < model.certificate_.epsilon <= 1
        assert replace(event, sd=event.sd / 1.05).law.delta(1.0) > 1e-5


@pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")
@pytest.mark.parametrize(("cls", "options"), [(AdaOPS, {}), (OutputPerturbation, {"shape": "fisher"}), (OPS, {})])
@pytest.mark.parametrize("epsilon", [9.0, 50.0])
def test_large_replace_one_promises_are_found_to_be_kept(cls, options, epsilon):
    """Failures times 1 + e^(epsilon/2) exceed delta soon beyond the promise: powers of two may all lie outside."""
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    facts = {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "rows": 60, "neighbors": "replace-one"}
    certificate = cls(epsilon=epsilon, delta=1e-3, **facts, **options).fit(X, X[:, 0]).certificate_
    assert 0.99 * epsilon < certificate.epsilon <= epsilon


def test_the_accountant_is_not_asked_for_less_than_its_errors():
    """Replace-one asks it for delta/(1 + e^(epsilon/2)), which must be 1e-11 at least as well."""
    model = NoisySGD(epsilon=8, delta=1e-10, rows=10, bounds_X=(-1, 1), bounds_y=(-1, 1), neighbors="replace-one")
    with pytest.raises(ParameterError, match="accountant"):
        model.fit(np.zeros((2, 1)), np.zeros(2))


# -------------------------------------------------------------------- blocks


@pytest.mark.parametrize(("name", "X", "y", "x", "target"), PAIRS, ids=IDS)
def test_one_row_moves_one_block_and_by_at_most_the_diameter(name, X, y, x, target):
    both = []
    for A, b in ((X, y), (np.vstack([X, x]), np.append(y, target))):
        d = A.shape[1]
        choose = _chooser(3, SeededEntropy(5))
        sums = block_sums(
            Table.of((A, b), domain(d)), [*(f"x{i}" for i in range(d)), "y"], 3, choose, 1, lambda part: None
        )
        both.append(list(block_coefficients(sums, 0.5)))
    moved = [np.linalg.norm((a - b).astype(float)) / 2**24 for a, b in zip(*both, strict=True)]
    assert np.count_nonzero(moved) <= 1
    assert max(moved) <= 1.0 + 2.0**-20
    for part in both[0] + both[1]:
        assert np.linalg.norm(part.astype(float)) / 2**24 <= 0.5 + math.sqrt(len(part)) * 2.0**-25


def test_the_mean_of_blocks_has_the_noise_it_lists():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    given = {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "blocks": 4, "radius": 0.5}
    fits = [SubsampleAggregate(epsilon=1, delta=1e-4, random_state=i, **given).fit(X, X[:, 0]) for i in range(200)]
    (event,) = fits[0].certificate_.events
    coef = np.array([f.coef_ for f in fits])
    assert np.std(coef - coef.mean(axis=0)) == pytest.approx(event.sd / 4, rel=0.1)
    assert event.mu == pytest.approx(1.0 / event.sd, rel=1e-4)


# -------------------------------------------------------------------- rounding errors


def solved(S, b, lambda_):
    """Ridge coefficients of the float matrices in 60 digits."""
    with mpmath.workdps(60):
        H = mpmath.matrix(S.tolist()) + lambda_ * mpmath.eye(len(S))
        return np.array([float(v) for v in mpmath.lu_solve(H, mpmath.matrix(b.tolist()))])


@pytest.mark.parametrize("shrink", [1.0, 1e-3, 2.0**-20])
def test_computed_coefficients_err_by_less_than_is_declared(shrink):
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.5, 0.5, (ROWS, 4))
    X[:, 3] = X[:, 2] + shrink * X[:, 3]
    X = np.rint(X / 2 * ONE) / ONE
    y = np.rint(rng.uniform(-1, 1, ROWS) * ONE) / ONE
    names = tuple(f"x{i}" for i in range(4))
    private = BoundedRidge(moments(X, y), names, "y", ROWS)
    for lambda_ in (1e-3, 1.0, 100.0):
        exact = solved(private.S, private.b, lambda_)
        h = lambda_ + max(0.0, float(np.linalg.eigvalsh(private.S)[0]))
        error = np.linalg.norm(private.coefficients(lambda_, 1.0, h) - exact)
        assert error <= relative(4, float(np.trace(private.S)) + 4 * lambda_, h) * np.linalg.norm(exact)
        theta, bound = private._solve(lambda_, 1.0, h, rng.standard_normal(4), 0.5)
        assert bound <= tolerance(4, trace_bound(4, 1.0, lambda_, ROWS), h, float(np.linalg.norm(exact)), 0.5)
        assert np.isfinite(theta).all()


def test_a_draw_has_the_covariance_it_should():
    rng = np.random.default_rng(0)
    X = np.rint(rng.uniform(-0.5, 0.5, (ROWS, 2)) @ [[1.0, 0.5], [0.0, 0.25]] * ONE) / ONE
    private = BoundedRidge(moments(X, X[:, 0]), ("x0", "x1"), "y", ROWS)
    source = SeededEntropy(0)
    drawn = np.array([private.draw(2.0, 1.0, 2.0, 0.5, 1.0, source) for _ in range(20_000)])
    H, theta = ridge(X, X[:, 0], 2.0)
    np.testing.assert_allclose(np.cov(drawn.T), np.linalg.inv(H) / 0.5, rtol=0.06, atol=1e-3)
    np.testing.assert_allclose(drawn.mean(axis=0), theta, atol=0.02)


def test_a_table_without_declared_rows_is_refused_by_its_rows_and_not_by_what_they_hold(monkeypatch):
    monkeypatch.setattr("discreet.mechanisms.posterior_sampling.release.ROWS", 40)
    monkeypatch.setattr("discreet.mechanisms.posterior_sampling.event.ROWS", 40)
    for value in (2.0**-10, 1.0):
        fitted(AdaOPS, np.full((40, 1), value), np.ones(40), rows=None)
        with pytest.raises(DataError, match="rows="):
            fitted(AdaOPS, np.full((41, 1), value), np.ones(41), rows=None)


def test_tables_larger_than_declared_are_refused():
    X, y = np.ones((ROWS + 1, 1)), np.ones(ROWS + 1)
    for cls in (OPS, AdaOPS, OutputPerturbation):
        with pytest.raises(DataError, match="more rows than") as caught:
            fitted(cls, X, y)
        assert str(ROWS + 1) not in str(caught.value)
