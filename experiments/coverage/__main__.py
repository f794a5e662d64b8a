"""How often 95 % intervals hold the truth, on populations that behave as real tables do: the study and its page.

``python -m experiments.coverage --page docs/results/coverage.md --data DIR``

* Cells: a population (`experiments.coverage.tables`), n rows drawn from it with replacement, epsilon; delta = 1e-6.
* `DPLinearRegression` as it comes, with seeded noise that is otherwise that of a real release.
* Two truths. *Bounded*: the fit to the whole population in which far rows and far residuals count less, by the radius
  and the half width that the release states. *Declared*: least squares on the whole population, clipped to its bounds.
  Each has intervals of its own: `Results.about`.
* With ``--searched`` no bounds are declared for the made-up populations, and both truths are clipped to those that each
  fit found: ``python -m experiments.coverage --searched``.
* *Given*: the share of coefficients that have an interval. *Before*: the share of fits that gave intervals under the
  rule of old, all coefficients or none.
* *Width*: relative to the non-private robust interval for the declared fit, median over coefficients and fits.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet import DiscreetWarning, Domain, DPLinearRegression
from discreet.core.placeholders import Unavailable
from discreet.results.inference import JointInference
from discreet.results.private_moments import PrivateMoments
from discreet.solve.debiased import through_noise
from experiments import study, uci
from experiments.coverage import report_page
from experiments.coverage.tables import ADULT, MADE_UP, SETS, Population, population
from experiments.record import report
from experiments.uci import Floats

DELTA, LEVEL, EPSILONS = 1e-6, 0.95, (1.0, 3.0, 10.0)
PIECE, NEW_ROWS, ROUNDS = 25, 400, 8
QUARTERS = ("lowest quarter", "all", "highest quarter")


def bounded_fit(released: PrivateMoments, X: Floats, y: Floats) -> Floats:
    """The fit to a whole population in which far rows and residuals count as the last stage says, in user units.

    It is where the sum of w x clip(w (y - theta'x), -b, b) is 0, x the mapped regressors.
    """
    stage, domain = released.stages[-1], released.domain
    own, b = stage.event.coordinates, stage.event.widths[0]
    centre, half = (np.array(part) for part in zip(*(domain.map(name) for name in own.design[1:]), strict=True))
    c, h = domain.map(own.outcomes[0])
    x, z = np.column_stack([np.ones(len(X)), (X[:, 1:] - centre) / half]), (y - c) / h
    Z, theta = x @ own.P.floats, own.theta.floats[:, 0].copy()
    w = np.minimum(1.0, own.radius / np.linalg.norm(Z, axis=1))
    U = Z * (w / own.radius)[:, None]
    step = own.P.floats @ np.linalg.inv(U.T @ U) * (b / own.radius)
    for _ in range(ROUNDS):
        theta += step @ (U.T @ np.clip(w * (z - x @ theta) / b, -1, 1))
    slopes = h * theta[1:] / half
    return np.concatenate([[c + h * theta[0] - slopes @ centre], slopes])


def gave_before(found: Any) -> bool:
    """Whether the rule of old gave intervals: the noise of X'X against the least variation in any direction."""
    noise = np.linalg.eigvalsh(through_noise(found.W, found.G_all @ found.G_all, found.L))[-1] ** 0.5
    return bool(noise <= JointInference.largest_noise)


class Tally:
    """What happened in some fits of one cell."""

    def __init__(self, p: int) -> None:
        self.fits = self.before = 0
        self.given, self.bounded, self.declared, self.plainly = np.zeros((4, p), dtype=int)
        self.shares: list[float] = []
        self.width: list[float] = []
        self.declared_width: list[float] = []
        self.moved: list[float] = []
        self.new, self.new_rows = np.zeros((2, 3), dtype=int)

    def add(
        self, people: Population, model: DPLinearRegression, truth: Floats, robust: Floats, seed: list[int]
    ) -> None:
        """Count one fit; `truth` is the declared one, and `robust` has its non-private standard errors."""
        self.fits += 1
        results = model.results_.about("bounded")
        found = results.inference
        if isinstance(found, Unavailable):
            return
        self.before += gave_before(found)
        bounded = bounded_fit(model.release_, people.design, people.outcome)
        given, wider = found.given, results.about("declared").inference
        own, other = found.interval(LEVEL), wider.interval(LEVEL)
        self.given += given
        self.bounded += given & (own[:, 0] <= bounded) & (bounded <= own[:, 1])
        self.shares.append(float(np.mean(((own[:, 0] <= bounded) & (bounded <= own[:, 1]))[given])))
        self.plainly += given & (own[:, 0] <= truth) & (truth <= own[:, 1])
        self.declared += given & (other[:, 0] <= truth) & (truth <= other[:, 1])
        full = 2 * 1.96 * robust
        self.width += ((own[:, 1] - own[:, 0]) / full)[given].tolist()
        self.declared_width += ((other[:, 1] - other[:, 0]) / full)[given].tolist()
        self.moved += (np.abs(bounded - truth) / robust)[given].tolist()
        new = people.sample(NEW_ROWS, np.random.default_rng([*seed, 9]))
        low, high = results.predict_interval(new[people.names])
        inside, predicted = (low <= new["y"]) & (new["y"] <= high), results.predict(new[people.names])
        ends = np.quantile(predicted, [0.25, 0.75])
        for k, part in enumerate((predicted <= ends[0], np.ones(len(new), dtype=bool), predicted >= ends[1])):
            self.new[k] += int(np.sum(inside[part]))
            self.new_rows[k] += int(np.sum(part))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}


def truths(people: Population, n: int) -> tuple[Floats, Floats]:
    """The fit to the whole population, and its robust standard errors for n rows."""
    X, y = people.design, people.outcome
    truth: Floats = np.linalg.lstsq(X, y)[0]
    scores, G = X * (y - X @ truth)[:, None], np.linalg.inv(X.T @ X)
    return truth, np.sqrt(np.diag(G @ scores.T @ scores @ G) * len(X) / n)


def work(cell: study.Cell) -> study.Rows:
    """Some fits of one cell."""
    people, n = population(cell["population"], None if cell["folder"] is None else Path(cell["folder"])), cell["n"]
    searched = cell.get("searched", False)
    domain = Domain(dict.fromkeys(people.domain.columns, "number")) if searched else people.domain
    known = truths(people, n)
    tally = Tally(len(known[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        for fit in range(cell["first"], cell["first"] + cell["fits"]):
            seed = [sum(cell["population"].encode()), n, fit]
            rows = people.sample(n, np.random.default_rng(seed))
            noise = np.random.default_rng([*seed, round(10 * cell["epsilon"])])
            given = {"epsilon": cell["epsilon"], "delta": DELTA, "domain": domain, "n_jobs": 1}
            model = DPLinearRegression(**given, random_state=noise).fit_source(rows, "y")
            own = replace(people, domain=model.certificate_.domain) if searched else people
            tally.add(own, model, *(truths(own, n) if searched else known), seed)
    return [tally.to_dict()]


def grid(fits: int, names: list[str], rows: list[int], epsilons: list[float], folder: Path | None) -> list[study.Cell]:
    """Pieces of at most 25 fits, the same whatever the total."""
    return [
        {"population": name, "n": n, "epsilon": epsilon, "first": first, "fits": min(PIECE, fits - first)}
        | {"folder": None if folder is None or name in MADE_UP else str(folder)}
        for name in names
        for n in rows
        for epsilon in epsilons
        for first in range(0, fits, PIECE)
    ]


def main() -> None:
    parser = study.parser("coverage", "coverage", __doc__)
    parser.add_argument("--data", help="folder with uci/ and adult/; DISCREET_DATA by default")
    parser.add_argument("--fits", type=int, default=200, help="of a cell of a made-up population")
    parser.add_argument("--real-fits", type=int, default=50, help="of a cell of a UCI set or Adult")
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 10_000, 50_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--searched", action="store_true", help="declare no bounds; made-up populations alone")
    parser.add_argument("--page", type=Path, help="write the page too, for example docs/results/coverage.md")
    given = parser.parse_args()
    folder = uci.data_folder(given.data)
    cells = grid(given.fits, list(MADE_UP), given.rows, given.epsilon, None)
    if given.searched:
        cells, folder = [cell | {"searched": True} for cell in cells], None
        given.out = given.out.with_stem("coverage-searched")
    if folder is not None:
        real = [*(name for name in SETS if name in uci.available(folder)), ADULT]
        cells += grid(given.real_fits, real, given.rows[:2], given.epsilon, folder)
    groups = defaultdict(list)
    for row in study.run("coverage", cells, work, given.log, given.jobs):
        groups[row["population"], row["n"], row["epsilon"]].append(row)
    lines = [report_page.line(key, rows) for key, rows in groups.items()]
    report("Coverage of 95 % intervals", report_page.COLUMNS, lines, given.out)
    if given.page:
        report_page.write(lines, given.page)


if __name__ == "__main__":
    main()
