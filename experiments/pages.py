"""Pages of results, one for each paper, made from the stored rows: nothing on them is written by hand but the words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.reproduce import catalogue, paper, stored
from experiments.reproduction import Finding, Reproduction

PAPERS = {
    "wang2018": 'wang2018: Y.-X. Wang, "Revisiting differentially private linear regression", 2018',
    "wang2017": 'wang2017: Y.-X. Wang, "Per-instance differential privacy", 2017',
    "li2021": "li2021: NAPP-ERM, noise-augmented privacy-preserving empirical risk minimisation",
    "piazza2021": 'piazza2021: T. Piazza, "Differentially private ridge regression", thesis, 2021',
    "neel2023": 'neel2023: S. Neel, "Private regression in multiple outcomes (PRIMO)"',
    "comparison": "The comparison: every method at equal privacy",
}
MARKS = {True: "yes", False: "**no**", None: ""}


def write(results: Path, folder: Path) -> list[Path]:
    """Write the page of every paper that has results, and the index."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{key}.md": page(key, results, folder) for key in PAPERS if _of(key, results)}
    texts["index.md"] = index(results)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def _of(key: str, results: Path) -> dict[str, tuple[Reproduction, pd.DataFrame, dict[str, Any]]]:
    """Experiments of a page that have been run."""
    named = {name: r for name, r in catalogue().items() if paper(name) == key}
    return {name: (r, *found) for name, r in named.items() if (found := stored(name, results)) is not None}


def page(key: str, results: Path, folder: Path) -> str:
    """The page of a paper that is to lie in `folder`."""
    runs = _of(key, results)
    parts = [
        f"# {PAPERS[key]}\n",
        f"Written by `discreet reproduce {key}` from the rows linked below; do not edit. [All results](index.md)\n",
    ]
    link = Path(os.path.relpath(results, folder)).as_posix()
    parts += [section(r, frame, facts, link) for r, frame, facts in runs.values()]
    return "\n".join(parts)


def section(r: Reproduction, frame: pd.DataFrame, facts: dict[str, Any], link: str) -> str:
    """One experiment: what the paper says, pictures, findings, and how it was run; `link` leads to the results."""
    lead = "**The paper:** " if r.name != paper(r.name) else "**We say:** "
    lines = [f"## {r.name}: {r.title}\n", f"{lead}{r.says}\n"]
    lines += [f"![{r.title}: {name}]({link}/{r.name}/{name}.svg)\n" for name in facts["pictures"]]
    lines += [findings(r.judge(frame), judged=facts["size"] != "quick")]
    if r.table is not None:
        shown = r.table(frame)
        lines.append(shown if isinstance(shown, str) else markdown(shown))
    if r.note:
        lines.append(f"**Set-up.** {r.note}\n")
    lines.append(f"*{made(facts)} Rows: [rows.csv]({link}/{facts['rows']}/rows.csv).*\n")
    return "\n".join(lines)


def findings(found: list[Finding], *, judged: bool = True) -> str:
    """What the paper claims beside what came out; a quick run says too little to be judged."""
    marks = MARKS if judged else {True: "not judged", False: "not judged", None: ""}
    frame = pd.DataFrame(
        [[f.claim, f.measured, marks[f.agrees], f.why] for f in found], columns=["claim", "here", "agrees", "why"]
    )
    return markdown(frame if frame["why"].any() else frame.drop(columns="why"))


def markdown(frame: pd.DataFrame) -> str:
    """A table; numbers to the right, with three digits."""
    numeric = [pd.api.types.is_numeric_dtype(frame[column]) for column in frame]
    head = "| " + " | ".join(map(str, frame.columns)) + " |\n|" + "|".join("---:" if n else "---" for n in numeric)
    rows = ["| " + " | ".join(map(_text, row)) + " |" for row in frame.itertuples(index=False)]
    return head + "|\n" + "\n".join(rows) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


def made(facts: dict[str, Any]) -> str:
    """When, with what and on what the rows were made."""
    seconds = facts["seconds"]
    spent = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    return (
        f"{facts['date'][:10]}, discreet {facts['versions']['discreet']}, size {facts['size']}: {facts['cells']} "
        f"cells, {spent} of one core, {facts['cpu']} with {facts['cpu_count']} cores."
    )


def index(results: Path) -> str:
    """All experiments with the number of findings that agree."""
    rows = []
    for key in PAPERS:
        for name, (r, frame, facts) in _of(key, results).items():
            found = [f.agrees for f in r.judge(frame) if f.agrees is not None]
            count = f"{sum(found)} of {len(found)}" if found and facts["size"] != "quick" else "not judged"
            rows.append([f"[{name}]({key}.md)", r.title, count, facts["size"]])
    head = (
        "# Results: the papers' tables and figures, made again\n\n"
        "Each line is one experiment, `discreet reproduce NAME`; `discreet reproduce --list` tells them all. The\n"
        "pages show pictures beside what the papers say, what agrees, what does not and why. Where a paper's privacy\n"
        "claim is false, its method is run as published, to compare, and [errata](../research/errata.md) has\n"
        "the number.\n\n"
    )
    head += "".join(f"* [{title}]({key}.md)\n" for key, title in PAPERS.items() if _of(key, results)) + "\n"
    return head + markdown(pd.DataFrame(rows, columns=["experiment", "what", "claims that agree", "size"]))
