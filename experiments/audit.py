"""Attacks on every method, neighbour relation, kind of person, model and way of rows: promised against found.

    python -m experiments.audit            # about ten minutes on two cores
    python -m experiments.audit --quick    # 60 fits each; says little
    python -m experiments.audit --page     # the page again, from stored results

Fits go the public way; tables are made up and found by search. A row is one audit. All are of one commit: what was
kept of another is made again. `docs/results/audit.md` shows the table.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import Domain, NappAugmentation, Postgres
from discreet.audit import Neighbours, Subject, audit, subject_of
from discreet.audit.attack import worst_pair
from discreet.audit.evidence import Evidence
from discreet.audit.one_run import one_run
from discreet.audit.paths import offered
from discreet.errors import DiscreetWarning
from discreet.mechanisms.registry import METHODS, find
from experiments import study
from experiments.record import environment

ROOT = Path(__file__).parents[1]
OUT = ROOT / "experiments" / "results" / "audit.json"
PAGE = ROOT / "docs" / "results" / "audit.md"
DELTA = 1e-6
SEED = 28
EPSILON = 8.0
"""The promise of most audits: with less noise, fewer fits come close."""

SECONDS = 10.0
MOST, LEAST, ENGINES = 3000, 200, 60
"""An audit has as many fits as take so long, by the speed of the first ones, but at most and at least so many; another
way of rows, and a method that releases what another does, have the last number at least."""

SAME = ("DPRidge", "DPLasso", "DPElasticNet")
"""They release what DPLinearRegression does."""

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
PURE = {"noise": "laplace", "delta": None}
PUBLIC = {"association": "projection"} | REPLACE
PRINTED = {
    "published": "li2021",
    "penalty": "l2",
    "alpha": 1.0,
    "augmentation": NappAugmentation(n_e=None),
}
PATHS = ("memory", "pandas", "parquet", "csv", "polars", "duckdb", "dask", "postgres", "postgres, pushdown")
ONE_RUN = "one run"
ONCE = {"SSP": {}, "ReuseCov": {}, "DPLinearRegression": {"stages": 1}, "DPLogisticRegression": {}, "NoisySGD": {}}


def cases() -> list[Case]:
    """Every method of the registry, and variants, persons, weights, models of classes and counts, and ways of rows."""
    found = [Case("DPLinearRegression", path=path) for path in PATHS]
    found += [Case(method.name) for method in METHODS if method.name != "DPLinearRegression"]
    found += [Case("DPLinearRegression", epsilon=1.0), Case("SSP", epsilon=1.0), Case("OPS", epsilon=1.0)]
    return [
        *found,
        Case("DPLinearRegression, replace-one", REPLACE),
        Case("DPLinearRegression, one stage", {"stages": 1}),
        Case("DPLinearRegression, one stage", {"stages": 1}, path="postgres, pushdown"),
        Case("DPLinearRegression, four stages", {"stages": 4}),
        Case("DPLinearRegression, category", {"domain": CATEGORY}, features=("x", "c")),
        Case("DPLinearRegression, persons", {"domain": PERSONS, "rows": None}),
        Case("DPLinearRegression, weights", {"domain": WEIGHTS, "rows": None}),
        Case("DPLinearRegression, two outcomes", {"domain": MANY}, target=("y", "z")),
        Case("SSP, persons", {"domain": PERSONS, "rows": None}),
        Case("SSP, replace-one", REPLACE),
        Case("ReuseCov, sample", {"subsample": 0.4}),
        Case("ReuseCov, public outcomes", PUBLIC),
        Case("DPLogisticRegression, as declared", {"stages": 1}),
        Case("DPLogisticRegression, pure epsilon", PURE),
        Case("DPLogisticRegression, replace-one", REPLACE),
        Case("DPPoissonRegression, as declared", {"stages": 1}),
        Case("DPLinearSVC, pure epsilon", PURE),
        Case("OPS, pure epsilon", {"calibration": "pure", "delta": None}),
        Case("OutputPerturbation, Fisher shape", {"shape": "fisher"}),
        Case("ObjectivePerturbation, replace-one", REPLACE),
        Case("AdaSSP as printed in wang2018", {"published": "wang2018"}),
        Case("SSP as printed in piazza2021", {"published": "piazza2021"}),
        Case("OPS as coded for wang2018", {"published": "wang2018-code"}),
        Case("AdaOPS as printed in wang2018", {"published": "wang2018"}),
        Case("NAPP as printed in li2021", PRINTED),
    ]


@contextlib.contextmanager
def way(path: str) -> Iterator[Any]:
    """A way of rows by name; a private PostgreSQL server is started where it is asked for."""
    if not path.startswith("postgres"):
        yield path
        return
    import adbc_driver_postgresql.dbapi as driver
    from benchmarks import postgres

    with postgres.server() as address:

        def ingested(table: pa.Table, folder: Path) -> Postgres:
            with driver.connect(address) as connection, connection.cursor() as cursor:
                cursor.adbc_ingest(folder.name, table, mode="replace")
                connection.commit()
            return Postgres(address, folder.name, pushdown=path.endswith("pushdown"))

        yield ingested


def attacked(case: Case, pair: Neighbours, quick: bool) -> dict[str, Any]:
    """One row of the table."""
    start, subject, rng = time.perf_counter(), case.subject(), np.random.default_rng(SEED)
    tables = pair.tables()
    with way(case.path) as path:
        with offered(tables, path) as sources:
            evidence = Evidence(*tables, subject.quiet())
            evidence.read(subject.seen(sources[0], rng), 0)
            began = time.perf_counter()
            for k in range(6):
                evidence.read(subject.seen(sources[k % 2], rng), k % 2)
            each = (time.perf_counter() - began) / 6
        least = LEAST if case.path == "memory" and case.name not in SAME else ENGINES
        fits = 60 if quick else int(min(MOST, max(least, (SECONDS if least == LEAST else 0.5 * SECONDS) / each)))
        found = audit(subject, path=path, fits=fits, confidence=CONFIDENCE, pair=pair, seed=SEED)
    row = {"case": case.name} | found.to_dict() | {"path": case.path}
    return row | {"seconds": round(time.perf_counter() - start, 1)}


def once(name: str, quick: bool) -> dict[str, Any]:
    """An audit by a single fit."""
    start, canaries = time.perf_counter(), 60 if quick else 400
    row = one_run(find(name).estimator, EPSILON, DELTA, canaries=canaries, seed=SEED, **ONCE[name]).to_dict()
    known = {"case": f"{name}, {ONE_RUN}", "path": "memory"}
    return known | row | {"seconds": round(time.perf_counter() - start, 1)}


def work(cell: study.Cell) -> study.Rows:
    """All ways of rows of one method: they have the same tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        if cell["name"].endswith(ONE_RUN):
            return [once(cell["name"].split(",")[0], cell["quick"])]
        own = [case for case in cases() if (case.name, case.epsilon) == (cell["name"], cell["epsilon"])]
        start = time.perf_counter()
        pair = worst_pair(own[0].subject(), np.random.default_rng(SEED))
        search = time.perf_counter() - start
        rows = [attacked(case, pair, cell["quick"]) for case in own]
    rows[0]["seconds"] = round(rows[0]["seconds"] + search, 1)
    return rows


def commit() -> str:
    """What is attacked."""
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=False, capture_output=True, text=True)
    return told.stdout.strip() or "unknown"


def cells(quick: bool, only: str | None) -> list[study.Cell]:
    """A cell a method, and one a single fit."""
    names = dict.fromkeys((case.name, case.epsilon) for case in cases())
    names |= dict.fromkeys((f"{name}, {ONE_RUN}", EPSILON) for name in ONCE)
    shared = {"quick": quick, "commit": commit()}
    return [
        {"name": name, "epsilon": epsilon} | shared for name, epsilon in names if only is None or re.search(only, name)
    ]


def noises(row: dict[str, Any]) -> str:
    """The sd of the noise over the listed one, of each kind of value."""
    return ", ".join(f"{own['sd_over_listed']:.3f}" for own in row.get("noise", {}).values())


def show(row: dict[str, Any]) -> None:
    bound, promised = row["bound"]["epsilon"], row["promised"]["epsilon"]
    verdict = "BROKEN" if row["broken"] else ""
    print(
        f"{row['case']:42s} {row['path']:9s} {promised:5g} {bound:7.3f} {row['fits']:6d} {row['seconds']:6.1f} s "
        f"{row['attack']:18s} {noises(row)} {verdict}",
        flush=True,
    )


def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(OUT.read_text(encoding="utf-8"))
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a table of a page."""
    head = ("what", "rows by", "promised", "found", "noise", "attack", "fits", "seconds")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        found = f"**{row['bound']['epsilon']:.2f}, broken**" if row["broken"] else f"{row['bound']['epsilon']:.2f}"
        cells = [
            row["case"],
            row["path"],
            f"{row['promised']['epsilon']:g}",
            found,
            noises(row),
            row["attack"],
            f"{row['fits']:,}",
            f"{row['seconds']:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


START, END = "<!-- audits -->", "<!-- end of audits -->"


def told(facts: dict[str, Any]) -> str:
    """Where and when the figures were made, and how long that took."""
    machine = f"a {facts['cpu_count']}-core {facts['cpu']}"
    broken = sum(row["broken"] for row in facts["rows"])
    verdict = "No method was found broken." if not broken else f"**{broken} were found broken.**"
    return (
        f"{len(facts['rows'])} audits on {facts['date'][:10]}, on {machine}, with Python {facts['python']}: "
        f"{facts['seconds'] / 60:.0f} minutes of one core. {verdict}"
    )


def page() -> None:
    """Put the table into the page."""
    text, facts = PAGE.read_text(encoding="utf-8"), stored()
    before, rest = text.split(START)
    after, shown = rest.split(END)[1], f"{told(facts)}\n\n{table(facts['rows'])}"
    PAGE.write_text(f"{before}{START}\n\n{shown}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = study.parser("audit", "audit", __doc__)
    parser.add_argument("--quick", action="store_true", help="60 fits each; nothing is written but the log")
    parser.add_argument("--only", help="a pattern that names of cases match; nothing is written but the log")
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_args()
    if not given.page:
        wanted = cells(given.quick, given.only)
        rows = study.run("Audits", wanted, work, given.log, given.jobs)
        for row in rows:
            show(row)
        if given.quick or given.only:
            return
        own = [{name: value for name, value in row.items() if name not in wanted[0]} for row in rows]
        made = {"commit": wanted[0]["commit"], "seconds": study.seconds(wanted, given.log)}
        facts = {"title": "Audits"} | environment() | made
        given.out.write_text(json.dumps(facts | {"rows": own}, indent=1) + "\n", encoding="utf-8")
    page()


if __name__ == "__main__":
    main()
