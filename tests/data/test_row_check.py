"""The custodian's own look at rows: counts equal those by hand, and what it refuses is what a fit refuses."""

import datetime as dt
import pickle
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet import DiscreetError, Domain, Moments
from discreet.cli import app
from discreet.data.row_check import CONFIDENTIAL, _ends, check_rows

SCHEMA = {"age": (18, 90), "sex": ["F", "M", "X"], "grade": [1, 2, 3], "born": ("1920-01-01", "2010-12-31")}


def people(rows: int = 400) -> pd.DataFrame:
    """People with codes, a level that is not declared, one that nobody has, and values beyond the bounds."""
    draw = np.random.default_rng(5)
    age = draw.integers(20, 95, rows).astype(float)
    age[:4], age[4:9] = -200, 999
    sex = draw.choice(["F", "M"], rows).astype(object)
    sex[:7] = "U"
    born = [dt.date(1900, 1, 1) + dt.timedelta(days=int(day)) for day in draw.integers(0, 40_000, rows)]
    return pd.DataFrame({"age": age, "sex": sex, "grade": draw.integers(1, 4, rows), "born": pd.to_datetime(born)})


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "xlsx"])
def test_counts_are_those_by_hand(kind, tmp_path):
    table = people()
    if kind == "csv":
        table.to_csv(source := tmp_path / "t.csv", index=False)
    elif kind == "xlsx":
        table.to_excel(source := tmp_path / "t.xlsx", index=False)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pandas(table), source := tmp_path / "t.parquet", row_group_size=37)
    else:
        source = table
    fit = check_rows(str(source) if kind != "frame" else pa.Table.from_pandas(table), Domain(SCHEMA))
    age, sex, grade, born = (fit.columns[name] for name in SCHEMA)
    assert fit.rows == age.rows == 400
    assert (age.below, age.above) == ((table.age < 18).sum(), (table.age > 90).sum())
    assert age.codes == {-200.0: 4, 999.0: 5}
    assert (sex.undeclared, sex.absent) == ({"U": 7}, ["X"])
    assert (grade.undeclared, grade.absent) == ({}, [])
    assert born.below == (table.born < "1920-01-01").sum()
    assert fit.refusals == ["sex: level 'U' in 7 rows, undeclared"]


def test_it_refuses_what_a_fit_refuses():
    good = people().assign(age=lambda t: t.age.clip(18, 90), sex="F")
    broken = {
        "level": good.assign(sex=["U", *good.sex[1:]]),
        "missing level": good.assign(sex=[None, *good.sex[1:]]),
        "missing number": good.assign(age=[np.nan, *good.age[1:]]),
        "infinite": good.assign(age=[np.inf, *good.age[1:]]),
        "no row": good[:0],
    }
    for missing in ("error", "drop"):
        domain = Domain(SCHEMA, missing=missing)
        assert check_rows(pa.Table.from_pandas(good), domain).refusals == []
        Moments.from_source(good, domain)
        for name, table in broken.items():
            rows = pa.Table.from_pandas(table)
            refused = bool(check_rows(rows, domain).refusals)
            assert refused == (missing == "error" or name in ("level", "infinite", "no row")), name
            if name == "no row":
                continue
            if refused:
                with pytest.raises(DiscreetError):
                    Moments.from_source(rows, domain)
            else:
                Moments.from_source(rows, domain)


def test_persons_and_weights():
    table = pa.table({"x": [0.0, 1, 2, 3, 4, 5], "id": [1, 1, 1, 2, 2, None], "w": [1.0, 9, -1, None, 2, 0]})
    domain = Domain({"x": (0, 9)}, person="id", rows_per_person=2, weights="w", largest_weight=5)
    fit = check_rows(table, domain)
    assert (fit.persons, fit.crowded, fit.most, fit.nobody) == (2, 1, 3, 1)
    assert (fit.heavy, fit.negative, fit.weightless) == (1, 1, 1)
    assert fit.refusals == ["id: 1 rows without a person", "w: 1 missing weights"]
    assert check_rows(table, domain.with_missing("drop")).refusals == []


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([0, 1, 2, 3] * 5, {}),
        ([0, 1] * 5, {}),
        ([7] * 9, {}),
        ([*range(20, 60), *[-999] * 3], {-999: 3}),
        ([*range(20, 60), *[-999] * 2], {}),
        ([*range(20, 60), *[-999.5] * 5], {}),
        ([*range(20, 60), *[-999] * 3, *[99999] * 4], {-999: 3, 99999: 4}),
        ([*range(20, 60), *[-99] * 3, *[-999] * 3], {-999: 3, -99: 3}),
        ([*range(20, 60), *[998] * 3, *[999] * 3], {998: 3, 999: 3}),
        ([*np.random.default_rng(1).lognormal(10, 1, 500)], {}),
    ],
)
def test_codes_are_whole_numbers_far_from_all_others(values, codes):
    fit = check_rows(pa.table({"x": np.array(values, dtype=float)}), Domain({"x": (0, 100)}))
    assert fit.columns["x"].codes == codes


def test_ends_of_batches_give_those_of_all():
    draw = random.Random(3)
    for _ in range(50):
        counts = {float(draw.randrange(500)): 1 for _ in range(200)}
        halves = [dict(list(counts.items())[k::2]) for k in (0, 1)]
        assert _ends({**_ends(halves[0]), **_ends(halves[1])}) == _ends(counts)


def test_nothing_leaks():
    fit = check_rows(pa.table({"x": [5.0, 1e6]}), Domain({"x": (0, 9)}))
    assert "confidential" in repr(fit)
    assert "1" not in repr(fit).replace("1 columns", "")
    with pytest.raises(TypeError, match="confidential"):
        pickle.dumps(fit)


def test_the_command(tmp_path):
    people().to_csv(data := tmp_path / "people.csv", index=False)
    schema = tmp_path / "people.toml"
    schema.write_text(
        "[columns]\nage = { low = 18, high = 90 }\nsex = { levels = ['F', 'M', 'X'] }\n"
        "grade = { levels = [1, 2, 3] }\nborn = { low = 1920-01-01, high = 2010-12-31 }\n"
    )
    run = CliRunner().invoke
    plain = run(app, ["schema", "check", str(schema), str(data)])
    assert plain.exit_code == 0
    for flags in (["--rows"], ["--confidential"]):
        alone = run(app, ["schema", "check", str(schema), str(data), *flags])
        assert "--rows --confidential" in str(alone.exception)
    found = run(app, ["schema", "check", str(schema), str(data), "--rows", "--confidential"])
    assert found.exit_code == 1
    assert CONFIDENTIAL.split(".")[0] in found.output
    assert "'U' in 7 rows" in found.output
    assert "-200 in 4" in found.output  # the table may be narrow
    assert "999" in found.output
    as_json = run(app, ["schema", "check", str(schema), str(data), "--rows", "--confidential", "--json"])
    assert '"rows": 400' in as_json.output
