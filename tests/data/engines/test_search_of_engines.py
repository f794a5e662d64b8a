"""Bounds that are searched for, in every engine: the same release to the last bit, with SQL where rows stay."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import Budget, Domain, DPLinearRegression, DPLogisticRegression
from discreet.data.counts import first_pass
from discreet.data.reading import Table
from discreet.errors import DiscreetError

pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]

DOMAIN = Domain({"a": "number", "born": "date", "h": {"high": 12.5}, "g": ["u", "v"], "y": {"low": -100}})
PROMISE = {"epsilon": 2, "delta": 1e-6}
FAR = [0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324, 2.0**-40, 2.0**-39, np.nextafter(2.0**-39, 0), 2.0**60, 2.0**61]


@pytest.fixture(scope="module")
def table():
    rng, n = np.random.default_rng(8), 4000
    a, born = rng.lognormal(3, 1, n) * rng.choice([-1, 1], n), rng.integers(5000, 9000, n)
    a[: len(FAR)] = FAR
    return pa.table(
        {
            "a": a,
            "born": pa.array(born.astype("int32"), pa.int32()).cast(pa.date32()),
            "h": 12.5 - rng.exponential(3, n),
            "g": rng.choice(["u", "v"], n),
            "y": np.clip(a, -200, 200) + born / 100 + rng.normal(0, 5, n),
        }
    )


def saved(model, source, folder, target="y"):
    fitted = model(**PROMISE, domain=DOMAIN, random_state=3).fit_source(source, target, ["a", "born", "h"])
    fitted.release_.save(folder / "it.json", overwrite=True, simulation=True)
    return (folder / "it.json").read_bytes()


def test_exact_counts_are_those_of_one_machine(engine, table):
    names = list(DOMAIN.searched)
    (ours, margins), (theirs, others) = (first_pass(Table.of(own, DOMAIN), names) for own in (table, engine(table)))
    assert ours == theirs
    places = np.arange(len(DOMAIN.entries))
    assert margins.integers(places, places).tolist() == others.integers(places, places).tolist()


def test_releases_have_the_same_bits(engine, table, tmp_path):
    assert saved(DPLinearRegression, engine(table), tmp_path) == saved(DPLinearRegression, table, tmp_path)


def test_classes_have_the_same_bits_or_are_refused(engine, table, tmp_path):
    if engine.name == "pushdown":
        with Budget(epsilon=5, delta=1e-3) as budget, pytest.raises(DiscreetError, match="pushdown"):
            DPLogisticRegression(**PROMISE, domain=DOMAIN).fit_source(engine(table), "g", ["a", "h"])
        assert budget.epsilon_spent == 0
        return
    ours = saved(DPLogisticRegression, table, tmp_path, "g")
    assert saved(DPLogisticRegression, engine(table), tmp_path, "g") == ours


def test_bad_values_are_refused_before_anything_is_spent(engine, table):
    bad = table.set_column(0, "a", pa.array([float("inf"), *table["a"].to_pylist()[1:]]))
    with Budget(epsilon=5, delta=1e-3) as budget, pytest.raises(DiscreetError, match="infinite"):
        DPLinearRegression(**PROMISE, domain=DOMAIN).fit_source(engine(bad), "y", ["a", "born"])
    assert budget.epsilon_spent == 0
