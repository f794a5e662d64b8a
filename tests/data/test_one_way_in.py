"""One way in: what people pass is recognised once, opened once, and read as often as the docstring says."""

import contextlib
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain, DPLinearRegression, ReuseCov
from discreet.data import kept, tables
from discreet.data.moments import counted, summed
from discreet.data.reading import Table
from discreet.data.sources.base import Source
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.registry import METHODS

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.uniform(0, 1, (500, 2)), columns=["a", "b"])
FRAME["y"] = FRAME["a"] + FRAME["b"]
DOMAIN = Domain({"a": (0, 1), "b": (0, 1), "y": (-1000, 1000)})
PROMISE = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "n_jobs": 1, "random_state": 1}


class Stored:
    """A table of another package that offers its rows as a stream, as often as one likes."""

    shape = FRAME.shape

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.Table.from_pandas(FRAME).__arrow_c_stream__(requested_schema)


def parquet(folder):
    pq.write_table(pa.Table.from_pandas(FRAME), folder / "t.parquet")
    return folder / "t.parquet"


SOURCES = {
    "frame": lambda folder: FRAME,
    "Arrow": lambda folder: pa.Table.from_pandas(FRAME),
    "pair": lambda folder: (FRAME[["a", "b"]], FRAME["y"]),
    "parquet": parquet,
    "stored stream": lambda folder: Stored(),
}


@pytest.fixture
def readings():
    """How often a source was opened, and how often its rows were read."""
    found = {"opened": 0, "read": 0}

    def count(cls, name, what):
        old = getattr(cls, name)

        def new(self, *given):
            found[what] += 1
            return old(self, *given)

        return mock.patch.object(cls, name, new)

    kinds = [kind for kind in everyone(Source) if "parts" in vars(kind) and "parts" not in kind.__abstractmethods__]
    with contextlib.ExitStack() as patches:
        for patch in (count(tables.InputTable, "open", "opened"), *(count(kind, "parts", "read") for kind in kinds)):
            patches.enter_context(patch)
        yield found


def everyone(cls):
    return [kind for child in cls.__subclasses__() for kind in (child, *everyone(child))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize(
    ("given", "times"),
    [
        ({"stages": 1}, 2),
        ({"stages": 1, "narrow": False}, 1),
        ({"stages": 2, "covariance": "robust"}, 4),
        ({"stages": 3, "covariance": "robust"}, 6),
        ({"stages": 3, "covariance": "classical"}, 5),
        ({"stages": 4, "covariance": "robust"}, 7),
        ({"stages": 2, "covariance": "classical"}, 3),
    ],
)
@pytest.mark.parametrize("small", [True, False])
def test_a_source_is_opened_once_and_read_as_often_as_is_said(
    kind, given, times, small, readings, tmp_path, monkeypatch
):
    """Once at first, once for each stage, from three on once for row norms, and once for score products.

    A small table is read once for all stages, and kept in memory. In one stage bounds of y, a thousand times
    too wide, are narrowed, and all rows are read again.
    """
    if small:
        times = times if given["stages"] == 1 else 1
    else:
        monkeypatch.setattr(kept, "_MOST", 0)
    model = DPLinearRegression(**PROMISE, **given).fit_source(SOURCES[kind](tmp_path), "y")
    assert model.certificate_.domain.columns["y"] != DOMAIN.columns["y"] or "narrow" in given or given["stages"] > 1
    assert readings == {"opened": 1, "read": times}


@pytest.mark.filterwarnings("ignore")
def test_every_source_gives_the_same_fit(tmp_path):
    of = [DPLinearRegression(**PROMISE).fit_source(offer(tmp_path), "y").coef_ for offer in SOURCES.values()]
    np.testing.assert_array_equal(of, [of[0]] * len(of))


@pytest.mark.filterwarnings("ignore")
def test_a_frame_is_recognised_once():
    with mock.patch.object(tables, "comes_from", wraps=tables.comes_from) as asked:
        DPLinearRegression(**PROMISE).fit(FRAME[["a", "b"]], FRAME["y"])
    assert asked.call_count == 2


def test_counts_are_over_rows_that_have_an_outcome_and_moments_over_whole_rows():
    holes = FRAME.assign(a=FRAME["a"].where(FRAME.index > 9), y=FRAME["y"].where(FRAME.index < 490))
    domain = Domain({"a": (0, 1), "y": (0, 2)}, missing="drop")
    for source in (holes, pa.Table.from_pandas(holes), holes[["a", "y"]].to_numpy(), (holes[["a"]], holes["y"])):
        table = Table.of(source, domain)
        histogram, moments = counted(table, "y")
        assert (histogram.integers().sum(), moments.count) == (490, 480)
        assert moments == summed(table)


def test_a_table_at_the_door_says_nothing_of_its_rows():
    table = tables.as_table((FRAME, FRAME["y"]))
    for held in (table, tables.as_outcomes(FRAME["y"])):
        assert "500" not in repr(held)
        with pytest.raises(TypeError, match="confidential"):
            held.__reduce__()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_only_some_methods_have_several_outcomes(method):
    several = method.estimator in (DPLinearRegression, ReuseCov)
    assert method.estimator.many_outcomes == several
    if not several:
        domain = Domain({"a": (0, 1), "b": (0, 1), "y": bool if "classes" in vars(method.estimator()) else (0, 1)})
        model = method.estimator(**PROMISE | {"domain": domain, "rows": 500})
        with pytest.raises(ParameterError, match="one outcome"):
            model.fit_source(FRAME, ["y", "b"])
        with pytest.raises(DataError, match="one column"):
            model.fit(FRAME[["a"]], FRAME[["b", "y"]])
