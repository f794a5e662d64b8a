"""Attacks on every method, neighbour relation, kind of person, model and way of rows: promised against found.

    python -m experiments.audit            # about half an hour on one core
    python -m experiments.audit --quick    # a minute; says little
    python -m experiments.audit --page     # the page again, from stored results

Fits go the public way; tables are made up and found by search. A row is one audit. `docs/audit.md` shows the table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet import Domain, DPLinearRegression, Postgres, ReuseCov
from discreet.audit import Subject, audit, subject_of
from discreet.audit.one_run import one_run
from discreet.errors import DiscreetWarning
from discreet.papers.registry import METHODS, find
from experiments.record import environment

ROOT = Path(__file__).parents[1]
OUT = ROOT / "experiments" / "results" / "audit.json"
PAGE = ROOT / "docs" / "audit.md"
DELTA = 1e-6
SEED = 28
PROMISES = (1.0, 8.0)
CONFIDENCE = 0.95
PERSONS = Domain({"x": (-1, 1), "y": (-1, 1)}, person="who", rows_per_person=2)
WEIGHTS = Domain({"x": (-1, 1), "y": (-1, 1)}, weights="w", largest_weight=4.0)
CATEGORY = Domain({"x": (-1, 1), "c": ["a", "b", "d"], "y": (-1, 1)})
MANY = Domain({"x": (-1, 1), "y": (-1, 1), "z": (-1, 1)})


@dataclass(frozen=True)
class Case:
    """One audit: of a method by name, or of a subject; `fits` as many as take about half a minute."""

    name: str
    fits: int
    options: dict[str, Any] = field(default_factory=dict)
    path: str = "memory"
    target: str | tuple[str, ...] = "y"
    features: tuple[str, ...] = ("x",)

    def subject(self, epsilon: float) -> Subject:
        """What is attacked; the name begins with that of the method."""
        method = re.split(r"[ ,]", self.name)[0]
        found = subject_of(method, epsilon, **({"delta": DELTA} | self.options))
        return Subject(found.estimator, self.target, self.features)


SLOW = {
    "DPLinearRegression": 900, "DPRidge": 900, "DPLasso": 500, "DPElasticNet": 500, "AdaSSP": 1500, "AdaOPS": 1000,
    "OPS": 1500, "DPLogisticRegression": 800, "DPPoissonRegression": 600, "DPLinearSVC": 1200, "NoisySGD": 300,
}  # fmt: skip
"""Fits of methods that take long; others have 3,000."""

REPLACE = {"neighbors": "replace-one"}


def cases() -> list[Case]:
    """Every method of the registry, and variants, persons, weights, models of classes and counts, and ways of rows."""
    found = [Case(method.name, SLOW.get(method.name, 3000)) for method in METHODS]
    found += [
        Case("DPLinearRegression, replace-one", 700, REPLACE),
        Case("DPLinearRegression, one stage", 1500, {"stages": 1}),
        Case("DPLinearRegression, four stages", 500, {"stages": 4}),
        Case("DPLinearRegression, category", 500, {"domain": CATEGORY}, features=("x", "c")),
        Case("DPLinearRegression, persons", 500, {"domain": PERSONS, "rows": None}),
        Case("DPLinearRegression, weights", 500, {"domain": WEIGHTS, "rows": None}),
        Case("DPLinearRegression, two outcomes", 500, {"domain": MANY}, target=("y", "z")),
        Case("ReuseCov, sample", 2000, {"subsample": 0.4}),
        Case("SSP, replace-one", 2000, REPLACE),
        Case("AdaSSP as printed in 000", 1500, {"published": "000"}),
        Case("SSP as printed in 003", 2000, {"published": "003"}),
        Case("AdaOPS as printed in 000", 1000, {"published": "000"}),
        Case("DPLogisticRegression, pure epsilon", 1500, {"noise": "laplace", "delta": None}),
        Case("DPLogisticRegression, replace-one", 600, REPLACE),
        Case("OPS, pure epsilon", 1000, {"calibration": "pure", "delta": None}),
        Case("OutputPerturbation, Fisher shape", 2000, {"shape": "fisher"}),
        Case("ObjectivePerturbation, replace-one", 2000, REPLACE),
    ]
    found += [Case("DPLinearRegression", 200, path=path) for path in ("pandas", "parquet", "csv", "polars", "duckdb")]
    found += [Case("DPLinearRegression", 80, path=path) for path in ("dask", "postgres")]
    return found


@contextlib.contextmanager
def way(path: str) -> Iterator[Any]:
    """A way of rows by name; a private PostgreSQL server is started where it is asked for."""
    if path != "postgres":
        yield path
        return
    import adbc_driver_postgresql.dbapi as driver
    from benchmarks import postgres

    with postgres.server() as address:

        def ingested(table: pa.Table, folder: Path) -> Postgres:
            with driver.connect(address) as connection, connection.cursor() as cursor:
                cursor.adbc_ingest(folder.name, table)
                connection.commit()
            return Postgres(address, folder.name)

        yield ingested


def attacked(case: Case, epsilon: float, quick: bool) -> dict[str, Any]:
    """One row of the table."""
    start = time.perf_counter()
    fits = 60 if quick else case.fits
    with way(case.path) as path:
        found = audit(case.subject(epsilon), path=path, fits=fits, confidence=CONFIDENCE, seed=SEED)
    row = {"case": case.name} | found.to_dict() | {"path": case.path}
    return row | {"seconds": round(time.perf_counter() - start, 1)}


def once(epsilon: float) -> Iterator[dict[str, Any]]:
    """Audits by a single fit."""
    for name, options in (("SSP", {}), ("ReuseCov", {}), ("DPLinearRegression", {"stages": 1})):
        start = time.perf_counter()
        estimator = {"ReuseCov": ReuseCov, "DPLinearRegression": DPLinearRegression}.get(name, find(name).estimator)
        row = one_run(estimator, epsilon, DELTA, canaries=400, seed=SEED, **options).to_dict()
        yield {"case": f"{name}, one run", "path": "memory"} | row | {"seconds": round(time.perf_counter() - start, 1)}


def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(OUT.read_text()) if OUT.exists() else {"rows": []}
    return found


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["case"], row["path"], row["promised"]["epsilon"]


def run(quick: bool, only: str | None, out: Path) -> None:
    """Attack everything, and keep each row as soon as it is there; what is stored already is left as it is."""
    rows: list[dict[str, Any]] = [] if quick else stored()["rows"]
    known = {key(row) for row in rows}
    for epsilon in PROMISES:
        for case in cases():
            chosen = only is None or re.search(only, f"{case.name} {case.path}")
            if not chosen or (case.name, case.path, epsilon) in known or (case.path != "memory" and epsilon < 8):
                continue
            rows.append(attacked(case, epsilon, quick))
            show(rows[-1])
            write(rows, out)
        for row in once(epsilon):
            if key(row) not in known and only is None:
                rows.append(row)
                show(row)
                write(rows, out)


def show(row: dict[str, Any]) -> None:
    bound, promised = row["bound"]["epsilon"], row["promised"]["epsilon"]
    verdict = "BROKEN" if row["broken"] else ""
    noise = (row.get("noise") or {}).get("sd_over_listed")
    print(
        f"{row['case']:42s} {row['path']:9s} {promised:5g} {bound:7.3f} {row['fits']:6d} {row['seconds']:6.1f} s "
        f"{row['attack']:18s} {'' if noise is None else f'{noise:.3f}'} {verdict}",
        flush=True,
    )


def write(rows: list[dict[str, Any]], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"title": "Audits"} | environment() | {"rows": rows}, indent=1) + "\n")


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a table of a page."""
    lines = ["| what | rows by | promised | found | noise | attack | fits |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        noise = (row.get("noise") or {}).get("sd_over_listed")
        found = f"**{row['bound']['epsilon']:.2f}, broken**" if row["broken"] else f"{row['bound']['epsilon']:.2f}"
        cells = [
            row["case"],
            row["path"],
            f"{row['promised']['epsilon']:g}",
            found,
            "" if noise is None else f"{noise:.3f}",
            row["attack"],
            f"{row['fits']:,}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


START, END = "<!-- audits -->", "<!-- end of audits -->"


def page() -> None:
    """Put the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{START}\n\n{table(stored()['rows'])}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 fits each")
    parser.add_argument("--only", help="a pattern that names of cases match")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    if not given.page:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            run(given.quick, given.only, given.out)
    if given.page or (given.out == OUT and given.only is None and not given.quick):
        page()


if __name__ == "__main__":
    main()
