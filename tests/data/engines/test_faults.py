"""Faults of a cluster: a right answer or a clear error, and nothing drawn twice; workers that would release refuse."""

import os
import signal
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from offers import PEOPLE, SECRET_LEVEL, people
from tables import full_text

from discreet import DPLinearRegression, Moments
from discreet.data.engines.base import unquoted
from discreet.errors import DataError

pytestmark = pytest.mark.more

TABLE = people(6_000)
FIT = {"epsilon": 1, "delta": 1e-6, "domain": PEOPLE, "random_state": 1}


def same_fit(source):
    """Seeded fits are the same: so nothing was drawn twice, and each row counted once."""
    here, there = (DPLinearRegression(**FIT).fit_source(own, "income") for own in (TABLE, source))
    assert np.array_equal(here.coef_, there.coef_)
    assert here.certificate_ == there.certificate_


def once(folder, name):
    """Whether this is the first time, for all processes together."""
    try:
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL))  # noqa: PTH118
    except FileExistsError:
        return False
    return True


def releases():
    """What a worker is told that releases by itself."""
    from discreet import DPLinearRegression
    from discreet.errors import BudgetError

    try:
        DPLinearRegression(epsilon=1, delta=1e-6, domain=PEOPLE).fit_source(TABLE, "income")
    except BudgetError as error:
        return str(error)
    return "released"


# ---------------------------------------------------------------- Dask


def delayed(work):
    import dask

    cuts = [(0, 100), (100, 4_000), (4_000, 6_000)]
    return [dask.delayed(work)(TABLE.slice(i, j - i), k) for k, (i, j) in enumerate(cuts)]


def test_dask_a_task_that_fails_once_and_a_worker_that_is_lost(cluster, tmp_path):
    folder = str(tmp_path)

    def work(part, k):
        if k == 1 and once(folder, "failed"):
            raise OSError("a disk")
        if k == 2 and once(folder, "killed"):
            os._exit(1)
        return part

    with cluster.as_current():
        same_fit(delayed(work))
    assert {path.name for path in tmp_path.iterdir()} == {"failed", "killed"}


def test_dask_a_task_that_always_fails(cluster, capfd):
    def work(part, k):
        raise OSError(SECRET_LEVEL)

    with cluster.as_current(), pytest.raises(DataError, match="Dask collection broke off") as caught:
        Moments.from_source(delayed(work), PEOPLE)
    assert SECRET_LEVEL not in full_text(caught.value)


def test_dask_control_c_cancels(cluster, tmp_path, interrupted):
    def work(part, k):
        (tmp_path / str(k)).touch()
        time.sleep(30)
        return part

    interrupted(lambda: any(tmp_path.iterdir()))
    with cluster.as_current(), pytest.raises(KeyboardInterrupt):
        Moments.from_source(delayed(work), PEOPLE)
    deadline = time.monotonic() + 60
    while (left := cluster.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.1)
    assert left == 0
    cluster.restart()


def test_dask_workers_release_nothing(cluster):
    assert "worker process" in cluster.submit(releases).result()


# ---------------------------------------------------------------- Spark

KIND = "age double, sex string, score double, grade bigint, member boolean, born date, income double"


def mapped(spark, work, kind=KIND):
    """A frame of three parts, the rows of which pass through a function of batches and the number of the part."""
    from pyspark import TaskContext, cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which executors do not have

    def function(batches):
        yield from work(batches, TaskContext.get())

    frame = spark.createDataFrame(TABLE.select(list(PEOPLE.columns))).repartition(3)
    return frame.mapInArrow(function, kind)


def test_spark_a_task_that_fails_once(spark, tmp_path):
    folder = str(tmp_path)

    def work(batches, task):
        yield next(batches)
        if task.partitionId() == 1 and once(folder, "failed"):
            raise OSError("a disk")
        yield from batches

    same_fit(mapped(spark, work))
    assert list(tmp_path.iterdir())


def test_spark_an_executor_that_is_lost(spark, tmp_path):
    folder = str(tmp_path)

    def work(batches, task):
        if task.partitionId() == 0 and once(folder, "killed"):
            daemon = os.getppid()
            with open(f"/proc/{daemon}/stat") as stat:  # noqa: PTH123
                executor = int(stat.read().rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(60)
        yield from batches

    same_fit(mapped(spark, work))
    assert list(tmp_path.iterdir())


def test_spark_a_task_that_is_run_twice(spark, tmp_path):
    folder = str(tmp_path)

    def work(batches, task):
        if task.attemptNumber() > 0:
            once(folder, "again")
        if task.partitionId() == 0 and once(folder, "slow"):
            deadline = time.monotonic() + 120
            while not os.path.exists(os.path.join(folder, "again")) and time.monotonic() < deadline:  # noqa: PTH110, PTH118
                time.sleep(0.1)
        yield from batches

    assert Moments.from_source(mapped(spark, work), PEOPLE) == Moments.from_source(TABLE, PEOPLE)
    assert {path.name for path in tmp_path.iterdir()} == {"slow", "again"}


def test_spark_a_task_that_always_fails(spark):
    def work(batches, task):
        raise OSError(SECRET_LEVEL)
        yield from batches

    with pytest.raises(DataError, match=r"Spark job broke off.*Spark's own log tells why") as caught:
        Moments.from_source(mapped(spark, work), PEOPLE)
    assert SECRET_LEVEL not in full_text(caught.value)


def closing():
    """As a gateway does that closes a socket which is closed."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise OSError(SECRET_LEVEL)  # noqa: B904


def test_an_engine_that_fails_while_it_handles_control_c_was_interrupted():
    with pytest.raises(KeyboardInterrupt), unquoted("job"):
        closing()
    with pytest.raises(DataError), unquoted("job"):
        raise OSError(SECRET_LEVEL)


def test_spark_control_c_cancels(spark, tmp_path, interrupted):
    folder = str(tmp_path)

    def work(batches, task):
        once(folder, str(task.partitionId()))
        time.sleep(60)
        yield from batches

    frame = mapped(spark, work)
    interrupted(lambda: any(tmp_path.iterdir()))
    with pytest.raises(KeyboardInterrupt):
        Moments.from_source(frame, PEOPLE)
    tracker, deadline = spark.sparkContext.statusTracker(), time.monotonic() + 120
    while tracker.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not tracker.getActiveJobsIds()


def test_spark_workers_release_nothing(spark):
    def work(batches, task):
        rows = sum(batch.num_rows for batch in batches)
        told = releases() if rows else "worker process"
        yield pa.RecordBatch.from_pydict({"told": [told]})

    told = {row[0] for row in mapped(spark, work, "told string").collect()}
    assert all("worker process" in text for text in told)


def test_spark_large_answers_are_added_up_by_the_cluster(spark, monkeypatch):
    monkeypatch.setattr("discreet.data.engines.spark._LARGE", 0)
    frame = spark.createDataFrame(TABLE).repartition(11)
    assert Moments.from_source(frame, PEOPLE) == Moments.from_source(TABLE, PEOPLE)


def test_spark_columns_that_spark_does_not_tell_apart(spark):
    both = spark.createDataFrame(TABLE.append_column("AGE", TABLE["age"]))
    with pytest.raises(DataError, match="Spark does not tell capitals apart"):
        Moments.from_source(both, PEOPLE)


def test_spark_on_the_command_line(spark, run, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(TABLE, tmp_path / "people.parquet")
    bounds = {"age": (18, 90), "score": (-2, 5), "income": (0, 200_000)}
    lines = [f"{name} = {{ low = {low}, high = {high} }}" for name, (low, high) in bounds.items()]
    (tmp_path / "people.toml").write_text("\n".join(["[columns]", *lines]))
    options = ["--schema", "people.toml", "--target", "income", "--epsilon", 1, "--delta", 1e-6, "--engine", "spark"]
    done = run("fit", tmp_path / "people.parquet", *options)
    assert done.code == 0, done.err
    assert (tmp_path / "people.income.release.json").exists()
