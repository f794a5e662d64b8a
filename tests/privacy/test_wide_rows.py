"""Rows of wide tables: u, t and e are functions of the row alone, bounded after rounding, whatever the directions."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tables import encode

from discreet import Domain
from discreet.data.passes.rotated import RotatedRows
from discreet.data.passes.stages import StagePass
from discreet.data.reading import Table
from discreet.data.stages import Readings, staged
from discreet.domain.coordinates import Coordinates
from discreet.domain.directions import Directions
from discreet.domain.encoding import ONE
from discreet.domain.shrinkage import Shrinkage
from discreet.domain.sketch import SketchCoordinates, random_directions
from discreet.errors import ParameterError
from discreet.families.coordinates import ModelCoordinates, coordinates_from_dict, map_of
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import stage_block

D, CLASSES = 12, ["a", "b", "c"]
DOMAIN = Domain({f"x{i}": (-1, 1) for i in range(D)} | {"y": (-1, 1), "care": CLASSES})
DESIGN = ("(intercept)", *(f"x{i}" for i in range(D)))
NEIGHBORS = ("add-remove", "replace-one")


def orthonormal(rng, q, k):
    return np.linalg.qr(rng.normal(size=(q, k)))[0]


def frame(rng, k=3, radius=2.0, rho=0.5):
    """Coordinates of a wide table with random axes and directions."""
    factors, shifts = np.exp(rng.normal(size=D + 1)), np.append(0.0, rng.normal(size=D) / 3)
    shrinkage = Shrinkage.rounded(orthonormal(rng, D + 1, k), rng.uniform(0, 1, k), rho)
    P = Directions.along_columns(factors, shifts)
    return Coordinates(DESIGN, (), P, Directions((), ()), radius, (), (), 1, shrinkage)


def linear(rng, **given):
    own = frame(rng, **given)
    return own.of_model(["y"], rng.normal(size=(D + 1, 1)), [[float(np.exp(rng.normal(-1)))]])


def classes(rng, **given):
    names = [f"care[{level}]" for level in CLASSES]
    return ModelCoordinates.at(frame(rng, **given), names, rng.normal(size=(D + 1, 3)) * 2, [[0.7]] * 3, "softmax")


def sketch(rng, radius=2.0, reach=0.3, k=4):
    factors, shifts = np.exp(rng.normal(size=D + 1)), np.append(0.0, rng.normal(size=D) / 3)
    return SketchCoordinates.of(DESIGN, factors, shifts, radius, orthonormal(rng, D + 1, k), reach)


STAGES = {"linear": linear, "classes": classes, "sketch": sketch}
SIZES = {"usual": {}, "on the sphere": {"radius": 1e-3}, "all inside": {"radius": 1e3}}


def rows(rng, n=300):
    """Encoded rows: corners, single columns at their ends, and others."""
    X = np.concatenate([rng.choice([-1.0, 0.0, 1.0], (n, D)), np.eye(D), -np.eye(D), rng.uniform(-1, 1, (n, D))])
    frame = {f"x{i}": X[:, i] for i in range(D)}
    frame |= {"y": rng.choice([-1.0, 1.0, 0.3], len(X)), "care": rng.choice(CLASSES, len(X))}
    return frame, encode(DOMAIN, frame)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", STAGES)
def test_no_row_moves_the_sums_by_more_than_the_sensitivity(kind, size, neighbors):
    rng = np.random.default_rng([1, *map(ord, kind + size)])
    for _ in range(20):
        own = STAGES[kind](rng, **SIZES[size])
        found = map_of(own, DOMAIN, 4096).rotate(rows(rng)[1])
        moved = np.einsum("ir,jr->rij", found.U / ONE, found.E / ONE).reshape(len(found.w), -1)
        change = np.linalg.norm(moved, axis=1).max()
        if neighbors == "replace-one":
            change = max(np.linalg.norm(moved - one, axis=1).max() for one in moved[:80])
        assert change <= sensitivity.sensitivity(stage_block(own, "cross", own.outcomes), own, neighbors)
        assert found.w.max() <= 1


@pytest.mark.parametrize("kind", STAGES)
def test_the_bound_is_reached(kind):
    """Rows beyond every radius have the largest norms, up to rounding: the noise is not larger than it must be."""
    rng = np.random.default_rng(2)
    own = STAGES[kind](rng, radius=1e-3) if kind == "sketch" else STAGES[kind](rng, radius=1e-3, rho=1e-3)
    own = replace(own, reach=1e-3) if kind == "sketch" else own
    found = map_of(own, DOMAIN, 4096).rotate(rows(rng)[1])
    assert np.linalg.norm(found.U / ONE, axis=0).min() == pytest.approx(1, abs=1e-3)
    if kind == "sketch":
        assert np.linalg.norm(found.E / ONE, axis=0).max() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("kind", STAGES)
def test_a_row_is_rotated_alike_wherever_it_stands(kind):
    rng = np.random.default_rng(3)
    own, A = STAGES[kind](rng), rows(rng)[1]
    together = map_of(own, DOMAIN, 4096).rotate(A)
    order = rng.permutation(len(A))
    shuffled = map_of(own, DOMAIN, 4096).rotate(np.ascontiguousarray(A[order]))
    assert np.array_equal(together.both[:, order], shuffled.both)
    whole = together.both.copy()
    for i in range(0, len(A), 37):
        alone = map_of(own, DOMAIN, 1).rotate(A[i : i + 1])
        assert np.array_equal(alone.both[:, 0], whole[:, i])


def test_products_with_directions_are_exact():
    """Q'u0, and Q times lattice integers, are what exact arithmetic gives."""
    rng = np.random.default_rng(4)
    Q = Shrinkage.rounded(orthonormal(rng, 400, 20), np.ones(20), 0.5).directions.scaled
    u = np.rint(rng.normal(size=400) * ONE / 25)
    exact = [sum((Fraction(a) * int(b) for a, b in zip(row, u, strict=True)), Fraction(0)) for row in Q.T]
    assert [Fraction(value) for value in Q.T @ u] == exact
    t = np.rint(Q.T @ u)
    back = [sum((Fraction(a) * int(b) for a, b in zip(row, t, strict=True)), Fraction(0)) for row in Q]
    assert [Fraction(value) for value in Q @ t] == back


def test_residuals_are_those_of_the_linear_predictor():
    """e of rows that nothing shortens is y less the coefficients of the mapped columns times x, over b."""
    rng = np.random.default_rng(5)
    own = linear(rng, radius=1e2, rho=2.0)
    own = replace(own, widths=((4.0,),))
    A = rows(rng)[1]
    found = map_of(own, DOMAIN, 4096).rotate(A)
    theta = own.linear(own.theta.floats)[:, 0]
    x, y = A[:, DOMAIN.indices(DESIGN)] / ONE, A[:, DOMAIN.indices(["y"])[0]] / ONE
    assert np.abs(found.E[0] / ONE * 4 - np.clip(y - x @ theta, -4, 4)).max() < 1e-3


def test_kept_rows_give_the_sums_of_the_table():
    rng = np.random.default_rng(6)
    frame_, _ = rows(rng, 3000)
    table = Table.of(pa.table(frame_), DOMAIN, 2)
    for kind in ("linear", "classes"):
        first = STAGES[kind](np.random.default_rng(7))
        other = Directions.rounded(rng.normal(size=(D + 1, len(first.outcomes))), bits=31, most=32)
        second = replace(first, theta=other)
        readings = Readings.of(table)
        assert readings.staged(first, gram=False) == staged(table, first, gram=False)
        assert readings.staged(second, gram=False) == staged(table, second, gram=False)
        kept = RotatedRows(first, DOMAIN)
        table.sums(StagePass(DOMAIN, first, False, kept))
        assert kept.holds(second)
        assert not kept.holds(replace(second, radius=3.0))
        assert not kept.holds(replace(second, design=(*DESIGN[:-2], DESIGN[-1], DESIGN[-2])))


def test_rows_of_a_pass_that_failed_are_not_kept(monkeypatch):
    rng = np.random.default_rng(11)
    own, table = linear(rng), Table.of(pa.table(rows(rng)[0]), DOMAIN, 1)
    readings = Readings.of(table)
    with monkeypatch.context() as patch:
        patch.setattr("discreet.data.passes.stages.PartialSums.of", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            readings.staged(own, gram=False)
    assert readings.staged(own, gram=False) == staged(table, own, gram=False)


def test_rows_are_not_kept_where_memory_is_short(monkeypatch):
    monkeypatch.setattr("discreet.data.passes.rotated.available", lambda: 1000)
    rng = np.random.default_rng(8)
    own, table = linear(rng), Table.of(pa.table(rows(rng)[0]), DOMAIN, 1)
    kept = RotatedRows(own, DOMAIN)
    table.sums(StagePass(DOMAIN, own, False, kept))
    assert not kept.holds(own)
    assert Readings.of(table).staged(own, gram=False) == staged(table, own, gram=False)
    with pytest.raises(TypeError, match="confidential"):
        kept.__reduce__()


@pytest.mark.parametrize("kind", STAGES)
def test_coordinates_are_written_and_read(kind):
    own = STAGES[kind](np.random.default_rng(9))
    assert coordinates_from_dict(own.to_dict()) == own


def test_random_directions_are_public():
    """They follow from their size and a seed alone, and spread every row over all of them."""
    assert np.array_equal(random_directions(600, 8, 1), random_directions(600, 8, 1))
    Q = random_directions(600, 8, 1)
    assert np.abs(Q).max() < 5 / math.sqrt(600)
    assert not np.array_equal(Q, random_directions(600, 8, 2))


BAD = {
    "a direction twice": lambda own: Shrinkage.rounded(np.ones((5, 2)) / math.sqrt(5), np.ones(2), 0.5),
    "a share above 1": lambda own: replace(own.shrinkage, shares=(1.5, 0.5, 0.5)),
    "one share too few": lambda own: replace(own.shrinkage, shares=(0.5, 0.5)),
    "no radius": lambda own: replace(own.shrinkage, radius=0.0),
    "axes that are not along the columns": lambda own: replace(own, P=Directions.rounded(np.eye(D + 1))),
    "a shifted constant": lambda own: replace(own, P=Directions.along_columns(np.ones(D + 1), np.ones(D + 1))),
    "directions of another length": lambda own: replace(
        own, shrinkage=Shrinkage.rounded(np.eye(5)[:, :2], np.ones(2), 0.5)
    ),
    "models along the columns": lambda own: replace(own, theta=replace(own.P)),
}


@pytest.mark.parametrize("case", BAD)
def test_what_has_no_proof_is_refused(case):
    own = linear(np.random.default_rng(10))
    with pytest.raises(ParameterError):
        BAD[case](own)
