"""Fits in stages: least squares without noise, loose bounds that cost little, a floor, one promise, one course."""

import functools
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from replayed import mismatch, staged

from discreet import Budget, DiscreetWarning, Domain, DPLinearRegression, PrivateMoments
from discreet.domain.coordinates import Coordinates
from discreet.errors import DataError
from discreet.gate.entropy import NO_NOISE
from discreet.privacy import gdp
from discreet.privacy.events.coordinates import StageEvent
from discreet.results.models import L1_RATIOS
from discreet.results.saved import check_saved, load_saved
from discreet.solve import location
from discreet.solve.location import WHOLE, BinCounts, locate, next_span

PROMISE = {"epsilon": 1.0, "delta": 1e-6, "n_jobs": 1}
BOX = {"bounds_X": (-1, 1), "bounds_y": (-8, 8)}
RELATIONS = ["add-remove", "replace-one"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The curve is inverted once for each promise."""
    monkeypatch.setattr(gdp, "mu", functools.cache(gdp.mu))


def table(n=2000, d=3, *, centre=0.5, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, centre + X @ np.linspace(1, 0.3, d) + rng.uniform(-noise, noise, n)


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return DPLinearRegression(**(PROMISE | ({} if "domain" in options else BOX) | options)).fit(X, y)


def least_squares(X, y, intercept=True):
    """Slopes, and the intercept last."""
    return np.linalg.lstsq(np.column_stack([X, np.full(len(X), float(intercept))]), y)[0]


# -------------------------------------------------------------------- without noise


def even(rng, n):
    return rng.uniform(-1, 1, (n, 4))


def corner(rng, n):
    """Columns that use a twentieth of their bounds each, far from the middle."""
    return 0.85 + rng.uniform(0, 0.1, (n, 4))


def collinear(rng, n):
    """A column, its square, and two that are nearly the same."""
    x, z = rng.uniform(0, 1, (2, n))
    return np.column_stack([x, x**2, z, 0.9 * z + 0.05 * rng.uniform(-1, 1, n)])


def levels(rng, n):
    return np.eye(5)[rng.integers(0, 5, n)][:, 1:]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("stages", ["auto", 2, 4])
@pytest.mark.parametrize("design", [even, corner, collinear, levels])
def test_without_noise_it_is_least_squares(design, stages, intercept):
    """Up to weights, clipped residuals, and what is shrunk for noise that is not there."""
    rng = np.random.default_rng(1)
    X = design(rng, 20_000)
    y = 0.4 * intercept + X @ [1.0, -0.6, 0.4, 0.2] + rng.uniform(-0.3, 0.3, len(X))
    model = fitted(X, y, epsilon=20, fit_intercept=intercept, stages=stages, random_state=NO_NOISE)
    exact = X @ (own := least_squares(X, y, intercept))[:-1] + own[-1]
    assert np.mean((model.predict(X) - exact) ** 2) < (0.01 if stages == 2 else 3e-4) * np.mean((y - exact) ** 2)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_with_many_rows_noise_is_small(neighbors):
    X, y = table(60_000)
    model = fitted(X, y, epsilon=10, neighbors=neighbors, random_state=0)
    *slopes, constant = least_squares(X, y)
    np.testing.assert_allclose(model.coef_, slopes, atol=0.003)
    assert model.intercept_ == pytest.approx(constant, abs=0.003)


# -------------------------------------------------------------------- loose bounds


def errors(make, seeds, **options):
    """Mean squared errors over the variance of the outcome."""
    found = []
    for seed in seeds:
        X, y = make(seed)
        model = fitted(X, y, random_state=seed, **options)
        found.append(np.mean((model.predict(X) - y) ** 2) / np.var(y))
    return np.array(found)


@pytest.mark.parametrize(("n", "d"), [(4000, 5), (10_000, 10)])
def test_loose_bounds_cost_little(n, d):
    """Ten times too wide: the worst fit in stages beats the best in one, and is hardly worse than with tight ones."""

    def make(seed):
        return table(n, d, noise=0.4, seed=seed)

    loose, tight = {"bounds_X": (-10, 10), "bounds_y": (-30, 30)}, {"bounds_X": (-1, 1), "bounds_y": (-3, 3)}
    staged, plain = (errors(make, range(6), stages=stages, **loose) for stages in ("auto", 1))
    assert staged.max() < plain.min()
    assert staged.mean() < 0.3 * plain.mean()
    assert staged.mean() < errors(make, range(6), **tight).mean() + 0.1


# -------------------------------------------------------------------- the floor


@pytest.mark.parametrize(("n", "epsilon"), [(60, 0.05), (200, 0.1)])
@pytest.mark.parametrize("several", [False, True])
def test_a_table_that_is_too_small_gives_the_mean_alone(n, epsilon, several):
    X, y = table(n, centre=3.0)
    for seed in range(5):
        model = fitted(X, np.column_stack([y, -y]) if several else y, epsilon=epsilon, random_state=seed)
        assert model.release_.mean_alone
        assert len(model.release_.stages) == 1
        assert np.array_equal(model.coef_, np.zeros_like(model.coef_))
        assert np.all(np.abs(model.intercept_) <= 8)


def test_a_design_with_the_constant_only_gives_the_mean():
    X, y = table(3000, centre=3.0)
    domain = Domain.from_bounds(["x0"], ["y"], bounds_X=(-1, 1), bounds_y=(-8, 8))
    frame = pd.DataFrame({"x0": X[:, 0], "y": y})
    for stages in ("auto", 3):
        model = DPLinearRegression(**PROMISE, domain=domain, stages=stages, random_state=0).fit_source(frame, "y", [])
        assert model.intercept_ == pytest.approx(y.mean(), abs=0.1)


@pytest.mark.parametrize("outcome", [(0.5, (-1, 1)), (0.3, (-1, 1)), (0.5, (-2, 2)), (0.5, (-1, 4))])
def test_outcomes_in_two_places_are_not_taken_for_one_of_them(outcome):
    upper, bounds = outcome
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (3000, 3)), rng.choice([-1.0, 1.0], 3000, p=[1 - upper, upper])
    assert errors(lambda _: (X, y), range(20), epsilon=0.1, bounds_y=bounds).mean() < 1.05


def test_counts_in_two_places():
    counts = np.zeros(16)
    counts[[0, 15]] = 490.0, 510.0
    whole = BinCounts(counts, WHOLE, 30.0)
    assert next_span(whole, (1000.0, 20.0)) == WHOLE
    found = locate([whole, whole], (1000.0, 20.0))
    assert abs(found.centre) < 0.1
    assert found.spread > 0.8


def test_laws_that_fall_off_to_one_side_are_those_of_their_samples():
    rng, (laws, tail) = np.random.default_rng(0), location._one_side()
    for span in (WHOLE, (-0.5, 0.3)):
        parts = location._one_side_parts(span)
        for i in rng.choice(len(laws.M), 12, replace=False):
            x = -tail.S[i] * np.log(1 - rng.random(40_000) * (1 - tail.missing[i]))
            y = tail.start[i] + tail.side[i] * np.where(rng.random(len(x)) < tail.p[i], 0.0, x)
            assert np.histogram(y, np.linspace(*span, 17))[0] / len(y) == pytest.approx(parts[i], abs=0.015)
            assert (y.mean(), y.std()) == pytest.approx((laws.M[i], laws.S[i]), abs=0.01)


def test_a_spike_is_not_taken_for_the_whole_outcome():
    rng, spreads = np.random.default_rng(1), []
    y = np.where(rng.random(500) < 0.5, -0.75, np.minimum(rng.exponential(0.4, 500) - 0.75, 1.0))
    for _ in range(20):
        whole = BinCounts(np.histogram(y, np.linspace(*WHOLE, 17))[0] + rng.normal(0, 35, 16), WHOLE, 35.0)
        rows = 500 + rng.normal(0, 80), 80.0
        span = next_span(whole, rows)
        part = BinCounts(np.histogram(y, np.linspace(*span, 17))[0] + rng.normal(0, 35, 16), span, 35.0)
        spreads.append(locate([whole, part], rows).spread)
    assert np.median(spreads) > 0.5 * y.std()


def test_a_wide_span_ends_where_parts_do():
    """So what the second level leaves out is in the first, as a whole."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        counts = np.histogram(rng.normal(rng.uniform(-1, 1), rng.uniform(0.05, 0.4), 2000), 16, (-1, 1))[0]
        low, high = next_span(BinCounts(counts.astype(float), WHOLE, 10.0), (2000.0, 10.0))
        assert -1 <= low < high <= 1
        if high - low >= 0.5:
            assert (8 * low, 8 * high) == (round(8 * low), round(8 * high))


# -------------------------------------------------------------------- one promise


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("rows", [None, 400])
def test_all_events_add_up_to_the_promise(neighbors, rows):
    """However noise decides."""
    X, y = table(400)
    promised = gdp.mu(epsilon=1.0, delta=1e-6)
    for seed in range(15):
        events = fitted(X, y, neighbors=neighbors, rows=rows, random_state=seed).certificate_.events
        spent = math.fsum(event.mu**2 for event in events)
        assert (1 - 1e-6) * promised**2 < spent <= promised**2


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("rows", [None, 2000])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_so_many_stages_are_listed_as_asked_for(stages, rows, neighbors):
    model = fitted(*table(), stages=stages, rows=rows, neighbors=neighbors)
    certificate = model.certificate_
    own = [event for event in certificate.events if isinstance(event, StageEvent)]
    assert sum(not event.of_norms for event in own) == stages == len(model.release_.stages)
    assert [event.of_norms for event in own] == [*[False] * (stages - 1), *[True] * (stages > 2), False]
    assert certificate.declared is None
    assert certificate.guarantee.status == "verified"
    assert all(finding.ok for finding in certificate.check())
    before = [block.statistic for event in certificate.events[: -len(own)] for block in event.blocks]
    counted = rows is None and neighbors == "add-remove"
    assert before == ["sums"] * counted + ["counts", "counts", "sums", "diagonal"]


def test_a_budget_is_charged_once():
    with Budget(1, 1e-6) as budget:
        fitted(*table())
    assert len(budget.to_dict()["releases"]) == 1
    assert budget.epsilon_spent == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("n", [1, 2])
def test_one_row_is_hidden_as_any_other(n):
    X, y = table(n)
    for seed in range(3):
        assert np.isfinite(fitted(X, y, random_state=seed).coef_).all()


def test_no_row_is_refused(no_noise_yet):
    X, y = table(5)
    with pytest.raises(DataError, match="no row"):
        fitted(X[:0], y[:0])


@pytest.mark.parametrize("random_state", [0, NO_NOISE])
@pytest.mark.parametrize("intercept", [True, False])
def test_columns_and_outcomes_that_never_change(random_state, intercept):
    X, y = table(3000)
    X[:, 1] = 0.25
    for outcome in (y, np.full(3000, 2.0), np.zeros(3000)):
        model = fitted(X, outcome, fit_intercept=intercept, random_state=random_state)
        assert np.isfinite(model.predict(X)).all()
    everything = fitted(np.full((500, 2), 0.5), np.full(500, 2.0), random_state=random_state)
    assert everything.predict([[0.5, 0.5]]) == pytest.approx([2.0], abs=1.0)


# -------------------------------------------------------------------- one course


def people(n=3000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 60, n), "hours": rng.uniform(0, 50, n)})
    frame["region"] = rng.choice(["east", "south", "west"], n)
    frame["pay"] = frame["hours"] + 0.2 * frame["age"] + 5 * (frame["region"] == "west") + rng.normal(0, 3, n)
    frame["debt"] = 40 - 0.5 * frame["age"] + rng.normal(0, 3, n)
    return frame


COLUMNS = {"age": (0, 100), "hours": (0, 168), "region": ["east", "south", "west"], "pay": (0, 300), "debt": (-99, 99)}
FEATURES = ["age", "hours", "region"]

WAYS = {
    "default": {},
    "two stages": {"stages": 2},
    "four stages": {"stages": 4},
    "replace-one": {"neighbors": "replace-one"},
    "rows declared": {"rows": 3000},
    "replace-one, rows declared": {"neighbors": "replace-one", "rows": 3000},
    "no intercept": {"domain": Domain(COLUMNS, intercept=False)},
    "a ball": {"domain": Domain(COLUMNS, data_norm=90, norm_columns=["age", "hours"])},
    "missing values": {"domain": Domain(COLUMNS, missing="drop")},
    "mean alone": {"epsilon": 0.003},
    "two stages of noise": {"epsilon": 0.01, "stages": 2},
}


def of_people(targets, **options):
    given = {"domain": Domain(COLUMNS)} | options
    frame = people()
    if given["domain"].missing == "drop":
        frame.loc[::7, "age"] = np.nan
    return DPLinearRegression(**PROMISE | given).fit_source(frame, targets, FEATURES)


@pytest.mark.parametrize("targets", ["pay", ["pay", "debt"]], ids=["one", "two"])
@pytest.mark.parametrize("way", WAYS)
def test_a_saved_release_gives_the_same_model_and_its_course_is_followed_again(way, targets, tmp_path):
    model = of_people(targets, **WAYS[way])
    model.release_.save(tmp_path / "release.json")
    model.results_.save(tmp_path / "results.json")
    loaded = PrivateMoments.load(tmp_path / "release.json")
    again = loaded.fit("pay") if targets == "pay" else loaded.fit_many()
    assert again.coef.tobytes() == model.coef_.tobytes()
    assert np.array_equal(again.intercept, model.intercept_)
    for name in ("release.json", "results.json"):
        assert [finding for finding in check_saved(load_saved(tmp_path / name)) if not finding.ok] == []


def test_threads_and_progress_change_nothing():
    models = [of_people("pay", random_state=1, n_jobs=jobs) for jobs in (1, 2)]
    assert len({model.coef_.tobytes() for model in models}) == 1


@pytest.mark.parametrize("model", ["noise-aware", "ridge", "lasso", "ols"])
def test_models_of_some_columns_fit_the_same_release(model):
    """Noise is so small that least squares on those columns is the measure."""
    frame = people(20_000)
    given = {"domain": Domain(COLUMNS), "epsilon": 20, "random_state": NO_NOISE}
    released = DPLinearRegression(**PROMISE | given).fit_source(frame, "pay", FEATURES).release_
    exact = least_squares(frame[["hours", "age"]], frame["pay"])
    some = released.fit("pay", ["hours", "age"], model=model, **({"alpha": 1e-6} if model in L1_RATIOS else {}))
    assert some.names == ("hours", "age")
    np.testing.assert_allclose(some.coef, exact[:-1], rtol=0.03)
    assert some.intercept == pytest.approx(exact[-1], abs=0.5)


def test_variables_are_selected_by_all_stages():
    """Bounds are five times too wide, which would leave one stage unsure of all but the levels."""
    for seed in range(3):
        released = of_people("pay", random_state=seed).release_
        chosen = released.select("pay")
        assert {chosen.verdict(name) for name in ("hours", "region[west]")} == {"in"}
        assert chosen.probability[chosen.names.index("region[south]")] < 0.9
        assert chosen.coef[chosen.names.index("hours")] == pytest.approx(1.0, abs=0.2)


def test_where_only_the_mean_is_known_nothing_is_sure():
    chosen = of_people("pay", random_state=0, epsilon=0.003).release_.select("pay")
    assert {chosen.verdict(name) for name in chosen.names} == {"unsure"}


# -------------------------------------------------------------------- forged courses


@functools.cache
def honest():
    return of_people(["pay", "debt"], stages=3).release_


def forged(k, **changes):
    """The release with one stage, or that of row norms, looked at in other coordinates."""
    stages = staged(honest())
    at = place(k)
    own = stages[at].event.coordinates
    facts = {"P": own.P.floats, "theta": own.theta.floats, "radius": own.radius, "widths": own.widths}
    facts["row_norms"] = own.row_norms
    facts |= {name: change(facts[name]) for name, change in changes.items()}
    coordinates = Coordinates.rounded(own.design, own.outcomes, **facts)
    stages[at] = replace(stages[at], event=replace(stages[at].event, coordinates=coordinates))
    return stages


def place(k):
    """The place of a stage, or of the release of row norms, among all of them."""
    return {0: 0, 1: 1, "norms": 2, 2: 3}[k]


def test_an_honest_course_does_not_stray():
    assert mismatch(honest()) is None


def test_row_norms_are_counted_before_the_last_stage():
    assert [stage.event.of_norms for stage in staged(honest())] == [False, False, True, False]


@pytest.mark.parametrize(
    "change",
    [
        {"P": lambda P: P * np.linspace(1, 1.001, P.shape[1])},
        {"P": lambda P: P + 1e-3 * np.eye(len(P))},
        {"radius": lambda radius: 0.999 * radius},
        {"row_norms": lambda edges: [1.001 * edge for edge in edges]},
        {"row_norms": lambda edges: edges[1:]},
    ],
    ids=["scaled axes", "bent axes", "another radius", "other edges", "fewer edges"],
)
def test_other_coordinates_of_row_norms_stray(change):
    why = mismatch(honest(), forged("norms", **change))
    assert why == "the coordinates of the release of row norms do not follow from what was released before it"


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize(
    "change",
    [
        {"P": lambda P: P * np.linspace(1, 1.001, P.shape[1])},
        {"P": lambda P: P + 1e-3 * np.eye(len(P))},
        {"theta": lambda theta: theta + 1e-4},
        {"radius": lambda radius: 1.001 * radius},
        {"widths": lambda widths: [[1.001 * b for b in own] for own in widths]},
    ],
    ids=["scaled axes", "bent axes", "another model", "another radius", "other half widths"],
)
def test_other_coordinates_stray(k, change):
    why = mismatch(honest(), forged(k, **change))
    assert why == f"the coordinates of stage {k + 1} do not follow from what was released before it"


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("j", [0, 1])
def test_other_choices_stray(k, j):
    stages, at = staged(honest()), place(k)
    chosen = list(stages[at].event.chosen)
    chosen[j] += 1 if chosen[j] < 9 else -1
    stages[at] = replace(stages[at], event=replace(stages[at].event, chosen=tuple(chosen)))
    assert mismatch(honest(), stages) == f"the half widths of stage {k + 1} do not follow from its counts"


def test_axes_that_are_rotated_are_the_same():
    """The noise prefers no direction, and processors may turn axes that are equally long."""
    rng = np.random.default_rng(0)
    stage = honest().stages[-1].event.coordinates
    Q = np.linalg.qr(rng.normal(size=stage.P.floats.shape))[0]
    assert mismatch(honest(), forged(2, P=lambda P: P @ Q)) is None
