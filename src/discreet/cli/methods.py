"""`discreet methods`: the methods and the status of their guarantees."""

from __future__ import annotations

from discreet.cli import console
from discreet.cli.arguments import Json
from discreet.core.citations import PAPERS
from discreet.mechanisms.registry import METHODS

EPILOG = "Example: discreet methods --json"


def methods(json: Json = False) -> None:
    """List the methods and the status of their guarantees."""
    if json:
        facts = [{"name": m.name, "source": m.source, "status": m.status, "summary": m.summary} for m in METHODS]
        return console.print_json(facts)
    rows = [[m.name, m.summary, ", ".join(m.estimator.papers)] for m in METHODS]
    console.table("Methods", ["method", "what it does", "--published"], rows)
    for paper in PAPERS:
        console.say(f"{paper.key}: {paper}.")
    console.say(
        "All are verified: proven, tested and accounted for. With the constants that a paper prints (--published), "
        "what it promises is only claimed. Where methods come from: --json, or the README."
    )
