"""Every estimator keeps scikit-learn's contract, with bounds given; what cannot hold under privacy is listed."""

import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import DataConversionWarning, UnsetMetadataPassedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from tables import full_text

from discreet import (
    NAPP,
    SSP,
    Domain,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    Moments,
    NappAugmentation,
    NoisySGD,
    ObjectivePerturbation,
    ReuseCov,
    TrivialRegressor,
)
from discreet.errors import DataError, DataTypeError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.mechanisms import registry
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.models.linear import MomentsRegressor

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")

WEIGHT = "Weights need a public bound, `largest_weight=`: with it methods of moments pass, and others refuse weights."
EXPECTED = {
    "check_n_features_in_after_fitting": "It wants the width of X in print: of a transposed X, the number of people.",
    "check_sample_weights_pandas_series": WEIGHT,
    "check_sample_weights_not_an_array": WEIGHT,
    "check_sample_weights_list": WEIGHT,
    "check_sample_weights_shape": WEIGHT,
    "check_sample_weights_not_overwritten": WEIGHT,
    "check_sample_weight_equivalence_on_dense_data": WEIGHT,
    "check_classifiers_one_label_sample_weights": WEIGHT,
}
"""The checks of scikit-learn that fail, and why each must; the same table stands in docs/migrate/scikit_learn.md."""

CLASSES = [m.estimator for m in registry.METHODS if issubclass(m.estimator, MomentsRegressor)]
GIVEN = {"epsilon": 1000, "delta": 1e-5, "bounds_X": (-4, 4), "bounds_y": (-4, 4), "n_jobs": 1}
GLM = {name: value for name, value in GIVEN.items() if name != "bounds_y"}
PERTURBED = [
    DPLogisticRegression(**GLM, classes="public", random_state=0),
    DPLinearSVC(**GLM, classes="public", random_state=0),
    DPPoissonRegression(**GLM, bounds_y=(0, 9), random_state=0),
    ObjectivePerturbation(**GIVEN, random_state=0),
    NAPP(**GIVEN, penalty="l2", random_state=0),
    NAPP(**GIVEN, alpha=0.1, published="li2021", augmentation=NappAugmentation(iterations=20), random_state=0),
    NAPP(
        **GLM,
        loss="logistic",
        alpha=0.1,
        classes="public",
        published="li2021",
        augmentation=NappAugmentation(n_e=None),
        random_state=0,
    ),
]
DRAWN = [m.estimator for m in registry.METHODS if issubclass(m.estimator, CoefficientsRegressor)]
ESTIMATORS = [
    *(cls(**GIVEN, random_state=0) for cls in CLASSES),
    *PERTURBED,
    *(cls(**GIVEN, rows=500, random_state=0) for cls in DRAWN if cls is not NoisySGD),
    NoisySGD(**GIVEN | {"epsilon": 20}, rows=500, steps=8, random_state=0),  # the accountant is slow beyond
    TrivialRegressor(bounds_y=(-4, 4)),
]


def name_of(check):
    return getattr(check, "func", check).__name__


@parametrize_with_checks(ESTIMATORS)
def test_the_checks_of_scikit_learn(estimator, check):
    if isinstance(estimator, ReuseCov) and name_of(check) == "check_regressors_train":
        estimator = estimator.set_params(solve="ridge")  # the check sets alpha, which the default solve has no use for
    if name_of(check) in EXPECTED:
        with pytest.raises((AssertionError, ValueError), match=r"sample_weight|n_features_in_"):
            check(estimator)
    else:
        check(estimator)


def test_every_expected_failure_is_a_check_and_stands_in_the_guide():
    ways = (ESTIMATORS[0], PERTURBED[0])
    assert set(EXPECTED) <= {name_of(check) for way in ways for _, check in estimator_checks_generator(way)}
    guide = (Path(__file__).parents[2] / "docs" / "migrate" / "scikit_learn.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(check_\w+)` \| (.+) \|$", guide, re.MULTILINE))
    assert listed == EXPECTED


WEIGHTED = [cls(**GIVEN, largest_weight=16, random_state=0) for cls in CLASSES]


def test_the_checks_about_weights_pass_where_a_bound_is_declared():
    """Repeated rows and weights have the same exact sums, and with the same bound the same noise."""
    for estimator in WEIGHTED:
        checks = [(e, check) for e, check in estimator_checks_generator(estimator) if "sample_weight" in name_of(check)]
        assert len(checks) == 7
        for own, check in checks:
            check(own)


# -------------------------------------------------------------------- tags, copies, files, faces

ROWS, SECRET = 1049, 0.57721566490153
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (ROWS, 2))
X[17, 1] = SECRET
Y = X @ [1.0, -0.5]
FRAME = pd.DataFrame({"age": RNG.uniform(18, 90, ROWS), "region": RNG.choice(["north", "south", "west"], ROWS)})
INCOME = pd.Series(100 * FRAME["age"] + 500 * (FRAME["region"] == "west"), name="income")
DOMAIN = Domain({"age": (18, 90), "region": ["north", "south", "west"], "income": (0, 10_000)})


def model(cls=SSP, **options):
    given = {"epsilon": 1, "delta": 1e-6, "bounds_X": (-1, 1), "bounds_y": (-2, 2), "random_state": 0, "n_jobs": 1}
    if cls in DRAWN:
        given["rows"] = 2000
    return cls(**given | options)


def unbounded(cls=SSP, **options):
    return model(cls, bounds_X=None, bounds_y=None, **options)


@pytest.mark.parametrize("cls", [*CLASSES, *DRAWN])
def test_tags_say_what_is_true(cls):
    tags = get_tags(model(cls))
    assert is_regressor(model(cls))
    assert tags.target_tags.required
    assert not tags.input_tags.allow_nan
    assert not tags.input_tags.sparse
    assert not tags.non_deterministic
    assert tags.regressor_tags.poor_score
    assert get_tags(model(cls, random_state=None)).non_deterministic
    assert get_tags(model(cls, epsilon=1000)).regressor_tags.poor_score == (cls in DRAWN)
    for epsilon in (None, "1", np.nan):
        assert get_tags(cls(epsilon=epsilon)).regressor_tags.poor_score


def test_the_tags_of_the_baseline_say_what_is_true():
    tags = get_tags(TrivialRegressor())
    assert not tags.non_deterministic
    assert tags.regressor_tags.poor_score


@pytest.mark.parametrize("cls", [*CLASSES, *DRAWN])
def test_clones_files_and_scores(cls, tmp_path):
    fitted = unbounded(cls, domain=DOMAIN).fit(FRAME, INCOME)
    joblib.dump(fitted, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    assert np.array_equal(loaded.predict(FRAME), fitted.predict(FRAME))
    assert loaded.certificate_ == fitted.certificate_
    assert fitted.score(FRAME, INCOME) == r2_score(INCOME, fitted.predict(FRAME))
    copy = clone(fitted)
    assert not hasattr(copy, "coef_")
    assert copy.domain == DOMAIN
    assert np.array_equal(copy.fit(FRAME, INCOME).coef_, fitted.coef_)


def test_pages_of_fitted_pipelines_hold_no_data():
    fitted = make_pipeline(FunctionTransformer(), model(DPLinearRegression, random_state=None)).fit(X, Y)
    for face in (fitted, fitted[-1], TrivialRegressor(bounds_y=(0, 1)).fit(X, Y)):
        page = face._repr_html_()
        assert type(fitted[-1]).__name__ in page or face not in (fitted, fitted[-1])
        assert str(SECRET)[:6] not in page
        assert not re.search(rf"(?<!\d){ROWS}(?!\d)", page)


# -------------------------------------------------------------------- names of coefficients


@pytest.mark.parametrize("cls", [*CLASSES, *DRAWN])
def test_coefficients_have_names(cls):
    named = unbounded(cls, domain=DOMAIN).fit(FRAME, INCOME)
    names = ["age", "region[south]", "region[west]"]
    assert named.get_feature_names_out().tolist() == names
    assert named.get_feature_names_out(["age", "region"]).tolist() == names
    assert len(named.coef_) == len(names)
    plain = model(cls).fit(X, Y)
    assert plain.get_feature_names_out().tolist() == ["x0", "x1"]
    assert plain.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    for fitted, wrong in ((named, ["region", "age"]), (named, names), (plain, ["a"])):
        with pytest.raises(ParameterError, match="input_features"):
            fitted.get_feature_names_out(wrong)


def test_the_baseline_has_names_too():
    fitted = TrivialRegressor(bounds_y=(0, 1)).fit(FRAME, INCOME)
    assert fitted.get_feature_names_out().tolist() == ["age", "region"] == fitted.feature_names_in_.tolist()
    assert fitted.predict(FRAME).tolist() == [0.5] * ROWS


# -------------------------------------------------------------------- pipelines


@pytest.mark.parametrize("cls", [*CLASSES, *DRAWN, TrivialRegressor])
def test_behind_a_scaler(cls):
    last = TrivialRegressor(bounds_y=(-2, 2)) if cls is TrivialRegressor else model(cls, bounds_X=(-2, 2))
    pipeline = make_pipeline(StandardScaler(), last)
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert np.isfinite(pipeline.fit(frame, Y).predict(frame)).all()
    assert pipeline.get_feature_names_out().tolist() == ["a", "b"]
    pipeline.set_output(transform="pandas").fit(frame, Y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b"]
    assert np.isfinite(pipeline.predict(frame)).all()


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_behind_a_column_transformer(output):
    """Declared levels in the pipeline give the same model as declared levels in the domain."""
    levels = OneHotEncoder(categories=[["north", "south", "west"]], drop="first", sparse_output=False)
    columns = ColumnTransformer([("levels", levels, ["region"])], remainder="passthrough").set_output(transform=output)
    last = model(bounds_X=([0, 0, 18], [1, 1, 90]), bounds_y=(0, 10_000), random_state=NO_NOISE)
    pipeline = make_pipeline(columns, last).fit(FRAME, INCOME)
    direct = unbounded(domain=DOMAIN, random_state=NO_NOISE).fit(FRAME, INCOME)
    np.testing.assert_allclose(pipeline.predict(FRAME), direct.predict(FRAME), rtol=1e-5)
    names = ["levels__region_south", "levels__region_west", "remainder__age"]
    assert pipeline.get_feature_names_out().tolist() == names
    assert hasattr(pipeline[-1], "feature_names_in_") == (output == "pandas")


def test_with_a_transformed_outcome():
    last = model(bounds_y=(0, 2), random_state=NO_NOISE)
    both = TransformedTargetRegressor(last, func=np.log, inverse_func=np.exp, check_inverse=False)
    y = np.exp(1 + 0.5 * X[:, 0])
    np.testing.assert_allclose(both.fit(X, y).predict(X), y, rtol=1e-4)


def test_a_search_sets_parameters_through_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(), model(epsilon=100))
    search = GridSearchCV(pipeline, {"ssp__ridge": [0.1, 1e9]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"ssp__ridge": 0.1}
    assert search.best_estimator_[-1].ridge == 0.1


# -------------------------------------------------------------------- weights

ONES = np.ones(ROWS)


def test_weights_are_refused_on_every_way():
    with pytest.raises(ParameterError, match="one person"):
        make_pipeline(FunctionTransformer(), model()).fit(X, Y, ssp__sample_weight=ONES)
    with pytest.raises(ParameterError, match="one person"):
        BaggingRegressor(model(), n_estimators=2).fit(X, Y)


def test_weights_are_refused_with_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            make_pipeline(FunctionTransformer(), model()).fit(X, Y, sample_weight=ONES)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(model(), X, Y, params={"sample_weight": ONES})
        asked = model().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        with pytest.raises(ParameterError, match="one person"):
            make_pipeline(FunctionTransformer(), asked).fit(X, Y, sample_weight=ONES)
        with pytest.raises(ParameterError, match="one person"):
            cross_validate(asked, X, Y, params={"sample_weight": ONES}, error_score="raise")
        scored = asked.set_fit_request(sample_weight=False)
        found = cross_validate(scored, X, Y, params={"sample_weight": ONES}, error_score="raise")
        assert np.isfinite(found["test_score"]).all()


# -------------------------------------------------------------------- what X and y may be


@pytest.mark.parametrize("cls", [*CLASSES, *DRAWN, TrivialRegressor])
def test_numbers_in_any_array(cls):
    def fitted(features, outcome):
        last = TrivialRegressor(bounds_y=(-2, 2)) if cls is TrivialRegressor else model(cls)
        return last.fit(features, outcome).predict(features)

    wanted = fitted(X, Y)
    for features, outcome in (
        (X.astype(object), Y.astype(object)),
        (X.tolist(), Y.tolist()),
        (np.asfortranarray(X), pd.Series(Y)),
    ):
        assert np.array_equal(fitted(features, outcome), wanted)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert np.array_equal(fitted(X, Y[:, None]), wanted)
    for features, error, words in (
        (sparse.csr_array(X), DataTypeError, "sparse"),
        (X.astype(str), DataError, "must hold numbers"),
        (X.astype(str).astype(object), DataTypeError, "must hold numbers"),
        (X.astype(complex), DataError, "Complex data not supported"),
        (X[:, 0], DataError, "Reshape your data"),
        (X[:, :0], DataError, r"0 feature\(s\)"),
        (X[:-1], DataError, "different lengths"),
        (np.where(X == SECRET, np.nan, X), DataError, "NaN"),
    ):
        with pytest.raises(error, match=words) as caught:
            fitted(features, Y)
        assert str(ROWS) not in full_text(caught.value)
        assert str(SECRET)[:6] not in full_text(caught.value)


@pytest.mark.parametrize("cls", [SSP, TrivialRegressor])
def test_a_transposed_table_does_not_tell_its_number_of_rows(cls):
    last = TrivialRegressor(bounds_y=(-2, 2)) if cls is TrivialRegressor else model(cls)
    fitted = last.fit(X, Y)
    for attempt in (
        lambda: fitted.predict(X.T),
        lambda: fitted.fit(X.T, Y),
        lambda: Moments.from_source(X.T, Domain({"a": (0, 1), "b": (0, 1)})),
        lambda: Moments.from_source((X.T, Y[:2]), Domain({"a": (0, 1), "b": (0, 1)})),
    ):
        with pytest.raises(DataError) as caught:
            attempt()
        for count in (ROWS - 1, ROWS, ROWS + 1):
            assert str(count) not in full_text(caught.value)
