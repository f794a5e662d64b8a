"""The study engine: every cell once, whatever kills it in between; and what studies are made of."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.utility import ratios
from experiments import designs, study
from experiments.methods import ESTIMATORS, NON_PRIVATE, fitter

CELLS = [{"data": name, "epsilon": epsilon} for name in ("a", "b", "c") for epsilon in (0.1, 1.0)]


def work(cell):
    return [{"split": split, "mse": cell["epsilon"] + split, "worker": os.getpid()} for split in range(2)]


def refuse(cell):
    raise AssertionError("a finished cell was worked off again")


def test_rows_are_tidy_and_in_the_order_of_the_cells(tmp_path):
    rows = study.run("test", CELLS, work, tmp_path / "log.jsonl")
    assert [(row["data"], row["epsilon"], row["split"]) for row in rows] == [
        (cell["data"], cell["epsilon"], split) for cell in CELLS for split in range(2)
    ]
    assert os.getpid() not in {row["worker"] for row in rows}


def test_finished_cells_are_read_and_a_line_cut_short_is_not(tmp_path):
    log = tmp_path / "deep" / "log.jsonl"
    first = study.run("test", CELLS[:4], work, log)
    assert study.run("test", CELLS[:4], refuse, log) == first
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:3]) + "\n" + lines[3][:20])
    lost = json.loads(lines[3])["cell"]
    with pytest.raises(AssertionError, match="worked off again"):
        study.run("test", [lost], refuse, log)
    again = study.run("test", CELLS, work, log)
    assert len(again) == 2 * len(CELLS)
    assert study.run("test", CELLS, refuse, log) == again


SLOW = """
import sys, time
from pathlib import Path
from experiments import study

def work(cell):
    time.sleep(0.2)
    return [{"done": cell["i"]}]

if __name__ == "__main__":
    study.run("slow", [{"i": i} for i in range(40)], work, Path(sys.argv[1]))
"""


def test_a_killed_study_goes_on_where_it_was(tmp_path):
    script, log = tmp_path / "slow.py", tmp_path / "log.jsonl"
    script.write_text(SLOW)
    source = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen([sys.executable, script, log], env=environment, start_new_session=True)
    for _ in range(200):
        time.sleep(0.1)
        if log.exists() and len(log.read_text().splitlines()) >= 4:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = len([line for line in log.read_text().splitlines() if line.endswith("}")])
    assert 4 <= kept < 40
    rows = study.run("slow", [{"i": i} for i in range(kept)], work_of, log)
    assert {row["i"] for row in rows} == set(range(kept))


def work_of(cell):
    return [{"done": cell["i"]}]


def test_errors_of_a_cell_are_not_swallowed(tmp_path):
    with pytest.raises(AssertionError, match="worked off"):
        study.run("test", CELLS, refuse, tmp_path / "log.jsonl")


def fail_first(cell):
    if cell["i"] == 0:
        raise ValueError("the first cell fails")
    time.sleep(0.1)
    return [{"done": cell["i"]}]


def test_an_error_ends_the_study_at_once_and_keeps_what_is_finished(tmp_path):
    cells = [{"i": i} for i in range(200)]
    start = time.monotonic()
    with pytest.raises(ValueError, match="first cell"):
        study.run("test", [*cells[1:4], cells[0], *cells[4:]], fail_first, tmp_path / "log.jsonl", jobs=1)
    assert time.monotonic() - start < 10
    kept = [json.loads(line)["cell"]["i"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert 1 in kept
    assert len(kept) < 20


def test_ratios_are_means_over_all_fits_with_their_error():
    rows = [
        {"data": "a", "trivial": 1.0, "mse": 0.5, "sum_sq": 2 * 0.25, "draws": 2},
        {"data": "a", "trivial": 3.0, "mse": 1.5, "sum_sq": 2 * 2.25, "draws": 2},
    ]
    assert ratios(rows, ("data",)) == {("a",): (0.5, pytest.approx(0.5 / 2 / 2))}


@pytest.mark.parametrize("kind", designs.KINDS)
def test_designs_keep_the_bounds_of_the_protocol(kind):
    X, y, X_test, y_test = designs.make(kind, 500, 6, seed=1)
    assert (X.shape, len(y), len(X_test), len(y_test)) == ((500, 6), 500, designs.TEST_ROWS, designs.TEST_ROWS)
    assert np.linalg.norm(np.vstack([X, X_test]), axis=1).max() <= 1 + 1e-12
    assert max(np.abs(y).max(), np.abs(y_test).max()) <= 1
    again = designs.make(kind, 500, 6, seed=1)
    assert all(np.array_equal(a, b) for a, b in zip(again, (X, y, X_test, y_test), strict=True))


@pytest.mark.parametrize("method", [*ESTIMATORS, NON_PRIVATE])
def test_methods_fit_repeatably_under_the_protocol(method):
    X, y, *_ = designs.make("isotropic", 2000, 4, seed=0)
    fit = fitter(method, X, y, epsilon=5.0, delta=1e-6)
    first, second = (fit(np.random.default_rng(3)) for _ in range(2))
    assert first.shape == (4,)
    assert np.array_equal(first, second)
    exact = np.linalg.lstsq(X, y)[0]
    assert np.linalg.norm(first - exact) < 0.5 * np.linalg.norm(exact)
