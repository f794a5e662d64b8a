"""What the command line writes, and what it never replaces."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from discreet import PrivateMoments, Results

PROMISE = ["--epsilon", 1, "--delta", 1e-6]
NAMES = ["a/b", "c.d", "x=y", "e,f"]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.random((600, 4)), columns=NAMES).to_parquet(tmp_path / "t.parquet")
    lines = "".join(f'"{name}" = {{ low = 0, high = 1 }}\n' for name in NAMES)
    (tmp_path / "t.toml").write_text("[columns]\n" + lines)
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "t.parquet").write_bytes((tmp_path / "t.parquet").read_bytes())
    (tmp_path / "link.parquet").symlink_to("t.parquet")
    return tmp_path


def fit(data="t.parquet", target="c.d"):
    return ["fit", data, "--schema", "t.toml", "--target", target, *PROMISE]


@pytest.mark.parametrize(
    "arguments",
    [
        [*fit(), "--out", "t.parquet"],
        [*fit(), "--out", "link.parquet"],
        [*fit(), "--out", "many/../t.toml"],
        [*fit(), "--report", "t.parquet"],
        [*fit("many"), "--out", "many/t.parquet"],
        [*fit("many"), "--report", "many/more.csv"],
        ["release", "t.parquet", "--schema", "t.toml", *PROMISE, "--out", "t.parquet"],
        ["schema", "init", "t.parquet", "--out", "t.parquet"],
        ["plan", "--schema", "t.toml", "--rows", 600, "--target", "c.d", "--out", "t.toml"],
    ],
    ids=lambda arguments: " ".join(map(str, [arguments[0], *arguments[-2:]])),
)
def test_not_even_force_replaces_an_input(arguments, run, folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ran = run(*arguments, "--force")
    assert (ran.code, "is an input" in ran.said) == (2, True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_model_never_replaces_its_release(run, folder):
    assert run(*fit(), "--out", "r.json").code == 0
    before = (folder / "r.json").read_bytes()
    for option in ("--out", "--report"):
        assert run("model", "r.json", "--target", "c.d", option, "r.json", "--force").code == 2
    assert (folder / "r.json").read_bytes() == before


def test_an_outcome_whose_name_no_file_can_have(run, folder):
    assert run(*fit(target="a/b")).code == 0
    assert PrivateMoments.load(folder / "t.a_b.release.json").fit("a/b").target == "a/b"


def test_a_release_is_safe_when_its_report_cannot_be_written(run, folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.results.fitted.Fitted.save_report", full)
    ran = run(*fit(), "--out", "r.json", "--report", "r.html")
    assert (ran.code, "The release is complete in r.json" in ran.said) == (2, True)
    PrivateMoments.load(folder / "r.json")


def test_a_write_that_fails_names_the_file(run, folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.core.files.os.fsync", full)
    assert "No space left on device: r.json" in run(*fit(), "--out", "r.json").said


def test_guesses_for_columns_with_odd_names(run, folder):
    given = ["--about", "x=y.mean=0.2", "--about", "c.d.sd=0.1", "--methods", "SSP", "--draws", 2]
    ran = run("plan", "--schema", "t.toml", "--rows", 600, "--target", "c.d", *given, "--json")
    about = json.loads(ran.out)["facts"]["about"]
    assert (about["x=y"]["mean"], about["c.d"]["sd"]) == (0.2, 0.1)


# -------------------------------------------------------------------- several outcomes


@pytest.mark.parametrize("method", ["DPLinearRegression", "ReuseCov"])
def test_several_outcomes_are_fitted_from_one_release(method, run, folder):
    printed = json.loads(run(*fit(target="a/b, c.d"), "--features", "x=y", "--method", method, "--json").out)
    assert list(printed["outcomes"]) == ["a/b", "c.d"]
    assert printed["release"] == "t.outcomes.release.json"
    released = PrivateMoments.load(folder / "t.outcomes.release.json")
    assert np.isfinite(released.fit_many().coef).all()
    assert printed["certificate"]["guarantee"]["epsilon"] == 1
    shown = run(*fit(target="a/b, c.d"), "--features", "x=y", "--method", method, "--force").said
    assert "2 outcomes ~ x=y" in shown


@pytest.mark.parametrize("more", [["--method", "DPRidge"], ["--report", "r.html"]])
def test_several_outcomes_are_refused_where_there_is_room_for_one(more, run, folder):
    ran = run(*fit(target="a/b,c.d"), "--features", "x=y", *more)
    assert (ran.code, "for one outcome" in ran.said) == (2, True)


def test_a_name_with_a_comma_is_one_outcome(run, folder):
    assert json.loads(run(*fit(target="e,f"), "--json").out)["target"] == "e,f"


def test_models_of_a_release_can_be_saved(run, folder):
    run(*fit(target="a/b,c.d"), "--features", "x=y", "--out", "r.json")
    assert run("model", "r.json", "--target", "c.d", "--out", "one.json").code == 0
    assert Results.load(folder / "one.json").target == "c.d"
    assert run("compare", "one.json", "one.json").code == 0
    assert json.loads(run("model", "r.json", "--out", "all.json", "--json").out)["out"] == "all.json"
    assert Results.load(folder / "all.json").targets == ("a/b", "c.d")
    for given in (["--report", "r.html"], ["--penalty", "l1"], ["--alpha", 0.1], ["--l1-ratio", 0.5]):
        ran = run("model", "r.json", *given)
        assert (ran.code, given[0] in ran.said) == (2, True)


def test_a_saved_model_can_be_checked_and_losses_found_for_it(run, folder):
    run(*fit(target="a/b,c.d"), "--features", "x=y", "--out", "r.json")
    run("model", "r.json", "--target", "c.d", "--out", "one.json")
    run("model", "r.json", "--out", "all.json")
    promised = json.loads(run("check", "r.json", "--json").out)
    for name in ("one", "all"):
        assert json.loads(run("check", f"{name}.json", "--json").out) == promised
        assert run("pdp", "t.parquet", "--release", f"{name}.json", "--out", f"{name}.parquet").code == 0
    assert pd.read_parquet(folder / "one.parquet").equals(pd.read_parquet(folder / "all.parquet"))
    ran = run("model", "one.json", "--target", "c.d")
    assert (ran.code, "used as it is: leave out --target" in ran.said) == (2, True)


@pytest.mark.parametrize(("option", "value"), [("--largest", 0), ("--delta", 1), ("--picture", "x.jpg")])
def test_options_of_losses_are_checked_before_rows_are_read(option, value, run, folder, monkeypatch):
    run(*fit(), "--out", "r.json")
    monkeypatch.setattr("discreet.cli.pdp.losses", lambda *_, **__: pytest.fail("rows were read"))
    assert run("pdp", "t.parquet", "--release", "r.json", "--out", "c.parquet", option, value).code == 2


def test_wrong_usage_has_its_exit_code_even_when_nobody_reads_why(folder):
    command = [sys.executable, "-m", "discreet", "check"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder) as process:
        process.stdout.close()
        assert process.wait(60) == 2
