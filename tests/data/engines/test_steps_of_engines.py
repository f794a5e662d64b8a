"""Models of classes and counts in every engine: the release of one machine to the last bit, or a refusal beforehand."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit

from discreet import Budget, Domain, DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.errors import DataError, DiscreetError, ParameterError

pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]
PROMISE = {"epsilon": 1, "delta": 1e-6, "random_state": 1}
UNITS = {
    "rows": {},
    "persons": {"person": "id", "rows_per_person": 2},
    "weights": {"weights": "w", "largest_weight": 4.0},
}
MODELS = {
    "classes": (DPLogisticRegression, ["no", "yes"], {}),
    "classes in two stages": (DPLogisticRegression, ["no", "yes"], {"stages": 2}),
    "three classes": (DPLogisticRegression, ["no", "yes", "maybe"], {}),
    "a hinge": (DPLinearSVC, ["no", "yes"], {}),
    "counts": (DPPoissonRegression, (0, 20), {"exposure": "t"}),
}
NO_PERSONS = ("processes", "delayed")
"""Engines that cannot bring the rows of a person together."""


def table(column, n=3000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": rng.integers(0, n // 2, n), "w": rng.uniform(0, 5, n), "t": rng.uniform(0.5, 2, n)})
    frame["x"], frame["g"] = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    eta = 0.8 * frame["x"] - 0.5 * (frame["g"] == "a")
    if isinstance(column, tuple):
        frame["y"] = rng.poisson(np.exp(eta) * frame["t"]).astype(float)
    else:
        place = 1 * (rng.random(n) < expit(eta)) + (len(column) > 2) * (rng.random(n) < 0.2)
        frame["y"] = np.array(column)[place]
    return pa.Table.from_pandas(frame, preserve_index=False)


def fitted(name, unit, source):
    cls, column, options = MODELS[name]
    more = {"t": (0.1, 4)} if "exposure" in options else {}
    domain = Domain({"x": (-3, 3), "g": ["a", "b", "c"], "y": column} | more, **UNITS[unit])
    return cls(**PROMISE, **options, domain=domain).fit_source(source, "y", ["x", "g"])


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", MODELS)
def test_a_release_is_that_of_one_machine(engine, name, unit, tmp_path):
    here = table(MODELS[name][1])
    here = here.drop_columns([column for column in ("id", "w") if column not in UNITS[unit].values()])
    source = engine(here)
    if engine.name == "pushdown" or (unit == "persons" and engine.name in NO_PERSONS):
        with Budget(epsilon=9, delta=1e-3) as budget:
            with pytest.raises(DiscreetError, match=r"leave out pushdown|person"):
                fitted(name, unit, source)
            assert budget.epsilon_spent == 0
        return
    files = []
    for i, given in enumerate((here, source)):
        model = fitted(name, unit, given)
        model.release_.save(tmp_path / f"{i}.json", simulation=True)
        files.append((tmp_path / f"{i}.json").read_bytes())
    assert files[0] == files[1]


def test_one_stage_needs_the_rows_themselves(engine):
    here = table(["no", "yes"], 500).drop_columns(["id", "w", "t"])
    domain = Domain({"x": (-3, 3), "g": ["a", "b", "c"], "y": ["no", "yes"]})
    model = DPLogisticRegression(**PROMISE, domain=domain, stages=1)
    if engine.name in ("PostgreSQL", "S3", "DuckDB on S3"):
        assert model.fit_source(engine(here), "y").results_ is not None
        return
    with pytest.raises(DataError, match="needs the rows themselves"):
        model.fit_source(engine(here), "y")


def test_pushdown_refuses_models_before_it_is_asked_for_anything(pushed_down):
    here = table(["no", "yes"], 100).drop_columns(["id", "w", "t"])
    domain = Domain({"x": (-3, 3), "g": ["a", "b", "c"], "y": ["no", "yes"]})
    with Budget(epsilon=9, delta=1e-3) as budget:
        with pytest.raises(ParameterError, match="Models of classes and counts need rows that are read here"):
            DPLogisticRegression(epsilon=1, delta=1e-6, domain=domain).fit_source(pushed_down(here), "y")
        assert budget.epsilon_spent == 0
