"""The examples of README.md and docs/*.md run, in order, and their links lead somewhere.

In each file, in one temporary folder: ```python blocks share one namespace; a ```toml block whose first line is
a comment that names a file (``# people.toml``) is written to it; lines of ```console and ```bash blocks that start
with ``$ discreet `` are run as commands. Blocks that must not run are marked ```text.
"""

import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest

from discreet import cli
from discreet.errors import DiscreetWarning

ROOT = Path(__file__).parent.parent
FILES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
KINDS = {"python", "toml", "console", "bash", "text", "r"}

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def blocks(path):
    """(kind, text, line of the text) of every fenced block."""
    content = path.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(content):
        yield match[1], match[2], content[: match.start(2)].count("\n")


def run_commands(text, monkeypatch):
    for line in text.replace("\\\n", " ").splitlines():
        if not line.startswith("$ "):
            continue
        program, *arguments = shlex.split(line[2:], comments=True)
        assert program == "discreet", f"mark a block of other commands as text: {line}"
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 0, line


def run_block(kind, text, where, namespace, monkeypatch):
    if kind == "python":
        exec(compile(text, where, "exec"), namespace)
    elif kind in ("console", "bash"):
        run_commands(text, monkeypatch)
    elif kind == "toml" and (named := re.match(r"# (\S+\.toml)\n", text)):
        Path(named[1]).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        for kind, text, line in blocks(path):
            assert kind in KINDS, f"{path.name}: a block of kind {kind!r}; mark it as text"
            run_block(kind, "\n" * line * (kind == "python") + text, str(path), namespace, monkeypatch)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_links_lead_to_files(path):
    for target in _LINK.findall(path.read_text(encoding="utf-8")):
        assert "://" in target or (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_committed_picture_is_shown_on_a_page():
    places = {path: _LINK.findall(path.read_text(encoding="utf-8")) for path in FILES}
    shown = {(path.parent / link).resolve() for path, links in places.items() for link in links}
    folders = (ROOT / "docs", ROOT / "experiments" / "results" / "reproduce")
    pictures = {path for folder in folders for kind in ("png", "svg") for path in folder.rglob(f"*.{kind}")}
    assert pictures
    assert pictures <= shown
