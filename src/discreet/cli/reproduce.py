"""`discreet reproduce`: the papers' tables and figures, reproduced."""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.errors import ParameterError

EPILOG = "Example: discreet reproduce wang2018-fig3 --quick --out trial"


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="An experiment (wang2018-fig3), a paper (wang2018), or all.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder with the studies' data; DISCREET_DATA by default.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the results; `reproduced` in the current folder by default.")
    ] = Path("reproduced"),
    quick: Annotated[bool, typer.Option("--quick", help="Seconds instead of hours; says little.")] = False,
    full: Annotated[bool, typer.Option("--full", help="As many repeats as the papers have.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes.")] = 2,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the cells that earlier runs finished.")] = False,
    pages: Annotated[bool, typer.Option("--pages", help="Only draw and write again, from stored results.")] = False,
) -> None:
    """Make the papers' tables and figures again. A run that was stopped goes on where it was."""
    runner = _experiments("reproduce")
    if list_all:
        return _list(runner)
    if name is None:
        raise ParameterError("Name an experiment, a paper or all: see `discreet reproduce --list`.")
    if quick and full:
        raise ParameterError("--quick and --full exclude each other: leave out one of them.")
    chosen = runner.select(name)
    if not chosen:
        raise ParameterError(f"There is no experiment {name!r}: see `discreet reproduce --list`.")
    named = data or os.environ.get("DISCREET_DATA")
    folder = Path(named) if named else None
    if folder is not None and not folder.is_dir():
        raise ParameterError(f"There is no folder {folder}. Name that of the studies' data: --data or DISCREET_DATA.")
    if out.exists() and not out.is_dir():
        raise ParameterError(f"{out} is not a folder. Name one for the results with --out.")
    lacking = [r.name for r in chosen if r.needs_data and folder is None and not pages]
    for reproduction in chosen:
        if pages:
            runner.pictures(reproduction, out)
        elif reproduction.name not in lacking:
            _run(runner, reproduction, "quick" if quick else "full" if full else "normal", folder, out, jobs, fresh)
    if len(lacking) < len(chosen):
        written = runner.ROOT / "docs" / "results" if out.resolve() == runner.RESULTS else out / "pages"
        _experiments("pages").write(out, written)
        console.say(f"Results are in {out}, pages in {written}.")
    if lacking:
        raise ParameterError(
            f"Left out for want of the studies' data: {', '.join(lacking)}. Name their folder: --data or DISCREET_DATA."
        )


def _run(runner: Any, r: Any, size: str, folder: Path | None, out: Path, jobs: int, fresh: bool) -> None:
    runner.run(r, size, folder, out, jobs, fresh=fresh)
    marks = {True: "agrees", False: "DIFFERS", None: "      "}
    for finding in r.judge(runner.stored(r.name, out)[0]):
        mark = "not judged" if size == "quick" and finding.agrees is not None else marks[finding.agrees]
        console.say(f"{r.name}: {mark}  {finding.claim}: {finding.measured}")


def _list(runner: Any) -> None:
    rows = [[r.name, r.title, "yes" if r.needs_data else ""] for r in runner.catalogue().values()]
    console.table("Experiments", ["name", "what it shows", "needs data"], rows)


def _experiments(module: str) -> ModuleType:
    """Import a module of the experiments, which are part of the repository and not of the installed package."""
    if not (Path.cwd() / "experiments" / "reproduction.py").exists():
        raise ParameterError(
            "The experiments are not part of the installed package. Get the repository of discreet, or its source "
            "archive, and run the command in its folder."
        )
    if importlib.util.find_spec("pandas") is None:
        raise ParameterError("The experiments need pandas: pip install pandas")
    load(Path.cwd())
    return importlib.import_module(f"experiments.{module}")


def load(root: Path) -> None:
    """Import the package `experiments` of a checkout, without changing `sys.path`."""
    place = root.resolve() / "experiments"
    known = sys.modules.get("experiments")
    if known is not None and str(place) in map(str, known.__path__):
        return
    spec = importlib.util.spec_from_file_location(
        "experiments", place / "__init__.py", submodule_search_locations=[str(place)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["experiments"] = package
    spec.loader.exec_module(package)


def begin_worker(root: Path) -> None:
    """Prepare a worker process: it imports the experiments, and ends with its parent, even if that one is killed."""
    load(root)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
