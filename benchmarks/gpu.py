"""Passes on a GPU, beside its plain X'X and beside numpy: ``python -m benchmarks.gpu``, or with ``--device cpu``."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from experiments.record import report

from discreet import Domain, DPLinearRegression, DPLogisticRegression, Moments
from discreet.data.device.device import as_device

COLUMNS = (20, 100, 1000, 4000)
SIZES = {
    "cuda": {"numbers": 4_000_000_000, "rows": 100_000_000, "compared": 1_000_000, "streamed": 10_000_000},
    "cpu": {"numbers": 8_000_000, "rows": 200_000, "compared": 200_000, "streamed": 200_000},
}
SHARE = 0.6
"""The share of a GPU's free memory that rows take at most."""

SHOWN = ("job", "rows", "columns", "seconds", "rows_per_second", "numpy_rows_per_second", "ratio_to_plain", "same_bits")


def bounds(columns: int) -> Domain:
    return Domain.from_bounds([f"x{i}" for i in range(columns)], ["y"], bounds_X=(-4, 4), bounds_y=(-16, 16))


class Bench:
    """A device, sizes, and timing that waits for it."""

    def __init__(self, given: argparse.Namespace) -> None:
        import torch

        self._device = as_device(given.device)
        self.torch, self.device, self.repeats = torch, given.device, given.repeats
        kind = given.device.partition(":")[0]
        self.sizes = {name: getattr(given, name) or size for name, size in SIZES[kind].items()}
        self.columns = [own for own in COLUMNS if own <= given.most_columns]
        self._cuda = kind == "cuda"
        self.jobs = None if self._cuda else torch.get_num_threads()

    def rows(self, wanted: int, bytes_each: float) -> int:
        """The number of rows that fit into the device's memory."""
        room = SHARE * self.torch.cuda.mem_get_info(self._device.place)[0] if self._cuda else np.inf
        return max(1000, int(min(wanted, room / bytes_each)))

    def seconds(self, call: Callable[[], object]) -> float:
        """The least time of a call, after one that is not counted: until a GPU is done, or seconds of one core."""
        clock, times = time.perf_counter if self._cuda else time.process_time, []
        for _ in range(1 + self.repeats):
            start = clock()
            call()
            if self._cuda:
                self.torch.cuda.synchronize(self.device)
            times.append(clock() - start)
        return min(times[1:])

    def table(self, rows: int, columns: int, kind: Any) -> tuple[Any, Any]:
        """Made-up rows in the memory of the device, and an outcome of theirs."""
        torch = self.torch
        own = torch.Generator(device=self.device).manual_seed(0)
        X = torch.empty((rows, columns), dtype=kind, device=self.device).normal_(generator=own)
        noise = torch.empty(rows, dtype=kind, device=self.device).normal_(generator=own)
        return X, X[:, 0] - X[:, 1] + noise

    # ---------------------------------------------------------------- jobs

    def all(self) -> list[dict[str, Any]]:
        """The figures of all jobs."""
        rows = [self.moments(columns) for columns in self.columns]
        return [*rows, self.fit(), *self.same(), self.streamed()]

    def moments(self, columns: int) -> dict[str, Any]:
        """Exact moments and plain X'X of the same float64 rows."""
        n = self.rows(self.sizes["numbers"] // columns, 8.0 * columns)
        X, _ = self.table(n, columns, self.torch.float64)
        domain = Domain({f"x{i}": (-4, 4) for i in range(columns)})
        plain = self.seconds(lambda: X.T @ X)
        exact = self.seconds(lambda: self._moments(X, domain, device=self.device))
        few = X[: min(n, self.sizes["compared"], 40_000_000 // columns)].cpu().numpy()
        here = self.seconds(lambda: self._moments(few, domain))
        facts = {"job": "exact moments, float64", "rows": n, "columns": columns, "seconds": exact}
        speed = {"rows_per_second": n / exact, "numpy_rows_per_second": len(few) / here}
        return facts | speed | {"plain_rows_per_second": n / plain, "ratio_to_plain": exact / plain}

    def fit(self, columns: int = 100) -> dict[str, Any]:
        """A whole fit in stages of float32 rows in the memory of the device, from rows to intervals."""
        n = self.rows(self.sizes["rows"], 4.0 * (columns + 2))
        X, y = self.table(n, columns, self.torch.float32)
        model = self._model(DPLinearRegression, bounds_y=(-16, 16), device=self.device)
        took = self.seconds(lambda: model.fit(X, y))
        few = min(n, self.sizes["compared"])
        A, b = X[:few].cpu().numpy(), y[:few].cpu().numpy()
        here = self.seconds(lambda: self._model(DPLinearRegression, bounds_y=(-16, 16)).fit(A, b))
        facts = {"job": "whole fit in stages, float32", "rows": n, "columns": columns, "seconds": took}
        return facts | {"rows_per_second": n / took, "numpy_rows_per_second": few / here}

    def same(self, columns: int = 100) -> list[dict[str, Any]]:
        """Whether releases have the bytes of numpy's."""
        n = self.sizes["compared"]
        X, y = self.table(n, columns, self.torch.float32)
        fits: dict[str, tuple[Any, Any, dict[str, Any]]] = {
            "linear fit, bytes": (DPLinearRegression, y, {"bounds_y": (-16, 16)}),
            "logistic fit, bytes": (DPLogisticRegression, (y > 0).to(self.torch.int64), {"classes": [0, 1]}),
        }
        found = []
        for name, (kind, outcome, more) in fits.items():
            there, here = self._model(kind, device=self.device, **more), self._model(kind, **more)
            took = self.seconds(lambda: there.fit(X, outcome))  # noqa: B023
            here.fit(X.cpu().numpy(), outcome.cpu().numpy())
            facts = {"job": name, "rows": n, "columns": columns, "seconds": took, "rows_per_second": n / took}
            found.append(facts | {"same_bits": _said(_saved(there) == _saved(here))})
        return found

    def streamed(self, columns: int = 20) -> dict[str, Any]:
        """Exact moments of a Parquet file, read in threads while the device sums."""
        n, domain = self.sizes["streamed"], bounds(columns)
        with tempfile.TemporaryDirectory() as folder:
            path, rng = Path(folder) / "people.parquet", np.random.default_rng(0)
            table = pa.table({name: rng.standard_normal(n).astype(np.float32) for name in domain.columns})
            pq.write_table(table, path, row_group_size=200_000)
            took = self.seconds(lambda: self._moments(path, domain, device=self.device))
            here = self.seconds(lambda: self._moments(path, domain))
            same = self._moments(path, domain, device=self.device) == self._moments(path, domain)
        facts = {"job": "exact moments from Parquet", "rows": n, "columns": columns + 1, "seconds": took}
        return facts | {"rows_per_second": n / took, "numpy_rows_per_second": n / here, "same_bits": _said(same)}

    def _model(self, kind: Any, **more: Any) -> Any:
        return kind(epsilon=1, delta=1e-9, bounds_X=(-4, 4), random_state=0, n_jobs=self.jobs, **more)

    def _moments(self, source: Any, domain: Domain, device: str | None = None) -> Moments:
        return Moments.from_source(source, domain, n_jobs=self.jobs, device=device)


def _said(same: bool) -> str:
    return "yes" if same else "NO"


def _saved(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.json"
        model.release_.save(path, simulation=True)
        return path.read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu for small sizes")
    for name in SIZES["cuda"]:
        parser.add_argument(f"--{name}", type=int, help="; ".join(f"{own}: {SIZES[own][name]:,}" for own in SIZES))
    parser.add_argument("--most-columns", type=int, default=COLUMNS[-1])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/gpu.json"))
    given = parser.parse_args()
    bench = Bench(given)
    rows = bench.all()
    cuda = given.device != "cpu"
    name = bench.torch.cuda.get_device_name(given.device) if cuda else f"{bench.torch.get_num_threads()} threads"
    title = f"Passes by torch {bench.torch.__version__} on {given.device} ({name}), beside its X'X and beside numpy"
    report(title, SHOWN, rows, given.out)


if __name__ == "__main__":
    main()
