"""Steps and stages at a generalised linear model, and weighted objectives: functions of the row, and within bounds."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from privacy.test_objective import NEGLIGIBLE, divergences, event, others, outcomes
from scipy.optimize import minimize
from scipy.special import expit
from tables import encode

from discreet import Domain, DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.data.reading import Table
from discreet.data.stages import score_products, staged
from discreet.domain.coordinates import Coordinates, scores
from discreet.domain.encoding import ONE
from discreet.errors import FileFormatError, ParameterError
from discreet.families import Logistic, Loss, Poisson, SmoothHinge
from discreet.families.coordinates import ModelCoordinateMap, ModelCoordinates, coordinates_from_dict
from discreet.privacy import accounting, sensitivity
from discreet.privacy.events.coordinates import StageEvent, stage_block
from discreet.recipes.budget import SCORING_STEPS

NEIGHBORS = ("add-remove", "replace-one")
KINDS = ("information", "cross", "meat")
MOST = 6.0
LINKS = {"logit": (0, 1), "log": (0, 20), "sign": (0, 1)}
CORNERS = {"logit": None, "log": None, "sign": 0.4}


def random_stage(rng, link, d=2, radius=None, width=None, intercept=True):
    domain = Domain({f"x{i}": (-1, 1) for i in range(d)} | {"y": LINKS[link]}, intercept=intercept)
    design = domain.design_names([f"x{i}" for i in range(d)])
    q, most = len(design), MOST if link == "log" else 1.0
    P = rng.normal(size=(q, q)) * np.exp(rng.normal(size=q))
    radius = math.exp(rng.normal()) if radius is None else radius
    plain = Coordinates.rounded(design, [], P, np.zeros((q, 0)), radius, [])
    widths = [[most / 4 if width is None else width]]
    theta = 2 * rng.normal(size=(q, 1))
    return domain, ModelCoordinates.at(plain, ["y"], theta, widths, link, most, None, CORNERS[link])


def rotated(stage, domain, A):
    """u, e and a of encoded rows, a line each."""
    found = ModelCoordinateMap(stage, domain, max(len(A), 1)).rotate(A)
    k = found.both[-1]
    return found.U.T / ONE, found.E.T / ONE, scores(found.U, k).T / ONE


def moved(blocks, U, E, A):
    """What each row adds to the statistics, divided by the sd of the noise on each entry."""
    i, j = np.triu_indices(U.shape[1], k=1)

    def squared(S):
        return np.concatenate([S**2, math.sqrt(2) * S[:, i] * S[:, j]], axis=1)

    S = scores(U.T * ONE, E[:, 0] * ONE).T / ONE
    values = {"information": squared(A), "cross": U * E, "meat": squared(S)}
    return np.concatenate([values[block.statistic] / block.sd for block in blocks], axis=1)


def largest(V, neighbors):
    if neighbors == "add-remove":
        return float(np.linalg.norm(V, axis=1).max())
    return max(float(np.linalg.norm(V - v, axis=1).max()) for v in V)


def searched(domain, stage, blocks, neighbors, rng):
    """Rows that a search finds to change the statistics most."""
    names, people = list(domain.columns), 1 if neighbors == "add-remove" else 2
    low, high = LINKS[stage.link]

    def rows_of(flat):
        rows = flat.reshape(people, len(names)).copy()
        rows[:, -1] = low + (high - low) * (rows[:, -1] + 1) / 2
        return rows

    def change(flat):
        A = encode(domain, dict(zip(names, rows_of(flat).T, strict=True)))
        V = moved(blocks, *rotated(stage, domain, A))
        return -float(np.sum((V[0] - V[1]) ** 2 if people == 2 else V[0] ** 2))

    size = people * len(names)
    given = {"method": "Nelder-Mead", "options": {"maxiter": 150}}
    found = [minimize(change, rng.uniform(-1, 1, size), bounds=[(-1, 1)] * size, **given).x for _ in range(2)]
    return np.concatenate([rows_of(one) for one in found])


def corners(domain, link):
    low, high = LINKS[link]
    ends = [(-1.0, 0.0, 1.0)] * (len(domain.columns) - 1) + [tuple(np.linspace(low, high, 5))]
    return np.array(list(itertools.product(*ends)))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", [{}, {"radius": 1e-6}, {"radius": 1e6, "width": 1e-3}, {"intercept": False}], ids=str)
@pytest.mark.parametrize("link", LINKS)
def test_no_rows_move_statistics_further_than_is_stated(link, case, neighbors):
    rng = np.random.default_rng(0)
    domain, stage = random_stage(rng, link, **case)
    each = [[stage_block(stage, kind, ["y"], 1.0)] for kind in KINDS]
    sets = [*each, [stage_block(stage, kind, ["y"], sd) for kind, sd in zip(KINDS, (0.5, 1.0, 2.0), strict=True)]]
    rows = [corners(domain, link), *(searched(domain, stage, blocks, neighbors, rng) for blocks in sets)]
    A = encode(domain, dict(zip(domain.columns, np.concatenate(rows).T, strict=True)))
    lines = rotated(stage, domain, A)
    for blocks in sets:
        assert largest(moved(blocks, *lines), neighbors) <= sensitivity.mu(blocks, stage, neighbors)


def test_information_and_score_are_not_paired():
    """A long u may have a short a: so the two do not share one angle, and their costs are added."""
    _, stage = random_stage(np.random.default_rng(1), "log")
    blocks = [stage_block(stage, kind, ["y"], 1.0) for kind in ("information", "cross")]
    assert sensitivity.pairs(blocks) == []
    R = sensitivity.norm(stage.axes, stage)
    assert sensitivity.mu(blocks, stage, "replace-one") == pytest.approx(math.sqrt(2 * R**4 + 4 * R**2))


@pytest.mark.parametrize("link", LINKS)
def test_a_row_is_the_same_wherever_it_stands(link):
    rng = np.random.default_rng(2)
    domain, stage = random_stage(rng, link, d=4)
    low, high = LINKS[link]
    columns = {name: rng.uniform(-1, 1, 600) for name in domain.columns} | {"y": rng.integers(low, high + 1, 600)}
    A = encode(domain, columns)
    whole = [part.copy() for part in rotated(stage, domain, A)]
    for start, stop in ((0, 1), (5, 8), (3, 34), (17, 600)):
        for part, own in zip(rotated(stage, domain, A[start:stop].copy()), whole, strict=True):
            assert np.array_equal(part, own[start:stop])
    backwards = rotated(stage, domain, np.asfortranarray(A[::-1]))
    assert all(np.array_equal(part[::-1], own) for part, own in zip(backwards, whole, strict=True))


@pytest.mark.parametrize("link", LINKS)
def test_e_and_a_are_what_the_formulas_say(link):
    rng = np.random.default_rng(3)
    domain, stage = random_stage(rng, link, d=3)
    low, high = LINKS[link]
    X, y = rng.uniform(-1, 1, (200, 3)), rng.integers(low, high + 1, 200).astype(float)
    A = encode(domain, {f"x{i}": x for i, x in enumerate(X.T)} | {"y": y})
    U, E, information = rotated(stage, domain, A)
    x = A[:, domain.indices(stage.design)] / ONE
    z, eta = x @ stage.P.floats, (x @ stage.theta.floats)[:, 0]
    w = np.minimum(1, stage.radius / np.linalg.norm(z, axis=1))
    b, c = stage.widths[0][0], stage.largest_slope
    np.testing.assert_allclose(U, w[:, None] * z / stage.radius, atol=1e-6)
    if link == "sign":
        t = 2 * y - 1
        np.testing.assert_allclose(E[:, 0], np.clip(w * t * expit((1 - t * eta) / 0.4), -b, b) / b, atol=2e-5)
        return
    mean = expit(eta) if link == "logit" else np.minimum(np.exp(eta), MOST)
    slope = mean * (1 - mean) if link == "logit" else np.where(np.exp(eta) < MOST, mean, 0.0)
    np.testing.assert_allclose(E[:, 0], np.clip(w * (y - mean), -b, b) / b, atol=2e-5)
    np.testing.assert_allclose(information, np.sqrt(slope / c)[:, None] * U, atol=2e-6)


@pytest.mark.parametrize("link", LINKS)
def test_one_row_changes_the_sums_by_its_own_products(link):
    rng = np.random.default_rng(4)
    domain, stage = random_stage(rng, link)
    low, high = LINKS[link]
    columns = {name: rng.uniform(-1, 1, 50) for name in domain.columns} | {"y": rng.integers(low, high + 1, 50)}
    frame = pd.DataFrame(columns)
    for read, blocks in (
        (lambda t: staged(t, stage), [stage_block(stage, "information", ["y"]), stage_block(stage, "cross", ["y"])]),
        (lambda t: score_products(t, stage, [0]), [stage_block(stage, "meat", ["y"])]),
    ):
        alone, rest, whole = (read(Table.of(part, domain)) for part in (frame[:1], frame[1:], frame))
        assert alone + rest == whole
        for block in blocks:
            given = (block,) if block.statistic == "meat" else (block, [0])
            a, b, c = (sums.integers(*given) for sums in (alone, rest, whole))
            assert all(np.array_equal(x + y, z) for x, y, z in zip(a, b, c, strict=True))


# ---------------------------------------------------------------- steps of a fit


def small_table(link, n=24):
    """Few rows, some of them at the ends of the bounds, with all kinds of outcomes."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (n, 2))
    X[: n // 3] = np.sign(X[: n // 3])
    y = rng.integers(0, 2, n) if link != "log" else rng.choice([0, 1, 2, 20], n)
    return pd.DataFrame(X, columns=["x0", "x1"]).assign(y=y.astype(float))


def steps_of(link, frame, seed):
    """The events of the steps of a real fit, and its domain."""
    outcome = {"bounds_y": LINKS["log"]} if link == "log" else {"classes": [0, 1]}
    estimator = {"logit": DPLogisticRegression, "log": DPPoissonRegression, "sign": DPLinearSVC}[link]
    given = {"epsilon": 20.0, "delta": 1e-6, "bounds_X": (-1, 1), "n_jobs": 1, "random_state": seed}
    model = estimator(**given, **outcome).fit(frame[["x0", "x1"]].to_numpy(), frame["y"].to_numpy())
    certificate = model.certificate_
    stages = [own for own in certificate.events if isinstance(own, StageEvent)]
    return [own for own in stages if isinstance(own.coordinates, ModelCoordinates)], certificate.domain


def summed(frame, domain, coordinates, block):
    """U'e of a table, as it is released but for its noise."""
    (own,) = staged(Table.of(frame, domain, 1), coordinates, gram=False).integers(block, [0])
    return np.ravel(own).astype(float) / float(ONE) ** 2


@pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("link", LINKS)
def test_no_row_that_is_removed_or_replaced_moves_the_score_of_a_step_by_more_than_it_claims(link, seed):
    """Every row of a small table by turns, at every model of a fit: |change of U'e| <= mu sd."""
    frame = small_table(link)
    steps, domain = steps_of(link, frame, seed)
    assert len(steps) >= SCORING_STEPS
    largest = 0.0
    for step in steps[:SCORING_STEPS]:
        own, (block,) = step.coordinates, step.blocks
        frame.columns = [*own.design[1:], own.outcomes[0]]
        whole = summed(frame, domain, own, block)
        parts = np.array([whole - summed(frame.drop(index=i), domain, own, block) for i in frame.index])
        moved = np.linalg.norm(parts, axis=1).max()
        assert moved <= step.mu * block.sd
        assert moved <= sensitivity.sensitivity(block, own, "add-remove")
        apart = np.linalg.norm(parts[:, None] - parts, axis=2).max()
        assert apart <= sensitivity.sensitivity(block, own, "replace-one")
        largest = max(largest, moved)
    assert largest > 0.5  # some row uses most of what is claimed


# ---------------------------------------------------------------- weighted objectives


@dataclass(frozen=True)
class Weighted(Loss):
    """w^2 f(t/w, y): what a row of weight w has in private coordinates."""

    loss: Loss
    w: float

    name = "weighted"
    one_signed = False
    bell = False

    @property
    def slope(self):
        return self.loss.slope

    @property
    def curvature(self):
        return self.loss.curvature

    def parts(self, eta, y):
        f, slope, curvature = self.loss.parts(eta / self.w, y)
        return self.w**2 * f, self.w * slope, curvature


@dataclass(frozen=True)
class Mixed(Loss):
    """Rows of weight w where y is marked by adding 100, others of weight 1; for tables of both."""

    loss: Loss
    w: float

    name = "mixed"
    one_signed = False
    bell = False
    slope = property(lambda self: self.loss.slope)
    curvature = property(lambda self: self.loss.curvature)

    def parts(self, eta, y):
        marked = y >= 100
        plain, first_pass = (
            self.loss.parts(eta, y - 100 * marked),
            Weighted(self.loss, self.w).parts(eta, y - 100 * marked),
        )
        return tuple(np.where(marked, b, a) for a, b in zip(plain, first_pass, strict=True))


@pytest.mark.parametrize("relation", NEIGHBORS)
@pytest.mark.parametrize("loss", [Logistic(), SmoothHinge(0.3), Poisson(3.0)], ids=repr)
@pytest.mark.parametrize("d", [1, 2])
def test_weighted_rows_cost_no_more_than_others(loss, relation, d):
    """The exact divergence of tables that differ in a row of any weight, against the bound for the loss itself."""
    epsilons = np.array([0.0, 0.3, 1.0]) if d == 1 else np.array([0.3, 1.0])
    cases = ((0.4, 2.0), (8.0, 0.8)) if d == 1 else ((1.5 * max(loss.curvature, 1.0), 2.0),)
    points = (20_001 if loss.bell else 60_001) if d == 1 else 401 if loss.bell else 801
    one = np.eye(d)[0]
    for (modulus, ratio), w in itertools.product(cases, (0.05, 0.9) if d == 2 else (0.05, 0.4, 0.9)):
        scale = ratio * loss.slope
        bound = np.array([accounting.delta([event(loss, modulus, scale, relation)], e) for e in epsilons])
        for rest in list(others(loss, d))[:: 2 if d == 1 else 7]:
            for y, t in itertools.product(outcomes(loss), repeat=2):
                first = rest or [(np.zeros(d), y, 1)]
                second = [*rest, (one, y + 100, 1)]
                tables = (first, second) if relation == "add-remove" else ([*rest, (-one, t, 1)], second)
                exact = divergences(Mixed(loss, w), tables, modulus, scale, epsilons, points)
                assert np.all(exact <= bound + NEGLIGIBLE)


def test_counts_beyond_the_limit_do_not_move_the_gradient_further():
    """Where counts were narrowed to Y, larger ones count as Y: no row's slope exceeds Y."""
    loss = Poisson(4.0)
    eta = np.linspace(-5, 5, 101)
    for y in (0.0, 4.0, 5.0, 1000.0):
        assert np.abs(loss.parts(eta, np.full(101, y))[1]).max() <= loss.slope


# ---------------------------------------------------------------- files


def test_stages_at_a_model_are_saved_and_refused_when_they_are_not_one():
    _, stage = random_stage(np.random.default_rng(6), "log")
    assert coordinates_from_dict(stage.to_dict()) == stage
    with pytest.raises(FileFormatError):
        coordinates_from_dict(stage.to_dict() | {"link": "probit"})
    with pytest.raises(FileFormatError):
        coordinates_from_dict(stage.to_dict() | {"link": "logit", "most": 2.0})
    with pytest.raises(ParameterError, match="Fisher information"):
        stage_block(stage, "gram")


def test_a_hinge_has_the_width_of_its_corner_and_others_have_none():
    _, stage = random_stage(np.random.default_rng(6), "sign")
    assert coordinates_from_dict(stage.to_dict()) == stage
    written = stage.to_dict()
    for width in (None, 0.0, -1.0, math.inf, math.nan, "0.5", True):
        with pytest.raises(ParameterError, match="width of its corner"):
            replace(stage, width=width)
    with pytest.raises((FileFormatError, ParameterError)):
        coordinates_from_dict({name: value for name, value in written.items() if name != "width"})
    for link in ("logit", "log"):
        _, other = random_stage(np.random.default_rng(6), link)
        with pytest.raises(ParameterError, match="other losses have none"):
            replace(other, width=0.5)
