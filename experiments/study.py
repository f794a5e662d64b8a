"""The study engine: cells of a grid worked off in parallel, resumable after a kill, with progress and time left."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from discreet.cli.reproduce import begin_worker

Cell = dict[str, Any]
Rows = list[dict[str, Any]]
ROOT = Path(__file__).resolve().parent.parent


def parser(module: str, name: str, description: str | None) -> argparse.ArgumentParser:
    """The options that every study has: processes, its log, and where the figures go."""
    found = argparse.ArgumentParser(prog=f"python -m experiments.{module}", description=description)
    found.add_argument("--jobs", type=int, default=2)
    found.add_argument("--log", type=Path, default=Path(f"experiments/results/log/{name}.jsonl"))
    found.add_argument("--out", type=Path, default=Path(f"experiments/results/{name}.json"))
    return found


def run(title: str, cells: Iterable[Cell], work: Callable[[Cell], Rows], log: Path, jobs: int = 2) -> Rows:
    """Work off every cell that the log does not hold yet, and return the tidy rows of all cells.

    Parameters
    ----------
    title : str
        What the progress bar says.
    cells : iterable of dict
        The grid; a cell is a JSON-ready dict, and the same cell is never worked off twice.
    work : callable
        A module-level function from a cell to its rows; it must be repeatable (seeded).
    log : path
        JSON lines, one for each finished cell. A kill loses the cells under way and nothing else.
    jobs : int
        Processes.
    """
    wanted = {_key(cell): cell for cell in cells}
    done = _read(log)
    missing = [cell for key, cell in wanted.items() if key not in done]
    log.parent.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn())
    with (
        Progress(*columns, console=Console(stderr=True)) as progress,
        log.open("a", encoding="utf-8") as file,
        ProcessPoolExecutor(jobs, initializer=begin_worker, initargs=(ROOT,)) as pool,
    ):
        task = progress.add_task(title, total=len(wanted), completed=len(wanted) - len(missing))
        if log.stat().st_size and not log.read_bytes().endswith(b"\n"):
            file.write("\n")
        futures = {pool.submit(_timed, work, cell): cell for cell in missing}
        try:
            for future in as_completed(futures):
                cell = futures[future]
                rows, seconds = future.result()
                done[_key(cell)] = rows
                file.write(json.dumps({"cell": cell, "rows": rows, "seconds": seconds}) + "\n")
                file.flush()
                progress.advance(task)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # otherwise the pool would first work off the rest, for nothing
            raise
    return [cell | row for key, cell in wanted.items() for row in done[key]]


def seconds(cells: Iterable[Cell], log: Path) -> float:
    """How long the work of these cells took, in processes put one after the other."""
    times = {_key(entry["cell"]): entry.get("seconds", 0.0) for entry in _entries(log)}
    return float(sum(times.get(_key(cell), 0.0) for cell in cells))


def _timed(work: Callable[[Cell], Rows], cell: Cell) -> tuple[Rows, float]:
    _one_thread()
    start = time.process_time()
    return work(cell), round(time.process_time() - start, 3)


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True)


def _read(log: Path) -> dict[str, Rows]:
    return {_key(entry["cell"]): entry["rows"] for entry in _entries(log)}


def _entries(log: Path) -> Iterator[dict[str, Any]]:
    """Finished cells; a line that a kill cut short does not count."""
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(entry, dict) and {"cell", "rows"} <= entry.keys():
            yield entry


@cache
def _one_thread() -> None:
    """Processes share the cores already: no threads below them."""
    from threadpoolctl import threadpool_limits

    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(1)
