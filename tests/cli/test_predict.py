"""`discreet predict`: the predictions of a model for the rows of a file, as the model itself makes them."""

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLogisticRegression, PrivateMoments, Results

ROWS = 3_000
DOMAIN = {"age": (18, 90), "region": ["north", "south", "west"], "income": (0, 10_000), "visits": (0, 9), "vote": bool}
SCHEMA = """\
[columns]
age    = { low = 18, high = 90 }
region = { levels = ["north", "south", "west"] }
income = { low = 0, high = 10000 }
visits = { low = 0, high = 9 }
vote   = { type = "bool" }
"""
PROMISE = ["--epsilon", 4, "--delta", 1e-6]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age, region = rng.uniform(18, 90, ROWS), rng.choice(["north", "south", "west"], ROWS)
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            "income": 1_000 + 50 * age + 800 * (region == "west") + rng.normal(0, 400, ROWS),
            "visits": rng.poisson(np.exp(age / 90)).clip(0, 9),
            "vote": rng.random(ROWS) < 1 / (1 + np.exp(-(age - 50) / 9)),
        }
    )


@pytest.fixture
def folder(table, tmp_path):
    table.to_parquet(tmp_path / "people.parquet")
    table.head(50)[["region", "age"]].to_csv(tmp_path / "new.csv", sep=";", decimal=",", index=False)
    (tmp_path / "people.toml").write_text(SCHEMA)
    return tmp_path


def fit(*arguments):
    return ["fit", "people.parquet", "--schema", "people.toml", *PROMISE, *arguments]


WRITTEN = ["--sep", ";", "--decimal", ","]


def test_a_release_predicts_with_intervals(run, folder, table):
    formula = "income ~ age + region + age:region"
    assert run(*fit("--formula", formula, "--out", "r.json")).code == 0
    ran = run("predict", "r.json", "new.csv", *WRITTEN, "--out", "p.csv", "--level", 0.9)
    assert ran.code == 0
    assert "as confidential as the rows" in ran.said
    found, model = pd.read_csv(folder / "p.csv"), PrivateMoments.load(folder / "r.json").fit(formula)
    some = table.head(50)[["region", "age"]]
    np.testing.assert_allclose(found["prediction"], model.predict(some), rtol=1e-12)
    low, high = model.predict_interval(some, 0.9)
    np.testing.assert_allclose(found[["low", "high"]], np.column_stack([low, high]), rtol=1e-12)
    assert run("predict", "r.json", "new.csv", *WRITTEN, "--out", "p.csv").code == 2  # it exists
    assert run("predict", "r.json", "new.csv", *WRITTEN, "--out", "new.csv", "--force").code == 2


def test_a_saved_model_is_used_as_it_is(run, folder):
    assert run(*fit("--target", "income", "--features", "age,region", "--out", "r.json")).code == 0
    assert run("model", "r.json", "--features", "age", "--out", "m.json").code == 0
    assert run("predict", "m.json", "new.csv", *WRITTEN).code == 0
    assert len(pd.read_csv(folder / "new.predictions.csv")) == 50
    ran = run("predict", "m.json", "new.csv", "--features", "age", "--force")
    assert ran.code == 2
    assert "used as it is" in ran.said


@pytest.mark.parametrize(
    ("target", "method", "columns"),
    [
        ("vote", "DPLogisticRegression", ["prediction", "p[False]", "p[True]"]),
        ("region", "DPLogisticRegression", ["prediction", "p[north]", "p[south]", "p[west]"]),
        ("visits", "DPPoissonRegression", ["prediction"]),
        ("vote", "DPLinearSVC", ["prediction"]),
        ("income", "AdaSSP", ["prediction"]),
    ],
)
def test_models_without_intervals(target, method, columns, run, folder):
    features = "age" if target == "region" else "age,region"
    assert run(*fit("--target", target, "--features", features, "--method", method, "--out", "m.json")).code == 0
    ran = run("predict", "m.json", "new.csv", *WRITTEN, "--out", "p.csv")
    assert ran.code == 0
    assert "Without intervals" in ran.said
    found = pd.read_csv(folder / "p.csv")
    assert list(found) == columns
    assert len(found) == 50
    if len(columns) > 1:
        np.testing.assert_allclose(found[columns[1:]].sum(axis=1), 1, rtol=1e-12)


def test_classes_are_those_of_the_estimator(run, folder, table):
    domain = Domain({name: DOMAIN[name] for name in ("age", "vote")})
    model = DPLogisticRegression(domain=domain, epsilon=4, delta=1e-6).fit_source(table, "vote")
    model.release_.save(folder / "m.json")
    assert run("predict", "m.json", "new.csv", *WRITTEN, "--out", "p.csv").code == 0
    found, some = pd.read_csv(folder / "p.csv"), table.head(50)[["age"]]
    assert found["prediction"].tolist() == model.predict(some).tolist()
    np.testing.assert_allclose(found[["p[False]", "p[True]"]], model.predict_proba(some), rtol=1e-12)


def test_several_outcomes(run, folder):
    assert run(*fit("--target", "income,visits", "--features", "age", "--out", "r.json")).code == 0
    assert run("predict", "r.json", "new.csv", *WRITTEN, "--out", "p.csv").code == 0
    assert list(pd.read_csv(folder / "p.csv")) == ["income", "visits"]


def test_rows_that_cannot_be_predicted(run, folder):
    assert run(*fit("--target", "income", "--features", "age,region", "--out", "r.json")).code == 0
    (folder / "gap.csv").write_text("age,region\n30,north\n,south\n")
    assert run("predict", "r.json", "gap.csv", "--out", "p.csv").code == 0
    assert pd.read_csv(folder / "p.csv")["prediction"].isna().tolist() == [False, True]
    (folder / "gap.csv").write_text("age,region\n")
    assert "no rows to predict" in run("predict", "r.json", "gap.csv").said
    (folder / "gap.csv").write_text("agee\n1\n")
    said = run("predict", "r.json", "gap.csv").said
    assert "Did you mean 'agee'?" in said
    assert "'region' is declared" in said


def test_the_command_clips_as_the_model_does_unless_told_not_to(run, folder):
    assert run(*fit("--formula", "income ~ age + region", "--out", "r.json")).code == 0
    far = pd.DataFrame({"age": [90.0, 900.0, 9_000.0], "region": "west"})
    far.to_csv(folder / "far.csv", index=False)
    model = PrivateMoments.load(folder / "r.json").fit("income ~ age + region")
    for flags, clip in (([], True), (["--no-clip"], False)):
        assert run("predict", "r.json", "far.csv", "--out", "p.csv", "--force", *flags).code == 0
        found = pd.read_csv(folder / "p.csv")
        np.testing.assert_allclose(found["prediction"], model.predict(far, clip=clip), rtol=1e-12)
        assert (found["prediction"].nunique() == 1) == clip


def test_counts_are_not_stopped_at_their_declared_maximum_without_clipping(run, folder):
    options = ["--target", "visits", "--features", "age", "--method", "DPPoissonRegression", "--out", "m.json"]
    assert run(*fit(*options)).code == 0
    pd.DataFrame({"age": [90.0, 300.0, 400.0]}).to_csv(folder / "far.csv", index=False)
    assert run("predict", "m.json", "far.csv", "--out", "p.csv", "--no-clip").code == 0
    found = pd.read_csv(folder / "p.csv")["prediction"]
    model = Results.load(folder / "m.json")
    np.testing.assert_allclose(found, np.exp(model.intercept + model.coef[0] * np.array([90, 300, 400])), rtol=1e-9)
    assert found.max() > 9
    ran = run("predict", "m.json", "far.csv", "--out", "p.csv", "--force")
    assert pd.read_csv(folder / "p.csv")["prediction"].max() <= 9
    assert "Intervals of an expected count" in " ".join(ran.said.split())
