"""The study of declared bounds: its rule, its private mean, its methods, and a small cell of each kind."""

import gzip
import json
import math

import numpy as np
import pytest
from benchmarks import declared as benchmark
from experiments import declared, populations, study

from discreet.privacy import gdp

RNG = np.random.default_rng(0)
N, D = 400, 3
X = RNG.uniform([0.0, 15.0, -1e-3], [1.0, 80.0, 4e-3], (N, D))
Y = 20 * X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=N)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one small set."""
    place = tmp_path_factory.mktemp("data") / "uci"
    place.mkdir()
    text = "\n".join(",".join(map(repr, map(float, row))) for row in np.column_stack([X, Y]))
    (place / "small.csv.gz").write_bytes(gzip.compress(text.encode()))
    return place.parent


def cell(kind, folder, method=benchmark.DEFAULT, **more):
    data = {"wages": "wages", "wide": "100"}.get(kind, "small")
    facts = {"kind": kind, "data": data, "k": 1.0, "epsilon": 1.0, "method": method, "splits": 1, "draws": 2}
    return facts | {"folder": str(folder)} | more


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    ("low", "high", "k", "expected"),
    [
        (17.3, 88.1, 1, (10, 90)),
        (17.3, 88.1, 3, (-100, 200)),
        (17.3, 88.1, 10, (-400, 500)),
        (0, 1, 1, (0, 1)),
        (-0.031, 0.002, 1, (-0.04, 0.01)),
        (4, 4, 10, (3, 5)),
        (4.5, 4.5, 1, (3, 6)),
    ],
)
def test_bounds_are_the_range_widened_and_rounded_outwards(low, high, k, expected):
    assert declared.bounds(low, high, k) == pytest.approx(expected, rel=1e-12)


def test_bounds_hold_the_range_and_little_more():
    rng = np.random.default_rng(1)
    for low, width, k in zip(
        rng.normal(size=300) * 100, 10.0 ** rng.uniform(-4, 6, 300), [1, 3, 10] * 100, strict=True
    ):
        found = declared.bounds(low, low + width, k)
        middle, half = low + width / 2, k * width / 2
        assert found[0] <= middle - half + 1e-9 * half
        assert found[1] >= middle + half - 1e-9 * half
        assert found[1] - found[0] <= 4 * half


def test_rows_are_declared_with_two_digits():
    assert [declared.declared_rows(n) for n in (7, 90, 101, 1353, 45_000, 57_247)] == [7, 90, 110, 1400, 45_000, 58_000]


# ---------------------------------------------------------------- tables and methods


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("k", [1.0, 3.0])
def test_mapped_rows_lie_in_the_bounds_and_coefficients_come_back(products, k):
    table = declared.uci_table(X, Y, k, split=1, products=products)
    assert len(table.places) == (10 if products else 4)
    assert (len(table.train), len(table.test)) == (360, 40)
    assert np.abs(table.mapped).max() <= 1
    exact = np.linalg.lstsq(table.design, table.y)[0]
    found = declared.fitter(declared.LEAST_SQUARES, table, 1.0)(RNG)
    np.testing.assert_allclose(table.design_test @ found, table.design_test @ exact, rtol=1e-6)
    np.testing.assert_allclose(table.design_test @ declared.middle(table), np.mean(declared.column_bounds(Y, k)))


@pytest.mark.parametrize("method", [name for name in declared.NAMES if declared.available(name)])
def test_methods_fit_repeatably_and_come_close(method):
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, (3000, 1))
    table = declared.uci_table(X, 3 * X[:, 0] + rng.uniform(-0.5, 0.5, 3000), 1.0, split=0)
    fit = declared.fitter(method, table, 20.0)
    first, second = (fit(np.random.default_rng(3)) for _ in range(2))
    if method != "OpenDP SSP":  # its noise cannot be seeded
        assert np.array_equal(first, second)
    error = np.mean((table.design_test @ first - table.y_test) ** 2) / np.var(table.y_test)
    assert error < (1.1 if method == declared.PRIVATE_MEAN else 0.7)


def test_a_fit_that_is_refused_counts_as_the_middle(folder, monkeypatch):
    monkeypatch.setattr(benchmark, "fitter", lambda *given: lambda rng: None)
    (row,) = benchmark.work(cell("uci", folder))
    centre = np.mean(declared.column_bounds(Y, 1.0))
    test = np.asarray(declared.uci_table(X, Y, 1.0, split=0).test["y"])
    assert row["failed"] == 2
    assert row["errors"] == pytest.approx([np.mean((test - centre) ** 2)] * 2)


# ---------------------------------------------------------------- the private mean


def test_the_private_mean_spends_the_whole_budget():
    """Noise of sd 1/(mu sqrt share) on a sum that one row moves by 1 and on a count costs mu together."""
    table = declared.uci_table(X, Y, 1.0, split=0)
    mu = gdp.mu(2.0, table.delta)
    assert sum(declared.SHARES.values()) == pytest.approx(1)
    (centre, half), z = table.domain.map("y"), table.mapped_y
    assert np.abs(z).max() <= 1
    rng = np.random.default_rng(0)
    found = np.array([declared.private_mean(table, 2.0, rng) for _ in range(4000)])
    assert not found[:, 1:].any()
    means = (found[:, 0] - centre) / half
    sd = math.sqrt(1 / 0.8 + z.mean() ** 2 / 0.2) / (mu * len(z))
    assert means.mean() == pytest.approx(z.mean(), abs=5 * sd / math.sqrt(4000))
    assert means.std() == pytest.approx(sd, rel=0.05)


def test_the_private_mean_stays_within_the_bounds():
    table = declared.uci_table(X, Y, 1.0, split=0)
    low, high = declared.column_bounds(Y, 1.0)
    rng = np.random.default_rng(0)
    found = [declared.private_mean(table, 1e-4, rng)[0] for _ in range(50)]
    assert min(found) == pytest.approx(low)
    assert max(found) == pytest.approx(high)


# ---------------------------------------------------------------- made-up populations


def test_wages_follow_their_equation():
    table = declared.wages_table(1.0, split=0)
    assert [table.domain.entries[i].name for i in table.places] == list(populations.WAGES_TRUE)
    assert (table.domain.map("age"), table.domain.map("wage")) == ((40, 30), (50, 50))
    assert np.abs(table.mapped).max() <= 1
    assert np.abs((table.y - 50) / 50).max() <= 1
    true = np.array(list(populations.WAGES_TRUE.values()))
    errors = table.y - table.design @ true
    assert errors.mean() == pytest.approx(0, abs=0.1)
    assert errors.std() == pytest.approx(populations.WAGES_SIGMA, rel=0.02)


@pytest.mark.parametrize("columns", [100, 300])
def test_wide_tables_have_levels_of_unequal_frequency(columns):
    table = declared.wide_table(columns, 1.0, split=0)
    categories = columns // 100 * len(populations.SIZES)
    assert len(table.places) == columns - categories + 1
    assert len(table.domain.entries) == columns + 2
    shares = table.design[:, 1:].mean(axis=0)
    assert shares.max() > 0.2
    assert shares.min() < 0.01
    residual = table.y_test - table.design_test @ declared.fitter(declared.LEAST_SQUARES, table, 1.0)(RNG)
    assert 0.15 < np.var(residual) / np.var(table.y_test) < 0.25
    with pytest.raises(ValueError, match="multiple of 100"):
        populations.wide(150, 10, 10, RNG)


# ---------------------------------------------------------------- cells and figures


@pytest.mark.parametrize("kind", list(benchmark.METHODS))
def test_a_cell_of_each_kind(kind, folder):
    """The default is repeatable, beats the private mean, and does not beat least squares but by chance."""
    methods = (benchmark.DEFAULT, declared.PRIVATE_MEAN, declared.LEAST_SQUARES)
    wanted = [cell(kind, folder, method, epsilon=8.0) for method in methods]
    rows = [wanted_cell | row for wanted_cell in wanted for row in benchmark.work(wanted_cell)]
    assert benchmark.work(wanted[0])[0]["errors"] == rows[0]["errors"]
    assert rows[0]["trivial"] == rows[2]["trivial"]
    lines = benchmark.summary(rows, [rows[0]["data"]])
    ratios = {line["method"]: line["ratio"] for line in lines}
    assert 0.5 * ratios["least squares"] < ratios["DPLinearRegression"] < ratios["private mean"]
    assert lines[0]["worst"] == pytest.approx(ratios["DPLinearRegression"] / ratios["private mean"])
    assert lines[0]["above"] == []
    json.dumps(lines)


def test_coefficients_of_wages_are_held_against_their_sd(folder):
    wanted = [cell("wages", folder, method, splits=3) for method in (benchmark.DEFAULT, declared.LEAST_SQUARES)]
    rows = [wanted_cell | row for wanted_cell in wanted for row in benchmark.work(wanted_cell)]
    found = benchmark.coefficients(rows)
    exact, noisy = (
        np.sqrt(np.mean([entry["rmse_over_it"] ** 2 for entry in found[1.0, 1.0, method].values()]))
        for method in (declared.LEAST_SQUARES, benchmark.DEFAULT)
    )
    assert 0.6 < exact < min(1.4, noisy)


def test_the_floor_counts_what_is_above_by_two_standard_errors():
    rng = np.random.default_rng(0)
    mean = 1 + 0.01 * rng.normal(size=100)
    for level, above in ((1.0, False), (1.05, False), (1.06, True)):
        errors = level * mean + 0.01 * rng.normal(size=100)
        found = benchmark.against_mean(np.split(errors, 10), np.split(mean, 10))
        assert found["ratio"] == pytest.approx(level, abs=0.01)
        assert found["error"] == pytest.approx(0.001, rel=0.6)
        assert found["above"] == above
    assert not benchmark.against_mean([1.06 + rng.normal(size=100)], [mean])["above"]
    apart = [own + 0.2 * (-1) ** i + 0.03 for i, own in enumerate(np.split(1.05 * mean, 10))]
    assert not benchmark.against_mean(apart, np.split(mean, 10))["above"]  # splits differ by more than that


def test_geometric_means_leave_wide_sets_out():
    facts = {"k": 1.0, "epsilon": 1.0, "method": "SSP", "failed": 0, "seconds": 0.0, "trivial": 2.0}
    rows = [facts | {"data": name, "errors": [x, 3 * x]} for name, x in (("a", 1.0), ("b", 4.0), ("wide", 100.0))]
    (line,) = benchmark.summary(rows, ["a", "b"])
    assert (line["tables"], line["ratio"]) == (2, pytest.approx(2.0))
    assert line["sets"]["wide"][0] == 100
    assert benchmark.summary(rows, [])[0]["ratio"] is None
    assert line["sets"]["a"] == [1.0, 0.5]
    assert (line["fits"], line["splits"], line["failed"]) == (2, 1, 0)


@pytest.mark.parametrize("kind", ["uci", "products"])
def test_the_command_writes_a_table_and_its_figures(kind, folder, tmp_path, monkeypatch, capsys):
    asked = f"declared --kind {kind} --floor --data {folder} --k 1 3 --epsilon 1 --splits 2 --draws 2 --jobs 1"
    monkeypatch.setattr("sys.argv", [*asked.split(), "--log", str(tmp_path), "--out", str(tmp_path / "out.json")])
    benchmark.main()
    assert "worst over private mean" in " ".join(capsys.readouterr().out.split())
    kept = json.loads((tmp_path / "out.json").read_text())
    assert [(line["k"], line["method"]) for line in kept["rows"]] == [
        (k, method) for k in (1.0, 3.0) for method in (benchmark.DEFAULT, declared.PRIVATE_MEAN)
    ]
    assert {"small"} == set(kept["rows"][0]["over_private_mean"]) == set(kept["rows"][0]["sets"])
    logged = list(study._entries(tmp_path / f"declared-{kind}.jsonl"))
    assert len(logged) == 4


def test_the_default_without_bounds_clips_test_rows_to_what_it_found():
    rng = np.random.default_rng(5)
    X = rng.normal(0, 1, (4000, 2)) * [1, 1000]
    table = declared.uci_table(X, X @ [1, 0.001] + rng.normal(0, 0.1, 4000), 3.0, 0)
    fit = declared.fitter(declared.SEARCHED, table, 3.0)
    theta = fit(np.random.default_rng(0))
    assert theta[1:] == pytest.approx([1, 0.001], rel=0.1)
    assert fit.unseen == 0
    assert fit.design_test.shape == table.design_test.shape
    assert np.abs(fit.design_test).max() <= np.abs(table.design_test).max()
