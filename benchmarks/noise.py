"""The cost of exact noise, beside OpenDP's vector Gaussian: ``python -m benchmarks.noise``."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from rich.console import Console
from rich.table import Table

from discreet import randomness
from discreet.randomness import OSEntropy, add_rounded_normal, rounded_normal

INSTALL_OPENDP = 'OpenDP is not installed, so there is nothing to compare with: pip install "discreet[bench]"'
EXPONENTS = (35, 44, 52)


def seconds(call: Callable[[], object], repeats: int) -> float:
    """The least wall time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def straddles(call: Callable[[], object]) -> int:
    """How many values of one call take the slow path."""
    with mock.patch.object(randomness, "_settle", wraps=randomness._settle) as settle:
        call()
    return settle.call_count


def row(method: str, sd: str, values: int, call: Callable[[], object], repeats: int) -> dict[str, Any]:
    call()
    return {
        "method": method,
        "sd": sd,
        "values": values,
        "microseconds_per_value": seconds(call, repeats) / values * 1e6,
        "repeats": repeats,
    }


def lattice_vector(values: int) -> list[int]:
    return np.random.default_rng(1).integers(-(2**60), 2**60, size=values).tolist()


def discreet_rows(values: int, repeats: int) -> list[dict[str, Any]]:
    source = OSEntropy()
    offset = np.random.default_rng(0).random(values)
    x = np.array(lattice_vector(values), dtype=object)
    calls = [("rounded_normal", "1.5 * 2^30", lambda: rounded_normal(offset, 1.5 * 2.0**30, source))]
    for exponent in EXPONENTS:
        sd = 2.0**exponent
        calls.append(("add_rounded_normal", f"2^{exponent}", lambda sd=sd: add_rounded_normal(x, sd, source)))
    return [row(method, sd, values, call, repeats) | {"straddles": straddles(call)} for method, sd, call in calls]


def opendp_rows(values: int, repeats: int) -> list[dict[str, Any]]:
    """OpenDP's discrete Gaussian on 64-bit integers, and its Gaussian on doubles, from a Python list."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    integers = lattice_vector(values)
    inputs = [
        ("OpenDP, i64", dp.atom_domain(T="i64"), integers),
        ("OpenDP, f64", dp.atom_domain(T=float, nan=False), [float(value) for value in integers]),
    ]
    rows = []
    for exponent in EXPONENTS:
        for method, atom, x in inputs:
            space = dp.vector_domain(atom), dp.l2_distance(T=float)
            gaussian = dp.m.make_gaussian(*space, scale=2.0**exponent)
            rows.append(row(method, f"2^{exponent}", values, lambda g=gaussian, x=x: g(x), repeats))
    return rows


def with_ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row with its time over that of add_rounded_normal at the same sd."""
    ours = {r["sd"]: r["microseconds_per_value"] for r in rows if r["method"] == "add_rounded_normal"}
    return [r | {"ratio": r["microseconds_per_value"] / ours[r["sd"]]} if r["sd"] in ours else r for r in rows]


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
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cpu_count": os.cpu_count(),
        "platform": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("discreet", "numpy", "scipy", "mpmath", "opendp")},
    }


def show(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(title="Gaussian noise on integer lattice vectors")
    for heading in ("method", "sd", "values", "µs a value", "ratio", "straddles"):
        table.add_column(heading, justify="left" if heading in ("method", "sd") else "right")
    for r in rows:
        ratio = f"{r['ratio']:.1f}" if "ratio" in r else ""
        time_cell = f"{r['microseconds_per_value']:.3f}"
        table.add_row(r["method"], r["sd"], f"{r['values']:,}", time_cell, ratio, str(r.get("straddles", "")))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=500_500)
    parser.add_argument("--opendp-values", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/noise.json"))
    options = parser.parse_args()
    console = Console()
    rows = discreet_rows(options.values, options.repeats)
    if version("opendp") is None:
        console.print(INSTALL_OPENDP, markup=False)
    else:
        rows += opendp_rows(options.opendp_values, options.repeats)
    rows = with_ratios(rows)
    show(rows, console)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(environment() | {"rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
