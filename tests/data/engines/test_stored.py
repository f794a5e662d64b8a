"""Files in object storage: addresses, what is refused, and no key in an error."""

import fsspec
import pyarrow.parquet as pq
import pytest
from offers import PEOPLE, people
from tables import full_text

from discreet import Moments
from discreet.errors import DataError

pytestmark = pytest.mark.more


@pytest.fixture
def memory():
    """fsspec's files in memory, which pyarrow knows nothing of."""
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


def test_a_file_system_that_only_fsspec_knows(memory):
    table = people(5_000)
    for i, part in enumerate((table[:3_000], table[3_000:])):
        with memory.open(f"/clinic/part{i}.parquet", "wb") as file:
            pq.write_table(part, file)
    for address in ("memory://clinic", [f"memory://clinic/part{i}.parquet" for i in range(2)]):
        assert Moments.from_source(address, PEOPLE) == Moments.from_source(table, PEOPLE)


def test_local_files_by_address(tmp_path):
    pq.write_table(people(100), tmp_path / "it.parquet")
    assert Moments.from_source((tmp_path / "it.parquet").as_uri(), PEOPLE) == Moments.from_source(people(100), PEOPLE)


def test_copies_and_other_kinds_are_refused(memory):
    for name in ("a.parquet", "b.parquet"):
        with memory.open(f"/twice/{name}", "wb") as file:
            pq.write_table(people(100), file)
    with memory.open("/mixed/a.csv", "wb") as file:
        file.write(b"age\n1\n")
    for address, why in {
        "memory://twice": "copies of each other",
        "memory://mixed": "a.csv is no .parquet file",
        "memory://nothing/here.parquet": "There is no file here.parquet",
        "unknown://somewhere/it.parquet": "The storage of it.parquet cannot be reached",
    }.items():
        with pytest.raises(DataError, match=why):
            Moments.from_source(address, PEOPLE)
    with pytest.raises(DataError, match="Name files of one place only"):
        Moments.from_source(["memory://twice/a.parquet", "here.parquet"], PEOPLE)


def test_no_key_in_an_error(bucket):
    address = bucket(people(100)).replace("s3://", "s3://mykey:TOPSECRET@").replace("127.0.0.1%3A", "127.0.0.1%3A1")
    with pytest.raises(DataError, match="cannot be reached") as caught:
        Moments.from_source(address, PEOPLE)
    assert "TOPSECRET" not in full_text(caught.value)
