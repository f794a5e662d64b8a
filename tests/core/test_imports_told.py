"""A package that cannot be imported is named, as Python names it: such an error quotes no data."""

import pytest

from discreet.cli import console
from discreet.data.engines.base import unquoted
from discreet.errors import DataError

WORDS = "cannot import name 'Table' from 'sums' (unknown location)"


def fail(error):
    raise error


@pytest.mark.parametrize("kind", [ImportError, ModuleNotFoundError])
def test_the_command_line_names_it(kind, capsys, monkeypatch):
    monkeypatch.setattr(console.err, "_width", 200)
    assert console.guarded(lambda: fail(kind(WORDS))) == 2
    assert f"A package that is needed cannot be imported: {WORDS}" in capsys.readouterr().err
    assert console.guarded(lambda: fail(RuntimeError("a value"))) == 2
    assert "a value" not in capsys.readouterr().err


def test_engines_name_it():
    with pytest.raises(DataError, match="cannot import name 'Table'"), unquoted("frame"):
        fail(ImportError(WORDS))
    with pytest.raises(DataError, match="broke off") as caught, unquoted("frame"):
        fail(RuntimeError("a value"))
    assert "a value" not in str(caught.value)
