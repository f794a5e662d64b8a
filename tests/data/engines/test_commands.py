"""Engines on the command line, and what is refused there."""

import pyarrow.parquet as pq
import pytest
from offers import people

from .conftest import ingested

pytestmark = pytest.mark.more

OPTIONS = ["--schema", "people.toml", "--epsilon", 1, "--delta", 1e-6]


@pytest.fixture
def schema(tmp_path):
    bounds = {"age": (18, 90), "score": (-2, 5), "income": (0, 200_000)}
    lines = [f"{name} = {{ low = {low}, high = {high} }}" for name, (low, high) in bounds.items()]
    (tmp_path / "people.toml").write_text("\n".join(["[columns]", *lines]))
    pq.write_table(people(2_000), tmp_path / "people.parquet")


@pytest.mark.usefixtures("schema")
def test_a_database(run, database, tmp_path):
    name = ingested(database, people(2_000))
    done = run("fit", database, "--table", name, "--pushdown", "--target", "income", *OPTIONS)
    assert done.code == 0, done.said
    assert (tmp_path / "postgres.income.release.json").exists()
    done = run("release", database, "--table", f"SELECT * FROM {name}", *OPTIONS)
    assert done.code == 0, done.said
    assert run("check", "postgres.release.json").code == 0


@pytest.mark.usefixtures("schema")
def test_dask(run, tmp_path):
    pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install 'discreet[dask]'")
    done = run("fit", "people.parquet", "--engine", "dask", "--target", "income", *OPTIONS)
    assert done.code == 0, done.said
    assert (tmp_path / "people.income.release.json").exists()


@pytest.mark.usefixtures("schema")
def test_storage(run, tmp_path):
    done = run("fit", (tmp_path / "people.parquet").as_uri(), "--target", "income", *OPTIONS)
    assert done.code == 0, done.said


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["people.parquet", "--engine", "ray"], "--engine must be"),
        (["people.parquet", "--pushdown"], "are for databases"),
        (["people.parquet", "--table", "people"], "are for databases"),
        (["postgresql://me:hidden@host/clinic"], "needs --table"),
        (["postgresql://me:hidden@host/clinic", "--table", "t", "--engine", "dask"], "goes without --engine"),
    ],
)
def test_what_does_not_go_together_is_refused(run, arguments, why):
    done = run("fit", *arguments, "--target", "income", *OPTIONS)
    assert done.code == 2
    assert why in done.said
    assert "hidden" not in done.said
