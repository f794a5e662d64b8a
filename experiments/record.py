"""What every measured figure is kept with: the machine, the versions, one table, one JSON file."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

PACKAGES = ("discreet", "numpy", "scipy", "scikit-learn", "pyarrow", "mpmath", "opendp")


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
