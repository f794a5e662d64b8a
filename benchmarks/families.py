"""Posterior sampling and the other families beside the moments pass: ``python -m benchmarks.families``.

The ratio is a fit's time over that of summing up the moments alone. NoisySGD reads the rows once a step and is shown
with ten steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.record import report

from benchmarks.common import options, seconds
from discreet import (
    OPS,
    AdaOPS,
    Domain,
    Moments,
    NoisyGradientDescent,
    NoisySGD,
    OutputPerturbation,
    SubsampleAggregate,
)

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "OPS": (OPS, {}),
    "AdaOPS": (AdaOPS, {}),
    "OutputPerturbation": (OutputPerturbation, {}),
    "OutputPerturbation fisher": (OutputPerturbation, {"shape": "fisher"}),
    "NoisyGradientDescent": (NoisyGradientDescent, {}),
    "SubsampleAggregate": (SubsampleAggregate, {}),
    "NoisySGD, 10 steps": (NoisySGD, {"steps": 10}),
}


def main() -> None:
    given = options("families", __doc__, rows=1_000_000, columns=50, repeats=3)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (given.rows, given.columns))
    y = np.clip(X @ rng.normal(0, 0.1, given.columns), -1, 1)
    names = [f"x{i}" for i in range(given.columns)]
    domain = Domain.from_bounds(names, ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
    alone = seconds(lambda: Moments.from_source((X, y), domain), given.repeats)
    facts = {"rows": given.rows, "columns": given.columns}
    rows: list[dict[str, Any]] = [facts | {"method": "moments", "seconds": alone, "ratio": 1.0}]
    promise = {"epsilon": 1, "delta": 1e-8, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "rows": given.rows}
    for name, (cls, more) in METHODS.items():
        taken = seconds(lambda cls=cls, more=more: cls(**promise, **more).fit(X, y), given.repeats)  # type: ignore[misc]
        rows.append(facts | {"method": name, "seconds": taken, "ratio": taken / alone})
    columns = ("method", "rows", "columns", "seconds", "ratio")
    report("Fits, and the moments pass alone; ratio: over that pass", columns, rows, given.out)


if __name__ == "__main__":
    main()
