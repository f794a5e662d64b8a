"""One fixture over every engine: the same sums to the last bit, the same fits, the same errors, and nothing told."""

import math

import numpy as np
import pyarrow as pa
import pytest
from offers import BAD_ROW, BALL, NUMBERS, PEOPLE, SECRET_LEVEL, SECRETS, people
from tables import full_text

from discreet import AdaSSP, Domain, DPLinearRegression, DPLogisticRegression, Moments, formula
from discreet.data.reading import Table
from discreet.data.stages import staged
from discreet.domain.coordinates import Coordinates
from discreet.errors import DataError, ParameterError
from discreet.privacy.events.coordinates import stage_block

pytestmark = pytest.mark.more

PROMISE = {"epsilon": 1, "delta": 1e-6, "random_state": 1}


@pytest.fixture(scope="module")
def everyone():
    return people()


def dropping(domain):
    return Domain.from_dict(domain.to_dict() | {"missing": "drop"})


def replaced(table, name, value, row=BAD_ROW):
    """The table with one value replaced."""
    values = table[name].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))


def saved(model, folder):
    """All that was released, as a file has it."""
    model.release_.save(folder / "it.json", overwrite=True, simulation=True)
    return (folder / "it.json").read_bytes()


def refused(source, domain):
    with pytest.raises(DataError) as caught:
        Moments.from_source(source, domain)
    assert not [secret for secret in SECRETS if secret in full_text(caught.value)]
    return str(caught.value)


def test_moments(engine, everyone):
    source = engine(everyone)
    for domain in (NUMBERS, BALL, PEOPLE):
        assert Moments.from_source(source, domain) == Moments.from_source(everyone, domain)
    assert Moments.from_source(source, PEOPLE, targets=["income"]) == Moments.from_source(
        everyone, PEOPLE, targets=["income"]
    )


def test_rows_that_lack_values_are_dropped(engine, everyone):
    table = everyone
    rng = np.random.default_rng(2)
    for name in PEOPLE.columns:
        holes = pa.array(table[name].to_pylist(), table[name].type, mask=rng.random(table.num_rows) < 0.03)
        table = table.set_column(table.column_names.index(name), name, holes)
    assert Moments.from_source(engine(table), dropping(PEOPLE)) == Moments.from_source(table, dropping(PEOPLE))


def test_fits(engine, everyone, tmp_path):
    """In stages, with their counts, lengths and score products; every release is the same, number by number."""
    for table, domain in ((everyone, PEOPLE), (everyone.slice(0, 3_000), dropping(NUMBERS))):
        source = engine(table)
        for estimator in (DPLinearRegression(**PROMISE, domain=domain), AdaSSP(**PROMISE, domain=domain)):
            there = saved(estimator.fit_source(source, "income"), tmp_path)
            assert there == saved(estimator.fit_source(table, "income"), tmp_path)


@pytest.mark.parametrize("text", ["log1p(income) ~ age + sex", "sex ~ age + income", "grade[2] ~ age"])
def test_made_outcomes_and_levels(engine, everyone, tmp_path, text):
    few = everyone.slice(0, 4_000)
    for domain in (PEOPLE, dropping(PEOPLE)):
        model = DPLinearRegression(**PROMISE, domain=domain)
        there = saved(model.fit_formula(text, engine(few)), tmp_path)
        assert len(model.release_.stages) > 1
        assert there == saved(model.fit_formula(text, few), tmp_path)


def test_row_norms_alone(engine, everyone):
    """A stage without outcomes and without U'U."""
    rng = np.random.default_rng(0)
    for table, domain in ((everyone, PEOPLE), (everyone.slice(0, 3_000), dropping(NUMBERS))):
        design = domain.design_names([name for name in domain.columns if name != "income"])
        q, edges = len(design), [0.7 * 2 ** (k / 4) for k in range(16)]
        P = np.triu(rng.normal(size=(q, q)))
        stage = Coordinates.rounded(design, [], P, np.empty((q, 0)), edges[0], [], edges)
        block = stage_block(stage, "lengths")
        (here,), (there,) = (
            staged(Table.of(source, domain, 1), stage, gram=False).integers(block) for source in (table, engine(table))
        )
        assert here.tolist() == there.tolist()
        assert sum(here > 0) > 3
        assert sum(here) == table.num_rows << 40


def test_several_outcomes_in_three_stages(engine, everyone, tmp_path):
    few, steps = everyone.slice(0, 4_000), []
    model = DPLinearRegression(**PROMISE, domain=PEOPLE, stages=3)
    there = saved(model.fit_source(engine(few), ["income", "score"], progress=steps.append), tmp_path)
    assert there == saved(model.fit_source(few, ["income", "score"]), tmp_path)
    assert steps.count(1.0) >= 5  # one for each pass
    assert all(0 <= step <= 1 for step in steps)


BAD = {
    "a level that is not declared": lambda table: replaced(table, "sex", SECRET_LEVEL),
    "a null": lambda table: replaced(table, "age", None),
    "NaN": lambda table: replaced(table, "score", math.nan),
    "infinity": lambda table: replaced(table, "score", math.inf),
    "two of them": lambda table: replaced(replaced(table, "age", None, row=5), "sex", SECRET_LEVEL),
    "no such column": lambda table: table.drop_columns("grade"),
    "text for numbers": lambda table: replaced(table.drop_columns("age"), "sex", SECRET_LEVEL).append_column(
        "age", pa.array(map(str, table["age"].to_pylist()))
    ),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_data_are_told_in_the_same_words(engine, bad, everyone, capfd):
    table = bad(everyone)
    here = refused(engine.plain(table), PEOPLE)
    assert sorted(refused(engine(table), PEOPLE).splitlines()) == sorted(here.splitlines())
    out, err = capfd.readouterr()
    assert not [secret for secret in SECRETS if secret in out + err]


def test_no_rows_and_few(engine):
    for rows in (1, 3):
        few = people(rows)
        assert Moments.from_source(engine(few), PEOPLE) == Moments.from_source(few, PEOPLE)


def test_methods_that_need_the_rows_say_so(engine, everyone):
    model = DPLogisticRegression(epsilon=1, delta=1e-6, domain=PEOPLE, random_state=1, stages=1)
    few = everyone.slice(0, 500)
    if engine.name in ("PostgreSQL", "S3", "DuckDB on S3"):  # which bring the rows here
        assert model.fit_source(engine(few), "sex").results_ is not None
        return
    with pytest.raises(DataError, match=r"needs the rows themselves.*leave them there"):
        model.fit_source(engine(few), "sex")


def test_persons_and_weights(engine, everyone, tmp_path):
    """Rows of a person lie in several parts; engines put them together, or refuse."""
    rng, few = np.random.default_rng(3), everyone.slice(0, 4_000)
    few = few.append_column("owner", pa.array([f"p{i}" for i in rng.integers(0, 900, 4_000)]))
    few = few.append_column("weight", pa.array(rng.uniform(0, 3, 4_000)))
    weighted = Domain.from_dict(PEOPLE.to_dict() | {"weights": "weight", "largest_weight": 2.0})
    persons = Domain.from_dict(weighted.to_dict() | {"person": "owner", "rows_per_person": 3})
    within = formula("income ~ age + sex | owner", persons).domain
    source = engine(few)
    for domain in (weighted, persons, within):
        model = DPLinearRegression(**PROMISE, domain=domain, covariance="robust")
        if engine.name == "pushdown":
            with pytest.raises(ParameterError, match=r"persons and weights.*leave out pushdown"):
                model.fit_source(source, "income")
        elif domain is not weighted and engine.name in ("processes", "delayed"):
            with pytest.raises(DataError, match="does not divide rows by person"):
                model.fit_source(source, "income")
        else:
            there = saved(model.fit_source(source, "income"), tmp_path)
            assert there == saved(model.fit_source(few, "income"), tmp_path)
