"""Peers of the comparison: their accounting against brute force, their estimates against the limit without noise."""

import math
import subprocess

import numpy as np
import pytest
from experiments.comparison.peers import boosted_ada_ssp, diffprivlib, opendp_ssp, tukey_em

from discreet.privacy import gdp


def rows(rng, n, d):
    """Rows with norms of at most 1, outcomes of at most 1; corners among them."""
    X = rng.normal(size=(n, d))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    X[: d // 2 + 1] = np.eye(d)[: d // 2 + 1]
    X[-1] = 1 / math.sqrt(d)
    X[1::3] *= rng.uniform(size=(len(X[1::3]), 1))
    return X, rng.choice([-1.0, 1.0, 0.3], size=n)


def table(n=4000, d=3, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X, _ = rows(rng, n, d)
    return X, np.clip(X @ np.linspace(0.5, -0.3, d) + noise * rng.normal(size=n), -1, 1)


# ---------------------------------------------------------------- TukeyEM


@pytest.mark.parametrize("d", [1, 2])
def test_approximate_depth_is_the_least_count_on_a_side(d):
    rng = np.random.default_rng(d)
    models = rng.integers(-3, 4, (9, d)).astype(float)
    directions = np.concatenate([np.eye(d), -np.eye(d)])
    circle = [[math.cos(a), math.sin(a)] for a in np.linspace(0, 2 * math.pi, 120, endpoint=False)]
    all_directions = np.array(circle) if d == 2 else directions
    for point in [*models, *rng.uniform(-3, 3, (40, d))]:
        brute = min(np.sum(models @ u >= point @ u) for u in directions)
        assert tukey_em.depth(point, models) == brute
        tukey = min(np.sum(models @ u >= point @ u - 1e-9) for u in all_directions)
        assert tukey == brute if d == 1 else tukey <= brute  # on a line it is Tukey's depth; the axes are directions
        low, high = tukey_em.boxes(models)
        for i in range(1, len(low) + 1):
            assert bool(np.all((low[i - 1] <= point) & (point <= high[i - 1]))) == (brute >= i)


def test_volumes_are_those_of_the_points_so_deep():
    rng = np.random.default_rng(3)
    models = rng.uniform(-1, 1, (12, 2))
    points = rng.uniform(-1, 1, (40_000, 2))
    depths = np.array([tukey_em.depth(point, models) for point in points])
    for i, log in enumerate(tukey_em.log_volumes(models), start=1):
        volume = math.exp(log)
        assert 4 * np.mean(depths >= i) == pytest.approx(volume, abs=4 * 5 * math.sqrt(volume / 4 / 40_000))


def test_points_are_drawn_as_the_exponential_mechanism_says():
    """Depths by volume times e^(epsilon depth/2), and uniform within a depth."""
    rng = np.random.default_rng(4)
    models, epsilon, t = rng.normal(size=(10, 2)), 1.0, 2
    logs = tukey_em.log_volumes(models)
    drawn = np.array([tukey_em._point(models, tukey_em._depth(logs, t, epsilon, rng), rng) for _ in range(6000)])
    depths = np.array([tukey_em.depth(point, models) for point in drawn])
    shells = np.exp(logs) - np.append(np.exp(logs[1:]), 0.0)
    weights = np.where(np.arange(1, 6) >= t, shells * np.exp(epsilon * np.arange(1, 6) / 2), 0.0)
    for i, expected in enumerate(weights / weights.sum(), start=1):
        assert np.mean(depths == i) == pytest.approx(expected, abs=5 * math.sqrt(expected / 6000) + 1e-9)


def test_points_of_one_depth_are_uniform():
    """The share of every piece of the shell, cut by the sides of the inner box, is its share of the volume."""
    rng = np.random.default_rng(8)
    models, i = rng.normal(size=(10, 2)), 2
    (low, high), count = tukey_em.boxes(models), 8000
    points = np.array([tukey_em._point(models, i, rng) for _ in range(count)])
    edges = [np.array([low[i - 1, j], low[i, j], high[i, j], high[i - 1, j]]) for j in range(2)]
    areas = np.outer(*[np.diff(edge) for edge in edges])
    areas[1, 1] = 0.0
    found = np.histogram2d(*points.T, bins=edges)[0] / count
    shares = areas / areas.sum()
    assert np.all(np.abs(found - shares) <= 5 * np.sqrt(shares / count))


def line(models, t, epsilon, cuts):
    """The exact mass of the draw from models on a line, on each piece between cuts."""
    middle = (cuts[1:] + cuts[:-1]) / 2
    depths = np.minimum((models[:, None] <= middle).sum(axis=0), (models[:, None] >= middle).sum(axis=0))
    mass = np.where(depths >= t, np.exp(epsilon * depths / 2), 0.0) * np.diff(cuts)
    return mass / mass.sum() if mass.sum() else mass


def excess(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def pairs_on_a_line(rng, m, count):
    for _ in range(count):
        models = np.sort(rng.normal(size=m) * rng.choice([0.2, 1.0], size=m))
        other = models.copy()
        other[rng.integers(m)] = rng.choice([rng.normal(), models[m // 4], models[-m // 4], 1e3, -1e3])
        yield models, other


def worst_pairs(m, outer, epsilon, delta):
    """Models of which `outer` on each side lie far out, as far as the test just allows; and all that move one."""
    inner = m // 2 - outer

    def layout(far):
        return np.repeat([-far, -1.0, 1.0, far], [outer, inner, inner, outer])

    def allowed(far):
        return tukey_em.distance(tukey_em.log_volumes(layout(far)[:, None]), m // 4, epsilon, delta) >= 0

    far = max(far for far in np.geomspace(1, 1e6, 4000) if allowed(far))
    assert far > 1.5
    models = layout(far)
    for i in (0, outer, m - 1):
        for place in (-far, -1.0, 0.0, 1.0, far, 10 * far):
            yield models, np.sort(np.where(np.arange(m) == i, place, models))


def examine(pairs, m, half, delta):
    """Distances, exact excess of the draw where it must be close, and of test and draw together, of pairs."""
    t, close, whole, distances = m // 4, 0.0, 0.0, []
    for pair in pairs:
        cuts = np.unique(np.concatenate(pair))
        draws = [line(models, t, half, cuts) for models in pair]
        both = [tukey_em.distance(tukey_em.log_volumes(models[:, None]), t, half, delta) for models in pair]
        assert abs(both[0] - both[1]) <= 1
        gaps = [tukey_em.threshold(half, delta) - H for H in both]
        passes = [0.5 * math.exp(-half * gap) if gap > 0 else 1 - 0.5 * math.exp(half * gap) for gap in gaps]
        masses = [np.append(p * draw, 1 - p) for p, draw in zip(passes, draws, strict=True)]
        whole = max(whole, excess(*masses, 2 * half), excess(*masses[::-1], 2 * half))
        if max(both) >= 0:
            close = max(close, excess(*draws, half), excess(*draws[::-1], half))
        distances.append(max(both))
    return np.array(distances), close, whole


def test_the_whole_of_tukey_em_is_private_on_a_line():
    """Exactly, test and draw: failures, and every piece between models, for neighbours of all sorts."""
    found, close, whole = examine(pairs_on_a_line(np.random.default_rng(5), 60, 300), 60, 1.0, 0.05)
    assert 0.3 < np.mean(found >= 0) < 0.9
    assert max(close, whole) <= 0.05


def test_the_test_passes_without_distance_with_probability_delta():
    noise = np.random.default_rng(0).laplace(scale=1 / 0.7, size=200_000)
    assert np.mean(noise - 1 > tukey_em.threshold(0.7, 0.01)) == pytest.approx(0.01, abs=0.001)
    models = np.repeat([[-1e9], [-1.0], [1.0], [1e9]], 15, axis=0)
    assert tukey_em.distance(tukey_em.log_volumes(models), 15, 1.0, 0.05) == -1
    drawn = [tukey_em.draw(models, 0.7, 1.0, 0.05, np.random.default_rng(i)) for i in range(4000)]
    assert np.mean([point is not None for point in drawn]) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("more", [0, -1])
def test_the_draw_is_close_where_the_test_just_allows_it(epsilon, more):
    """A wide shell of depth t, or of depth t - 1, as wide as can be: the promise is kept, and nearly used up."""
    m, delta = 64, 0.05
    found, close, whole = examine(worst_pairs(m, m // 4 + more, epsilon, delta), m, epsilon, delta)
    assert found.max() == 0
    assert delta / 30 < close <= delta
    assert whole <= delta


def test_a_set_of_models_without_distance_can_be_far_from_its_neighbour():
    """The test is needed: where it finds none, the draw alone may break its promise."""
    models = np.concatenate([np.full(15, -1.0), np.zeros(15), np.full(15, 1e-3), np.full(15, 1.0)])
    other = np.sort(np.where(np.arange(60) == 0, 5.0, models))
    assert tukey_em.distance(tukey_em.log_volumes(models[:, None]), 15, 1.0, 0.01) == -1
    draws = [line(part, 15, 1.0, np.unique(np.concatenate([models, other]))) for part in (models, other)]
    assert max(excess(*draws, 1.0), excess(*draws[::-1], 1.0)) > 0.01


def test_tukey_em_tends_to_least_squares_and_fails_on_few_rows():
    X, y = table(n=40_000)
    rng = np.random.default_rng(0)
    found = tukey_em.fit(X, y, 50.0, 1e-6, rng)
    assert found == pytest.approx(np.linalg.lstsq(X, y)[0], abs=0.01)
    assert tukey_em.fit(X[:60], y[:60], 1.0, 1e-6, rng) is None
    assert tukey_em.part_models(X[:5], y[:5], 20, rng).shape == (20, 3)


def test_one_row_changes_one_model():
    X, y = table(n=300)
    whole = tukey_em.part_models(X, y, 10, np.random.default_rng(1))
    fewer = tukey_em.part_models(X[:-1], y[:-1], 10, np.random.default_rng(1))
    moved = np.append(y[:-1], -y[-1])
    replaced = tukey_em.part_models(X, moved, 10, np.random.default_rng(1))
    for other in (fewer, replaced):
        assert np.sum(np.any(np.abs(whole - other) > 1e-9, axis=1)) <= 1


# ---------------------------------------------------------------- boosted AdaSSP


def test_boosting_spends_exactly_its_budget():
    first, second, each = boosted_ada_ssp.mus(1.0, 1e-6, rounds=10)
    assert gdp.epsilon(mu=math.sqrt(first**2 + second**2 + 10 * each**2), delta=1e-6) == pytest.approx(1.0, rel=1e-9)


def test_what_boosting_releases_changes_by_one_at_most():
    rng = np.random.default_rng(6)
    X, y = rows(rng, 40, 4)
    theta = rng.normal(size=4) * 3
    least = np.linalg.eigvalsh(X.T @ X)[0]
    for i in range(len(y)):
        x, r = X[i], np.clip(y[i] - X[i] @ theta, -boosted_ada_ssp.CLIP, boosted_ada_ssp.CLIP)
        gram = np.sum(np.diag(np.outer(x, x)) ** 2) + 2 * np.sum(np.triu(np.outer(x, x), 1) ** 2)
        others = np.delete(X, i, axis=0)
        assert gram <= 1 + 1e-12
        assert np.linalg.norm(x * r) <= 1 + 1e-12
        assert abs(least - np.linalg.eigvalsh(others.T @ others)[0]) <= 1 + 1e-12


def test_the_noise_of_boosting_has_its_law():
    """Without rows theta is the sum of the rounds' noise over the penalty, whose law is known."""
    d, epsilon, delta, rounds = 2, 1.0, 1e-6, 4
    X, y = np.zeros((1, d)), np.zeros(1)
    mu_0, mu_xx, mu_xy = boosted_ada_ssp.mus(epsilon, delta, rounds)
    found = np.array([boosted_ada_ssp.fit(X, y, epsilon, delta, np.random.default_rng(i), rounds) for i in range(2000)])
    draws = []
    for i in range(2000):
        rng = np.random.default_rng(10_000 + i)
        G = rng.normal(size=(d, d)) / mu_xx
        N = np.diag(np.diag(G)) + (np.triu(G, 1) + np.triu(G, 1).T) / math.sqrt(2)
        least = max(rng.normal() / mu_0 - math.sqrt(math.log(6 / delta)) / mu_0, 0.0)
        penalty = max(0.0, math.sqrt(d * math.log(2 * d**2 / 0.05)) / mu_xx - least)
        draws.append(np.linalg.solve(N + penalty * np.eye(d), math.sqrt(rounds) / mu_xy * rng.normal(size=d)))
    for q in (0.25, 0.5, 0.75):
        assert np.quantile(np.abs(found), q) == pytest.approx(np.quantile(np.abs(draws), q), rel=0.12)


def test_boosting_tends_to_least_squares():
    X, y = table()
    found = boosted_ada_ssp.fit(X, y, 1e6, 1e-6, np.random.default_rng(0))
    assert found == pytest.approx(np.linalg.lstsq(X, y)[0], abs=1e-3)


# ---------------------------------------------------------------- OpenDP


def test_what_opendp_releases_changes_by_the_root_of_two_at_most():
    X, y = rows(np.random.default_rng(7), 60, 5)
    changes = [np.linalg.norm(opendp_ssp.statistics(X[i : i + 1], y[i : i + 1])) for i in range(60)]
    assert max(changes) <= opendp_ssp.CHANGE * (1 + 1e-12)
    assert max(changes) == pytest.approx(opendp_ssp.CHANGE)


def test_opendp_solves_the_normal_equations():
    X, y = table(n=200)
    assert opendp_ssp.solve(opendp_ssp.statistics(X, y), 3) == pytest.approx(np.linalg.lstsq(X, y)[0], abs=1e-9)


@pytest.mark.skipif(not opendp_ssp.available(), reason="OpenDP is not installed: pip install opendp")
def test_opendp_has_the_noise_that_the_curves_ask_for():
    exact, sold = (scale(1.0, 1e-6) for scale in (opendp_ssp.exact_scale, opendp_ssp.sold_scale))
    assert gdp.epsilon(mu=opendp_ssp.CHANGE / exact, delta=1e-6) == pytest.approx(1.0, rel=1e-9)
    assert 1.01 < sold / exact < 1.2
    measurement = opendp_ssp._measurement(exact)
    assert measurement.map(opendp_ssp.CHANGE) == pytest.approx((opendp_ssp.CHANGE / exact) ** 2 / 2)
    assert np.std(measurement([0.0] * 20_000)) == pytest.approx(exact, rel=0.03)
    X, y = table()
    assert opendp_ssp.fit(X, y, 1e-3) == pytest.approx(np.linalg.lstsq(X, y)[0], abs=1e-3)


# ---------------------------------------------------------------- diffprivlib


def scales(x, y):
    """How many scales, over l, a row moves each entry by: half as many off the diagonal and in X'y."""
    upper = np.outer(x, x)[np.triu_indices(len(x), 1)]
    return np.concatenate([[y**2], np.abs(x * y) / 2, x**2, np.abs(upper) / 2])


@pytest.mark.parametrize("d", [1, 2, 7, 20])
def test_what_a_row_costs_diffprivlib(d):
    rng = np.random.default_rng(d)
    even, unit = np.full(d, 1 / math.sqrt(d)), np.eye(d)[0]
    pure = 2 + math.sqrt(d) / 2 + (d - 1) / 4
    assert scales(even, 1.0).sum() == pytest.approx(pure)
    assert np.sum(scales(unit, 1.0) ** 2) == pytest.approx(diffprivlib.SQUARES)
    for _ in range(500):
        x = rng.normal(size=d) * rng.choice([1e-2, 1.0], size=d)
        x *= rng.choice([1.0, rng.uniform()]) / np.linalg.norm(x)
        a = scales(x, rng.choice([1.0, rng.uniform(-1, 1)]))
        assert a.sum() <= pure * (1 + 1e-12)
        assert np.sum(a**2) <= diffprivlib.SQUARES * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "d"), [(0.1, 4), (1.0, 10), (10.0, 4)])
def test_diffprivlib_keeps_the_equal_epsilon(epsilon, d):
    """By privacy loss distributions, for the rows that are worst for either of the two proofs."""
    from dp_accounting.pld import privacy_loss_distribution

    delta = 1e-6
    stated = diffprivlib.equal_epsilon(epsilon, delta, d)
    assert stated > epsilon
    least = stated / diffprivlib.releases(d)
    for x in (np.eye(d)[0], np.full(d, 1 / math.sqrt(d)), np.array([1.0, 1.0, *np.zeros(d - 2)]) / math.sqrt(2)):
        loss = privacy_loss_distribution.identity(value_discretization_interval=1e-4)
        values, counts = np.unique(np.round(scales(x, 1.0) * least, 12), return_counts=True)
        for value, count in zip(values, counts, strict=True):
            if value > 0:
                part = privacy_loss_distribution.from_laplace_mechanism(1 / value, value_discretization_interval=1e-4)
                loss = loss.compose(part.self_compose(int(count)))
        assert loss.get_epsilon_for_delta(delta) <= epsilon * (1 + 1e-3) + 1e-3


def test_the_conversion_covers_the_gaussian():
    """A Gaussian of mu costs mu^2/2; its exact epsilon is below the converted one, and not far."""
    for epsilon in (0.1, 1.0, 10.0):
        mu = math.sqrt(2 * diffprivlib.largest_rho(epsilon, 1e-6))
        assert 0.85 * epsilon < gdp.epsilon(mu=mu, delta=1e-6) <= epsilon


needs_diffprivlib = pytest.mark.skipif(
    not diffprivlib.available(),
    reason="no environment for it: python -m experiments.comparison.peers.diffprivlib --setup",
)


@needs_diffprivlib
def test_diffprivlib_tends_to_least_squares_and_is_seeded():
    X, y = table(n=500)
    coefs, seconds = diffprivlib.fit(X, y, [1e9, 5.0, 5.0, 5.0], [1, 2, 2, 3])
    assert coefs[0] == pytest.approx(np.linalg.lstsq(X, y)[0], abs=1e-4)
    assert np.array_equal(coefs[1], coefs[2])
    assert not np.array_equal(coefs[1], coefs[3])
    assert np.all(seconds > 0)


@needs_diffprivlib
def test_diffprivlib_has_the_scales_that_we_say():
    """Mean absolute noise of its entries, on zeros: 1/l for y'y and the diagonal, 2/l for the rest."""
    code = """
import numpy as np
from diffprivlib.models.linear_regression import _construct_regression_obj as make
X, y, bounds = np.zeros((1, 3)), np.zeros(1), (-np.ones(3), np.ones(3))
found = [make(X, y, bounds, (-np.ones(1), np.ones(1)), 10.0, 0, np.random.RandomState(i))[1] for i in range(1500)]
for k in range(3):
    print(*np.mean([np.abs(f[k]) for f in found], axis=0).ravel())
"""
    done = subprocess.run([str(diffprivlib.python()), "-c", code], check=True, capture_output=True, text=True)
    yy, Xy, XX = ([float(word) for word in text.split()] for text in done.stdout.strip().splitlines())
    scale = diffprivlib.releases(3) / 10
    assert yy == pytest.approx([scale], rel=0.12)
    assert pytest.approx([2 * scale] * 3, rel=0.12) == Xy
    assert pytest.approx(scale * (2 - np.eye(3)).ravel(), rel=0.12) == XX


@pytest.mark.skipif(not opendp_ssp.available(), reason="OpenDP is not installed")
@pytest.mark.parametrize("epsilon", opendp_ssp.SOLD)
def test_scales_that_were_written_down_are_opendps_own(epsilon):
    assert opendp_ssp.sold_scale(epsilon, 1e-6) == pytest.approx(opendp_ssp.SOLD[epsilon], rel=1e-5)
