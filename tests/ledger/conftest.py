"""Ledgers in every storage. PostgreSQL is a private server, where its programs are installed."""

import itertools
import os
import tempfile
from pathlib import Path

import pytest
from benchmarks import postgres

from discreet.ledger import Ledger
from discreet.ledger.storage import Memory

_NUMBERS = itertools.count()


@pytest.fixture
def database(database_server):
    """The address of an empty schema."""
    return postgres.schema(database_server, f"ledger{next(_NUMBERS)}")


@pytest.fixture
def folder(tmp_path):
    """A folder in memory, where there is one: what is tested with it does not depend on the disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, folder):
    """Where a ledger that outlives its process may be made."""
    return folder / "people.ledger" if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request, folder):
    """An empty ledger."""
    if request.param == "memory":
        return Ledger.of(Memory())
    place = folder / "people.ledger" if request.param == "sqlite" else request.getfixturevalue("database")
    return Ledger.create(place)
