"""Kill -9: nothing stays behind, neither processes nor files."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.core import files
from discreet.core.files import atomic_write
from discreet.core.scratch import Scratch

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")

WRITING = """
import sys, time
from discreet.core.files import atomic_write

with atomic_write(sys.argv[1], confidential=True) as file:
    file.write(b"private")
    file.flush()
    print("begun", flush=True)
    time.sleep(60)
"""

SORTING = """
import sys, time
import numpy as np, pyarrow as pa
from discreet import Domain, Moments
from discreet.data import persons

persons.IN_MEMORY = 0
persons._check_order = lambda source: (print("begun", flush=True), time.sleep(60))
domain = Domain({"x": (0, 1)}, person="who", rows_per_person=2)
Moments.from_source(pa.table({"who": ["a", "b"], "x": [0.5, 0.25]}), domain)
"""

STUDY = """
import os, sys, time
from pathlib import Path
from experiments import study

def work(cell):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(60)
    return []

if __name__ == "__main__":
    study.run("slow", [{"i": i} for i in range(6)], work, Path(sys.argv[1]) / "log", jobs=2)
"""


def started(code, *arguments, **environment):
    """A process of its own that runs some code with this repository's modules."""
    path = os.pathsep.join(["src", ".", os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONPATH": path} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def is_running(pid):
    """Whether a process is there, and not only its exit status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("older", [None, "an older file"])
def test_a_file_that_was_being_written_is_not_there(tmp_path, older):
    place = tmp_path / "moments.npz"
    if older is not None:
        place.write_text(older)
    process = started(WRITING, place)
    assert process.stdout.readline() == "begun\n"
    killed(process)
    assert [path.name for path in tmp_path.iterdir()] == ([] if older is None else [place.name])
    assert older is None or place.read_text() == older


@pytest.mark.parametrize("named", [True, False])
def test_files_are_written_and_replaced_with_and_without_a_name_in_between(tmp_path, monkeypatch, named):
    if named:
        monkeypatch.setattr(files, "_HANDLES", tmp_path / "absent")
    place = tmp_path / "file"
    for text, confidential in ((b"first", True), (b"second", False)):
        with atomic_write(place, confidential=confidential) as file:
            file.write(text)
            assert [path.name for path in tmp_path.iterdir() if path != place] != [] or not named
        assert place.read_bytes() == text
        assert place.stat().st_mode & 0o777 == (0o600 if confidential else 0o644)
    assert list(tmp_path.iterdir()) == [place]


def test_rows_on_disk_are_swept_away_by_who_comes_next(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = started(SORTING, TMPDIR=str(tmp_path))
    assert process.stdout.readline() == "begun\n"
    (left,) = tmp_path.iterdir()
    assert (left / "rows.parquet").exists()
    Scratch().close()
    assert list(tmp_path.iterdir()) == [left], "it is in use"
    killed(process)
    assert left.exists()
    Scratch().close()
    assert not left.exists()


def test_folders_of_others_are_not_swept_away(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    others = [tmp_path / name for name in ("discreet-demo", "discreet-scratch-mine", "discreet-scratch-")]
    for folder in others:
        folder.mkdir()
    with Scratch() as first, Scratch() as second:
        assert set(tmp_path.iterdir()) == {*others, first, second}
        assert first.stat().st_mode & 0o777 == 0o700
    assert set(tmp_path.iterdir()) == set(others)


def test_processes_of_a_study_end_with_it(tmp_path):
    """Only the process that a user sees is killed, as by `kill -9` or by a system that is out of memory."""
    process = started(STUDY, tmp_path)
    until(lambda: len([path for path in tmp_path.iterdir() if path.name.isdecimal()]) == 2)
    workers = [int(path.name) for path in tmp_path.iterdir() if path.name.isdecimal()]
    assert all(map(is_running, workers))
    killed(process)
    until(lambda: not any(map(is_running, workers)))
