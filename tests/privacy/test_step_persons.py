"""Persons with many rows, and weights, in stages at a model: no statistic moves by more than its block claims."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from discreet import Domain
from discreet.data.reading import Table
from discreet.data.stages import score_products, staged
from discreet.domain.coordinates import Coordinates
from discreet.domain.unit import WEIGHT_BITS
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import stage_block

NEIGHBORS = ("add-remove", "replace-one")
M, LARGEST, RADIUS = 3, 4.0, 0.3
UNITS = {
    "persons": {"person": "id", "rows_per_person": M},
    "weights": {"weights": "w", "largest_weight": LARGEST},
    "both": {"person": "id", "rows_per_person": M, "weights": "w", "largest_weight": LARGEST},
}
LINKS = {"logit": (0, 1), "sign": (0, 1), "log": (0, 9)}
KINDS = ("counts", "information", "cross", "squares", "meat")


def made(link, unit):
    domain = Domain({"x": (-1, 1), "c": ["a", "b"], "y": LINKS[link]}, **UNITS[unit])
    design = domain.design_names(["x", "c"])
    q, largest = len(design), 6.0 if link == "log" else 1.0
    rng = np.random.default_rng(0)
    P, theta = np.eye(q) + 0.2 * rng.normal(size=(q, q)), np.array([[1.0], [1.5], [0.5]])
    plain = Coordinates.rounded(design, [], P, np.zeros((q, 0)), 1.3, [], most=domain.most)
    widths, width = [[0.4, 0.9]] if link != "log" else [[2.0, 6.0]], 0.5 if link == "sign" else None
    return domain, ModelCoordinates.at(plain, ["y"], theta, widths, link, largest, None, width)


def somebody(rng, domain, link, rows):
    """The rows of one person: any, or many copies of a row at the ends of the bounds; of any or the largest weight."""
    low, high = LINKS[link]
    frame = pd.DataFrame({"x": rng.uniform(-1.2, 1.2, rows), "c": rng.choice(["a", "b"], rows)})
    frame["y"] = rng.uniform(low, high, rows) if link == "log" else rng.integers(0, 2, rows).astype(float)
    if rng.random() < 0.7:
        frame = pd.concat([frame.iloc[[0]]] * rows, ignore_index=True)
        frame["x"], frame["y"] = np.sign(frame["x"]), np.where(frame["y"] > (low + high) / 2, high, low)
    frame["w"] = LARGEST if rng.random() < 0.7 else rng.uniform(0, 2 * LARGEST, rows)
    return frame.assign(id=1)[[*domain.unit.columns, *domain.columns]]


def vector(kind, domain, stage, frame, place):
    """The statistic of a table, as a vector whose length is that of the noise layout."""
    block, table = stage_block(stage, kind, ["y"]), Table.of(frame, domain, 1)
    if kind == "meat":
        parts = score_products(table, stage, [place], [RADIUS]).integers(block)
    else:
        parts = staged(table, stage, gram=kind == "information").integers(block, [place])
    flat = [np.ldexp(np.ravel(part).astype(float), -40 - WEIGHT_BITS) for part in parts]
    return np.concatenate([flat[0], *(math.sqrt(2) * part for part in flat[1:])])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("link", LINKS)
def test_no_person_and_no_heavy_row_moves_a_statistic_by_more_than_is_claimed(link, unit, kind):
    domain, stage = made(link, unit)
    rng = np.random.default_rng(1)
    sizes = (1, 2, 3, 4, 17, 300) if domain.unit.person else (1,)
    people = [somebody(rng, domain, link, rows) for rows in sizes for _ in range(24 // len(sizes))]
    P = np.array([vector(kind, domain, stage, own, 0) for own in people])
    P = np.vstack([P, np.zeros_like(P[0])])
    block = stage_block(stage, kind, ["y"])
    alone, replaced = (sensitivity.sensitivity(block, stage, n) for n in NEIGHBORS)
    largest = np.linalg.norm(P, axis=1).max()
    assert largest <= alone
    assert np.linalg.norm(P[:, None] - P, axis=2).max() <= replaced
    assert alone == pytest.approx(block.kind.rows_of_person(stage), rel=1e-4)
    assert largest >= 0.2 * alone


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_person_among_others_moves_a_statistic_as_alone(unit, kind):
    """Sums are exact, so that the presence of others changes nothing."""
    domain, stage = made("logit", unit)
    rng = np.random.default_rng(2)
    own = somebody(rng, domain, "logit", 5 if domain.unit.person else 1)
    frames = [somebody(rng, domain, "logit", 1).assign(id=10 + i) for i in range(40)]
    others = pd.concat(frames, ignore_index=True)[list(own)]
    both = pd.concat([own, others]).sample(frac=1, random_state=0)
    with_, without, alone = (vector(kind, domain, stage, frame, 1) for frame in (both, others, own))
    np.testing.assert_allclose(with_ - without, alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_sums_of_weighted_persons_are_those_of_their_rows(unit):
    """U'e, e'e and A'A against plain arithmetic, with the weight of each row from the words of the documentation."""
    domain, stage = made("logit", unit)
    rng = np.random.default_rng(3)
    n = 200
    frame = pd.DataFrame({"x": rng.uniform(-1, 1, n), "c": rng.choice(["a", "b"], n), "y": rng.integers(0, 2, n)})
    frame = frame.assign(w=rng.uniform(0, 5, n), id=rng.integers(0, 50, n))
    weight = np.minimum(frame["w"] / LARGEST, 1.0) if domain.unit.weights else np.ones(n)
    many = frame.groupby("id")["id"].transform("size") if domain.unit.person else np.ones(n)
    weight = np.asarray(weight * np.minimum(1.0, M / many))
    X = np.column_stack([np.ones(n), frame["x"], frame["c"] == "b"]).astype(float)
    z = X @ stage.P.floats
    length = np.maximum(np.linalg.norm(z, axis=1), stage.radius)
    u = z / length[:, None]
    mean = expit(X @ stage.theta.floats[:, 0])
    e = np.clip((frame["y"].to_numpy() - mean) * stage.radius / length, -0.9, 0.9) / 0.9
    a = u * np.sqrt(4 * mean * (1 - mean))[:, None]
    frame = frame[[*domain.unit.columns, *domain.columns]]
    found = {kind: vector(kind, domain, stage, frame, 1) for kind in KINDS}
    np.testing.assert_allclose(found["cross"], (u * (weight * e)[:, None]).sum(axis=0), atol=1e-3)
    np.testing.assert_allclose(found["squares"], [weight @ e**2], atol=1e-3)
    information = a.T @ (a * weight[:, None])
    np.testing.assert_allclose(found["information"][:3], np.diag(information), atol=1e-3)
    assert found["counts"].sum() == pytest.approx(weight.sum(), abs=1e-3)
