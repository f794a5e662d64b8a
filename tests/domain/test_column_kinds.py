"""Kinds of columns: each says all that follows from it, and a new one is one class."""

import ast
import datetime as dt
import inspect
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, DPLinearRegression, Results, formula
from discreet.data.engines.pushdown import PushdownSource
from discreet.domain import columns
from discreet.domain.columns import COLUMN_KINDS, FORMS
from discreet.domain.kinds.base import Column
from discreet.domain.kinds.categorical import Categorical
from discreet.domain.kinds.numeric import Numeric
from discreet.domain.value_types import TEXT
from discreet.errors import DataError, ParameterError
from discreet.planning.synthetic import synthetic
from discreet.results.design import design_matrix
from discreet.results.report import report

STEPS = ("poor", "fair", "good")
EXAMPLES = {
    "number": Numeric(-2, 6, "kg"),
    "date": Numeric(0, 365, date=True),
    "text": Categorical(("a", "b", "c")),
    "whole": Categorical((0, 3)),
    "yes or no": Categorical((False, True)),
}


@dataclass(frozen=True)
class Ordinal(Numeric):
    """Levels in an order, a step apart: text in the data, one coordinate in a row."""

    steps: tuple[str, ...] = ()
    keys = frozenset({"steps"})
    forms = ()

    @classmethod
    def parse(cls, name, spec):
        steps = tuple(spec["steps"]) if isinstance(spec, dict) and "steps" in spec else None
        return steps and cls(0, len(steps) - 1, steps=steps)

    def facts(self):
        return {"steps": list(self.steps)}

    @property
    def entries(self):
        return TEXT

    def read(self, array, name):
        places = TEXT.places(array, self.steps)
        if places.null_count:
            raise DataError(f"Column {name!r} holds a step that is not declared.")
        return places.to_numpy(zero_copy_only=False).astype(float)

    def rounded(self, values, digits):
        return [self.steps[round(value)] for value in values.tolist()]

    def shown(self, value, shown):
        return self.steps[round(value)]


@pytest.fixture
def domain(monkeypatch):
    monkeypatch.setattr(columns, "COLUMN_KINDS", (*COLUMN_KINDS, Ordinal))
    return Domain({"health": {"steps": STEPS}, "age": (18, 90), "score": (0, 10)})


def test_a_new_kind_is_one_class(domain, tmp_path):
    assert [entry.name for entry in domain.entries] == ["(intercept)", "health", "age", "score"]
    assert Domain.from_dict(domain.to_dict()) == domain
    assert set(synthetic(domain, 100)["health"].to_pylist()) <= set(STEPS)
    draw = np.random.default_rng(0)
    codes, age = draw.integers(0, 3, 20_000), draw.uniform(18, 90, 20_000)
    table = pa.table({"health": [STEPS[i] for i in codes], "age": age, "score": 2.0 * codes + age / 30 + 1})
    model = DPLinearRegression(epsilon=2, delta=1e-6, domain=domain, random_state=0)
    results = model.fit(table.select(["health", "age"]), table["score"]).results_
    assert results.coefficients["health"] == pytest.approx(2.0, abs=0.1)
    assert "poor to good" in report(results)
    assert results.predict(pa.table({"health": ["good"], "age": [60.0]}))[0] == pytest.approx(7.0, abs=0.3)
    results.save(tmp_path / "fit.json", simulation=True)
    assert Results.load(tmp_path / "fit.json").certificate.domain == results.certificate.domain


def test_a_new_kind_is_part_of_formulas_and_refuses_what_is_not_declared(domain):
    model = formula("score ~ health * age + health^2", domain)
    assert model.domain.columns["health^2"].bounds == (0, 4)
    with pytest.raises(DataError, match="'health' holds a step"):
        DPLinearRegression(epsilon=1, delta=1e-6, domain=domain).fit(
            pa.table({"health": ["great"], "age": [60.0]}), pa.array([7.0])
        )


def test_a_database_does_not_sum_up_what_it_does_not_know(domain):
    with pytest.raises(ParameterError, match="'health' is another kind"):
        PushdownSource(None, domain)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_a_table_that_holds_the_regressors_alone_may_hold_dates(unit):
    domain = Domain({"born": ("1920-01-01", "2010-12-31"), "age": (0, 9)})
    born = pa.array([dt.datetime(1990, 1, 1)], pa.timestamp(unit))
    found = design_matrix(pa.table({"born": born, "age": [3.0]}), domain, ["born", "age"])
    assert found.tolist() == [[7305.0, 3.0]]
    assert design_matrix(pa.table({"born": born}), domain, ["born"]).tolist() == [[7305.0]]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_column_follows_from_its_facts(name):
    column = EXAMPLES[name]
    assert columns.parse_column("x", column.to_dict()) == column
    assert set(column.to_dict()) <= column.keys
    assert column.words[1]
    assert column.described(str)


@pytest.mark.parametrize("name", EXAMPLES)
def test_entries_are_read_back_as_values(name):
    column = EXAMPLES[name]
    values = column.at_shares(np.linspace(0, 0.99, 7))
    held = column.rounded(values, digits=12)
    read = column.read(column.entries.from_objects(held), "x")
    assert np.allclose(read, np.rint(values) if column.date else values)
    assert [column.rounded(read, digits=12)[0], *held[1:]] == held
    assert column.rounded(np.array(column.read(column.entries.from_objects(list(column.extremes)), "x")), 12) == [
        *column.extremes
    ]


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_range_is_mapped_into_one(name, centred):
    column = EXAMPLES[name]
    c, h = column.map(centred=centred)
    z = (np.array(column.range) - c) / h
    assert np.max(np.abs(z)) == pytest.approx(1)
    assert column.is_indicator == (column.bounds is None)
    assert len(column.coordinates("x")) == max(1, len(column.levels))


def test_every_kind_has_all_methods_and_is_asked_for():
    for kind in COLUMN_KINDS:
        assert issubclass(kind, Column)
        assert not inspect.isabstract(kind)
    assert list(FORMS) == ["number", "date", "category", "yes/no"]


def asks_for_a_kind(node):
    """Whether a call is an isinstance on a kind of column."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
        return False
    named = {inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)}
    return bool(named & {"Column", "Readable", "Identifier", *(kind.__name__ for kind in COLUMN_KINDS)})


def test_columns_are_asked_and_not_their_class():
    root = Path(inspect.getfile(columns)).parents[1]
    asking = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if any(map(asks_for_a_kind, ast.walk(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert asking == {"domain/columns.py"}
