"""`discreet reproduce`: experiments run small, a kill loses no finished cell, pages follow from what is stored."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from experiments import pages, reproduce, uci
from experiments.reproduction import Finding, Reproduction
from matplotlib.figure import Figure

from discreet.core.citations import PAPERS
from discreet.errors import DiscreetWarning

FOLDER = uci.data_folder()
ALL = reproduce.catalogue()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.more
def test_every_experiment_runs_small(name, tmp_path):
    r = ALL[name]
    if r.needs_data and FOLDER is None:
        pytest.skip("DISCREET_DATA does not name a folder with the studies' data")
    reproduce.run(r, "quick", FOLDER, tmp_path, jobs=1)
    frame, facts = reproduce.stored(name, tmp_path)
    assert len(frame) > 0
    assert facts["size"] == "quick"
    found = r.judge(frame)
    assert found
    assert all(f.claim and f.measured for f in found)
    for picture in facts["pictures"]:
        assert (tmp_path / name / f"{picture}.svg").stat().st_size > 1000
    text = pages.page(reproduce.paper(name), tmp_path, tmp_path)
    assert r.title in text
    assert str(FOLDER) not in (tmp_path / "log" / f"{r.study or name}.jsonl").read_text()


@pytest.mark.parametrize("name", ALL)
def test_sizes_grow_and_cells_hold_no_path(name):
    r = ALL[name]
    if r.needs_data and FOLDER is None:
        pytest.skip("DISCREET_DATA does not name a folder with the studies' data")
    quick, normal, full = (json.dumps(r.cells(size, FOLDER)) for size in ("quick", "normal", "full"))
    assert quick
    assert str(FOLDER) not in quick + normal + full


# ------------------------------------------------------------- the committed results


STORED = [name for name in ALL if reproduce.stored(name, reproduce.RESULTS) is not None]


@pytest.mark.parametrize("key", dict.fromkeys(map(reproduce.paper, STORED)))
@pytest.mark.more
def test_pages_follow_from_the_stored_rows(key):
    folder = reproduce.ROOT / "docs" / "results"
    again = pages.page(key, reproduce.RESULTS, folder)
    assert again == (folder / f"{key}.md").read_text(encoding="utf-8")


def test_the_index_follows_from_the_stored_rows():
    assert pages.index(reproduce.RESULTS) == (reproduce.ROOT / "docs" / "results" / "index.md").read_text("utf-8")


@pytest.mark.parametrize("name", STORED)
def test_stored_results_are_whole_and_small(name):
    _, facts = reproduce.stored(name, reproduce.RESULTS)
    assert facts["size"] in ("normal", "full")
    assert (reproduce.RESULTS / facts["rows"] / "rows.csv").stat().st_size < 1_000_000
    for picture in facts["pictures"]:
        assert (reproduce.RESULTS / name / f"{picture}.svg").exists()


@pytest.mark.parametrize("name", STORED)
def test_whatever_differs_has_a_why(name):
    frame, _ = reproduce.stored(name, reproduce.RESULTS)
    assert [f.claim for f in ALL[name].judge(frame) if f.agrees is False and not f.why] == []


# ------------------------------------------------------------------------ the runner


def _cells(size, folder):
    return [{"i": i, "size": size} for i in range(3)]


def _work(cell, folder):
    (folder / f"worked-{cell['i']}").touch(exist_ok=False)
    return [{"value": cell["i"] / 3, "word": ""}]


def _draw(frame):
    figure = Figure()
    figure.add_subplot().plot(frame["i"], frame["value"])
    return {"line": figure}


def _judge(frame):
    return [Finding("a | b", f"{frame['value'].max():.3f}", True), Finding("c", "d", False, "why")]


def _table(frame):
    return frame[["i", "value"]]


TOY = Reproduction("wang2018-toy", "A toy", "says so", _cells, _work, _draw, _judge, note="small", table=_table)


def test_a_run_is_stored_and_drawn_and_not_worked_off_again(tmp_path):
    for _ in range(2):  # the second time _work would raise
        reproduce.run(TOY, "quick", tmp_path, tmp_path / "out", jobs=1)
    frame, facts = reproduce.stored("wang2018-toy", tmp_path / "out")
    assert frame["value"].tolist() == pytest.approx([0, 1 / 3, 2 / 3], abs=1e-6)
    assert facts["cells"] == 3
    assert {"date", "cpu", "cpu_count", "versions", "seconds"} <= facts.keys()
    picture = (tmp_path / "out" / "wang2018-toy" / "line.svg").read_bytes()
    reproduce.pictures(TOY, tmp_path / "out")
    assert (tmp_path / "out" / "wang2018-toy" / "line.svg").read_bytes() == picture
    with pytest.raises(FileExistsError):
        reproduce.run(TOY, "quick", tmp_path, tmp_path / "out", jobs=1, fresh=True)


def test_rows_are_condensed_before_they_are_stored(tmp_path):
    few = replace(TOY, condense=lambda frame: frame.iloc[:1], table=lambda frame: f"only {len(frame)}\n")
    reproduce.run(few, "quick", tmp_path, tmp_path / "out", jobs=1)
    frame, facts = reproduce.stored("wang2018-toy", tmp_path / "out")
    assert len(frame) == 1
    assert "only 1" in pages.section(few, frame, facts, "x")


def test_figures_of_one_study_share_their_rows(tmp_path, monkeypatch):
    pair = {name: replace(TOY, name=name, study="wang2018-both") for name in ("wang2018-a", "wang2018-b")}
    monkeypatch.setattr(reproduce, "catalogue", lambda: pair)
    monkeypatch.setattr(pages, "catalogue", lambda: pair)
    out = tmp_path / "out"
    reproduce.run(pair["wang2018-a"], "quick", tmp_path, out, jobs=1)
    assert reproduce.stored("wang2018-b", out) is None
    # _work would raise if cells were worked off again
    reproduce.run(pair["wang2018-b"], "quick", tmp_path, out, jobs=1)
    assert [path.parent.name for path in out.rglob("rows.csv")] == ["wang2018-both"]
    text = pages.page("wang2018", out, tmp_path)
    for name in pair:
        frame, facts = reproduce.stored(name, out)
        assert (len(frame), facts["name"], facts["size"], facts["pictures"]) == (3, name, "quick", ["line"])
        assert f"(out/{name}/line.svg)" in text
    assert text.count("(out/wang2018-both/rows.csv)") == 2

    changed = tmp_path / "again"
    changed.mkdir()
    before = (out / "wang2018-a" / "line.svg").read_bytes()
    other = replace(pair["wang2018-b"], work=_twice)
    reproduce.run(other, "quick", changed, out, jobs=1, fresh=True)
    assert (out / "wang2018-a" / "line.svg").read_bytes() != before, "all figures show the rows that are stored"


def _twice(cell, folder):
    return [{"value": 1 - cell["i"] / 3, "word": ""}]


def test_a_page_shows_findings_table_and_origin(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "catalogue", lambda: {"wang2018-toy": TOY})
    reproduce.run(TOY, "quick", tmp_path, tmp_path / "out", jobs=1)
    pages.write(tmp_path / "out", tmp_path / "pages")
    text = (tmp_path / "pages" / "wang2018.md").read_text()
    assert "| a \\| b | 0.667 | not judged |" in text
    assert "| c | d | not judged | why |" in text
    told = pages.findings(TOY.judge(reproduce.stored("wang2018-toy", tmp_path / "out")[0]))
    assert "| a \\| b | 0.667 | yes |" in told
    assert "| c | d | **no** | why |" in told
    assert "| 1 | 0.333 |" in text
    assert "![A toy: line](../out/wang2018-toy/line.svg)" in text
    assert (tmp_path / "pages" / "../out/wang2018-toy/line.svg").resolve().exists()
    assert "size quick" in text
    assert (
        "| [wang2018-toy](wang2018.md) | A toy | not judged | quick |" in (tmp_path / "pages" / "index.md").read_text()
    )
    assert str(tmp_path) not in text


SLOW = """
import sys, time
from pathlib import Path
from experiments import reproduce
from experiments.reproduction import Finding, Reproduction

def cells(size, folder):
    return [{"i": i} for i in range(30)]

def work(cell, folder):
    with (folder / f"worked-{cell['i']}").open("a") as file:
        file.write("x")
    time.sleep(0.15)
    return [{"done": cell["i"]}]

R = Reproduction("wang2018-slow", "slow", "slow", cells, work, lambda rows: {}, lambda rows: [Finding("a", "b", None)])

if __name__ == "__main__":
    reproduce.run(R, "quick", Path(sys.argv[1]), Path(sys.argv[1]) / "out", jobs=2)
"""


@pytest.mark.more
def test_a_kill_in_the_middle_loses_no_finished_cell(tmp_path):
    script, log = tmp_path / "slow.py", tmp_path / "out" / "log" / "wang2018-slow.jsonl"
    script.write_text(SLOW)
    source = str(Path(reproduce.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen([sys.executable, script, tmp_path], env=environment, start_new_session=True)
    for _ in range(400):
        time.sleep(0.05)
        if log.exists() and len(log.read_text().splitlines()) >= 4:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = [json.loads(line)["cell"]["i"] for line in log.read_text().splitlines() if line.endswith("}")]
    assert 4 <= len(finished) < 30
    assert not (tmp_path / "out" / "wang2018-slow" / "rows.csv").exists()
    subprocess.run([sys.executable, script, tmp_path], env=environment, check=True)
    assert len(pd.read_csv(tmp_path / "out" / "wang2018-slow" / "rows.csv")) == 30
    assert all((tmp_path / f"worked-{i}").read_text() == "x" for i in finished)


# ----------------------------------------------------------------------- the command


@pytest.fixture
def run_here(run, monkeypatch):
    """Run the command line in the folder of the repository."""
    monkeypatch.chdir(reproduce.ROOT)
    return run


def test_the_list_names_every_experiment(run_here):
    ran = run_here("reproduce", "--list")
    assert ran.code == 0
    assert all(name in ran.said for name in ALL)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--list"),
        (("nothing",), "There is no experiment 'nothing'"),
        (("all", "--quick", "--full"), "exclude each other"),
    ],
)
def test_what_cannot_be_run_is_said(arguments, words, run_here):
    ran = run_here("reproduce", *arguments)
    assert ran.code == 2
    assert words in ran.said


def test_experiments_that_need_data_are_left_out_without(run_here, monkeypatch, tmp_path):
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    needs = Reproduction("wang2018-toy", "A toy", "", _cells, _work, _draw, _judge, needs_data=True)
    monkeypatch.setattr(reproduce, "catalogue", lambda: {"wang2018-toy": needs})
    ran = run_here("reproduce", "wang2018", "--quick", "--out", tmp_path / "out")
    assert ran.code == 2
    assert "wang2018-toy. Name their folder" in " ".join(ran.said.split())
    assert not (tmp_path / "out" / "wang2018-toy").exists()


def test_results_go_into_the_current_folder_unless_told(run, monkeypatch, tmp_path):
    """Not to where the committed results lie; and a quick run is not judged."""
    monkeypatch.setattr(reproduce, "catalogue", lambda: {"wang2018-toy": TOY})
    monkeypatch.setattr(pages, "catalogue", lambda: {"wang2018-toy": TOY})
    (tmp_path / "experiments").symlink_to(reproduce.ROOT / "experiments")
    monkeypatch.chdir(tmp_path)
    ran = run("reproduce", "wang2018-toy", "--quick", "--jobs", 1, "--data", tmp_path)
    assert ran.code == 0, ran.said
    assert "not judged" in ran.said
    assert "DIFFERS" not in ran.said
    assert (tmp_path / "reproduced" / "wang2018-toy" / "run.json").exists()
    assert (tmp_path / "reproduced" / "pages" / "wang2018.md").exists()
    assert not (reproduce.RESULTS / "wang2018-toy").exists()


@pytest.mark.parametrize("paper", [one for one in PAPERS if "-" not in one.key], ids=lambda paper: paper.key)
def test_experiments_go_by_the_old_marks_of_papers_too(paper):
    with pytest.warns(DiscreetWarning, match=f'is the old name of paper="{paper.key}"'):
        assert reproduce.select(paper.mark) == reproduce.select(paper.key)


def test_one_experiment_goes_by_the_old_mark_of_its_paper_too():
    with pytest.warns(DiscreetWarning, match="wang2018"):
        assert reproduce.select("000-fig3") == reproduce.select("wang2018-fig3")
    assert [r.name for r in reproduce.select("wang2018-fig3")] == ["wang2018-fig3"]
    assert reproduce.select("wang2018-fig99") == reproduce.select("wang20189") == []


def test_without_the_repository_the_command_says_where_to_get_it(run):
    """An editable installation too has no experiments in another folder, though its source lies beside them."""
    ran = run("reproduce", "all")
    assert ran.code == 2
    assert "Get the repository of discreet" in " ".join(ran.said.split())


INSTALLED = """
import multiprocessing, sys
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv.pop(1))
    before = list(sys.path)
    sys.argv[0] = "discreet"
    from discreet.cli import main
    try:
        main()
    finally:
        assert sys.path == before, "the command left a trace in sys.path"
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.more
def test_an_installed_command_finds_the_experiments_without_a_trace_in_the_path(start, tmp_path):
    """As a script outside the repository that is run in its folder; workers that start afresh find them as well."""
    import discreet

    (tmp_path / "installed.py").write_text(INSTALLED)
    command = [sys.executable, tmp_path / "installed.py", start, "reproduce", "wang2017-fig1", "--quick", "--jobs", "1"]
    environment = os.environ | {"PYTHONPATH": str(Path(discreet.__file__).parents[1]), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [*command, "--out", tmp_path / "out"],
        cwd=reproduce.ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "wang2017-fig1" / "run.json").exists()


@pytest.mark.parametrize(("option", "words"), [("--data", "There is no folder"), ("--out", "is not a folder")])
def test_a_file_in_place_of_a_folder_is_refused_before_anything_runs(option, words, run_here, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.cli.reproduce._run", lambda *_: pytest.fail("it ran"))
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    (tmp_path / "file").write_text("")
    ran = run_here("reproduce", "wang2018-fig1", "--quick", option, tmp_path / "file")
    assert (ran.code, words in ran.said) == (2, True)
