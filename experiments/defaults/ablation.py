"""What each part of `DPLinearRegression` is worth: ``python -m experiments.defaults.ablation --data DIR``.

Every variant changes one constant or one step of the method; the measure is that of ``benchmarks.utility``.
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from benchmarks.utility import ratios, uci_cell

from discreet.recipes import budget
from discreet.solve import noise_aware, outcome
from experiments import study, uci
from experiments.record import report

VARIANTS: dict[str, list[tuple[Any, str, Any]]] = {
    "as shipped": [],
    "outcome's bounds as declared": [(outcome, "MOST_CLIPPED", 0.0)],
    "at most 10 % clipped": [(outcome, "MOST_CLIPPED", 0.1)],
    "at most 50 % clipped": [(outcome, "MOST_CLIPPED", 0.5)],
    "no way back from clipping": [(outcome, "LARGEST_FACTOR", 1.0)],
    "eigenvalues not denoised": [(noise_aware, "denoise", lambda values, s_xx: values)],
    "no hidden eigenvalues": [(noise_aware, "HIDDEN", np.array([0.0]))],
    "K = 1/2": [(noise_aware, "LEFT_OVER", 1 / 2)],
    "K = 0": [(noise_aware, "LEFT_OVER", 0.0)],
    "share of X'X 0.25, of X'y 0.65": [(budget, "ONE_STAGE", {**budget.ONE_STAGE, "gram": 0.25, "cross": 0.65})],
    "share of X'X 0.55, of X'y 0.35": [(budget, "ONE_STAGE", {**budget.ONE_STAGE, "gram": 0.55, "cross": 0.35})],
}


def cell(given: study.Cell) -> study.Rows:
    """One set under one variant."""
    with contextlib.ExitStack() as stack:
        for module, name, value in VARIANTS[given["variant"]]:
            stack.enter_context(mock.patch.object(module, name, value))
        return uci_cell(given)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.defaults.ablation", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with uci/; DISCREET_DATA by default")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--log", type=Path, default=Path("benchmarks/results/log/ablation.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/ablation.json"))
    given = parser.parse_args()
    folder = uci.data_folder(given.data)
    if folder is None:
        parser.error("name the data folder with --data or DISCREET_DATA")
    common = {"method": "DPLinearRegression", "splits": given.splits, "draws": given.draws, "folder": str(folder)}
    cells = [
        common | {"data": name, "epsilon": epsilon, "variant": variant}
        for variant in VARIANTS
        for epsilon in given.epsilon
        for name in uci.available(folder)
    ]
    found = ratios(study.run("ablation", cells, cell, given.log), ("variant", "epsilon", "data"))
    rows = []
    for variant in VARIANTS:
        means = {
            f"epsilon {epsilon:g}": float(
                np.exp(np.mean([np.log(r) for (v, e, _), (r, _) in found.items() if (v, e) == (variant, epsilon)]))
            )
            for epsilon in given.epsilon
        }
        rows.append({"variant": variant} | means)
    report("Geometric mean over the UCI sets of test MSE / that of predicting 0", list(rows[0]), rows, given.out)


if __name__ == "__main__":
    main()
