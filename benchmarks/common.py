"""Timing, subprocesses and options that the benchmarks share."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


def seconds(call: Callable[[], object], repeats: int) -> float:
    """The least wall time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


Job = Callable[[Path, int, int], object]


def in_process(benchmark: str, job: str, folder: Path, rows: int, columns: int) -> tuple[float, float]:
    """Seconds and peak memory in MB of a job of a benchmark, in a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", "--job", job, str(folder), str(rows), str(columns)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    elapsed, peak = map(float, done.stdout.split())
    return elapsed, peak


def beside(
    benchmark: str, prepare: Sequence[str], jobs: Sequence[str], given: argparse.Namespace, what: str
) -> list[dict[str, Any]]:
    """Least seconds, peak memory and the ratio to the first, of jobs on a folder that other jobs prepared."""
    folder, rows = Path(tempfile.mkdtemp(prefix="discreet-benchmark-")), []
    size = (folder, given.rows, given.columns)
    try:
        for job in prepare:
            in_process(benchmark, job, *size)
        rounds = [[in_process(benchmark, job, *size) for job in jobs] for _ in range(given.repeats)]
        for job, runs in zip(jobs, zip(*rounds, strict=True), strict=True):
            facts = {what: job, "rows": given.rows, "columns": given.columns}
            rows.append(facts | {"seconds": min(run[0] for run in runs), "peak_MB": max(run[1] for run in runs)})
    finally:
        shutil.rmtree(folder)
    return [row | {"ratio": row["seconds"] / rows[0]["seconds"]} for row in rows]


@contextlib.contextmanager
def checked_out(root: Path, revision: str) -> Iterator[Path]:
    """An earlier revision of a checkout, in a folder for a while."""
    with tempfile.TemporaryDirectory() as folder:
        place, git = Path(folder) / "before", ["git", "worktree"]
        subprocess.run([*git, "add", "--detach", place, revision], cwd=root, check=True, capture_output=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", place], cwd=root, check=True, capture_output=True)


def at_revision(script: str, revision: str) -> Any:
    """What a script of this folder prints as JSON, with ``--print``, about the package of an earlier revision."""
    root = Path(script).resolve().parents[1]
    with checked_out(root, revision) as place:
        given = os.environ | {"PYTHONPATH": os.pathsep.join([str(place / "src"), str(root)])}
        command = [sys.executable, str(Path(script).resolve()), "--print"]
        done = subprocess.run(command, cwd=place, env=given, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def ran_job(jobs: Mapping[str, Job]) -> bool:
    """Whether this process was started by `in_process`; then the job is done and its figures printed."""
    if len(sys.argv) != 6 or sys.argv[1] != "--job":
        return False
    job, folder, n, columns = jobs[sys.argv[2]], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    print(seconds(lambda: job(folder, n, columns), 1), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return True


def options(name: str, description: str | None, **defaults: int) -> argparse.Namespace:
    """Command-line options: whole numbers with defaults, and where the JSON goes."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    for option, default in defaults.items():
        parser.add_argument(f"--{option.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=Path(f"benchmarks/results/{name}.json"))
    return parser.parse_args()
