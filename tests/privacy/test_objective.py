"""Objective perturbation: the exact divergence of neighbours, by change of variables and quadrature, against its bound.

theta is the minimiser, so b = -G(theta) with G the gradient of everything else, and the density of theta is that of b
at -G(theta) times det dG/dtheta. In one and two dimensions both are known functions; the hockey-stick divergence of two
tables is an integral of them, and no bound from the library enters it.
"""

import itertools
import math

import numpy as np
import pytest

from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent, _least_scale
from discreet.privacy import accounting, gdp
from discreet.privacy.events.kinds import event_from_dict
from discreet.privacy.laws import Point, Tail, together
from discreet.privacy.losses import Logistic, Poisson, QuadraticHinge, SmoothHinge, Squared

LOSSES = [Logistic(), SmoothHinge(0.3), Poisson(3.0), Squared(1.0), Squared(2.0), QuadraticHinge()]
RELATIONS = ["add-remove", "replace-one"]
NEGLIGIBLE = 1e-9


def outcomes(loss):
    """The outcomes at which slopes are extreme."""
    return {"Poisson": (0.0, 3.0), "squared": (-1.0, 1.0)}.get(loss.name, (0.0, 1.0))


def gradient(loss, rows, modulus, theta):
    """G and the determinant of its derivative, at points theta of shape (n, d), d = 1 or 2."""
    G = list(modulus * theta.T)
    pairs = [(i, j) for i in range(len(G)) for j in range(i, len(G))]
    H = {(i, j): np.full(len(theta), modulus * (i == j)) for i, j in pairs}
    for x, y, times in rows:
        _, slope, curvature = loss.parts(theta @ x, np.full(len(theta), y))
        for i, g in enumerate(G):
            g += times * x[i] * slope
        for i, j in pairs:
            H[i, j] += times * x[i] * x[j] * curvature
    return np.stack(G, axis=1), H[0, 0] if len(G) == 1 else H[0, 0] * H[1, 1] - H[0, 1] ** 2


def density(loss, rows, modulus, scale, noise, theta):
    """The density of the minimiser."""
    d = theta.shape[1]
    G, volume = gradient(loss, rows, modulus, theta)
    size = np.linalg.norm(G, axis=1) / scale
    if noise == "gaussian":
        return volume * np.exp(-(size**2) / 2) / (math.sqrt(2 * math.pi) * scale) ** d
    return volume * np.exp(-size) / scale**d / {1: 2.0, 2: 2 * math.pi}[d]


def grid(axes):
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def densities(loss, tables, modulus, scale, noise, points):
    """Densities of the minimisers of two tables on one grid that covers both, and the volume of a cell."""
    d = len(tables[0][0][0])
    pulled = max(sum(times * loss.slope * np.linalg.norm(x) for x, _, times in rows) for rows in tables)
    reach = (8 * scale * (1 if noise == "gaussian" else 3) + pulled) / modulus
    coarse = grid([np.linspace(-reach, reach, 401 if d == 1 else 161)] * d)
    found = sum(density(loss, rows, modulus, scale, noise, coarse) for rows in tables)
    inside, margin = coarse[found > 1e-14 * found.max()], 2 * reach / (400 if d == 1 else 160)
    axes = [np.linspace(a - margin, b + margin, points) for a, b in zip(inside.min(0), inside.max(0), strict=True)]
    cell = math.prod(axis[1] - axis[0] for axis in axes)
    return [density(loss, rows, modulus, scale, noise, grid(axes)) for rows in tables], cell


def divergences(loss, tables, modulus, scale, epsilons, points):
    """The larger of the two hockey-stick divergences, at each epsilon, less what the quadrature may have added."""
    (p, q), cell = densities(loss, tables, modulus, scale, "gaussian", points)
    error = max(abs(cell * p.sum() - 1), abs(cell * q.sum() - 1))
    assert error < (2e-3 if len(tables[0][0][0]) == 1 else 0.01)
    both = [[cell * np.maximum(a - math.exp(e) * b, 0).sum() for e in epsilons] for a, b in ((p, q), (q, p))]
    return np.max(both, axis=0) - error


def event(loss, modulus, scale, relation, norm=1.0, noise="gaussian"):
    """Without a tolerance to speak of: what is tested is the exact minimiser."""
    return ObjectiveEvent(loss, ("x",), norm, modulus, scale, 1e-30, 1.0, relation, noise)


def others(loss, d):
    """What else may be in the table: nothing, or rows that pull the minimiser to where one more row weighs most."""
    low, high = outcomes(loss)
    one = np.eye(d)[0]
    yield []
    for x, y, times in itertools.product((one, -one), (low, high), (1, 4)):
        yield [(x, y, times)]
    if d == 1:
        yield [(0.2 * one, low, 40), (one, high, 1)]


def pairs(loss, relation, d):
    """Adversarial neighbours: rows of the largest norm in several directions, and extreme outcomes."""
    angles = {1: (0.0, math.pi), 2: (0.0, 2.2, math.pi)}[d]
    directions = [np.array([math.cos(a), math.sin(a)][:d]) for a in angles]
    for rest in others(loss, d):
        for y in outcomes(loss):
            new = [(directions[0], y, 1)]
            if relation == "add-remove":
                yield rest or [(np.zeros(d), y, 1)], rest + new
                continue
            for x, t in itertools.product(directions, outcomes(loss)):
                yield rest + new, [*rest, (x, t, 1)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_one_dimension(loss, relation):
    epsilons = np.array([0.0, 0.3, 0.7, 1.0, 2.0])
    worst = 0.0
    for modulus, ratio in ((0.4, 2.0), (1.5, 3.0), (8.0, 0.8)):
        scale = ratio * loss.slope
        bound = np.array([accounting.delta([event(loss, modulus, scale, relation)], e) for e in epsilons])
        for tables in pairs(loss, relation, 1):
            exact = divergences(loss, tables, modulus, scale, epsilons, 40_001)
            assert np.all(exact <= bound + NEGLIGIBLE)
            worst = max(worst, (exact / bound)[1:][bound[1:] > 1e-6].max())
    assert worst > 0.2, "the bound is far from what neighbours can do: the search is too tame"


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES[:1] + LOSSES[2:4], ids=repr)
def test_two_dimensions(loss, relation):
    epsilons = np.array([0.3, 1.0])
    points, step = (401, 3) if loss.bell else (801, 7)  # the density jumps at the kinks of the others
    for times, ratio in ((1.0, 2.0), (4.0, 1.0)):
        modulus = times * max(loss.curvature, 1.0)
        scale = ratio * loss.slope
        bound = np.array([accounting.delta([event(loss, modulus, scale, relation)], e) for e in epsilons])
        for tables in list(pairs(loss, relation, 2))[::step]:
            assert np.all(divergences(loss, tables, modulus, scale, epsilons, points) <= bound + NEGLIGIBLE)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("loss", LOSSES[:4], ids=repr)
def test_spherical_laplace_noise_is_pure(loss, d, relation):
    modulus, scale = 0.9, 1.7 * loss.slope
    law = event(loss, modulus, scale, relation, noise="laplace").law
    assert isinstance(law, Point)
    assert law.failure == 0
    largest = 0.0
    for tables in list(pairs(loss, relation, d))[:: 1 if d == 1 else 4]:
        (p, q), _ = densities(loss, tables, modulus, scale, "laplace", 4001 if d == 1 else 201)
        largest = max(largest, float(np.abs(np.log(p) - np.log(q)).max()))
    assert largest <= law.epsilon + 1e-9
    assert d == 2 or relation == "replace-one" or largest > 0.6 * law.epsilon


def test_replace_one_with_the_formula_of_add_remove_is_false():
    """At the same L the exact divergence is 0.0309 where the formula for add-remove neighbours says 7.2e-4.

    sigma = 3 L, epsilon = 1, lambda = 18.3 b: near 0 the hinge pulls with its full slope for either label, so another
    label moves the gradient by 2 L.
    """
    modulus, scale, epsilon = 100.0, 3.0, 1.0
    loss = SmoothHinge(0.25 * 18.3 / modulus)
    e1 = epsilon - abs(math.log(1 - loss.curvature / modulus))
    printed = 2 * gdp.delta(mu=1 / scale, epsilon=e1)
    x = np.ones(1)
    (exact,) = divergences(loss, ([(x, 0.0, 1)], [(x, 1.0, 1)]), modulus, scale, [epsilon], 40_001)
    assert printed == pytest.approx(7.2e-4, rel=0.01)
    assert exact == pytest.approx(0.0309, abs=5e-5)
    assert accounting.delta([event(loss, modulus, scale, "add-remove")], epsilon) < 1e-3
    assert exact <= accounting.delta([event(loss, modulus, scale, "replace-one")], epsilon) < 1.3 * exact


@pytest.mark.parametrize("loss", [Logistic(), SmoothHinge(0.5)], ids=repr)
def test_no_jacobian_is_paid_where_the_curvature_vanishes_at_the_largest_slope(loss):
    """7.3: with lambda >= 4b/(epsilon + mu^2/2) the curve is that of the Gaussian mechanism."""
    epsilon, scale = 1.0, 2.0
    modulus = 4 * loss.curvature / (epsilon + 1 / (2 * scale**2))
    bound = accounting.delta([event(loss, modulus * 1.0001, scale, "add-remove")], epsilon)
    gaussian = gdp.delta(mu=1 / scale, epsilon=epsilon)
    assert gaussian <= bound <= 1.005 * gaussian
    assert accounting.delta([event(loss, modulus * 0.8, scale, "add-remove")], epsilon) > 1.01 * bound


def test_two_signs_cost_no_factor_where_slopes_of_one_row_span_no_more_than_the_largest():
    """7.2: Poisson slopes of one row lie in [-y, Y - y], so the two sides share L; squared ones with limit 2 do not."""
    poisson = event(Poisson(1.0), 1e12, 4.0, "add-remove")
    signed = event(Logistic(), 1e12, 4.0, "add-remove")
    assert accounting.delta([poisson], 1.0) == pytest.approx(accounting.delta([signed], 1.0), rel=1e-6)
    squared = event(Squared(3.0), 1e12, 16.0, "add-remove")
    both = gdp.delta(mu=4 / 16, epsilon=1.0) + gdp.delta(mu=2 / 16, epsilon=1.0)
    assert accounting.delta([squared], 1.0) == pytest.approx(both, rel=0.01)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_tails_hold_for_every_interval_of_slopes(loss, relation):
    """An adversary who sees Z and chooses slopes within the interval of one row, or of two, exceeds no tail (J = 0)."""
    m = np.linspace(0.05, 3, 60)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100_000, 2))
    for scale in (0.7 * loss.slope, 2.5 * loss.slope):
        bound = event(loss, 1e12, scale, relation).law.probability(m)
        for share in (0.0, 0.3, 0.5) if not loss.one_signed else (0.0,):
            low = max(share * loss.span, loss.span - loss.slope) / scale
            slopes = np.array([-low, loss.span / scale - low])
            for angle in (0.0, 1.0, math.pi):
                e = np.array([math.cos(angle), math.sin(angle)])
                if relation == "add-remove":
                    corners = slopes[:, None] * [[1.0, 0.0]]
                else:
                    corners = np.array([[a, 0.0] - b * e for a in slopes for b in slopes])
                worst = (Z @ corners.T + (corners**2).sum(axis=1) / 2).max(axis=1)
                exceeded = (np.maximum(worst, 0)[:, None] > m).mean(axis=0)
                assert np.all(exceeded <= bound + 4 * np.sqrt(bound / len(Z)) + 1e-4)


# -------------------------------------------------------------------- laws and their composition


def test_the_integral_of_a_tail_is_the_gaussian_curve():
    for mu, epsilon in ((0.2, 0.5), (0.5, 1.0), (1.5, 3.0)):
        tail = Tail(lambda m, mu=mu: np.array([float(gdp_tail(mu, v)) for v in m]))
        exact = gdp.delta(mu=mu, epsilon=epsilon)
        assert exact <= tail.delta(epsilon) <= 1.002 * exact


def gdp_tail(mu, m):
    return math.erfc((m / mu - mu / 2) / math.sqrt(2)) / 2


def test_a_point_and_a_gaussian_part_compose_as_the_formula_says():
    """ALGORITHMS 1: delta = delta_o + (1 - delta_o)(p dG(eps - eps_o) + (1 - p) dG(eps + eps_o))."""
    for e0, d0, mu, e in ((0.5, 1e-7, 0.15, 1.0), (0.2, 0.0, 0.3, 1.2), (1.0, 1e-3, 0.5, 0.7)):
        p = 1 / (1 + math.exp(-e0))
        exact = d0 + (1 - d0) * (p * gdp.delta(mu=mu, epsilon=e - e0) + (1 - p) * gdp.delta(mu=mu, epsilon=e + e0))
        assert exact <= together([Point(e0, d0)], mu)(e) <= 1.01 * exact + 1e-12


def test_points_compose_as_randomised_response():
    """Two pure stages: the optimal composition of Kairouz, Oh and Viswanath, by enumeration."""
    e1, e2, e = 0.4, 0.9, 0.8
    p1, p2 = 1 / (1 + math.exp(-e1)), 1 / (1 + math.exp(-e2))
    exact = 0.0
    for s1, s2 in itertools.product((1, -1), repeat=2):
        mass = (p1 if s1 > 0 else 1 - p1) * (p2 if s2 > 0 else 1 - p2)
        exact += mass * max(0.0, -math.expm1(e - s1 * e1 - s2 * e2))
    assert exact <= together([Point(e1), Point(e2)], 0.0)(e) <= exact + 1e-3
    assert Point(e1).delta(-5.0) == pytest.approx(1 - math.exp(-5), rel=1e-6)
    assert Point(e1).delta(e1) == 0


def test_an_adversary_with_four_stages_is_covered():
    """Losses of several stages, simulated, stay below the composed curve."""
    loss, relation = Logistic(), "add-remove"
    events = [event(loss, 2.0, 3.0, relation)] * 3
    rng = np.random.default_rng(0)
    mu = 1 / 3.0
    Z = rng.standard_normal((400_000, 3))
    total = np.maximum(mu * Z + mu**2 / 2, 0).sum(axis=1)
    for e in (0.5, 1.0, 1.5):
        simulated = np.maximum(1 - np.exp(e - total), 0).mean()
        assert 0.9 * simulated <= accounting.delta(events, e)


def test_epsilon_inverts_delta_on_the_safe_side():
    events = [event(Poisson(2.0), 30.0, 20.0, "replace-one")] * 2
    for delta in (1e-3, 1e-6, 1e-9):
        e = accounting.epsilon(events, delta)
        assert accounting.delta(events, e) <= delta < accounting.delta(events, 0.999 * e)
    pure = [event(Logistic(), 1.0, 9.0, "add-remove", noise="laplace")] * 3
    assert accounting.epsilon(pure, 0.0) == pytest.approx(3 * pure[0].law.epsilon)
    assert accounting.epsilon(events, 0.0) == math.inf


def test_the_least_scale_keeps_the_promise_and_no_less_does():
    def holds(scale):
        return accounting.delta([event(SmoothHinge(0.2), 40.0, scale, "replace-one")], 1.0) <= 1e-6

    scale = _least_scale(holds, 1.0)
    assert holds(scale)
    assert not holds(scale * (1 - 1e-5))
    assert _least_scale(lambda s: False, 1.0) is None


# -------------------------------------------------------------------- files and slopes


def test_events_are_read_back():
    for noise, declared in (("gaussian", None), ("laplace", None), ("gaussian", (0.5, 1e-7))):
        one = ObjectiveEvent(Poisson(4.0), ("a", "b"), 1.4, 2.0, 30.0, 1e-6, 1e-4, "replace-one", noise, declared)
        assert event_from_dict(one.to_dict()) == one


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_slopes_and_curvatures_are_those_of_the_value_and_within_their_bounds(loss):
    eta = np.linspace(-9, 9, 3001)
    for y in np.linspace(*outcomes(loss), 5):
        if y not in outcomes(loss) and loss.one_signed:
            continue
        value, slope, curvature = loss.parts(eta, np.full_like(eta, y))
        np.testing.assert_allclose(np.gradient(value, eta)[1:-1], slope[1:-1], atol=0.02 * loss.slope)
        assert np.all(np.diff(slope) >= -1e-12)
        assert np.abs(slope).max() <= loss.slope
        assert np.ptp(slope) <= loss.span + 1e-12
        assert curvature.max() <= loss.curvature
        if loss.one_signed:
            assert np.all(slope <= 0) or np.all(slope >= 0)
        if loss.bell:
            s = np.abs(slope) / loss.slope
            assert np.all(curvature <= 4 * loss.curvature * s * (1 - s) + 1e-12)
