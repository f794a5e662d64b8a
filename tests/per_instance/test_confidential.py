"""Losses are confidential: hidden, not pickled, marked, never over another file; and the command that writes them."""

import copy
import json
import pickle
import re
import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_table import DOMAIN, SCHEMA, people
from tables import full_text

from discreet import AdaSSP, DPLinearRegression, Moments, release
from discreet.per_instance import leave_one_out, losses
from discreet.per_instance.eigenvalue import Spectrum
from discreet.per_instance.leverage import LeverageRidge
from discreet.per_instance.mechanisms.parts import LossFacts
from discreet.per_instance.stream import EncodedRows

CANARY = 47.31618033988
ROWS = 1049


def canaries():
    frame = people(ROWS)
    frame.loc[17, "age"] = CANARY
    return frame


@pytest.fixture(scope="module")
def found():
    frame = canaries()
    return losses(frame, release(Moments.from_source(frame, DOMAIN), epsilon=1, delta=1e-6, targets=["income"]))


def assert_hidden(text, found):
    """No loss, no value, no number of rows in any spelling."""
    assert not re.search(rf"(?<![\d.]){ROWS}(?!\d)", text)
    for value in (CANARY, found.epsilon()[17], found.mu()[17], found.epsilon().max(), found.epsilon().mean()):
        assert f"{value:.4g}" not in text


def test_nothing_shows_the_losses(found, capsys):
    frame = canaries()
    moments = Moments.from_source(frame, DOMAIN)
    things = [
        found,
        found.distribution(),
        leave_one_out(frame, moments, "income"),
        Spectrum(moments.floats([0, 1])),
        LeverageRidge(np.eye(2), np.full(2, CANARY), 1.0),
        EncodedRows(np.full((1, 2), CANARY)),
        found.measured[0],
        LossFacts(found.certificate, lambda: moments, np.asarray, np.asarray, adding=False, pair=None),
    ]
    for thing in things:
        for text in (repr(thing), str(thing), f"{thing}", f"{[thing]}"):
            assert_hidden(text, found)
            assert "confidential" in text
    assert_hidden(found._repr_html_(), found)
    print(*things)
    assert_hidden(capsys.readouterr().out, found)


def test_losses_are_not_pickled_nor_copied(found):
    frame = canaries()
    rows = leave_one_out(frame, Moments.from_source(frame, DOMAIN), "income")
    for thing in (found, found.distribution(), rows):
        for attempt in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="confidential") as caught:
                attempt(thing)
            assert_hidden(full_text(caught.value), found)


def test_a_saved_file_is_marked_and_for_its_owner_alone(found, tmp_path):
    path = tmp_path / "confidential.parquet"
    found.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"discreet"])
    assert facts["note"].startswith("CONFIDENTIAL")
    assert table.schema.metadata[b"confidential"] == b"true"
    assert table["row"].to_numpy().tolist() == list(range(ROWS))
    assert table["epsilon"].to_numpy() == pytest.approx(found.epsilon())
    parts = [table[name].to_numpy() for name in table.column_names if name.startswith("mu^2")]
    assert np.sqrt(sum(parts)) == pytest.approx(table["mu"].to_numpy())
    assert set(table.column_names) == {"row", "epsilon", "mu", "mu^2 of X'X", "mu^2 of X'y", "mu^2 of y'y"}


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_marked_and_for_its_owner_alone(found, ending, tmp_path):
    path = tmp_path / f"losses.{ending}"
    found.plot(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"CONFIDENTIAL" in path.read_bytes()
    assert "CONFIDENTIAL" in found.plot().axes[0].get_title()


@pytest.mark.parametrize("name", ["report.html", "report.md", "people.release.json", "losses.csv", "losses"])
def test_no_report_is_written_into(found, name, tmp_path):
    for write in (found.save, found.plot):
        with pytest.raises(ValueError, match="must end in"):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_nothing_is_replaced(found, tmp_path):
    for name, write in (("a.parquet", found.save), ("a.png", found.plot)):
        (tmp_path / name).write_text("older")
        with pytest.raises(ValueError, match="exists already"):
            write(tmp_path / name)
        assert (tmp_path / name).read_text() == "older"


@pytest.mark.parametrize("column", ["age", "region", "income"])
def test_errors_quote_no_data(column):
    frame = canaries()
    public = release(Moments.from_source(frame, DOMAIN), epsilon=1, delta=1e-6)
    bad = frame.astype({column: object})
    bad.loc[17, column] = "zyxsecretzyx"
    with pytest.raises(ValueError, match=column) as caught:
        losses(bad, public)
    assert "zyxsecret" not in full_text(caught.value)
    assert str(ROWS) not in full_text(caught.value).replace("line", "")
    with pytest.raises(ValueError, match="no row"):
        losses(frame[:0], public)
    swapped = release(Moments.from_source(frame, DOMAIN), epsilon=1, delta=1e-6, neighbors="replace-one")
    with pytest.raises(ValueError, match="one complete row"):
        losses(frame, swapped, replacement=frame)


# -------------------------------------------------------------------- discreet pdp

PDP = ["pdp", "people.parquet", "--schema", "people.toml", "--release", "r.json", "--out", "confidential.parquet"]


@pytest.fixture
def folder(tmp_path):
    frame = canaries()
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(SCHEMA)
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN).fit(frame.drop(columns="income"), frame["income"])
    model.release_.save(tmp_path / "r.json")
    return tmp_path


def test_the_command_tells_the_curator(run, folder):
    ran = run(*PDP, "--largest", 3)
    assert ran.code == 0
    for words in ("CONFIDENTIAL", "median", "pDP for all", "promised", "Rows with the largest loss"):
        assert words in ran.said
    expected = losses(folder / "people.parquet", folder / "r.json")
    for row, value in expected.largest(3):
        assert re.search(rf"{row} .*{value:.4g}", ran.out)
    table = pq.read_table(folder / "confidential.parquet")
    assert table["epsilon"].to_numpy() == pytest.approx(expected.epsilon())
    for name in ("confidential.parquet", "confidential.png"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert f"{CANARY:.4g}" not in ran.said  # row numbers only, no rows


def test_the_command_as_json(run, folder):
    body = json.loads(run(*PDP, "--json", "--delta", 1e-5, "--picture", "p.svg").out)
    assert body["confidential"] is True
    assert body["exact"] is True
    assert body["quantiles"]["1"] <= body["for_all"]
    assert body["quantiles"]["0.5"] < body["promised"]["epsilon"]
    assert (folder / "p.svg").exists()


REFUSED = {
    "a report": (["--out", "report.html"], "must end in .parquet"),
    "an existing file": (["--out", "people.parquet"], "exists already"),
    "a picture of another kind": (["--picture", "p.html"], "must end in .png or .svg"),
    "no such release": (["--release", "absent.json"], "absent.json"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_command_refuses(case, run, folder):
    options, words = REFUSED[case]
    before = {path.name for path in folder.iterdir()}
    ran = run(*PDP, *options)
    assert ran.code == 2
    assert words in ran.said
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("high = 90", "high = 91", "'age' has other bounds"),
        ("hours  =", "weeks  =", "'hours' of the release is not in"),
    ],
)
def test_the_command_refuses_another_schema(old, new, words, run, folder):
    (folder / "people.toml").write_text(SCHEMA.replace(old, new))
    ran = run(*PDP)
    assert ran.code == 2
    assert words in ran.said
    assert not (folder / "confidential.parquet").exists()


def test_progress_is_a_fraction(folder):
    seen = []
    model = AdaSSP(epsilon=1, delta=1e-6, domain=DOMAIN).fit_source(folder / "people.parquet", "income")
    losses(folder / "people.parquet", model, progress=seen.append)
    assert seen[-1] == 1.0
    assert all(0 < fraction <= 1 for fraction in seen)
