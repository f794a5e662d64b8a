"""Domains: the short forms people write, what they mean, and every way to get them wrong."""

import datetime as dt
import itertools
import json
import math
import pickle
from decimal import Decimal

import numpy as np
import pytest

from discreet import Domain
from discreet.domain import CONSTANT
from discreet.domain.columns import parse_column
from discreet.domain.kinds.categorical import Categorical
from discreet.domain.kinds.numeric import Numeric, from_days, to_days
from discreet.errors import DomainError, NotReleasedError, ParameterError

INF, NAN = math.inf, math.nan
PEOPLE = {
    "age": (18, 90),
    "sex": ["F", "M"],
    "region": ["north", "south", "west"],
    "member": bool,
    "born": ("1920-01-01", "2010-12-31"),
    "income": {"low": 0, "high": 200_000, "unit": "EUR"},
}


@pytest.fixture
def people():
    return Domain(PEOPLE)


# ---------------------------------------------------------------- short forms


@pytest.mark.parametrize(
    ("spec", "column"),
    [
        ((18, 90), Numeric(18, 90)),
        ((np.float32(0.5), np.int64(2)), Numeric(0.5, 2)),
        ((Decimal("0.25"), 1), Numeric(0.25, 1)),
        ({"low": 0, "high": 1}, Numeric(0, 1)),
        ({"low": 0, "high": 1, "unit": "kg"}, Numeric(0, 1, "kg")),
        (Numeric(0, 1, "m"), Numeric(0, 1, "m")),
        (["F", "M"], Categorical(("F", "M"))),
        ([3, 1, 2], Categorical((3, 1, 2))),
        ({"levels": ["a", "b"]}, Categorical(("a", "b"))),
        ({"levels": ("a", "b")}, Categorical(("a", "b"))),
        (bool, Categorical((False, True))),
        ({"type": "bool"}, Categorical((False, True))),
        ([True, False], Categorical((True, False))),
        (("1970-01-01", "1970-01-11"), Numeric(0, 10, date=True)),
        ((dt.date(1970, 1, 1), dt.date(1970, 1, 11)), Numeric(0, 10, date=True)),
        ((dt.datetime(1970, 1, 1, 12), "1970-01-11"), Numeric(0.5, 10, date=True)),
        (("1970-01-01T00:00:00+02:00", "1970-01-11"), Numeric(-1 / 12, 10, date=True)),
        ({"low": "1970-01-01", "high": dt.date(1970, 1, 11), "unit": "days"}, Numeric(0, 10, "days", date=True)),
    ],
)
def test_short_forms(spec, column):
    assert Domain({"x": spec}).columns == {"x": column}


@pytest.mark.parametrize(
    "text", ["1900-02-28", "1970-01-01", "2024-02-29", "2038-01-19T03:14:07", "2020-01-01T00:00:00.5"]
)
def test_days_and_back(text):
    moment = dt.datetime.fromisoformat(text)
    assert dt.datetime.fromisoformat(from_days(to_days(text))) == moment
    assert to_days(moment) == to_days(text) == (moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)


# ---------------------------------------------------------------- bad bounds

BAD_COLUMNS = {
    "missing": (None, "no usable bounds"),
    "one number": (5, "no usable bounds"),
    "three numbers": ((1, 2, 3), "no usable bounds"),
    "one-sided, infinite": ({"low": INF}, "too large"),
    "one-sided, NaN": ({"high": NAN}, "NaN"),
    "of a type, with the bound of another": ({"type": "date", "low": 1}, "do not go together"),
    "empty mapping": ({}, "bounds are missing"),
    "unknown entry": ({"low": 0, "hihg": 1}, "unknown entry 'hihg'"),
    "inverted": ((2, 1), "must be below"),
    "equal": ((1, 1), "must be below"),
    "equal as floats": ((2**53, 2**53 + 1), "must be below"),
    "inverted dates": (("2020-01-01", "2019-01-01"), "must be below"),
    "NaN": ((NAN, 1), "NaN"),
    "NaN above": ((0, NAN), "NaN"),
    "infinite": ((0, INF), "infinite"),
    "minus infinite": ((-INF, 0), "infinite"),
    "beyond float": ((0, 10**400), "neither numbers"),
    "too large": ((0, 1e300), "too large"),
    "too close": ((1e16, 1e16 + 2), "too close"),
    "denormal": ((0, 5e-324), "too close"),
    "text": (("low", "high"), "neither numbers nor ISO dates"),
    "levels in a tuple": (("F", "M"), "neither numbers nor ISO dates"),
    "date and number": (("2020-01-01", 5), "neither numbers"),
    "date out of range": (("0001-01-01T00:00:00+14:00", "2020-01-01"), "neither numbers"),
    "complex": ((0, 1j), "neither numbers"),
    "unit": ({"low": 0, "high": 1, "unit": 5}, "unit must be text"),
    "no level": ([], "at least two"),
    "one level": (["a"], "at least two"),
    "duplicate levels": (["a", "b", "a"], "listed twice"),
    "set": ({"a", "b"}, "as a list"),
    "frozenset": (frozenset("ab"), "as a list"),
    "mixed levels": (["a", 1], "all text"),
    "number and bool": ([2, True], "all text"),
    "fractions as levels": ([0.5, 1.5], "all text"),
    "null level": ([None, None], "all text"),
    "nested levels": ([["a"], ["b"]], "all text"),
    "levels not a list": ({"levels": "ab"}, "must be a list"),
    "a level beyond 64 bits": ([0, 2**63], "64 bits"),
}


@pytest.mark.parametrize(("spec", "message"), BAD_COLUMNS.values(), ids=BAD_COLUMNS.keys())
def test_bad_bounds_name_the_column_and_the_remedy(spec, message):
    with pytest.raises(DomainError, match=message) as caught:
        Domain({"fine": (0, 1), "culprit": spec})
    assert "'culprit'" in str(caught.value)


BALL = dict.fromkeys("ab", (-INF, INF))
BAD_DOMAINS = {
    "nothing": ({}, {}, DomainError, "at least one column"),
    "not a mapping": ([("a", (0, 1))], {}, DomainError, "at least one column"),
    "no name": ({"": (0, 1)}, {}, DomainError, "cannot be the name"),
    "name of the constant": ({CONSTANT: (0, 1)}, {}, DomainError, "cannot be the name"),
    "same name as text": ({1: (0, 1), "1": (0, 2)}, {}, DomainError, "same name"),
    "a column named like a level": ({"c": ["a", "b"], "c[a]": (0, 1)}, {}, DomainError, "'c\\[a\\]'"),
    "missing": ({"a": (0, 1)}, {"missing": "fill"}, ParameterError, "missing must be"),
    "intercept": ({"a": (0, 1)}, {"intercept": "false"}, ParameterError, "intercept must be"),
    "ball columns without ball": ({"a": (0, 1)}, {"norm_columns": ["a"]}, DomainError, "needs data_norm"),
    "unknown ball column": (BALL, {"data_norm": 1, "norm_columns": ["z"]}, DomainError, "'z'"),
    "ball columns as text": (BALL, {"data_norm": 1, "norm_columns": "ab"}, DomainError, "list of column names"),
    "ball columns as number": (BALL, {"data_norm": 1, "norm_columns": 5}, DomainError, "list of column names"),
    "category in the ball": ({"c": ["a", "b"]}, {"data_norm": 1, "norm_columns": ["c"]}, DomainError, "is a category"),
    "unbounded outside the ball": (BALL, {"data_norm": 1, "norm_columns": ["a"]}, DomainError, "'b': a bound is inf"),
    "unbounded date in the ball": ({"a": Numeric(0, INF, date=True)}, {"data_norm": 1}, DomainError, "infinite"),
    "NaN in the ball": ({"a": (NAN, 1)}, {"data_norm": 1}, DomainError, "NaN"),
    "inverted in the ball": ({"a": (INF, -INF)}, {"data_norm": 1}, DomainError, "must be below"),
} | {
    f"data_norm {norm!r}": (BALL, {"data_norm": norm}, DomainError, "data_norm must be")
    for norm in (0, -1, NAN, INF, "1", True, 5e-324, 1e308)
}


@pytest.mark.parametrize(("columns", "options", "error", "message"), BAD_DOMAINS.values(), ids=BAD_DOMAINS.keys())
def test_bad_domains(columns, options, error, message):
    with pytest.raises(error, match=message):
        Domain(columns, **options)


BAD_ARRAYS = {
    "no bounds": ({}, "No bounds: give bounds_X.*data_norm"),
    "no bounds for y": ({"bounds_X": (0, 1), "bounds_y": None}, "No bounds: give bounds_y"),
    "one number": ({"bounds_X": 1}, "wrong shape"),
    "three numbers": ({"bounds_X": (0, 1, 2)}, "wrong shape"),
    "wrong length": ({"bounds_X": (0, [1, 2, 3])}, "wrong shape"),
    "two-dimensional": ({"bounds_X": ([[0, 0]] * 3, 1)}, "wrong shape"),
    "text": ({"bounds_X": ("a", "b")}, "not numeric"),
    "beyond float": ({"bounds_X": (0, 10**400)}, "not numeric"),
    "inverted": ({"bounds_X": (1, 0)}, "'x1': low = 1 must be below"),
    "one column inverted": ({"bounds_X": (0, [1, -1])}, "'x2': low"),
    "NaN": ({"bounds_X": (0, [1, NAN])}, "'x2': a bound is NaN"),
    "null": ({"bounds_X": (None, 1)}, "NaN"),
    "infinite": ({"bounds_X": (0, INF)}, "infinite"),
    "data_norm does not cover y": ({"data_norm": 1, "bounds_y": None}, "No bounds: give bounds_y"),
}


@pytest.mark.parametrize(("bounds", "message"), BAD_ARRAYS.values(), ids=BAD_ARRAYS.keys())
def test_bad_bounds_of_arrays(bounds, message):
    with pytest.raises(DomainError, match=message):
        Domain.from_bounds(["x1", "x2"], ["y"], **{"bounds_y": (0, 1)} | bounds)


@pytest.mark.parametrize(("features", "targets"), [(["a", "a"], ["y"]), (["a", "y"], ["y"]), (["a"], ["y", "y"])])
def test_duplicate_names_of_arrays(features, targets):
    with pytest.raises(DomainError, match="named twice"):
        Domain.from_bounds(features, targets, bounds_X=(0, 1), bounds_y=(0, 1))


def test_bounds_of_arrays():
    domain = Domain.from_bounds(np.array(["a", "b"]), ["y"], bounds_X=(0, [1, 2]), bounds_y=(-1, 1), intercept=False)
    assert domain == Domain({"a": (0, 1), "b": (0, 2), "y": (-1, 1)}, intercept=False)
    ball = Domain.from_bounds(["a", "b"], ["y"], data_norm=2, bounds_y=(-1, 1))
    assert ball == Domain(BALL | {"y": (-1, 1)}, data_norm=2, norm_columns=["a", "b"])


# ---------------------------------------------------------------- coordinates


def test_entries(people):
    names = [entry.name for entry in people.entries]
    levels = ["sex[F]", "sex[M]", "region[north]", "region[south]", "region[west]", "member[False]", "member[True]"]
    assert names == [CONSTANT, "age", *levels, "born", "income"]
    assert people.indices(["income", CONSTANT, "sex[M]"]) == [10, 0, 3]
    assert people.positions["region"] == [4, 5, 6]


def test_design_leaves_out_the_first_level():
    assert Domain(PEOPLE).design(["region", "age"]) == [0, 5, 6, 1]


def test_without_an_intercept_the_first_category_has_all_levels():
    domain = Domain(PEOPLE, intercept=False)
    assert domain.design(["region", "age"]) == [4, 5, 6, 1]
    assert domain.design(["region", "sex"]) == [4, 5, 6, 3]


@pytest.mark.parametrize(
    ("name", "place"), [("income", 10), ("age", 1), ("sex", 3), ("sex[F]", 2), ("member", 8), ("region[west]", 6)]
)
def test_target(people, name, place):
    assert people.target(name) == place


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("height", NotReleasedError, "'height' is not declared. Declared: age, sex"),
        (CONSTANT, NotReleasedError, "not declared"),
        ("region", ParameterError, "3 levels; name one level"),
    ],
)
def test_bad_target(people, name, error, message):
    with pytest.raises(error, match=message):
        people.target(name)


@pytest.mark.parametrize("method", ["select", "design", "require"])
@pytest.mark.parametrize(
    ("names", "message"), [(["age", "height"], "'height' is not"), (["age", "age"], "named twice")]
)
def test_bad_selections(people, method, names, message):
    with pytest.raises(DomainError, match=message):
        getattr(people, method)(names)


def test_select(people):
    chosen = Domain(PEOPLE, intercept=False, missing="drop").select(["income", "sex"])
    assert list(chosen.columns) == ["income", "sex"]
    assert (chosen.intercept, chosen.missing) == (False, "drop")
    assert chosen.columns["income"] == people.columns["income"]


def test_select_keeps_what_is_left_of_the_ball():
    domain = Domain(BALL | {"y": (0, 1)}, data_norm=2, norm_columns=["a", "b"])
    assert domain.select(["b", "y"]).norm_columns == ("b",)
    assert domain.select(["b", "y"]).data_norm == 2
    assert domain.select(["y"]) == Domain({"y": (0, 1)})


def test_exclusive_pairs(people):
    indices = people.indices(["age", "sex[F]", "sex[M]", "member[True]"])
    assert np.argwhere(people.exclusive(indices)).tolist() == [[1, 2], [2, 1]]


def test_maps_to_units():
    columns = {"a": (10, 30), "b": (-2, 8), "c": ["u", "v"], "n": (0, 1)}
    with_intercept = Domain(columns, data_norm=5, norm_columns=["n"])
    assert [with_intercept.map(name) for name in columns] == [(20, 10), (3, 5), (0, 1), (0, 5)]
    without = Domain(columns | {"m": (-9, 1)}, intercept=False)
    assert [without.map(name) for name in ("a", "b", "c", "n", "m")] == [(0, 30), (0, 8), (0, 1), (0, 1), (0, 9)]


def test_norms(people):
    assert people.norm_squared(range(11)) == 7
    assert people.norm_squared(people.indices(["sex[F]", "sex[M]", "age"])) == 2
    ball = Domain(BALL | {"y": (0, 1)}, data_norm=2, norm_columns=["a", "b"])
    assert 3 < ball.norm_squared(range(4)) < 3 + 1e-5
    assert ball.norm_squared([1]) == 1


# ---------------------------------------------------------------- identity and round trips

DOMAINS = {
    "people": Domain(PEOPLE),
    "no intercept": Domain({"a": (-1, 5)}, intercept=False, missing="drop"),
    "ball": Domain(BALL | {"y": (0, 1)}, data_norm=2.5, norm_columns=["b", "a"]),
    "ball with half a box": Domain({"a": (0, INF), "b": {"low": -INF, "high": 3, "unit": "kg"}}, data_norm=1),
    "ball with units": Domain({"a": Numeric(-INF, INF, "kg")}, data_norm=1),
    "ball and categories": Domain({"a": (0, 1), "c": ["u", "v"], "d": bool}, data_norm=1),
    "times": Domain({"t": ("2020-01-01T12:30:15", "2021-06-01")}),
    "whole numbers": Domain({"c": [3, 1, 2], "b": [True, False]}),
    "odd names": Domain({"ä b.c": (0, 1), 'say "hi"': ["", " "]}),
    "exact bounds": Domain({"a": (0.1, 1 / 3)}),
}
each_domain = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS.keys())


@each_domain
def test_round_trips(domain):
    facts = json.loads(json.dumps(domain.to_dict(), allow_nan=False))
    for copy in (Domain.from_dict(facts), pickle.loads(pickle.dumps(domain))):
        assert copy == domain
        assert hash(copy) == hash(domain)
        assert [type(x) for c in copy.columns.values() for x in getattr(c, "levels", ())] == [
            type(x) for c in domain.columns.values() for x in getattr(c, "levels", ())
        ]


@each_domain
def test_what_follows_from_the_facts_is_found_once_and_stays_out_of_pickles(domain):
    fresh = pickle.loads(pickle.dumps(domain))
    before = pickle.dumps(fresh)
    names = [entry.name for entry in fresh.entries]
    assert [fresh.column_of[name] for name in names] == [entry.column for entry in fresh.entries]
    maps = list(zip(fresh.centre.tolist(), fresh.half.tolist(), strict=True))
    assert maps == [fresh.map(entry.column) for entry in fresh.entries]
    for chosen in (tuple(names), tuple(names[:1]), ()):
        assert fresh.norms[chosen] == fresh.norm_squared(fresh.indices(chosen))
    with pytest.raises(ValueError, match="read-only"):
        fresh.half[0] = 2.0
    fresh.design(fresh.columns)
    fresh.exclusive(range(len(names)))
    assert fresh.norms is fresh.norms
    assert fresh.centre is fresh.centre
    assert pickle.dumps(fresh) == before
    assert (fresh, hash(fresh), repr(fresh)) == (domain, hash(domain), repr(domain))


@each_domain
def test_a_selection_is_the_domain_that_its_facts_make(domain):
    """Facts of a selection were checked with the domain, and are not checked again."""
    for size in range(1, len(domain.columns) + 1):
        for names in itertools.permutations(domain.columns, size) if size <= 2 else [list(domain.columns)[:size]]:
            chosen = domain.select(names)
            assert chosen == Domain.from_dict(chosen.to_dict())
            assert list(chosen.columns) == list(names)


def test_an_empty_selection_is_refused(people):
    with pytest.raises(DomainError, match="at least one column"):
        people.select([])


def test_every_domain_differs_from_the_others():
    assert len(set(DOMAINS.values())) == len(DOMAINS)
    assert DOMAINS["ball"] != DOMAINS["ball"].to_dict()


def test_the_order_of_columns_matters():
    """Encoded rows follow it, so moments of the two must not be added."""
    a, b = Domain({"x": (0, 1), "y": (0, 2)}), Domain({"y": (0, 2), "x": (0, 1)})
    assert a != b
    assert a.select(["y", "x"]) == b


def test_shown(people):
    assert repr(people).startswith("Domain({'age': (18, 90), 'sex': ['F', 'M']")
    assert "data_norm=2.5" in repr(DOMAINS["ball"])


def test_parse_column_names_the_column():
    with pytest.raises(DomainError, match="'height'"):
        parse_column("height", "tall")


def test_dates_are_shown_as_dates():
    domain = Domain({"born": ("1950-01-01", "2000-12-31"), "age": (18, 90)})
    assert repr(domain) == "Domain({'born': (1950-01-01, 2000-12-31), 'age': (18, 90)})"


@pytest.mark.parametrize("low", [3, 3.0, np.int64(3), np.float32(3), np.uint8(3), Decimal("3.0")])
def test_one_bound_may_be_any_number_that_both_may_be(low):
    assert Domain({"a": {"low": low}}) == Domain({"a": {"type": "number", "low": 3}})
    assert Domain({"a": (low, 9)}) == Domain({"a": (3, 9)})


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ((0, None), "a bound is None. One that nobody knows is left out"),
        ((None, None), "a bound is None. One that nobody knows is left out"),
        ({"low": None, "high": 5}, "a bound is None. One that nobody knows is left out"),
        ({"levels": "released"}, "levels must be a list. They are never searched for"),
    ],
)
def test_what_is_left_out_is_told(spec, words):
    with pytest.raises(DomainError, match=words):
        Domain({"a": spec})
