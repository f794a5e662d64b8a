"""Attacks on every method, neighbour relation, kind of person, model and way of rows: promised against found.

    python -m experiments.audit            # about half an hour on one core
    python -m experiments.audit --quick    # 60 fits each; says little
    python -m experiments.audit --page     # the page again, from stored results

Fits go the public way; tables are made up and found by search. A row is one audit. `docs/results/audit.md`
shows the table.
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

import numpy as np
import pyarrow as pa

from discreet import Domain, DPLinearRegression, Postgres, ReuseCov
from discreet.audit import Neighbours, Subject, audit, subject_of
from discreet.audit.attack import worst_pair
from discreet.audit.one_run import one_run
from discreet.audit.paths import offered
from discreet.errors import DiscreetWarning
from discreet.papers.registry import METHODS, find
from experiments.record import environment

ROOT = Path(__file__).parents[1]
OUT = ROOT / "experiments" / "results" / "audit.json"
PAGE = ROOT / "docs" / "results" / "audit.md"
DELTA = 1e-6
SEED = 28
EPSILON = 8.0
"""The promise of most audits: with less noise, fewer fits come close."""

SECONDS = 10.0
MOST, LEAST, ENGINES = 3000, 250, 80
"""An audit has as many fits as take so long, by the speed of the first ones, but at most and at least so many; another
way of rows has the last number at least."""

CONFIDENCE = 0.95
PERSONS = Domain({"x": (-1, 1), "y": (-1, 1)}, person="who", rows_per_person=2)
WEIGHTS = Domain({"x": (-1, 1), "y": (-1, 1)}, weights="w", largest_weight=4.0)
CATEGORY = Domain({"x": (-1, 1), "c": ["a", "b", "d"], "y": (-1, 1)})
MANY = Domain({"x": (-1, 1), "y": (-1, 1), "z": (-1, 1)})


@dataclass(frozen=True)
class Case:
    """One audit; its name begins with that of the method."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    path: str = "memory"
    target: str | tuple[str, ...] = "y"
    features: tuple[str, ...] = ("x",)
    epsilon: float = EPSILON

    def subject(self) -> Subject:
        """What is attacked."""
        method = re.split(r"[ ,]", self.name)[0]
        found = subject_of(method, self.epsilon, **({"delta": DELTA} | self.options))
        return Subject(found.estimator, self.target, self.features)


REPLACE = {"neighbors": "replace-one"}


def cases() -> list[Case]:
    """Every method of the registry, and variants, persons, weights, models of classes and counts, and ways of rows."""
    found = [Case(method.name) for method in METHODS]
    found += [Case("DPLinearRegression", path=path) for path in ("pandas", "parquet", "csv", "polars", "duckdb")]
    found += [Case("DPLinearRegression", path=path) for path in ("dask", "postgres")]
    found += [Case("DPLinearRegression", epsilon=1.0), Case("SSP", epsilon=1.0), Case("OPS", epsilon=1.0)]
    found += [
        Case("DPLinearRegression, replace-one", REPLACE),
        Case("DPLinearRegression, one stage", {"stages": 1}),
        Case("DPLinearRegression, four stages", {"stages": 4}),
        Case("DPLinearRegression, category", {"domain": CATEGORY}, features=("x", "c")),
        Case("DPLinearRegression, persons", {"domain": PERSONS, "rows": None}),
        Case("DPLinearRegression, weights", {"domain": WEIGHTS, "rows": None}),
        Case("DPLinearRegression, two outcomes", {"domain": MANY}, target=("y", "z")),
        Case("ReuseCov, sample", {"subsample": 0.4}),
        Case("SSP, replace-one", REPLACE),
        Case("AdaSSP as printed in 000", {"published": "000"}),
        Case("SSP as printed in 003", {"published": "003"}),
        Case("AdaOPS as printed in 000", {"published": "000"}),
        Case("DPLogisticRegression, pure epsilon", {"noise": "laplace", "delta": None}),
        Case("DPLogisticRegression, replace-one", REPLACE),
        Case("OPS, pure epsilon", {"calibration": "pure", "delta": None}),
        Case("OutputPerturbation, Fisher shape", {"shape": "fisher"}),
        Case("ObjectivePerturbation, replace-one", REPLACE),
    ]
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


def attacked(case: Case, quick: bool, pairs: dict[tuple[str, float], Neighbours]) -> dict[str, Any]:
    """One row of the table; another way of rows has the tables of the first one."""
    start, subject, rng = time.perf_counter(), case.subject(), np.random.default_rng(SEED)
    known = (case.name, case.epsilon)
    if known not in pairs:
        pairs[known] = worst_pair(subject, rng)
    pair, tables = pairs[known], pairs[known].tables()
    with way(case.path) as path:
        with offered(tables, path) as sources:
            began = time.perf_counter()
            for source in (*sources, *sources, *sources):
                subject.seen(source, rng)
            each = (time.perf_counter() - began) / 6
        fits = 60 if quick else int(min(MOST, max(LEAST if case.path == "memory" else ENGINES, SECONDS / each)))
    with way(case.path) as path:
        found = audit(subject, path=path, fits=fits, confidence=CONFIDENCE, pair=pair, seed=SEED)
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
    known, pairs = {key(row) for row in rows}, dict[tuple[str, float], Neighbours]()
    for case in cases():
        chosen = only is None or re.search(only, f"{case.name} {case.path}")
        if chosen and (case.name, case.path, case.epsilon) not in known:
            rows.append(attacked(case, quick, pairs))
            show(rows[-1])
            write(rows, out)
    for row in once(EPSILON) if only is None else ():
        if key(row) not in known:
            rows.append(row)
            show(row)
            write(rows, out)


def show(row: dict[str, Any]) -> None:
    bound, promised = row["bound"]["epsilon"], row["promised"]["epsilon"]
    verdict = "BROKEN" if row["broken"] else ""
    noise = ", ".join(f"{own['sd_over_listed']:.3f}" for own in row.get("noise", {}).values())
    print(
        f"{row['case']:42s} {row['path']:9s} {promised:5g} {bound:7.3f} {row['fits']:6d} {row['seconds']:6.1f} s "
        f"{row['attack']:18s} {noise} {verdict}",
        flush=True,
    )


def write(rows: list[dict[str, Any]], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"title": "Audits"} | environment() | {"rows": rows}, indent=1) + "\n")


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a table of a page."""
    lines = ["| what | rows by | promised | found | noise | attack | fits |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        noise = ", ".join(f"{own['sd_over_listed']:.3f}" for own in row.get("noise", {}).values())
        found = f"**{row['bound']['epsilon']:.2f}, broken**" if row["broken"] else f"{row['bound']['epsilon']:.2f}"
        cells = [
            row["case"],
            row["path"],
            f"{row['promised']['epsilon']:g}",
            found,
            noise,
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
