"""Losses of persons and of weighted rows are the same however many rows are in memory, and without long vectors."""

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLogisticRegression, DPPoissonRegression, per_instance, release
from discreet.per_instance import persons
from discreet.per_instance.persons import _PersonStatistic, _placed

PROMISE = {"epsilon": 2, "delta": 1e-6, "random_state": 0}
LEVELS = [f"level {i}" for i in range(40)]
COLUMNS = {"g": LEVELS, "x": (0, 1), "yes": bool, "y": (0, 4)}
UNITS = {"persons": {"person": "id", "rows_per_person": 3}, "weights": {"weights": "w", "largest_weight": 2.0}}


def frame(rows=600):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"g": rng.choice(LEVELS, rows), "x": rng.random(rows), "yes": rng.random(rows) < 0.4})
    table["y"] = rng.poisson(1, rows).clip(0, 4)
    table["id"] = np.sort(rng.integers(0, rows // 2, rows))
    table["w"] = rng.uniform(0.1, 2, rows)
    table.loc[::50, "x"] = np.nan
    return table


def release_of(kind, unit):
    domain = Domain(COLUMNS, missing="drop", **UNITS[unit])
    if kind == "linear":
        return release(frame(), domain=domain, targets=["y"], stages=2, **PROMISE)
    model = {"classes": DPLogisticRegression, "counts": DPPoissonRegression}[kind]
    target = {"classes": "yes", "counts": "y"}[kind]
    return model(**PROMISE, domain=domain).fit_source(frame(), target, ["g", "x"])


def long_way(self, rows, shares, kept):
    return self.cost(_placed(self.vectors(rows) * shares[kept][:, None], kept))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["linear", "classes", "counts"])
def test_losses_do_not_depend_on_the_way_they_are_added_up(kind, unit, monkeypatch):
    released = release_of(kind, unit)
    expected = per_instance.losses(frame(), released)
    monkeypatch.setattr(persons, "_ROWS", 7)
    monkeypatch.setattr(_PersonStatistic, "row_costs", long_way)
    found = per_instance.losses(frame(), released)
    assert found.names == expected.names
    np.testing.assert_allclose(found.epsilon(), expected.epsilon(), rtol=1e-9, atol=1e-12)
    assert expected.epsilon().max() <= 2
