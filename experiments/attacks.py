"""Attacks on the ways into a release, tried on an earlier version and on this one.

    python -m experiments.attacks                  # version 0.2.0 and this checkout; a few minutes
    python -m experiments.attacks --before REV
    python -m experiments.attacks --only test_collations    # some of them again; other rows stay
    python -m experiments.attacks --page           # the page again, from stored results

Each file of `tests/attacks` is one attack; the first sentence of its docstring says what it does. The same tests run
on the package of the earlier revision and on this one. `docs/results/audit.md` shows the table.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks.common import checked_out

from experiments import audit
from experiments.record import environment

ROOT = Path(__file__).parents[1]
ATTACKS = ROOT / "tests" / "attacks"
OUT = ROOT / "experiments" / "results" / "attacks.json"
V020 = "28e8002"
"""Version 0.2.0."""

START, END = "<!-- attacks -->", "<!-- end of attacks -->"


def files() -> list[Path]:
    """The attacks, one a file."""
    return sorted(ATTACKS.glob("test_*.py"))


def sentence(file: Path) -> str:
    """The attack in one sentence: the first paragraph of the file's docstring."""
    told = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(told.split("\n\n")[0].split())


def outcomes(src: Path, chosen: list[Path]) -> dict[str, dict[str, int]]:
    """How many tests of some files passed, failed and were skipped with the package in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "outcomes.xml"
        told = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "more or not more",
            "-o",
            "xfail_strict=true",
            f"--junitxml={written}",
        ]
        given = os.environ | {"PYTHONPATH": str(src)}
        command = [sys.executable, "-m", "pytest", *told, *map(str, chosen)]
        subprocess.run(command, cwd=ROOT, env=given, check=False, stdout=subprocess.DEVNULL)
        cases = list(ElementTree.parse(written).iter("testcase"))
    counts = {file.stem: Counter[str]() for file in chosen}
    for case in cases:
        stem = case.get("classname", "").split(".")[-1] or case.get("name", "").split(".")[-1]
        found = {child.tag for child in case}
        failed = bool(found & {"failure", "error"})
        counts[stem]["failed" if failed else "skipped" if "skipped" in found else "passed"] += 1
    return {stem: dict(count) for stem, count in counts.items()}


def rows(before: str, chosen: list[Path]) -> list[dict[str, Any]]:
    """One row an attack."""
    with checked_out(ROOT, before) as place:
        then = outcomes(place / "src", chosen)
    now = outcomes(ROOT / "src", chosen)
    return [
        {"file": file.stem, "attack": sentence(file), "before": then[file.stem], "now": now[file.stem]}
        for file in chosen
    ]


def words(counts: dict[str, int]) -> str:
    """Outcomes of a file's tests in a few words."""
    failed, skipped = counts.get("failed", 0), counts.get("skipped", 0)
    total = failed + counts.get("passed", 0)
    told = f"**{failed} of {total} fail**" if failed else f"all {total} pass"
    return told + (f", {skipped} skipped" if skipped else "")


def table(facts: dict[str, Any]) -> str:
    """The rows as a table of a page."""
    lines = ["| attack, and what came of it in 0.2.0 | tests on 0.2.0 | now | test |", "|---|---|---|---|"]
    for row in facts["rows"]:
        link = f"[{row['file'].removeprefix('test_')}](../../tests/attacks/{row['file']}.py)"
        told = row["attack"].replace("|", "\\|")
        lines.append(f"| {told} | {words(row['before'])} | {words(row['now'])} | {link} |")
    return "\n".join(lines)


def page() -> None:
    """Put the table into the page."""
    text, facts = audit.PAGE.read_text(encoding="utf-8"), json.loads(OUT.read_text(encoding="utf-8"))
    before, rest = text.split(START)
    after = rest.split(END)[1]
    audit.PAGE.write_text(f"{before}{START}\n\n{table(facts)}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.attacks", description=__doc__)
    parser.add_argument("--before", default=V020, help="the earlier revision; 0.2.0 by default")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--only", nargs="+", help="names of files; other rows stay as they are stored")
    given = parser.parse_args()
    if not given.page:
        chosen = [file for file in files() if given.only is None or file.stem in given.only]
        stored = json.loads(OUT.read_text(encoding="utf-8"))["rows"] if given.only else []
        found = {row["file"]: row for row in [*stored, *rows(given.before, chosen)]}
        own = [found[file.stem] for file in files()]
        facts = {"title": "Attacks", "before": given.before} | environment() | {"rows": own}
        OUT.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        for row in facts["rows"]:
            print(f"{row['file']:40s} before: {words(row['before']):24s} now: {words(row['now'])}")
    page()


if __name__ == "__main__":
    main()
