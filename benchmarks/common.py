"""What the benchmarks share: timing, the machine's description, one table, one JSON file."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

PACKAGES = ("discreet", "numpy", "scipy", "scikit-learn", "pyarrow", "mpmath", "opendp")


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
        for job in jobs:
            runs = [in_process(benchmark, job, *size) for _ in range(given.repeats)]
            facts = {what: job, "rows": given.rows, "columns": given.columns}
            rows.append(facts | {"seconds": min(run[0] for run in runs), "peak_MB": max(run[1] for run in runs)})
    finally:
        shutil.rmtree(folder)
    return [row | {"ratio": row["seconds"] / rows[0]["seconds"]} for row in rows]


def ran_job(jobs: Mapping[str, Job]) -> bool:
    """Whether this process was started by `in_process`; then the job is done and its figures printed."""
    if len(sys.argv) != 6 or sys.argv[1] != "--job":
        return False
    job, folder, n, columns = jobs[sys.argv[2]], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    print(seconds(lambda: job(folder, n, columns), 1), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return True


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def environment() -> dict[str, Any]:
    """Date, machine and versions: every figure says where it was measured."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cpu_count": os.cpu_count(),
        "platform": platform.system(),
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := version(name))},
    }


def options(name: str, description: str | None, **defaults: int) -> argparse.Namespace:
    """Command-line options: whole numbers with defaults, and where the JSON goes."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    for option, default in defaults.items():
        parser.add_argument(f"--{option.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=Path(f"benchmarks/results/{name}.json"))
    return parser.parse_args()


def report(
    title: str,
    columns: Sequence[str],
    rows: list[dict[str, Any]],
    out: Path,
    detail: list[dict[str, Any]] | None = None,
) -> None:
    """Print the named columns of the rows as a table, and write everything as JSON, with more detail where given."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        numeric = all(not isinstance(row.get(column), str) for row in rows)
        table.add_column(column.replace("_", " "), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        json.dumps({"title": title} | environment() | {"rows": rows if detail is None else detail}, indent=1) + "\n"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
