"""Classes that exclude each other: no rows move the score or the information of pairs further than is stated."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from tables import encode

from discreet import Domain
from discreet.data.reading import Table
from discreet.data.stages import staged
from discreet.domain.coordinates import Coordinates
from discreet.domain.encoding import ONE
from discreet.errors import ParameterError
from discreet.families import MULTINOMIAL
from discreet.families.coordinates import ModelCoordinateMap, ModelCoordinates
from discreet.per_instance.mechanisms.stages import StageRows
from discreet.per_instance.stream import EncodedRows
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import StageEvent, stage_block
from discreet.statistics.pair_information import PAIR_INFORMATION

NEIGHBORS = ("add-remove", "replace-one")
KINDS = ("pair information", "cross")


def random_stage(rng, m, radius=None, width=1.0, scale=2.0, d=2):
    levels = [f"c{i}" for i in range(m)]
    domain = Domain({f"x{i}": (-1, 1) for i in range(d)} | {"y": levels})
    design = domain.design_names([f"x{i}" for i in range(d)])
    q = len(design)
    P = rng.normal(size=(q, q)) * np.exp(rng.normal(size=q))
    radius = math.exp(rng.normal()) if radius is None else radius
    plain = Coordinates.rounded(design, [], P, np.zeros((q, 0)), radius, [])
    outcomes = [f"y[{level}]" for level in levels]
    theta = scale * rng.normal(size=(q, m))
    return domain, ModelCoordinates.at(plain, outcomes, theta, [[width]] * m, "softmax")


def added(stage, domain, blocks, A):
    """What each row adds to the statistics, divided by the sd of the noise on each entry."""
    event = StageEvent(1.0, stage, tuple(blocks), (0,) * len(stage.outcomes))
    places, rows, parts = StageRows(event, domain), EncodedRows(A / ONE), []
    for block in blocks:
        if block.statistic == "cross":
            Z = places.rotated(rows).Z
            U, E = (Z[:, places.indices(names)] for names in (block.rows, block.columns))
            parts.append((U[:, :, None] * E[:, None, :]).reshape(len(Z), -1) / block.sd)
        else:
            parts.append(block.kind.vectors(block, places, places.seen(block, rows).Z) / block.sd)
    return np.concatenate(parts, axis=1)


def largest(V, neighbors):
    if neighbors == "add-remove":
        return float(np.linalg.norm(V, axis=1).max())
    return max(float(np.linalg.norm(V - v, axis=1).max()) for v in V)


def encoded(domain, X, codes):
    return encode(domain, {f"x{i}": x for i, x in enumerate(X.T)} | {"y": [f"c{i}" for i in codes]})


def searched(domain, stage, blocks, neighbors, rng):
    """Rows that a search finds to change the statistics most, of random classes."""
    people, d = 1 if neighbors == "add-remove" else 2, len(domain.columns) - 1
    codes = rng.integers(0, len(stage.outcomes), people)

    def change(flat):
        V = added(stage, domain, blocks, encoded(domain, flat.reshape(people, d), codes))
        return -float(np.sum((V[0] - V[1]) ** 2 if people == 2 else V[0] ** 2))

    given = {"method": "Nelder-Mead", "options": {"maxiter": 80}, "bounds": [(-1, 1)] * (people * d)}
    return minimize(change, rng.uniform(-1, 1, people * d), **given).x.reshape(people, d), codes


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", [{}, {"radius": 1e-6}, {"width": 0.3}, {"radius": 0.2, "scale": 0.0}], ids=str)
@pytest.mark.parametrize("m", [3, 4, 7])
def test_no_rows_move_statistics_further_than_is_stated(m, case, neighbors):
    rng = np.random.default_rng(m)
    domain, stage = random_stage(rng, m, **case)
    each = [[stage_block(stage, kind, stage.outcomes)] for kind in KINDS]
    sets = [*each, [stage_block(stage, kind, stage.outcomes, sd) for kind, sd in zip(KINDS, (0.5, 1.0), strict=True)]]
    X = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=2)))
    parts = [(np.repeat(X, m, axis=0), np.tile(np.arange(m), len(X)))]
    parts += [searched(domain, stage, blocks, neighbors, rng) for blocks in sets]
    A = encoded(domain, *map(np.concatenate, zip(*parts, strict=True)))
    for blocks in sets:
        V = added(stage, domain, blocks, A)
        assert largest(V, neighbors) <= sensitivity.mu(blocks, stage, neighbors)


def test_two_equal_classes_reach_what_is_stated_and_no_probabilities_exceed_it():
    """The squares of p_j p_k over pairs add up to 1/16 at most: two classes of probability 1/2 have that."""

    def squares(logs):
        p = np.exp(logs - logs.max(axis=0))
        p /= p.sum(axis=0)
        j, k = np.triu_indices(len(p), k=1)
        return ((p[j] * p[k]) ** 2).sum(axis=0)

    rng = np.random.default_rng(0)
    for m in (2, 3, 5, 12):
        assert squares(rng.normal(size=(m, 20_000)) * rng.choice([0.1, 1, 4, 20], 20_000)).max() <= 1 / 16
        half = np.full((m, 1), -50.0)
        half[:2] = 0.0
        assert squares(half).item() == pytest.approx(1 / 16)
        found = minimize(lambda flat: -float(squares(flat[:, None])[0]), rng.normal(size=m), method="Nelder-Mead")
        assert -found.fun <= 1 / 16 + 1e-12


def test_a_row_between_two_classes_uses_all_of_the_sensitivity():
    domain, stage = random_stage(np.random.default_rng(0), 3, radius=1e-6)
    theta = np.zeros((3, 3))
    theta[0] = 0.0, 0.0, -30.0
    stage = ModelCoordinates.at(stage, stage.outcomes, theta, [[1.0]] * 3, "softmax")
    block = stage_block(stage, "pair information", stage.outcomes)
    V = added(stage, domain, [block], encoded(domain, np.zeros((1, 2)), [0]))
    assert largest(V, "add-remove") == pytest.approx(sensitivity.mu([block], stage, "add-remove"), rel=1e-4)


def fisher(U, p):
    """The information of stacked coefficients, row by row from its definition."""
    return sum(np.kron(np.outer(u, u), np.diag(own) - np.outer(own, own)) for u, own in zip(U, p, strict=True))


def test_the_matrices_of_pairs_are_those_of_the_stacked_information():
    rng = np.random.default_rng(5)
    domain, stage = random_stage(rng, 4, radius=2.0, scale=0.7)
    X, codes = rng.uniform(-1, 1, (300, 2)), rng.integers(0, 4, 300)
    frame = pd.DataFrame(X, columns=["x0", "x1"]).assign(y=[f"c{i}" for i in codes])
    block = stage_block(stage, "pair information", stage.outcomes)
    parts = staged(Table.of(frame, domain), stage).integers(block, [0] * 4)
    G = PAIR_INFORMATION.array(block, [np.ldexp(part.astype(float), -40) for part in parts])
    j, k = np.triu_indices(4, k=1)
    d = np.eye(4)[j] - np.eye(4)[k]
    H = np.einsum("pij,pk,pl->ikjl", G / 4, d, d).reshape(12, 12)
    A = encoded(domain, X, codes)
    rotated = ModelCoordinateMap(stage, domain, 300).rotate(A)
    x = A[:, domain.indices(stage.design)] / ONE
    p = MULTINOMIAL.probabilities(x @ stage.theta.floats)
    np.testing.assert_allclose(H, fisher(rotated.U.T / ONE, p), atol=1e-3)


def test_one_row_changes_the_sums_by_its_own_products_and_its_loss_is_told():
    rng = np.random.default_rng(6)
    domain, stage = random_stage(rng, 5)
    X, codes = rng.uniform(-1, 1, (40, 2)), rng.integers(0, 5, 40)
    frame = pd.DataFrame(X, columns=["x0", "x1"]).assign(y=[f"c{i}" for i in codes])
    block = stage_block(stage, "pair information", stage.outcomes)
    alone, rest, whole = (staged(Table.of(part, domain), stage) for part in (frame[:1], frame[1:], frame))
    assert alone + rest == whole
    (a, A), (b, B), (c, C) = (sums.integers(block, [0] * 5) for sums in (alone, rest, whole))
    assert np.array_equal(a + b, c)
    assert np.array_equal(A + B, C)
    event = StageEvent(1.0, stage, (block,), (0,) * 5)
    places, rows = StageRows(event, domain), EncodedRows(encoded(domain, X, codes) / ONE)
    lines = places.seen(block, rows)
    change = block.kind.change(block, places, lines)
    own = float(np.sum(np.ldexp(a.astype(float), -40) ** 2) + 2 * np.sum(np.ldexp(A.astype(float), -40) ** 2))
    assert change[0] == pytest.approx(own, rel=1e-12)
    assert change.max() <= sensitivity.sensitivity(block, stage) ** 2
    swap = block.kind.swap(block, places, lines.Z[3], lines)
    assert swap[3] == 0
    assert (swap <= block.kind.most(block, places, lines)).all()
    assert swap.max() <= sensitivity.sensitivity(block, stage, "replace-one") ** 2


def test_a_row_is_the_same_wherever_it_stands():
    rng = np.random.default_rng(2)
    domain, stage = random_stage(rng, 4, d=4)
    A = encoded(domain, rng.uniform(-1, 1, (600, 4)), rng.integers(0, 4, 600))
    whole = ModelCoordinateMap(stage, domain, 600).rotate(A).both.copy()
    assert len(whole) == 4 + 5 + 6
    for start, stop in ((0, 1), (5, 8), (3, 34), (17, 600)):
        part = ModelCoordinateMap(stage, domain, 600).rotate(A[start:stop].copy()).both
        assert np.array_equal(part, whole[:, start:stop])
    backwards = ModelCoordinateMap(stage, domain, 600).rotate(np.asfortranarray(A[::-1])).both
    assert np.array_equal(backwards[:, ::-1], whole)


def test_each_model_has_its_own_information():
    _, stage = random_stage(np.random.default_rng(1), 3)
    with pytest.raises(ParameterError, match="pairs of classes"):
        stage_block(stage, "information", stage.outcomes[:1])
    plain = Coordinates.rounded(["(intercept)"], [], [[1.0]], np.zeros((1, 0)), 1.0, [])
    with pytest.raises(ParameterError, match="pairs of classes"):
        stage_block(ModelCoordinates.at(plain, ["y"], [[0.0]], [[1.0]], "logit"), "pair information", ["y"])


def test_made_up_values_are_those_of_some_table():
    _, stage = random_stage(np.random.default_rng(1), 4)
    block = stage_block(stage, "pair information", stage.outcomes)
    values = PAIR_INFORMATION.plausible(1000.0, PAIR_INFORMATION.shape(block), block.rows)
    assert values.shape == (6, 3, 3)
    assert np.linalg.eigvalsh(values).min() > 0
    j, k = np.triu_indices(3, k=1)
    parts = [np.einsum("pii->pi", values).ravel(), values[:, j, k].ravel()]
    assert np.array_equal(PAIR_INFORMATION.array(block, parts), values)
    with pytest.raises(ValueError, match="another size"):
        PAIR_INFORMATION.array(block, [parts[0][:-1], parts[1]])
