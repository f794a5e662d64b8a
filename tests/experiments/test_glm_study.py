"""Studies of classes and counts: their limits without noise, their costs, and the figures of the page."""

import gzip
import math

import numpy as np
import pytest
from benchmarks import declared_glm as benchmark
from benchmarks import glm_page
from experiments.defaults import rare_models

from discreet.privacy import gdp

MANY = 1e4
"""An epsilon at which noise is hardly any."""


# ---------------------------------------------------------------- several classes


@pytest.fixture(scope="module")
def own():
    return benchmark.made_up(1.0, np.random.default_rng(0))


def test_four_classes_have_the_loss_of_the_fit_without_privacy_where_noise_is_hardly_any(own):
    joint, each = benchmark.not_private(own, math.inf)
    assert own.loss(joint) < 0.98 * own.loss(each) < 0.98 * math.log(4)
    rng = np.random.default_rng(1)
    assert own.loss(benchmark.multinomial(own, MANY, rng)) == pytest.approx(own.loss(joint), abs=2e-3)
    assert own.loss(benchmark.one_vs_rest(own, MANY, rng)) == pytest.approx(own.loss(each), abs=2e-3)


def test_one_against_the_others_costs_as_much_as_one_release(own, monkeypatch):
    spent = []

    class Model:
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    def fitted(own, target, epsilon, rng):
        spent.append((target, gdp.mu(epsilon=epsilon, delta=own.options["delta"])))
        return Model()

    monkeypatch.setattr(benchmark, "_private", fitted)
    found = benchmark.one_vs_rest(own, 1.0, np.random.default_rng(0))
    assert [target for target, _ in spent] == [f"class[{level}]" for level in "abcd"]
    assert math.hypot(*(mu for _, mu in spent)) == pytest.approx(gdp.mu(epsilon=1.0, delta=benchmark.DELTA), rel=1e-9)
    assert np.allclose(found, 0.25)


def test_a_set_is_cut_into_thirds(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (600, 2))
    text = "\n".join(",".join(map(repr, map(float, row))) for row in np.column_stack([X, X[:, 0] - X[:, 1]]))
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci" / "small.csv.gz").write_bytes(gzip.compress(text.encode()))
    cut = benchmark.terciles("small", tmp_path, 0)
    counts = np.unique(cut.train["class"].to_pylist() + cut.test["class"].to_pylist(), return_counts=True)[1]
    assert counts.tolist() == [200, 200, 200]
    cell = {"data": "small", "epsilon": 1.0, "splits": 2, "draws": 2, "folder": str(tmp_path)}
    (line,) = benchmark.several_table([cell | row for row in benchmark.several(cell)])
    assert (line["rows"], line["fits"]) == (540, 4)
    assert 0 < line["multinomial"] < math.log(3)


# ---------------------------------------------------------------- rare levels and far values


@pytest.mark.parametrize("model", rare_models.MODELS)
def test_a_rare_level_has_the_interval_of_hc1_where_noise_is_hardly_any(model):
    for row in rare_models.widths({"model": model, "epsilon": MANY, "seeds": 2}):
        assert row["given"]
        assert row["ratio"] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("model", rare_models.MODELS)
@pytest.mark.parametrize("kind", [*rare_models.RARE, *rare_models.FAR])
def test_losses_are_above_those_of_maximum_likelihood(model, kind):
    cell = {"measure": "loss", "model": model, "kind": kind, "rows": 1000, "epsilon": 1.0, "seeds": 2}
    rows = rare_models.losses(cell)
    assert all(row["stages"] > 0 and row["one stage"] > 0 for row in rows)
    (line,) = rare_models.table([cell | row for row in rows], ("measure", "model", "kind", "rows", "epsilon"))
    assert line["ratio"] == pytest.approx(
        np.mean([r["stages"] for r in rows]) / np.mean([r["one stage"] for r in rows])
    )
    assert line["sampling"] == (4 if kind in rare_models.RARE else 3) / 2000


# ---------------------------------------------------------------- the page


def test_the_tables_of_the_page_are_the_stored_figures():
    page = glm_page.PAGE.read_text(encoding="utf-8")
    assert glm_page.filled(page) == page, "python -m benchmarks.glm_page writes them anew"


def test_a_page_without_a_place_for_a_table_is_refused():
    with pytest.raises(ValueError, match="places for the table"):
        glm_page.filled("# Classes and counts, measured\n")
