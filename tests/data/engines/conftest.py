"""Every engine, started once for all tests: what offers a table to it, and what the same table is on one machine."""

import contextlib
import io
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from discreet import Postgres
from discreet.data import worker
from discreet.data.engines.base import Engine

_NUMBERS = itertools.count()
PARTS = 5


@dataclass
class Offered:
    """A way to offer a table: to an engine, and the same values to one machine."""

    name: str
    offer: object
    plain: object = staticmethod(lambda table: table)

    def __call__(self, table):
        return self.offer(table)


def pieces(table, parts=PARTS):
    """Parts of uneven lengths, one of them empty."""
    n = table.num_rows
    cuts = sorted([0, min(n, 1), min(n, 1), *(n * k // (parts - 2) for k in range(1, parts - 1))])
    return [table.slice(i, j - i) for i, j in itertools.pairwise(cuts)]


def frame(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


class Processes(Engine):
    """The engine of the documentation, on processes of this machine: what Ray and others look like."""

    pool = None

    def __init__(self, parts):
        self._parts = parts

    @property
    def schema(self):
        return self._parts[0].schema

    def answers(self, task, columns, report):
        Processes.pool = Processes.pool or ProcessPoolExecutor(2, mp_context=get_context("spawn"))
        futures = [self.pool.submit(worker.run, task, part.select(columns).to_batches()) for part in self._parts]
        for done, future in enumerate(futures, start=1):
            yield future.result()
            report(done / len(futures))


@pytest.fixture(scope="session", autouse=True)
def _no_processes_left():
    yield
    if Processes.pool is not None:
        Processes.pool.shutdown()


# ---------------------------------------------------------------- Dask


@pytest.fixture(scope="session")
def dask_frames():
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install 'discreet[dask]'")
    return Offered("Dask", lambda table: frames.from_pandas(frame(table), npartitions=7, sort=False), frame)


@pytest.fixture(scope="session")
def dask_parts():
    dask = pytest.importorskip("dask", reason="dask is not installed: pip install 'discreet[dask]'")
    return Offered("delayed", lambda table: [dask.delayed(part) for part in pieces(table)])


@pytest.fixture(scope="session")
def cluster():
    """A Dask cluster of two processes, which is used only inside `with client.as_current()`."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'discreet[dask]'")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


# ---------------------------------------------------------------- PostgreSQL


@pytest.fixture(scope="session")
def database(database_server):
    """The address of a server, with a user who has a password."""
    pytest.importorskip("adbc_driver_postgresql", reason="no driver: pip install 'discreet[postgres]'")
    return database_server


def ingested(address, table):
    """The name of a new table with these rows."""
    from adbc_driver_postgresql import dbapi

    name = f"people{next(_NUMBERS)}"
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, table, mode="create")
    return name


@pytest.fixture(scope="session")
def streamed(database):
    return Offered("PostgreSQL", lambda table: Postgres(database, ingested(database, table)))


@pytest.fixture(scope="session")
def pushed_down(database):
    def offer(table):
        return Postgres(database, f"SELECT * FROM {ingested(database, table)}", pushdown=True)

    return Offered("pushdown", offer)


# ---------------------------------------------------------------- object storage


@pytest.fixture(scope="session")
def bucket():
    """A function that stores a table, and gives its address in a server that speaks S3."""
    moto = pytest.importorskip("moto.server", reason="no S3 server: pip install 'moto[server]'")
    import boto3

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(name, value)
        server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        port = server.get_host_and_port()[1]
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
        client.create_bucket(Bucket="clinic")

        def store(table):
            folder = f"people{next(_NUMBERS)}"
            for i, part in enumerate(part for part in pieces(table) if part.num_rows):
                file = io.BytesIO()
                pq.write_table(part, file, row_group_size=3_000)
                client.put_object(Bucket="clinic", Key=f"{folder}/part{i}.parquet", Body=file.getvalue())
            options = f"endpoint_override=127.0.0.1%3A{port}&scheme=http&region=us-east-1"
            return f"s3://clinic/{folder}?{options}"

        yield store
        server.stop()


@pytest.fixture(scope="session")
def stored(bucket):
    return Offered("S3", bucket)


@pytest.fixture(scope="session")
def stored_duckdb(bucket):
    return Offered("DuckDB on S3", lambda table: duckdb.from_arrow(pa.dataset.dataset(bucket(table))))


# ---------------------------------------------------------------- Spark


@contextlib.contextmanager
def spark_cluster():
    """The address of a Spark master with two workers, on two hosts as Spark sees it, so that tasks are run twice."""
    import pyspark

    start = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, package = f"spark://127.0.0.1:{port}", "org.apache.spark.deploy"
    web = ["--webui-port", "0"]
    commands = [[f"{package}.master.Master", "--host", "127.0.0.1", "--port", str(port), *web]]
    for host in ("127.0.0.1", "127.0.0.2"):
        size = ["--host", host, "--cores", "1", "--memory", "600m"]
        commands.append([f"{package}.worker.Worker", *size, *web, address])
    with tempfile.TemporaryDirectory() as folder:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        own = os.environ | {"SPARK_WORKER_DIR": folder, "SPARK_DAEMON_MEMORY": "256m"}
        started = [subprocess.Popen([start, *command], env=own, **quiet) for command in commands]
        try:
            yield address
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


@pytest.fixture(scope="session")
def spark(request):
    """One small cluster: two executors of one core each, which can be lost, and tasks that are run twice."""
    if not request.config.getoption("--spark"):
        pytest.skip("Spark takes minutes, so it is asked for: pytest --spark tests/data/engines")
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install 'discreet[spark]'")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.minTaskRuntime": "500ms",
        "spark.sql.shuffle.partitions": "4",
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with spark_cluster() as address:
        builder = sql.SparkSession.builder.master(address).appName("discreet")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("WARN")
        yield session
        session.stop()


@pytest.fixture(scope="session")
def spark_frames(spark):
    return Offered("Spark", lambda table: spark.createDataFrame(table).repartition(PARTS))


# ---------------------------------------------------------------- all of them

ENGINES = ["processes", "dask", "delayed", "postgres", "pushdown", "s3", "duckdb", "spark"]
_FIXTURES = {
    "dask": "dask_frames",
    "delayed": "dask_parts",
    "postgres": "streamed",
    "pushdown": "pushed_down",
    "s3": "stored",
    "duckdb": "stored_duckdb",
    "spark": "spark_frames",
}


@pytest.fixture(params=ENGINES)
def engine(request):
    """A way to offer a table to an engine."""
    if request.param == "processes":
        return Offered("processes", lambda table: Processes(pieces(table)))
    return request.getfixturevalue(_FIXTURES[request.param])


@pytest.fixture
def interrupted():
    """A function that presses Ctrl-C once a condition holds."""
    threads, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)

    def press(when):
        def wait():
            while not when():
                over.wait(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        over = threading.Event()
        threads.append(threading.Thread(target=wait, daemon=True))
        threads[-1].start()

    yield press
    signal.signal(signal.SIGINT, before)
