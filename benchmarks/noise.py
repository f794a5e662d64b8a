"""The cost of exact noise, beside OpenDP's vector Gaussian: ``python -m benchmarks.noise``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from experiments.record import report, version

from benchmarks.common import options, seconds
from discreet import Domain, Moments, release
from discreet.gate import noise as kernel
from discreet.gate.entropy import OSEntropy
from discreet.gate.noise import add_rounded_normal, rounded_normal

INSTALL_OPENDP = 'OpenDP is not installed, so there is nothing to compare with: pip install "discreet[bench]"'
EXPONENTS = (35, 44, 52)


def straddles(call: Callable[[], object]) -> int:
    """How many values of one call take the slow path."""
    with mock.patch.object(kernel, "_settle", wraps=kernel._settle) as settle:
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
    x = np.array(lattice_vector(values))
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


def release_row(d: int, repeats: int) -> dict[str, Any]:
    """A whole release of a d x d Gram matrix with per-column bounds."""
    rng = np.random.default_rng(2)
    low, high = -rng.uniform(1, 2, d), rng.uniform(1, 2, d)
    names = [f"x{i}" for i in range(d)]
    domain = Domain.from_bounds(names, bounds_X=(low, high))
    moments = Moments.from_source(rng.uniform(-1, 1, (2000, d)), domain)
    values = (d + 1) * (d + 2) // 2
    return row(f"release(), d = {d}", "", values, lambda: release(moments, epsilon=1, delta=1e-6), repeats)


def main() -> None:
    given = options("noise", __doc__, values=500_500, opendp_values=20_000, repeats=5)
    rows = discreet_rows(given.values, given.repeats)
    if version("opendp") is None:
        print(INSTALL_OPENDP)
    else:
        rows += opendp_rows(given.opendp_values, given.repeats)
    rows.append(release_row(1000, 2))
    for r in rows:
        r["seconds"] = r["microseconds_per_value"] * r["values"] / 1e6
    columns = ("method", "sd", "values", "microseconds_per_value", "seconds", "ratio", "straddles")
    report("Gaussian noise on integer lattice vectors", columns, with_ratios(rows), given.out)


if __name__ == "__main__":
    main()
