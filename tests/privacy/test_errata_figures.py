"""Every figure of the errata page, computed without the library: closed forms, quadrature and brute force alone.

Nothing of `discreet` is imported. Each test looks in the section of its erratum for the figures that it found, so
that the page cannot say one thing and the computation another.
"""

import re
from math import asin, cos, e, exp, expm1, log, log1p, pi, sin, sqrt
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr
from scipy.stats import chi2, norm

DELTA = 1e-6
PAGE = (Path(__file__).parents[2] / "docs/research/errata.md").read_text()


def says(erratum, *figures):
    """Whether the section of an erratum has all of these, in this order."""
    (section,) = re.findall(rf"^#+ E{erratum}:.*?(?=^##)", PAGE, flags=re.DOTALL | re.MULTILINE)
    words, at = re.sub(r"\s+", " ", section), 0
    for figure in figures:
        found = re.search(rf"(?<![\w.]){re.escape(figure)}(?![\w]|\.\d)", words[at:])
        assert found, f"E{erratum} does not say {figure} after {words[:at][-60:]!r}"
        at += found.end()


# ---------------------------------------------------------------- curves


def gaussian_delta(mu, epsilon):
    """Of N(mu, 1) against N(0, 1), to 50 digits."""
    with mpmath.workdps(50):
        m, x = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - x / m) - mpmath.exp(x) * mpmath.ncdf(-m / 2 - x / m)


def bisect(keeps, low=0.0, high=1.0):
    """The least number that keeps a promise which larger ones keep."""
    while not keeps(high):
        low, high = high, 2 * high
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def gaussian(mu, delta=DELTA):
    """The epsilon of a release that costs mu."""
    return bisect(lambda epsilon: gaussian_delta(mu, epsilon) <= delta)


def normal_stick(p, q, epsilon):
    """Hockey stick of two normal laws (mean, variance), from where their densities cross."""
    (a, v), (b, w) = p, q
    square, linear = (1 / w - 1 / v) / 2, a / v - b / w
    constant = log(w / v) / 2 - a * a / (2 * v) + b * b / (2 * w) - epsilon
    root = linear**2 - 4 * square * constant
    if root <= 0:
        return 0.0 if square < 0 else float(-mpmath.expm1(epsilon))
    ends = sorted((-linear + sign * sqrt(root)) / (2 * square) for sign in (-1, 1))

    def inside(mean, variance):
        low, high = ((x - mean) / sqrt(variance) for x in ends)
        return ndtr(high) - ndtr(low) if square < 0 else ndtr(low) + ndtr(-high)

    return inside(a, v) - exp(min(epsilon, 700)) * inside(b, w)


def sample_laws(m, r, gamma):
    """x'theta of a posterior sample without a row of leverage m and residual r, and with it, less its first mean."""
    return (0.0, m / gamma), (m * r / (1 + m), m / ((1 + m) * gamma))


def sampling(m, r, gamma, delta=DELTA):
    """The epsilon of posterior sampling for such a row, the worse of both directions."""
    P, Q = sample_laws(m, r, gamma)
    return bisect(lambda x: max(normal_stick(P, Q, x), normal_stick(Q, P, x)) <= delta)


def first_failure(holds, low, high):
    """Where a claim first fails, to a relative 1e-3 of a grid and then by bisection."""
    grid = np.geomspace(low, high, 400)
    i = next(i for i, stated in enumerate(grid) if not holds(stated))
    assert i > 0
    return brentq(lambda x: 0.5 - holds(x), grid[i - 1], grid[i], xtol=1e-6)


def test_the_closed_forms_are_the_integrals():
    """Both curves against quadrature of the definition."""
    for mu, epsilon in ((0.3, 0.2), (1.0, 1.0)):
        found, _ = quad(lambda x: max(norm.pdf(x, mu) - exp(epsilon) * norm.pdf(x), 0), -9, 9, limit=500)  # noqa: B023
        assert found == pytest.approx(float(gaussian_delta(mu, epsilon)), rel=1e-6)
    P, Q = sample_laws(1.0, 1.0, 1.0)
    for (a, v), (b, w) in ((P, Q), (Q, P)):
        x = np.linspace(-12, 12, 2_000_001)
        gap = norm.pdf(x, a, sqrt(v)) - 2 * norm.pdf(x, b, sqrt(w))
        assert np.maximum(gap, 0).sum() * (x[1] - x[0]) == pytest.approx(normal_stick((a, v), (b, w), log(2)), rel=1e-6)


def test_the_two_laws_of_a_posterior_sample_are_those_of_a_table():
    """Three columns, a penalty, one row more: mean and variance of x'theta, by solving the equations."""
    rng = np.random.default_rng(0)
    X, y, x, outcome, gamma = rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=3), 0.7, 2.5
    H, more = X.T @ X + np.eye(3), X.T @ X + np.outer(x, x) + np.eye(3)
    theta, other = np.linalg.solve(H, X.T @ y), np.linalg.solve(more, X.T @ y + outcome * x)
    m, r = x @ np.linalg.solve(H, x), outcome - x @ theta
    (_, v), (b, w) = sample_laws(m, r, gamma)
    assert b == pytest.approx(x @ (other - theta))
    assert (v, w) == pytest.approx((m / gamma, x @ np.linalg.solve(more, x) / gamma))


# ---------------------------------------------------------------- E1 to E8: posterior sampling


def theorem_10(m, r, gamma, delta=DELTA):
    tail = log(2 / delta)
    return abs(-log1p(m) + gamma * m / (1 + m) * r**2) / 2 + m / 2 * tail + sqrt(gamma * m * tail) * abs(r)


def test_e1():
    for m, gamma, r, printed, true in ((1e-3, 1000, 1, "4.315", "4.896"), (1, 1, 1, "11.16", "15.23")):
        assert f"{theorem_10(m, r, gamma):.4g}" == printed
        assert f"{sampling(m, r, gamma):.4g}" == true
        says(1, printed, true)


@pytest.mark.parametrize("name", ["diffuse", "concentrated", "balanced", "conservative"])
def test_e1_appendix_f(name):
    """Epsilon 1, 1000 rows, d = 5, B = Y = 1: a row at the paper's bounds, and the worst row that a table can have."""
    n, d, tail = 1000, 5, log(2 / DELTA)
    least, spread = 1 + tail, d / 2 + sqrt(d * log(20)) + log(20)

    def lipschitz(lambda_):
        return sqrt(n / (2 * lambda_)) + 1

    def claimed(lambda_, gamma):
        scale = lipschitz(lambda_) ** 2 * gamma
        return sqrt(scale * tail / lambda_) + scale / (2 * (lambda_ + 1)) + (1 + tail) / (2 * lambda_)

    bound = {
        "balanced": lambda x: spread * tail * lipschitz(x) ** 2 / x + x,
        "conservative": lambda x: spread * tail / x + x,
    }
    if name == "concentrated":
        gamma, lambda_ = 1.0, brentq(lambda x: claimed(x, 1.0) - 1, least / 2, 1e6)
    else:
        grid = np.geomspace(least, 1e4, 20_001)
        lambda_ = least if name == "diffuse" else float(grid[np.argmin([bound[name](x) for x in grid])])
        gamma = brentq(lambda g: claimed(lambda_, g) - 1, 1e-9, 1e3)
    assert 1.075 < sampling(1 / lambda_, lipschitz(lambda_), gamma) < 1.105
    # x along a direction where X'X has the eigenvalue s: leverage 1/(s + lambda), residual 1 + sqrt(n s)/(s + lambda)
    s = np.concatenate([[0.0], np.geomspace(1e-3, n, 200)])
    worst = max(sampling(1 / (x + lambda_), 1 + sqrt(n * x) / (x + lambda_), gamma) for x in s)
    assert 0.655 <= worst < 0.745
    more = max(sampling(1 / (x + lambda_), 1 + sqrt(n * x) / (x + lambda_), 1.3 * gamma) for x in s)
    assert more < 1
    says(1, "1.08 to 1.10", "0.66 to 0.74", "1.3 times")


def test_e2():
    (a, v), (b, w) = sample_laws(1.0, 1.0, 1.0)
    t = 6.858

    def loss(x):
        return norm.logpdf(x, a, sqrt(v)) - norm.logpdf(x, b, sqrt(w))

    x = np.linspace(-14, 14, 2_000_001)
    tail = norm.pdf(x, b, sqrt(w))[np.abs(loss(x)) > t].sum() * (x[1] - x[0])
    assert tail == pytest.approx(1e-6, rel=2e-3)
    assert f"{normal_stick((a, v), (b, w), t):.1e}" == "1.2e-03"
    m, r, logs = 0.5, 0.5, 2 * log(2 / DELTA)  # in the fit that holds the row; log(2/delta) doubled mends E1
    mended = abs(-log1p(-m) - m / (1 - m) * r**2) / 2 + m / 2 * logs + sqrt(m * logs) * r
    assert f"{mended:.2f}" == "9.38"
    says(2, "6.858", "1e-6", "1.2e-3", "9.38", "15.23")


def test_e5():
    logs = log(6 / DELTA)
    rate = norm.sf(sqrt(logs))
    assert f"{rate:.1e}" == "3.9e-05"
    assert f"{rate / (DELTA / 3):.0f}" == "117"
    spread = 5 + sqrt(10 * log(20)) + log(20)  # d = 10, rho = 0.05
    bar = brentq(lambda x: x * x / (2 * logs) + x - 1 / 4, 0, 1)
    grid = np.geomspace((1 + logs) / 2, 1e4, 200_001)
    h = grid[np.argmin(spread * logs / bar**2 * (1 + 1 / grid) ** (8 * logs) / grid + grid)]
    costs = []
    for inner in ((1 + logs) / logs**2, 1 / logs + (1 + logs) / logs):
        tilde = brentq(lambda x: x * x / 2 * inner + x - 1 / 2, 0, 1)  # noqa: B023
        costs.append(sampling(1 / h, 1.0, h * tilde**2 / logs, DELTA / 3))  # L~ = 1 cancels out of gamma L~^2
    assert [f"{cost:.3f}" for cost in costs] == ["0.604", "0.505"]
    assert f"{(1 + logs) / 2:.1f}" == "8.3"
    flat = bisect(lambda h: max(_flat(1 / h, 0.5), _flat(1 / h, 0.5, back=True)) <= DELTA / 3, 1.0, 2.0)
    assert f"{flat:.1f}" == "19.2"
    says(5, "3.9e-5", "117", "0.604", "0.505", "8.3", "19.2")


def _flat(m, epsilon, *, back=False):
    """The curve as gamma -> 0: the means coincide, the variances do not."""
    P, Q = (0.0, 1.0), (0.0, 1 / (1 + m))
    return normal_stick(Q, P, epsilon) if back else normal_stick(P, Q, epsilon)


def test_e6():
    """kappa d = 1: H >= n in n rows, so |theta| <= 1 and |residual| <= 2, reached by rows (1, 1) and a row (1, -1)."""
    rate = norm.sf(sqrt(log(4 / DELTA)))
    assert f"{rate:.1e}" == "4.8e-05"
    assert f"{rate / (DELTA / 2):.0f}" == "97"
    s, n = np.linspace(0, 1, 1001), 1000
    lambda_ = np.maximum(0, n - n * s)  # X'X = n s, X'y <= n sqrt(s) by Cauchy and Schwarz
    assert (n * np.sqrt(s) / (n * s + lambda_)).max() == pytest.approx(1)
    found = []
    for n in (400, 1000, 10**7):
        gamma = n * min(1 / (16 * log(4 / DELTA)), 1 / 8)
        found.append(f"{sampling(1 / n, 2.0, gamma, DELTA / 2):.3f}")
        H = n + log(4 / DELTA) / 0.5  # where the noise on the eigenvalue is 0
        found.append(f"{sampling(1 / H, 1 + n / H, gamma, DELTA / 2):.3f}")
    assert found[::2] == ["0.560", "0.547", "0.538"]
    assert found[1::2] == ["0.518", "0.530", "0.538"]
    says(6, "4.8e-5", "at most 2", *found[::2], *found[1:4:2])


def test_e7():
    assert f"{0.25 * 0.4 * sqrt(log(1.25 / DELTA)):.3f}" == "0.375"
    assert f"{gaussian(sqrt(0.25) * 0.4):.3f}" == "0.834"
    says(7, "gamma < 2", "0.375", "0.834")


def test_e8():
    logs = log(2 / DELTA)
    for h, printed, true in ((1.0, "0.463", "11.04"), (20.0, "0.0893", "0.490")):
        gamma, r = 0.01, 1.0
        claim = sqrt(gamma * logs / h) * r + gamma * r**2 / (2 * max(h, 1)) + gamma * (1 + logs) / (2 * h)
        assert f"{claim:.3g}" == printed
        assert sampling(1 / h, r, gamma) == pytest.approx(float(true), abs=0.005 if h == 1 else 0.0005)
    m, inside = 10.0, 2.0
    claim = m / 2 * (1 + logs) + 1 / 2 * inside**2 + sqrt(m * logs) * inside  # remark 15, gamma = 1
    true = sampling(m, inside * (1 + m), 1.0)
    assert (f"{claim:.0f}", f"{true:.0f}") == ("104", "661")
    says(8, "residual 1", "0.463", "11.04", "0.0893", "0.490", "residual 2", "22", "104", "661")


# ---------------------------------------------------------------- E3, E4, E15, E16, E17: Gaussian noise


def test_e3():
    def mu(stated):
        return stated / 3 / sqrt(log(6 / DELTA))

    found = first_failure(lambda x: gaussian_delta(mu(x), x / 3) <= DELTA / 3, 0.05, 5)
    assert f"{found:.3f}" == "0.415"
    single = [gaussian(mu(x), DELTA / 3) for x in (0.1, 1, 10)]
    whole = [gaussian(sqrt(3) * mu(x)) for x in (0.1, 1, 10)]
    assert single[0] < 0.1 / 3
    assert [f"{x:.3g}" for x in single[1:]] == ["0.352", "4.22"]
    assert [f"{whole[0]:.3f}", f"{whole[1]:.3f}", f"{whole[2]:.2f}"] == ["0.051", "0.596", "7.57"]
    says(3, "0.415", "below it", "0.051", "0.352", "0.596", "4.22", "7.57")


def test_e4():
    code = [gaussian(sqrt(2) * x / sqrt(log(4 / DELTA))) for x in (1, 10)]
    text = gaussian(sqrt(2) / (2 * sqrt(log(4 / DELTA))))
    assert [f"{code[0]:.3f}", f"{code[1]:.1f}", f"{text:.3f}"] == ["1.587", "23.2", "0.751"]
    says(4, "1.587", "0.751", "23.2")


def test_e15():
    for delta, expected in ((1e-6, "9.73"), (1e-3, "8.51")):
        factor = sqrt(2 * log(2 / delta))
        found = first_failure(lambda x: gaussian_delta(x / factor, x) <= delta, 0.05, 50)  # noqa: B023
        assert f"{found:.2f}" == expected
    says(15, "9.73", "8.51")


L = sqrt(2 * log(2.5 / DELTA))
"""The printed noise of [N] is 2 L B^2/epsilon on X'X and 2 L sqrt(l) B Y/epsilon on X'Y."""


def largest(weight):
    """The most that X'X and `weight` times X'Y cost together, one outcome, by climbing over pairs of rows."""
    upper, rng = np.triu_indices(3), np.random.default_rng(0)

    def cost(points):
        z, w, y, u = points[..., :3], points[..., 3:6], points[..., 6], points[..., 7]
        z, w = (x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1) for x in (z, w))
        y, u = np.clip(y, -1, 1), np.clip(u, -1, 1)
        gram = (z[..., :, None] * z[..., None, :] - w[..., :, None] * w[..., None, :])[..., *upper]
        cross = z * y[..., None] - w * u[..., None]
        return (gram**2).sum(-1) + weight * (cross**2).sum(-1)

    points = rng.normal(size=(400, 8))
    best = cost(points)
    for step in np.geomspace(1, 1e-5, 400):
        tried = points + step * rng.normal(size=points.shape)
        found = cost(tried)
        points, best = np.where((found > best)[:, None], tried, points), np.maximum(found, best)
    return best.max()


def test_e16():
    """X'X alone 2 and X'Y alone 4, together 4.5 and not 6; where it is reached, 60 degrees lie between the rows."""
    assert largest(0) == pytest.approx(2, rel=1e-4)
    assert largest(1e6) / 1e6 == pytest.approx(4, rel=1e-4)
    assert largest(1) == pytest.approx(4.5, rel=1e-4)
    assert largest(1) < 4.5 * (1 + 1e-12)
    inside = gaussian(1 / sqrt(2 * log(1.25 / DELTA) / 0.5))
    step = gaussian(sqrt(2) / (2 * L), DELTA / 2)
    whole = [gaussian(sqrt(4.5) * stated / (2 * L)) for stated in (1, 2)]
    fails = first_failure(lambda x: gaussian_delta(sqrt(4.5) * x / (2 * L), x) <= DELTA, 0.1, 20)
    found = [f"{x:.3f}" for x in (inside, step, *whole)]
    assert found == ["0.540", "0.547", "0.814", "1.721"]
    assert f"{fails:.2f}" == "6.95"
    says(16, *found, "6.95", "4.5")


def sampled_delta(q, mu, epsilon):
    """Of (1 - q) N(0, 1) + q N(mu, 1) against N(0, 1), where the loss exceeds epsilon >= 0."""
    x = (log1p(expm1(epsilon) / q) if epsilon < 30 else epsilon - log(q)) / mu + mu / 2
    with mpmath.workdps(50):
        q, mu, x, factor = map(mpmath.mpf, (q, mu, x, epsilon))
        return q * mpmath.ncdf(mu - x) + (1 - q - mpmath.exp(factor)) * mpmath.ncdf(-x)


def test_e17():
    for ratio, bound, noise, printed in ((10, "2.76", "3.88", "46.9"), (50, "21.1", "42.9", "13,913")):
        q, first = 1 / ratio, ratio / 2
        assert f"{log1p(q * expm1(first)):.3g}" == bound
        p = 1 / (1 + exp(-first))  # randomised response on a sample of one row reaches it
        assert log((q * p + (1 - q) * (1 - p)) / (1 - p)) == pytest.approx(log1p(q * expm1(first)))
        own = bisect(lambda x: sampled_delta(q, sqrt(2) * first / L, x) <= DELTA / 2)  # noqa: B023
        assert f"{own:.4g}".startswith(noise)
        line_3 = bisect(lambda x: sampled_delta(q, sqrt(2) / (4 * q * q * L), x) <= DELTA / 2)  # noqa: B023
        assert f"{line_3:,.0f}" == printed or f"{line_3:.3g}" == printed
        says(17, str(ratio), "0.5", bound, noise, printed)


def test_e17_half_of_the_rows():
    """X'X of half of the rows and X'Y of all, as printed: a table that costs 0.878, and a proof of at most 0.925.

    P and P' are (1 - q) N(s v v') + q N((s - 1) v v' + z z') and the same with w, all other rows being v; beside it
    X'Y moves by |z - w| sqrt(l)/(2 L sqrt(l)), for the outcomes stay.
    """
    q, upper = 0.5, np.triu_indices(2)
    grid = np.linspace(-9, 9, 361)
    x1, x2 = np.meshgrid(grid, grid)
    z, w, v = (np.array([cos(t), sin(t)]) for t in (pi - asin(0.99127), -asin(0.18093), 0.0))
    assert z @ w < 0  # outcomes are the same where the angle is obtuse, so that X'Y moves by (z - w) y'
    A, B = ((np.outer(x, x) - np.outer(v, v))[upper] / (4 * q * q * L) for x in (z, w))
    a = np.array([np.linalg.norm(A), 0.0])
    b = np.array([A @ B / a[0], sqrt(B @ B - (A @ B / a[0]) ** 2)])
    p, other = (1 - q + q * np.exp(x[0] * x1 + x[1] * x2 - x @ x / 2) for x in (a, b))
    density = np.exp(-(x1**2 + x2**2) / 2) / (2 * pi) * p * (grid[1] - grid[0]) ** 2
    mu = np.linalg.norm(z - w) / (2 * L)

    def delta(epsilon):
        t = epsilon - np.log(p / other)
        return float((density * (ndtr(mu / 2 - t / mu) - np.exp(t) * ndtr(-mu / 2 - t / mu))).sum())

    assert delta(0.878) > DELTA > delta(0.879)
    overlaps = 1 - np.linspace(1, 0, 21) ** 2  # X'X costs less and X'Y more as they grow: the worst ends of each cell
    assert 0.92 < max(map(_half_bound, overlaps[:-1], overlaps[1:])) < 0.925
    says(17, "0.878", "0.925")


def _half_bound(low, high):
    """Epsilon of the bound of 9.3 for |z.w| from low to high: (1 - b) D(z, any v) + b D(z, w), beside X'Y."""
    q = 0.5
    pairs = [sqrt(2 * (1 - x * x)) / (4 * q * q * L) for x in (0.0, low)]
    mu = sqrt(2 * (1 + high)) / (2 * L)
    z = np.linspace(-9, 9, 4001)
    masses, losses = norm.pdf(z) * (z[1] - z[0]), mu * mu / 2 + mu * z

    def curve(m, t):
        return np.maximum(ndtr(m / 2 - t / m) - np.exp(t) * ndtr(-m / 2 - t / m), 0) if m > 0 else 0 * t

    def one(epsilon):
        size = np.abs(epsilon)
        a = 1 + np.expm1(size) / q
        share = np.exp(size) / a
        found = q * ((1 - share) * curve(pairs[0], np.log(a)) + share * curve(pairs[1], np.log(a)))
        return np.where(epsilon < 0, -np.expm1(np.minimum(epsilon, 0)) + np.exp(np.minimum(epsilon, 0)) * found, found)

    return bisect(lambda epsilon: (masses * one(epsilon - losses)).sum() <= DELTA)


# ---------------------------------------------------------------- E10 to E13: objective perturbation

SD = sqrt(2 * (0.5 - log(1e-4))) * 2 / 0.5
"""Of eq. (4) of [L]: epsilon 1, half of it for the noise, delta 1e-4, gradient bound 2."""


def test_e10():
    """The lasso's weights: 2 Lambda = 10 is subtracted from |b|, and theta is the rest over X'X; Lambda = 5."""
    p, q = (norm.cdf((10 + xx) / SD) - norm.cdf(10 / SD) for xx in (1e-4, 1.0001))
    assert [f"{p:.1e}", f"{q:.4f}"] == ["1.9e-06", "0.0190"]

    def after_80(b, xx):
        theta = b / (xx + 2)  # Lambda_0 = 1
        for _ in range(79):
            theta = b / (xx + 2 * max(5 / theta, 1.0))
        return theta

    found = []
    for xx in (1e-4, 1.0001):
        low, high = (brentq(lambda b: after_80(b, xx) - x, 5, 30, xtol=1e-12) for x in (0.26, 1.0))  # noqa: B023
        found.append(2 * (norm.cdf(high / SD) - norm.cdf(low / SD)))
    assert [f"{x:.4f}" for x in found] == ["0.0064", "0.0297"]
    says(10, "1.9e-6", "0.0190", "0.0064", "0.0297")


def test_e11():
    """b > 0 and theta > 0: theta = (X'y - b - 2 Lambda)/X'X at the fixed point, so b = 0 is the largest theta."""
    with_row, without = (999 - 10) / 1001, (1000 - 10) / 1000
    b = 1000 * (without - with_row)
    assert f"{2 * norm.cdf(b / SD) - 1:.3f}" == "0.090"
    says(11, "0.090")


def test_e12():
    """The minimiser of (theta - y)^2/2 + (Lambda + b) |theta| + theta^2 for y = 0+: positive where b < -Lambda."""
    found = [f"{norm.cdf(-Lambda / SD):.2f}" for Lambda in (5, 0)]
    assert found == ["0.39", "0.50"]
    assert f"{2 * norm.cdf(1 / SD) - 1:.3f}" == "0.045"
    says(12, *found, "0.045")


def test_e13():
    """All weights at Lambda_0: V = 2 Lambda_0/(n_e l''), so 1 - Lambda_0/(n_e l'' V) is a half."""
    Lambda, n_e, curvature = 1.7, 10_000, 0.25
    assert 1 - Lambda / (n_e * curvature * (2 * Lambda / (n_e * curvature))) == pytest.approx(0.5)
    says(13, "half of")


# ---------------------------------------------------------------- E20 to E34: formulas and bounds on accuracy


def test_e20():
    d = 0.01
    first, last = (0.0, 1.0), (e * d, 1 - e * d)  # (0, d) leads to (d, 1 - d), which (1, 0) leads to the last
    assert last[0] - e * first[0] == pytest.approx(2.72 * d, rel=1e-3)
    p = 0.1  # of a in the training population; theta = 1 has probability 1/2 + d after a, 1/2 - d after b
    assert (0.5 + d) - (p * (0.5 + d) + (1 - p) * (0.5 - d)) == pytest.approx(1.8 * d)
    says(20, "2.72 d", "1.8 d")


def test_e21():
    """A = theta theta' for theta = (1, ..., 1)/sqrt(d): one normal of variance 2 - 1/d against log(2 d^2/rho)."""
    found = [f"{2 * norm.sf(sqrt(log(2 * d * d / 1e-3) / (2 - 1 / d))):.2g}" for d in (1, 10)]
    assert found == ["0.0058", "0.011"]
    says(21, *found)


def test_e23():
    assert f"{2 * 10 * log(1 / 0.9):.1f}" == "2.1"
    assert f"{chi2.isf(0.9, 10):.1f}" == "4.9"
    says(23, "2.1", "4.9")


def test_e24():
    small = 300**-1.1
    found = [small / (4 * sqrt(pi * log(2 / small) / log(base))) for base in (e, 2)]
    assert [f"{x:.1e}" for x in found] == ["1.0e-04", "8.4e-05"]
    says(24, "0.000084", "1.0e-4")


def test_e28():
    assert 100**2 == 10_000  # d^2 T^2/(alpha n epsilon^2), as T falls by 100
    says(28, "100 times", "10,000")


def test_e29():
    """d = 10, lambda_min = 0: lambda is sqrt(d log(2 d^2/rho)) sds, half of it against the norm of the noise."""
    d, rho = 10, 0.05
    half = sqrt(d * log(2 * d * d / rho)) / 2
    upper = np.triu(np.random.default_rng(0).normal(size=(4000, d, d)))
    printed = upper + np.triu(upper, 1).transpose(0, 2, 1)
    ours = printed / sqrt(2) + (1 - 1 / sqrt(2)) * printed * np.eye(d)
    broken = [np.mean(np.abs(np.linalg.eigvalsh(N)).max(axis=1) > half) for N in (printed, ours)]
    assert broken == pytest.approx([0.93, 0.2], abs=0.02)
    says(29, "93 %", "20 %")


def test_e31():
    assert f"{5 * 20 * log(1 / 0.9):.1f}" == "10.5"
    assert f"{chi2.isf(0.9, 20):.1f}" == "12.4"
    says(31, "10.5", "12.4")


def test_e34():
    """l = (t - 1/2)^2/2, R = |t|, R_t = t^2."""
    t = minimize_scalar(lambda t: (t - 0.5) ** 2 / 2 + t * t).x
    excess = (t - 0.5) ** 2 / 2 + abs(t) - min((x - 0.5) ** 2 / 2 + abs(x) for x in np.linspace(-1, 1, 20_001))
    assert f"{excess:.3f}" == "0.097"
    says(34, "0.097")
