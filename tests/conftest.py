"""Fixtures that several test files share."""

import sys
from dataclasses import dataclass

import pytest


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
    from discreet import cli, console

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

    monkeypatch.setattr(sys.modules["discreet.release"], "_noisy", refuse)
