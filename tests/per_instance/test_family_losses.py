"""Losses of released coefficients through `losses`: against n refits, and against draws of the mechanism itself."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from discreet import OPS, AdaOPS, NoisyGradientDescent, NoisySGD, OutputPerturbation
from discreet.mechanisms.gradient_descent.event import BatchesEvent
from discreet.mechanisms.posterior_sampling import loss as coefficients
from discreet.per_instance import losses
from discreet.privacy import ops
from discreet.privacy.laws import Point

DRAWS = 200_000
FACTS = {"epsilon": 3.0, "delta": 1e-3, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "fit_intercept": False, "rows": 80}


def table(n=60, d=2, seed=0):
    """Points of the lattice, so that nothing is rounded."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    y = np.clip(X @ np.linspace(0.6, -0.4, d) + rng.normal(0, 0.3, n), -1, 1)
    return np.rint(X * 1024) / 1024, np.rint(y * 1024) / 1024


def pairs(X, y, T, t):
    """(without, with): tables with and without each row of (X, y), or with and without each of (T, t)."""
    if T is None:
        for i in range(len(X)):
            kept = np.arange(len(X)) != i
            yield (X[kept], y[kept]), (X, y)
    else:
        for x, outcome in zip(T, t, strict=True):
            yield (X, y), (np.vstack([X, x]), np.append(y, outcome))


def ridge(A, b, penalty):
    H = A.T @ A + penalty * np.eye(A.shape[1])
    return H, np.linalg.solve(H, A.T @ b)


def values(found, name):
    return next(one.values for one in found.measured if one.part.name == name)


def both(X, y, model):
    """(targets, losses) of the rows and of some outside."""
    T, t = table(6, X.shape[1], seed=9)
    return [(None, None, losses((X, y), model)), (T, t, losses((X, y), model, targets=(T, t)))]


# -------------------------------------------------------------------- posterior samples


@pytest.mark.parametrize("cls", [OPS, AdaOPS])
def test_leverages_and_residuals_against_refits(cls):
    X, y = table()
    model = cls(**FACTS).fit(X, y)
    penalty = model.certificate_.events[0].penalty
    for T, t, found in both(X, y, model):
        m, r = values(found, "posterior sample")
        rows = (X, y) if T is None else (T, t)
        for i, ((A, b), _) in enumerate(pairs(X, y, T, t)):
            H, theta = ridge(A, b, penalty)
            assert m[i] == pytest.approx(rows[0][i] @ np.linalg.solve(H, rows[0][i]), rel=1e-10)
            assert r[i] == pytest.approx(rows[1][i] - rows[0][i] @ theta, rel=1e-10, abs=1e-10)


def test_ops_against_draws():
    X, y = table(20)
    model = OPS(**FACTS).fit(X, y)
    event, rng = model.certificate_.events[0], np.random.default_rng(1)
    for T, t, found in both(X, y, model):
        assert found.exact
        for i, pair in enumerate(pairs(X, y, T, t)):
            if i not in (0, 3):
                continue
            for epsilon in (0.0, 0.1):
                deltas = []
                for here, there in (pair, pair[::-1]):
                    (H, c), (H2, c2) = ridge(*here, event.penalty), ridge(*there, event.penalty)
                    theta = rng.multivariate_normal(c, np.linalg.inv(H) / event.gamma, DRAWS)
                    p, q = (
                        multivariate_normal(*law).logpdf(theta)
                        for law in ((c, np.linalg.inv(H) / event.gamma), (c2, np.linalg.inv(H2) / event.gamma))
                    )
                    share = np.maximum(0, -np.expm1(epsilon + q - p))
                    deltas.append((share.mean(), share.std() / math.sqrt(DRAWS)))
                mean, error = max(deltas)
                spare = found.measured[0].part.curve.spare  # for the rounding errors of this table
                assert 0 < spare < event.spare
                assert found.delta(epsilon + spare)[i] == pytest.approx(mean, abs=4.5 * error + 2e-6)


def staged_draws(event, here, there, rng, draws):
    """Log-ratios of draws of all stages of AdaOPS, with the penalty and the noise that were used."""
    (H, c), (H2, c2) = ridge(*here, event.penalty), ridge(*there, event.penalty)
    least, least2 = (np.linalg.eigvalsh(A.T @ A)[0] for A, _ in (here, there))
    size, size2 = (math.log(event.outcome + event.norm * np.linalg.norm(v)) for v in (c, c2))
    total = np.zeros(draws)
    for mean, other, sd in ((least, least2, event.eigenvalue_sd), (size, size2, event.norm_sd)):
        z = mean + sd * rng.standard_normal(draws)
        total += norm(mean, sd).logpdf(z) - norm(other, sd).logpdf(z)
    theta = rng.multivariate_normal(c, np.linalg.inv(H) / event.gamma, draws)
    total += multivariate_normal(c, np.linalg.inv(H) / event.gamma).logpdf(theta)
    return total - multivariate_normal(c2, np.linalg.inv(H2) / event.gamma).logpdf(theta)


def test_ada_ops_against_draws_of_all_stages():
    X, y = table(40)
    model = AdaOPS(**FACTS).fit(X, y)
    event, rng = model.certificate_.events[0], np.random.default_rng(2)
    for T, t, found in both(X, y, model):
        assert found.exact
        assert len(found.given) == 2
        for i, pair in enumerate(pairs(X, y, T, t)):
            if i not in (0, 4):
                continue
            for epsilon in (0.0, 0.02, 0.1):
                hidden = math.sqrt(values(found, "noise that hides rounding errors")[i])
                assert 0 < hidden < 0.5 * 2 * event.tolerance / event.output
                rest = hidden * rng.standard_normal(DRAWS) + hidden**2 / 2
                shares = [
                    np.maximum(0, -np.expm1(epsilon - rest - staged_draws(event, *way, rng, DRAWS)))
                    for way in (pair, pair[::-1])
                ]
                mean, error = max((s.mean(), s.std() / math.sqrt(DRAWS)) for s in shares)
                assert found.delta(epsilon)[i] == pytest.approx(mean, abs=4.5 * error + 1e-9)


def test_the_quick_curve_is_the_exact_one():
    rng = np.random.default_rng(0)
    m, rho = 10 ** rng.uniform(-8, 0, 500), 10 ** rng.uniform(-2, 3, 500)
    size = np.sqrt(m * (rho**2 + m / 2))
    m, rho, size = m[size < 20], rho[size < 20], size[size < 20]
    for tail in (0.0, 2.0, 4.5):
        e = size * (size / 2 + tail)
        assert coefficients._without(e, m, rho) == pytest.approx(ops.delta(e, m, rho, 1.0), rel=1e-8, abs=1e-9)
        below = -np.expm1(-e) + np.exp(-e) * ops.delta_with(e, m, rho, 1.0)
        assert coefficients._without(-e, m, rho) == pytest.approx(below, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.1, 8.0])
def test_a_draw_beside_a_gaussian_part_against_draws(ratio):
    """Both ways to integrate; the other direction is never the worse one."""
    rng = np.random.default_rng(3)
    for m, rho in ((0.02, 4.0), (0.3, 0.1)):
        mu = ratio * math.sqrt(m * (rho**2 + m / 2))
        K = math.log1p(m) + rho**2 / (1 + m)
        z, w = rng.standard_normal((2, DRAWS))
        P = ((rho + math.sqrt(m) * w) ** 2 - K) / 2
        Q = (K - (rho / (1 + m) + math.sqrt(m / (1 + m)) * w) ** 2) / 2
        for epsilon in (0.0, mu):
            forth, back = (np.maximum(0, -np.expm1(epsilon - loss - mu * z - mu**2 / 2)) for loss in (P, Q))
            arguments = [np.array([a]) for a in (epsilon, mu, m, rho)]
            found, error = coefficients._integrated(*arguments)[0], 4.5 / math.sqrt(DRAWS)
            assert found == pytest.approx(forth.mean(), abs=error * forth.std() + 1e-9)
            assert back.mean() <= found + error * back.std() + 1e-9
            assert found <= coefficients._beside(*arguments)[0] <= found * (1 + 2e-3)


@pytest.mark.parametrize("cls", [OPS, AdaOPS])
def test_epsilons_meet_their_delta(cls):
    X, y = table()
    found = losses((X, y), cls(**FACTS).fit(X, y))
    for delta in (1e-3, 1e-6):
        e = found.epsilon(delta)
        for i in np.flatnonzero(e > 0)[:5]:
            assert found.delta(float(e[i]))[i] <= delta * (1 + 1e-9)
            assert found.delta(float(e[i]) * (1 - 1e-6))[i] > delta


# -------------------------------------------------------------------- output perturbation


@pytest.mark.parametrize("shape", ["isotropic", "fisher", "democratic"])
def test_output_perturbation_against_refits(shape):
    X, y = table()
    model = OutputPerturbation(**FACTS, shape=shape).fit(X, y)
    event = model.certificate_.events[0]
    C = np.reshape(event.root, (2, 2)) if event.root else np.eye(2)
    for T, t, found in both(X, y, model):
        assert found.exact
        for i, ((A, b), (A1, b1)) in enumerate(pairs(X, y, T, t)):
            (_, c), (_, c1) = ridge(A, b, event.penalty), ridge(A1, b1, event.penalty)
            least, least1 = (np.linalg.eigvalsh(Z.T @ Z)[0] for Z in (A, A1))
            size, size1 = (math.log(event.outcome + event.norm * np.linalg.norm(v)) for v in (c, c1))
            square = ((least - least1) / event.eigenvalue_sd) ** 2 + ((size - size1) / event.norm_sd) ** 2
            square += event.gamma * float(np.sum((C @ (c - c1)) ** 2))
            if event.gram_sd:
                square += float(np.sum((A1.T @ A1 - A.T @ A) ** 2)) / event.gram_sd**2
            assert found.mu()[i] == pytest.approx(math.sqrt(square), rel=1e-7)


# -------------------------------------------------------------------- gradient descent


def gradients(event, X, y):
    """Of the whole table at each iterate, over the sd of its noise."""
    thetas = np.reshape(event.iterates, (-1, X.shape[1]))
    return np.concatenate([(X.T @ (X @ v - y)) / sd for v, sd in zip(thetas, event.sds, strict=True)])


def test_gradient_descent_against_leaving_rows_out():
    X, y = table()
    model = NoisyGradientDescent(**FACTS, steps=7).fit(X, y)
    event = model.certificate_.events[0]
    assert len(event.iterates) == 14
    assert not any(event.iterates[:2])
    for T, t, found in both(X, y, model):
        assert found.exact
        for i, (here, there) in enumerate(pairs(X, y, T, t)):
            moved = gradients(event, *here) - gradients(event, *there)
            assert found.mu()[i] == pytest.approx(np.linalg.norm(moved), rel=1e-10)


def test_gradient_descent_against_replacing_rows():
    X, y = table(20)
    model = NoisyGradientDescent(**FACTS, steps=5, neighbors="replace-one").fit(X, y)
    event, (T, t) = model.certificate_.events[0], table(8, seed=4)
    worst = losses((X, y), model)
    assert not worst.exact
    for j in range(8):
        found = losses((X, y), model, replacement=(T[j : j + 1], t[j : j + 1]))
        assert found.exact
        for i in range(20):
            X1, y1 = X.copy(), y.copy()
            X1[i], y1[i] = T[j], t[j]
            moved = np.linalg.norm(gradients(event, X, y) - gradients(event, X1, y1))
            assert found.mu()[i] == pytest.approx(moved, rel=1e-9, abs=1e-12)
        assert (found.mu() <= worst.mu() * (1 + 1e-12)).all()
    assert (worst.mu() <= event.mu).all()


def test_the_bound_for_sampled_batches_covers_all_samples():
    """One step, one column: the released sum has a mixture of normals as its law, one for each sample of the rows."""
    x, y = np.array([0.9, -0.5, 0.25, 1.0]), np.array([0.5, -1.0, 0.25, -0.5])
    model = NoisySGD(**FACTS, steps=1, rate=0.4).fit(x[:, None], y)
    event = model.certificate_.events[0]
    assert isinstance(event, BatchesEvent)
    found = losses((x[:, None], y), model)
    assert "other rows" in found.notes[0]
    own = np.clip(-x * y, -event.clip, event.clip)  # gradients at 0, where descent starts
    z = np.linspace(-8 * event.sd - 4, 8 * event.sd + 4, 60_001)

    def law(gradients):
        total = np.zeros_like(z)
        for sample in range(2 ** len(gradients)):
            chosen = np.array([(sample >> k) & 1 for k in range(len(gradients))])
            chance = math.prod(event.rate if c else 1 - event.rate for c in chosen)
            total += chance * norm(float(gradients @ chosen), event.sd).pdf(z)
        return total

    for i in range(4):
        P, Q = law(np.delete(own, i)), law(own)
        for epsilon in (0.0, 0.05, 0.2):
            true = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((P, Q), (Q, P))) * (z[1] - z[0])
            assert true <= found.delta(epsilon)[i] * (1 + 1e-6)
    assert found.measured[0].part.laws[0] == Point(0.0)
    assert found.delta(0.05)[2] < 0.1 * found.delta(0.05)[0]  # a short gradient loses little


def test_a_sample_in_a_ball_costs_at_most_what_the_rows_size_says():
    """Log ratios of the restricted densities with and without each row, by integration."""
    X, y = table(n=40, d=1)
    X[:3], y[:3] = [[1.0], [0.0], [-1.0]], [1.0, 0.0, 1.0]
    given = {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "fit_intercept": False}
    model = OPS(epsilon=1.0, calibration="pure", radius=1.5, **given).fit(X, y)
    (event,) = model.certificate_.events
    theta = np.linspace(-1.5, 1.5, 4001)

    def log_density(A, b):
        energy = event.gamma / 2 * (((b - A * theta[:, None]) ** 2).sum(axis=1) + event.penalty * theta**2)
        return -energy - math.log(np.trapezoid(np.exp(energy.min() - energy), theta)) + energy.min()

    whole = log_density(X[:, 0], y)
    moved = [np.abs(whole - log_density(np.delete(X[:, 0], i), np.delete(y, i))).max() for i in range(len(y))]
    found = losses((X, y), model, n_jobs=1)
    epsilon = found.epsilon()
    size = np.abs(y) + 1.5 * np.abs(X[:, 0])
    assert np.all(moved <= epsilon + 1e-12)
    np.testing.assert_allclose(epsilon, event.gamma * size**2 / 2, atol=0.01)
    assert epsilon[1] == 0
    assert epsilon.max() > 0.99
    assert "sum over the ball" in found.notes[0]
