"""The first stage of the default estimator: counts of the outcome, how far one person moves them, and their noise."""

import functools
import itertools
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet import Domain, DPLinearRegression
from discreet.data.moments import counted
from discreet.data.reading import Table
from discreet.domain.cells import BINS, is_span
from discreet.domain.encoding import ONE
from discreet.drivers.run import run
from discreet.drivers.sources import MomentsSource
from discreet.errors import ParameterError
from discreet.gate.session import Session
from discreet.privacy import gdp
from discreet.privacy.events.gaussian import Block
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.sensitivity import sensitivity
from discreet.recipes.base import Recipe, Spending
from discreet.recipes.budget import ONE_STAGE as SHARES
from discreet.recipes.moments import with_bounds
from discreet.recipes.steps import outcome_counts
from discreet.solve.outcome import EDGES
from discreet.statistics.histogram import bin_of

RELATIONS = ["add-remove", "replace-one"]


def exact_counts(domain, y, column="y"):
    """Exact counts of outcomes, from the real reader."""
    frame = pd.DataFrame({name: np.zeros(len(y)) for name in domain.columns} | {column: y})
    return counted(Table.of(frame, domain), column)[0].integers().astype(int)


DOMAINS = {
    "intercept": Domain({"x": (0, 1), "y": (-4, 12)}),
    "no intercept, asymmetric": Domain({"x": (0, 1), "y": (-3, 12)}, intercept=False),
    "no intercept, far from 0": Domain({"x": (0, 1), "y": (5, 12)}, intercept=False),
    "missing dropped": Domain({"x": (0, 1), "y": (-4, 12)}, missing="drop"),
    "in a ball": Domain({"x": (-2, 2), "y": (-8, 8)}, data_norm=8),
    "odd bounds": Domain({"x": (0, 1), "y": (0.1, 0.7)}),
}


def candidates(domain):
    """Outcomes at, beside and between the edges of the parts, outside the bounds, and missing where that is allowed."""
    column = domain.columns["y"]
    c, h = domain.map("y")
    edges = c + h * EDGES
    values = [*edges, *np.nextafter(edges, -np.inf), *np.nextafter(edges, np.inf), *(c + h * np.linspace(-1, 1, 37))]
    values += [column.low, column.high, column.low - 1, column.high + 1, -1e300, 1e300, 0.0]
    return np.array(values + ([np.nan] if domain.missing == "drop" else []))


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_the_sensitivity_of_counts_is_the_largest_change_by_brute_force(domain):
    y = candidates(domain)
    rows = np.array([exact_counts(domain, y[[i]]) for i in range(len(y))])
    assert (exact_counts(domain, y) == rows.sum(axis=0)).all()
    present = ~np.isnan(y)
    assert (rows.sum(axis=1) == present).all()
    largest = {
        "add-remove": max(np.linalg.norm(row) for row in rows),
        "replace-one": max(np.linalg.norm(a - b) for a, b in itertools.combinations(rows, 2)),
    }
    for relation in RELATIONS:
        stated = sensitivity(Block("counts", (), ("y",), 1.0), domain, relation)
        assert largest[relation] <= stated <= largest[relation] * (1 + 1e-12)


def test_every_lattice_point_is_in_the_one_part_whose_edges_hold_it():
    z = np.arange(-ONE, ONE + 1) / ONE
    part = bin_of(z)
    assert part.min() == 0
    assert part.max() == BINS - 1
    assert (EDGES[part] <= z).all()
    assert (z[part < BINS - 1] < EDGES[part + 1][part < BINS - 1]).all()
    assert (np.bincount(part) == [ONE / 8] * (BINS - 1) + [ONE / 8 + 1]).all()


SPANS = [(-1.0, 1.0), (-0.125, 0.125), (0.5, 1.0), (-1.0, -0.9375), (0.25, 0.2578125), (-0.5, 0.6875)]


@pytest.mark.parametrize("span", SPANS)
def test_every_lattice_point_is_in_the_one_part_of_a_span_that_holds_it(span):
    z = np.arange(-ONE, ONE + 1, 7) / ONE
    edges = np.linspace(*span, BINS + 1)
    part = bin_of(z, span)
    inside = (z >= span[0]) & ((z < span[1]) | (span[1] == 1))
    assert ((part >= 0) == inside).all()
    assert (np.searchsorted(edges, z[inside], side="right").clip(max=BINS) - 1 == part[inside]).all()
    assert is_span(*span)


@pytest.mark.parametrize("span", [(0.0, 0.0), (0.5, 0.25), (-1.5, 1.0), (0.0, 0.004), (0.1, 0.9), (0.0, math.nan)])
def test_spans_whose_parts_are_not_made_of_cells_are_refused(span):
    assert not is_span(*span)
    with pytest.raises(ParameterError, match="not made of cells"):
        histogram_of(DOMAINS["intercept"], np.array([1.0])).integers(span)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("name", ["intercept", "missing dropped"])
def test_counts_of_a_span_are_exact_and_move_by_one_row(name, span):
    """A row outside the span moves nothing, any other one count by 1; two rows move sqrt(2) at most."""
    domain, rng = DOMAINS[name], np.random.default_rng(0)
    y = np.concatenate([rng.uniform(-6, 14, 3000), np.linspace(-4, 12, 129)])
    z = np.rint((np.clip(y, -4, 12) - 4) / 8 * ONE) / ONE
    found = histogram_of(domain, y)
    part = bin_of(z, span)
    assert found.integers(span).tolist() == np.bincount(part[part >= 0], minlength=BINS).tolist()
    assert found.count == len(y)
    rows = np.array([histogram_of(domain, one[None]).integers(span).astype(float) for one in y[-129:]])
    assert (rows.sum(axis=1) == (part[-129:] >= 0)).all()
    for relation in RELATIONS:
        stated = sensitivity(Block("counts", (), ("y",), 1.0, span=span), domain, relation)
        pairs = rows if relation == "add-remove" else (rows[:, None] - rows[None]).reshape(-1, BINS)
        assert np.linalg.norm(pairs, axis=1).max() <= stated


def histogram_of(domain, y):
    frame = pd.DataFrame({"x": np.zeros(len(y)), "y": y})
    return counted(Table.of(frame, domain, 1), "y")[0]


@pytest.mark.parametrize(("i", "j"), [(0, 16), (3, 9), (7, 8), (0, 1), (15, 16), (2, 14)])
def test_narrowed_bounds_clip_only_outcomes_of_the_parts_left_out(i, j):
    domain = DOMAINS["intercept"]
    narrowed = with_bounds(domain, "y", EDGES[i], EDGES[j]).columns["y"]
    y = candidates(domain)
    y = y[(y >= -4) & (y <= 12)]
    clipped = np.clip(y, narrowed.low, narrowed.high)
    parts = bin_of(np.rint((y - 4) / 8 * ONE) / ONE)
    inside = (parts >= i) & (parts < j)
    np.testing.assert_allclose(clipped[inside], y[inside], atol=8 / ONE)
    outside = ~inside & (np.abs(y - narrowed.high) > 8 / ONE)
    assert (clipped[outside] != y[outside]).all()


@pytest.mark.parametrize("bounds", [(0.1, 0.7), (-1 / 3, 1e7 / 3), (18, 90)])
def test_bounds_that_are_not_narrowed_stay_the_same_to_the_last_bit(bounds):
    domain = Domain({"x": (0, 1), "y": bounds})
    assert with_bounds(domain, "y", -1.0, 1.0) == domain


@pytest.mark.parametrize(
    ("domain", "low", "high"),
    [
        (DOMAINS["no intercept, far from 0"], -0.25, 0.25),
        (Domain({"y": (3, 12)}, intercept=False), -0.25, 0.25),
        (Domain({"y": (1e9, 1e9 + 2.5)}), 0.0, 0.125),
    ],
    ids=["outside the bounds", "at a bound", "too close for floating point"],
)
def test_bounds_that_noise_made_impossible_are_left_as_declared(domain, low, high):
    assert with_bounds(domain, "y", low, high) == domain


@pytest.mark.parametrize("source", ["array", "pair", "frame", "arrow"])
def test_counts_are_the_same_from_every_source(source):
    domain = DOMAINS["missing dropped"]
    rng = np.random.default_rng(0)
    y = rng.normal(4, 5, 30_000)
    y[::7] = np.nan
    X = np.zeros((len(y), 1))
    frame = pd.DataFrame({"x": X[:, 0], "y": y})
    offered = {"array": np.column_stack([X, y]), "pair": (X, y), "frame": frame, "arrow": pa.table(frame)}[source]
    z = np.rint((np.clip(y[~np.isnan(y)], -4, 12) - 4) / 8 * ONE) / ONE
    expected = np.histogram(z, EDGES)[0]
    assert (counted(Table.of(offered, domain), "y")[0].integers() == expected).all()


# -------------------------------------------------------------------- the noise that is really there


PROMISE = {relation: Guarantee(4.0, 1e-3, relation, "verified") for relation in RELATIONS}
RUNS = 3000
TABLES = {
    "add-remove": (np.array([1.0, 2.0, 9.0]), np.array([1.0, 2.0, 9.0, 5.0])),
    "replace-one": (np.array([1.0, 2.0, 9.0]), np.array([1.0, 2.0, 5.0])),
}


class CountsAlone(Recipe):
    """Counts of an outcome for half of mu^2, and no more."""

    name = "counts"

    def steps(self):
        (counts,) = yield from outcome_counts(Spending(self.facts), ["y"], [None], 0.5)
        return counts.values


def released(domain, y, relation, seed):
    """Many draws of the noisy counts of one table."""
    frame, source = pd.DataFrame({"x": np.zeros(len(y)), "y": y}), np.random.default_rng(seed)
    histogram, moments = counted(Table.of(frame, domain), "y")
    found = []
    for _ in range(RUNS):
        session = Session(PROMISE[relation], "test", None, source)
        recipe = CountsAlone(session.facts(domain))
        found.append(run(recipe, MomentsSource(moments, histogram), session).result)
    return np.array(found)


@pytest.mark.parametrize("relation", RELATIONS)
def test_how_well_neighbours_can_be_told_apart_is_what_mu_says(relation, monkeypatch):
    """The likelihood ratio of two tables, one row apart, over many releases of each.

    The row changes the counts by as much as any row can, so the curve is attained: noise that is too small, or a
    sensitivity that is too small by a factor sqrt(2), shows as an excess, noise that is too large as a lack.
    """
    monkeypatch.setattr(gdp, "mu", functools.cache(gdp.mu))
    domain = DOMAINS["intercept"]
    change = exact_counts(domain, TABLES[relation][1]) - exact_counts(domain, TABLES[relation][0])
    first, second = (released(domain, y, relation, seed) for seed, y in enumerate(TABLES[relation]))
    mu = gdp.mu(epsilon=4.0, delta=1e-3) * math.sqrt(0.5)
    assert 0.5 < mu < 2
    sd = sensitivity(Block("counts", (), ("y",), 1.0), domain, relation) / mu
    scores = [(table @ change) / (np.linalg.norm(change) * sd) for table in (first, second)]
    assert scores[1].mean() - scores[0].mean() == pytest.approx(mu, abs=4 * math.sqrt(2 / RUNS))
    assert np.concatenate([s - s.mean() for s in scores]).std() == pytest.approx(1, abs=4 / math.sqrt(4 * RUNS))
    middle = (first.mean(axis=0) + second.mean(axis=0)) @ change / (2 * np.linalg.norm(change) * sd)
    for epsilon in (0.0, 0.3, 0.8):
        found = [np.mean(mu * (s - middle) > epsilon) for s in scores]
        spread = math.sqrt((found[1] + math.exp(2 * epsilon) * found[0]) / RUNS)
        assert found[1] - math.exp(epsilon) * found[0] == pytest.approx(gdp.delta(mu, epsilon), abs=4 * spread + 0.01)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_counts_and_moments_cost_what_was_promised_and_hardly_less(epsilon, relation):
    rng = np.random.default_rng(0)
    model = DPLinearRegression(
        epsilon=epsilon, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 10), neighbors=relation, random_state=0, stages=1
    ).fit(rng.uniform(0, 1, (500, 3)), rng.uniform(4, 5, 500))
    counts, moments = model.certificate_.events
    mu = gdp.mu(epsilon=epsilon, delta=1e-6)
    together = gdp.compose([counts.mu, moments.mu])
    assert (1 - 1e-9) * mu <= together <= mu
    assert counts.mu**2 / mu**2 == pytest.approx(SHARES["counts"], rel=1e-9)
    (block,) = counts.blocks
    assert block.sd * counts.mu == pytest.approx({"add-remove": 1, "replace-one": math.sqrt(2)}[relation], rel=1e-9)
    assert gdp.epsilon(mu=together, delta=1e-6) <= epsilon
