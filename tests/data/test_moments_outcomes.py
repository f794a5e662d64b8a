"""Moments with outcomes named: the same integers as the whole Gram matrix holds, and no others."""

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, Moments
from discreet.data.passes.moments import Layout
from discreet.data.sums import CARRY_EVERY, EXACT_ROWS, Total
from discreet.errors import FileFormatError, NotReleasedError, ParameterError

DOMAIN = Domain({"u": (0, 1), "a": (-3, 7), "c": ["r", "s", "t"], "v": (0, 2), "sex": ["F", "M"], "b": (0.1, 0.4)})
TARGETS = ["v", "sex", "u"]
FEATURES = [0, 2, 3, 4, 5, 9]
OUTCOMES = [6, 8, 1]


def table(rows=9_000, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": rng.normal(0, 5, rows),
            "b": rng.uniform(0, 0.5, rows),
            "c": rng.choice(["r", "s", "t"], rows),
            "u": rng.uniform(-0.2, 1.2, rows),
            "v": rng.uniform(0, 2, rows),
            "sex": rng.choice(["F", "M"], rows),
        }
    )


def entries(moments, rows, columns):
    return moments.integers(np.repeat(rows, len(columns)), np.tile(columns, len(rows))).tolist()


@pytest.fixture(scope="module")
def whole():
    return Moments.from_source(table(), DOMAIN)


@pytest.fixture(scope="module")
def named():
    return Moments.from_source(table(), DOMAIN, targets=TARGETS)


def test_they_hold_what_models_of_the_outcomes_need(whole, named):
    assert named.targets == ("v", "sex[M]", "u")
    for rows, columns in ((FEATURES, FEATURES), (FEATURES, OUTCOMES), (OUTCOMES, FEATURES)):
        assert entries(named, rows, columns) == entries(whole, rows, columns)
    assert named.integers(OUTCOMES, OUTCOMES).tolist() == whole.integers(OUTCOMES, OUTCOMES).tolist()
    assert np.array_equal(named.floats(FEATURES), whole.floats(FEATURES))
    assert named._high.size == (len(FEATURES) + 1) * (len(FEATURES) + len(OUTCOMES))


@pytest.mark.parametrize(("row", "column"), [(6, 8), (1, 6), (7, 7), (0, 7), (7, 8)])
def test_other_products_are_refused(named, row, column):
    with pytest.raises(ParameterError, match="two different outcomes"):
        named.integers([row], [column])
    with pytest.raises(ParameterError, match="two different outcomes"):
        named.floats([0, row, column])


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("chunk", [13, 5000])
def test_chunks_threads_and_order_of_columns_do_not_matter(named, n_jobs, chunk):
    pieces = pa.Table.from_batches(table().to_batches(chunk))
    assert Moments.from_source(pieces, DOMAIN, targets=TARGETS, n_jobs=n_jobs) == named
    last = DOMAIN.select(["a", "c", "b", "v", "sex", "u"])
    other = Moments.from_source(table(), last, targets=["v", "sex[M]", "u"])
    assert entries(other, [0, 1, 2, 3, 4, 5], [6, 8, 9]) == entries(named, FEATURES, OUTCOMES)


def test_parts_add_up(named):
    rows = table()
    parts = [Moments.from_source(rows.slice(start, 4_500), DOMAIN, targets=TARGETS) for start in (0, 4_500)]
    assert parts[0] + parts[1] == named
    with pytest.raises(ParameterError, match="different outcomes"):
        named + Moments.from_source(rows, DOMAIN, targets=["v"])
    with pytest.raises(ParameterError, match="different outcomes"):
        named + Moments.from_source(rows, DOMAIN)


def test_sums_past_64_bits():
    layout = Layout(3, [0, 1], [2])
    total, batches = Total(layout), 2 * CARRY_EVERY + 100
    A = np.full((EXACT_ROWS, 3), [float(1 << 20), -float(1 << 20), float(1 << 20)])
    for _ in range(batches):
        total.add(A)
    moments = Moments(Domain({"a": (0, 1), "y": (0, 1)}), *total.limbs(), ("y",))
    square = batches << 53
    assert square > 1 << 63
    assert moments.integers([0, 1, 0, 1, 2], [0, 1, 2, 2, 2]).tolist() == [square, square, square, -square, square]


def test_float_sums_are_settled_before_they_are_inexact():
    """9,000 rows of ones in batches of 1,000: the sum of any 8,193 would not fit 53 bits."""
    total = Total(Layout(2, [0], [1]))
    A = np.full((1000, 2), float(1 << 20))
    for _ in range(9):
        total.add(A)
    assert total._sum.max() <= 2.0**53
    high, low = total.limbs()
    assert ((high << 32) + low).tolist() == [[9000 << 40] * 2, [0, 9000 << 40]]


def test_files(named, whole, tmp_path):
    named.save(tmp_path / "named.moments")
    assert Moments.load(tmp_path / "named.moments") == named
    with (tmp_path / "named.moments").open("rb") as file:
        file.readline()
        header = json.loads(str(np.load(file)["header"]))
    assert (header["format_version"], header["targets"]) == (3, ["v", "sex[M]", "u"])
    whole.save(tmp_path / "whole.moments")
    with (tmp_path / "whole.moments").open("rb") as file:
        file.readline()
        assert json.loads(str(np.load(file)["header"])).keys() == {"kind", "format_version", "note", "domain"}


def test_a_file_whose_outcomes_do_not_fit(named, tmp_path):
    named.targets = ("v", "u")
    try:
        named.save(tmp_path / "named.moments")
    finally:
        named.targets = ("v", "sex[M]", "u")
    with pytest.raises(FileFormatError, match="do not fit"):
        Moments.load(tmp_path / "named.moments")


@pytest.mark.parametrize(
    ("targets", "error", "words"),
    [
        ("v", ParameterError, "list"),
        ([], ParameterError, "list"),
        (["v", "v"], ParameterError, "twice"),
        (["sex", "sex[M]"], ParameterError, "twice"),
        (["c"], ParameterError, "3 levels"),
        (["nothing"], NotReleasedError, "not declared"),
    ],
)
def test_bad_outcomes_are_refused_before_a_row_is_read(targets, error, words):
    with pytest.raises(error, match=words):
        Moments.from_source("no-such-file.parquet", DOMAIN, targets=targets)


def test_they_hide_what_they_hold(named):
    assert repr(named) == "Moments(6 columns, 3 outcomes, confidential)"
    with pytest.raises(TypeError, match="confidential"):
        named.__reduce__()
