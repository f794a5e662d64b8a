"""Run tests with the oldest versions that pyproject.toml declares, and with the newest available.

    python -m tools.versions oldest     every declared package at its minimum, on the oldest Python that is allowed
    python -m tools.versions newest     all packages at their newest, on the newest Python of this machine
    python -m tools.versions newest --python 3.12

Each has its own environment: .venv-oldest, .venv-newest, .venv-newest-3.12. The first is rebuilt when pyproject.toml
changes, the others are updated each time. Dependencies of the declared packages are always at the newest version that
fits.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXTRA = "test"
NEWEST_PYTHON = 20
"""Python 3.x up to which is looked for."""

TESTS = (
    "tests/contracts/test_sources.py",
    "tests/contracts/test_files_and_queries.py",
    "tests/cli/test_cli.py",
    "tests/data/test_file_formats.py",
    "tests/results/test_export.py",
    "tests/results/test_plots.py",
    "tests/models/test_pipelines.py",
    "tests/package/test_properties.py",
    "tests/core/test_signing.py",
    "tests/results/test_old_files.py",
    "tests/results/test_like_statsmodels.py",
    "tests/privacy/test_families.py",
    "tests/data/engines/test_worker.py",
)
MORE = ("tests/service/test_requests.py", "tests/service/test_client.py", "tests/data/engines/test_same_bits.py")
"""At least one file for each package that is declared; the last ones are marked `more`."""

_OWN = re.compile(r"discreet\[([^]]*)\]")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9][0-9a-z.]*)\s*(;.*)?")


def minimums(project: dict[str, Any]) -> list[str]:
    """Constraints that hold every package which the tests need to its declared minimum.

    Examples
    --------
    >>> extras = {"test": ["discreet[x]", "pytest>=8"], "x": ["dask[array]>=2025.1"], "y": ["mypy>=1.10"]}
    >>> minimums({"dependencies": ["numpy>=2.0"], "optional-dependencies": extras})
    ['dask==2025.1', 'numpy==2.0', 'pytest==8']
    """
    matches = filter(None, map(_REQUIREMENT.fullmatch, [*project["dependencies"], *_extra(project, EXTRA)]))
    return sorted({f"{match[1]}=={match[2]}{match[3] or ''}" for match in matches})


def _extra(project: dict[str, Any], name: str) -> Iterator[str]:
    """What an extra needs, and the extras that it names."""
    for text in project["optional-dependencies"][name]:
        if (others := _OWN.fullmatch(text)) is not None:
            for other in others[1].split(","):
                yield from _extra(project, other.strip())
        else:
            yield text


def pythons() -> Iterator[tuple[int, str]]:
    """The Pythons 3.x of this machine that start, the newest first; those of pyenv, too, which are on no path."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(NEWEST_PYTHON, 10, -1):
        places = [shutil.which(f"python3.{minor}"), *map(str, sorted(kept.glob(f"3.{minor}.*/bin/python3.{minor}")))]
        for place in filter(None, places):
            if subprocess.run([place, "-c", "import venv"], check=False, capture_output=True).returncode == 0:
                yield minor, place
                break


def chosen(which: str, version: str | None, found: dict[int, str], least: int) -> int:
    """The Python 3.x that is asked for, or the oldest that is allowed, or the newest.

    Examples
    --------
    >>> places = {13: "python3.13", 12: "python3.12", 10: "python3.10"}
    >>> chosen("oldest", None, places, 11), chosen("newest", None, places, 11), chosen("newest", "3.12", places, 11)
    (12, 13, 12)
    """
    allowed = sorted(minor for minor in found if minor >= least)
    if not allowed:
        sys.exit(f"Python 3.{least} or newer is needed, and this machine has none.")
    if version is None:
        return allowed[-1] if which == "newest" else allowed[0]
    asked = [minor for minor in allowed if version == f"3.{minor}"]
    if not asked:
        sys.exit(f"This machine has no Python {version}, or it is too old. It has 3.{', 3.'.join(map(str, allowed))}.")
    return asked[0]


def environment(which: str, version: str | None, project: dict[str, Any]) -> Path:
    """The Python of an environment, which is made or brought up to date."""
    found = dict(pythons())
    minor = chosen(which, version, found, int(project["requires-python"].removeprefix(">=3.")))
    folder = ROOT / (f".venv-{which}" + (f"-{version}" if version else ""))
    python, stamp, held = folder / "bin" / "python", folder / "stamp", folder / "minimums.txt"
    constraints = "\n".join(minimums(project)) + "\n"
    wanted = hashlib.sha256(f"{found[minor]} {constraints}".encode()).hexdigest()
    ready = stamp.exists() and stamp.read_text() == wanted
    if ready and which == "oldest":
        return python
    if not ready:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([found[minor], "-m", "venv", folder], check=True)
    held.write_text(constraints)
    choice = ["--constraint", held] if which == "oldest" else ["--upgrade", "--upgrade-strategy", "eager"]
    pip = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", "pip"], check=True)
    subprocess.run([*pip, *choice, "--editable", f"{ROOT}[{EXTRA}]"], check=True)
    stamp.write_text(wanted)
    return python


def main() -> None:
    """Make an environment and run tests in it."""
    parser = argparse.ArgumentParser(prog="python -m tools.versions", description=__doc__)
    parser.add_argument("which", choices=["oldest", "newest"])
    parser.add_argument("--python", help="a version of Python that this machine has, for example 3.12")
    parser.add_argument("tests", nargs="*", help="arguments for pytest; by default tests that use every package")
    given = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = environment(given.which, given.python, project)
    subprocess.run([python, "-VV"], check=True)
    own = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    for tests in [given.tests] if given.tests else [TESTS, (*MORE, "-m", "more", "-k", "requests or client or dask")]:
        command = [python, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *tests]
        if (code := subprocess.run(command, cwd=ROOT, env=own, check=False).returncode) != 0:
            sys.exit(code)


if __name__ == "__main__":
    main()
