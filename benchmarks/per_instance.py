"""Losses of every row of a Parquet folder, beside the pass over its moments: ``python -m benchmarks.per_instance``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from experiments.record import report

from benchmarks.common import beside, options, ran_job
from benchmarks.parquet import domain, write
from discreet import (
    OPS,
    AdaOPS,
    AdaSSP,
    DiscreetWarning,
    DPLinearRegression,
    Moments,
    NoisyGradientDescent,
    ObjectivePerturbation,
    ReuseCov,
)
from discreet.per_instance import leave_one_out, losses

METHODS = {
    "DPLinearRegression": DPLinearRegression,
    "AdaSSP": AdaSSP,
    "OPS": OPS,
    "NoisyGradientDescent": NoisyGradientDescent,
    "AdaOPS": AdaOPS,
    "ObjectivePerturbation": ObjectivePerturbation,
    "ReuseCov": partial(ReuseCov, subsample=0.3),
}
NEED_MOMENTS = ("AdaSSP", "OPS", "AdaOPS", "ObjectivePerturbation")


def write_data(folder: Path, rows: int, columns: int) -> None:
    (folder / "data").mkdir()
    write(folder / "data", rows, columns)


def release(folder: Path, rows: int, columns: int) -> None:
    """Write the data's releases beside them."""
    target = f"x{columns - 1}"
    for name, method in METHODS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            facts = {"epsilon": 1, "delta": 1e-6, "domain": domain(columns), "rows": rows}
            model = method(**facts).fit_source(folder / "data", target)
        model.release_.save(folder / f"{name}.json")


def epsilons(folder: Path, name: str) -> None:
    """All losses; where they need the moments these are given, for they are the other pass."""
    moments = Moments.load(folder / "moments.npz") if name in NEED_MOMENTS else None
    losses(folder / "data", folder / f"{name}.json", moments=moments).quantiles()


def leverages(folder: Path, columns: int) -> None:
    leave_one_out(folder / "data", Moments.load(folder / "moments.npz"), f"x{columns - 1}", alpha=1.0)


JOBS: dict[str, Callable[[Path, int, int], object]] = {
    "write": write_data,
    "release": lambda folder, rows, columns: release(folder, rows, columns),
    "save": lambda folder, rows, columns: Moments.from_source(folder / "data", domain(columns)).save(
        folder / "moments.npz"
    ),
    "moments": lambda folder, rows, columns: Moments.from_source(folder / "data", domain(columns)),
    "losses, DPLinearRegression": lambda folder, rows, columns: epsilons(folder, "DPLinearRegression"),
    "losses, AdaSSP (least eigenvalue)": lambda folder, rows, columns: epsilons(folder, "AdaSSP"),
    "losses, OPS (posterior sample)": lambda folder, rows, columns: epsilons(folder, "OPS"),
    "losses, NoisyGradientDescent": lambda folder, rows, columns: epsilons(folder, "NoisyGradientDescent"),
    "losses, AdaOPS (three stages)": lambda folder, rows, columns: epsilons(folder, "AdaOPS"),
    "losses, ObjectivePerturbation": lambda folder, rows, columns: epsilons(folder, "ObjectivePerturbation"),
    "losses, ReuseCov of a sample": lambda folder, rows, columns: epsilons(folder, "ReuseCov"),
    "leverages and residuals": lambda folder, rows, columns: leverages(folder, columns),
}


def main() -> None:
    if ran_job(JOBS):
        return
    given = options("per_instance", __doc__, rows=1_000_000, columns=50, repeats=3)
    rows = beside("per_instance", list(JOBS)[:3], list(JOBS)[3:], given, "pass")
    columns = ("pass", "rows", "columns", "seconds", "ratio", "peak_MB")
    report("One more pass for every person's loss, from Parquet", columns, rows, given.out)


if __name__ == "__main__":
    main()
