"""Encoded rows of a small table are kept between the readings of its stages, and nothing else is."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLinearRegression
from discreet.data import kept
from discreet.data.kept import KeptRows
from discreet.data.reading import Table
from discreet.data.sources.frames import FrameSource
from discreet.data.stages import score_products, staged
from discreet.domain.coordinates import Coordinates

DOMAIN = Domain({"x": (-3, 3), "y": (-9, 9)})
NARROW = Domain({"x": (-3, 3), "y": (-1, 1)})


def _frame(n: int = 9000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n)})


def _stage(theta: float = 0.1) -> Coordinates:
    return Coordinates.rounded(
        ["(intercept)", "x"], ["y"], np.eye(2), np.array([[0.0], [theta]]), 1.2, [[0.1, 0.2]], (1.2, 1.3)
    )


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_sums_of_kept_rows_are_the_same(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = _frame()
    table = Table.of(frame, DOMAIN, n_jobs)
    staged(table, _stage())
    reads: list[int] = []
    monkeypatch.setattr(FrameSource, "parts", lambda self, rows: reads.append(rows))
    again, scored = staged(table, _stage(0.3)), score_products(table, _stage(0.3), [1])
    assert not reads
    monkeypatch.undo()
    assert again == staged(Table.of(frame, DOMAIN, n_jobs), _stage(0.3))
    assert scored == score_products(Table.of(frame, DOMAIN, n_jobs), _stage(0.3), [1])


def test_larger_tables_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST", 20_000)
    table = Table.of(_frame(), DOMAIN, 1)
    first = staged(table, _stage())
    assert table.kept.held(DOMAIN, 4088) is None
    assert not table.kept._batches
    assert staged(table, _stage()) == first


def test_rows_are_kept_for_one_domain() -> None:
    table = Table.of(_frame(), DOMAIN, 1)
    staged(table, _stage())
    narrow = Table(table.reader, NARROW, 1, kept=table.kept)
    assert staged(narrow, _stage()) == staged(Table.of(_frame(), NARROW, 1), _stage())


def test_rows_with_weights_or_persons_are_not_kept() -> None:
    frame = _frame().assign(w=1.0, who=np.arange(9000))
    for unit in ({"weights": "w", "largest_weight": 2}, {"person": "who", "rows_per_person": 1}):
        table = Table.of(frame, Domain({"x": (-3, 3), "y": (-9, 9)}, **unit), 1)
        staged(table, _stage())
        assert not table.kept._batches


def test_kept_rows_go_with_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[KeptRows]] = []
    begin = KeptRows._begin
    monkeypatch.setattr(KeptRows, "_begin", lambda self: (made.append(weakref.ref(self)), begin(self))[1])
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN, random_state=0).fit_source(_frame(), "y")
    gc.collect()
    assert made
    assert not any(ref() for ref in made)
    assert model.coef_.shape == (1,)


def test_kept_rows_are_confidential() -> None:
    table = Table.of(_frame(), DOMAIN, 1)
    staged(table, _stage())
    assert repr(table.kept) == "KeptRows(confidential)"
    with pytest.raises(TypeError, match="confidential"):
        table.kept.__reduce__()
    with pytest.raises(ValueError, match="read-only"):
        table.kept._batches[0].A[0] = 0.0


def test_rows_that_are_dropped_are_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reading counts outcomes of incomplete rows, and keeps nothing; a stage keeps complete rows."""
    frame = _frame().mask(np.random.default_rng(1).random((9000, 2)) < 0.1)
    of = {"epsilon": 1, "delta": 1e-6, "domain": Domain({"x": (-3, 3), "y": (-9, 9)}, missing="drop"), "stages": 3}
    small = DPLinearRegression(**of, random_state=0).fit_source(frame, "y")
    monkeypatch.setattr(kept, "_MOST", 0)
    large = DPLinearRegression(**of, random_state=0).fit_source(frame, "y")
    assert small.coef_.tolist() == large.coef_.tolist()
