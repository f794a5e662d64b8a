"""Made-up tables: they fit the domain, come from nothing else, and are the same for the same seed."""

import datetime as dt

import pytest

from discreet import Domain, Moments
from discreet.errors import ParameterError
from discreet.planning.synthetic import synthetic

DOMAINS = {
    "mixed": Domain({"age": (18, 90), "born": ("1920-01-01", "2010-12-31"), "m": bool, "k": [1, 2, 3], "y": (0, 1e6)}),
    "categories alone": Domain({"a": ["x", "y"], "b": [1, 2]}),
    "a ball": Domain({"a": (-1, 1), "b": (-1, 1), "y": (0, 9)}, data_norm=1, norm_columns=["a", "b"]),
    "one of the same name": Domain({"y": (0, 1), "y'": (0, 1e-6)}),
    "without an intercept": Domain({"x": (-5, 5), "y": (0, 1e12)}, intercept=False),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_made_up_tables_fit_their_domain(name):
    domain = DOMAINS[name]
    table = synthetic(domain, 500)
    assert table.column_names == list(domain.inputs)
    assert Moments.from_source(table, domain).count == 500
    assert table.equals(synthetic(domain, 500))
    assert not table.equals(synthetic(domain, 500, seed=1))


def test_every_level_occurs_and_numbers_stay_within_bounds():
    table = synthetic(DOMAINS["mixed"], 9000).to_pydict()
    assert set(table["k"]) == {1, 2, 3}
    assert set(table["m"]) == {False, True}
    assert 18 <= min(table["age"]) < max(table["age"]) <= 90
    assert dt.date(1920, 1, 1) <= min(table["born"]) < max(table["born"]) <= dt.date(2010, 12, 31)


def test_rows_are_required():
    with pytest.raises(ParameterError, match="rows"):
        synthetic(DOMAINS["mixed"], None)


def test_columns_without_bounds_get_made_up_ones():
    domain = Domain({"a": "number", "b": {"high": -5}, "c": {"low": 1e12}, "d": "date", "e": {"low": "2001-01-01"}})
    table = synthetic(domain, 500)
    a, b, c = (table[name].to_numpy() for name in "abc")
    assert ((a >= 0) & (a <= 100)).all()
    assert ((b >= -105) & (b <= -5)).all()
    assert ((c >= 1e12) & (c <= 1e12 + 10_000)).all()
    assert min(table["d"].to_pylist()) >= dt.date(1970, 1, 1)
    assert min(table["e"].to_pylist()) >= dt.date(2001, 1, 1)
