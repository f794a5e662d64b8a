"""Moments of disjoint blocks of rows: every row counts once, in the block chosen for it, exactly."""

import threading

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, Moments
from discreet.data import blocks
from discreet.data.blocks import BlockTotals, block_sums
from discreet.data.reading import Table
from discreet.errors import DataError

DOMAIN = Domain({"a": (-1, 1), "g": ["u", "v"], "y": (0, 2)})
NAMES = ["(intercept)", "a", "g[v]", "y"]


def table(n):
    rng = np.random.default_rng(n)
    return pd.DataFrame({"a": rng.uniform(-1, 1, n), "g": rng.choice(["u", "v"], n), "y": rng.uniform(0, 2, n)})


class Chooser:
    """Blocks at random, in the order in which they are asked for."""

    def __init__(self, count):
        self.count, self.given, self.rng = count, [], np.random.default_rng(0)
        self.lock = threading.Lock()

    def __call__(self, size):
        with self.lock:
            self.given.append(self.rng.integers(0, self.count, size))
            return self.given[-1]


def exact(frame):
    moments = Moments.from_source(frame, DOMAIN)
    at = DOMAIN.indices(NAMES)
    return moments.integers(np.repeat(at, len(at)), np.tile(at, len(at))).reshape(len(at), -1)


@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_each_block_has_the_moments_of_its_rows(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "STAGE", 64)
    monkeypatch.setattr("discreet.data.passes.base._BATCH", 1)
    frame, choose = table(3000), Chooser(5)
    frame.to_parquet(tmp_path / "t.parquet")
    source = frame if kind == "frame" else tmp_path / "t.parquet"
    sums = block_sums(Table.of(source, DOMAIN), NAMES, 5, choose, 1, lambda part: None)
    found = np.concatenate(choose.given)[: len(frame)]
    for block in range(5):
        assert np.array_equal(sums[block], exact(frame[found == block]))


def test_threads_lose_no_row(monkeypatch):
    monkeypatch.setattr(blocks, "STAGE", 256)
    frame = table(20_000)
    sums = block_sums(Table.of(frame, DOMAIN), NAMES, 7, Chooser(7), 4, lambda part: None)
    assert np.array_equal(sums.sum(axis=0), exact(frame))


def test_sums_beyond_64_bits_are_exact(monkeypatch):
    monkeypatch.setattr(blocks, "WIDE_ROWS", 10_000)
    rows = np.full((30_000, 1), 2.0**20)
    totals = BlockTotals(2, 1)
    for _ in range(3):
        totals.add(1, rows)
    sums = totals.integers()
    assert sums.dtype == object
    assert sums[:, 0, 0].tolist() == [0, 90_000 << 40]


def test_an_empty_table_is_refused():
    with pytest.raises(DataError, match="no row"):
        block_sums(Table.of(table(0), DOMAIN), NAMES, 2, Chooser(2), 1, lambda part: None)


def test_nothing_is_told_of_the_rows():
    totals = BlockTotals(3, 1)
    totals.add(0, np.full((1, 1), 7777.0))
    assert "7777" not in repr(totals)
