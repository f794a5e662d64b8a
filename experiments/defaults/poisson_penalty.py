"""Which public penalty Poisson regression should have: ``python -m experiments.defaults.poisson_penalty``.

`DPPoissonRegression` needs a quadratic penalty of some strength lambda: the weaker it is, the more noise privacy takes,
because log(1 + b/lambda) of epsilon goes to curvature. Here simulated tables are fitted for a grid of lambda, each with
the noise that keeps the promise, and with the penalty's centre at 0 or at a public guess of the intercept. Rules that
choose lambda and the centre from public facts alone are then judged by interpolation on the grid:

* share s, floor k: b/(e^(s epsilon) - 1), so that curvature costs a share s of epsilon; but at least k sigma sqrt(d).
* centre h: the intercept is drawn towards h log Y, Y the upper bound of the counts, rather than towards 0, a rate of 1.

The measure is the mean excess of the loss over that of the best model of the population, relative to the rule of before
(s = 0.1, k = 0.1, h = 0): geometric means over cells. Cells form a chequerboard: the rule is chosen on half A, and
half B shows what it is worth.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.families import Poisson
from discreet.mechanisms.objective_perturbation.event import Calibration
from discreet.solve.newton import WeightedPenalty, minimise
from experiments import study
from experiments.record import report
from experiments.uci import Floats

DELTA, POOL = 1e-6, 20_000
FACTORS: dict[str, tuple[Any, ...]] = {
    "n": (1_000, 4_000, 16_000),
    "d": (2, 8),
    "epsilon": (0.3, 1.0, 3.0),
    "counts": ((5, 0.5), (10, 2), (30, 3), (100, 20)),
    "slope": (0.5, 1.5),
}
LEVELS, EFFECT = 20, 0.4
"""A category in a further part of the cells, and the sd of its levels' effects: many coefficients, short rows."""

STEPS = np.arange(-1.0, 6.1, 1.0)
CENTRES = (0.0, 0.5)
RULES = [
    (s, k, h)
    for s in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
    for k in (0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)
    for h in CENTRES
]
BEFORE = (0.1, 0.1, 0.0)
COLUMNS = (
    "share",
    "floor",
    "centre",
    "half A",
    "half B",
    "worst A",
    "worst B",
    "by n",
    "by epsilon",
    "by Y",
    "with levels",
)


def grid(draws: int) -> list[study.Cell]:
    cells = []
    for places in itertools.product(*(range(len(values)) for values in FACTORS.values())):
        cell = {name: values[i] for (name, values), i in zip(FACTORS.items(), places, strict=True)}
        Y, mean = cell.pop("counts")
        cells.append(cell | {"Y": Y, "mean": mean, "half": "AB"[sum(places) % 2], "draws": draws})
    large = [cell for cell in cells if cell["n"] > 1_000 and cell["slope"] == FACTORS["slope"][0]]
    return cells + [cell | {"levels": LEVELS} for cell in large]


class Rows:
    """A table, as a loss."""

    def __init__(self, X: Floats, theta: Floats, Y: float, rng: np.random.Generator) -> None:
        self.X = X
        self.y = np.minimum(rng.poisson(np.exp(self.X @ theta)), Y).astype(float)
        self.loss = Poisson(Y)

    def smooth(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """The sum of the losses, its gradient and its Hessian."""
        f, slope, curvature = self.loss.parts(self.X @ theta, self.y)
        return float(f.sum()), self.X.T @ slope, (self.X.T * curvature) @ self.X

    def mean(self, theta: Floats) -> float:
        """The mean loss."""
        return float(self.loss.parts(self.X @ theta, self.y)[0].mean())

    def best(self, b: Floats, modulus: float, start: Floats) -> Floats:
        """The minimiser with a linear term b and a quadratic penalty."""
        penalty = WeightedPenalty(np.full(len(b), modulus), np.zeros(len(b)))
        return minimise(self.smooth, b, penalty, start, 1e-6 * len(self.y))[0]


def design(n: int, cell: study.Cell, rng: np.random.Generator) -> Floats:
    """A constant; numbers, of which half fill their bounds and half are normal with bounds at three sds; levels."""
    d = cell["d"]
    X = rng.uniform(-1, 1, (n, d))
    X[:, ::2] = np.clip(rng.normal(0, 1 / 3, (n, len(range(0, d, 2)))), -1, 1)
    levels = np.eye(LEVELS)[rng.integers(0, LEVELS, n)] if "levels" in cell else np.empty((n, 0))
    return np.column_stack([np.ones(n), X, levels])


def sizes(cell: study.Cell) -> tuple[int, float]:
    """The number of coefficients, and the largest squared norm of a row."""
    return 1 + cell["d"] + cell.get("levels", 0), 1.0 + cell["d"] + ("levels" in cell)


def work(cell: study.Cell) -> study.Rows:
    """The mean excess loss for each centre and lambda."""
    (d, norm2), Y = sizes(cell), float(cell["Y"])
    facts = cell["n"], cell["d"], round(10 * cell["epsilon"]), cell["Y"], round(10 * cell["slope"])
    rng = np.random.default_rng(facts)
    slopes = rng.standard_normal(cell["d"])
    theta = np.array([0.0, *slopes * cell["slope"] / np.linalg.norm(slopes), *np.zeros(cell.get("levels", 0))])
    theta[cell["d"] + 1 :] = EFFECT * rng.standard_normal(cell.get("levels", 0))
    theta[0] = np.log(cell["mean"] / np.mean(np.exp(design(POOL, cell, rng) @ theta)))
    pool, table = (Rows(design(n, cell, rng), theta, Y, rng) for n in (POOL, cell["n"]))
    calibration = Calibration(pool.loss, tuple(map(str, range(d))), np.sqrt(norm2), cell["epsilon"], DELTA)
    zero, null = np.zeros(d), np.array([np.log(pool.y.mean()), *np.zeros(d - 1)])
    least, plain = pool.mean(pool.best(zero, 1e-6, theta)), table.best(zero, 1e-6, theta)
    common = {"signal": pool.mean(null) - least, "non-private": pool.mean(plain) - least}
    Z, found = rng.standard_normal((cell["draws"], d)), []
    for step in STEPS:
        modulus = norm2 * pool.loss.curvature / cell["epsilon"] * 2.0**step
        try:
            scale = calibration.calibrate(modulus).scale
        except ParameterError:
            continue
        for h in CENTRES:
            pull = np.array([modulus * h * np.log(Y), *np.zeros(d - 1)])
            excess = [pool.mean(table.best(scale * z - pull, modulus, plain)) - least for z in Z]
            found.append({"centre": h, "modulus": modulus, "scale": scale, "excess": float(np.mean(excess))} | common)
    return found


def excess(rows: study.Rows, rule: tuple[float, float, float]) -> float:
    """The log of the excess loss of one cell under a rule, interpolated on the grid of lambda."""
    s, k, h = rule
    points = [row for row in rows if row["centre"] == h]
    x, sigma = np.log([row["modulus"] for row in points]), [row["scale"] for row in points]
    d, norm2 = sizes(rows[0])
    at = np.log(norm2 * rows[0]["Y"] / np.expm1(s * rows[0]["epsilon"]))
    at = max(at, np.log(k * np.interp(at, x, sigma) * np.sqrt(d)))
    return float(np.interp(at, x, np.log([row["excess"] for row in points])))


def judged(rows: study.Rows) -> list[dict[str, Any]]:
    """One line a rule, the best on half A first."""
    cells: dict[str, study.Rows] = {}
    for row in rows:
        cells.setdefault(str([row.get(name) for name in ("n", "d", "epsilon", "Y", "slope", "levels")]), []).append(row)
    facts = [some[0] for some in cells.values()]
    before = np.array([excess(some, BEFORE) for some in cells.values()])
    found = []
    for rule in RULES:
        ratio = np.exp(np.array([excess(some, rule) for some in cells.values()]) - before)

        def mean(key: str, value: Any, ratio: Floats = ratio) -> float:
            return float(np.exp(np.mean(np.log(ratio[[fact.get(key) == value for fact in facts]]))))

        line = dict(zip(("share", "floor", "centre"), rule, strict=True))
        line |= {f"half {half}": mean("half", half) for half in "AB"}
        line |= {
            f"worst {h}": float(max(r for r, fact in zip(ratio, facts, strict=True) if fact["half"] == h)) for h in "AB"
        }
        for name, key in (("by n", "n"), ("by epsilon", "epsilon"), ("by Y", "Y")):
            line[name] = [round(mean(key, value), 3) for value in sorted({fact[key] for fact in facts})]
        line["with levels"] = mean("levels", LEVELS)
        found.append(line)
    return sorted(found, key=lambda line: line["half A"])


def main() -> None:
    parser = study.parser("defaults.poisson_penalty", "poisson_penalty", __doc__)
    parser.add_argument("--draws", type=int, default=6)
    given = parser.parse_args()
    rows = study.run("penalties", grid(given.draws), work, given.log, given.jobs)
    report("Public penalties of Poisson regression", COLUMNS, judged(rows), given.out)


if __name__ == "__main__":
    main()
