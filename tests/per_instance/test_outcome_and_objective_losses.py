"""Sampled rows, public outcomes, perturbed least squares through `losses`: against enumeration, refits and draws."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet import Domain, ObjectivePerturbation, ReuseCov
from discreet.mechanisms.objective_perturbation.loss import SquaredCurve, _beyond, _statistics
from discreet.mechanisms.reuse_covariance.event import SampledEvent
from discreet.per_instance import losses
from discreet.per_instance.leverage import LeverageRidge
from discreet.per_instance.mechanisms.parts import LossFacts
from discreet.privacy import accounting
from discreet.privacy.events.gaussian import Block
from discreet.privacy.guarantee import Guarantee
from discreet.released.certificate import Certificate

# -------------------------------------------------------------------- a secret sample


def test_the_bound_for_a_sample_covers_all_samples():
    """x'x of a Poisson sample of one column: its law is a mixture of normals, one for each sample."""
    x = np.array([1.0, -0.75, 0.5, 0.25])
    domain = Domain.from_bounds(["a"], bounds_X=(-1, 1), intercept=False)
    event = SampledEvent(0.3, 1.0 * (1 + 1e-9), (Block("gram", ("a",), (), 1.0),), "add-remove")
    promise = Guarantee(accounting.epsilon([event], 1e-3) * 1.001, 1e-3, "add-remove", "verified")
    found = losses(x[:, None], Certificate(promise, "test", domain, (event,)))
    z = np.linspace(-9, 13, 40_001)

    def law(squares):
        total = np.zeros_like(z)
        for sample in range(2 ** len(squares)):
            chosen = np.array([(sample >> k) & 1 for k in range(len(squares))])
            total += math.prod(0.3 if c else 0.7 for c in chosen) * norm(float(squares @ chosen)).pdf(z)
        return total

    for i in range(4):
        P, Q = law(np.delete(x**2, i)), law(x**2)
        for epsilon in (0.0, 0.05, 0.2):
            true = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((P, Q), (Q, P))) * (z[1] - z[0])
            assert true <= found.delta(epsilon)[i] * (1 + 1e-6)
            alone = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in _one_row(x[i] ** 2, z))
            assert found.delta(epsilon)[i] <= 1.001 * alone * (z[1] - z[0]) + 1e-9
    assert found.delta(0.0)[3] < 0.2 * found.delta(0.0)[0]


def _one_row(square, z):
    """The row alone in its table, where the bound is exact but for rounding."""
    P, Q = norm.pdf(z), 0.7 * norm.pdf(z) + 0.3 * norm(square).pdf(z)
    return (P, Q), (Q, P)


def test_public_outcomes_against_replacing_features():
    rng = np.random.default_rng(0)
    X, Y = np.rint(rng.uniform(-1, 1, (25, 2)) * 64) / 64, np.rint(rng.uniform(-1, 1, (25, 3)) * 64) / 64
    facts = {"epsilon": 2, "delta": 1e-4, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "neighbors": "replace-one"}
    model = ReuseCov(**facts, association="projection").fit(X, Y)
    event = model.certificate_.events[0]
    gram, cross = event.blocks
    worst = losses((X, Y), model)
    assert not worst.exact
    T = np.concatenate([[[1.0, 1.0], [-1.0, 1.0]], X[:3]])
    for w in T:
        found = losses((X, Y), model, replacement=(w[None], Y[:1]))
        assert found.exact
        for i in range(25):
            x, v = np.append(1.0, X[i]), np.append(1.0, w)
            square = np.sum((np.outer(x, x) - np.outer(v, v)) ** 2) / gram.sd**2
            square += np.sum(np.outer(x - v, Y[i]) ** 2) / cross.sd**2
            assert found.mu()[i] ** 2 == pytest.approx(square, rel=1e-9, abs=1e-12)
        assert (found.mu() <= worst.mu() * (1 + 1e-12)).all()
    assert (worst.mu() <= event.mu).all()


# -------------------------------------------------------------------- perturbed least squares

FACTS = {"epsilon": 2.0, "delta": 1e-4, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "fit_intercept": False}


def table(n=300, slope=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.clip(X @ [slope, -slope / 2] + rng.normal(0, 0.2, n), -1, 1)


def facts_of(model, X, y, targets=None):
    from discreet import Moments
    from discreet.per_instance.stream import each_row

    domain = model.certificate_.domain
    passes = [lambda work, rows=rows: each_row(rows, domain, work, n_jobs=1) for rows in ((X, y), targets)]
    moments = Moments.from_source((X, y), domain)
    return LossFacts(model.certificate_, lambda: moments, *passes, adding=targets is not None, pair=None)


def test_squared_loss_is_exact_where_predictions_stay_inside():
    X, y = table()
    model = ObjectivePerturbation(**FACTS).fit(X, y)
    event = model.certificate_.events[0]
    found = losses((X, y), model)
    assert found.exact
    assert "prediction" in found.given[0]
    m, s, r, x2 = found.measured[0].values
    H = X.T @ X + event.modulus * np.eye(2)
    for i in (0, 7):
        H0 = H - np.outer(X[i], X[i])
        u = np.linalg.solve(H0, X[i])
        expected = X[i] @ u, u @ u, y[i] - X[i] @ np.linalg.solve(H0, X.T @ y - X[i] * y[i]), X[i] @ X[i]
        assert (m[i], s[i], r[i], x2[i]) == pytest.approx(expected, rel=1e-4)  # the table is rounded to the lattice
    assert found.epsilon().max() < 0.5 * model.certificate_.epsilon  # far below the bound for everybody
    targets = (np.array([[0.5, 0.5], [1.0, -1.0]]), np.array([1.0, -1.0]))
    assert losses((X, y), model, targets=targets).exact


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_exact_loss_against_draws_of_real_minimisers(epsilon):
    """Both directions, and the noise on the result that hides where the solver stopped."""
    X, y = table(40)
    model = ObjectivePerturbation(**FACTS, alpha=40.0).fit(X, y)
    event, rng = model.certificate_.events[0], np.random.default_rng(1)
    found = losses((X, y), model)
    assert found.exact
    i, draws = int(np.argmax(found.epsilon())), 40_000
    kept = np.arange(40) != i

    def fits(A, b, noise):
        """Minimisers for many b at once, by Newton steps; all predictions are inside, or the test says so."""
        H = A.T @ A + event.modulus * np.eye(2)
        theta = np.linalg.solve(H, (A.T @ b)[:, None] - noise)
        assert (np.abs(X @ theta) < event.loss.limit).all()
        return theta

    def log_density(theta, A, b):
        H = A.T @ A + event.modulus * np.eye(2)
        noise = (A.T @ b)[:, None] - H @ theta
        return np.linalg.slogdet(H)[1] - (noise**2).sum(axis=0) / (2 * event.scale**2)

    tables = ((X[kept], y[kept]), (X, y))
    shares = []
    for here, there in (tables, tables[::-1]):
        theta = fits(*here, event.scale * rng.standard_normal((2, draws)))
        hiding = event.mu * rng.standard_normal(draws) + event.mu**2 / 2
        loss = log_density(theta, *here) - log_density(theta, *there) + hiding
        shares.append(np.maximum(0, -np.expm1(epsilon - loss)))
    mean, error = max((s.mean(), s.std() / math.sqrt(draws)) for s in shares)
    assert found.delta(epsilon)[i] == pytest.approx(mean, abs=4.5 * error)


def test_the_closed_form_beside_a_gaussian_part_against_draws():
    X, y = table(12)
    fit, sigma, mu = LeverageRidge(X.T @ X, X.T @ y, 3.0), 2.0, 0.4
    x, t, rng, draws = np.array([0.9, 0.8]), -1.0, np.random.default_rng(4), 200_000
    known = _statistics(fit.adding(x[None], np.array([t])))
    tables = [(X.T @ X + 3 * np.eye(2), X.T @ y)]
    tables.append((tables[0][0] + np.outer(x, x), tables[0][1] + x * t))
    deltas = []
    for (H, v), (H2, v2) in (tables, tables[::-1]):
        b = sigma * rng.standard_normal((2, draws))
        theta = np.linalg.solve(H, v[:, None] - b)
        loss = np.linalg.slogdet(H)[1] - np.linalg.slogdet(H2)[1]
        loss = loss + (((v2[:, None] - H2 @ theta) ** 2).sum(axis=0) - (b**2).sum(axis=0)) / (2 * sigma**2)
        loss = loss + mu * rng.standard_normal(draws) + mu**2 / 2
        share = np.maximum(0, -np.expm1(0.3 - loss))
        deltas.append((share.mean(), share.std() / math.sqrt(draws)))
    mean, error = max(deltas)
    found = SquaredCurve(sigma).delta(np.array([0.3]), np.array([mu]), known)
    assert found[0] == pytest.approx(mean, abs=4.5 * error)


def test_the_probability_of_leaving_the_bounds_covers_all_neighbours():
    X, y = table(60, slope=0.9, seed=2)
    model = ObjectivePerturbation(**FACTS, alpha=4.0).fit(X, y)
    event = model.certificate_.events[0]
    bound, rng = _beyond(event, facts_of(model, X, y)), np.random.default_rng(0)
    noise = event.scale * rng.standard_normal((2, 20_000))
    worst = 0.0
    for i in (None, *range(0, 60, 7)):
        kept = np.arange(60) != i
        H = X[kept].T @ X[kept] + event.modulus * np.eye(2)
        theta = np.linalg.solve(H, (X[kept].T @ y[kept])[:, None] - noise)
        worst = max(worst, float((np.abs(X @ theta) >= event.loss.limit).any(axis=0).mean()))
    assert worst > 0.001
    assert worst <= bound
    few = _beyond(event, facts_of(model, X[:4], y[:4]))  # of so few rows the sum of all tails is close to the truth
    H = X[:4].T @ X[:4] + event.modulus * np.eye(2)
    theta = np.linalg.solve(H, (X[:4].T @ y[:4])[:, None] - noise)
    true = float((np.abs(X[:4] @ theta) >= event.loss.limit).any(axis=0).mean())
    assert true <= few <= 4 * true
    found = losses((X, y), model)
    assert not found.exact
    assert "norm of the row" in found.notes[0]


def test_a_target_whose_prediction_leaves_the_bounds_gets_the_bound():
    X, y = table(2000, slope=0.4)
    model = ObjectivePerturbation(**FACTS).fit(X * 0.4, y)
    assert losses((X * 0.4, y), model).exact
    far = losses((X * 0.4, y), model, targets=(np.array([[1.0, -1.0]]), np.array([1.0])))
    assert not far.exact


@pytest.mark.parametrize("options", [{"penalty": "l1"}, {"radius": 2.0}, {"noise": "laplace"}])
def test_other_objectives_have_no_closed_form(options):
    X, y = table(100)
    model = ObjectivePerturbation(**FACTS, **options).fit(X, y)
    found = losses((X, y), model)
    assert not found.exact
    assert found.epsilon().max() <= model.certificate_.epsilon * (1 + 1e-6)
