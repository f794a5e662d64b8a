"""Algorithm 1 of li2021: an ordinary solver applied repeatedly to the data and augmented rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import Floats
from discreet.families import Loss
from discreet.mechanisms.napp.augmented import PLACES, DrawnRows, Limit, Part, Regularizer, SquaredRows
from discreet.mechanisms.napp.event import retrievable
from discreet.mechanisms.napp.release import NAPPDraws, Recycled
from discreet.solve.newton import WeightedPenalty, minimise

WINDOW = 10
"""The estimate is the mean of this many iterates; it is 0 where the sign changes among them."""

Rule = Callable[[float, float, float], float]

_TOLERANCE = 1e-7
_CALLS, _SMALL = 6, 1 << 23


@dataclass(frozen=True)
class SquaredLosses:
    """The sum of (x_i'theta - y_i)^2/2, from S = X'X, v = X'y and s = y'y; **confidential**."""

    S: Floats = field(repr=False)
    v: Floats = field(repr=False)
    s: float = field(repr=False)

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and Hessian."""
        g = self.S @ theta
        return float(theta @ g / 2 - self.v @ theta + self.s / 2), g - self.v, self.S


@dataclass
class LossSum:
    """The sum of the losses of rows; **confidential**.

    For large tables the last two Hessians are kept. A new one is computed only when theta is a third away from both
    points, or after a few calls. This affects the speed of the solver, not its solution.
    """

    X: Floats = field(repr=False)
    y: Floats = field(repr=False)
    loss: Loss
    _kept: list[tuple[Floats, Floats]] = field(default_factory=list, repr=False)
    _calls: int = 0

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and (recent) Hessian."""
        f, slope, curvature = self.loss.parts(self.X @ theta, self.y)
        return float(f.sum()), self.X.T @ slope, self._hessian(theta, curvature)

    def _hessian(self, theta: Floats, curvature: Floats) -> Floats:
        away = [float(np.linalg.norm(theta - at)) for at, _ in self._kept]
        nearest = int(np.argmin(away)) if away else 0
        self._calls += 1
        if away and self._calls <= _CALLS and away[nearest] <= 0.3 * np.linalg.norm(self._kept[nearest][0]):
            return self._kept[nearest][1]
        H: Floats = (self.X * curvature[:, None]).T @ self.X
        if self.X.size * len(theta) > _SMALL:
            self._kept, self._calls = [*self._kept[-1:], (theta.copy(), H)], 0
        return H


@dataclass(frozen=True)
class NAPPPlan:
    """The parameters of algorithm 1.

    `slopes` are the coefficients with the target's weights and, with `selection`, the term b_j |theta_j| (NAPP-VS): all
    but the constant's. With `moor` weights are the maximum of the target's and Lambda_0, the `modulus`. n_e is None
    for the limit of many augmented rows. Of T iterations the last are left out once the loss changes by a share of less
    than `tol`. Coefficients up to `zero` are 0, as are those that fluctuate around 0, for all targets but ridge.
    """

    loss: str
    regularizer: Regularizer
    modulus: float
    slopes: NDArray[np.bool_]
    moor: bool = True
    selection: bool = False
    n_e: int | None = 10_000
    T: int = 80
    tol: float | None = None
    zero: float | None = 1e-3

    def weights(self, theta: Floats | None, floor: float = 0.0) -> Floats:
        """The weights w of an iteration, from the last iterate; None in the first."""
        target = self.regularizer.realised(theta, self.modulus, len(self.slopes), moor=self.moor)
        return np.maximum(np.where(self.slopes, target, self.modulus), floor)

    def signs(self, theta: Floats | None) -> Floats:
        """The signs by which the noise is multiplied, so that b'theta becomes b'|theta|."""
        flipped = self.slopes & (theta < 0) if self.selection and theta is not None else np.zeros(len(self.slopes))
        return np.where(flipped, -1.0, 1.0)

    def part(self, rows: Loss | None, w: Floats, b: Floats, rng: np.random.Generator) -> Part:
        """The augmented rows of one iteration."""
        if self.n_e is None:
            return Limit(w, b)
        if rows is None:
            return SquaredRows.draw(w, b, self.n_e, rng)
        return DrawnRows.draw(rows, PLACES[self.loss], w, b, self.n_e, rng)


@dataclass
class NAPPRun:
    """The iterates, and the loss at each; **confidential**: two iterates reveal the noise that they share."""

    thetas: list[Floats] = field(default_factory=list, repr=False)
    losses: list[float] = field(default_factory=list, repr=False)
    weights: Floats = field(default_factory=lambda: np.zeros(0), repr=False)

    def coefficients(self, plan: NAPPPlan) -> Floats:
        """The mean of the last iterates, with zeros for small and for fluctuating coefficients.

        Under b'|theta| coefficients near 0 change sign in every iteration, and move all others. The mean of the
        iterates converges where the last iterate does not.
        """
        last = np.array(self.thetas[-min(WINDOW, max(1, len(self.thetas) // 2)) :])
        theta: Floats = last.mean(axis=0)
        if not plan.regularizer.adaptive or plan.zero is None:
            return theta
        steady = (np.sign(last) == np.sign(last[-1])).all(axis=0)
        return np.where(plan.slopes & ((np.abs(theta) <= plan.zero) | ~steady), 0.0, theta)

    def least_weight(self, plan: NAPPPlan) -> float:
        """The least weight min_j w_j of the last iteration; the penalty's curvature is twice that.

        The constant does not count: its weight is Lambda_0, or the floor where budget is recycled.
        """
        return float(self.weights[plan.slopes].min()) if plan.slopes.any() else plan.modulus


def iterate(
    data: Part, rows: Loss | None, plan: NAPPPlan, b: Floats, rng: np.random.Generator, floor: float = 0.0
) -> NAPPRun:
    """Run algorithm 1 on the sum of the rows' losses, with b fixed throughout.

    `rows` is the loss of augmented rows, None for linear regression; `floor` the least weight, where budget was
    recycled (eq. (15)).
    """
    d, run = len(b), NAPPRun()
    theta = np.zeros(d)
    scale = float(np.linalg.norm(data(theta)[1]) + np.linalg.norm(b)) + 1.0
    nothing = WeightedPenalty(np.zeros(d), np.zeros(d))
    for t in range(plan.T):
        last = theta if t else None
        w = plan.weights(last, floor)
        part = plan.part(rows, w, plan.signs(last) * b, rng)
        both = _Both(data, part)
        start = run.thetas[-2] if plan.selection and t > 1 else theta  # signs that alternate come back after two steps
        theta, _ = minimise(both, np.zeros(d), nothing, start, _TOLERANCE * scale)
        run.thetas.append(theta)
        run.losses.append(both.value)
        run.weights = w
        if plan.tol is not None and t and abs(run.losses[-1] / run.losses[-2] - 1) < plan.tol:
            break
    return run


@dataclass
class _Both:
    """The sum of two parts, and its last value; a solver evaluates its solution last."""

    one: Part
    other: Part
    value: float = 0.0

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        a, b = self.one(theta), self.other(theta)
        self.value = a[0] + b[0]
        return self.value, a[1] + b[1], a[2] + b[2]


def recycle(
    data: Part, rows: Loss | None, plan: NAPPPlan, draws: NAPPDraws, rule: Rule = retrievable
) -> Recycled[NAPPRun]:
    """Run algorithm 2: the part of the budget (1 - r) epsilon that curvature beyond Lambda_0 saves reduces the noise.

    After each run the least weight becomes the floor of the next one (eq. (15)), and b becomes the noise of eq. (14),
    `rescale(Delta)` times the first b: line 6 as printed would compound these factors (E13). The `rule` (eq. (13)) is
    Delta_epsilon of a round from the remaining budget, the old modulus and the least weight. Without `rounds` only what
    could be retrieved is computed.
    """
    b, rng, budget = draws.b, draws.rng, draws.budget
    run, floor, found = iterate(data, rows, plan, b, rng), plan.modulus, [0.0]
    for _ in range(max(draws.rounds, 1)):
        least = run.least_weight(plan)
        more = rule(budget - found[-1], floor, least)
        if more <= 1e-9 * budget:
            break
        found.append(found[-1] + more)
        if not draws.rounds:
            break
        floor = max(floor, least)
        run = iterate(data, rows, plan, draws.rescale(found[-1]) * b, rng, floor)
    return Recycled(run, found[1:])
