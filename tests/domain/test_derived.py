"""Derived columns: bounds that follow from the factors', coordinates that are never redundant, files that keep them."""

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import unit_rows

from discreet import Domain, DPLinearRegression, Moments, PrivateMoments, formula, release
from discreet.domain.derived import product
from discreet.domain.encoding import ONE
from discreet.domain.kinds.base import Factor
from discreet.domain.kinds.categorical import Categorical
from discreet.domain.kinds.numeric import Numeric
from discreet.errors import DataError, DomainError

BASE = Domain(
    {
        "age": {"low": 18, "high": 90, "unit": "year"},
        "x": (-3, 2),
        "c": ["a", "b", "c"],
        "e": bool,
        "born": ("1970-01-01", "1970-01-11"),
        "y": {"low": 0, "high": 10, "unit": "EUR"},
    }
)


def column(term, domain=BASE):
    (name,) = formula(f"y ~ {term}", domain).features
    return formula(f"y ~ {term}", domain).domain.columns[name]


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    ("term", "low", "high"),
    [
        ("age^2", 324, 8100),
        ("x^2", 0, 9),
        ("x^3", -27, 8),
        ("x:age", -270, 180),
        ("x^2:age", 0, 810),
        ("x^3:age^2", -27 * 8100, 8 * 8100),
        ("age:born", 0, 900),
    ],
)
def test_bounds_follow_from_the_factors(term, low, high):
    assert (column(term).low, column(term).high) == (low, high)


bounds = st.tuples(st.floats(-100, 100), st.floats(0.01, 100)).map(lambda t: (t[0], t[0] + t[1]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(bounds, st.integers(1, 4)), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_values_lie_in_the_bounds_and_reach_them(numbers, random):
    domain = Domain({f"x{i}": b for i, (b, _) in enumerate(numbers)} | {"y": (0, 1)})
    term = ":".join(f"x{i}^{power}" for i, (_, power) in enumerate(numbers))
    try:
        made = formula(f"y ~ {term}", domain)
    except DomainError:  # a range too narrow for floating point
        return
    (name,) = made.features
    spec, options = made.domain.columns[name], []
    for low, high in (b for b, _ in numbers):
        options.append([low, high, min(max(0.0, low), high), random.uniform(low, high)])
    rows = list(itertools.product(*options))
    values = [math.prod(x**p for x, (_, p) in zip(row, numbers, strict=True)) for row in rows]
    slack = 1e-9 * max(abs(spec.low), abs(spec.high))
    assert spec.low - slack <= min(values) <= spec.low + slack
    assert spec.high - slack <= max(values) <= spec.high + slack


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), st.booleans())
def test_no_row_is_longer_than_its_bound(values, intercept):
    """Whatever the values are: far outside, tiny, huge."""
    terms = "x + age + x:age + x^3:age^2 + x:c" + (" + c:e" if intercept else "")
    domain = formula(f"y ~ {terms}", Domain.from_dict(BASE.to_dict() | {"intercept": intercept})).domain
    table = pa.table({"x": values, "age": values[::-1], "c": ["a", "b", "c"], "e": [True] * 3, "y": values})
    Z = unit_rows(domain, table)
    assert np.abs(Z).max() <= 1
    assert (Z**2).sum(axis=1).max() <= domain.norm_squared(range(len(domain.entries)))


def test_factors_are_clipped_before_they_are_multiplied():
    domain = formula("y ~ x:age", BASE).domain
    Z = unit_rows(domain, {"x": [50.0, -50.0], "age": [20.0, 1e9], "y": [0.0, 0.0]})
    assert (225 * Z[:, 1] - 45).tolist() == pytest.approx([2 * 20, -3 * 90], abs=1e-3)


def test_a_number_by_level_is_zero_but_for_its_own_level():
    domain = formula("y ~ x:c", BASE).domain
    Z = unit_rows(domain, {"x": [2.0, -3.0], "c": ["b", "c"], "y": [0.0, 0.0]})
    assert Z[:, 1:4].tolist() == [[0, round(2 / 3 * ONE) / ONE, 0], [0, 0, -1]]
    assert domain.map("x:c") == (0.0, 3.0)


def one_row():
    born = pa.array([5], pa.date32())
    return pa.table({"age": [20.0], "x": [1.0], "c": ["a"], "e": [True], "y": [1.0], "born": born})


def test_units():
    domain = formula("y ~ age^2 + age:x + c:age + born:age + c:e", BASE).domain
    results = release(Moments.from_source(one_row(), domain), epsilon=1, delta=1e-5).fit("y")
    assert results.unit("age^2") == "EUR/year^2"
    assert results.unit("age:x") == results.unit("c:age[b]") == "EUR/year"
    assert results.unit("born:age") == "EUR/(day*year)"
    assert results.unit("c:e[a:True]") == results.unit("(intercept)") == "EUR"


# ---------------------------------------------------------------- bad specifications

A, C = Factor("a", Numeric(0, 1)), Factor("c", Categorical(("u", "v")))
BAD = {
    "nothing": ([], "two factors or more"),
    "one factor": ([A], "two factors or more"),
    "twice": ([A, A], "stands twice"),
    "power 0": ([Factor("a", Numeric(0, 1), 0), C], "powers are whole numbers"),
    "power 10": ([Factor("a", Numeric(0, 1), 10)], "powers are whole numbers"),
    "broken power": ([Factor("a", Numeric(0, 1), 1.5)], "powers are whole numbers"),
    "power of a category": ([Factor("c", C.spec, 2), A], "has no powers"),
    "derived factor": ([Factor("a^2", product("a^2", [Factor("a", Numeric(0, 1), 2)])), C], "itself derived"),
    "bad bounds": ([Factor("a", Numeric(1, 0)), C], "must be below"),
    "infinite bounds": ([Factor("a", Numeric(0, math.inf)), C], "infinite"),
}


@pytest.mark.parametrize(("factors", "message"), BAD.values(), ids=BAD.keys())
def test_bad_products(factors, message):
    with pytest.raises(DomainError, match=message):
        product("p", factors)


def test_bounds_beyond_floating_point():
    huge = Domain({"a": (0, 1e250), "b": (0, 1e9), "c": ["u", "v"], "y": (0, 1)})
    for term in ("a^3", "a:c:b^9", "a:b^9"):
        with pytest.raises(DomainError, match=r"too large|infinite"):
            formula(f"y ~ {term}", huge)


def test_levels_that_would_look_the_same():
    with pytest.raises(DomainError, match="listed twice"):
        formula("y ~ c:e", Domain({"c": ["a:b", "a"], "e": ["c", "b:c"], "y": (0, 1)}))


def test_a_factor_declared_in_two_ways():
    facts = formula("y ~ x:age", BASE).domain.to_dict()
    facts["columns"]["age"] = {"levels": [1, 2]}
    with pytest.raises(DomainError, match="declared in two ways"):
        Domain.from_dict(facts)
    with pytest.raises(DomainError, match="norm_columns names"):
        Domain(formula("y ~ x + x:age", BASE).domain.columns, data_norm=1, norm_columns=["x:age"])


def test_arrays_have_no_names():
    with pytest.raises(DataError, match="need named columns"):
        Moments.from_source(np.zeros((2, 3)), formula("y ~ x:age", BASE).domain)


# ---------------------------------------------------------------- which coordinates a model has

MODELS = {
    "x:c": "x:c[a] x:c[b] x:c[c]",
    "x + x:c": "x x:c[b] x:c[c]",
    "x:c + x": "x:c[b] x:c[c] x",
    "c:e": "c:e[a:True] c:e[b:False] c:e[b:True] c:e[c:False] c:e[c:True]",
    "c + c:e": "c[b] c[c] c:e[a:True] c:e[b:True] c:e[c:True]",
    "c*e": "c[b] c[c] e[True] c:e[b:True] c:e[c:True]",
    "x*c": "x c[b] c[c] x:c[b] x:c[c]",
    "x:c:e + x:e": "x:c:e[b:False] x:c:e[b:True] x:c:e[c:False] x:c:e[c:True] x:e[False] x:e[True]",
    "x^2:c + x:c": "x^2:c[a] x^2:c[b] x^2:c[c] x:c[a] x:c[b] x:c[c]",
}


@pytest.mark.parametrize(("terms", "names"), MODELS.items())
def test_design(terms, names):
    model = formula(f"y ~ {terms}", BASE)
    design = [model.domain.entries[i].name for i in model.domain.design(model.features)]
    assert design == ["(intercept)", *names.split()]


@pytest.mark.parametrize("terms", [*MODELS, "x*c*e", "c*e + x:c", "x:c + x:e", "c:e + x:c:e + x^2:e", "x*age*c*e"])
def test_no_coordinate_is_redundant_and_none_is_missing(terms):
    model = formula(f"y ~ {terms}", BASE)
    rng = np.random.default_rng(0)
    n = 400
    table = {"x": rng.uniform(-3, 2, n), "age": rng.uniform(18, 90, n), "c": rng.choice(list("abc"), n)}
    table |= {"e": rng.random(n) < 0.5, "y": rng.uniform(0, 10, n)}
    Z = unit_rows(model.domain, table)
    every = [0, *(i for name in model.features for i in model.domain.positions[name])]
    design = model.domain.design(model.features)
    assert np.linalg.matrix_rank(Z[:, design], tol=1e-3) == len(design) == np.linalg.matrix_rank(Z[:, every], tol=1e-3)


def test_exclusive_pairs_share_a_category():
    domain = formula("y ~ c + x:c + c:e", BASE).domain
    places = domain.indices(["c[a]", "c[b]", "x:c[a]", "c:e[a:True]", "c:e[b:True]", "c:e[b:False]"])
    pairs = {(i, j) for i, j in np.argwhere(domain.exclusive(places)).tolist() if i < j}
    assert pairs == {(0, 1), (0, 4), (0, 5), (1, 2), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)}
    n = 200
    rng = np.random.default_rng(1)
    table = {"x": rng.uniform(-3, 2, n), "c": rng.choice(list("abc"), n), "e": rng.random(n) < 0.5, "y": np.zeros(n)}
    Z = unit_rows(domain, table)[:, places]
    assert not (Z.T @ Z)[domain.exclusive(places)].any()


def test_a_column_derived_from_the_outcome_is_no_feature():
    moments = Moments.from_source(one_row(), formula("~ x + age + x:y", BASE).domain)
    released = release(moments, epsilon=1, delta=1e-5)
    assert released.fit("x").names == ("age",)
    with pytest.raises(KeyError, match="cannot be outcome and feature at once, as in 'x:y'"):
        released.fit("x", ["x:y"])


def test_the_bounds_of_a_derived_outcome_are_not_narrowed(tmp_path):
    """They follow from those of its factors, in files too."""
    domain = formula("~ x + age^2", BASE).domain
    model = DPLinearRegression(epsilon=9, delta=1e-5, domain=domain).fit_source(one_row(), "age^2")
    assert model.certificate_.declared is None
    model.release_.save(tmp_path / "r.json")
    assert (
        PrivateMoments.load(tmp_path / "r.json").fit("age^2").coefficients == model.release_.fit("age^2").coefficients
    )


# ---------------------------------------------------------------- in and out of files

WIDE = formula("y ~ x + c + x:age^2 + c:e + born:c + age:x:c", BASE).domain


def test_domains_round_trip():
    again = Domain.from_dict(json.loads(json.dumps(WIDE.to_dict())))
    assert again == WIDE
    assert hash(again) == hash(WIDE)
    assert again.inputs == WIDE.inputs
    assert WIDE.select(["c:e"]).inputs.keys() == {"c", "e"}


def test_releases_and_moments_round_trip(tmp_path):
    moments = Moments.from_source(one_row(), WIDE)
    moments.save(tmp_path / "m")
    assert Moments.load(tmp_path / "m") == moments
    released = release(moments, epsilon=1, delta=1e-5, targets=["y"])
    released.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["format_version"] == 2
    again = PrivateMoments.load(tmp_path / "r.json")
    assert again == released
    assert all(finding.ok for finding in again.certificate.check())
    plain = release(Moments.from_source(one_row(), BASE), epsilon=1, delta=1e-5)
    plain.save(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["format_version"] == 1


@pytest.mark.parametrize(
    "spec",
    [
        {"product": []},
        {"product": 5},
        {"product": ["x"]},
        {"product": [{"low": 0, "high": 1}]},
        {"product": [{"column": "x", "low": 0, "high": 1}], "low": 0},
        {"product": [{"column": "x", "low": 0, "high": 1, "power": "2"}]},
        {"product": [{"column": "x", "power": 2}]},
        {"product": [{"column": "x", "product": [{"column": "x", "low": 0, "high": 1, "power": 2}]}]},
    ],
)
def test_bad_products_in_files(spec):
    with pytest.raises(DomainError, match=r"'p'|'x'"):
        Domain.from_dict({"columns": {"p": spec}})
