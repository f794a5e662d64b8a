"""The examples of README.md and docs run, in order, and their links lead somewhere.

In each file, in one temporary folder: ```python blocks share one namespace; a ```toml block whose first line is
a comment that names a file (``# people.toml``) is written to it; lines of ```console and ```bash blocks that start
with ``$ discreet `` are run as commands, what they print in the file of a ``> file`` at their end. Blocks that must
not run are marked ```text. A block with a title is for the package of that name, and ```r is for R: they run where
these are installed.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest
from experiments.comparison.peers import diffprivlib, opendp_ssp

from discreet import cli
from discreet.errors import DiscreetWarning
from discreet.recipes.rules import MODEL_RULES, NEWEST_OF_MODELS

ROOT = Path(__file__).parents[2]
FILES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
KINDS = {"python", "toml", "console", "bash", "text", "r"}

_BLOCK = re.compile(r'^```(\w*)(?: title="(\w+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")


def name(path):
    return str(path.relative_to(ROOT))


def blocks(path):
    """(kind, title, text, line of the text) of every fenced block."""
    content = path.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(content):
        yield match[1], match[2], match[3], content[: match.start(3)].count("\n")


def run_commands(text, monkeypatch):
    for line in text.replace("\\\n", " ").splitlines():
        if not line.startswith("$ "):
            continue
        program, *arguments = shlex.split(line[2:], comments=True)
        assert program == "discreet", f"mark a block of other commands as text: {line}"
        *arguments, place = arguments if ">" in arguments else [*arguments, ""]
        monkeypatch.setattr(sys, "argv", [program, *(word for word in arguments if word != ">")])
        with contextlib.ExitStack() as stack:
            if place:
                file = stack.enter_context(Path(place).open("w", encoding="utf-8"))
                stack.enter_context(contextlib.redirect_stdout(file))
            with pytest.raises(SystemExit) as stop:
                cli.main()
        assert stop.value.code == 0, line


@cache
def lacking(program):
    """Why blocks of another program cannot run here; empty where they can."""
    if program == "opendp":
        return "" if opendp_ssp.available() else "OpenDP is not installed: pip install opendp"
    if program == "diffprivlib":
        setup = "python -m experiments.comparison.peers.diffprivlib --setup"
        return "" if diffprivlib.available() else f"diffprivlib has no environment: {setup}"
    asked = [shutil.which("Rscript") or "Rscript", "-e", "library(reticulate)"]
    found = shutil.which("Rscript") and subprocess.run(asked, capture_output=True, check=False).returncode == 0
    return "" if found else "R and reticulate are not installed: apt-get install r-cran-reticulate"


def run_elsewhere(program, text):
    """A block for R, or for the environment of diffprivlib."""
    command = (
        [shutil.which("Rscript") or "", "-e"] if program == "r" else [str(diffprivlib.python()), "-W", "ignore", "-c"]
    )
    environment = os.environ | {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([*command, text], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run_block(kind, text, where, namespace, monkeypatch):
    if kind == "python":
        exec(compile(text, where, "exec"), namespace)
    elif kind in ("console", "bash"):
        run_commands(text, monkeypatch)
    elif kind == "toml" and (named := re.match(r"# (\S+\.toml)\n", text)):
        Path(named[1]).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=name)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    left_out, r_blocks = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        for kind, title, text, line in blocks(path):
            assert kind in KINDS, f"{path.name}: a block of kind {kind!r}; mark it as text"
            program = "r" if kind == "r" else title
            if program and lacking(program):
                left_out.append(lacking(program))
            elif program == "r":
                r_blocks.append(text)
            elif program == "diffprivlib":
                run_elsewhere(program, text)
            else:
                run_block(kind, "\n" * line * (kind == "python") + text, str(path), namespace, monkeypatch)
    if r_blocks:
        run_elsewhere("r", "\n".join(r_blocks))
    if left_out:
        pytest.skip(f"all but some blocks ran. {left_out[0]}")


@pytest.mark.parametrize("path", FILES, ids=name)
def test_code_fences_stand_alone_on_their_lines_and_come_in_pairs(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    marks = [line for line in lines if "```" in line]
    wrong = [line for line in marks if not re.fullmatch(r'```(\w+(?: title="\w+")?)?', line)]
    assert not wrong, f"{name(path)}: a fence in {wrong[0]!r}; start it on a line of its own"
    opened = [line != "```" for line in marks]
    assert opened == [True, False] * (len(marks) // 2), f"{name(path)}: a block does not begin or end"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_links_lead_to_files(path):
    for target in _LINK.findall(path.read_text(encoding="utf-8")):
        assert "://" in target or (path.parent / target).exists(), f"{name(path)} links to {target}"


def anchors(path):
    """What headings of a page are linked to by, on the site and in a checkout."""
    text = _BLOCK.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", FILES, ids=name)
def test_links_lead_to_headings(path):
    for target, anchor in _ANCHOR.findall(path.read_text(encoding="utf-8")):
        if "://" not in target:
            found = anchors(path.parent / target if target else path)
            assert anchor in found, f"{name(path)} links to {target}#{anchor}"


def sections():
    """Numbers of the sections and paragraphs of the mathematics."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "mathematics").glob("*.md"))
    return set(re.findall(r"^(?:#+ |\*\*)(\d+(?:\.\d+)*)[. ]", text, re.MULTILINE))


def test_pages_that_code_names_are_there():
    known = sections()
    for folder in ("src", "tests", "experiments", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for page in re.findall(r"\bdocs/[\w/]+(?:\.(?:md|svg|png|json))?", text):
                assert list(ROOT.glob(page)), f"{name(path)} names {page}"
            for number in re.findall(r"docs/mathematics``?,?\s+(?:sections?\s+)?(\d+(?:\.\d+)?)", text):
                assert number in known, f"{name(path)} names section {number}"


def test_every_committed_picture_is_shown_on_a_page():
    places = {path: _LINK.findall(path.read_text(encoding="utf-8")) for path in FILES}
    shown = {(path.parent / link).resolve() for path, links in places.items() for link in links}
    folders = (ROOT / "docs", ROOT / "experiments" / "results" / "reproduce")
    pictures = {path for folder in folders for kind in ("png", "svg") for path in folder.rglob(f"*.{kind}")}
    assert pictures
    assert pictures <= shown


def test_the_page_of_classes_has_the_shares_of_the_rules():
    """The table of docs/howto/glm.md has the growth of the steps and the shares of the last stage that fits use."""
    page, rules = (ROOT / "docs/howto/glm.md").read_text(), MODEL_RULES[NEWEST_OF_MODELS]
    classes, counts = (f"{100 * rules.last[link]:.0f} %" for link in ("logit", "log"))
    assert f"of classes each has {rules.growth} times the mu^2 of the one before" in page
    assert f"for standard errors | {classes}, of counts {counts} |" in page
