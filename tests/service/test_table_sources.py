"""Tables that are in no file here: PostgreSQL, Dask, Spark, object storage; and credentials that nobody sees."""

import json

import psycopg
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from benchmarks import postgres
from conftest import Town, set_up
from objects import bucket

from discreet.errors import ParameterError
from discreet.service.jobs import NEUTRAL
from discreet.service.settings import Settings
from discreet.service.storage import events, facts, files, jobs, keys, sessions, tables

pytestmark = pytest.mark.more

SECRET = "s3cret-0123456789"
PEOPLE = 'data = "people.csv"'


def served(folder, rows, more=""):
    """A service whose first table is elsewhere."""
    config = set_up(folder, more=more)
    config.write_text(config.read_text().replace(PEOPLE, rows, 1))
    return config


@pytest.fixture
def database(database_server, tmp_path):
    """A schema of a database with the people in it, and its address with a password."""
    address = postgres.schema(database_server, "people" + tmp_path.name.replace("-", "").replace("_", "")[-12:])
    with_password = address.replace("discreet@", f"discreet:{SECRET}@", 1)
    set_up(tmp_path)
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE visits (age int, sex text, region text, income float8)")
        with connection.cursor().copy("COPY visits FROM STDIN (FORMAT csv, HEADER true)") as copy:
            copy.write((tmp_path / "people.csv").read_bytes())
    for part in tmp_path.iterdir():
        part.unlink()
    return with_password


def change(address, statement):
    with psycopg.connect(address) as connection:
        connection.execute(statement)


def everything(town):
    """All that the service keeps and shows."""
    with town.service.store.reading() as connection:
        kept = (tables, jobs, files, events, keys, sessions, facts)
        told = "".join(str(connection.execute(one.select()).all()) for one in kept)
    for who in ("ada", "carl"):
        browser = town.browser(who)
        told += "".join(browser.get(path).text for path in ("/", "/tables/people", "/jobs", "/custody", "/custody/log"))
    told += json.dumps(town("carl", "GET", "/custody/accounts").json())
    return told + repr(town.service.settings) + repr(town.service.ledger.entries())


@pytest.mark.parametrize(
    "more", ['table = "visits"', 'table = "SELECT * FROM visits"', 'table = "visits"\npushdown = true']
)
def test_a_table_of_postgresql(tmp_path, database, monkeypatch, caplog, capfd, more):
    monkeypatch.setenv("PEOPLE", database)
    caplog.set_level("DEBUG")
    town = Town(served(tmp_path, f'data = "$PEOPLE"\n{more}'))
    assert town("ada", "GET", "/tables/people").json()["open"]
    job = town.done(formula="income ~ age + sex")
    assert job["state"] == "done"
    results = json.loads(town("ada", "GET", f"/jobs/{job['id']}/files/results.json").text)
    assert results
    assert town.done("bob", formula="income ~ sex")["kind"] == "model"  # the rows are the same
    change(database, "UPDATE visits SET income = income + 1 WHERE age = 40")
    town("carl", "POST", "/custody/tables/people/check")
    town.work()
    assert town.done("bob", formula="income ~ sex")["kind"] == "fit"  # they are not
    change(database, "UPDATE visits SET region = 'Atlantis' WHERE age = 50")
    told = town.done(formula="income ~ age", reuse=False)
    assert (told["state"], told["answer"]) == ("failed", NEUTRAL)
    assert not town("ada", "GET", "/tables/people").json()["open"]
    change(database, "DROP TABLE visits")
    town("carl", "POST", "/custody/tables/people/check")
    town.work()
    problem = town("carl", "GET", "/custody/accounts").json()[0]["problem"]
    assert "There is no such table" in problem
    out, err = capfd.readouterr()
    shown = everything(town) + caplog.text + out + err
    assert SECRET not in shown
    assert database not in shown
    assert "Atlantis" not in shown


def test_a_server_that_refuses_is_told_without_the_password(tmp_path, monkeypatch):
    monkeypatch.setenv("PEOPLE", f"postgresql://u:{SECRET}@127.0.0.1:1/clinic")
    town = Town(served(tmp_path, 'data = "$PEOPLE"\ntable = "visits"'))
    assert not town("ada", "GET", "/tables/people").json()["open"]
    assert town("carl", "GET", "/custody/accounts").json()[0]["problem"]
    assert SECRET not in everything(town)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ('data = "postgresql://h/d"', "a database needs `table`"),
        ('data = "people.csv"\ntable = "visits"', "other rows have no"),
        ('data = "postgresql://h/d"\ntable = "visits"\nengine = "dask"', "no `engine`"),
        ('data = "people.csv"\npushdown = true', "`pushdown` is for databases"),
        ('data = "host=h dbname=d password=s3cret-0123456789"', "tables.people.data: .* Write a database as"),
        ('data = "password = s3cret-0123456789"\ntable = "visits"', "Write a database as"),
        ('data = "$NO_SUCH_VARIABLE"', "NO_SUCH_VARIABLE"),
        ('data = "people.csv"\nengine = "flink"', "tables.people.engine"),
    ],
)
def test_settings_that_do_not_fit_are_refused_at_the_start(tmp_path, rows, words):
    with pytest.raises(ParameterError, match=words) as caught:
        Town(served(tmp_path, rows))
    assert SECRET not in str(caught.value)


def as_parquet(folder):
    people = pyarrow.csv.read_csv(folder / "people.csv")
    (folder / "parts").mkdir()
    pq.write_table(people, folder / "parts" / "part.parquet")


def test_an_engine(tmp_path):
    pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install 'discreet[dask]'")
    config = served(tmp_path, 'data = "parts"\nengine = "dask"')
    as_parquet(tmp_path)
    town = Town(config)
    assert town.done()["state"] == "done"
    assert Settings.from_file(config).tables["people"].engine == "dask"


def test_spark(tmp_path, request):
    if not request.config.getoption("--spark"):
        pytest.skip("Spark takes minutes, so it is asked for: pytest --spark")
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'discreet[spark]'")
    config = served(tmp_path, 'data = "parts"\nengine = "spark"')
    as_parquet(tmp_path)
    assert Town(config).done()["state"] == "done"


def test_object_storage(tmp_path, monkeypatch):
    """The keys are in the environment of the service, as anywhere with S3."""
    pytest.importorskip("pyarrow._s3fs", reason="this pyarrow was built without S3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "the-name-of-the-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    objects, seen = {}, []
    with bucket("clinic", objects, seen) as port:
        place = f"s3://clinic/parts?endpoint_override=127.0.0.1%3A{port}&scheme=http&region=us-east-1"
        config = served(tmp_path, f'data = "{place}"')
        as_parquet(tmp_path)
        objects["parts/part.parquet"] = (tmp_path / "parts" / "part.parquet").read_bytes()
        town = Town(config)
        assert town.done()["state"] == "done"
        assert any("the-name-of-the-key" in one for one in seen)  # the requests are signed
        objects.clear()
        assert town.done(formula="income ~ sex", reuse=False)["answer"] == NEUTRAL
        assert SECRET not in everything(town)
