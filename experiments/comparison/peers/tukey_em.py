r"""TukeyEM (Amin, Joseph, Ribero, Vassilvitskii, "Easy differentially private linear regression", 2023).

Every row goes to one of m parts at random, so one row, added, removed or replaced, changes one of m least-squares
models. The approximate depth of a point is the least number, over coordinates and both sides, of models on that side;
the points of depth i or more form a box of volume V_i, and a changed model changes depths by 1 at most. The
exponential mechanism draws a point of depth t = m/4 or more, with weight e^(e_1 depth/2), after a test that its support
hardly matters. No bounds are needed; the test fails where the models are few or scattered.

**Accounting** (ours; the paper's constants are larger). The test's distance H is the largest k with

    log V_{t-k-1} - log V_{t+k+g+1} - e_1 (g+1)/2 <= log eta,    eta = delta/(1 + e^e_1),

for some g >= 1, and -1 without one. Changing a model moves H by 1 at most, because A_{i+1}(F) lies in A_i(F') for
neighbours F, F'. If H(F) >= 0 and Z is the weight of depths t or more, the shells of depth t and t-1 weigh p Z and q Z
with p + q <= eta. So the densities' ratio is at most e^e_1 (1 + q) on A_{t+1}(F), which has all but p of F's mass, and
in the other direction at most e^e_1/(1 - p) on A_t(F), all but e^e_1 q/(1 - p) of the mass of F' lying there. Both give
(e_1, eta (1 + e^e_1)) = (e_1, delta). The test passes where H + Lap(1/e_2) > log(1/(2 delta))/e_2 - 1. Two neighbours
that are not close have H = -1 both, and pass with probability delta at most; two that are close cost e_2 for the test
and (e_1, delta) for the draw. The whole is (e_1 + e_2, delta)-private under add-remove and under replace-one; here
e_1 = e_2 = epsilon/2, as in the paper.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

USUAL_MODELS = 1000
"""The paper's number of models."""


def fit(X: Floats, y: Floats, epsilon: float, delta: float, rng: np.random.Generator) -> Floats | None:
    """Coefficients, or None where the test fails."""
    n, d = X.shape
    models = part_models(X, y, number_of_models(n, d, epsilon, delta), rng)
    return draw(models, epsilon / 2, epsilon / 2, delta, rng)


def number_of_models(n: int, d: int, epsilon: float, delta: float) -> int:
    """The paper's 1000, or the fewest that could pass if depths halved every side; at least d rows for each."""
    draw = epsilon / 2
    steps = math.log(1 / (2 * delta)) / draw + 2 / draw * (math.log((1 + math.exp(draw)) / delta) + d * math.log(2))
    return max(1, min(n // d, max(USUAL_MODELS, math.ceil(4 * steps))))


def part_models(X: Floats, y: Floats, m: int, rng: np.random.Generator) -> Floats:
    """Least-squares coefficients of m random parts of the rows, one a row; each row's part is its own draw."""
    part = rng.integers(m, size=len(y))
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(m + 1))
    return np.array([np.linalg.lstsq(X[order[a:b]], y[order[a:b]])[0] for a, b in itertools.pairwise(ends)])


def depth(point: Floats, models: Floats) -> int:
    """The approximate Tukey depth of a point: the least count of models on either side, over coordinates."""
    below, above = (models <= point).sum(axis=0), (models >= point).sum(axis=0)
    return int(np.minimum(below, above).min())


def boxes(models: Floats) -> tuple[Floats, Floats]:
    """Lower and upper corners of the boxes of depth 1, 2, ..., m // 2 or more, one a row."""
    ordered, deepest = np.sort(models, axis=0), len(models) // 2
    return ordered[:deepest], ordered[::-1][:deepest]


def log_volumes(models: Floats) -> Floats:
    """Log V_1, ..., log V_{m // 2}; minus infinity for a flat box."""
    low, high = boxes(models)
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(high - low).sum(axis=1)
    return logs


def distance(logs: Floats, t: int, epsilon: float, delta: float) -> int:
    """H: how many models can change while the draw at epsilon stays close to its neighbours'; -1 where it is not."""
    log_eta = math.log(delta) - math.log1p(math.exp(epsilon))
    found = -1
    for k in range(max(0, t - 1)):
        g = np.arange(1, len(logs) - t - k)
        inner = logs[t + k + g]  # logs[i - 1] is log V_i
        kept = np.isfinite(inner)
        if not np.any(logs[t - k - 2] - inner[kept] - epsilon * (g[kept] + 1) / 2 <= log_eta):
            break
        found = k
    return found


def threshold(epsilon: float, delta: float) -> float:
    """What H = -1 with Laplace noise of scale 1/epsilon exceeds with probability delta."""
    return math.log(1 / (2 * delta)) / epsilon - 1


def draw(models: Floats, test: float, epsilon: float, delta: float, rng: np.random.Generator) -> Floats | None:
    """A deep point, with a test at pure `test` and a draw at (epsilon, delta); None where the test fails."""
    logs, t = log_volumes(models), max(1, len(models) // 4)
    noisy = distance(logs, t, epsilon, delta) + rng.laplace(scale=1 / test)
    if len(logs) <= t or not noisy > threshold(test, delta):
        return None
    return _point(models, _depth(logs, t, epsilon, rng), rng)


def _depth(logs: Floats, t: int, epsilon: float, rng: np.random.Generator) -> int:
    """A depth from t on, in proportion to the volume of exactly that depth times e^(epsilon depth/2)."""
    outer, inner = logs[t - 1 :], np.append(logs[t:], -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        shell = outer + np.log(-np.expm1(np.minimum(inner - outer, 0.0)))
    weight = np.where(np.isnan(shell), -np.inf, shell) + epsilon * np.arange(t, len(logs) + 1) / 2
    return t + int(np.argmax(weight + rng.gumbel(size=len(weight))))


def _point(models: Floats, i: int, rng: np.random.Generator) -> Floats:
    """A uniform point of depth i exactly: in the box of depth i, outside that of depth i + 1 if there is one.

    The shell is cut into d pieces by the first coordinate that lies outside the inner box.
    """
    low, high = boxes(models)
    point: Floats = rng.uniform(low[i - 1], high[i - 1])
    if i == len(low):
        return point
    with np.errstate(divide="ignore"):
        outer, inner = np.log(high[i - 1] - low[i - 1]), np.log(high[i] - low[i])
        rim = np.log((high[i - 1] - high[i]) + (low[i] - low[i - 1]))
    before, after = np.append(0.0, np.cumsum(inner)[:-1]), np.append(np.cumsum(outer[::-1])[::-1][1:], 0.0)
    j = int(np.argmax(before + rim + after + rng.gumbel(size=len(rim))))
    point[:j] = rng.uniform(low[i, :j], high[i, :j])
    below = low[i, j] - low[i - 1, j]
    at = rng.uniform(0, below + high[i - 1, j] - high[i, j])
    point[j] = low[i - 1, j] + at if at < below else high[i, j] + at - below
    return point
