"""Passes on a device: the bits of numpy for every pass and every source of rows, on usual and on extreme tables."""

import contextlib
import pickle
import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_table import DOMAIN, people

from discreet import Domain, Moments
from discreet.data.counts import first_pass
from discreet.data.passes.first_pass import FirstPass
from discreet.data.passes.moments import MomentsPass
from discreet.data.passes.row_sums import RowSumsPass, Summed
from discreet.data.passes.scores import ScorePass
from discreet.data.passes.stages import ScoreProductPass, StagePass
from discreet.data.reading import Table
from discreet.data.sums import EXACT_ROWS
from discreet.domain.coordinates import Coordinates
from discreet.errors import DataError, ParameterError
from discreet.families.coordinates import ModelCoordinates

torch = pytest.importorskip("torch", reason="torch is not installed: the sums of a device are not tried")

from discreet.data.device import device as devices  # noqa: E402
from discreet.data.device.arrays import DeviceArray  # noqa: E402
from discreet.data.device.device import Device, as_device  # noqa: E402

X_NAMES = ["a", "b", "c"]
ARRAYS = Domain({"a": (-1, 1), "b": (0, 3), "c": (-5, 2), "y": (-4, 4), "k": (0, 1)})
ROWS = 2 * EXACT_ROWS + 700


def long_batches(width):
    """A device whose batches are longer than an exact product, as those of a GPU are."""
    return Device("cpu", 3 * EXACT_ROWS * width)


def usual(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=(rows, 3)), rng.normal(0, 2, rows), rng.random(rows) < 0.4])


def extreme(rows=ROWS):
    """All that float64 has, inside the bounds and far beyond them."""
    values = [0.0, -0.0, 5e-324, -1e-310, 1e-30, 0.5 + 2**-21, 1 - 2**-53, 1.0, -1.0, 2.0, 3.0, -5.0, 1e300, -1e308]
    rng = np.random.default_rng(1)
    table = rng.choice(values, (rows, 5))
    table[:, 4] = rng.integers(0, 2, rows)
    table[: EXACT_ROWS + 5] = [1, 3, 2, 4, 1]  # sums of products reach 2^53
    return table


def stage(widths=((0.05, 0.3, 1.0),), outcomes=("y",), norms=(1.5, 2.0, 4.0), full=True):
    rng = np.random.default_rng(2)
    d = 4
    P = rng.normal(size=(d, d)) if full else np.diag([2.0, 1.0, 0.5, 3.0])
    theta = rng.normal(size=(d, len(outcomes))) / 4
    design = ARRAYS.design_names(X_NAMES)
    return Coordinates.rounded(design, outcomes, P, theta, 1.5, widths, norms)


def at_model(link, outcomes=("k",), scale=1.0, **more):
    theta = scale * np.random.default_rng(3).normal(size=(4, len(outcomes)))
    return ModelCoordinates.at(stage((), (), ()), outcomes, theta, [[0.25, 1.0]] * len(outcomes), link, **more)


PASSES = {
    "first pass": FirstPass(ARRAYS, ("y", "k")),
    "moments": MomentsPass(ARRAYS),
    "moments and counts": MomentsPass(ARRAYS, column="y"),
    "moments of outcomes": MomentsPass(ARRAYS, ("y", "k")),
    "row sums": RowSumsPass(ARRAYS, (Summed("diagonal", ("a", "c"), ()),)),
    "stage": StagePass(ARRAYS, stage()),
    "stage along columns": StagePass(ARRAYS, stage(full=False)),
    "stage without U'U": StagePass(ARRAYS, stage(), gram=False),
    "stage of two outcomes": StagePass(ARRAYS, stage(((0.1, 1.0), (0.5,)), ("y", "k"))),
    "stage without outcomes": StagePass(ARRAYS, stage((), ())),
    "score products": ScoreProductPass(ARRAYS, stage(((0.3,),), norms=())),
    "score products of two": ScoreProductPass(ARRAYS, stage(((0.3,), (1.0,)), ("y", "k"), ())),
    "logit": StagePass(ARRAYS, at_model("logit")),
    "logit, far": StagePass(ARRAYS, at_model("logit", scale=300.0)),
    "step of logit": StagePass(ARRAYS, at_model("logit"), gram=False),
    "scores of logit": ScoreProductPass(ARRAYS, replace(at_model("logit"), widths=((0.25,),))),
    "log": StagePass(ARRAYS, at_model("log", ("y",), most=4.0)),
    "log, far": StagePass(ARRAYS, at_model("log", ("y",), scale=500.0, most=4.0)),
    "log with exposure": StagePass(
        Domain({**ARRAYS.columns, "time": (0.5, 2.0)}), at_model("log", ("y",), most=4.0, exposure="time")
    ),
    "sign": StagePass(ARRAYS, at_model("sign", width=0.5), gram=False),
}


def assert_same(found, expected):
    for own, other in zip((found.high, found.low, *found.counts), (expected.high, expected.low, *expected.counts)):  # noqa: B905
        assert own.dtype == other.dtype == np.int64
        assert np.array_equal(own, other)


@pytest.mark.parametrize("rows", [usual, extreme])
@pytest.mark.parametrize("name", PASSES)
def test_sums_have_the_bits_of_numpy(name, rows):
    what, table = PASSES[name], rows()
    if len(what.domain.columns) > 5:
        table = np.column_stack([table, np.linspace(0.4, 2.1, len(table))])
    here = Table.of(table, what.domain, 1)
    expected = here.sums(what)
    for device in (as_device("cpu"), long_batches(len(what.domain.entries))):
        assert_same(replace(here, device=device).sums(what), expected)
        there = Table.of(DeviceArray(torch.tensor(table)), what.domain, 1)
        assert_same(replace(there, device=device).sums(what), expected)
    assert_same(there.sums(what), expected)  # numpy reads rows of a device, too


def test_classes_that_exclude_each_other():
    domain = Domain({"a": (-1, 1), "b": (0, 3), "c": (-5, 2), "g": [0, 1, 2]})
    rows = np.column_stack([usual()[:, :3], np.arange(ROWS) % 3])
    own = ModelCoordinates.at(
        stage((), (), ()),
        [domain.entries[i].name for i in domain.positions["g"]],
        np.random.default_rng(3).normal(size=(4, 3)),
        [[0.5]] * 3,
        "softmax",
    )
    for gram in (True, False):
        what = StagePass(domain, own, gram=gram)
        expected = Table.of(rows, domain, 1).sums(what)
        for device in (as_device("cpu"), long_batches(7)):
            assert_same(Table.of(DeviceArray(torch.tensor(rows)), domain, device=device).sums(what), expected)


def test_sums_of_many_batches_settle(monkeypatch):
    monkeypatch.setattr(devices, "MOST_ROWS", EXACT_ROWS)
    table = Table.of(extreme(), ARRAYS, 1)
    for what in (PASSES["moments"], PASSES["stage"]):
        assert_same(replace(table, device=Device("cpu", 1)).sums(what), table.sums(what))


@pytest.mark.parametrize(
    "domain",
    [
        Domain({"a": (-1, 1), "b": (-1, 1), "y": (-1, 1)}, data_norm=1.5),
        Domain({"a": (-1, 1), "b": (-1, 1), "y": (-1, 1)}, intercept=False),
        Domain({"a": (-1, 1), "b": (-1, 1), "y": (-1, 1)}, missing="drop"),
        Domain({"a": (-1, 1), "b": [0, 1, 2], "y": (-1, 1)}),
    ],
    ids=["ball", "no intercept", "missing", "levels"],
)
def test_arrays_of_every_domain(domain):
    rng = np.random.default_rng(0)
    rows = rng.choice([0.0, 1.0, 2.0, 0.3, -0.7, 1e200], (20_000, 3)) * [1, 1, 0.9]
    rows[:, 1] = rng.integers(0, 3, len(rows))
    if domain.missing == "drop":
        rows[rng.random(rows.shape) < 0.1] = np.nan
    here = Table.of(rows, domain, 1)
    there = DeviceArray(torch.tensor(rows))
    for held in (rows, there, (there[:, :2], rows[:, 2]), (rows[:, :2], there[:, 2])):
        table = Table.of(held, domain, 2)
        for device in (as_device("cpu"), long_batches(4)):
            for what in (FirstPass(domain, ("y",)), MomentsPass(domain), MomentsPass(domain, ("y",), "y")):
                assert_same(replace(table, device=device).sums(what), here.sums(what))


@pytest.mark.parametrize("jobs", [1, 3])
def test_named_columns_are_read_in_threads(tmp_path, jobs):
    frame = people(20_000)
    frame["weight"], frame["who"] = np.linspace(0, 2, 20_000), np.arange(20_000) // 3
    pq.write_table(pa.table(frame), tmp_path / "people.parquet", row_group_size=3000)
    weighted = DOMAIN.with_unit(weights="weight", largest_weight=2.0)
    persons = DOMAIN.with_unit(person="who", rows_per_person=2)
    for domain in (DOMAIN, weighted, persons, DOMAIN.with_missing("drop")):
        here = Table.of(frame, domain, 1)
        own = Coordinates.rounded(
            domain.design_names(["age", "region"]), ["income"], np.eye(4), np.zeros((4, 1)), 1.0, [[0.2, 1.0]],
            most=domain.most,
        )  # fmt: skip
        passes = [FirstPass(domain, ("income",)), MomentsPass(domain), StagePass(domain, own)]
        passes += [] if domain.unit.plain else [ScorePass(domain, replace(own, widths=((1.0,),)), (1.0,))]
        for source in (frame, pa.table(frame), tmp_path / "people.parquet"):
            for device in (as_device("cpu"), long_batches(7)):
                table = Table.of(source, domain, jobs, device=device)
                for what in passes:
                    assert_same(table.sums(what), here.sums(what))


def test_wide_categories_and_derived_columns():
    levels = [f"l{i}" for i in range(300)]
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=9000), "g": rng.choice(levels, 9000), "y": rng.normal(size=9000)})
    domain = Domain({"x": (-2, 2), "g": levels, "y": (-3, 3)})
    for targets in (None, ["y"]):
        expected = Moments.from_source(table, domain, targets=targets)
        assert Moments.from_source(table, domain, targets=targets, device="cpu") == expected


# ---------------------------------------------------------------- tensors


class Exchanged:
    """An array of another package, which offers itself by DLPack."""

    def __init__(self, values):
        self._values = values

    def __dlpack__(self, **options):
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int16, bool])
def test_tensors_are_read_as_their_numbers(kind):
    X, y = (usual(600)[:, :3] * 2).astype(kind), usual(600)[:, 3].astype(np.float32)
    domain = ARRAYS.select([*X_NAMES, "y"])
    expected = Moments.from_source((X, y), domain)
    for offer in (torch.tensor, lambda own: Exchanged(torch.tensor(own)), Exchanged):
        assert Moments.from_source((offer(X), offer(y)), domain) == expected
        assert Moments.from_source((offer(X), offer(y)), domain, device="cpu") == expected
    assert Moments.from_source(torch.tensor(np.column_stack([X, y]).astype(float)), domain) == expected


def test_tensors_of_types_that_numpy_lacks():
    X = torch.tensor(usual(600)[:, :4], dtype=torch.bfloat16)
    expected = Moments.from_source(X.double().numpy(), ARRAYS.select([*X_NAMES, "y"]))
    assert Moments.from_source(X, expected.domain) == expected
    assert Moments.from_source(X, expected.domain, device="cpu") == expected
    assert Moments.from_source(X.double().requires_grad_(), expected.domain) == expected


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_values_are_told_in_the_same_words(value):
    rows = usual(9000)
    rows[8500, 2] = value
    with pytest.raises(DataError) as here:
        Moments.from_source(rows, ARRAYS)
    for held in (rows, DeviceArray(torch.tensor(rows))):
        for device in (as_device("cpu"), long_batches(6)):
            with pytest.raises(DataError) as there:
                Moments.from_source(held, ARRAYS, device=device)
            assert str(there.value) == str(here.value)


def test_bad_entries_of_named_columns_are_told_in_the_same_words():
    frame = people(9000)
    frame.loc[[10, 8000], "region"] = "nowhere-secret"
    frame.loc[20, "age"] = np.nan
    with pytest.raises(DataError) as here:
        Moments.from_source(frame, DOMAIN)
    with pytest.raises(DataError) as there:
        Moments.from_source(frame, DOMAIN, device="cpu")
    assert str(there.value) == str(here.value)
    assert "secret" not in str(here.value)


def test_shapes_and_layouts_that_are_no_table():
    for bad in (torch.zeros(3), torch.zeros(2, 2, 2), torch.eye(3).to_sparse(), torch.zeros(3, 3, dtype=torch.cfloat)):
        with pytest.raises(DataError):
            Moments.from_source((bad, torch.zeros(3)), ARRAYS.select(["a", "b", "c", "y"]))
    with pytest.raises(DataError, match="different lengths"):
        Moments.from_source((torch.zeros(3, 3), torch.zeros(2)), ARRAYS.select(["a", "b", "c", "y"]))


def test_arrays_of_a_device_show_nothing():
    held = DeviceArray(torch.tensor([[12345.0]]))
    assert "12345" not in repr(held)
    assert "12345" not in str(held)
    with pytest.raises(TypeError, match="confidential"):
        pickle.dumps(held)
    with pytest.raises(TypeError):
        np.exp(held)  # whatever has no exact form is refused


# ---------------------------------------------------------------- threads


def test_a_failure_ends_all_threads():
    """Bad rows, and a device that fails while rows are read, leave no thread behind."""
    table = Table.of(people(60_000), DOMAIN, 3, device=as_device("cpu"))

    class Broken(MomentsPass):
        def sums(self, reader, batches, at=None):
            next(batches)
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        table.sums(Broken(DOMAIN))
    assert threading.active_count() == before
    assert_same(table.sums(MomentsPass(DOMAIN)), replace(table, device=None).sums(MomentsPass(DOMAIN)))


class Copied:
    """Takes the place of a GPU's events: says when a copy is waited for."""

    waited = 0

    def record(self):
        self.recorded = True

    def synchronize(self):
        assert self.recorded
        Copied.waited += 1


def test_buffers_are_filled_again_once_they_are_copied(monkeypatch):
    """As on a GPU, whose memory is played here by that of the processor."""
    device = Device("cpu", 1)
    monkeypatch.setattr(Device, "pinned", True)
    monkeypatch.setattr(torch.cuda, "Event", Copied)
    monkeypatch.setattr(torch.cuda, "device", lambda place: contextlib.nullcontext())
    buffer = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *shape, pin_memory=False, **options: buffer(*shape, **options))
    table = Table.of(people(60_000), DOMAIN, 2)
    assert_same(replace(table, device=device).sums(MomentsPass(DOMAIN)), table.sums(MomentsPass(DOMAIN)))
    assert Copied.waited >= 60_000 // EXACT_ROWS


def test_what_a_device_says_is_withheld():
    class Full(MomentsPass):
        def sums(self, reader, batches, at=None):
            raise torch.OutOfMemoryError("tried to allocate 12345 rows")

    with pytest.raises(DataError, match=r"failed with OutOfMemoryError.*Remedy") as told:
        Table.of(people(9000), DOMAIN, 2, device=as_device("cpu")).sums(Full(DOMAIN))
    assert "12345" not in str(told.value)
    assert told.value.__suppress_context__


def test_progress_is_told_in_fractions():
    told = []
    first_pass(Table.of(people(20_000), DOMAIN, 1, told.append, as_device("cpu")), ["income"])
    assert told[-1] == 1.0
    assert told == sorted(told)
    assert all(0 <= fraction <= 1 for fraction in told)


# ---------------------------------------------------------------- devices that are not there


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ParameterError, match=r"finds 0 GPUs.*Nothing was read.*Remedy"):
        as_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert as_device("auto") is None


def test_a_device_that_computes_otherwise_is_refused(monkeypatch):
    from discreet.data.device import arrays

    devices._checked.cache_clear()
    monkeypatch.setitem(arrays._UFUNCS, np.multiply, lambda a, b, out=None: torch.mul(a, b, out=out).mul_(1 + 2**-52))
    with pytest.raises(ParameterError, match="IEEE 754"):
        as_device("cpu")
    monkeypatch.setattr(devices, "_has_cuda", lambda: True)
    monkeypatch.setattr(devices, "_checked", lambda name, checked=devices._checked: checked("cpu"))
    assert as_device("auto") is None
    monkeypatch.undo()
    devices._checked.cache_clear()
    monkeypatch.setitem(arrays._UFUNCS, np.multiply, None)
    with pytest.raises(ParameterError, match="TypeError in its first computation"):
        as_device("cpu")
    monkeypatch.undo()
    assert as_device("cpu").name == "cpu"


def test_batches_of_a_gpu_are_long_but_for_threads_that_read(monkeypatch):
    device = Device("cpu", devices.NUMBERS)
    here, there = (Table.of(rows, ARRAYS).reader for rows in (usual(10), DeviceArray(torch.tensor(usual(10)))))
    sizes = [device.size(PASSES["moments"], reader) for reader in (here, there)]
    assert [size % EXACT_ROWS for size in sizes] == [0, 0]
    assert sizes[0] * 6 <= devices.STREAMED < sizes[1] * 6 <= devices.NUMBERS
    assert Device("cpu", 1).size(PASSES["moments"], there) == EXACT_ROWS
    assert device.size(MomentsPass(Domain({"a": (0, 1)})), there) <= devices.MOST_ROWS


def test_memory_of_a_gpu_is_asked_before_anything_is_read(monkeypatch):
    device = as_device("cpu")
    monkeypatch.setattr(device, "kind", "cuda")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda name: (1000, 1000))
    with pytest.raises(ParameterError, match=r"of its memory.*Remedy"):
        Moments.from_source(usual(10), ARRAYS, device=device)
