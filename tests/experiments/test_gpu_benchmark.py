"""The benchmark of a GPU, in small and on the processor."""

import argparse

import pytest


@pytest.mark.more
@pytest.mark.filterwarnings("ignore::discreet.errors.NoIntervalWarning")
def test_the_benchmark_runs_on_the_processor():
    pytest.importorskip("torch", reason="torch is not installed: the benchmark of a GPU is not tried")
    from benchmarks.gpu import SHOWN, Bench

    sizes = {"numbers": 200_000, "rows": 2000, "compared": 2000, "streamed": 5000}
    rows = Bench(argparse.Namespace(device="cpu", repeats=1, most_columns=100, **sizes)).all()
    assert [row["columns"] for row in rows] == [20, 100, 100, 100, 100, 21]
    assert [row.get("same_bits") for row in rows] == [None, None, None, "yes", "yes", "yes"]
    assert all(set(row) <= {*SHOWN, "plain_rows_per_second"} and row["seconds"] > 0 for row in rows)
