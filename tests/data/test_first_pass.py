"""The first pass: sums and squares of all columns and counts of outcomes, the same as in the moments."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from small_table import DOMAIN, people

from discreet import Domain, Moments, formula
from discreet.data.counts import Margins, first_pass
from discreet.data.moments import counted
from discreet.data.passes.first_pass import MarginLayout
from discreet.data.reading import Table
from discreet.data.sums import CARRY_EVERY, EXACT_ROWS, Total
from discreet.domain.unit import ROWS
from discreet.errors import ParameterError
from discreet.gate.session import Session, promised
from discreet.gate.statistics import block_noise, exact_blocks, exact_counts, noisy_blocks
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.recipes.noise import StatisticRequest, calibrate
from discreet.results.private_moments import PrivateMoments


def same(margins, moments):
    places = np.arange(len(moments.domain.entries))
    first = margins.integers(0 * places, places).tolist() == moments.integers(0 * places, places).tolist()
    return first and margins.integers(places, places).tolist() == moments.integers(places, places).tolist()


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("offer", [lambda frame: frame, pa.table], ids=["frame", "arrow"])
def test_margins_are_those_of_the_moments(offer, jobs):
    frame = people(20_000)
    (histogram,), margins = first_pass(Table.of(offer(frame), DOMAIN, jobs), ["income"])
    expected, moments = counted(Table.of(offer(frame), DOMAIN), "income")
    assert same(margins, moments)
    assert margins.count == moments.count == histogram.count == 20_000
    for span in (None, (-0.5, 0.25), (-1.0, -0.875)):
        assert histogram.integers(span).tolist() == expected.integers(span).tolist()
    assert first_pass(Table.of(offer(frame), DOMAIN, jobs))[0] == ()


@pytest.mark.parametrize("options", [{"data_norm": 1.5}, {"intercept": False}, {"missing": "drop"}], ids=str)
def test_margins_of_arrays(options):
    rng = np.random.default_rng(0)
    domain = Domain({"a": (-1, 1), "b": (-1, 1), "y": (-1, 1)}, **options)
    rows = rng.uniform(-2, 2, (9000, 3))
    if "missing" in options:
        rows[::5, 0] = np.nan
    for order in "CF":
        (histogram,), margins = first_pass(Table.of(np.asarray(rows, order=order), domain, 2), ["y"])
        assert same(margins, Moments.from_source(rows, domain))
        assert histogram.count == 9000


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_counts_of_levels_and_of_derived_outcomes(missing):
    """A row is in one cell of each, and leaving it out changes no other."""
    frame = pd.DataFrame({"x": [0.5, 3.0, 0.1, 9.0, 1.0], "g": ["b", "a", "c", "b", "b"]})
    declared = Domain({"x": (1, 4), "g": ["a", "b", "c"]}, missing=missing)
    domain = declared.with_columns(formula("log(x) ~ g", declared).domain.columns)
    whole, part = (first_pass(Table.of(own, domain), ["log(x)", "g[b]"])[0] for own in (frame, frame[1:]))
    logs, levels = whole
    assert logs.integers().tolist() == [3] + 11 * [0] + [1] + 2 * [0] + [1]
    assert levels.integers().tolist() == 8 * [0] + [2] + 6 * [0] + [3]
    for own, rest, cell in zip(whole, part, (0, 15), strict=True):
        assert (own.integers() - rest.integers()).tolist() == [int(i == cell) for i in range(16)]
    if missing == "drop":
        lacking = frame.assign(x=[np.nan, *frame["x"][1:]])
        logs, levels = first_pass(Table.of(lacking, domain), ["log(x)", "g[b]"])[0]
        assert (logs.count, levels.count) == (4, 5)


def test_long_sums_are_exact():
    total, batches = Total(MarginLayout(2)), 2 * CARRY_EVERY + 100
    A = np.full((EXACT_ROWS, 2), [float(1 << 20), -float(1 << 20)])
    for _ in range(batches):
        total.add(A)
    margins = Margins(Domain({"x": (0, 1)}), *total.limbs())
    n = batches * EXACT_ROWS << 40
    assert margins.integers([0, 0, 1], [0, 1, 1]).tolist() == [n, -n, n]


def test_margins_hold_nothing_else_and_are_confidential():
    (histogram,), margins = first_pass(Table.of(people(50), DOMAIN), ["income"])
    with pytest.raises(ParameterError, match="sum up Moments"):
        margins.integers([1], [2])
    for held in (margins, histogram):
        assert "confidential" in repr(held)
        assert "50" not in repr(held)
        with pytest.raises(TypeError, match="confidential"):
            pickle.dumps(held)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_first_release_keeps_its_promise_and_comes_back_from_its_file(neighbors, tmp_path, monkeypatch):
    frame = people(2000)
    (histogram,), margins = first_pass(Table.of(frame, DOMAIN), ["income"])
    design = DOMAIN.design_names(["age", "region"])
    wants = [StatisticRequest("sums", design, (), 0.5), StatisticRequest("diagonal", design, (), 0.5)]
    session = Session(promised(1.0, 1e-6, None, neighbors), "moments", None, 1)
    given = session.mu * 2**-0.5
    blocks = calibrate(wants, DOMAIN, neighbors, given)
    whole = calibrate([StatisticRequest("counts", (), ("income",), 1.0)], DOMAIN, neighbors, given / 2**0.5)
    inner = [Block("counts", (), ("income",), whole[0].sd, span=(-1.0, -0.5))]
    counts = [*whole, *inner]
    entropy = session.charge(DOMAIN, mu=session.mu)
    exact = [*exact_blocks(margins, blocks), *(exact_counts(histogram, block) for block in counts)]
    values = noisy_blocks(exact, block_noise([*blocks, *counts], ROWS), entropy)
    events = [GaussianEvent(sensitivity.mu(part, DOMAIN, neighbors), tuple(part)) for part in (blocks, counts)]
    released = PrivateMoments(session.certify(DOMAIN, *events), values)
    findings = {finding.what: finding.ok for finding in released.certificate.check()}
    assert findings["epsilon of all events"]
    assert findings["noise on sums of x, diagonal of X'X"]
    released.save(tmp_path / "release.json", simulation=True)
    loaded = PrivateMoments.load(tmp_path / "release.json")
    assert loaded.certificate == released.certificate
    Z = Moments.from_source(frame, DOMAIN).floats(DOMAIN.indices(design))
    sums, diagonal = (loaded.arrays[block] for block in blocks)
    assert np.abs(sums - Z[0]).max() < 6 * blocks[0].sd
    assert np.abs(diagonal - np.diag(Z)).max() < 6 * blocks[1].sd
    assert loaded.rows() == max(sums[0], 1.0)
    assert loaded.arrays[inner[0]].shape == (16,)


def test_frames_with_a_missing_outcome_count_only_those_that_have_one():
    domain = Domain({"x": (0, 1), "y": (0, 1)}, missing="drop")
    frame = pd.DataFrame({"x": [0.5, np.nan, 0.5], "y": [0.5, 0.5, np.nan]})
    (histogram,), margins = first_pass(Table.of(frame, domain), ["y"])
    assert (histogram.count, margins.count) == (2, 1)
