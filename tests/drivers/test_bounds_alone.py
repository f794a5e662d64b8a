"""`discreet.bounds` and `discreet bounds`: a search alone, with the whole promise, for a schema to keep."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import discreet
from discreet import Budget, Domain, PrivateMoments
from discreet.cli import app
from discreet.domain.schema import filled_schema
from discreet.errors import DiscreetWarning, ParameterError
from discreet.privacy import gdp
from discreet.released.search import outside

COLUMNS = {"a": "number", "year": {"low": 1900}, "born": "date", "g": ["u", "v"], "x": (0, 1)}
PROMISE = {"epsilon": 0.3, "delta": 1e-6}


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(0), 20_000
    frame = pd.DataFrame({"a": rng.normal(0, 1, n), "year": rng.uniform(1990, 2020, n)})
    frame["born"] = pd.to_datetime(rng.integers(0, 9000, n), unit="D").astype("datetime64[s]")
    return frame.assign(g="u", x=0.5)


def test_a_search_alone_has_the_whole_promise_and_is_followed_by_check(people, tmp_path):
    found = discreet.bounds(people, domain=Domain(COLUMNS), **PROMISE, random_state=1)
    assert sum(event.mu**2 for event in found.certificate.events) ** 0.5 == pytest.approx(gdp.mu(**PROMISE))
    found.save(tmp_path / "b.json", simulation=True)
    loaded = PrivateMoments.load(tmp_path / "b.json")
    wrong = [finding.what for finding in loaded.certificate.check(loaded.values) if not finding.ok]
    assert wrong == ["status is 'simulation'"]
    columns = found.domain.columns
    assert columns["x"].range == (0, 1)
    assert columns["year"].low == 1900
    assert 2020 <= columns["year"].high <= 2028
    assert columns["a"].low <= -2.5
    assert 2.5 <= columns["a"].high <= 16
    assert columns["born"].date
    assert columns["born"].low <= 90
    assert columns["born"].high >= 8900
    assert Domain.from_dict(found.domain.to_dict()) == found.domain
    for name, own in outside(loaded).items():
        values = people[name] if name != "born" else (people[name] - pd.Timestamp(0)).dt.total_seconds() / 86400
        true = np.mean((values < columns[name].low) | (values > columns[name].high))
        assert abs(own.share - true) < 6 * own.sd + 1e-12


def test_rows_beyond_wide_bounds_are_counted_by_powers_and_what_was_not_seen_is_said():
    """Few rows for the promise: the wide bounds are kept whole, and rows beyond these are not lost."""
    rng, n = np.random.default_rng(3), 4000
    size = np.where(np.arange(n) < 3400, 1.0, 2.0 ** rng.uniform(8, 55, n))  # no power of the others stands out
    frame = pd.DataFrame({"a": rng.normal(0, 1, n) * size, "zero": np.zeros(n)})
    frame["low"] = 5 + np.abs(frame["a"])
    domain = Domain({"a": "number", "zero": "number", "low": {"low": 5}})
    shares = []
    for seed in range(4):
        with pytest.warns(DiscreetWarning, match="saw nothing of 'zero'"):
            found = discreet.bounds(frame, domain=domain, epsilon=0.4, delta=1e-6, random_state=seed)
        told = outside(found)
        assert [own.seen for own in told.values()] == [True, False, True]
        assert told["zero"].words == "nothing was seen"
        assert all(own.sd > 0 for own in told.values())
        for name in domain.columns:
            low, high = found.domain.columns[name].range
            share = np.mean((frame[name] < low) | (frame[name] > high))
            shares.append(share)
            assert abs(told[name].share - share) < 7 * told[name].sd
    assert max(shares) > 0.1


def test_losses_take_the_schema_that_the_release_was_asked_with(people, tmp_path):
    people.to_parquet(tmp_path / "p.parquet")
    (tmp_path / "s.toml").write_text(filled_schema(Domain(COLUMNS).to_dict()), encoding="utf-8")
    discreet.bounds(people, domain=Domain(COLUMNS), **PROMISE).save(tmp_path / "b.json")
    given = ["pdp", str(tmp_path / "p.parquet"), "--release", str(tmp_path / "b.json")]
    found = CliRunner().invoke(
        app, [*given, "--schema", str(tmp_path / "s.toml"), "--out", str(tmp_path / "o.parquet")]
    )
    assert found.exit_code == 0, found.output


def test_what_cannot_be_searched_is_refused_before_anything_is_spent(people):
    with Budget(epsilon=5, delta=1e-3, adding=True) as budget:
        for domain in (Domain({"x": (0, 1)}), None):
            with pytest.raises(ParameterError, match="whose bounds nobody knows"):
                discreet.bounds(people, domain=domain, **PROMISE)
        stream = pa.Table.from_pandas(people).to_reader()
        with pytest.raises(ParameterError, match="only once"):
            discreet.bounds(stream, domain=Domain(COLUMNS), **PROMISE)
        with pytest.raises(ParameterError, match="too few to search for the bounds of 3 columns"):
            discreet.bounds(people, domain=Domain(COLUMNS), **PROMISE, rows=200)
        assert budget.others_left == (5, 1e-3)
        discreet.bounds(people, domain=Domain(COLUMNS), **PROMISE)
        assert budget.others_left != (5, 1e-3)


def test_the_command_writes_a_schema_and_the_release_that_found_it(people, tmp_path):
    people.drop(columns="g").to_parquet(tmp_path / "people.parquet")
    given = ["bounds", str(tmp_path / "people.parquet"), "--epsilon", "0.3", "--delta", "1e-6"]
    found = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "s.toml"), "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert set(told["bounds"]) == {"a", "year", "born", "x"}
    text = (tmp_path / "s.toml").read_text()
    assert "found by a private search, for the whole promise, epsilon = 0.3, delta = 1e-06" in text
    assert "the release is s.json" in text
    assert re.search(r"\n#   year: below \d+\.\d %\n", text)
    domain = Domain.from_file(tmp_path / "s.toml")
    released = PrivateMoments.load(tmp_path / "s.json")
    assert domain == released.domain
    assert released.certificate.searched.searched == ("a", "year", "born", "x")
    assert all(finding.ok for finding in released.certificate.check(released.values))
    again = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "s.toml")])
    assert "exists already" in str(again.exception)  # before anything is spent
