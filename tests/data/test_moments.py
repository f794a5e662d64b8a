"""Moments: exact integers whatever the order, chunks and threads; confidential; never half-saved."""

import contextlib
import copy
import errno
import json
import math
import os
import pickle
import resource
import signal
import stat
import threading
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tables import encode, full_text

from discreet import Domain, Moments
from discreet.data import reading
from discreet.data.passes.moments import Layout
from discreet.data.sums import CARRY_EVERY, Total
from discreet.domain.encoding import ONE
from discreet.errors import DataError, FileFormatError, ParameterError

DOMAIN = Domain({"a": (-3, 7), "c": ["u", "v", "w"], "b": (0.1, 0.4)})
LATTICE = 1 << 20


def sample(rows, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "a": rng.normal(0, 5, rows).tolist(),
        "c": rng.choice(["u", "v", "w"], rows).tolist(),
        "b": rng.uniform(0, 0.5, rows).tolist(),
    }


def moments_of(columns, domain=DOMAIN, **options):
    return Moments.from_source(pa.table(columns), domain, **options)


def exact(moments):
    """The whole Gram matrix as Python integers."""
    size = range(len(moments.domain.entries))
    return [moments.integers([i] * len(size), size).tolist() for i in size]


@pytest.fixture
def moments():
    return moments_of(sample(50))


# ---------------------------------------------------------------- exact


def nearest(z):
    """z on the lattice, from exact fractions."""
    return round(max(Fraction(-1), min(Fraction(1), z)) * LATTICE)


def mapped(a, b):
    """The numbers of a row in [-1, 1], if they are inside their bounds."""
    low, high = Fraction(0.1), Fraction(0.4)
    return (Fraction(a) - 2) / 5, (2 * Fraction(b) - low - high) / (high - low)


def by_hand(columns):
    """The Gram matrix in fractions and Python integers, with nothing of discreet's in it."""
    total = [[0] * 6 for _ in range(6)]
    for a, c, b in zip(columns["a"], columns["c"], columns["b"], strict=True):
        levels = [LATTICE * (c == level) for level in "uvw"]
        z_a, z_b = mapped(a, b)
        z = [LATTICE, nearest(z_a), *levels, nearest(z_b)]
        total = [[total[i][j] + z[i] * z[j] for j in range(6)] for i in range(6)]
    return total


def test_equal_to_fractions():
    columns = sample(400)
    assert exact(moments_of(columns)) == by_hand(columns)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.sampled_from("uvw"), st.integers(0, 1 << 30)), max_size=20))
def test_equal_to_fractions_on_any_rows(rows):
    columns = {"a": [a for a, _, _ in rows], "c": [c for _, c, _ in rows], "b": [b / (1 << 31) for _, _, b in rows]}
    columns["a"] = [round(a * 64) / 64 for a in columns["a"]]
    for z in [z for row in zip(columns["a"], columns["b"], strict=True) for z in mapped(*row)]:
        assume(abs(z * LATTICE % 1 - Fraction(1, 2)) > 1e-6)  # a tie at half a step may go either way
    table = pa.table(columns, schema=pa.schema([("a", pa.float64()), ("c", pa.string()), ("b", pa.float64())]))
    assert exact(Moments.from_source(table, DOMAIN)) == by_hand(columns)


def test_floats_are_the_integers_scaled(moments):
    floats = moments.floats(list(range(6)))
    assert floats.tolist() == [[math.ldexp(value, -40) for value in row] for row in exact(moments)]


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
@pytest.mark.parametrize("chunk", [13, 97, 5000])
def test_chunks_and_threads_do_not_matter(n_jobs, chunk):
    columns = sample(9_000)
    pieces = pa.Table.from_batches(pa.table(columns).to_batches(chunk))
    assert Moments.from_source(pieces, DOMAIN, n_jobs=n_jobs) == moments_of(columns, n_jobs=1)


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "2"])
def test_bad_number_of_threads(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs"):
        moments_of(sample(3), n_jobs=n_jobs)


def test_a_schema_is_not_a_domain():
    with pytest.raises(ParameterError, match="must be a Domain"):
        moments_of(sample(3), {"a": (0, 1)})


# ---------------------------------------------------------------- past 64 bits


def test_total_carries_past_64_bits():
    total, batches = Total(Layout(2)), 2 * CARRY_EVERY + 100
    A = np.full((8192, 2), [ONE, -ONE])
    for _ in range(batches):
        total.add(A)
    square = batches << 53
    assert square > 1 << 63
    moments = Moments(Domain({"a": (0, 1)}), *total.limbs())
    assert exact(moments) == [[square, -square], [-square, square]]


def test_a_batch_too_long_for_exact_products_is_refused():
    with pytest.raises(AssertionError, match="too long"):
        Total(Layout(2)).add(np.ones((8193, 2)))


def test_more_rows_than_64_bits_hold():
    rows = (1 << 23) + 1000
    domain = Domain({"a": (-1, 1)})
    X = np.full((rows, 1), -1.0, dtype=np.float32)
    X[0] = 0.5
    square = rows << 40
    assert square > 1 << 63
    cross = -((rows - 1) << 40) + (1 << 39)
    assert exact(Moments.from_source(X, domain)) == [[square, cross], [cross, ((rows - 1) << 40) + (1 << 38)]]


def test_doubling_thirty_times(moments):
    many = moments
    for _ in range(30):
        many = many + many
    assert exact(many) == [[value << 30 for value in row] for row in exact(moments)]
    assert max(max(row) for row in exact(many)) > 1 << 70
    assert many.floats([0]).tolist() == [[50.0 * 2**30]]


# ---------------------------------------------------------------- adding


def test_addition_is_that_of_the_rows():
    parts = [pa.table(sample(rows, seed)) for seed, rows in enumerate((3, 70, 200))]
    a, b, c = (Moments.from_source(part, DOMAIN) for part in parts)
    empty = Moments.from_source(parts[0].slice(0, 0), DOMAIN)
    together = Moments.from_source(pa.concat_tables(parts), DOMAIN)
    assert (a + b) + c == a + (c + b) == (b + c) + a == together
    assert a + empty == a
    assert a + b != a + c


@pytest.mark.parametrize(
    "other",
    [
        Domain({"a": (-3, 8), "c": ["u", "v", "w"], "b": (0.1, 0.4)}),
        Domain({"b": (0.1, 0.4), "c": ["u", "v", "w"], "a": (-3, 7)}),
        Domain({"a": (-3, 7), "c": ["v", "u", "w"], "b": (0.1, 0.4)}),
        Domain({"a": (-3, 7), "c": ["u", "v", "w"], "b": (0.1, 0.4)}, intercept=False),
        Domain({"a": (-3, 7), "c": ["u", "v", "w"], "b": (0.1, 0.4)}, missing="drop"),
    ],
    ids=["bounds", "order of columns", "order of levels", "intercept", "missing"],
)
def test_different_domains_do_not_add(moments, other):
    with pytest.raises(ParameterError, match="different domains"):
        moments + moments_of(sample(5), other)


def test_only_moments_add(moments):
    with pytest.raises(TypeError):
        moments + 1
    assert moments != 1


def test_from_batch(moments):
    assert Moments.from_batch(encode(DOMAIN, sample(50)), DOMAIN) == moments


# ---------------------------------------------------------------- small and large


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_fewer_rows_than_columns(rows):
    X = np.full((rows, 5), 0.5)
    moments = Moments.from_source(X, Domain.from_bounds(list("abcde"), bounds_X=(0, 1)))
    assert moments.floats([0]).tolist() == [[rows]]


def test_one_column():
    domain = Domain({"a": (0, 2)}, intercept=False)
    assert Moments.from_source(np.array([[1.0], [2.0]]), domain).floats([1]).tolist() == [[1.25]]


def test_two_thousand_columns():
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2000))
    names = [f"x{i}" for i in range(2000)]
    start = time.perf_counter()
    moments = Moments.from_source(X, Domain.from_bounds(names, bounds_X=(-1, 1)))
    assert time.perf_counter() - start < 10
    Z = np.rint(X * ONE)
    assert np.array_equal(np.ldexp(moments.floats(list(range(1, 2001))), 40), Z.T @ Z)


# ---------------------------------------------------------------- progress


def test_progress_is_in_whole_percents():
    seen = []
    moments_of(sample(60_000), progress=seen.append, n_jobs=2)
    assert seen == sorted(set(seen))
    assert len(seen) > 2
    assert seen[-1] == 1.0
    assert all(0 <= fraction <= 1 and fraction == round(fraction, 2) for fraction in seen)


@pytest.mark.parametrize("source", [pa.table(sample(1)).slice(0, 0), pa.table(sample(100)).to_reader()])
def test_progress_ends_at_one(source):
    seen = []
    Moments.from_source(source, DOMAIN, progress=seen.append)
    assert seen == [1.0]


class Bar:
    def __init__(self, what):
        assert what == "reading"

    def __call__(self, fraction):
        self.shown.append(fraction)

    def stop(self):
        self.shown.append("gone")


@pytest.mark.parametrize("spoil", [False, True])
def test_the_bar_always_goes_away(monkeypatch, spoil):
    """Otherwise a failure would leave the terminal without a cursor."""
    monkeypatch.setattr(reading, "_Bar", Bar)
    monkeypatch.setattr(Bar, "shown", [], raising=False)
    columns = sample(30_000)
    columns["a"][-1] = math.nan if spoil else 0.0
    if spoil:
        with pytest.raises(DataError):
            moments_of(columns, progress=True, n_jobs=1)
    else:
        moments_of(columns, progress=True, n_jobs=1)
    assert len(Bar.shown) > 1
    assert Bar.shown[-1] == "gone"
    assert (1.0 in Bar.shown) is not spoil


def test_the_real_bar_tells_no_count(capsys):
    moments_of(sample(30_000), progress=True)
    assert "30000" not in capsys.readouterr().err.replace(",", "")


# ---------------------------------------------------------------- failures in workers


def finishes(call, seconds=20):
    """The exception of a call, or None; a call that hangs fails the test."""
    result = []

    def run():
        try:
            call()
        except BaseException as error:
            result.append(error)
        else:
            result.append(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert result, "the call hangs"
    return result[0]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("row", [0, 30_000, -1])
def test_a_bad_row_ends_all_threads(n_jobs, row):
    columns = sample(60_000)
    columns["b"][row] = math.inf
    error = finishes(lambda: moments_of(columns, n_jobs=n_jobs))
    assert isinstance(error, DataError)
    assert "'b' holds infinite values" in str(error)
    assert "60000" not in full_text(error)


def test_other_threads_stop_when_one_fails():
    """A failure in the second thread must not wait until the first has read all the rest."""
    seen = []

    def fail_in_second_thread(fraction):
        time.sleep(0.001)
        seen.append(fraction)
        if threading.current_thread().name.endswith("_1"):
            raise RuntimeError("enough")

    X, domain = np.zeros((1_000_000, 1), dtype=np.float32), Domain({"a": (0, 1)})
    error = finishes(lambda: Moments.from_source(X, domain, n_jobs=2, progress=fail_in_second_thread))
    assert isinstance(error, RuntimeError)
    assert seen[-1] < 0.9


@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_in_the_callback_comes_through(kind):
    def interrupt(fraction):
        if fraction >= 0.3:
            raise kind("enough")

    error = finishes(lambda: moments_of(sample(100_000), progress=interrupt, n_jobs=2))
    assert type(error) is kind
    assert moments_of(sample(10)) == moments_of(sample(10))  # nothing is left locked


def test_a_source_that_fails_ends_all_threads():
    def batches():
        yield pa.record_batch(sample(10))
        raise OSError(errno.EIO, "gone")

    reader = pa.RecordBatchReader.from_batches(pa.record_batch(sample(1)).schema, batches())
    assert isinstance(finishes(lambda: Moments.from_source(reader, DOMAIN, n_jobs=3)), DataError)


# ---------------------------------------------------------------- confidential

SECRET = 918273.645


def test_nothing_is_shown():
    domain = Domain({"a": (0, 1e6)})
    moments = Moments.from_source(np.full((4243, 1), SECRET), domain)
    for text in (repr(moments), str(moments), f"{moments}", repr([moments])):
        assert "confidential" in text
        assert not any(secret in text for secret in ("4243", "918273", "array", *map(str, exact(moments)[1])))


@pytest.mark.parametrize("act", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_pickling_is_refused(moments, act):
    with pytest.raises(TypeError, match="confidential"):
        act(moments)


def test_not_hashable(moments):
    with pytest.raises(TypeError):
        hash(moments)


# ---------------------------------------------------------------- files

DOMAINS = {
    "every kind": DOMAIN,
    "options": Domain({"a": (-1, 1), "c": ["u", "v", "w"]}, intercept=False, missing="drop"),
    "ball": Domain({"a": (0, math.inf), "b": (-1, 1), "c": ["u", "v", "w"]}, data_norm=3.0, norm_columns=["a"]),
}


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS.keys())
def test_save_and_load(domain, tmp_path):
    moments = moments_of(sample(100), domain)
    for _ in range(30):
        moments = moments + moments
    moments.save(tmp_path / "people.moments")
    loaded = Moments.load(str(tmp_path / "people.moments"))
    assert loaded == moments
    assert exact(loaded + loaded) == exact(moments + moments)


def test_a_file_is_marked_and_private(moments, tmp_path):
    path = tmp_path / "people.moments"
    path.write_text("older, for all to read")
    path.chmod(0o644)
    moments.save(path)
    assert path.read_bytes().split(b"\n")[0].startswith(b"CONFIDENTIAL")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def loaded_or_refused(path, content):
    """The moments in a file, or None where it is refused with an error that names it and chains no other."""
    path.write_bytes(content)
    try:
        return Moments.load(path)
    except FileFormatError as refusal:
        error = refusal
    assert path.name in str(error)
    assert "Error" not in full_text(error).replace("FileFormatError", "")
    return None


@pytest.fixture
def saved(tmp_path):
    moments = Moments.from_source(np.full((3, 1), 0.25), Domain({"a": (0, 1)}))
    moments.save(tmp_path / "people.moments")
    return moments, tmp_path / "people.moments", (tmp_path / "people.moments").read_bytes()


def test_truncated_files(saved):
    _, path, content = saved
    for size in range(0, len(content), 5):
        assert loaded_or_refused(path, content[:size]) is None
    assert loaded_or_refused(path, content[:-1]) is None


@pytest.mark.parametrize("mask", [0xFF, 0x01])
def test_a_changed_byte_is_found_or_harmless(saved, mask):
    """Dates and attributes inside the archive are not covered by a checksum, and do not matter."""
    moments, path, content = saved
    found = 0
    for place in range(0, len(content), 2):
        changed = bytearray(content)
        changed[place] ^= mask
        loaded = loaded_or_refused(path, changed)
        found += loaded is None
        assert loaded is None or loaded == moments
    assert found > len(content) / 4


@pytest.mark.parametrize("content", [b"", b"\n", b"PK\x03\x04", b"a,b\n1,2\n", b"{}", b"\x00" * 5000], ids=repr)
@pytest.mark.parametrize("keep_mark", [False, True])
def test_foreign_files(saved, content, keep_mark):
    _, path, original = saved
    mark = original.split(b"\n")[0] + b"\n" if keep_mark else b""
    assert loaded_or_refused(path, mark + content) is None


def rewritten(path, **changes):
    """The file with some of its parts replaced, in a sound archive."""
    content = path.read_bytes()
    with path.open("rb") as file:
        mark = file.readline()
        with np.load(file) as parts:
            parts = dict(parts) | changes
    with path.open("wb") as file:
        file.write(mark)
        np.savez_compressed(file, **{name: part for name, part in parts.items() if part is not None})
    assert path.read_bytes() != content


def header(**changes):
    facts = {"kind": "moments", "format_version": 1, "domain": Domain({"a": (0, 1)}).to_dict()} | changes
    return np.array(json.dumps(facts))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"high": np.zeros((3, 3), dtype=np.int64)}, "do not fit"),
        ({"high": np.zeros((2, 2))}, "do not fit"),
        ({"high": np.array([[None] * 2] * 2)}, "damaged"),
        ({"low": None}, "damaged"),
        ({"header": np.array("{")}, "damaged"),
        ({"header": np.array("[]")}, "damaged"),
        ({"header": header(domain={"columns": 5})}, "damaged"),
        ({"header": header(domain={"columns": {"a": {"low": 1, "high": 0}}})}, "damaged"),
        ({"header": header(format_version=6)}, "format_version 6"),
        ({"header": header(domain=Domain({"a": (0, 1), "b": (0, 1)}).to_dict())}, "do not fit"),
    ],
)
def test_edited_files(saved, changes, message):
    _, path, _ = saved
    rewritten(path, **changes)
    with pytest.raises(FileFormatError, match=message):
        Moments.load(path)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Moments.load(tmp_path / "none.moments")


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def limited():
    """A real failure of write: files may not grow beyond 300 bytes, the log of this run included, so be brief."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture(params=["when it is flushed", "after some bytes", "when it gets its name"])
def full_disk(request, monkeypatch):
    if request.param == "when it is flushed":
        monkeypatch.setattr(os, "fsync", no_space)
    elif request.param == "when it gets its name":
        monkeypatch.setattr(os, "link", no_space)
        monkeypatch.setattr("pathlib.Path.replace", no_space)
    else:
        return limited()
    return contextlib.nullcontext()


@pytest.mark.parametrize("older", [None, b"older"])
def test_a_full_disk_leaves_nothing_behind(moments, older, full_disk, tmp_path):
    path = tmp_path / "people.moments"
    if older:
        path.write_bytes(older)
    with full_disk, pytest.raises(OSError, match=r"space|large") as told:
        moments.save(path)
    assert told.value.filename == str(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([older] if older else [])


def test_one_row_changes_the_moments_by_its_own_products():
    table = pa.table(sample(30))
    z = [int(value) for value in encode(DOMAIN, table[-1:])[0]]
    with_row, without = (np.array(exact(Moments.from_source(part, DOMAIN))) for part in (table, table[:-1]))
    assert (with_row - without).tolist() == [[a * b for a in z] for b in z]
