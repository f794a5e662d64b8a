"""Charts: the numbers that the curves show, and that every label can be read."""

import warnings

import numpy as np
import pytest
from fitted import case, people_model, wide_model
from legible import assert_legible

from discreet import OPS, DPLasso, DPRidge, TrivialRegressor
from discreet.errors import DiscreetWarning, ParameterError
from discreet.planning import theory
from discreet.planning.theory import free_epsilon, learning_rate, private_lower_bound
from discreet.privacy import accounting, gdp
from discreet.results import plots
from discreet.results.plots.style import LOOKS, NARROW, chart, logarithmic, power, style


def curve(figure, label):
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == label]
    return np.array(line.get_xdata()), np.array(line.get_ydata())


def table(methods=("one", "two"), repeats=4):
    epsilons = np.repeat([0.1, 0.3, 1.0], repeats)
    rng = np.random.default_rng(0)
    return {
        "epsilon": np.tile(epsilons, len(methods)),
        "method": np.repeat(methods, len(epsilons)),
        "error": np.concatenate([rng.uniform(1, 2, len(epsilons)) / epsilons for _ in methods]),
    }


def test_utility_curves_are_medians_with_quartiles():
    data = table()
    figure = plots.utility_plot(data, references={"without privacy": 0.4}, label="error (EUR²)")
    x, y = curve(figure, "two")
    chosen = data["method"] == "two"
    assert x.tolist() == [0.1, 0.3, 1.0]
    assert y == pytest.approx([np.median(data["error"][chosen & (data["epsilon"] == e)]) for e in x])
    band = figure.axes[0].collections[1].get_paths()[0].vertices
    quartiles = np.quantile(data["error"][chosen & (data["epsilon"] == 1.0)], [0.25, 0.75])
    at_one = band[np.isclose(band[:, 0], 1.0), 1]
    assert [at_one.min(), at_one.max()] == pytest.approx(quartiles)
    assert figure.axes[0].get_ylabel() == "error (EUR²)"
    assert_legible(figure)


def test_a_table_without_repeats_has_no_band():
    assert not plots.utility_plot(table(repeats=1)).axes[0].collections


def test_looks_are_told_apart_by_more_than_colour():
    assert len({look["marker"] for look in LOOKS}) == len(LOOKS)
    assert len({look["color"] for look in LOOKS}) == len(LOOKS)
    with pytest.raises(ParameterError, match="told apart"):
        plots.utility_plot(table([str(k) for k in range(9)]))
    with pytest.raises(ParameterError, match="nothing"):
        plots.utility_plot({"epsilon": [], "method": [], "error": []})


def test_privacy_curves_are_those_of_the_accountant():
    _, released = case("five")
    figure = plots.privacy_plot({"a release": released})
    x, y = curve(figure, "a release")
    mu = accounting.mu(released.certificate.events)
    for k in (10, 40):
        assert y[k] == pytest.approx(gdp.delta(mu=mu, epsilon=x[k]))
    promise = released.certificate.guarantee
    (ring,) = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert ring.get_xydata()[0] == pytest.approx([promise.epsilon, promise.delta])
    assert np.interp(promise.epsilon, x, np.log(y)) <= np.log(promise.delta) + 0.05
    assert_legible(figure)


def test_several_releases_together_keep_less():
    pair = {"one": case("five")[1], "other": case("verified")[0]}
    figure = plots.privacy_plot(pair, total=True)
    x, together = curve(figure, "all together")
    events = [event for one in pair.values() for event in one.certificate.events]
    assert together[30] == pytest.approx(gdp.delta(mu=accounting.mu(events), epsilon=x[30]))
    assert together[30] > curve(figure, "one")[1][30]
    assert_legible(figure)


def test_other_mechanisms_have_privacy_curves_too():
    X = np.random.default_rng(0).uniform(0, 1, (500, 2))
    given = {"epsilon": 0.5, "delta": 1e-6, "bounds_X": (0, 1), "bounds_y": (0, 2), "rows": 500}
    figure = plots.privacy_plot({"a sample": OPS(**given).fit(X, X.sum(1))})
    x, y = curve(figure, "a sample")
    assert np.interp(0.5, x, y) <= 1e-6 * 1.2
    nothing = plots.privacy_plot(TrivialRegressor(bounds_y=(0, 2)).fit(X, X.sum(1)))
    assert np.all(np.isnan(nothing.axes[0].lines[0].get_ydata()))
    with pytest.raises(ParameterError, match="certificates"):
        plots.privacy_plot({"x": 3})


@pytest.mark.parametrize("reach", [1.0, 10.0])
def test_the_region_shows_the_free_epsilon(reach):
    figure = theory.free_region_plot(100, alphas=(1.0,), reach=reach)
    for label, alpha in (("free above, any data", None), ("free above, alpha = 1", 1.0)):
        n, epsilon = curve(figure, label)
        expected = free_epsilon(n, 100, alpha=alpha, norm_theta=reach)
        assert np.nan_to_num(epsilon) == pytest.approx(expected)
    assert_legible(figure)
    with pytest.raises(ParameterError, match="alphas"):
        theory.free_region_plot(alphas=(1, 0.5, 0.1, 0.01))
    with pytest.raises(ParameterError, match="smaller one first"):
        theory.free_region_plot(rows=(10, 10))


@pytest.mark.parametrize("alpha", [None, 0.1])
def test_the_lower_bounds_and_the_price(alpha):
    figure = theory.lower_bounds_plot(50, epsilon=0.5, alpha=alpha, reach=5.0)
    n, bound = curve(figure, "privacy, epsilon = 0.5")
    without = learning_rate(n, 50, norm_theta=5.0)
    assert bound == pytest.approx(private_lower_bound(n, 50, 0.5, alpha=alpha, norm_theta=5.0))
    assert curve(figure, "learning, without privacy")[1] == pytest.approx(without)
    shade = figure.axes[0].collections[0].get_paths()[0].vertices
    assert shade[:, 1].max() == pytest.approx(np.max(np.where(bound > without, bound, without)))
    assert_legible(figure)


@pytest.mark.parametrize("cls", [DPLasso, DPRidge])
def test_paths_are_coefficients_times_declared_ranges(cls):
    model = people_model(cls)
    path = model.results_.path()
    figure = plots.path_plot(model.results_)
    penalties, effect = curve(figure, "age")
    assert penalties == pytest.approx(path.penalties)
    assert effect == pytest.approx(72 * path.coef[:, path.names.index("age")])
    marks = [line for line in figure.axes[0].lines if np.allclose(line.get_xdata(), model.results_.alpha)]
    assert len(marks) == 1
    assert_legible(figure)
    low, high = figure.axes[0].get_xlim()
    assert low > high
    ticks = [tick for tick in figure.axes[0].get_xticks() if high <= tick <= low]
    assert 3 <= len(ticks) <= 10


def test_many_coefficients_keep_a_legible_legend():
    names = [f"a feature with a long name {k}" for k in range(12)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        released = wide_model(names).release_
    figure = plots.path_plot(released.fit("y", model="lasso"))
    assert sum(line.get_label().startswith("a feature") for line in figure.axes[0].lines) == plots.curves.NAMED
    assert_legible(figure)
    with pytest.raises(ParameterError, match="path"):
        plots.path_plot(case("five")[0])


def test_charts_can_be_read_at_half_the_width_of_a_page():
    figure = theory.lower_bounds_plot()
    smallest = min(text.get_fontsize() for text in figure.axes[0].get_xticklabels())
    assert figure.get_figwidth() == NARROW
    assert smallest * 3.4 / NARROW > 6


@pytest.mark.parametrize("decades", [0.02, 0.3, 0.6, 0.75, 0.9, 1.5, 2.4, 2.9, 3.5, 9])
def test_a_logarithmic_axis_has_three_to_ten_ticks(decades):
    with style():
        axes = chart(3.5)[1]
        logarithmic(axes.xaxis)
        for low in 10 ** np.linspace(-4, -3, 41):
            high = low * 10**decades
            for ends in ((low, high), (high, low)):
                axes.set_xlim(*ends)
                ticks = axes.get_xticks()
                assert 3 <= sum(low <= tick <= high for tick in ticks) <= 10, ends
                assert all(tick > 0 and power(tick) for tick in ticks), ends


def test_numbers_on_logarithmic_scales():
    assert [power(v) for v in (1e-5, 1e-3, 0.2, 1, 5e4, 1e5)] == ["10⁻⁵", "0.001", "0.2", "1", "50,000", "10⁵"]
