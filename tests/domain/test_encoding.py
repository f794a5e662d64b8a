"""Encoding: box first, then ball, then the nearest lattice point; and the norm bound holds in integers."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tables import encode, unit_rows

from discreet import Domain
from discreet.domain import LATTICE_BITS, encoding
from discreet.domain.columns import LARGEST
from discreet.domain.encoding import ONE, Encoder
from discreet.errors import DomainError

INF = math.inf
EXTREMES = [1e300, -1e300, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -5e-324, 2.2e-308, 0.0, -0.0]
STEP = 1 / ONE


def rows(domain, **columns):
    return unit_rows(domain, columns)[:, 1:].tolist()


# ---------------------------------------------------------------- the box


def test_box_is_centred_and_scaled():
    domain = Domain({"a": (10, 30)})
    assert rows(domain, a=[10.0, 30.0, 20.0, 25.0]) == [[-1], [1], [0], [0.5]]


def test_values_outside_are_moved_to_the_nearest_bound():
    domain = Domain({"a": (10, 30)})
    assert rows(domain, a=[9.0, 31.0, -1e308, 1e308]) == [[-1], [1], [-1], [1]]


def test_without_intercept_columns_are_scaled_but_not_centred():
    domain = Domain({"a": (10, 40), "b": (-8, 2)}, intercept=False)
    assert rows(domain, a=[40.0, 20.0, 0.0, 99.0], b=[-8.0, 0.0, 2.0, 99.0]) == [
        [1, -1],
        [0.5, 0],
        [0.25, 0.25],
        [1, 0.25],
    ]


def test_categories_are_one_hot_and_the_constant_is_one():
    domain = Domain({"c": ["u", "v", "w"], "b": bool})
    Z = unit_rows(domain, {"c": ["w", "u"], "b": [True, False]})
    assert Z.tolist() == [[1, 0, 0, 1, 0, 1], [1, 1, 0, 0, 1, 0]]


@pytest.mark.parametrize("bits", [2.0**-22, 2.0**-21 * 0.999, -(2.0**-21) * 0.999, 2.0**-21 * 1.001])
@pytest.mark.parametrize("at", [0.0, 0.25, -0.75, 12345 * STEP])
def test_rounding_is_to_the_nearest_lattice_point(at, bits):
    domain = Domain({"a": (-1, 1)})
    steps = round(bits / STEP)
    assert rows(domain, a=[at + bits]) == [[at + steps * STEP]]


def test_rounding_has_no_bias():
    """Truncation would be off by half a step on average; nearest rounding is off by at most half a step."""
    x = np.random.default_rng(1).uniform(-1, 1, 10_000)
    error = (np.ravel(rows(Domain({"a": (-1, 1)}), a=x)) - x) / STEP
    assert np.abs(error).max() <= 0.5
    assert abs(error.mean()) < 5 * math.sqrt(1 / 12 / len(x))


# ---------------------------------------------------------------- the ball


def test_only_a_ball_shortens_radially():
    domain = Domain.from_bounds(["a", "b"], data_norm=10.0)
    near = [[3.0, 4.0], [0.0, -10.0]]
    far = [[30.0, 40.0], [-3e200, 4e200], [6e299, 8e299], [12.0, 0.0]]
    Z = rows(domain, a=[x[0] for x in near + far], b=[x[1] for x in near + far])
    expected = [[0.3, 0.4], [0, -1], [0.6, 0.8], [-0.6, 0.8], [0.6, 0.8], [1, 0]]
    assert np.abs(np.array(Z) - expected).max() <= STEP


def test_box_first_then_ball():
    """(30, 1) is moved to (4, 1) by the box and then shortened along (4, 1), not along (30, 1)."""
    domain = Domain({"a": (-4, 4), "b": (-4, 4)}, data_norm=2.0)
    assert np.abs(np.array(rows(domain, a=[30.0], b=[1.0])) - np.array([4, 1]) / math.sqrt(17)).max() <= STEP


def test_the_ball_leaves_other_columns_alone():
    domain = Domain({"a": (-INF, INF), "y": (0, 10), "b": (-INF, INF)}, data_norm=1.0, norm_columns=["a", "b"])
    Z = np.array(rows(domain, a=[3.0], y=[10.0], b=[4.0]))
    assert np.abs(Z - [0.6, 1.0, 0.8]).max() <= STEP
    assert Z[0, 1] == 1


def test_rounding_can_leave_the_unit_ball_which_the_bound_allows_for():
    domain = Domain.from_bounds([f"x{i}" for i in range(30)], data_norm=1.0)
    X = np.random.default_rng(2).normal(size=(500, 30)) * 100
    q = encode(domain, dict(zip(domain.columns, X.T, strict=True)))[:, 1:]
    squares = (q**2).sum(axis=1)
    assert squares.max() > 1 << (2 * LATTICE_BITS)
    assert squares.max() <= domain.norm_squared_lattice(range(1, 31))
    assert squares.min() > (ONE - 4) ** 2


def on_the_edge(size, count=2000):
    """Rows outside the unit ball whose first entry, shortened, is half a step: the last bit of the norm decides it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(count, size)) * 10
    t = (np.floor(rng.uniform(0, 0.5, count) * ONE) + 0.5) / ONE
    X[:, 0] = t * np.sqrt((X[:, 1:] ** 2).sum(axis=1) / (1 - t**2))
    X[::7] *= 1e250
    return X


def encoded(X, order, rows_):
    domain = Domain.from_bounds([f"x{i}" for i in range(X.shape[1])], data_norm=1.0)
    encoder = Encoder(domain)
    A = encoder.empty(len(X), columnar=order == "F")
    A[:, 1:] = X
    for start in range(0, len(X), rows_):
        encoder.finish(A[start : start + rows_])
    return A.tolist()


@pytest.mark.parametrize(("order", "rows_"), [("C", 1), ("C", 50), ("F", 1), ("F", 50), ("F", 2000)])
def test_a_row_does_not_depend_on_memory_order_or_its_batch(order, rows_):
    """Otherwise arrays and Arrow columns would differ in the last bit now and then."""
    X = on_the_edge(20)
    assert encoded(X, order, rows_) == encoded(X, "C", 2000)


def test_shortening_does_not_depend_on_memory_order():
    Z = on_the_edge(20) * ONE
    shortened = encoding._onto_ball(Z)
    assert np.array_equal(shortened, encoding._onto_ball(np.asfortranarray(Z)))
    assert np.array_equal(shortened, np.concatenate([encoding._onto_ball(row[None]) for row in Z]))


def test_rows_on_the_edge_are_a_test(monkeypatch):
    """Norms whose last bits follow the memory order do change such rows."""

    def careless(self, A):
        norms = np.sqrt(encoding._row_squares(A[:, 1:]))
        A[:, 1:] *= (ONE / np.maximum(norms, ONE))[:, None]
        np.rint(A, out=A)

    monkeypatch.setattr(Encoder, "_shorten", careless)
    X = on_the_edge(20)
    assert encoded(X, "F", 2000) != encoded(X, "C", 2000)


# ---------------------------------------------------------------- the norm bound, in integers

reals = st.floats(allow_nan=False, allow_infinity=False, width=64)
values = st.one_of(st.sampled_from(EXTREMES), reals, st.floats(-3, 3))
edges = st.one_of(
    st.sampled_from([LARGEST, -LARGEST, 1e-280, 5e-324, 0.0, 1.0]), st.floats(-LARGEST, LARGEST), st.floats(-3, 3)
)


def usable(bounds):
    try:
        return Domain({"x": bounds}) is not None
    except DomainError:
        return False


bounds = st.tuples(edges, edges).map(sorted).map(tuple).filter(usable)


@st.composite
def boxes(draw):
    specs = draw(st.lists(bounds, min_size=1, max_size=4))
    ball = draw(st.none() | st.floats(1 / LARGEST, LARGEST) | st.sampled_from([1.0, 1e-3, 1e3]))
    columns = {f"x{i}": spec for i, spec in enumerate(specs)}
    options = {"intercept": draw(st.booleans())}
    if ball is not None:
        inside = draw(st.lists(st.sampled_from(list(columns)), min_size=1, unique=True))
        columns |= {name: (-INF, INF) for name in inside if draw(st.booleans())}
        options |= {"data_norm": ball, "norm_columns": inside}
    return columns, options


def integers_within(domain, X):
    """Whether all coordinates, and every subset up to two of them, keep the bound, in Python integers."""
    width = len(domain.entries)
    subsets = [list(range(width)), *([i] for i in range(width)), *([0, i] for i in range(1, width))]
    for z in encode(domain, dict(zip(domain.columns, X.T, strict=True))):
        q = [int(value) for value in z]
        assert q == z.tolist()
        for subset in subsets:
            assert sum(q[i] ** 2 for i in subset) <= domain.norm_squared_lattice(subset)


@settings(max_examples=150, deadline=None)
@given(boxes(), st.data())
@example(({"x0": (-INF, INF), "x1": (-INF, INF)}, {"data_norm": 1e-3, "norm_columns": ["x0", "x1"]}), None)
def test_norm_bound_holds_for_any_values(box, data):
    columns, options = box
    domain, size = Domain(columns, **options), len(columns)
    if data is None:
        X = [[1e305, 1e305], [1.7e308, -1.7e308], [5e-324, 1e300]]
    else:
        X = data.draw(st.lists(st.lists(values, min_size=size, max_size=size), min_size=1, max_size=5))
    corners = [[getattr(c, side) for c in domain.columns.values()] for side in ("low", "high")]
    corners = [corner for corner in corners if all(map(math.isfinite, corner))]
    with np.errstate(over="raise", invalid="raise"):
        integers_within(domain, np.array(X + corners, dtype=float))


@settings(max_examples=200)
@given(bounds)
@example((1e9, 1e9 + 2))
@example((-LARGEST, LARGEST))
@example((1 - 2.0**-28, 1.0))
def test_bounds_map_to_exactly_one(bounds):
    """The noise is fitted to coordinates of at most 1, so no domain may place its own bounds beyond."""
    assert rows(Domain({"a": bounds}), a=list(bounds)) == [[-1], [1]]


def test_bounds_beyond_floating_point_inside_a_tiny_ball():
    """Both mapped bounds overflow to the same side: values are moved to the largest number, not to infinity."""
    domain = Domain({"x": (-LARGEST, -1.8e13)}, intercept=False, data_norm=1 / LARGEST, norm_columns=["x"])
    assert encode(domain, {"x": np.array([1e300])})[:, 1].tolist() == [-ONE]
