"""All that is wrong with a schema or a table is told at once, with names that may have been meant."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain, DPLinearRegression, Moments
from discreet.errors import DataError, DiscreetError, DomainError

WRONG = {
    "age": ([30.0, 40.0], [30.0, "forty"], "'age'"),
    "income": ([1.0, 2.0], [1.0, None], "'income' has missing values"),
    "region": (["north", "south"], ["north", "west"], "'region' holds a category that is not declared"),
}
DOMAIN = Domain({"age": (18, 90), "income": (0, 9), "region": ["north", "south"]})


def message(action, error=DiscreetError):
    with pytest.raises(error) as caught:
        action()
    return str(caught.value)


def test_a_domain_tells_all():
    said = message(lambda: Domain({"a": (2, 1), "b": ["x"], "c": 5, "d": (0, 1)}, norm_columns=["a"]), DomainError)
    for words in ("4 problems", "'a': low = 2", "'b': a category needs", "'c': no usable", "norm_columns needs"):
        assert words in said
    assert "'d'" not in said


def test_a_schema_tells_all(tmp_path):
    (tmp_path / "t.toml").write_text('mising = "drop"\n[columns]\na = "FILL IN"\nb = { low = "FILL IN", high = 1 }\n')
    said = message(lambda: Domain.from_file(tmp_path / "t.toml"))
    for words in ("3 problems", "unknown entry 'mising'. Did you mean 'missing'?", "'a' still says", "'b' still says"):
        assert words in said


def test_names_tell_all():
    said = message(lambda: DOMAIN.select(["agee", "incme", "age", "age"]))
    for words in ("3 problems", "Did you mean 'age'?", "Did you mean 'income'?", "'age' is named twice"):
        assert words in said


def test_missing_columns_and_wrong_types_are_told_together(tmp_path):
    table = pa.table({"Age": [30.0], "income": ["much"], "region": [1.5]})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, table.to_pandas(), tmp_path / "t.parquet"):
        said = message(lambda source=source: Moments.from_source(source, DOMAIN), DataError)
        for words in ("'age' is declared but not in the data. Did you mean 'Age'?",):
            assert words in said
    for source in (table, tmp_path / "t.parquet"):
        said = message(lambda source=source: Moments.from_source(source, DOMAIN), DataError)
        assert "3 problems" in said
        assert "'income'" in said
        assert "'region'" in said


@pytest.mark.parametrize("kind", ["frame", "arrow", "csv", "xlsx"])
def test_values_of_all_columns_are_told_together(kind, tmp_path):
    frame = pd.DataFrame({name: wrong for name, (_, wrong, _) in WRONG.items()})
    words = [said for _, _, said in WRONG.values()]
    source = frame
    if kind == "arrow":
        source, words = pa.table({**frame, "age": [30.0, 40.0]}), words[1:]
    elif kind == "csv":
        source = tmp_path / "t.csv"
        frame.to_csv(source, index=False)
    elif kind == "xlsx":
        source = tmp_path / "t.xlsx"
        frame.to_excel(source, index=False)
    said = message(lambda: DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN).fit_source(source, "income"))
    assert all(one in said for one in words), said
    assert "west" not in said
    assert "forty" not in said


def test_problems_of_rows_far_apart_are_told_together(tmp_path):
    frame = pd.DataFrame({"age": [30.0] * 40_000, "income": 1.0, "region": "north"})
    frame.loc[0, "income"], frame.loc[39_999, "region"] = None, "west"
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=1_000)
    said = message(lambda: Moments.from_source(tmp_path / "t.parquet", DOMAIN, n_jobs=2))
    assert "2 problems" in said
    assert "'income' has missing" in said
    assert "'region' holds" in said


def test_a_rows_problem_is_told_without_the_remedy_that_does_not_help_there():
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN)
    model.fit_source(pd.DataFrame({"age": [30.0, 50.0], "income": [1.0, 2.0], "region": ["north", "south"]}), "income")
    said = message(lambda: model.predict(pd.DataFrame({"age": [None], "region": [None]})))
    assert "2 problems" in said
    assert "before you predict" in said
    assert "missing='drop'" not in said
    assert "\\n" not in said
