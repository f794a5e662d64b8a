"""The size of tests of several coefficients: how often they reject, at 5 %, if these are zero.

* Cells: design and d of `populations` with the last coefficients zero, n, epsilon; delta = 1e-6; both routes of
  `intervals`. Where the features are correlated, clipping them moves zero coefficients a little: by less than 0.02
  standard errors.
* The test: `Results.wald_test` of those that are zero, with the covariance that holds if they are; and the same with
  the covariance at the estimates, as textbooks have it.

Run by ``python -m experiments.coverage.joint_tests``. The figures stand in ``docs/coverage.md``, which `intervals`
writes.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import replace
from unittest import mock

import numpy as np

from discreet import DiscreetWarning
from discreet.core.placeholders import Unavailable
from discreet.privacy import gdp
from experiments import study
from experiments.coverage.intervals import EPSILONS, MU, ROUTES, Table, fits
from experiments.coverage.populations import DESIGNS, population
from experiments.record import report

CELLS = (("independent", 10, 3), ("independent", 10, 9), ("skewed", 10, 3), ("skewed", 10, 9), ("correlated", 3, 2))
ROWS = 3000
LEVEL = 0.05
COLUMNS = ("design", "d", "zeros", "n", "epsilon", "route", "available", "size", "error", "plain", "noise")


def work(cell: study.Cell) -> study.Rows:
    """Some simulations: a row for each epsilon and route, with what the two tests rejected."""
    d, zeros = cell["d"], cell["zeros"]
    people = population(cell["design"], d, zeros)
    names = people.names[d - zeros :]
    found = {(epsilon, route): ([], []) for epsilon in EPSILONS for route in ROUTES}
    with warnings.catch_warnings(), mock.patch.object(gdp, "mu", MU):
        warnings.simplefilter("ignore", DiscreetWarning)
        for simulation in range(cell["first"], cell["first"] + cell["simulations"]):
            seed = [DESIGNS.index(cell["design"]), cell["n"], d, zeros, simulation]
            table = Table(*people.sample(cell["n"], np.random.default_rng(seed)), people.domain)
            for epsilon, route, _, results in fits(table, seed):
                inference = results.inference
                if not isinstance(inference, Unavailable):
                    plain = replace(results, inference=replace(inference, W=0 * inference.W))
                    p = [fitted.wald_test(names).p_value for fitted in (results, plain)]
                    found[epsilon, route][0].append([int(value < LEVEL) for value in p])
                    found[epsilon, route][1].append(inference.noise)
    return [
        {"epsilon": key[0], "route": key[1], "rejected": rejected, "noise": noise}
        for key, (rejected, noise) in found.items()
    ]


def grid(simulations: int) -> list[study.Cell]:
    """Pieces of at most 50 simulations."""
    return [
        {
            "design": design,
            "d": d,
            "zeros": zeros,
            "n": ROWS,
            "first": first,
            "simulations": min(50, simulations - first),
        }
        for design, d, zeros in CELLS
        for first in range(0, simulations, 50)
    ]


def summary(key: tuple, rows: study.Rows, simulations: int) -> dict:
    """One route in one cell; the error is that of a share of so many simulations."""
    rejected = [pair for row in rows for pair in row["rejected"]]
    line = dict(zip(("design", "d", "zeros", "n", "epsilon", "route"), key, strict=True))
    line |= {"simulations": simulations, "available": len(rejected) / simulations}
    if rejected:
        size, plain = np.mean(rejected, axis=0)
        error = (LEVEL * (1 - LEVEL) / len(rejected)) ** 0.5
        noise = np.median([value for row in rows for value in row["noise"]])
        line |= {"size": size, "error": error, "plain": plain, "noise": noise}
    return {name: round(float(v), 4) if isinstance(v, float) else v for name, v in line.items()}


def main() -> None:
    parser = study.parser("coverage.joint_tests", "joint_tests", __doc__)
    parser.add_argument("--simulations", type=int, default=3000)
    given = parser.parse_args()
    groups = defaultdict(list)
    for row in study.run("joint tests", grid(given.simulations), work, given.log, given.jobs):
        groups[tuple(row[name] for name in ("design", "d", "zeros", "n", "epsilon", "route"))].append(row)
    lines = [summary(key, rows, given.simulations) for key, rows in groups.items()]
    report("Size of joint tests at 5 %", COLUMNS, lines, given.out)


if __name__ == "__main__":
    main()
