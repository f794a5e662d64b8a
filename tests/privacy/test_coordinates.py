"""Private coordinates: u and e are functions of the row alone, bounded after rounding, and sums of them are exact."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from tables import encode

from discreet import Domain
from discreet.data.reading import Table
from discreet.data.stages import score_products, staged
from discreet.domain.coordinates import (
    MOST_EXPONENT,
    ROOM_BITS,
    CoordinateMap,
    Coordinates,
    Directions,
    _parts,
    scores,
)
from discreet.domain.encoding import ONE
from discreet.errors import DomainError, ParameterError
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import stage_block
from discreet.solve.axes import triangular

NEIGHBORS = ("add-remove", "replace-one")
ALL = ("gram", "cross", "squares", "inner", "meat")
TINY = 2.0**-MOST_EXPONENT


def table_of(d, m, *, intercept=True):
    """A domain of d numbers and m outcomes, and the names of its coordinates."""
    columns = {f"x{i}": (-1, 1) for i in range(d)} | {f"y{j}": (-1, 1) for j in range(m)}
    domain = Domain(columns, intercept=intercept)
    return domain, domain.design_names([f"x{i}" for i in range(d)]), [f"y{j}" for j in range(m)]


def random_stage(rng, d=3, m=1, q=None, radius=None, widths=None, intercept=True, row_norms=()):
    """A stage; edges between row norms are in units of its radius."""
    domain, design, outcomes = table_of(d, m, intercept=intercept)
    q = len(design) if q is None else q
    P = rng.normal(size=(len(design), q)) * np.exp(rng.normal(size=q))
    theta = rng.normal(size=(len(design), m)) / 3
    radius = math.exp(rng.normal()) if radius is None else radius
    widths = [[float(math.exp(rng.normal(-1)))] for _ in range(m)] if widths is None else widths
    return domain, Coordinates.rounded(design, outcomes, P, theta, radius, widths, [radius * e for e in row_norms])


def rotated(stage, domain, A):
    """u and e of encoded rows, a line each, in units of u and e."""
    found = CoordinateMap(stage, domain, max(len(A), 1)).rotate(A)
    return found.U.T / ONE, found.E.T / ONE


# ---------------------------------------------------------------- brute force against the stated sensitivities


def on_lattice(U, e):
    """The scores of rows."""
    return scores(U * ONE, e * ONE) / ONE


def moved(blocks, U, E, product=on_lattice):
    """What each row adds to the statistics, divided by the sd of the noise on each entry."""
    i, j = np.triu_indices(U.shape[1], k=1)

    def squared(S):
        return np.concatenate([S**2, math.sqrt(2) * S[:, i] * S[:, j]], axis=1)

    values = {
        "gram": lambda block: squared(U),
        "cross": lambda block: np.einsum("ri,rj->rij", U, E).reshape(len(U), -1),
        "squares": lambda block: E**2,
        "inner": lambda block: squared(U * (np.abs(E[:, [int(block.columns[0][1:])]]) < 1)),
        "meat": lambda block: squared(product(U, E[:, [int(block.columns[0][1:])]])),
    }
    return np.concatenate([values[block.statistic](block) / block.sd for block in blocks], axis=1)


def largest(blocks, neighbors, U, E):
    V = moved(blocks, U, E)
    if neighbors == "add-remove":
        return float(np.linalg.norm(V, axis=1).max())
    return max(float(np.linalg.norm(V - v, axis=1).max()) for v in V)


def corners(domain, rng, most=256):
    """Rows at the ends and in the middle of the bounds, and others."""
    names = list(domain.columns)
    grid = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=len(names))))
    grid = grid if len(grid) <= most else rng.permutation(grid)[:most]
    rows = np.concatenate([grid, rng.uniform(-1, 1, (most // 4, len(names)))])
    return rows


def searched(domain, stage, blocks, neighbors, rng, starts):
    """Rows that gradient ascent finds to change the statistics most, before anything is rounded."""
    d = len(stage.design) - (1 if domain.intercept else 0)
    m, P, theta = len(stage.outcomes), stage.P.floats, stage.theta.floats
    b = np.array([own[0] for own in stage.widths])
    people = 1 if neighbors == "add-remove" else 2

    def change(flat):
        rows = flat.reshape(people, d + m)
        x = np.column_stack([np.ones(people), rows[:, :d]]) if domain.intercept else rows[:, :d]
        z = x @ P
        length = np.maximum(np.linalg.norm(z, axis=1), stage.radius)[:, None]
        e = np.clip(stage.radius / length * (rows[:, d:] - x @ theta) / b, -1, 1)
        V = moved(blocks, z / length, e, np.multiply)
        return -float(np.sum((V[0] - V[1]) ** 2 if people == 2 else V[0] ** 2))

    size, given = people * (d + m), {"method": "L-BFGS-B", "options": {"maxiter": 25}}
    found = [minimize(change, rng.uniform(-1, 1, size), bounds=[(-1, 1)] * size, **given).x for _ in range(starts)]
    return np.concatenate([one.reshape(people, d + m) for one in found])


CASES = {
    "one outcome": {},
    "three outcomes": {"m": 3},
    "few coordinates": {"q": 2},
    "one coordinate": {"q": 1},
    "no intercept": {"intercept": False},
    "on the sphere": {"radius": 1e-6, "widths": [[1e-7]]},
    "on the sphere, three outcomes": {"m": 3, "radius": 1e-6, "widths": [[1e-7], [1e-6], [3e-7]]},
    "nothing shortened": {"radius": 1e6, "widths": [[0.5]]},
    "least radius": {"radius": TINY, "widths": [[2 * TINY]]},
}
SDS = [(1.0, 1.0, 1.0, 1.0), (1.0, 0.3, 2.0, 0.5), (3.0, 1.0, 0.5, 2.0), (0.2, 5.0, 1.0, 0.3)]


def blocks_of(stage, sds=(1.0, 1.0, 1.0, 1.0)):
    given = zip(ALL[:3], sds[:3], strict=True)
    found = [stage_block(stage, kind, () if kind == "gram" else stage.outcomes, sd) for kind, sd in given]
    return found + [stage_block(stage, kind, [name], sds[3]) for kind in ALL[3:] for name in stage.outcomes]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_no_rows_move_statistics_further_than_is_stated(case, seed, neighbors):
    rng = np.random.default_rng(seed)
    domain, stage = random_stage(rng, **case)
    sets = [[block] for block in blocks_of(stage)] + [blocks_of(stage, sds) for sds in SDS]
    rows = [corners(domain, rng)] + [searched(domain, stage, blocks, neighbors, rng, 2) for blocks in sets]
    U, E = rotated(stage, domain, encode(domain, dict(zip(domain.columns, np.concatenate(rows).T, strict=True))))
    for blocks in sets:
        claimed, change = sensitivity.mu(blocks, stage, neighbors), largest(blocks, neighbors, U, E)
        assert change <= claimed
        if len(blocks) == 1:
            assert claimed == pytest.approx(sensitivity.sensitivity(blocks[0], stage, neighbors) / blocks[0].sd)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("kind", ALL)
def test_each_stated_value_is_reached(kind, m, neighbors):
    """On the sphere every direction and every sign of the residuals can be had."""
    domain, design, outcomes = table_of(3, m, intercept=False)
    stage = Coordinates.rounded(design, outcomes, np.eye(3), np.zeros((3, m)), 1e-6, [[1e-9]] * m)
    x = [*np.eye(3), *-np.eye(3), [0.5, 0.5, 0.5]]
    rows = [(*a, *b) for a in x for b in itertools.product((-1.0, 0.0, 1.0), repeat=m)]
    U, E = rotated(stage, domain, encode(domain, dict(zip(domain.columns, np.array(rows).T, strict=True))))
    block, *_ = (block for block in blocks_of(stage) if block.statistic == kind)
    claimed, change = sensitivity.sensitivity(block, stage, neighbors), largest([block], neighbors, U, E)
    expected = {"gram": (1, math.sqrt(2)), "cross": (math.sqrt(m), 2 * math.sqrt(m)), "squares": (math.sqrt(m),) * 2}
    expected["inner"] = expected["meat"] = expected["gram"]
    assert claimed == pytest.approx(expected[kind][NEIGHBORS.index(neighbors)], rel=1e-5)
    assert change <= claimed <= change * (1 + 1e-5)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("sd", [0.05, 0.3, 0.7, 0.999, 1.001, 1.5, 4.0])
def test_the_joint_value_is_reached_at_the_best_angle(sd, m):
    domain, design, outcomes = table_of(2, m, intercept=False)
    stage = Coordinates.rounded(design, outcomes, np.eye(2), np.zeros((2, m)), 1e-6, [[1e-9]] * m)
    blocks = blocks_of(stage, (math.sqrt(2), sd * math.sqrt(m), 1.0, 1.0))[:2]
    angles = np.linspace(0, math.pi, 4001)
    rows = [(math.cos(a), math.sin(a), *([s] * m)) for a in angles for s in (-1.0, 1.0)]
    V = moved(blocks, *rotated(stage, domain, encode(domain, dict(zip(domain.columns, np.array(rows).T, strict=True)))))
    change, claimed = float(np.linalg.norm(V - V[0], axis=1).max()), sensitivity.mu(blocks, stage, "replace-one")
    assert change <= claimed <= change * (1 + 1e-5)
    a, b = 1.0, 2 / sd**2
    formula = a + b + b**2 / (4 * a) if b <= 2 * a else 2 * b
    assert claimed**2 == pytest.approx(formula, rel=1e-4)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_counts_of_residuals_move_by_one_or_two(neighbors):
    rng = np.random.default_rng(0)
    domain, stage = random_stage(rng, widths=[[0.01, 0.1, 0.3, 1.0]])
    rows = dict(zip(domain.columns, corners(domain, rng).T, strict=True))
    coordinate_map, A = CoordinateMap(stage, domain, 1), encode(domain, rows)
    own = np.array([coordinate_map.counts(coordinate_map.rotate(row[None]).V)[0] for row in A])
    assert (own.sum(axis=1) == 1).all()
    assert (own.sum(axis=0) > 0).all()
    change = largest_of_counts(own, neighbors)
    claimed = sensitivity.sensitivity(stage_block(stage, "counts", ["y0"]), stage, neighbors)
    assert change <= claimed <= change * (1 + 1e-9)


def largest_of_counts(own, neighbors):
    pairs = own if neighbors == "add-remove" else (own[:, None] - own[None]).reshape(-1, own.shape[1])
    return np.linalg.norm(pairs, axis=1).max()


EDGES = (1.0, 1.5, 2.0, 3.0)


def parts_of(stage, domain, A):
    """Which counts of row norms each row adds to, found row by row."""
    coordinate_map = CoordinateMap(stage, domain, 1)
    return np.array([coordinate_map.row_norms(coordinate_map.rotate(row[None]).row_norms) for row in A])


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("m", [1, 0], ids=["one outcome", "no outcome"])
def test_counts_of_row_norms_move_by_one_or_two(m, seed, neighbors):
    """Also where they are a release of their own, without outcomes: their cost is theirs alone."""
    rng = np.random.default_rng(seed)
    domain, stage = random_stage(rng, m=m, radius=1.0, row_norms=EDGES)
    own = parts_of(stage, domain, encode(domain, dict(zip(domain.columns, corners(domain, rng).T, strict=True))))
    assert (own.sum(axis=1) == 1).all()
    assert np.count_nonzero(own.sum(axis=0)) >= 3
    change = largest_of_counts(own, neighbors)
    claimed = sensitivity.sensitivity(stage_block(stage, "lengths"), stage, neighbors)
    assert change <= claimed <= change * (1 + 1e-9)
    assert claimed == pytest.approx(1 if neighbors == "add-remove" else math.sqrt(2), rel=1e-12)
    for sd in (0.2, 1.0, 30.0):
        mu = sensitivity.mu([stage_block(stage, "lengths", (), sd)], stage, neighbors)
        assert change / sd <= mu <= change / sd * (1 + 1e-9)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_row_norms_and_all_else_together_move_no_further_than_is_stated(case, neighbors):
    """A longer row may be in another part, and u and e may be the worst at once."""
    rng = np.random.default_rng(7)
    domain, stage = random_stage(rng, **case, row_norms=EDGES)
    others = [blocks_of(stage, sds) for sds in SDS]
    rows = [corners(domain, rng)] + [searched(domain, stage, blocks, neighbors, rng, 2) for blocks in others]
    A = encode(domain, dict(zip(domain.columns, np.concatenate(rows).T, strict=True)))
    L, (U, E) = parts_of(stage, domain, A), rotated(stage, domain, A)
    for blocks in others:
        for sd in (0.3, 3.0):
            V = np.column_stack([moved(blocks, U, E), L / sd])
            claimed = sensitivity.mu([stage_block(stage, "lengths", (), sd), *blocks], stage, neighbors)
            assert claimed**2 == pytest.approx(
                sensitivity.mu(blocks, stage, neighbors) ** 2 + (1 if neighbors == "add-remove" else 2) / sd**2
            )
            assert largest_of_counts(V, neighbors) <= claimed


def test_rows_on_an_edge_are_within_it():
    domain, design, outcomes = table_of(1, 1, intercept=False)
    stage = Coordinates.rounded(design, outcomes, [[4.0]], [[0.0]], 1.0, [[1.0]], [1.0, 2.0, 3.0])
    x = np.array([0.0, 0.25, 0.25 + 2.0**-20, -0.5, 0.5 + 2.0**-20, 0.75, -1.0])
    A = np.column_stack([np.ones(7), x, np.zeros(7)]) * ONE
    assert parts_of(stage, domain, A).argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2, 3]
    sums = read(pd.DataFrame({"x0": x, "y0": 0.0}), domain, stage)
    assert [int(c) >> 40 for c in sums.integers(stage_block(stage, "lengths"))[0]] == [2, 2, 2, 1]


def test_row_norms_are_those_of_a_stage_with_edges():
    domain, stage = random_stage(np.random.default_rng(0))
    with pytest.raises(ParameterError, match="edges"):
        stage_block(stage, "lengths")
    block = stage_block(random_stage(np.random.default_rng(0), row_norms=EDGES)[1], "lengths")
    for own in (block, stage_block(stage, "meat", ["y0"])):
        with pytest.raises(ValueError, match="only a stage"):
            sensitivity.sensitivity(own, domain)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_names_of_outcomes_do_not_matter(neighbors):
    """Not even those that coordinates have."""
    P, theta, widths = np.eye(2), np.zeros((2, 2)), [[1.0], [1.0]]
    plain, odd = (Coordinates.rounded(["a", "b"], names, P, theta, 1.0, widths) for names in (["y", "z"], ["u1", "u2"]))
    assert odd.axes == ("uu1", "uu2")
    for one, two in zip(blocks_of(plain), blocks_of(odd), strict=True):
        assert sensitivity.sensitivity(one, plain, neighbors) == sensitivity.sensitivity(two, odd, neighbors)
    assert odd.norms[("u1", "u2")] == 2.0
    with pytest.raises(ValueError, match="tuple"):
        odd.norms[("uu1",)]


# ---------------------------------------------------------------- a row by itself


STAGES = {
    "wide": {"d": 70, "m": 2, "widths": [[0.01, 0.1, 1.0], [0.5]], "row_norms": (1.0, 8.0, 16.0, 32.0)},
    "narrow": {"d": 3, "m": 1, "widths": [[0.01, 0.1]]},
    "no outcome": {"d": 5, "m": 0, "row_norms": EDGES},
    "sphere": {"d": 40, "m": 1, "radius": 1e-9, "widths": [[1e-10, 1e-9]], "row_norms": (1e9, 5e9, 1e10)},
}


def centred(d):
    """Axes along the columns, as those of a first stage: each centred and scaled, in no particular order."""
    rng = np.random.default_rng(d)
    P = np.diag(np.exp(rng.normal(size=d)))
    P[0, 1:] = rng.normal(size=d - 1)
    return P[:, [0, *(1 + rng.permutation(d - 1))]]


@pytest.mark.parametrize("shape", ["full", "triangle", "along the columns"])
@pytest.mark.parametrize("case", STAGES.values(), ids=STAGES.keys())
def test_a_row_is_the_same_wherever_it_stands(case, shape):
    """To the last bit: in any place of a batch of any length, in either memory order, and in arrays used before."""
    rng = np.random.default_rng(1)
    domain, stage = random_stage(rng, **case)
    if shape != "full":
        P, theta = triangular(stage.P.floats), stage.theta.floats
        if shape == "along the columns":
            P, theta = centred(len(P)), theta * (np.arange(len(theta)) == 0)[:, None]
        sizes = stage.radius, stage.widths, stage.row_norms
        stage = Coordinates.rounded(stage.design, stage.outcomes, P, theta, *sizes)
    A = np.rint(rng.uniform(-1, 1, (300, len(domain.entries))) * ONE)
    A[:, 0] = ONE

    def rows(coordinate_map, part):
        found = coordinate_map.rotate(part)
        products = [scores(found.U, e) for e in found.E]
        return np.concatenate([found.both, found.V, found.row_norms[None], *products]).T.copy()

    expected = np.concatenate([rows(CoordinateMap(stage, domain, 1), A[i : i + 1]) for i in range(len(A))])
    coordinate_map = CoordinateMap(stage, domain, 512)
    for order in ("C", "F"):
        B = np.asarray(A, order=order)
        for size in (1, 2, 3, 7, 8, 16, 31, 100, 257, 300):
            parts = [rows(coordinate_map, B[i : i + size]) for i in range(0, len(B), size)]
            assert np.array_equal(np.concatenate(parts), expected)
        for step in (2, 5):
            assert np.array_equal(rows(coordinate_map, B[::step]), expected[::step])
        assert np.array_equal(rows(coordinate_map, B[::-1]), expected[::-1])
    shuffled = rng.permutation(len(A))
    assert np.array_equal(rows(coordinate_map, A[shuffled]), expected[shuffled])


def test_parts_of_a_matrix_give_the_same_rows():
    """Zeros that are left out do not matter."""
    rng = np.random.default_rng(3)
    domain, stage = random_stage(rng, d=90, m=1)
    P = triangular(stage.P.floats)
    whole = Coordinates.rounded(stage.design, stage.outcomes, P, stage.theta.floats, 0.5, [[0.5]])
    coordinate_map = CoordinateMap(whole, domain, 64)
    assert len(coordinate_map._parts) > 1
    A = np.rint(rng.uniform(-1, 1, (64, len(domain.entries))) * ONE)
    found = coordinate_map.rotate(A).both.copy()
    coordinate_map._parts = [(slice(0, 92), slice(0, 92), _matrix(whole, domain))]
    assert np.array_equal(coordinate_map.rotate(A).both, found)


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_along_the_columns_need_no_matrix(intercept):
    rng = np.random.default_rng(4)
    domain, stage = random_stage(rng, d=20, m=1, intercept=intercept)
    d = len(stage.design)
    P, theta = (centred(d), 0.3 * np.eye(d)[:, :1]) if intercept else (np.diag(rng.normal(size=d)), np.zeros((d, 1)))
    A = np.rint(rng.uniform(-1, 1, (64, len(domain.entries))) * ONE)
    A[:, 0] = ONE
    for axes in (P, P[:, ::-1], P[:, :1], np.eye(d)):
        own = Coordinates.rounded(stage.design, stage.outcomes, axes, theta, 0.5, [[0.5]])
        coordinate_map = CoordinateMap(own, domain, 64)
        assert coordinate_map._alone is not None
        found = coordinate_map.rotate(A).both.copy()
        coordinate_map._alone, coordinate_map._parts = None, _parts(_matrix(own, domain))
        assert np.array_equal(coordinate_map.rotate(A).both, found)
    assert CoordinateMap(stage, domain, 64)._alone is None


def _matrix(stage, domain):
    W = np.zeros((len(stage.axes) + 1, len(domain.entries)))
    W[:-1, domain.indices(stage.design)] = stage.P.floats.T
    W[-1, domain.indices(stage.design)] = -stage.theta.floats[:, 0]
    W[-1, domain.indices(stage.outcomes)] = 1.0
    return W


@pytest.mark.parametrize("seed", range(3))
def test_products_are_exact(seed):
    """Z = P'x by fractions, with entries as large as they may be."""
    rng = np.random.default_rng(seed)
    domain, stage = random_stage(rng, d=20, m=2)
    A = np.rint(rng.uniform(-1, 1, (9, len(domain.entries))) * ONE)
    A[0], A[1] = ONE, -ONE
    signs = np.sign(stage.P.floats[:, 0])
    A[2, domain.indices(stage.design)] = signs * ONE
    coordinate_map = CoordinateMap(stage, domain, 9)
    whole = [(slice(0, 23), slice(0, 23), np.concatenate([W for _, _, W in coordinate_map._parts]))]
    Z = whole[0][2] @ A.T
    for row, z in zip(A, Z.T, strict=True):
        x = [Fraction(int(row[i])) for i in domain.indices(stage.design)]
        for j, (vector, p) in enumerate(zip(stage.P.integers, stage.P.exponents, strict=True)):
            assert Fraction(z[j]) == sum(q * a for q, a in zip(vector, x, strict=True)) / Fraction(2) ** p
        for j, (vector, t) in enumerate(zip(stage.theta.integers, stage.theta.exponents, strict=True)):
            y = Fraction(int(row[domain.indices(stage.outcomes)[j]]))
            model = sum(q * a for q, a in zip(vector, x, strict=True)) / Fraction(2) ** t
            assert Fraction(z[len(stage.axes) + j]) == y - model


@pytest.mark.parametrize("case", [*CASES.values(), *STAGES.values()], ids=[*CASES.keys(), *STAGES.keys()])
def test_u_and_e_are_what_the_formulas_say(case):
    """The nearest lattice points, by arithmetic of 60 digits; a tie may fall to either side."""
    rng = np.random.default_rng(5)
    domain, stage = random_stage(rng, **case)
    A = np.rint(rng.uniform(-1, 1, (20, len(domain.entries))) * ONE)
    A[:, 0] = ONE
    found = CoordinateMap(stage, domain, 20).rotate(A)
    with mpmath.workdps(60):
        for n, row in enumerate(A):
            x = [mpmath.mpf(int(row[i])) for i in domain.indices(stage.design)]
            z = [mpmath.fsum(p * a for p, a in zip(column, x, strict=True)) for column in stage.P.floats.T.tolist()]
            length = max(mpmath.sqrt(mpmath.fsum(a * a for a in z)), mpmath.mpf(stage.radius) * ONE)
            assert abs(length - found.row_norms[n]) <= 1e-14 * length
            w = mpmath.mpf(stage.radius) * ONE / length
            assert all(abs(a * ONE / length - b) <= 0.5 + 1e-6 for a, b in zip(z, found.U[:, n], strict=True))
            start = 0
            for j, own in enumerate(stage.widths):
                model = mpmath.fsum(t * a for t, a in zip(stage.theta.floats[:, j].tolist(), x, strict=True))
                v = w * (int(row[domain.indices(stage.outcomes)[j]]) - model)
                assert abs(v - found.V[j, n]) <= 1e-12 * abs(v)
                for k, b in enumerate(own):
                    e = max(-1, min(1, v / ONE / b)) * ONE
                    assert abs(e - found.E[start + k, n]) <= 0.5 + 1e-6
                start += len(own)


# ---------------------------------------------------------------- bounds after rounding


def adversarial(rng, d, q):
    """P of every size, columns of mixed sizes, columns that cancel or vanish, and radii from tiny to huge."""
    plain = rng.normal(size=(d, q))
    mixed = plain * 2.0 ** rng.integers(-100, 100, q)
    cancels = np.repeat(rng.normal(size=(d, 1)), q, axis=1) * (-1.0) ** np.arange(d)[:, None]
    for P in (plain, mixed, plain * 2.0**240, plain * 2.0**-240, cancels, np.eye(d, q), plain * (rng.random(q) < 0.5)):
        for radius in (TINY, 2.0**-20, 1.0, 2.0**20, 2.0**MOST_EXPONENT):
            yield P, radius


@pytest.mark.parametrize(("d", "q"), [(1, 1), (3, 2), (30, 31), (200, 150)])
def test_bounds_hold_after_rounding_whatever_the_stage(d, q):
    rng = np.random.default_rng(d)
    domain, design, outcomes = table_of(d, 1)
    A = np.concatenate(
        [
            np.rint(rng.uniform(-1, 1, (40, len(domain.entries))) * ONE),
            rng.choice([-ONE, 0.0, ONE], (40, len(domain.entries))),
            np.rint(rng.uniform(-2, 2, (10, len(domain.entries)))),
        ]
    )
    A[:, 0] = ONE
    for P, radius in adversarial(rng, len(design), q):
        b = float(np.clip(radius, 4 * TINY, 2.0**200)) / 4
        theta = rng.normal(size=(len(design), 1)) * 2.0 ** rng.integers(-30, 20)
        stage = Coordinates.rounded(design, outcomes, P, theta, radius, [[b, 2 * b]])
        with np.errstate(all="raise", under="ignore"):
            found = CoordinateMap(stage, domain, len(A)).rotate(A)
        assert np.isfinite(found.both).all()
        assert (found.both == np.rint(found.both)).all()
        assert (np.abs(found.both) <= ONE).all()
        assert (np.einsum("ij,ij->j", found.U, found.U) <= stage.norm_squared_lattice).all()
        assert stage.norms[stage.axes] <= (1 + 2.0**-20 * (math.sqrt(q) / 2 + 2)) ** 2
        for e in found.E:
            S = scores(found.U, e)
            assert (np.rint(S) == S).all()
            assert (np.abs(S) <= np.abs(found.U)).all()


def test_a_tiny_radius_puts_every_row_on_the_sphere():
    rng = np.random.default_rng(0)
    domain, stage = random_stage(rng, d=8, radius=TINY)
    A = np.rint(rng.uniform(-1, 1, (500, len(domain.entries))) * ONE)
    A[:, 0] = ONE
    U, _ = rotated(stage, domain, A)
    assert np.linalg.norm(U, axis=1) == pytest.approx(np.ones(500), abs=2e-6)


def test_a_row_of_nothing_stays_nothing():
    domain, design, outcomes = table_of(2, 1, intercept=False)
    for radius in (TINY, 1.0):
        stage = Coordinates.rounded(design, outcomes, np.eye(2), np.zeros((2, 1)), radius, [[1.0]])
        U, E = rotated(stage, domain, np.array([[ONE, 0, 0, 0.5 * ONE]]))
        assert U.tolist() == [[0.0, 0.0]]
        assert E.tolist() == [[0.5]]  # its weight is 1


def test_rows_that_rounding_pushed_out_would_be_set_to_0(monkeypatch):
    rng = np.random.default_rng(0)
    domain, stage = random_stage(rng, d=8, radius=TINY)
    monkeypatch.setattr(Coordinates, "norm_squared_lattice", (1 << 40) - (1 << 21))
    A = np.rint(rng.uniform(-1, 1, (50, len(domain.entries))) * ONE)
    U, _ = rotated(stage, domain, A)
    assert np.count_nonzero((U == 0).all(axis=1)) > 0


# ---------------------------------------------------------------- sums


def people(rng, n, d, m):
    x, y = rng.uniform(-1.2, 1.2, (n, d)), rng.uniform(-1.2, 1.2, (n, m))
    return pd.DataFrame({f"x{i}": x[:, i] for i in range(d)} | {f"y{j}": y[:, j] for j in range(m)})


def read(frame, domain, stage, n_jobs=1):
    return staged(Table.of(frame, domain, n_jobs), stage)


def read_score_products(frame, domain, stage, n_jobs=1):
    """Sums of scores at the narrowest half widths, which clip most residuals."""
    return score_products(Table.of(frame, domain, n_jobs), stage, [0] * len(stage.outcomes))


@pytest.mark.parametrize("read", [read, read_score_products])
@pytest.mark.parametrize("neighbors", ["add", "replace"])
@pytest.mark.parametrize("case", STAGES.values(), ids=STAGES.keys())
def test_one_row_changes_the_sums_by_its_own_products(case, neighbors, read):
    rng = np.random.default_rng(2)
    domain, stage = random_stage(rng, **case)
    d, m = case["d"], case["m"]
    frame, row, other = people(rng, 9000, d, m), people(rng, 1, d, m), people(rng, 1, d, m)
    place = 4321
    with_row = pd.concat([frame[:place], row, frame[place:]], ignore_index=True)
    assert read(with_row, domain, stage) == read(frame, domain, stage) + read(row, domain, stage)
    if neighbors == "replace":
        with_other = pd.concat([frame[:place], other, frame[place:]], ignore_index=True)
        assert read(with_other, domain, stage) + read(row, domain, stage) == read(with_row, domain, stage) + read(
            other, domain, stage
        )


@pytest.mark.parametrize("case", STAGES.values(), ids=STAGES.keys())
def test_sums_are_the_same_however_rows_are_read(case, tmp_path):
    rng = np.random.default_rng(3)
    domain, stage = random_stage(rng, **case)
    frame = people(rng, 20_000, case["d"], case["m"])
    expected, products = read(frame, domain, stage), read_score_products(frame, domain, stage)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=777)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    offers = {
        "threads": (frame, 3),
        "many threads": (frame, 7),
        "columns": (np.asfortranarray(frame), 2),
        "lines": (np.ascontiguousarray(frame), 2),
        "arrow": (pa.table(frame), 2),
        "parquet": (tmp_path / "rows.parquet", 2),
        "csv": (tmp_path / "rows.csv", 1),
        "shuffled": (frame.sample(frac=1, random_state=0), 2),
    }
    for name, (offer, jobs) in offers.items():
        assert read(offer, domain, stage, jobs) == expected, name
        assert read_score_products(offer, domain, stage, jobs) == products, name


def test_sums_are_those_of_python_integers():
    rng = np.random.default_rng(4)
    domain, stage = random_stage(rng, d=4, m=2, widths=[[0.05, 0.2, 0.9], [0.3]], radius=1.0, row_norms=EDGES)
    frame = people(rng, 3000, 4, 2)
    sums = read(frame, domain, stage)
    coordinate_map = CoordinateMap(stage, domain, len(frame))
    found = coordinate_map.rotate(encode(domain, {name: frame[name].to_numpy() for name in frame}))
    U, E = (part.astype(np.int64).astype(object) for part in (found.U, found.E))
    i, j = np.triu_indices(5, k=1)
    S = U @ U.T
    diagonal, upper = sums.integers(stage_block(stage, "gram"))
    assert diagonal.tolist() == np.diag(S).tolist()
    assert upper.tolist() == S[i, j].tolist()
    for chosen in itertools.product(range(3), range(1)):
        own = E[[chosen[0], 3]]
        for columns in (["y0", "y1"], ["y1", "y0"], ["y1"]):
            places = [stage.outcomes.index(name) for name in columns]
            (cross,) = sums.integers(stage_block(stage, "cross", columns), chosen)
            assert cross.tolist() == (U @ own[places].T).reshape(-1).tolist()
            (squares,) = sums.integers(stage_block(stage, "squares", columns), chosen)
            assert squares.tolist() == (own[places] ** 2).sum(axis=1).tolist()
        for name, e in zip(stage.outcomes, own, strict=True):
            S = np.array([[round(Fraction(a * b, 1 << 20)) for a, b in zip(u, e, strict=True)] for u in U], object)
            products = score_products(Table.of(frame, domain, 1), stage, chosen)
            diagonal, upper = products.integers(stage_block(stage, "meat", [name]))
            assert diagonal.tolist() == np.diag(S @ S.T).tolist()
            assert upper.tolist() == (S @ S.T)[i, j].tolist()
            with pytest.raises(ValueError, match="single outcome"):
                products.integers(stage_block(stage, "inner", [name]))
    sizes = np.abs(found.V[0]) / ONE
    expected = [((sizes > low) & (sizes <= high)).sum() for low, high in itertools.pairwise([-1, 0.05, 0.2, 0.9, 99])]
    (counts,) = sums.integers(stage_block(stage, "counts", ["y0"]))
    assert counts.tolist() == [int(c) << 40 for c in expected]
    Z = encode(domain, {name: frame[name].to_numpy() for name in frame})[:, domain.indices(stage.design)] / ONE
    squares = ((Z @ stage.P.floats) ** 2).sum(axis=1)
    outside = [np.count_nonzero(squares > edge**2) for edge in EDGES]
    (row_norms,) = sums.integers(stage_block(stage, "lengths"))
    assert row_norms.tolist() == [int(c) << 40 for c in -np.diff([3000, *outside, 0])]
    assert sums.count == 3000
    with pytest.raises(IndexError):
        sums.integers(stage_block(stage, "cross", ["y0"]), (3, 0))
    with pytest.raises(ValueError, match="no such"):
        sums.integers(stage_block(stage, "meat", ["y0"]), (0, 0))
    with pytest.raises(IndexError):
        score_products(Table.of(frame, domain, 1), stage, (3, 0))


@pytest.mark.parametrize("place", range(4))
def test_inner_rows_are_those_whose_residuals_are_not_clipped(place):
    rng = np.random.default_rng(11)
    domain, stage = random_stage(rng, m=1, widths=[[0.01, 0.1, 0.4, 3.0]])
    frame = pd.DataFrame({name: rng.uniform(-1, 1, 500) for name in domain.columns})
    found = CoordinateMap(stage, domain, 500).rotate(encode(domain, {name: frame[name].to_numpy() for name in frame}))
    inner = np.abs(found.E[place]) < ONE
    U = found.U.astype(np.int64).astype(object)[:, inner]
    assert 0 < inner.sum() < 500 or place > 1
    sums, block = score_products(Table.of(frame, domain, 1), stage, [place]), stage_block(stage, "inner", ["y0"])
    diagonal, upper = sums.integers(block)
    S = U @ U.T
    assert diagonal.tolist() == np.diag(S).tolist()
    assert upper.tolist() == S[np.triu_indices(len(S), k=1)].tolist()
    first = staged(Table.of(frame, domain, 1), stage, gram=False)
    whole = staged(Table.of(frame, domain, 1), stage)
    for kind in ("counts", "cross", "squares"):
        own = stage_block(stage, kind, ["y0"])
        assert all(map(np.array_equal, first.integers(own, [place]), whole.integers(own, [place])))
    with pytest.raises(ValueError, match="left out"):
        first.integers(stage_block(stage, "gram"))


def test_rows_that_lack_a_value_do_not_count():
    rng = np.random.default_rng(6)
    domain, stage = random_stage(rng, d=3, m=1, row_norms=EDGES)
    frame = people(rng, 500, 3, 1)
    holes = frame.copy()
    holes.loc[::7, "x1"], holes.loc[::11, "y0"] = np.nan, np.nan
    dropping = Domain(domain.columns, missing="drop")
    for sums in (read, read_score_products):
        assert sums(holes, dropping, stage) == sums(holes.dropna(), dropping, stage)
    assert read(holes.dropna(), domain, stage).count == len(holes.dropna())


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("read", [read, read_score_products])
def test_sums_are_confidential(read):
    import pickle

    rng = np.random.default_rng(0)
    domain, stage = random_stage(rng)
    sums = read(people(rng, 10, 3, 1), domain, stage)
    assert "confidential" in repr(sums)
    assert "10" not in repr(sums)
    with pytest.raises(TypeError, match="confidential"):
        pickle.dumps(sums)
    with pytest.raises(ParameterError, match="different"):
        sums + read(people(rng, 10, 3, 1), domain, random_stage(rng)[1])
    with pytest.raises(TypeError):
        sums + 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(sums)


BAD = {
    "one exponent too few": lambda: Directions(((1, 2), (3, 4)), (0,)),
    "another length": lambda: Directions(((1, 2), (3,)), (0, 0)),
    "a float": lambda: Directions(((1, 2.0),), (0,)),
    "a truth value": lambda: Directions(((1, True),), (0,)),
    "too large": lambda: Directions(((1 << ROOM_BITS, 1),), (0,)),
    "an exponent too large": lambda: Directions(((1, 2),), (MOST_EXPONENT + 1,)),
    "an exponent that is no number": lambda: Directions(((1, 2),), (0.5,)),
    "nan": lambda: Directions.rounded([[math.nan]]),
    "inf": lambda: Directions.rounded([[math.inf]]),
    "huge": lambda: Directions.rounded([[1e300]]),
    "overflow": lambda: Directions.rounded([[1e308]] * 10),
    "a vector": lambda: Directions.rounded([1.0]),
    "radius 0": lambda: stage_with(radius=0.0),
    "radius below 0": lambda: stage_with(radius=-1.0),
    "radius nan": lambda: stage_with(radius=math.nan),
    "radius inf": lambda: stage_with(radius=math.inf),
    "radius tiny": lambda: stage_with(radius=1e-300),
    "width 0": lambda: stage_with(widths=[[0.0]]),
    "width nan": lambda: stage_with(widths=[[math.nan]]),
    "width inf": lambda: stage_with(widths=[[1.0, math.inf]]),
    "widths fall": lambda: stage_with(widths=[[2.0, 1.0]]),
    "widths twice": lambda: stage_with(widths=[[1.0, 1.0]]),
    "no width": lambda: stage_with(widths=[[]]),
    "many widths": lambda: stage_with(widths=[np.arange(1.0, 66.0).tolist()]),
    "edges fall": lambda: stage_with(row_norms=[2.0, 1.0]),
    "edges twice": lambda: stage_with(row_norms=[2.0, 2.0]),
    "an edge below the radius": lambda: stage_with(row_norms=[0.999, 2.0]),
    "an edge of 0": lambda: stage_with(row_norms=[0.0]),
    "an edge nan": lambda: stage_with(row_norms=[math.nan]),
    "an edge inf": lambda: stage_with(row_norms=[1.0, math.inf]),
    "many edges": lambda: stage_with(row_norms=np.arange(1.0, 66.0)),
    "widths of two": lambda: stage_with(widths=[[1.0], [1.0]]),
    "huge model": lambda: stage_with(theta=[[1e10], [0.0]]),
    "no coordinates": lambda: stage_with(P=np.empty((2, 0))),
    "another design": lambda: stage_with(P=np.eye(3)),
    "a name twice": lambda: stage_with(design=["x0", "x0"]),
    "an outcome among the features": lambda: stage_with(design=["x0", "y0"]),
}


def stage_with(
    design=("(intercept)", "x0"), P=None, theta=((0.0,), (0.0,)), radius=1.0, widths=((1.0,),), row_norms=()
):
    return Coordinates.rounded(design, ["y0"], np.eye(2) if P is None else P, theta, radius, widths, row_norms)


@pytest.mark.parametrize("make", BAD.values(), ids=BAD.keys())
def test_stages_that_cannot_be_exact_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_stages_of_other_columns_are_refused():
    domain, _, _ = table_of(1, 1)
    for stage in (stage_with(design=["(intercept)", "z"]), stage_with(design=["(intercept)", "x1"])):
        with pytest.raises(DomainError, match="does not have"):
            CoordinateMap(stage, domain, 1)
    two = Domain({"x0": (0, 1), "c": ["a", "b", "c"]})
    levels = Coordinates.rounded(["x0", "c[b]"], ["c[c]"], np.eye(2), np.zeros((2, 1)), 1.0, [[1.0]])
    with pytest.raises(DomainError, match="outcome and feature"):
        CoordinateMap(levels, two, 1)


def test_rounding_keeps_what_it_can():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(100, 40)) * 2.0 ** rng.integers(-80, 80, 40)
    found = Directions.rounded(P)
    sizes = np.abs(P).sum(axis=0)
    assert (np.abs(found.floats - P).max(axis=0) <= sizes * 2.0**-31).all()
    assert Directions.rounded(found.floats) == found
    assert Directions.rounded(np.zeros((3, 2))).floats.tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize(("d", "q"), [(1, 1), (5, 5), (7, 3), (40, 40)])
def test_a_triangle_has_the_same_row_norms(d, q):
    P = np.random.default_rng(d).normal(size=(d, q))
    T = triangular(P)
    assert T.shape == P.shape
    assert pytest.approx(P @ P.T, abs=1e-10) == T @ T.T
    assert (np.tril(T, -1 - (d - q)) == 0).all()
