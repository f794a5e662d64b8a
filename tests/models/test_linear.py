"""The estimators against the papers' formulas, written here a second time, in numpy."""

import pickle
import struct
import warnings
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet import SSP, AdaSSP, ConstSSP, Domain, Moments, TrivialRegressor
from discreet.errors import DataError, DiscreetWarning, DomainError, ParameterError
from discreet.gate.entropy import NO_NOISE

EPSILON, DELTA, RHO = 1.0, 1e-6, 0.05
LATTICE = 2.0**20
REGIONS = ["north", "south", "west"]


# -------------------------------------------------------------------- tables, encoded independently


@dataclass
class Table:
    """Data, the public facts about them, and what they should become."""

    X: object
    y: object
    facts: dict
    design: np.ndarray  # mapped and clipped, not rounded; the constant first
    outcome: np.ndarray
    norm_squared: float
    names: list
    scales: np.ndarray  # user's coefficient = scale * mapped coefficient, intercept left out
    shift: object  # intercept in the user's units, from the mapped coefficients

    def rounded(self):
        return np.rint(self.design * LATTICE) / LATTICE, np.rint(self.outcome * LATTICE) / LATTICE


def numbers(n, rng):
    X = np.column_stack([rng.uniform(18, 95, n), rng.uniform(-3, 12, n), rng.normal(2, 1, n)])
    return X, 0.5 * X[:, 0] - 2 * X[:, 1] + X[:, 2] + rng.normal(0, 5, n)


LOWS, HIGHS = np.array([18.0, -3.0, 0.0]), np.array([90.0, 10.0, 4.0])
Y_LOW, Y_HIGH = -20.0, 60.0


def boxed(fit_intercept, n=4000):
    """Numbers in a box, with values outside it."""
    X, y = numbers(n, np.random.default_rng(1))
    facts = {"bounds_X": (LOWS, HIGHS), "bounds_y": (Y_LOW, Y_HIGH), "fit_intercept": fit_intercept}
    inside, y_inside = np.clip(X, LOWS, HIGHS), np.clip(y, Y_LOW, Y_HIGH)
    if fit_intercept:
        centre, half = (LOWS + HIGHS) / 2, (HIGHS - LOWS) / 2
        design = np.column_stack([np.ones(n), (inside - centre) / half])
        scales = 40 / half
        shift = lambda theta: 20 + 40 * theta[0] - centre @ (scales * theta[1:])  # noqa: E731
        return Table(X, y, facts, design, (y_inside - 20) / 40, 4.0, ["x0", "x1", "x2"], scales, shift)
    half = np.maximum(abs(LOWS), abs(HIGHS))
    return Table(X, y, facts, inside / half, y_inside / 60, 3.0, ["x0", "x1", "x2"], 60 / half, lambda theta: 0.0)


def in_a_ball(fit_intercept, n=4000):
    """Rows shortened to a norm, with a box (whose edges lie on the lattice) before it where there is no intercept."""
    rng = np.random.default_rng(2)
    X = rng.normal(0, 1, (n, 3)) * [1.4, 1.0, 0.7]
    y = X @ [1.0, -1.0, 0.5] + rng.normal(0, 0.3, n)
    facts = {"data_norm": 2.0, "bounds_y": (-4, 2), "fit_intercept": fit_intercept}
    if not fit_intercept:
        facts["bounds_X"] = (-1, [1.5, 2, 1])
    inside = X if fit_intercept else np.clip(X, -1, [1.5, 2, 1])
    inside = inside * np.minimum(1, 2 / np.linalg.norm(inside, axis=1))[:, None] / 2
    centre, half = (-1, 3) if fit_intercept else (0, 4)
    outcome = (np.clip(y, -4, 2) - centre) / half
    assert 0.05 < np.mean(np.linalg.norm(inside, axis=1) > 1 - 1e-9) < 0.95
    design = np.column_stack([np.ones(n), inside]) if fit_intercept else inside
    R2 = 1.0 + fit_intercept
    shift = (lambda theta: -1 + 3 * theta[0]) if fit_intercept else (lambda theta: 0.0)
    return Table(X, y, facts, design, outcome, R2, ["x0", "x1", "x2"], np.full(3, half / 2), shift)


def with_categories(fit_intercept, n=4000):
    """A pandas frame with a category of three levels and one of two."""
    rng = np.random.default_rng(3)
    age, region, member = rng.uniform(10, 90, n), rng.choice(REGIONS, n), rng.random(n) < 0.4
    income = 100 * age + 3000 * (region == "west") - 1000 * member + rng.normal(0, 500, n)
    frame = pd.DataFrame({"age": age, "region": region, "member": member})
    domain = Domain({"age": (20, 80), "region": REGIONS, "member": bool, "income": (0, 12_000)})
    levels = np.column_stack([region == "south", region == "west", member]).astype(float)
    facts = {"domain": domain, "fit_intercept": fit_intercept}
    names = ["age", "region[south]", "region[west]", "member[True]"]
    inside, outcome = np.clip(age, 20, 80), np.clip(income, 0, 12_000)
    series = pd.Series(income, name="income")
    if fit_intercept:
        design = np.column_stack([np.ones(n), (inside - 50) / 30, levels])
        scales = 6000 / np.array([30, 1, 1, 1])
        shift = lambda theta: 6000 + 6000 * theta[0] - 50 * 200 * theta[1]  # noqa: E731
        return Table(frame, series, facts, design, outcome / 6000 - 1, 4.0, names, scales, shift)
    scales = 12_000 / np.array([80, 1, 1, 1, 1])
    design, names = np.column_stack([inside / 80, region == "north", levels]), [names[0], "region[north]", *names[1:]]
    return Table(frame, series, facts, design, outcome / 12_000, 3.0, names, scales, lambda theta: 0.0)


TABLES = {
    f"{make.__name__}{'' if intercept else ', no intercept'}": make(intercept)
    for make in (boxed, in_a_ball, with_categories)
    for intercept in (True, False)
}


# -------------------------------------------------------------------- the papers' formulas


def solve(S, v, penalty):
    return np.linalg.solve(S + penalty * np.eye(len(S)), v)


def ssp(S, v, B2, epsilon, sds, ridge):
    return solve(S, v, ridge)


def const_verified(S, v, B2, epsilon, sds, rho=RHO):
    d = len(S)
    return solve(S, v, sqrt(d * log(2 * d**2 / rho)) * sds["gram"])


def const_piazza2021(S, v, B2, epsilon, sds, rho=RHO):
    """piazza2021, algorithm 4."""
    d, eps_nec, delta_nec = len(S), epsilon / 2, DELTA / 2
    penalty = sqrt(2 * d * log(2 / delta_nec) * log(2 * d**2 / rho)) * B2 / eps_nec
    return solve(S, v, penalty + 1)


def ada_verified(S, v, B2, epsilon, sds, rho=RHO):
    d = len(S)
    least = max(np.linalg.eigvalsh(S)[0] - sds["eigenvalue"] * sqrt(log(6 / DELTA)), 0)
    return solve(S, v, max(0, sqrt(d * log(2 * d**2 / rho)) * sds["gram"] - least))


def ada_wang2018(S, v, B2, epsilon, sds, rho=RHO):
    """wang2018, algorithm 2."""
    d = len(S)
    least = max(np.linalg.eigvalsh(S)[0] - log(6 / DELTA) / (epsilon / 3) * B2, 0)
    penalty = max(0, sqrt(d * log(6 / DELTA) * log(2 * d**2 / rho)) * B2 / (epsilon / 3) - least)
    return solve(S, v, penalty)


def ada_piazza2021(S, v, B2, epsilon, sds, rho=RHO, g=1 / 3):
    """piazza2021, algorithm 3; with g = 1/3 algorithm 2."""
    d = len(S)
    eps_hyp, delta_hyp, eps_nec, delta_nec = g * epsilon, g * DELTA, (1 - g) / 2 * epsilon, (1 - g) / 2 * DELTA
    least = max(np.linalg.eigvalsh(S + np.eye(d))[0] - 2 * log(2 / delta_hyp) / eps_hyp * B2, 0)
    penalty = max(0, sqrt(2 * d * log(2 / delta_nec) * log(2 * d**2 / rho)) * B2 / eps_nec - least)
    return solve(S, v, penalty + 1)


def with_options(formula, **options):
    return lambda *arguments: formula(*arguments, **options)


METHODS = {
    "SSP": (SSP, {}, with_options(ssp, ridge=0)),
    "SSP, ridge": (SSP, {"ridge": 70.0}, with_options(ssp, ridge=70)),
    "SSP wang2018": (SSP, {"published": "wang2018"}, with_options(ssp, ridge=0)),
    "SSP piazza2021": (SSP, {"published": "piazza2021"}, with_options(ssp, ridge=1)),
    "ConstSSP": (ConstSSP, {}, const_verified),
    "ConstSSP, rho": (ConstSSP, {"rho": 0.3}, with_options(const_verified, rho=0.3)),
    "ConstSSP piazza2021": (ConstSSP, {"published": "piazza2021"}, const_piazza2021),
    "AdaSSP": (AdaSSP, {}, ada_verified),
    "AdaSSP, share": (AdaSSP, {"eigenvalue_share": 0.1, "rho": 0.01}, with_options(ada_verified, rho=0.01)),
    "AdaSSP wang2018": (AdaSSP, {"published": "wang2018"}, ada_wang2018),
    "AdaSSP piazza2021": (AdaSSP, {"published": "piazza2021"}, ada_piazza2021),
    "AdaSSP piazza2021, share": (
        AdaSSP,
        {"published": "piazza2021", "eigenvalue_share": 0.2},
        with_options(ada_piazza2021, g=0.2),
    ),
}
VERIFIED = [name for name, (_, options, _) in METHODS.items() if "published" not in options]
PUBLISHED = [name for name in METHODS if name not in VERIFIED]
CASES = [(name, "add-remove") for name in METHODS] + [(name, "replace-one") for name in VERIFIED]


def fitted(name, table, *, epsilon=EPSILON, random_state=NO_NOISE, **more):
    cls, options, _ = METHODS[name]
    facts = {"epsilon": epsilon, "delta": DELTA, "n_jobs": 1} | table.facts | options | more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return cls(random_state=random_state, **facts).fit(table.X, table.y)


def stated_sds(model):
    return {block.statistic: block.sd for block in model.certificate_.events[0].blocks}


def mapped(table, model):
    """Fitted coefficients in units of the mapped columns, without the intercept."""
    return model.coef_ / table.scales


def expected(name, B2, model, Z, t, epsilon=EPSILON):
    return METHODS[name][2](Z.T @ Z, Z.T @ t, B2, epsilon, stated_sds(model))


def rounded_norm_squared(table, model, Z):
    """The bound on a rounded row: not below any row, and hardly above the bound before rounding."""
    B2 = model.release_.domain.norm_squared(model.release_.domain.design(model.release_.domain.columns)[: Z.shape[1]])
    assert (Z**2).sum(axis=1).max() <= B2
    assert table.norm_squared <= B2 <= table.norm_squared + ("data_norm" in table.facts) * 5e-6
    return B2


@pytest.mark.parametrize(("name", "neighbors"), CASES)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_without_noise_the_coefficients_equal_the_formula(table, name, neighbors):
    model = fitted(name, table, neighbors=neighbors)
    Z, t = table.rounded()
    theta = expected(name, rounded_norm_squared(table, model, Z), model, Z, t)
    slopes = theta[1:] if model.fit_intercept else theta
    np.testing.assert_allclose(mapped(table, model), slopes, rtol=0, atol=1e-9)
    assert model.intercept_ == pytest.approx(table.shift(theta), abs=1e-9 * table.scales.max() * 100)
    assert list(model.results_.names) == table.names

    assert np.linalg.cond(table.design.T @ table.design) < 1e4
    raw = expected(name, table.norm_squared, model, table.design, table.outcome)
    np.testing.assert_allclose(mapped(table, model), raw[1:] if model.fit_intercept else raw, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("AdaSSP")])
def test_the_adaptive_penalty_is_right_in_all_its_regimes(name):
    """The constant penalty, one that the eigenvalue lowers, and none."""
    table, seen = TABLES["boxed"], set()
    Z, t = table.rounded()
    plus = 1.0 if "piazza2021" in name else 0.0
    for epsilon in np.geomspace(0.05, 12, 12):
        model = fitted(name, table, epsilon=epsilon)
        theta = expected(name, table.norm_squared, model, Z, t, epsilon)
        np.testing.assert_allclose(mapped(table, model), theta[1:], rtol=0, atol=1e-9)
        d, rho = 4, METHODS[name][1].get("rho", RHO)
        constant = solve(Z.T @ Z, Z.T @ t, sqrt(d * log(2 * d**2 / rho)) * stated_sds(model)["gram"] + plus)
        none = solve(Z.T @ Z, Z.T @ t, plus)
        close = [np.allclose(theta, other, rtol=0, atol=1e-7) for other in (constant, none)]
        seen.add({(True, False): "constant", (False, True): "none", (False, False): "lowered"}[tuple(close)])
    assert seen == {"constant", "lowered", "none"}


PRINTED = {
    "SSP wang2018": {"": lambda e: 2 * sqrt(log(4 / DELTA)) / e},
    "SSP piazza2021": {"": lambda e: sqrt(2 * log(4 / DELTA)) / (e / 2)},
    "ConstSSP piazza2021": {"": lambda e: sqrt(2 * log(2 / (DELTA / 2))) / (e / 2)},
    "AdaSSP wang2018": {"": lambda e: sqrt(log(6 / DELTA)) / (e / 3)},
    "AdaSSP piazza2021": {"": lambda e: sqrt(2 * log(6 / DELTA)) / (e / 3)},
    "AdaSSP piazza2021, share": {
        "eigenvalue": lambda e: sqrt(2 * log(2 / (0.2 * DELTA))) / (0.2 * e),
        "": lambda e: sqrt(2 * log(2 / (0.4 * DELTA))) / (0.4 * e),
    },
}


@pytest.mark.parametrize("epsilon", [0.3, 4.0])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_noise_is_as_printed(name, table, epsilon):
    B2 = table.norm_squared
    size = {"gram": B2, "cross": sqrt(B2), "eigenvalue": B2}
    for statistic, sd in stated_sds(fitted(name, table, epsilon=epsilon)).items():
        printed = PRINTED[name].get(statistic, PRINTED[name][""])(epsilon)
        assert sd == pytest.approx(printed * size[statistic], rel=1e-5 if "data_norm" in table.facts else 1e-12)


# -------------------------------------------------------------------- the noise


@pytest.mark.parametrize(
    ("name", "neighbors"), [case for case in CASES if case[0] in ("SSP", "AdaSSP", "SSP wang2018", "AdaSSP piazza2021")]
)
def test_released_values_are_unbiased_with_the_stated_sds(name, neighbors):
    cls, options, _ = METHODS[name]
    table, seeds = TABLES["boxed"], 800
    moments = Moments.from_source(
        (table.X, table.y),
        Domain.from_bounds(["x0", "x1", "x2"], ["y"], bounds_X=(LOWS, HIGHS), bounds_y=(Y_LOW, Y_HIGH)),
    )
    drawn = {}
    for seed in range(seeds):
        model = cls(epsilon=1, delta=DELTA, neighbors=neighbors, random_state=seed, **options).fit_moments(moments, "y")
        for block, values in model.release_.arrays.items():
            drawn.setdefault(block, []).append(values)
    Z, t = table.rounded()
    exact = {"gram": Z.T @ Z, "cross": (Z.T @ t)[:, None], "eigenvalue": np.linalg.eigvalsh(Z.T @ Z)[0]}
    assert {block.statistic for block in drawn} == set(stated_sds(model))
    for block, values in drawn.items():
        sd = np.full(np.shape(exact[block.statistic]), block.sd)
        if block.statistic == "gram" and "published" not in options:
            sd = np.where(np.eye(len(sd)), sd, sd / sqrt(2))
        assert np.all(abs(np.mean(values, axis=0) - exact[block.statistic]) < 4.5 * sd / sqrt(seeds))
        assert np.all(abs(np.std(values, axis=0) / sd - 1) < 4.5 / sqrt(2 * seeds))


def test_a_release_without_a_seed_differs_each_time():
    table = TABLES["boxed"]
    first, second = (fitted("SSP", table, random_state=None).release_.values for _ in range(2))
    assert first != second
    assert fitted("SSP", table, random_state=5).release_ == fitted("SSP", table, random_state=5).release_


# -------------------------------------------------------------------- the user's units


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", METHODS)
def test_units_do_not_matter(name, fit_intercept):
    """Noise included: the same seed in other units gives the same predictions."""
    rng = np.random.default_rng(4)
    X, y = rng.integers(-64, 65, (500, 2)) / 64, rng.integers(-64, 65, 500) / 64
    scale, shift = np.array([1024.0, 0.25]), np.array([300.0, -7.0]) * fit_intercept
    y_scale, y_shift = 4096.0, 8192.0 * fit_intercept
    low, high = -scale + shift, scale + shift
    given = {"epsilon": EPSILON, "delta": DELTA, "fit_intercept": fit_intercept, "random_state": 0}
    cls, options, _ = METHODS[name]
    plain = cls(bounds_X=(-1, 1), bounds_y=(-1, 1), **given, **options).fit(X, y)
    bounds_y = (y_shift - y_scale, y_shift + y_scale)
    other = cls(bounds_X=(low, high), bounds_y=bounds_y, **given, **options)
    other.fit(X * scale + shift, y * y_scale + y_shift)
    assert np.ptp(plain.predict(X)) > 1e-4
    np.testing.assert_allclose(other.predict(X * scale + shift), plain.predict(X) * y_scale + y_shift, rtol=1e-10)


def test_coefficients_are_named_and_against_the_first_level():
    table = TABLES["with_categories"]
    frame = table.X.assign(age=np.clip(table.X["age"], 20, 80))
    truth = {"(intercept)": 900, "age": 100, "region[south]": -700, "region[west]": 1500, "member[True]": 250}
    income = 900 + 100 * frame["age"] - 700 * (frame["region"] == "south") + 1500 * (frame["region"] == "west")
    income = (income + 250 * frame["member"]).rename("income")
    model = SSP(epsilon=1, delta=DELTA, random_state=NO_NOISE, **table.facts).fit(frame, income)
    assert model.results_.predicting == pytest.approx(truth, rel=1e-5)
    assert list(model.results_.coefficients) == list(model.results_.params.index) == list(truth)
    assert list(model.results_.predicting.values()) == [model.intercept_, *model.coef_]
    assert list(model.feature_names_in_) == ["age", "region", "member"]
    assert model.n_features_in_ == 3
    np.testing.assert_allclose(model.predict(frame), income, rtol=1e-5)


def test_a_model_without_intercept_has_none():
    model = fitted("SSP", TABLES["boxed, no intercept"])
    assert model.intercept_ == 0
    assert "(intercept)" not in model.results_.params


@pytest.mark.parametrize("intercept", ["", ", no intercept"])
def test_predictions_do_not_depend_on_the_container(intercept):
    table = TABLES["boxed" + intercept]
    frame = pd.DataFrame(table.X, columns=["a", "b", "c"])
    arrow = pa.table({name: frame[name].to_numpy() for name in frame})
    models = [
        fitted("AdaSSP", Table(X, table.y, table.facts, *[None] * 6)) for X in (table.X, table.X.tolist(), frame, arrow)
    ]
    plain = table.X @ models[0].coef_ + models[0].intercept_
    by_hand = np.clip(np.clip(table.X, LOWS, HIGHS) @ models[0].coef_ + models[0].intercept_, Y_LOW, Y_HIGH)
    for model, X in zip(models, (table.X, table.X.tolist(), frame, arrow), strict=True):
        assert np.array_equal(model.coef_, models[0].coef_)
        np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-12)
        np.testing.assert_allclose(model.predict(X, clip=False), plain, rtol=1e-12)
    named = models[2]
    for X in (frame[["c", "a", "b"]].assign(extra=1.0), arrow.select(["b", "c", "a"]), table.X, table.X.tolist()):
        np.testing.assert_allclose(named.predict(X), by_hand, rtol=1e-12)
    assert named.predict(table.X[:0]).shape == (0,)


@pytest.mark.parametrize("kind", ["categorical", "arrow", "dictionary"])
def test_predictions_from_categories_in_any_container(kind):
    table = TABLES["with_categories"]
    model = fitted("AdaSSP", table)
    arrow = pa.Table.from_pandas(table.X, preserve_index=False)
    place = arrow.column_names.index("region")
    X = {
        "categorical": table.X.assign(region=pd.Categorical(table.X["region"], categories=REGIONS[::-1])),
        "arrow": arrow,
        "dictionary": arrow.set_column(place, "region", arrow["region"].dictionary_encode()),
    }[kind]
    age = np.clip(table.X["age"], 20, 80)
    dummies = np.column_stack([age, *(table.X["region"] == r for r in REGIONS[1:]), table.X["member"]])
    by_hand = np.clip(dummies @ model.coef_ + model.intercept_, 0, 12_000)
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-12)
    again = fitted("AdaSSP", Table(X, table.y, table.facts, *[None] * 6))
    assert np.array_equal(again.coef_, model.coef_)


def test_an_outcome_finds_its_column_by_name():
    """In a domain whose outcome does not stand last, for frames, arrays and lists."""
    table = TABLES["boxed"]
    bounds = {"y": (Y_LOW, Y_HIGH)} | {f"x{i}": (LOWS[i], HIGHS[i]) for i in range(3)}
    facts = {"domain": Domain(bounds), "epsilon": EPSILON, "delta": DELTA, "random_state": NO_NOISE}
    frame, y = pd.DataFrame(table.X, columns=["x0", "x1", "x2"]), pd.Series(table.y, name="y")
    wanted = fitted("SSP", table).coef_
    for X, outcome in ((frame, y), (frame, table.y), (frame, y.to_frame()), (table.X, y), (table.X.tolist(), y)):
        assert np.array_equal(SSP(**facts).fit(X, outcome).coef_, wanted)
    last = Domain({name: bounds[name] for name in ("x0", "x1", "x2", "y")})
    for X in (table.X, table.X.tolist()):
        assert np.array_equal(SSP(**facts | {"domain": last}).fit(X, table.y.tolist()).coef_, wanted)
    with pytest.raises(DomainError, match="'z' is not declared"):
        SSP(**facts).fit(table.X, y.rename("z"))


@pytest.mark.parametrize("X", [[[np.nan, 1.0, 1.0]], [[np.inf, 1.0, 1.0]], [[1.0, 2.0]], [1.0, 2.0], [[1, 2, 3], [1]]])
def test_predict_refuses_rows_it_cannot_use(X):
    with pytest.raises(DataError):
        fitted("SSP", TABLES["boxed"]).predict(X)


def test_predict_never_drops_a_row():
    domain = Domain({"a": (0, 1), "y": (0, 1)}, missing="drop")
    frame = pd.DataFrame({"a": [0.1, np.nan, 0.9] * 50})
    model = SSP(epsilon=1, delta=DELTA, domain=domain, random_state=0).fit(frame, np.full(150, 0.5))
    for X in (frame, frame.to_numpy()):
        with pytest.raises(DataError, match="missing"):
            model.predict(X)


def test_fit_moments_equals_fit():
    table = TABLES["with_categories"]
    source = table.X.assign(income=table.y)
    moments = Moments.from_source(source, table.facts["domain"])
    cls, options, _ = METHODS["AdaSSP"]
    given = {"epsilon": EPSILON, "delta": DELTA, "random_state": 3} | options
    model = cls(**given).fit_moments(moments, "income")
    assert model.release_ == fitted("AdaSSP", table, random_state=3).release_
    subset = cls(**given).fit_moments(moments, "income", ["member"])
    assert subset.results_.names == ("member[True]",)
    np.testing.assert_allclose(subset.predict(table.X), subset.intercept_ + subset.coef_ * table.X["member"])
    with pytest.raises(ParameterError, match=r"\['member'\]"):
        cls(**given).fit_moments(moments, "income", "member")
    with pytest.raises(ParameterError, match="Moments"):
        cls(**given).fit_moments(source, "income")


# -------------------------------------------------------------------- scikit-learn's habits


@pytest.mark.parametrize("name", METHODS)
def test_clone_and_parameters(name):
    cls, options, _ = METHODS[name]
    model = cls(epsilon=2, delta=DELTA, bounds_X=(0, 1), bounds_y=(0, 1), random_state=4, **options)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert {"epsilon", "delta", "domain", "rows", "neighbors", "n_jobs", *options} <= set(model.get_params())
    assert copy.set_params(epsilon=3).epsilon == 3
    assert model.epsilon == 2
    X = np.random.default_rng(0).random((50, 2))
    assert np.array_equal(clone(model).fit(X, X[:, 0]).coef_, model.fit(X, X[:, 0]).coef_)
    assert not hasattr(clone(model), "coef_")


@pytest.mark.parametrize("name", METHODS)
def test_a_pickle_predicts_and_holds_no_data(name):
    sentinel = 0.123456789012345
    X = np.random.default_rng(0).random((500, 2))
    X[7, 1] = sentinel
    model = METHODS[name][0](
        epsilon=1, delta=DELTA, bounds_X=(0, 1), bounds_y=(0, 1), random_state=0, **METHODS[name][1]
    )
    model.fit(X, X[:, 0])
    data = pickle.dumps(model)
    for number in (sentinel, *X[:5].ravel().tolist()):
        assert struct.pack("<d", number) not in data
        assert struct.pack(">d", number) not in data
    assert struct.pack("<d", model.coef_[0]) in data
    assert np.array_equal(pickle.loads(data).predict(X), model.predict(X))


def test_in_a_pipeline():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 10, (3000, 2))
    y = np.log(X) @ [1.0, 2.0]
    last = SSP(epsilon=1, delta=DELTA, bounds_X=(0, 2.5), bounds_y=(0, 8), random_state=NO_NOISE)
    model = make_pipeline(FunctionTransformer(np.log), last).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-5)
    assert model.score(X, y) > 0.999


@pytest.mark.parametrize("cls", [SSP, ConstSSP, AdaSSP])
def test_weights_are_refused_with_a_reason(cls):
    with pytest.raises(ParameterError, match="one person"):
        cls(epsilon=1, delta=DELTA, bounds_X=(0, 1), bounds_y=(0, 1)).fit([[0.5]], [0.5], sample_weight=[1.0])


@pytest.mark.parametrize("cls", [SSP, ConstSSP, AdaSSP, TrivialRegressor])
def test_prediction_needs_a_fit(cls):
    with pytest.raises(NotFittedError):
        cls().predict([[1.0]])


@pytest.mark.parametrize("wrong", [{"random_state": "x"}, {"epsilon": -1}, {"bounds_X": (1, 0)}, {"epsilon": 1e9}])
def test_a_failed_fit_leaves_nothing_fitted(wrong):
    given = {"epsilon": 1, "delta": DELTA, "bounds_X": (0, 1), "bounds_y": (0, 1)} | wrong
    model = SSP(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        with pytest.raises(ValueError, match=r"epsilon|bounds|random_state|low") as caught:
            model.fit([[0.5]], [0.5])
    assert type(caught.value).__module__ == "discreet.errors"
    with pytest.raises(NotFittedError):
        model.predict([[0.5]])


def test_names_are_forgotten_by_a_later_fit_on_arrays():
    table = TABLES["boxed"]
    model = fitted("SSP", Table(pd.DataFrame(table.X, columns=["a", "b", "c"]), table.y, table.facts, *[None] * 6))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert not hasattr(model.fit(table.X, table.y), "feature_names_in_")


def test_one_warning_for_one_fit():
    with pytest.warns(DiscreetWarning, match="promises little") as caught:
        SSP(epsilon=20, delta=DELTA, bounds_X=(0, 1), bounds_y=(0, 1)).fit([[0.5]], [0.5])
    assert len(caught) == 1


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("name", METHODS)
def test_few_rows_never_raise(name, rows):
    cls, options, _ = METHODS[name]
    model = cls(epsilon=1, delta=DELTA, bounds_X=(0, 1), bounds_y=(0, 1), **options)
    assert np.isfinite(model.fit(np.full((rows, 3), 0.5), np.full(rows, 0.5)).coef_).all()


# -------------------------------------------------------------------- the trivial baseline


@pytest.mark.parametrize("X", [np.ones((4, 3)), [[1.0, 2, 3]] * 4, pd.DataFrame(np.ones((4, 3)), columns=list("abc"))])
def test_the_trivial_baseline_spends_nothing(X):
    model = TrivialRegressor(bounds_y=(-10, 30)).fit(X, [5.0] * 4)
    assert model.predict(X).tolist() == [10.0] * 4
    assert model.n_features_in_ == 3
    certificate = model.certificate_
    assert (certificate.guarantee.epsilon, certificate.guarantee.delta, certificate.epsilon) == (0, 0, 0)
    assert certificate.events == ()
    assert all(finding.ok for finding in certificate.check())
    assert "Nothing was computed from the data" in certificate.words()


@pytest.mark.parametrize(
    ("X", "bounds"), [([[1.0]], None), ([[1.0]], (1, 0)), ([1.0], (0, 1)), ([[1], [1, 2]], (0, 1))]
)
def test_the_trivial_baseline_needs_bounds_and_a_matrix(X, bounds):
    with pytest.raises((DomainError, DataError)):
        TrivialRegressor(bounds_y=bounds).fit(X, [0.5] * len(X))
