"""Fixtures that several test files share."""

import os
import sys
from dataclasses import dataclass

import pytest
from benchmarks import postgres
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers share the cores already

# The same examples each time, so that a change is judged by itself; HYPOTHESIS_PROFILE=explore draws new ones.
settings.register_profile("steady", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_addoption(parser):
    parser.addoption("--spark", action="store_true", help="start a small Spark cluster, too")


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def said(self):
        """All of its words, however lines were broken."""
        return " ".join((self.out + self.err).split())


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the command line inside this process, in a folder of its own."""
    from discreet import cli
    from discreet.cli import console

    monkeypatch.chdir(tmp_path)
    for terminal in (console.out, console.err):
        monkeypatch.setattr(terminal, "_width", 200)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return Ran(int(stop.value.code or 0), out, err)

    return call


@pytest.fixture
def no_noise_yet(monkeypatch):
    """Any attempt to draw noise fails."""

    def refuse(*_):
        pytest.fail("noise was drawn")

    monkeypatch.setattr("discreet.gate.statistics.add_normal_on_grid", refuse)


@pytest.fixture(scope="session")
def database_server():
    """The address of a private PostgreSQL server, where its programs are installed."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'discreet[postgres]'")
    if postgres.binaries() is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with postgres.server() as address:
        yield address
