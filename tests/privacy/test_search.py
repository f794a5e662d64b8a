"""The search for bounds: how far one row, or person, moves its counts; what it believes; and what it refuses."""

import html
import itertools
import math
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from discreet import Budget, Domain, DPLinearRegression, PrivateMoments
from discreet.data.counts import first_pass
from discreet.data.reading import Table
from discreet.domain.kinds.searched import HALF, LEAST, MOST, POWERS, Searched
from discreet.errors import DataError, DiscreetWarning, DomainError, ParameterError
from discreet.gate.statistics import exact_counts
from discreet.privacy import gdp
from discreet.privacy.events.gaussian import Block
from discreet.privacy.sensitivity import mu, sensitivity
from discreet.released.search import _beyond
from discreet.results.report import report
from discreet.solve.bounds import FAILURE, Count, narrowed, threshold, wide_bounds, windows
from discreet.statistics.searching import MAGNITUDES, PARTS

KINDS = {
    "both": Domain({"a": "number", "b": "number"}),
    "one bound": Domain({"a": {"low": -3}, "b": {"high": 10.5}}),
    "dropped": Domain({"a": "number", "b": {"low": 0}}, missing="drop"),
    "no intercept": Domain({"a": "number", "b": "number"}, intercept=False),
    "dates": Domain({"a": "date", "b": {"low": "1990-01-01"}}),
}
EXTREMES = [0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324, np.finfo(float).max, 1 / 3, -7.0, 1990.0]
POWERS_OF_TWO = [sign * 2.0**e for e in (-41, -40, -39, -1, 0, 1, 10, 59, 60, 61) for sign in (1, -1)]
VALUES = np.array(EXTREMES + [np.nextafter(x, to) for x in POWERS_OF_TWO for to in (x, -np.inf, np.inf)])


def counted(domain, frame, kind=MAGNITUDES):
    """Exact counts of both columns, from the real reader, in units of one row of the largest weight."""
    more = 0 if domain.unit.plain else 20
    histograms, _ = first_pass(Table.of(frame, domain), ["a", "b"])
    found = [exact_counts(own, Block(kind.name, (), (own.column,), 1.0))[0] for own in histograms]
    return np.concatenate([np.array([float(Fraction(int(n), 1 << (40 + more))) for n in own]) for own in found])


def as_frame(domain, rows):
    """Rows as a table; dates are given as such."""
    frame = pd.DataFrame(rows, columns=["a", "b"])
    if domain.columns["a"].date:
        days = np.round(frame).clip(-90_000, 90_000)
        frame = days.apply(lambda own: pd.to_datetime(own, unit="D", origin="1970-01-01"))
    return frame


def cell(x, low, high):
    """The cell of a number, in fractions; the one subtraction is that of float64."""
    origin = low if math.isfinite(low) else high if math.isfinite(high) else 0.0
    size = Fraction(min(max(x, low), high) - origin)
    if not size:
        return 0
    power = LEAST - 1
    while power < MOST and abs(size) >= Fraction(2) ** (power + 1):
        power += 1
    return (max(power, LEAST) - LEAST + 1) * (1 if size > 0 else -1)


@pytest.mark.parametrize(("low", "high"), [(-math.inf, math.inf), (-3.0, math.inf), (-math.inf, 10.5)])
def test_cells_are_those_of_fractions_and_lattice_points(low, high):
    column = Searched(low, high)
    found = column.cells(VALUES)
    assert found.tolist() == [cell(float(x), low, high) for x in VALUES]
    assert np.abs(found).max() <= POWERS < HALF
    assert (found / HALF * 2**20 == np.rint(found / HALF * 2**20)).all()
    for place, x in enumerate(VALUES):  # by itself: alone, reversed and among others
        assert column.cells(np.array([x]))[0] == found[place] == column.cells(VALUES[::-1])[::-1][place]


@pytest.mark.parametrize("kind", [MAGNITUDES, PARTS])
@pytest.mark.parametrize("name", KINDS)
def test_one_row_moves_the_counts_as_far_as_is_proven(name, kind):
    domain = KINDS[name]
    domain = domain if kind is MAGNITUDES else Domain({"a": (-8, 8), "b": (5, 12)}, missing=domain.missing)
    rng = np.random.default_rng(1)
    rows = rng.choice(VALUES, (40, 2))
    rows[0], rows[1] = (-7.0, -7.0), (1e4, 1e4)
    if domain.missing == "drop":
        rows[2, 0] = rows[3, 1] = np.nan
    base = rng.choice(VALUES, (5, 2))
    counts = [counted(domain, as_frame(domain, np.vstack([base, row])), kind) for row in rows]
    none = counted(domain, as_frame(domain, base), kind)
    added = max(np.linalg.norm(own - none) for own in counts)
    replaced = max(np.linalg.norm(a - b) for a, b in itertools.combinations(counts, 2))
    blocks = [Block(kind.name, (), (column,), 1.0) for column in ("a", "b")]
    for found, relation in ((added, "add-remove"), (replaced, "replace-one")):
        assert found <= mu(blocks, domain, relation) * (1 + 1e-12)
        assert found == pytest.approx(mu(blocks, domain, relation))
        assert sensitivity(blocks[0], domain, relation) == pytest.approx(math.sqrt(2) if "replace" in relation else 1)


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_one_person_moves_the_counts_as_far_as_is_proven(missing):
    unit = {"person": "who", "rows_per_person": 3, "weights": "w", "largest_weight": 2.0}
    domain = Domain({"a": "number", "b": {"low": 0}}, missing=missing, **unit)
    blocks = [Block(MAGNITUDES.name, (), (column,), 1.0) for column in ("a", "b")]
    rng, farthest = np.random.default_rng(2), [0.0, 0.0]
    base = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 0.0], "who": [1, 2], "w": [2.0, 1.0]})
    none, all_counts = counted(domain, base), []
    for number in [1, 2, 3, 5, 9] * 6:
        own = pd.DataFrame(rng.choice([1.0, -3.0, 1e300, 0.0], (number, 2)), columns=["a", "b"])
        own = own if rng.random() < 0.5 else own * 0 + own.iloc[0]
        own = own.assign(who=3, w=rng.choice([0.5, 2.0, 9.0]))
        all_counts.append(counted(domain, pd.concat([base, own], ignore_index=True)))
        farthest[0] = max(farthest[0], np.linalg.norm(all_counts[-1] - none))
    farthest[1] = max(np.linalg.norm(a - b) for a, b in itertools.combinations(all_counts, 2))
    for found, relation in zip(farthest, ("add-remove", "replace-one"), strict=True):
        assert 0.99 * mu(blocks, domain, relation) <= found <= mu(blocks, domain, relation) * (1 + 1e-12)


# ---------------------------------------------------------------- what is believed


@pytest.mark.parametrize("one_sided", [False, True])
def test_an_empty_window_is_believed_less_often_than_is_said(one_sided):
    """The threshold follows from the number of windows; noise alone is believed at no lower one."""
    number = len(windows(np.zeros(2 * POWERS + 1), one_sided=one_sided).top)
    t = threshold(one_sided=one_sided)
    assert number == (300 if one_sided else 502)
    assert number * norm.sf(t) <= FAILURE < number * norm.sf(t - 0.002)


def test_a_window_counts_its_cells():
    rng = np.random.default_rng(3)
    counts = rng.normal(size=2 * POWERS + 1)
    found, at = windows(counts, one_sided=False), dict(zip(range(-POWERS, POWERS + 1), counts, strict=True))
    seen = set()
    for least, top, value, cells in zip(*found, strict=True):
        powers = range(least + 1, top + 2)
        ways = [[at[p] for p in powers], [at[-p] for p in powers], [at[s * p] for p in powers for s in (1, -1)]]
        assert any(value == pytest.approx(sum(way)) and cells == len(way) for way in ways)
        seen.add((least, top, round(value, 9)))
    assert len(seen) == len(found.top)


@pytest.mark.parametrize("known", [(-math.inf, math.inf), (0.0, math.inf), (-math.inf, 0.0)])
def test_bounds_reach_beyond_the_rows_and_no_farther_than_is_said(known):
    """Whatever the rows are: at most 16 times as far as the farthest, and never less than what most rows need."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        scale, shift = 2.0 ** rng.uniform(-35, 55), rng.choice([0.0, 1.0, 30.0])
        rows = scale * (rng.normal(size=4000) + shift)
        rows = rows if known[1] == math.inf == -known[0] else np.abs(rows) * (1 if known[0] == 0 else -1)
        cells = Searched(*known).cells(rows).astype(int) + POWERS
        sd = 2.0 ** rng.uniform(0, 7)
        counts = np.bincount(cells, minlength=2 * POWERS + 1) + rng.normal(0, sd, 2 * POWERS + 1)
        found = wide_bounds(counts, sd, Count(4000.0, 0.0), known)
        if found is None:
            assert sd > 40
            continue
        assert max(map(abs, found)) <= 16 * np.abs(rows).max()
        assert found[0] < found[1]
        if sd < 40:
            outside = np.mean((rows < found[0]) | (rows > found[1]))
            assert outside < 0.13
        edges = np.linspace(*found, 65)
        parts = np.histogram(np.clip(rows, *found), edges)[0] + rng.normal(0, sd, 64)
        low, high = narrowed(parts, sd, Count(4000.0, 0.0), found, known)
        assert found[0] <= low < high <= found[1]
        if sd < 40:
            assert np.mean((rows < low) | (rows > high)) < 0.2


def test_an_end_that_is_hardly_anything_beside_the_other_is_zero():
    counts = np.zeros(2 * POWERS + 1)
    counts[POWERS + 50 : POWERS + 56] = 700.0
    counts[POWERS - 3] = 60.0  # noise among the least negative powers
    low, high = wide_bounds(counts, 10.0, Count(4260.0, 0.0), (-math.inf, math.inf))
    assert low == 0.0 < high
    high, low = (-end for end in wide_bounds(counts[::-1], 10.0, Count(4260.0, 0.0), (-math.inf, math.inf)))
    assert low == 0.0 < high


@pytest.mark.parametrize("end", [2.0**-40, 0.25, 3.0, 2.0**60, 0.0, -(2.0**-40), -0.25, -3.0, -(2.0**60)])
def test_cells_beyond_a_distance_hold_larger_values_only(end):
    """Cells that lie wholly beyond; a value may be counted in none of them if it is within one power of the end."""
    sizes = 2.0 ** np.arange(-42, 63)
    values = np.concatenate([-1.5 * sizes, [0.0], 1.5 * sizes])
    beyond = _beyond(end)[Searched(-math.inf, math.inf).cells(values).astype(int) + POWERS]
    far = np.abs(values) >= 2.0**-40
    assert (values[beyond & far] > end).all()
    assert beyond[values > (2 * end if end > 0 else end / 2)][1:].all()


# ---------------------------------------------------------------- releases

PROMISE = {"epsilon": 1.0, "delta": 1e-6}
COLUMNS = {"a": "number", "year": "number", "g": ["u", "v"], "y": {"low": 0}}


def table(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(0, 1, n), "year": rng.uniform(1990, 2020, n), "g": rng.choice(["u", "v"], n)})
    frame["y"] = 50 + 3 * frame["a"] + 0.5 * (frame["year"] - 2005) + rng.normal(0, 1, n)
    return frame


def fitted(domain=None, frame=None, **more):
    model = DPLinearRegression(**({"random_state": 5} | PROMISE | more), domain=domain or Domain(COLUMNS))
    return model.fit_formula("y ~ a + year + g", table() if frame is None else frame)


@pytest.mark.parametrize("rows", [None, 6000])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_release_finds_bounds_uses_all_of_its_budget_and_is_replayed(rows, neighbors, tmp_path):
    model = fitted(rows=rows, neighbors=neighbors)
    certificate = model.certificate_
    assert certificate.searched.searched == ("a", "year", "y")
    assert certificate.domain.searched == ()
    assert certificate.format_version == certificate.searched.format_version == 7
    assert certificate.domain.columns["y"].low == 0
    assert math.fsum(event.mu**2 for event in certificate.events) ** 0.5 == pytest.approx(gdp.mu(**PROMISE), rel=1e-6)
    for name, low, high, most in (("a", -3, 3, 16), ("year", 1990, 2020, 400), ("y", 35, 65, 256)):
        found = certificate.domain.columns[name]
        assert found.low <= low < high <= found.high
        assert found.high - found.low <= most or (name == "year" and rows is None and neighbors == "replace-one")
    assert model.coef_[0] == pytest.approx(3, abs=0.9)
    model.release_.save(tmp_path / "r.json", simulation=True)
    loaded = PrivateMoments.load(tmp_path / "r.json")
    for released in (model.release_, loaded):
        wrong = [finding for finding in released.certificate.check(released.values) if not finding.ok]
        assert [finding.what for finding in wrong] == ["status is 'simulation'"]
    assert [finding.what for finding in loaded.certificate.check() if not finding.ok] == ["status is 'simulation'"]
    assert loaded.fit("y ~ a").coef == pytest.approx(model.release_.fit("y ~ a").coef)
    assert "a private search found" in certificate.words()


def test_summaries_and_reports_tell_what_was_found():
    results = fitted().results_
    told = dict(results.summary().facts)["Bounds"]
    column = results.certificate.domain.columns["a"]
    assert f"a {column.short()}, year " in told
    assert told.endswith(": found by a private search, for 10 % of mu²")
    page = html.unescape(report(results, None))
    assert "bounds are searched for" in page
    assert "found:" in page
    assert "The search for bounds cost 10 % of mu²." in page
    assert "a search for bounds begins with them" in page
    for text in (page, " ".join(results.summary().notes)):
        assert re.search(r"Rows beyond the bounds that were found, by noisy counts: a below [\d.]+ %, year below", text)
    declared = {"a": (-9, 9), "year": (1900, 2100), "g": ["u", "v"], "y": (0, 99)}
    assert "Bounds" not in dict(fitted(Domain(declared)).results_.summary().facts)


def test_a_real_release_is_verified():
    model = fitted(random_state=None)
    assert model.certificate_.guarantee.status == "verified"
    assert all(finding.ok for finding in model.certificate_.check(model.release_.values))


def test_check_finds_bounds_that_do_not_follow_and_noise_that_is_too_small():
    model = fitted()
    certificate, values = model.certificate_, model.release_.values
    other = certificate.domain.with_column("a", replace(certificate.domain.columns["a"], high=999.0))
    assert replace(certificate, domain=other).mismatch(values) is not None
    changed = [list(own) for own in values]
    first = changed[0][0]
    changed[0] = [replace(first, integers=(first.integers[-1], *first.integers[:-1]))]
    assert certificate.mismatch([tuple(own) for own in changed]) is not None
    event = certificate.events[0]
    less = replace(event, blocks=tuple(replace(block, sd=0.8 * block.sd) for block in event.blocks))
    broken = replace(certificate, events=(less, *certificate.events[1:]))
    assert not all(finding.ok for finding in broken.check_costs()[:1])
    for events in (certificate.events[1:], (certificate.events[0], *certificate.events[2:])):
        assert any(
            "bounds" in finding.what and not finding.ok for finding in replace(certificate, events=events).check()
        )
    declared = certificate.searched.with_column("g", Domain({"g": ["v", "u"]}).columns["g"])
    assert any("bounds" in own.what and not own.ok for own in replace(certificate, searched=declared).check_costs())
    assert any("bounds" in own.what and not own.ok for own in replace(certificate, domain=declared).check_costs())


def test_columns_of_zeros_and_huge_values():
    frame = table().assign(a=0.0)
    frame.loc[0, "year"] = 1e300
    with pytest.warns(DiscreetWarning, match=r"saw nothing of 'a'.*Declare bounds"):
        model = fitted(frame=frame)
    found = model.certificate_.domain.columns
    assert (found["a"].low, found["a"].high) == (-1.0, 1.0)
    assert found["year"].high < 4096
    assert np.isfinite(model.coef_).all()
    assert all(finding.ok for finding in model.certificate_.check(model.release_.values)[:-1])


@pytest.mark.parametrize(("value", "words"), [(np.nan, "missing values"), (np.inf, "infinite"), (-np.inf, "infinite")])
def test_bad_values_are_refused_as_for_declared_columns_before_anything_is_spent(value, words):
    frame = table()
    frame.loc[7, "year"] = value
    told = []
    for domain in (Domain(COLUMNS), Domain({"a": (-9, 9), "year": (1900, 2100), "g": ["u", "v"], "y": (0, 99)})):
        with Budget(epsilon=2, delta=1e-3, adding=True) as budget, pytest.raises(DataError, match=words) as caught:
            fitted(domain, frame, random_state=None)
        assert budget.others_left == (2, 1e-3)
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_fifty_rows_are_refused_where_rows_tells_and_found_wanting_where_it_does_not():
    with Budget(epsilon=2, delta=1e-3, adding=True) as budget:
        with pytest.raises(ParameterError, match=r"50 rows .* too few .* 3 columns .*spent. .*, or choose"):
            fitted(frame=table(50), rows=50, random_state=None)
        assert budget.others_left == (2, 1e-3)
    with pytest.warns(DiscreetWarning, match="saw nothing of"):
        model = fitted(frame=table(50))
    assert all(finding.ok for finding in model.certificate_.check(model.release_.values)[:-1])


def test_ways_that_cannot_search_refuse_before_anything_is_spent():
    given = {"stages=1": {"stages": 1}, "as declared": {"narrow": False}}
    with Budget(epsilon=2, delta=1e-3, adding=True) as budget:
        for more in given.values():
            with pytest.raises(ParameterError, match="needs bounds of all columns, and 'a', 'year', 'y' have none"):
                fitted(random_state=None, **more)
        for text in ("y ~ log(a)", "log(y) ~ a", "y ~ a:year", "y ~ year^2"):
            with pytest.raises((ParameterError, DomainError), match="no declared bounds"):
                DPLinearRegression(**PROMISE, domain=Domain(COLUMNS)).fit_formula(text, table())
        assert budget.others_left == (2, 1e-3)


@pytest.mark.more
def test_a_thousand_columns():
    rng = np.random.default_rng(6)
    X = rng.normal(0, 1, (3000, 1000)) * 2.0 ** rng.integers(-20, 20, 1000)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(1000)])
    frame["y"] = X[:, 0] / X[:, 0].std() + rng.normal(0, 1, 3000)
    names = list(frame.columns)
    with Budget(epsilon=2, delta=1e-3, adding=True) as budget, pytest.raises(ParameterError, match="1001 columns"):
        DPLinearRegression(**PROMISE, domain=Domain(dict.fromkeys(names, "number")), rows=3000).fit_source(frame, "y")
    assert budget.others_left == (2, 1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPLinearRegression(
            epsilon=300, delta=1e-6, domain=Domain(dict.fromkeys(names, "number")), random_state=1
        ).fit_source(frame, "y")
    found = model.certificate_.domain.columns
    widths = [found[name].high / frame[name].abs().max() for name in names]
    assert 0.4 < min(widths) <= max(widths) <= 16
