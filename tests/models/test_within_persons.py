"""Persons absorbed, ``y ~ x | person``: the within estimator against other packages and by hand, and its promise."""

import itertools
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm

import discreet
from discreet import Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression, formula, plan, release
from discreet.data import persons
from discreet.data.moments import Moments
from discreet.data.reading import Table
from discreet.domain.encoding import ONE
from discreet.domain.kinds.deviation import Deviation
from discreet.errors import DiscreetError, DomainError, NotReleasedError, ParameterError
from discreet.per_instance import losses
from discreet.privacy import sensitivity

pytestmark = pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")

YEARS = [2010, 2011, 2012, 2013]
COLUMNS = {"x": (0, 16), "z": (0, 8), "year": YEARS, "y": (-64, 64)}
DOMAIN = Domain(COLUMNS, person="id", rows_per_person=4)
TEXT = "y ~ x + z + C(year) | id"
SURE = {"epsilon": 1e6, "delta": 1e-6, "random_state": 1}


def panel(people=400, seed=0, times=YEARS):
    """Rows on a grid of powers of two, four or a power of two a person, so that deviations are exact."""
    rng = np.random.default_rng(seed)
    who, T = np.repeat(np.arange(people), len(times)), len(times)
    own = rng.normal(0, 2, people)[who]
    x = rng.normal(8, 1, people * T) + own
    z = rng.uniform(0, 8, people * T)
    year = np.tile(times, people)
    y = 5 * own + 1.5 * x - 0.5 * z + (year == 2012) + rng.normal(0, 1, people * T)
    table = pd.DataFrame({"x": x.clip(0, 16), "z": z, "y": y.clip(-64, 64)})
    return (np.round(table * 256) / 256).assign(year=year, id=who)


TABLE = panel()


def deviations(table, weights=None):
    """Deviations from the means of persons, by pandas."""
    own = pd.concat([table[["x", "z"]], pd.get_dummies(table.year, prefix="year").iloc[:, 1:], table[["y"]]], axis=1)
    own = own.astype(float)
    w = pd.Series(1.0, table.index) if weights is None else weights
    mean = own.mul(w, axis=0).groupby(table.id).transform("sum").div(w.groupby(table.id).transform("sum"), axis=0)
    return own - mean


def moments(table, text=TEXT, domain=DOMAIN):
    model = formula(text, domain)
    return Moments.from_source(table, model.domain), model


# ---------------------------------------------------------------- the formula


def test_the_formula_makes_deviations():
    model = formula("y ~ x + log(z + 1) + x:z + C(year) | id", DOMAIN)
    assert model.features == ["x", "log(z + 1)", "x:z", "year[2011]", "year[2012]", "year[2013]"]
    assert not model.domain.intercept
    assert model.domain.columns["x"].bounds == (-16, 16)
    assert model.domain.columns["year[2012]"].bounds == (-1, 1)
    assert set(model.domain.reads) == {"x", "z", "year", "y", "id"}
    assert Domain.from_dict(json.loads(json.dumps(model.domain.to_dict()))) == model.domain
    assert model.domain.format_version == 8


@pytest.mark.parametrize(
    ("text", "domain", "told"),
    [
        ("y ~ x | year", DOMAIN, "Only persons can be absorbed"),
        ("y ~ x | who", DOMAIN, "which is 'id' here"),
        ("y ~ x | x + z", DOMAIN, "Only persons"),
        ("y ~ x | id + z", DOMAIN, "Expected"),
        ("y ~ x - 1 | id", DOMAIN, "a constant of its own"),
        ("y ~ 1 | id", DOMAIN, "Name a feature"),
        ("y ~ x |", DOMAIN, "After '|'"),
        ("y ~ x | id", Domain(COLUMNS), "none is declared"),
        ("y ~ x | id", Domain(COLUMNS | {"x": "number"}, person="id", rows_per_person=4), "has no bounds"),
    ],
)
def test_other_formulas_are_refused(text, domain, told):
    with pytest.raises(ParameterError, match=told):
        formula(text, domain)


def test_deviations_and_plain_columns_do_not_mix():
    made = Deviation.made("x", DOMAIN.columns["x"])
    for columns, options in [
        ({"x": made, "y": (0, 1)}, {"person": "id", "rows_per_person": 1, "intercept": False}),
        ({"x": made}, {"person": "id", "rows_per_person": 1}),
        ({"x": made}, {"intercept": False}),
    ]:
        with pytest.raises(DomainError, match="Deviations"):
            Domain(columns, **options)


def test_no_way_in_gives_them_an_intercept():
    model = formula(TEXT, DOMAIN)
    assert model.domain.with_intercept(True) == model.domain
    fitted = DPLinearRegression(epsilon=1, delta=1e-6, domain=model.domain).fit_source(TABLE, "y", model.features)
    assert "(intercept)" not in fitted.results_.coefficients
    assert all(own.ok for own in fitted.certificate_.check())


def test_rows_of_nobody_are_refused():
    model = formula(TEXT, DOMAIN)
    with pytest.raises(DomainError, match="need person="):
        Table.of(TABLE, model.domain.of_rows())


def test_forged_deviations_are_refused():
    facts = formula(TEXT, DOMAIN).domain.to_dict()
    for change in ({"low": -99.0}, {"high": 0.0, "low": 1.0}, {"level": 1}, {"of": 3}, {"more": 1}, {"spec": "number"}):
        columns = facts["columns"] | {"x": {"deviation": facts["columns"]["x"]["deviation"] | change}}
        with pytest.raises(DiscreetError):
            Domain.from_dict(facts | {"columns": columns})


# ---------------------------------------------------------------- sums


@pytest.mark.parametrize("order", ["sorted", "shuffled", "batches", "on disk"])
def test_sums_are_those_by_hand_to_the_last_bit(order, tmp_path, monkeypatch):
    table = TABLE if order == "sorted" else TABLE.sample(frac=1, random_state=3)
    if order == "on disk":
        monkeypatch.setattr(persons, "IN_MEMORY", 1000)
    source = table
    if order in ("batches", "on disk"):
        batches = pa.Table.from_pandas(table, preserve_index=False).to_batches(max_chunksize=37)
        source = pa.Table.from_batches(batches)
    found, model = moments(source)
    own = deviations(TABLE)
    own.columns = list(model.domain.columns)
    Z = np.round(own / np.array([column.high for column in model.domain.columns.values()]) * ONE).to_numpy()
    assert ((own / np.array([column.high for column in model.domain.columns.values()]) * ONE) == Z).all(axis=None)
    gram = np.array([[sum(map(int, a * b)) for b in Z.T] for a in Z.T], dtype=object)
    names = list(model.domain.columns)
    assert found.count == len(TABLE)
    np.testing.assert_array_equal(exact(found, names), gram)


def exact(found, names):
    """X'X of moments in units of 2^-40; rows count 2^20 each."""
    whole = summed(found, names)
    assert all(value % (1 << 20) == 0 for value in whole.flat)
    return whole >> 20


def summed(found, names):
    """X'X of moments in their own units."""
    places = np.array(found.domain.indices(names))
    return found.integers(*np.meshgrid(places, places)).astype(object)


def test_a_person_alone_moves_the_sums_by_the_bound_at_most():
    """Brute force: all rows of a person at corners of the box, up to twice as many as count."""
    domain = Domain({"x": (0, 1), "g": ["a", "b"], "y": (0, 1)}, person="id", rows_per_person=2)
    model = formula("y ~ x + C(g) | id", domain)
    bound = sensitivity.norm(tuple(model.domain.columns), model.domain)
    for rows in (1, 2, 3, 4):
        for corner in itertools.product((0, 1), repeat=3 * rows):
            values = np.array(corner).reshape(rows, 3)
            table = pd.DataFrame(
                {"x": values[:, 0], "g": np.array(["a", "b"])[values[:, 1]], "y": values[:, 2], "id": 7}
            )
            found = Moments.from_source(table, model.domain)
            G = summed(found, list(model.domain.columns)).astype(float) / 2.0**found.bits
            assert np.trace(G) <= 2 * bound**2 + 1e-9


def test_only_the_rows_of_a_person_move():
    """The coordinates of everybody else are the same, bit by bit, whoever is there."""
    model = formula(TEXT, DOMAIN)

    def rows(table):
        reader = Table.of(table, model.domain)
        found = reader.read(lambda batches: [batch.A.copy() for batch in batches], n_jobs=1)
        return np.concatenate([A for part in found for A in part])

    whole, less = rows(TABLE), rows(TABLE[TABLE.id != 17])
    assert {tuple(row) for row in less.tolist()} <= {tuple(row) for row in whole.tolist()}
    assert len(whole) - len(less) == 4


def test_one_row_tells_nothing():
    single = TABLE[TABLE.year == 2010]
    found, model = moments(single)
    assert not exact(found, list(model.domain.columns)).any()


def test_rows_that_lack_a_value_do_not_enter_the_means():
    holes = TABLE.astype({"x": float})
    holes.loc[::5, "x"] = np.nan
    found, model = moments(holes, domain=DOMAIN.with_missing("drop"))
    other, _ = moments(holes.dropna(), domain=DOMAIN)
    names = list(model.domain.columns)
    np.testing.assert_array_equal(exact(found, names), exact(other, names))
    with pytest.raises(DiscreetError, match="missing"):
        moments(holes)


def test_weighted_persons_have_weighted_means():
    rng = np.random.default_rng(1)
    table = TABLE.assign(w=rng.integers(1, 5, len(TABLE)) / 4)
    domain = DOMAIN.with_unit(weights="w", largest_weight=1.0)
    model = DPLinearRegression(domain=domain, **SURE).fit_formula(TEXT, table)
    own = deviations(table, table.w)
    X, y, w = own.iloc[:, :-1].to_numpy(), own["y"].to_numpy(), table.w.to_numpy()
    expected = np.linalg.solve(X.T @ (X * w[:, None]), X.T @ (w * y))
    np.testing.assert_allclose(model.results_.params, expected, atol=2e-3)


# ---------------------------------------------------------------- estimates


def test_standard_errors_are_the_clustered_ones_of_statsmodels_without_noise():
    own = deviations(TABLE)
    groups = {"groups": TABLE.id, "use_correction": False}
    other = sm.OLS(own["y"], own.iloc[:, :-1]).fit(cov_type="cluster", cov_kwds=groups)
    results = DPLinearRegression(domain=DOMAIN, **SURE).fit_formula(TEXT, TABLE).results_
    np.testing.assert_allclose(results.params, other.params, atol=2e-3)
    np.testing.assert_allclose(results.bse, other.bse, rtol=0.05)


def test_without_noise_it_is_that_of_linearmodels():
    panels = pytest.importorskip("linearmodels.panel", reason="linearmodels is in the extra bench")
    dummies = pd.get_dummies(TABLE.year, prefix="year").iloc[:, 1:].astype(float)
    frame = pd.concat([TABLE, dummies], axis=1).set_index(["id", "year"])
    model = panels.PanelOLS(frame.y, frame[["x", "z", *dummies]], entity_effects=True)
    other = model.fit(cov_type="clustered", cluster_entity=True, debiased=False, group_debias=False)
    found, described = moments(TABLE)
    names = list(described.domain.columns)
    scale = np.array([described.domain.columns[name].high for name in names]) / ONE
    G = exact(found, names).astype(float) * np.outer(scale, scale)
    np.testing.assert_allclose(np.linalg.solve(G[:-1, :-1], G[:-1, -1]), other.params, rtol=1e-10)
    results = DPLinearRegression(domain=DOMAIN, **SURE).fit_formula(TEXT, TABLE).results_
    np.testing.assert_allclose(results.params, other.params, atol=2e-3)
    np.testing.assert_allclose(results.bse, other.std_errors, rtol=0.05)
    assert results.inference.spread.explained == pytest.approx(other.rsquared_within, abs=0.02)


def test_what_is_the_same_in_all_rows_of_a_person_is_absorbed():
    moved = TABLE.assign(y=TABLE.y + 8 * (TABLE.id % 3))
    for one, two in zip(fit(TABLE).params, fit(moved).params, strict=True):
        assert one == pytest.approx(two, abs=5e-3)


def fit(table, text=TEXT, **options):
    return DPLinearRegression(domain=DOMAIN, **SURE | options).fit_formula(text, table).results_


def test_files_checks_and_words(tmp_path):
    model = DPLinearRegression(domain=DOMAIN, epsilon=1, delta=1e-6, n_jobs=1).fit_formula(TEXT, TABLE)
    results = model.results_
    text = str(results.summary())
    assert text.startswith("y ~ x + z + year[2011] + year[2012] + year[2013] | id")
    assert "less its mean over a person's rows" in text.replace("\n", " ")
    assert "changes within persons" in " ".join(text.split())
    assert "clustered by 'id'" in text
    results.save(tmp_path / "r.json")
    model.release_.save(tmp_path / "release.json")
    assert str(discreet.load(tmp_path / "r.json").summary()) == text
    for file in ("r.json", "release.json"):
        found = discreet.check(tmp_path / file)
        assert found.ok, [own for own in found.findings if not own.ok]
    with pytest.raises(ParameterError, match="predicts no outcome"):
        results.predict(TABLE)
    loaded = discreet.load(tmp_path / "release.json")
    np.testing.assert_allclose(loaded.fit(TEXT).params, results.params)


def test_a_release_serves_several_models_within_persons():
    public = release(TABLE, domain=DOMAIN, models=["y ~ x + C(year) | id", "y ~ z | id"], **SURE)
    one = public.fit("y ~ z | id").params
    assert list(one.index) == ["z"]
    own = deviations(TABLE)
    assert one["z"] == pytest.approx((own.z @ own.y) / (own.z @ own.z), abs=0.01)
    with pytest.raises(NotReleasedError, match=r"made with '\| person'"):
        public.fit("y ~ z")
    plain = release(TABLE, domain=DOMAIN, models=["y ~ z"], **SURE)
    with pytest.raises(NotReleasedError, match=r"made without '\| person'"):
        plain.fit("y ~ z | id")


@pytest.mark.parametrize("model", [DPLogisticRegression, DPPoissonRegression])
def test_classes_and_counts_are_refused(model):
    domain = Domain(COLUMNS | {"ill": bool, "n": (0, 9)}, person="id", rows_per_person=4)
    target = "ill" if model is DPLogisticRegression else "n"
    with pytest.raises(ParameterError):
        model(epsilon=1, delta=1e-6, domain=domain).fit_formula(f"{target} ~ x | id", TABLE.assign(ill=True, n=1.0))


def test_a_plan_within_persons_is_about_deviations():
    found = plan(
        DOMAIN, "y ~ x + z | id", rows=4000, epsilon=1, delta=1e-6, draws=2, about={"x": {"sd": 1}, "y": {"sd": 2}}
    )
    assert found.names[1:] == ["x", "z"]
    assert found.at(1.0).vs_non_private >= 1


def test_engines_have_the_same_bits():
    dask = pytest.importorskip("dask.dataframe")
    found, model = moments(TABLE)
    frame = dask.from_pandas(TABLE.sample(frac=1, random_state=5), npartitions=3)
    there, _ = moments(frame)
    names = list(model.domain.columns)
    np.testing.assert_array_equal(exact(there, names), exact(found, names))


def test_losses_of_persons():
    model = formula(TEXT, DOMAIN)
    fitted = DPLinearRegression(domain=DOMAIN, epsilon=1, delta=1e-6, random_state=1).fit_formula(TEXT, TABLE)
    found = losses(TABLE, fitted).epsilon()
    assert model.domain.deviates
    assert len(found) == 400
    assert 0 < found.max() <= 1


@pytest.mark.more
def test_intervals_hold():
    held, given = 0, 0
    for seed in range(60):
        table = panel(2500, seed)
        results = DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN, random_state=seed).fit_formula(TEXT, table)
        ends = results.results_.about("bounded").conf_int()
        for name, true in (("x", 1.5), ("z", -0.5), ("year[2012]", 1.0), ("year[2011]", 0.0)):
            low, high = ends.loc[name]
            given += not np.isnan(low)
            held += low <= true <= high
    assert given > 200
    assert held / given > 0.95 - 4 * np.sqrt(0.95 * 0.05 / given)
