"""ReuseCov: every way in, every option's guarantee, and what it must refuse."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from discreet import (
    Budget,
    Domain,
    DPLinearRegression,
    DPRidge,
    Moments,
    PrivateMoments,
    ReuseCov,
    formula,
    release,
)
from discreet.data.public_outcomes import PublicOutcomes
from discreet.data.reading import Table
from discreet.drivers.sources import SampledSource
from discreet.errors import BudgetError, DataError, DomainError, GuaranteeError, ParameterError
from discreet.gate.entropy import NO_NOISE, entropy
from discreet.gate.session import Session, promised
from discreet.mechanisms.reuse_covariance.estimator import independent_runs, projected, with_squares
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent
from discreet.privacy import gdp
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.released.equations import normal_equations
from discreet.results.results import Results

N, D, L = 3000, 3, 7
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (N, D))
B = RNG.uniform(-0.5, 0.5, (D, L))
Y = X @ B + 0.05 * RNG.standard_normal((N, L))
GIVEN = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, 1), "bounds_y": (-1.5, 1.5), "n_jobs": 1}
PUBLIC = {"association": "projection", "neighbors": "replace-one"}
OPTIONS = [
    {},
    {"neighbors": "replace-one"},
    PUBLIC,
    {"subsample": 0.4},
    {"subsample": 0.4, "neighbors": "replace-one"},
    PUBLIC | {"subsample": 0.4},
    {"solve": "ridge"},
    {"solve": "cg", "alpha": 10.0},
    {"gram_share": 0.2},
    {"fit_intercept": False},
]
TABLE = pd.DataFrame(np.hstack([X, Y]), columns=[*"abc", *(f"t{j}" for j in range(L))])
NAMES = [f"t{j}" for j in range(L)]
DOMAIN = Domain(dict.fromkeys("abc", (0, 1)) | dict.fromkeys(NAMES, (-1.5, 1.5)))


def model(**options):
    return ReuseCov(**GIVEN | options)


def quiet(**options):
    return model(**{"random_state": NO_NOISE} | options)


# ---------------------------------------------------------------- what comes out


@pytest.mark.parametrize("options", OPTIONS)
def test_every_option_keeps_its_promise_exactly(options):
    fitted = model(**options).fit(X, Y)
    certificate = fitted.certificate_
    assert certificate.guarantee.status == "verified"
    assert 0.9999 < certificate.epsilon <= 1
    assert all(finding.ok for finding in certificate.check())
    assert fitted.coef_.shape == (L, D)
    assert fitted.intercept_.shape == (L,)
    assert fitted.predict(X).shape == (N, L)
    assert np.isfinite(fitted.predict(X)).all()
    kinds = {type(event) for event in certificate.events}
    wanted = {PublicOutcomesEvent if "association" in options else GaussianEvent}
    assert kinds == wanted | ({SampledEvent} if "subsample" in options else set())


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
@pytest.mark.parametrize("options", [o for o in OPTIONS if "subsample" not in o and "alpha" not in o])
def test_without_noise_it_is_least_squares(options):
    fitted = quiet(**options | {"epsilon": 20_000}).fit(X, Y)
    D1 = np.column_stack([np.ones(N), X]) if options.get("fit_intercept", True) else X
    off = fitted.predict(X) - D1 @ np.linalg.lstsq(D1, Y)[0]
    assert np.mean(off**2) < 1e-4 * np.mean(Y.var(axis=0))


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
@pytest.mark.parametrize("options", [o for o in OPTIONS if "solve" not in o])
def test_with_little_noise_it_is_near_least_squares(options):
    fitted = model(**options | {"epsilon": 300.0, "random_state": 1}).fit(X, Y)
    D1 = np.column_stack([np.ones(N), X]) if options.get("fit_intercept", True) else X
    off = fitted.predict(X) - D1 @ np.linalg.lstsq(D1, Y)[0]
    assert np.mean(off**2) < 0.1 * np.mean(Y.var(axis=0))


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
def test_a_single_outcome_is_a_single_model():
    fitted = quiet(epsilon=20_000).fit(X, Y[:, 0])
    assert isinstance(fitted.results_, Results)
    assert fitted.coef_.shape == (D,)
    assert fitted.predict(X).shape == (N,)
    many = quiet(epsilon=20_000).fit(X, Y)
    np.testing.assert_allclose(fitted.coef_, many.coef_[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("options", [PUBLIC, {"subsample": 0.4}])
def test_a_single_outcome_with_options(options):
    fitted = model(**options).fit(X, Y[:, 0])
    assert isinstance(fitted.results_, Results)
    assert all(finding.ok for finding in fitted.certificate_.check())


# ---------------------------------------------------------------- ways in


def ways():
    frame, table = TABLE, pa.Table.from_pandas(TABLE)
    return {
        "frames": lambda m: m.fit(frame[list("abc")], frame[NAMES]),
        "frame and array": lambda m: m.fit(frame[list("abc")], Y),
        "frame and table": lambda m: m.fit(frame[list("abc")], table.select(NAMES)),
        "tables": lambda m: m.fit(table.select(list("abc")), table.select(NAMES)),
        "table and array": lambda m: m.fit(table.select(list("abc")), Y),
        "table and frame": lambda m: m.fit(table.select(list("abc")), frame[NAMES]),
        "polars": lambda m: m.fit(pl.from_pandas(frame[list("abc")]), pl.from_pandas(frame[NAMES])),
        "array and frame": lambda m: m.fit(X, frame[NAMES]),
        "array and table": lambda m: m.fit(X, table.select(NAMES)),
        "arrays": lambda m: m.fit(X, Y),
        "lists": lambda m: m.fit(X.tolist(), Y.tolist()),
        "source": lambda m: m.fit_source(frame, NAMES),
        "source, features": lambda m: m.fit_source(table, NAMES, ["a", "b", "c"]),
        "moments": lambda m: m.fit_moments(Moments.from_source(frame, DOMAIN, targets=NAMES)),
        "whole moments": lambda m: m.fit_moments(Moments.from_source(frame, DOMAIN), NAMES),
    }


@pytest.mark.parametrize("way", ways())
def test_every_way_in_gives_the_same_model(way):
    fitted = ways()[way](ReuseCov(epsilon=1, delta=1e-6, domain=DOMAIN, n_jobs=1, random_state=0))
    other = model(random_state=0).fit(X, Y)
    np.testing.assert_allclose(fitted.coef_, other.coef_, rtol=1e-9)
    assert fitted.results_.targets == tuple(NAMES)
    assert fitted.predict(TABLE[list("abc")]).shape == (N, L)


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
def test_bounds_of_each_outcome():
    high = np.linspace(1.5, 3, L)
    fitted = quiet(bounds_y=(-1.5, high), epsilon=20_000).fit(X, Y)
    assert fitted.certificate_.domain.columns["y6"].high == 3.0
    np.testing.assert_allclose(fitted.coef_, quiet(epsilon=20_000).fit(X, Y).coef_, atol=2e-3)


def test_a_norm_bound_on_the_outcomes():
    domain = Domain(dict.fromkeys("abc", (0, 1)) | dict.fromkeys(NAMES, (-1.5, 1.5)), data_norm=2.0, norm_columns=NAMES)
    fitted = ReuseCov(epsilon=1, delta=1e-6, domain=domain, random_state=0).fit(TABLE[list("abc")], TABLE[NAMES])
    cross = next(block for block in fitted.release_.blocks if block.statistic == "cross")
    plain = next(block for block in model(random_state=0).fit(X, Y).release_.blocks if block.statistic == "cross")
    assert cross.sd < 0.5 * plain.sd


def test_what_is_public_of_outcomes_does_not_depend_on_private_features():
    """Exact sums of the outcomes would show whose features are missing, or long: such domains are refused."""
    columns = dict.fromkeys("abc", (0, 1)) | dict.fromkeys(NAMES, (-1.5, 1.5))
    lacking = TABLE.assign(a=TABLE["a"].where(TABLE.index != 7))
    given = {"epsilon": 1, "delta": 1e-6, "random_state": 0}
    with pytest.raises(DomainError, match="which rows are left out"):
        ReuseCov(**given, **PUBLIC, domain=Domain(columns, missing="drop")).fit_source(lacking, NAMES)
    with pytest.raises(DomainError, match="how far an outcome is shortened"):
        ReuseCov(**given, **PUBLIC, domain=Domain(columns, data_norm=1.0)).fit_source(TABLE, NAMES)
    ReuseCov(**given, neighbors="replace-one", domain=Domain(columns, missing="drop")).fit_source(lacking, NAMES)
    other = TABLE.assign(a=TABLE["a"].where(TABLE.index != 7, 1.0), b=TABLE["b"].where(TABLE.index != 7, 0.0))
    for ball in (NAMES, ["a", "b"]):
        domain = Domain(columns, data_norm=1.0, norm_columns=ball)
        one, two = (PublicOutcomes.of(Table.of(table, domain), NAMES) for table in (TABLE, other))
        assert (one.n, one.norm) == (two.n, two.norm)
        assert np.array_equal(one.gram, two.gram)
        assert np.array_equal(one.sums, two.sums)


def test_public_outcomes_share_no_column_with_private_features():
    """A product of a feature and another column, exactly known, would show the feature."""
    derived = formula("y0 ~ a + b + c + a:b + a:c", Domain(dict.fromkeys(("a", "b", "c", "y0"), (0, 1)))).domain
    given = {"epsilon": 1, "delta": 1e-6, "domain": derived}
    for outcome, features in (("a:b", ["a"]), ("a:b", ["a:c"]), ("a", ["a:b"])):
        with pytest.raises((DomainError, ParameterError)) as caught:
            ReuseCov(**given, **PUBLIC).fit_source(TABLE, [outcome], features)
        assert "'a'" in str(caught.value)
    apart = ReuseCov(**given, **PUBLIC)
    assert apart.fit_source(TABLE, ["a:b"], ["c"]).certificate_.guarantee.status == "verified"
    with (
        Budget(9, 1e-5, neighbors="replace-one", public_outcomes=["a:b"]),
        pytest.raises(BudgetError, match="'a' and 'b'"),
    ):
        apart.fit_source(TABLE, ["a:b"], ["c"])
    with Budget(9, 1e-5, neighbors="replace-one", public_outcomes=["a", "b"]) as budget:
        apart.fit_source(TABLE, ["a:b"], ["c"])
    assert budget.to_dict()["releases"][0]["public_outcomes"] == ["a", "b"]


@pytest.mark.parametrize("facts", [{"missing": "drop"}, {"data_norm": 1.0, "norm_columns": ["a", NAMES[0]]}])
def test_a_certificate_of_what_no_public_outcomes_allow_fails(facts):
    made = model(**PUBLIC).fit(TABLE[list("abc")], TABLE[NAMES]).certificate_
    assert all(finding.ok for finding in made.check())
    forged = replace(made, domain=Domain.from_dict(made.domain.to_dict() | facts))
    assert any("lists what no release has" in finding.detail for finding in forged.check() if not finding.ok)


def test_levels_of_categories_as_outcomes():
    frame = TABLE[list("abc")].assign(sex=np.where(X[:, 0] > 0.5, "F", "M"), up=Y[:, 0] > 0)
    domain = Domain(dict.fromkeys("abc", (0, 1)) | {"sex": ["F", "M"], "up": bool})
    fitted = ReuseCov(epsilon=1, delta=1e-6, domain=domain).fit_source(frame, ["sex", "up[True]"])
    assert fitted.results_.targets == ("sex[M]", "up[True]")
    assert fitted.coef_.shape == (2, 3)


def test_two_dimensional_y_in_the_default_estimator():
    one, many = (DPLinearRegression(**GIVEN, random_state=3, stages=stages).fit(X, Y) for stages in (1, "auto"))
    assert np.array_equal(one.coef_, model(random_state=3).fit(X, Y).coef_)
    assert one.certificate_.method == "ReuseCov"
    assert many.certificate_.method == "DPLinearRegression"
    assert many.release_.stages
    for fitted in (one, many):
        assert fitted.results_.several
        assert fitted.coef_.shape == (L, 3)
        assert fitted.predict(X).shape == (N, L)
    again = many.release_.fit_many()
    assert np.array_equal(again.coef, many.coef_)
    frames = DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN).fit(TABLE[list("abc")], TABLE[NAMES])
    assert frames.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(DataError, match="one column"):
        DPRidge(**GIVEN).fit(X, Y)
    with pytest.raises(ParameterError, match="sample_weight"):
        DPLinearRegression(**GIVEN).fit(X, Y, np.ones(N))


# ---------------------------------------------------------------- releases and later fits


def test_release_once_fit_any_outcome_later(tmp_path):
    moments = Moments.from_source(TABLE, DOMAIN, targets=NAMES)
    public = release(moments, epsilon=1, delta=1e-6)
    assert {block.statistic: block.columns for block in public.blocks}["cross"] == tuple(NAMES)
    public.save(tmp_path / "r.json")
    loaded = PrivateMoments.load(tmp_path / "r.json")
    many = loaded.fit_many()
    for j in (0, L - 1):
        one = loaded.fit(NAMES[j])
        np.testing.assert_allclose(one.coef, many.coef[j], rtol=1e-9)
    some = loaded.fit_many(["t3", "t1"], ["a", "c"], solve="ridge", alpha=5.0)
    assert (some.targets, some.names) == (("t3", "t1"), ("a", "c"))
    with pytest.raises(ParameterError, match="outcomes"):
        release(Moments.from_source(TABLE, DOMAIN), epsilon=1, delta=1e-6).fit_many()
    with pytest.raises(ParameterError, match="two different outcomes"):
        release(moments, epsilon=1, delta=1e-6, targets=["a", "t0"])


@pytest.mark.parametrize("options", [PUBLIC, {"subsample": 0.4}, PUBLIC | {"subsample": 0.4}])
def test_files_of_the_new_events(options, tmp_path):
    fitted = model(**options).fit(X, Y)
    fitted.release_.save(tmp_path / "r.json")
    loaded = PrivateMoments.load(tmp_path / "r.json")
    assert loaded.certificate == fitted.certificate_
    assert all(finding.ok for finding in loaded.certificate.check())
    body = json.loads((tmp_path / "r.json").read_text())
    for event in body["certificate"]["events"]:
        for key, factor in (("norm", 2), ("full_mu", 0.5)):
            if key in event:
                event[key] *= factor
    from discreet.released.certificate import Certificate

    assert not all(finding.ok for finding in Certificate.from_dict(body["certificate"]).check())


def test_sampled_sums_stand_for_all_rows():
    fitted = model(subsample=0.25, epsilon=50.0, random_state=0).fit(X, Y)
    assert fitted.release_.rows() == pytest.approx(N, rel=0.1)
    whole = Moments.from_source((X, Y), fitted.release_.domain).floats([0, 1, 2, 3])
    S = fitted.release_.equations("y0").S
    assert np.linalg.norm(S - whole) < 0.2 * np.linalg.norm(whole)
    plain = fitted.release_.fit("y0")
    assert "sample of the rows" in str(plain.summary())


def test_what_the_certificate_says():
    public = model(**PUBLIC).fit(X, Y).certificate_.words()
    assert "The outcomes were declared PUBLIC" in public
    assert "The promise covers the features only" in public
    sampled = model(subsample=0.4).fit(X, Y).certificate_.words()
    assert "secret random sample of about 0.4 of the rows" in sampled
    assert "PUBLIC" not in sampled


# ---------------------------------------------------------------- budgets, seeds, samples


def test_budgets():
    with Budget(epsilon=1, delta=1e-6) as budget:
        model().fit(X, Y)
        with pytest.raises(BudgetError):
            model().fit(X, Y)
    assert budget.epsilon_spent == pytest.approx(1, rel=1e-3)
    with Budget(epsilon=1, delta=1e-6, adding=False), pytest.raises(BudgetError, match="not Gaussian"):
        model(subsample=0.4).fit(X, Y)
    with Budget(epsilon=2, delta=2e-6, adding=True) as budget:
        model(subsample=0.4).fit(X, Y)
    assert 0.99 < budget.epsilon_spent <= 1


@pytest.mark.parametrize("options", [{}, {"subsample": 0.4}, PUBLIC])
def test_seeds_are_simulations(options, tmp_path):
    fitted = model(**options, random_state=0).fit(X, Y)
    assert fitted.certificate_.guarantee.status == "simulation"
    assert np.array_equal(fitted.coef_, clone(fitted).fit(X, Y).coef_)
    with pytest.raises(GuaranteeError, match="simulation"):
        fitted.results_.save(tmp_path / "m.json")


def sampled():
    domain = Domain.from_bounds(["a", "b", "c"], NAMES, bounds_X=(0, 1), bounds_y=(-1.5, 1.5))
    source = SampledSource(Table.of((X, Y), domain, 1), NAMES, 0.4)
    source.prepare(None, Session(promised(1, 1e-6, None, "add-remove"), "an example", None, 0))
    return source


def test_a_table_to_be_sampled_is_confidential():
    found = sampled()
    assert str(N) not in repr(found)
    assert "confidential" in repr(found)
    with pytest.raises(TypeError, match="confidential"):
        pickle.dumps(found)


def test_the_sample_changes_only_products_of_features():
    domain = Domain.from_bounds(["a", "b", "c"], NAMES, bounds_X=(0, 1), bounds_y=(-1.5, 1.5))
    sample = sampled().sampled_moments(entropy(5))
    whole = Moments.from_source((X, Y), domain, targets=NAMES)
    rows, columns = np.repeat(range(4), L), np.tile(range(4, 4 + L), 4)
    assert np.array_equal(sample.integers(rows, columns), whole.integers(rows, columns))
    share = int(sample.integers([0], [0])[0]) / int(whole.integers([0], [0])[0])
    assert share == pytest.approx(0.4, abs=0.05)


def test_public_outcomes_from_few_and_many_rows():
    wide = Domain.from_bounds(["a", "b", "c"], NAMES, bounds_X=(0, 1), bounds_y=(-1.5, 1.5))
    few, many = (PublicOutcomes.of(Table.of((X[:k], Y[:k]), wide), NAMES) for k in (5, N))
    assert few.gram is None
    assert few.rows.shape == (5, L)
    assert many.rows is None
    np.testing.assert_allclose(many.gram, (Y / 1.5).T @ (Y / 1.5), rtol=1e-5)
    assert many.norm == pytest.approx(np.linalg.norm(Y / 1.5, axis=1).max(), rel=1e-5)
    np.testing.assert_allclose(few.squares, np.sum((Y[:5] / 1.5) ** 2, axis=0), rtol=1e-5)
    fitted = model(**PUBLIC).fit(X[:5], Y[:5])
    assert np.isfinite(fitted.coef_).all()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"association": "none"}, "association"),
        ({"association": "projection"}, "replace-one"),
        ({"subsample": 1.0}, "subsample"),
        ({"subsample": 0}, "subsample"),
        ({"gram_share": 2}, "gram_share"),
        ({"solve": "lasso"}, "solve"),
        ({"alpha": 1.0}, "alpha"),
        ({"solve": "ridge", "alpha": -1.0}, "alpha"),
        ({"published": "wang2018"}, "published"),
        ({"published": "neel2023"}, "replace-one"),
        ({"published": "neel2023", "neighbors": "replace-one", "gram_share": 0.5}, "fixed split"),
        ({"epsilon": None}, "epsilon"),
    ],
)
def test_bad_options_are_refused_before_noise(options, words, no_noise_yet):
    with pytest.raises(ParameterError, match=words):
        model(**options).fit(X, Y)


def test_bad_input_is_refused_before_noise(no_noise_yet):
    for y, error in ((Y[:-1], DataError), (np.where(Y > 0.4, np.nan, Y), DataError), (Y.astype(str), DataError)):
        with pytest.raises(error):
            model().fit(X, y)
    with pytest.raises(DomainError, match="No bounds"):
        ReuseCov(epsilon=1, delta=1e-6).fit(X, Y)
    with pytest.raises(DomainError, match="not both"):
        model(domain=DOMAIN).fit(X, Y)
    with pytest.raises(ParameterError, match="need the rows"):
        model(subsample=0.5).fit_moments(Moments.from_source(TABLE, DOMAIN, targets=NAMES))
    with pytest.raises(ParameterError, match="outcome and feature"):
        ReuseCov(epsilon=1, delta=1e-6, domain=DOMAIN).fit_source(TABLE, NAMES, ["a", "t0"])
    with pytest.raises(DataError, match="among the features"):
        model().fit(TABLE[["a", "b"]], TABLE[["b", "c"]])
    stream = pa.Table.from_pandas(TABLE).to_reader()
    with pytest.raises(ParameterError, match="only once"):
        ReuseCov(epsilon=1, delta=1e-6, domain=DOMAIN, **PUBLIC).fit_source(stream, NAMES)


# ---------------------------------------------------------------- baselines


def test_independent_runs_compose_to_the_promise():
    moments = Moments.from_source(TABLE, DOMAIN, targets=NAMES)
    fits = independent_runs(moments, NAMES, epsilon=1, delta=1e-6)
    mu = gdp.compose([fit.certificate.events[0].mu for fit in fits])
    assert 0.999 < gdp.epsilon(mu=mu, delta=1e-6) <= 1
    assert all(set(fit.names) == set("abc") for fit in fits)


def test_noise_of_a_sample_is_that_of_all_rows_scaled():
    fitted = model(subsample=0.25, random_state=0).fit(X, Y)
    gram = fitted.release_.blocks[0]
    e, n = fitted.release_.equations("y0"), fitted.release_.rows()
    sampling = 2 * (1 / 0.25 - 1) * n * 4.0**2 / (4 * 5)  # (1/q - 1) n R^4 over d (d + 1)/2 entries, R^2 = d = 4
    assert e.s_xx == pytest.approx(np.sqrt((gram.sd / 0.25) ** 2 + sampling))
    assert e.noise_variances[0, 1] == pytest.approx(e.s_xx**2 / 2)


def test_sums_and_squares_of_public_outcomes_have_no_noise():
    fitted = model(**PUBLIC | {"epsilon": 8.0, "random_state": 0}).fit(X, Y)
    raw = normal_equations(fitted.release_, [f"y{j}" for j in range(L)])
    facts = PublicOutcomes.of(Table.of((X, Y), fitted.release_.domain), raw.targets)
    e = projected(with_squares(raw, facts), facts, 2.0)
    np.testing.assert_allclose(e.V[0], (Y / 1.5).sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(e.squares, ((Y / 1.5) ** 2).sum(axis=0), rtol=1e-4)
    assert np.all(np.abs(raw.V[0] - e.V[0]) > 0.1)
    assert np.all(e.s_V <= raw.s_V * (1 + 1e-9))
    assert not any(block.statistic == "squares" for block in fitted.release_.blocks)
    np.testing.assert_allclose(fitted.results_.debiased, fitted.release_.fit_many().debiased)  # intervals: as released


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
def test_intervals_with_public_outcomes():
    fitted = model(**PUBLIC | {"epsilon": 30.0, "random_state": 0}).fit(X, Y)
    low, high = np.moveaxis(fitted.results_.conf_int(0.9999)[:, 1:], -1, 0)
    assert np.all((low < B.T) & (high > B.T))
    one = model(**PUBLIC | {"epsilon": 30.0, "random_state": 0}).fit(X, Y[:, 0]).results_
    assert one.std_err["x0"] > 0
