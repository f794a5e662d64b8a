"""Rare levels and far values in models of classes and counts: ``python -m experiments.defaults.rare_models``.

Made-up tables of a number, and of a category with a rare level or of a second number with a few far values.

* Widths: the 95 % interval of the coefficient of a level that 1 % of the rows have, over that of the fit without
  privacy with HC1 standard errors (statsmodels). A withheld interval counts as infinitely wide.
* Losses: the mean loss of a row (log loss, or Poisson deviance over 2) above that of maximum likelihood, on the rows
  that were fitted, in stages and in one stage (``stages=1``). Where values lie far out, it is on the other rows, and
  above maximum likelihood of these: a far value has the effect of a near one, so no slope describes both. For scale,
  "sampling" is what maximum likelihood itself loses on new rows, about q/2n for q coefficients and n rows.
"""

from __future__ import annotations

import math
import warnings
import zlib
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import statsmodels.api as sm  # type: ignore[import-untyped]

from discreet import DiscreetWarning, Domain, DPLogisticRegression, DPPoissonRegression
from discreet.core.placeholders import Unavailable
from experiments import study
from experiments.record import report
from experiments.uci import Floats

DELTA, LEVEL, MOST = 1e-6, 0.95, 50
MODELS: dict[str, Any] = {"logistic": DPLogisticRegression, "Poisson": DPPoissonRegression}
TRUE = {"logistic": (-0.4, 0.6, 0.5, 0.8), "Poisson": (0.4, 0.3, 0.25, 0.4)}
"""The constant, the slope of x, and the effects of levels b and c or, of a second number, the third as its slope."""

RARE = {"level of 1 %": 0.01, "level of 0.2 %": 0.002}
FAR = {"1 % of values 10 times as far": (0.01, 10.0), "0.2 % of values 100 times as far": (0.002, 100.0)}
"""The share of far values, and how much further out they lie."""

ROWS, EPSILONS = (1000, 10_000), (0.3, 1.0, 3.0)
WIDTH_ROWS, WIDTH_EPSILONS = 10_000, (1.0, 3.0)


class Made(NamedTuple):
    """A table, its domain, the design with a constant, the outcome, and which rows are not far."""

    table: pa.Table
    domain: Domain
    design: Floats
    y: Floats
    near: Any


def made(kind: str, model: str, n: int, rng: np.random.Generator) -> Made:
    """A table of one kind."""
    x, constant = rng.standard_normal(n).clip(-4, 4), np.ones(n)
    start, slope, b, c = TRUE[model]
    near = np.full(n, True)
    held: dict[str, Any]
    declared: dict[str, Any]
    if kind in RARE:
        codes = rng.choice(3, n, p=[0.6, 0.4 - RARE[kind], RARE[kind]])
        effect, design = np.array([0.0, b, c])[codes], np.column_stack([constant, x, codes == 1, codes == 2])
        held, declared = {"group": np.array(["a", "b", "c"])[codes]}, {"group": ["a", "b", "c"]}
    else:
        share, times = FAR[kind]
        z, near = rng.standard_normal(n).clip(-4, 4), rng.random(n) >= share
        effect, z = b * z, np.where(near, z, times * z)
        design, held = np.column_stack([constant, x, z]), {"z": z}
        declared = {"z": (-4 * times, 4 * times)}
    eta = start + slope * x + effect
    if model == "logistic":
        y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
        outcome, domain = pa.array(y > 0), Domain({"x": (-4, 4)} | declared | {"y": bool})
    else:
        y = np.minimum(rng.poisson(np.exp(eta)), MOST).astype(float)
        outcome, domain = pa.array(y), Domain({"x": (-4, 4)} | declared | {"y": (0, MOST)})
    return Made(pa.table({"x": x} | held | {"y": outcome}), domain, design, y, near)


def fit(own: Made, model: str, epsilon: float, rng: np.random.Generator, stages: Any = "auto") -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        found = MODELS[model](
            epsilon=epsilon, delta=DELTA, domain=own.domain, stages=stages, n_jobs=1, random_state=rng
        )
        return found.fit_source(own.table, "y", [name for name in own.domain.columns if name != "y"])


def likeliest(own: Made, model: str, rows: Any, errors: str = "nonrobust") -> Any:
    """Maximum likelihood without privacy."""
    family = sm.families.Binomial() if model == "logistic" else sm.families.Poisson()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rare level may have no row, or one class
        return sm.GLM(own.y[rows], own.design[rows], family=family).fit(cov_type=errors)


def loss(eta: Floats, y: Floats, model: str) -> float:
    """The mean loss of a row, up to what does not depend on the model."""
    own = np.logaddexp(0, eta) if model == "logistic" else np.exp(np.minimum(eta, 700.0))
    return float(np.mean(own - y * eta))


def widths(cell: study.Cell) -> study.Rows:
    """One row a seed: the width of the rare level's interval, over that of HC1, and whether it holds the truth."""
    found = []
    for seed in range(cell["seeds"]):
        rng = np.random.default_rng([zlib.crc32(cell["model"].encode()), seed])
        own = made("level of 1 %", cell["model"], WIDTH_ROWS, rng)
        low, high = likeliest(own, cell["model"], slice(None), "HC1").conf_int(1 - LEVEL)[-1]
        known = fit(own, cell["model"], cell["epsilon"], rng).results_.about("bounded").inference
        ours = [math.nan] * 2 if isinstance(known, Unavailable) else known.interval(LEVEL)[-1].tolist()
        given = not math.isnan(ours[0])
        row: dict[str, Any] = {"given": given, "ratio": (ours[1] - ours[0]) / (high - low) if given else None}
        found.append(row | {"holds": given and ours[0] <= TRUE[cell["model"]][-1] <= ours[1]})
    return found


def losses(cell: study.Cell) -> study.Rows:
    """One row a seed: the excess in stages and in one stage."""
    found = []
    model = cell["model"]
    for seed in range(cell["seeds"]):
        rng = np.random.default_rng([zlib.crc32(f"{model} {cell['kind']}".encode()), cell["rows"], seed])
        own = made(cell["kind"], model, cell["rows"], rng)
        best = own.design @ likeliest(own, model, own.near).params
        row: dict[str, Any] = {"coefficients": own.design.shape[1]}
        for name, stages in (("stages", "auto"), ("one stage", 1)):
            fitted = fit(own, model, cell["epsilon"], np.random.default_rng([cell["rows"], seed]), stages)
            theta = np.concatenate([np.atleast_1d(fitted.intercept_), fitted.coef_.ravel()])
            eta = own.design @ theta
            row[name] = loss(eta[own.near], own.y[own.near], model) - loss(best[own.near], own.y[own.near], model)
        found.append(row)
    return found


def table(rows: study.Rows, facts: tuple[str, ...]) -> list[dict[str, Any]]:
    """One line a cell: medians of widths, or means of losses."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[fact] for fact in facts)].append(row)
    lines = []
    for key, group in groups.items():
        line = dict(zip(facts, key, strict=True)) | {"seeds": len(group)}
        if "given" in group[0]:
            ratios = [math.inf if row["ratio"] is None else row["ratio"] for row in group]
            middle = float(np.median(ratios))
            line |= {"width over HC1": middle if math.isfinite(middle) else None}
            line |= {name: float(np.mean([row[name] for row in group])) for name in ("given", "holds")}
        else:
            line |= {name: float(np.mean([row[name] for row in group])) for name in ("stages", "one stage")}
            line["ratio"] = line["stages"] / line["one stage"]
            line["sampling"] = group[0]["coefficients"] / (2 * line["rows"])
        lines.append(line)
    return lines


def main() -> None:
    parser = study.parser("defaults.rare_models", "rare_models", __doc__)
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    wide = [
        {"measure": "width", "model": model, "epsilon": epsilon, "seeds": given.seeds}
        for model in MODELS
        for epsilon in WIDTH_EPSILONS
    ]
    lines = table(study.run("widths", wide, widths, given.log, given.jobs), ("measure", "model", "epsilon"))
    cells = [
        {"measure": "loss", "model": model, "kind": kind, "rows": n, "epsilon": epsilon, "seeds": given.seeds}
        for model in MODELS
        for kind in (*RARE, *FAR)
        for n in ROWS
        for epsilon in EPSILONS
    ]
    found = study.run("losses", cells, losses, given.log, given.jobs)
    lines += table(found, ("measure", "model", "kind", "rows", "epsilon"))
    columns = list(dict.fromkeys(key for line in lines for key in line))
    report("Rare levels and far values in models of classes and counts", columns, lines, given.out)


if __name__ == "__main__":
    main()
