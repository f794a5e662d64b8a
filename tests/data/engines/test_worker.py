"""What workers run: it needs little, tells nothing, and its answers add up or are refused."""

import itertools
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offers import PEOPLE, SECRET_LEVEL, people

import discreet
from discreet import DiscreetWarning, Domain, Moments
from discreet.data import worker
from discreet.data.counts import Histogram, first_pass
from discreet.data.engines.base import Engine
from discreet.data.moments import counted
from discreet.data.passes.moments import MomentsPass
from discreet.data.reading import Table
from discreet.data.sums import PartialSums
from discreet.errors import DataError, FileFormatError, ParameterError
from discreet.mechanisms.registry import METHODS

TASK = worker.task(MomentsPass(PEOPLE, (), "income"))
SMALL = people(2_000)


class Here(Engine):
    """An engine in this process, some of whose answers may be changed."""

    def __init__(self, parts, change=lambda answers: answers):
        self._parts, self._change = parts, change

    @property
    def schema(self):
        return self._parts[0].schema

    def answers(self, task, columns, report):
        return self._change([worker.run(task, part.select(columns).to_batches(100)) for part in self._parts])


def cut(table, places):
    places = sorted({0, *places, table.num_rows})
    return [table.slice(i, j - i) for i, j in itertools.pairwise(places)]


# ---------------------------------------------------------------- slim and silent


def test_a_worker_needs_numpy_and_pyarrow_only():
    code = f"""
import sys
class Refused:  # pyarrow itself imports pandas if it can
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "scipy", "sklearn", "threadpoolctl", "matplotlib", "rich", "mpmath"):
            raise ImportError(name)
sys.meta_path.insert(0, Refused())
import numpy, pyarrow, pyarrow.compute
pyarrow.array(["what pyarrow loads for itself"])
before = {{name.partition(".")[0] for name in sys.modules}}
from discreet.data import worker
task = {TASK!r}
batch = pyarrow.RecordBatch.from_pydict({{
    "age": [30.0], "sex": ["F"], "score": [0.5], "grade": [1], "member": [True],
    "born": pyarrow.array([0], pyarrow.date32()), "income": [1000.0],
}})
worker.merged([worker.run(task, [batch]), worker.run(task, [])])
loaded = {{name.partition(".")[0] for name in sys.modules}} - before - set(sys.stdlib_module_names)
print(*sorted(loaded))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["discreet"], "")


def test_failures_of_a_worker_keep_their_words_to_themselves(capfd, monkeypatch):
    def fail(*_):
        raise RuntimeError(SECRET_LEVEL)

    monkeypatch.setattr(MomentsPass, "sums", fail)
    answers = [worker.run(TASK, SMALL.to_batches())]
    monkeypatch.undo()
    with pytest.raises(DataError, match="A worker failed with RuntimeError") as caught:
        worker.sums(MomentsPass(PEOPLE, (), "income"), answers)
    assert SECRET_LEVEL not in str(caught.value) + answers[0].decode("latin-1") + "".join(capfd.readouterr())


def test_failures_of_whoever_produces_rows_are_passed_on_so_that_an_engine_can_try_again():
    def batches():
        yield SMALL.to_batches()[0]
        raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        worker.run(TASK, batches())


def test_workers_of_another_version_are_refused(monkeypatch):
    monkeypatch.setattr(worker, "__version__", "0.0.1")
    old = worker.run(TASK, SMALL.to_batches())
    monkeypatch.undo()
    with pytest.raises(ParameterError, match=r"A worker has discreet 0.0.1.*install the same version"):
        worker.sums(MomentsPass(PEOPLE, (), "income"), [old])
    assert discreet.__version__.encode() in TASK


# ---------------------------------------------------------------- answers


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 2_000), max_size=6), st.integers(0, 3))
def test_answers_add_up_however_rows_are_divided(places, groups):
    what = MomentsPass(PEOPLE, (), "income")
    answers = [worker.run(TASK, part.to_batches()) for part in cut(SMALL, places)]
    while groups and len(answers) > 1:
        answers, groups = [worker.merged(answers[:2]), *answers[2:]], groups - 1
    found, whole = worker.sums(what, answers), worker.sums(what, [worker.run(TASK, SMALL.to_batches())])
    assert np.array_equal(found.high, whole.high)
    assert np.array_equal(found.low, whole.low)
    assert np.array_equal(found.counts[0], whole.counts[0])


def test_answers_for_another_task_or_damaged_ones_are_refused():
    other = worker.task(MomentsPass(PEOPLE))
    parts = cut(SMALL, [500])

    def mixed(answers):
        return [answers[0], worker.run(other, parts[1].to_batches())]

    def damaged(answers):
        return [answers[0][:-1] + b"?", answers[1]]

    domain = PEOPLE.select(["age", "income"])
    with pytest.raises(ParameterError, match="different tasks"):
        Moments.from_source(Here(parts, mixed), domain)
    with pytest.raises(FileFormatError, match="damaged"):
        Moments.from_source(Here(parts, damaged), domain)
    assert Moments.from_source(Here(parts), domain) == Moments.from_source(SMALL, domain)


def test_nothing_is_pickled_and_nothing_is_shown():
    import pickle

    engine = Here([SMALL])
    for held in (engine, worker.sums(MomentsPass(PEOPLE), [])):
        assert repr(held).endswith("(confidential)")
        with pytest.raises(TypeError, match="confidential"):
            pickle.dumps(held)


# ---------------------------------------------------------------- every estimator

BY_ROWS = {
    "ObjectivePerturbation",
    "OutputPerturbation",
    "NoisyGradientDescent",
    "NoisySGD",
    "SubsampleAggregate",
    "NAPP",
}
"""Methods whose sums are not exact, or that draw something for each row."""

DOMAIN = Domain({"a": (0, 1), "b": (0, 1), "y": (-1, 3)})
RNG = np.random.default_rng(0)
TABLE = pa.table({"a": RNG.random(3_000), "b": RNG.random(3_000)})
TABLE = TABLE.append_column("y", pa.array(TABLE["a"].to_numpy() + RNG.normal(0, 0.1, 3_000)))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_estimator_works_with_engines_or_says_why_not(method):
    table, domain, target, promise = TABLE, DOMAIN, "y", {"epsilon": 1, "delta": 1e-6, "random_state": 1}
    if method.name in ("DPLogisticRegression", "DPLinearSVC"):
        table = table.set_column(2, "y", pa.array(RNG.random(3_000) < 0.5))
        domain = Domain({"a": (0, 1), "b": (0, 1), "y": bool})
    if method.name == "DPPoissonRegression":
        table = table.set_column(2, "y", pa.array(RNG.integers(0, 4, 3_000)))
        domain = Domain({"a": (0, 1), "b": (0, 1), "y": (0, 4)})
    own = {name: value for name, value in promise.items() if name in method.estimator().get_params()}
    try:
        here = method.estimator(**own, domain=domain).fit_source(table, target)
    except (ParameterError, DataError) as error:
        pytest.skip(f"needs other parameters: {error}")
    engine = Here(cut(table, [7, 1_000]))
    if method.name in BY_ROWS:
        with pytest.raises(DataError, match="needs the rows themselves"):
            method.estimator(**own, domain=domain).fit_source(engine, target)
        return
    assert np.array_equal(here.coef_, method.estimator(**own, domain=domain).fit_source(engine, target).coef_)


# ---------------------------------------------------------------- bytes


def test_moments_and_histograms_as_bytes_add_up():
    parts = [counted(Table.of(part, PEOPLE), "income") for part in cut(SMALL, [700])]
    (h1, m1), (h2, m2) = parts
    histogram, moments = counted(Table.of(SMALL, PEOPLE), "income")
    assert Moments.from_bytes(m1.to_bytes()) + Moments.from_bytes(m2.to_bytes()) == moments
    assert Histogram.from_bytes(h1.to_bytes()) + Histogram.from_bytes(h2.to_bytes()) == histogram
    assert histogram == first_pass(Table.of(SMALL, PEOPLE), ["income"])[0][0]
    some = Moments.from_source(SMALL, PEOPLE, targets=["income"])
    assert Moments.from_bytes(some.to_bytes()) == some
    with pytest.raises(ParameterError, match="cannot be added"):
        _ = histogram + Histogram(PEOPLE, "age", histogram._counts)


def test_bytes_that_are_not_whole_are_refused():
    moments = Moments.from_source(SMALL, PEOPLE)
    content = moments.to_bytes()
    assert content.startswith(b"CONFIDENTIAL")
    assert len(content) < 5_000
    for bad, why in (
        (content[:-1], "damaged"),
        (content[:-3] + b"abc", "damaged"),
        (b"", "are not moments"),
        (PartialSums(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64)).to_bytes(), "not moments"),
    ):
        with pytest.raises(FileFormatError, match=why):
            Moments.from_bytes(bad)


def test_the_old_names_of_the_functions_that_engines_call_still_work():
    with pytest.warns(DiscreetWarning, match=r"worker\.answer is called worker\.run now") as told:
        old = worker.answer(TASK, SMALL.to_batches())
    assert told[0].filename == __file__
    assert old == worker.run(TASK, SMALL.to_batches())
    with pytest.warns(DiscreetWarning, match=r"worker\.answer_for_frame is called worker\.run_on_frame now"):
        old = worker.answer_for_frame(TASK, SMALL.to_pandas())
    assert old == worker.run_on_frame(TASK, SMALL.to_pandas())
