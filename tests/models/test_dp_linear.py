"""The default estimator: one promise, bounds narrowed in one stage, the user's units, and accuracy with a floor."""

import functools
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_table import DOMAIN, people

from discreet import AdaSSP, Domain, DPLinearRegression, Moments, PrivateMoments
from discreet.domain.cells import BINS
from discreet.errors import DataError, DiscreetWarning, FileFormatError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.privacy import gdp
from discreet.recipes.budget import ONE_STAGE as SHARES
from discreet.released.certificate import Certificate
from discreet.solve.noise_aware import noise_aware

RELATIONS = ["add-remove", "replace-one"]
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "n_jobs": 1}
BOX = {"bounds_X": (-1, 1), "bounds_y": (-8, 8)}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The curve is inverted once for each promise, not once for each of hundreds of fits."""
    monkeypatch.setattr(gdp, "mu", functools.cache(gdp.mu))


def table(n=2000, *, d=3, centre=0.0, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, centre + X @ np.linspace(1, 0.3, d) + rng.uniform(-noise, noise, n)


def fitted(*data, **options):
    """A model of (X, y), or of a source with named columns."""
    model = DPLinearRegression(**(PROMISE | ({} if "domain" in options else BOX) | options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return model.fit(*data) if len(data) == 2 else model.fit_source(data[0], "y")


# -------------------------------------------------------------------- much data


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_with_much_data_it_is_ordinary_least_squares_and_clips_nothing(fit_intercept):
    X, y = table(300_000, centre=0.5 if fit_intercept else 0.0)
    model = fitted(X, y, epsilon=10, stages=1, fit_intercept=fit_intercept, random_state=NO_NOISE)
    design = np.column_stack([X, np.full(len(X), float(fit_intercept))])
    *slopes, constant = np.linalg.lstsq(design, y)[0]
    np.testing.assert_allclose(model.coef_, slopes, rtol=2e-4)
    assert model.intercept_ == pytest.approx(constant, abs=2e-4)
    used = model.release_.domain.columns["y"]
    assert used.low <= y.min()
    assert y.max() <= used.high
    assert used.high - used.low < 8  # the bounds were narrowed all the same
    assert model.release_.unclip("y").factor == 1


# -------------------------------------------------------------------- several events, one promise


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_certificate_lists_counts_and_moments_and_adds_up(neighbors):
    model = fitted(*table(), neighbors=neighbors, stages=1)
    certificate = model.certificate_
    assert certificate.guarantee.status == "verified"
    assert [[b.statistic for b in event.blocks] for event in certificate.events] == [
        ["counts"],
        ["gram", "cross", "squares"],
    ]
    assert all(finding.ok for finding in certificate.check())
    assert 0.999999 < certificate.epsilon <= 1
    assert certificate.declared.columns["y"].high == 8
    assert "narrowed to" in certificate.words()
    mu = gdp.mu(epsilon=1.0, delta=1e-6)
    assert certificate.events[0].mu ** 2 == pytest.approx(SHARES["counts"] * mu**2, rel=1e-9)
    assert sum(SHARES.values()) == pytest.approx(1)


@pytest.mark.parametrize("stages", ["auto", 1])
def test_more_noise_than_listed_would_be_found(stages):
    """The check recomputes all events: a smaller sd in any of them is caught."""
    facts = fitted(*table(), stages=stages).certificate_.to_dict()
    assert len(facts["events"]) == (2 if stages == 1 else 8)
    for event in range(len(facts["events"])):
        changed = json.loads(json.dumps(facts))
        changed["events"][event]["blocks"][0]["sd"] *= 0.99
        assert not all(finding.ok for finding in Certificate.from_dict(changed).check())


@pytest.mark.parametrize("stages", ["auto", 1])
@pytest.mark.parametrize(("random_state", "status"), [(None, "verified"), (0, "simulation"), (NO_NOISE, "simulation")])
def test_seeded_noise_is_a_simulation_in_all_stages(random_state, status, stages, tmp_path):
    model = fitted(*table(), random_state=random_state, stages=stages)
    assert model.certificate_.guarantee.status == status
    path = tmp_path / "r.json"
    model.release_.save(path, simulation=status == "simulation")
    assert PrivateMoments.load(path).certificate.guarantee.status == status


def test_a_certificate_survives_json_with_the_bounds_as_declared():
    certificate = fitted(*table(), stages=1).certificate_
    again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict())))
    assert again == certificate
    assert again.declared is not None


def test_a_certificate_whose_domains_do_not_fit_together_is_refused():
    facts = fitted(*table(), stages=1).certificate_.to_dict()
    facts["declared"]["columns"]["other"] = facts["declared"]["columns"].pop("y")
    with pytest.raises(FileFormatError, match="contradicts itself"):
        Certificate.from_dict(facts)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rows", [None, 2000])
@pytest.mark.parametrize("stages", ["auto", 1])
def test_a_loaded_release_gives_the_same_model(fit_intercept, rows, stages, tmp_path):
    model = fitted(*table(centre=2.0), fit_intercept=fit_intercept, rows=rows, stages=stages)
    path = tmp_path / "r.json"
    model.release_.save(path)
    for released in (model.release_, PrivateMoments.load(path)):
        again = released.fit("y")
        assert again.coefficients == model.results_.coefficients
        assert again.coef.tobytes() == model.coef_.tobytes()


# -------------------------------------------------------------------- narrowed bounds


@pytest.mark.parametrize("bounds_y", [(-8, 8), (-3, 5), (0.1, 9.7)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_narrowed_bounds_are_parts_of_the_declared_ones(bounds_y, fit_intercept, seed):
    X, y = table(3000, centre=3.0, seed=seed)
    model = fitted(X, y, bounds_y=bounds_y, stages=1, fit_intercept=fit_intercept, random_state=seed)
    used = model.release_.domain.columns["y"]
    declared = Domain.from_bounds([], ["y"], bounds_y=bounds_y, intercept=fit_intercept)
    c, h = declared.map("y")
    assert bounds_y[0] <= used.low < used.high <= bounds_y[1]
    for bound in {used.low, used.high} - set(bounds_y):
        places = (bound - c) / h * BINS / 2
        assert places == pytest.approx(round(places), abs=1e-9)
    if not fit_intercept:
        assert used.high in (bounds_y[1], -used.low) or used.low in (bounds_y[0], -used.high)
        assert model.release_.domain.map("y")[0] == 0


@pytest.mark.parametrize("bounds_y", [(5, 10), (-10, -5), (2.5, 10), (1e9, 1e9 + 2.5)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_bounds_of_every_kind_can_be_narrowed_whatever_the_noise(bounds_y, fit_intercept):
    X, _ = table(60)
    y = np.linspace(*bounds_y, 60)
    for seed in range(15):
        options = {"bounds_y": bounds_y, "fit_intercept": fit_intercept, "random_state": seed}
        for epsilon in (0.05, 8.0):
            model = fitted(X, y, epsilon=epsilon, **options)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_)


def test_predictions_are_brought_back_from_clipping():
    """A few outcomes far out are clipped; the mean of the predictions is that of all outcomes all the same."""
    X, y = table(20_000, d=40, centre=0.0)
    y = 4 + 0.2 * y
    y[::100] = 15.0
    model = fitted(X, y, bounds_y=(0, 16), stages=1, random_state=NO_NOISE)
    used = model.release_.domain.columns["y"]
    lost = y.mean() - np.clip(y, used.low, used.high).mean()
    assert lost > 0.08
    assert model.predict(X).mean() == pytest.approx(y.mean(), abs=0.25 * lost)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_slopes_are_brought_back_by_the_factor_that_clipping_took(fit_intercept):
    X, y = table(20_000, d=40)
    y += np.random.default_rng(1).laplace(0, 1.5, len(y))
    model = fitted(X, y, bounds_y=(-16, 16), stages=1, fit_intercept=fit_intercept, random_state=NO_NOISE)
    used = model.release_.domain.columns["y"]
    g = np.clip(y, used.low, used.high)
    slope = np.linalg.lstsq(np.column_stack([g, np.full(len(g), float(fit_intercept))]), y)[0][0]
    assert slope > 1.02
    theta = noise_aware(model.release_.equations("y"))[int(fit_intercept) :, 0]
    mapped = theta * (used.high - used.low) / 2
    np.testing.assert_allclose(model.coef_ / mapped, slope, rtol=0.008)


def without_counts(model):
    return [block.statistic for block in model.release_.blocks] == ["gram", "cross", "squares"]


def test_ways_that_do_not_narrow():
    X, y = table()
    domain = Domain.from_bounds(["x0", "x1", "x2"], ["y"], **BOX)
    whole = fitted(X, y, narrow=False, random_state=0)
    summed = DPLinearRegression(**PROMISE, random_state=0).fit_moments(Moments.from_source((X, y), domain), "y")
    assert whole.coef_.tobytes() == summed.coef_.tobytes()
    for model in (whole, summed, fitted(X, y, domain=Domain(domain.columns, data_norm=9))):
        assert without_counts(model)
        assert model.certificate_.declared is None
        assert gdp.compose([event.mu for event in model.certificate_.events]) <= gdp.mu(epsilon=1.0, delta=1e-6)
        assert 0.999999 < model.certificate_.epsilon <= 1


def test_an_outcome_that_is_a_category_is_not_narrowed_in_one_stage():
    frame = people(3000)
    model = DPLinearRegression(**PROMISE, domain=DOMAIN, stages=1, random_state=0)
    model.fit_source(frame, "region[south]", ["age", "hours", "income"])
    assert without_counts(model)
    assert model.release_.fit("region[south]").coefficients == model.results_.coefficients


# -------------------------------------------------------------------- sources


def test_every_source_gives_the_same_coefficients_to_the_last_bit(tmp_path):
    X, y = table(20_000, centre=-2.0)
    names = ["x0", "x1", "x2"]
    domain = Domain.from_bounds(names, ["y"], **BOX)
    frame = pd.DataFrame(X, columns=names)
    whole = pa.table(frame.assign(y=y))
    pq.write_table(whole, tmp_path / "t.parquet", row_group_size=3000)
    given = {"domain": domain, "random_state": 7}
    models = [
        fitted(X, y, random_state=7),
        fitted(X, y, **given),
        fitted(frame, pd.Series(y, name="y"), **given),
        fitted(pa.table(frame), y, **given),
    ]
    for source in (frame.assign(y=y), whole, tmp_path / "t.parquet", [str(tmp_path / "t.parquet")]):
        models.append(fitted(source, **given))
    assert len(models[0].release_.stages) == 3
    assert len({(m.coef_.tobytes(), m.intercept_) for m in models}) == 1


def wrong_inputs(tmp_path):
    X, y = table(50)
    domain = Domain.from_bounds(["x0", "x1", "x2"], ["y"], **BOX)
    whole = pa.table(pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(y=y))
    pq.write_table(whole, tmp_path / "t.parquet")
    fit, named = DPLinearRegression(**PROMISE, **BOX).fit, DPLinearRegression(**PROMISE, domain=domain)
    once, staged = (DPLinearRegression(**PROMISE, domain=domain, stages=stages) for stages in (1, 2))
    lonely = DPLinearRegression(**PROMISE, domain=domain, fit_intercept=False)
    path = tmp_path / "t.parquet"
    return {
        "stream": (ParameterError, "only once", lambda: once.fit_source(whole.to_reader(), "y")),
        "stream in stages": (ParameterError, "no stream", lambda: staged.fit_source(whole.to_reader(), "y")),
        "threads": (ParameterError, "n_jobs", lambda: fitted(X, y, n_jobs=0)),
        "lengths": (DataError, "different lengths", lambda: fit(X, y[:-1])),
        "a column of X missing": (DataError, "'x1'", lambda: named.fit_source(whole.drop_columns("x1"), "y")),
        "a column of X of text": (
            DataError,
            "'x1'",
            lambda: named.fit_source(whole.set_column(1, "x1", pa.array(["a"] * 50)), "y"),
        ),
        "no feature": (ParameterError, "at least one feature", lambda: lonely.fit_source(whole, "y", [])),
        "twice": (ParameterError, "'y'", lambda: named.fit_source(whole, "y", ["x0", "y"])),
        "array": (DataError, "names of columns", lambda: named.fit_source(np.column_stack([X, y]), "y")),
        "a file twice": (DataError, "twice", lambda: named.fit_source([path, path], "y")),
        "moments": (
            ParameterError,
            "'y'",
            lambda: named.fit_moments(Moments.from_source(whole, domain), "y", ["x0", "y"]),
        ),
        "narrow": (ParameterError, "narrow", lambda: fitted(X, y, narrow="yes")),
        "too many stages": (ParameterError, "stages", lambda: fitted(X, y, stages=5)),
        "stages as declared": (ParameterError, "narrow=False", lambda: fitted(X, y, narrow=False, stages=2)),
        "missing outcome": (DataError, "'y'", lambda: fit(X, np.where(y > 0, y, np.nan))),
    }


def test_wrong_input_is_refused_before_noise_is_drawn(no_noise_yet, tmp_path):
    for error, words, attempt in wrong_inputs(tmp_path).values():
        with pytest.raises(error, match=words):
            attempt()


# -------------------------------------------------------------------- words


LOOSE, TIGHT = {"bounds_y": (-100, 100)}, {"bounds_y": (-5, 5)}


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize(("bounds", "warned"), [(LOOSE, True), (TIGHT, False)])
def test_bounds_that_are_far_too_wide_are_named(bounds, warned, narrow):
    X, y = table(20_000, d=10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DPLinearRegression(**(PROMISE | BOX | bounds), narrow=narrow, stages=1, random_state=0).fit(X, y)
    assert [w.category for w in caught] == [DiscreetWarning] * warned
    assert all("'y'" in str(w.message) for w in caught)


def test_nothing_is_said_of_the_bounds_unless_a_release_accounts_for_it():
    X, y = table(20_000, d=10)
    X[5, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="x1"):
            DPLinearRegression(**(PROMISE | BOX | LOOSE), random_state=0).fit(X, y)
        with pytest.raises(DataError, match="x1"):
            DPLinearRegression(**(PROMISE | BOX | LOOSE), stages=1, random_state=0).fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("scale", "shift"), [(4.0, 0.0), (0.125, 0.0), (16.0, 1024.0)])
def test_predictions_follow_the_units_of_the_outcome(scale, shift, fit_intercept):
    """With scales that floating point holds exactly, the mapped data and so the noise are the same."""
    shift *= fit_intercept
    X, y = table(centre=3.0)
    y = np.round(y * 1024) / 1024
    before, after = (
        fitted(X, a + b * y, bounds_y=(a - 8 * b, a + 8 * b), fit_intercept=fit_intercept, random_state=3)
        for a, b in ((0.0, 1.0), (shift, scale))
    )
    assert len(before.release_.stages) == 3
    np.testing.assert_allclose(after.predict(X), shift + scale * before.predict(X), rtol=1e-11)
    np.testing.assert_allclose(after.coef_, scale * before.coef_, rtol=1e-11)


# -------------------------------------------------------------------- accuracy


def relative_errors(cls, make, seeds, **options):
    """Mean squared errors over those of predicting the middle of the bounds."""
    errors = []
    for seed in seeds:
        X, y, X_test, y_test = make(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            model = cls(delta=1e-6, n_jobs=1, bounds_y=(-1, 1), random_state=seed, **options).fit(X, y)
        errors.append(np.mean((model.predict(X_test) - y_test) ** 2) / np.mean(y_test**2))
    return np.array(errors)


OUTCOMES = {
    "even": lambda rng, n: rng.uniform(-1, 1, n),
    "bell": lambda rng, n: np.clip(0.3 * rng.normal(size=n), -1, 1),
    "two values": lambda rng, n: rng.choice([-1.0, 1.0], n),
}


@pytest.mark.parametrize(
    ("outcome", "fit_intercept", "n", "d"),
    [("even", True, 300, 3), ("bell", True, 1000, 20), ("bell", False, 1000, 5), ("two values", True, 1000, 5)],
)
@pytest.mark.more
def test_without_signal_it_is_hardly_worse_than_predicting_nothing(outcome, fit_intercept, n, d):
    rng = np.random.default_rng(n)
    X, y = rng.uniform(-1, 1, (n, d)), OUTCOMES[outcome](rng, n)
    options = {"epsilon": 0.1, "bounds_X": (-1, 1), "fit_intercept": fit_intercept}
    errors = relative_errors(DPLinearRegression, lambda _: (X, y, X, y), range(200), **options)
    assert errors.mean() - 2 * errors.std() / np.sqrt(200) <= 1.05


def isotropic(n, d):
    def make(seed):
        rng = np.random.default_rng([seed, n])
        X = rng.normal(size=(n + 2000, d))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        theta = rng.normal(size=d)
        y = X @ theta / np.linalg.norm(theta) + 0.1 * rng.normal(size=n + 2000)
        return X[:n], y[:n], X[n:], y[n:]

    return make


@pytest.mark.parametrize(("n", "d", "epsilon", "aim"), [(10_000, 50, 0.1, 0.85), (1_000, 50, 1.0, 0.90)])
def test_isotropic_rows_are_fitted_better_than_by_adassp(n, d, epsilon, aim):
    options = {"epsilon": epsilon, "data_norm": 1, "fit_intercept": False}
    ours, theirs = (relative_errors(c, isotropic(n, d), range(10), **options) for c in (DPLinearRegression, AdaSSP))
    assert ours.mean() < aim
    assert ours.mean() < theirs.mean()
