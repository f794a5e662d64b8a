"""Nothing that anyone may see holds a data value, a row or the exact number of rows.

The table holds values that occur nowhere else and has a number of rows that nothing else is likely to equal. Whatever
the package says, in success or failure, is searched for them.
"""

import json
import math
import pickle
import pickletools
import re
import struct
import warnings
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn import no_draw
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from tables import full_text

from discreet import (
    NAPP,
    SSP,
    AdaSSP,
    ConstSSP,
    Domain,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    Moments,
    NappAugmentation,
    NappRecycling,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateMoments,
    ReuseCov,
    TrivialRegressor,
    compare,
    release,
)
from discreet.data.reading import Table
from discreet.data.rows import Rows
from discreet.data.tables import as_outcomes
from discreet.errors import DataError, DiscreetError, DiscreetWarning
from discreet.gate.entropy import OSEntropy, SeededEntropy
from discreet.mechanisms import registry
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.mechanisms.posterior_sampling.release import BoundedRidge
from discreet.models.outcome import declared_classes
from discreet.results import results
from discreet.results.report import report

ROWS = 1049
SECRETS = [47.31618033988, 0.57721566490153, 23_456.789012345]
WORD = "zyxsecretzyx"
DOMAIN = Domain({"age": (18, 90), "share": (0, 1), "region": ["north", "south"], "income": (0, 200_000)})
FEATURES = ["age", "share", "region"]


@pytest.fixture(autouse=True)
def same_noise_every_time(monkeypatch):
    """Random digits spell any number once in a while: the noise here is real in kind, and the same in every run."""
    generator = np.random.default_rng(5)
    monkeypatch.setattr("discreet.gate.entropy._urandom", generator.bytes)
    monkeypatch.setattr("discreet.gate.entropy.is_secret", lambda state: state is None or type(state) is OSEntropy)


def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, ROWS), "share": rng.uniform(0, 1, ROWS)})
    frame["region"] = rng.choice(["north", "south"], ROWS)
    frame["income"] = rng.uniform(0, 200_000, ROWS)
    frame.loc[17, ["age", "share", "income"]] = SECRETS
    return frame


FRAME = table()
X, Y = FRAME[FEATURES], FRAME["income"]
NUMBERS = FRAME[["age", "share"]].to_numpy()


def search_for(formats):
    """A pattern of the secrets in some spellings, and of the number of rows and its neighbours."""
    numbers = [re.escape(format(number, spelling)) for number in SECRETS for spelling in formats]
    counts = [rf"(?<![\d.]){count}(?!\d|\.\d*[1-9])" for count in (ROWS, f"{ROWS:,}", ROWS - 1, ROWS + 1)]
    return re.compile("|".join([*numbers, *counts, WORD]))


AMONG_NOISE = search_for(["", ".9g", ".6f", ".12g"])
IN_WORDS = search_for(["", ".9g", ".6f", ".6g", ".3f", ".4g"])


def assert_clean(text, forbidden=AMONG_NOISE):
    found = forbidden.search(re.sub(r"line \d+", "line", text))
    assert found is None, f"{found.group()!r} leaks"


def assert_clean_error(caught):
    """Everything that a traceback prints; there are no noisy numbers in it, so that short spellings count too."""
    assert_clean(full_text(caught.value), IN_WORDS)
    assert len(str(caught.value)) > 20


def assert_clean_pickle(data):
    """Searches numbers, texts and raw arrays in a pickle."""
    patterns = [struct.pack(order + "d", value) for value in [*SECRETS, float(ROWS)] for order in "<>"]
    patterns += [struct.pack(order + "q", ROWS) for order in "<>"]
    for _, argument, _ in pickletools.genops(data):
        assert argument not in [*SECRETS, ROWS, float(ROWS)] or isinstance(argument, bool)
        if isinstance(argument, str):
            assert_clean(argument)
            argument = argument.encode()
        if isinstance(argument, (bytes, bytearray)):
            assert not any(pattern in argument for pattern in patterns)


# -------------------------------------------------------------------- the search itself


@pytest.mark.parametrize(
    "text", [f"{SECRETS[0]}", f"age {SECRETS[2]:.9g}", f"n={ROWS}", f"{ROWS}.0", f"[{ROWS} rows]", f"({ROWS}, 3)"]
)
def test_the_search_finds_what_it_should(text):
    with pytest.raises(AssertionError, match="leaks"):
        assert_clean(text)


@pytest.mark.parametrize("value", [SECRETS[1], ROWS, str(SECRETS[0]), np.array(SECRETS), np.array([ROWS]), X])
def test_the_search_of_pickles_finds_what_it_should(value):
    with pytest.raises(AssertionError):
        assert_clean_pickle(pickle.dumps({"value": value}))


@pytest.mark.parametrize("text", [f"{SECRETS[1]:.4g}", f"[{SECRETS[0]:.3f} 1.0]", WORD])
def test_the_search_of_errors_finds_more(text):
    with pytest.raises(AssertionError, match="leaks"):
        assert_clean(text, IN_WORDS)


def test_the_search_passes_other_text():
    assert_clean(f"0.{ROWS} 3{ROWS} {ROWS}7 {ROWS}.5 (18, 90)", IN_WORDS)


# -------------------------------------------------------------------- success


def estimators():
    given = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "rows": 1000}
    for cls in (SSP, ConstSSP, AdaSSP):
        for published in (None, *cls.papers):
            for neighbors in ("add-remove", "replace-one") if published is None else ("add-remove",):
                yield cls(**given, published=published, neighbors=neighbors)
    yield DPLinearRegression(**given | {"epsilon": 5})
    yield DPLasso(**given | {"epsilon": 5})


def name_of(model):
    return f"{type(model).__name__} {getattr(model, 'published', None)} {model.neighbors}"


def public_faces(public, target, features):
    """Everything a release can be asked to say."""
    certificate = public.certificate
    yield from (repr(public), repr(certificate), certificate.words(), json.dumps(certificate.to_dict()))
    yield from (repr(finding) for finding in certificate.check())
    yield repr(public.values)
    yield repr({block: values.tolist() for block, values in public.arrays.items()})
    yield repr(public.equations(target, features))
    for model in ("ridge", "ols"):
        fitted = public.fit(target, features, model=model)
        yield from (repr(fitted), str(fitted), fitted._repr_html_(), fitted.to_json(), repr(fitted.params))
        yield fitted.to_frame().to_csv()
    yield report(fitted, public)
    pair = compare(fitted, public.fit(target, features))
    yield from (repr(pair), pair._repr_html_(), json.dumps(pair.to_dict()), pair.to_frame().to_csv())


@pytest.mark.parametrize("model", list(estimators()), ids=name_of)
def test_a_fitted_model_holds_no_data(model, tmp_path, capfd):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    path = tmp_path / "release.json"
    model.release_.save(path)
    loaded = PrivateMoments.load(path)
    printed = capfd.readouterr()
    faces = [
        repr(model),
        str(model),
        model._repr_html_(),
        repr(vars(model)),
        path.read_text(),
        printed.out,
        printed.err,
    ]
    faces += [str(warning.message) for warning in caught]
    faces += public_faces(model.release_, "income", FEATURES)
    faces += public_faces(loaded, "income", FEATURES)
    for face in faces:
        assert_clean(face)
    model.results_.save(tmp_path / "model.json")
    model.results_.save_report(tmp_path / "report.html", model.release_)
    faces += [(tmp_path / name).read_text() for name in ("model.json", "report.html")]
    for face in faces[-2:]:
        assert_clean(face)
    pair = compare(model, loaded.fit("income", FEATURES))
    for thing in (model, model.release_, model.results_, model.certificate_, loaded, pair):
        assert_clean_pickle(pickle.dumps(thing))


@pytest.mark.parametrize("targets", [None, ["income"], ["age", "income"]])
def test_a_release_holds_no_data(targets, tmp_path):
    moments = Moments.from_source(FRAME, DOMAIN)
    assert_clean(repr(moments))
    assert_clean(str(moments))
    public = release(moments, epsilon=1, delta=1e-6, targets=targets)
    public.save(tmp_path / "release.json")
    for face in (*public_faces(public, "income", ["share", "region"]), (tmp_path / "release.json").read_text()):
        assert_clean(face)
    assert_clean_pickle(pickle.dumps(public))


MANY = [
    {},
    {"neighbors": "replace-one"},
    {"subsample": 0.3},
    {"subsample": 0.3, "neighbors": "replace-one"},
    {"association": "projection", "neighbors": "replace-one"},
    {"association": "projection", "neighbors": "replace-one", "subsample": 0.3},
    {"published": "neel2023", "neighbors": "replace-one"},
]


@pytest.mark.parametrize("options", MANY)
def test_models_of_many_outcomes_hold_no_data(options, tmp_path, capfd):
    """Outcomes that were declared public are so; even then nothing but their largest norm is kept."""
    model = ReuseCov(epsilon=1, delta=1e-6, domain=DOMAIN, **options).fit(
        FRAME[["region", "age"]], FRAME[["share", "income"]]
    )
    model.release_.save(tmp_path / "release.json")
    model.results_.save(tmp_path / "models.json")
    printed = capfd.readouterr()
    faces = [repr(model), model._repr_html_(), repr(vars(model)), printed.out, printed.err]
    faces += [path.read_text() for path in (tmp_path / "release.json", tmp_path / "models.json")]
    faces += [str(model.results_), model.results_._repr_html_(), json.dumps(model.results_.to_dict())]
    faces += [model.results_.to_frame().to_csv(), repr(model.results_.inference)]
    faces += public_faces(model.release_, "income", ["age", "region"])
    for face in faces:
        assert_clean(face)
    for thing in (model, model.release_, model.results_, model.certificate_):
        assert_clean_pickle(pickle.dumps(thing))


@pytest.mark.parametrize("options", MANY[:6])
def test_failures_with_many_outcomes_quote_nothing(options):
    broken = FRAME.assign(income=FRAME["income"].where(FRAME.index != 17, np.nan), share=FRAME["share"].astype(str))
    model = ReuseCov(epsilon=1, delta=1e-6, domain=DOMAIN, **options)
    features = FRAME[["region", "age"]]
    outcomes = FRAME[["share", "income"]]
    for X_, Y_ in (
        (features, broken[["share", "income"]]),
        (features, FRAME[["share"]].assign(income=broken["income"])),
        (features[:-1], outcomes),
        (features.replace("south", WORD), outcomes),
    ):
        with pytest.raises(DataError) as caught:
            model.fit(X_, Y_)
        assert_clean_error(caught)


def test_exact_moments_cannot_slip_into_a_pickle():
    with pytest.raises(TypeError, match="confidential") as caught:
        pickle.dumps(Moments.from_source(FRAME, DOMAIN))
    assert_clean_error(caught)


def test_the_number_of_rows_is_noisy():
    counts = {SSP(epsilon=1, delta=1e-6, domain=DOMAIN).fit(X, Y).release_.value("gram")[0, 0] for _ in range(5)}
    assert len(counts) == 5
    assert ROWS not in counts


@pytest.mark.parametrize("options", [{"epsilon": 20}, {"rows": 100, "delta": 0.5}])
def test_warnings_quote_parameters_only(options):
    given = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN} | options
    with pytest.warns(DiscreetWarning) as caught:
        SSP(**given).fit(X, Y)
    for warning in caught:
        assert_clean(str(warning.message), IN_WORDS)


# -------------------------------------------------------------------- failure: data that do not fit


def spoiled(column, value):
    frame = FRAME.copy()
    frame[column] = frame[column].astype(object)
    frame.loc[3, column] = value
    return frame


def ragged(rows):
    return [[*row, 1.0] if i == 5 else row for i, row in enumerate(rows)]


ARROW = pa.Table.from_pandas(X, preserve_index=False)
ARRAY = {"bounds_X": (0, [90, 1]), "bounds_y": (0, 200_000)}
WITH_NAN, WITH_INF = NUMBERS.copy(), NUMBERS.copy()
WITH_NAN[17, 1], WITH_INF[17, 1] = math.nan, math.inf
AS_TEXT = NUMBERS.astype(object)
AS_TEXT[17, 1] = WORD
NAMED = {"domain": DOMAIN}
BAD_DATA = {
    "undeclared category": (NAMED, spoiled("region", WORD)[FEATURES], Y),
    "text in a number": (NAMED, spoiled("age", WORD)[FEATURES], Y),
    "text in the outcome": (NAMED, X, spoiled("income", WORD)["income"]),
    "a number that is text": (NAMED, spoiled("age", str(SECRETS[0]))[FEATURES], Y),
    "a list in a cell": (NAMED, X.assign(age=[[SECRETS[0]]] * ROWS), Y),
    "missing value": (NAMED, X.assign(age=X["age"].where(X["age"] != SECRETS[0])), Y),
    "missing level": (NAMED, X.assign(region=X["region"].where(X["age"] != SECRETS[0])), Y),
    "infinite value": (NAMED, X.assign(age=X["age"].replace(SECRETS[0], math.inf)), Y),
    "all text": (NAMED, X.assign(age=X["age"].astype(str)), Y),
    "numbers for levels": (NAMED, X.assign(region=X["age"]), Y),
    "undeclared column": (NAMED, X.assign(other=1.0), Y),
    "column twice": (NAMED, pd.concat([X, X["age"]], axis=1), Y),
    "short outcome": (NAMED, X, Y[:-1]),
    "short outcome, arrow": (NAMED, ARROW, Y[:-1]),
    "long outcome, arrow": (NAMED, ARROW, pa.array(np.append(Y, SECRETS[0]))),
    "text in the outcome, arrow": (NAMED, ARROW, [*Y[:-1], WORD]),
    "odd outcome, arrow": (NAMED, ARROW, np.array([*Y[:-1], WORD], dtype=object)),
    "undeclared category, arrow": (NAMED, pa.Table.from_pandas(spoiled("region", WORD)[FEATURES]), Y),
    "outcome in X": (NAMED, FRAME, Y),
    "two outcomes": (NAMED, X, FRAME[["income", "age"]]),
    "no outcome": (NAMED, X, None),
    "outcome is a number": (NAMED, X, SECRETS[0]),
    "undeclared outcome": (NAMED, X, Y.rename("wealth")),
    "short outcome, array": (ARRAY, NUMBERS, Y.to_numpy()[:-1]),
    "nan, array": (ARRAY, WITH_NAN, Y),
    "inf, array": (ARRAY, WITH_INF, Y),
    "nan outcome, array": (ARRAY, NUMBERS, Y.replace(SECRETS[2], math.nan).to_numpy()),
    "text, array": (ARRAY, AS_TEXT, Y),
    "all text, array": (ARRAY, NUMBERS.astype(str), Y),
    "complex, array": (ARRAY, NUMBERS.astype(complex), Y),
    "ragged lists": (ARRAY, ragged(NUMBERS.tolist()), Y),
    "ragged outcome": (ARRAY, NUMBERS, ragged([[value] for value in Y])),
    "ragged outcome, frame": (NAMED, X, ragged([[value] for value in Y])),
    "one dimension": (ARRAY, NUMBERS[:, 0], Y),
    "three dimensions": (ARRAY, NUMBERS[None], Y),
    "transposed": (ARRAY, NUMBERS.T, Y),
    "transposed outcome": (ARRAY, NUMBERS, Y.to_numpy()[None]),
    "wide array": (ARRAY, np.hstack([NUMBERS, NUMBERS]), Y),
    "array for a domain with levels": (NAMED, FRAME[FEATURES].to_numpy(), Y),
    "a text": (ARRAY, WORD, Y),
    "a mapping": (ARRAY, {"a": SECRETS}, Y),
    "X and y in turns": (ARRAY, Y, NUMBERS),
}


@pytest.fixture
def no_noise_allowed(monkeypatch):
    """Any draw of noise fails the test."""

    def words(self, n):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(SeededEntropy, "words", words)
    with no_draw():
        yield


@pytest.mark.parametrize("case", BAD_DATA)
@pytest.mark.parametrize("cls", [SSP, AdaSSP])
def test_bad_data_are_refused_before_noise_and_without_a_word_of_them(cls, case, no_noise_allowed):
    facts, features, outcome = BAD_DATA[case]
    with pytest.raises(DiscreetError) as caught:
        cls(epsilon=1, delta=1e-6, **facts).fit(features, outcome)
    assert_clean_error(caught)


@pytest.mark.parametrize("seed", [None, 0])
def test_a_good_fit_does_draw_noise(seed, no_noise_allowed):
    with pytest.raises(AssertionError, match=r"(noise was|words were) drawn"):
        SSP(epsilon=1, delta=1e-6, domain=DOMAIN, random_state=seed).fit(X, Y)


@pytest.mark.parametrize("column", ["age", "region"])
def test_bad_files_are_refused_without_a_word_of_them(column, tmp_path):
    good, bad = pa.Table.from_pandas(FRAME), pa.Table.from_pandas(FRAME.assign(**{column: WORD}))
    path = tmp_path / "people.parquet"
    pq.write_table(bad, path)
    with pytest.raises(DataError, match=column) as caught:
        Moments.from_source(path, DOMAIN)
    assert_clean_error(caught)
    pq.write_table(good, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DiscreetError, match="not a complete Parquet file") as caught:
        Moments.from_source(path, DOMAIN)
    assert_clean_error(caught)
    pq.write_table(good, path)
    path.write_bytes(path.read_bytes().replace(column.encode(), column[:-1].encode() + b"\xda"))
    with pytest.raises(DiscreetError, match="not a complete Parquet file") as caught:
        Moments.from_source(path, DOMAIN)
    assert_clean_error(caught)


@pytest.mark.parametrize(
    "features",
    [
        spoiled("age", WORD)[FEATURES],
        spoiled("region", WORD)[FEATURES],
        X.drop(columns="age"),
        X.assign(age=X["age"].where(X["age"] != SECRETS[0])),
        X.to_numpy(),
        NUMBERS,
        NUMBERS.T,
        ragged(NUMBERS.tolist()),
        WORD,
        None,
    ],
)
def test_predictions_that_fail_quote_nothing(features):
    model = SSP(epsilon=1, delta=1e-6, domain=DOMAIN, random_state=0).fit(X, Y)
    with pytest.raises(DiscreetError) as caught:
        model.predict(features)
    assert_clean_error(caught)


def test_results_that_fail_to_predict_quote_nothing():
    fitted = SSP(epsilon=1, delta=1e-6, domain=DOMAIN, random_state=0).fit(X, Y).results_
    assert isinstance(fitted, results.Results)
    for matrix in (NUMBERS.T, AS_TEXT, ragged(NUMBERS.tolist())):
        with pytest.raises(DataError) as caught:
            fitted.predict(matrix)
        assert_clean_error(caught)


# -------------------------------------------------------------------- failure: parameters

NAN, INF = math.nan, math.inf
BAD_PARAMETERS = [
    *(({"epsilon": value}, "epsilon must be a finite number above 0.*Try") for value in (0, -1, NAN, INF, "1", True)),
    ({"epsilon": None}, r"epsilon is required.*e\.g\. epsilon=1"),
    ({"epsilon": 1e9}, "Choose an epsilon"),
    *(({"delta": value}, "delta must lie strictly between 0 and 1.*Try") for value in (0, 1, -1e-6, 2, NAN, INF, "x")),
    ({"delta": None}, "delta is required, or declare"),
    ({"delta": None, "rows": 1}, "Try delta=1e-6"),
    *(({"rows": value}, "rows must be a whole number of at least 1") for value in (0, -5, 2.5, NAN, "many", True)),
    *(({"neighbors": value}, "one of 'add-remove', 'replace-one'") for value in ("swap", None, 3)),
    *(({"bounds_X": value}, r"bounds_X=\(low, high\)") for value in (None, 3, (0, 1, 2), (0, [1, 2, 3]), ("a", "b"))),
    *(({"bounds_y": value}, r"bounds_y=\(low, high\)") for value in (None, 3, (0, [1, 2]))),
    *(({"bounds_X": value}, "must be below") for value in ((1, 0), (1, 1), (0, [1, -1]))),
    *(({"bounds_y": value}, "must be below") for value in ((5, 0), (2, 2))),
    *(({"bounds_X": value}, "bound is NaN.*Give") for value in ((NAN, 1), (0, [1, NAN]))),
    *(({"bounds_X": value}, "bound is infinite.*Give") for value in ((-INF, 1), (0, INF))),
    ({"bounds_y": (0, INF)}, "bound is infinite.*Give"),
    *(({"data_norm": value}, "data_norm must be a finite number above 0") for value in (0, -1, NAN, INF, "x")),
    ({"domain": {"x0": (0, 1)}}, "domain must be a Domain, for example"),
    ({"domain": DOMAIN}, "not both"),
    ({"domain": Domain({"x0": (0, 1), "y": (0, 1)}), "bounds_X": None, "bounds_y": None}, "declares 2"),
    *(({"fit_intercept": value}, "fit_intercept must be one of True, False") for value in ("no", None, 2)),
    *(({"n_jobs": value}, "n_jobs must be a whole number of at least 1") for value in (0, -2, 1.5, "two")),
    *(({"random_state": value}, "random_state must be None.*Leave it None") for value in (-1, 0.5, "x", True)),
    *(({"published": value}, "published must be one of None") for value in ("wang2017", "001", "", 3, True)),
    ({"published": "piazza2021", "neighbors": "replace-one"}, "add-remove"),
]
OWN_PARAMETERS = [
    *((AdaSSP, {"rho": value}, "rho must lie strictly between 0 and 1") for value in (0, 1, -1, 2, NAN, "x", None)),
    *((ConstSSP, {"rho": value}, "rho must lie strictly between 0 and 1") for value in (0, 1.5, NAN)),
    *((AdaSSP, {"eigenvalue_share": value}, "eigenvalue_share must lie strictly") for value in (0, 1, NAN, None)),
    (AdaSSP, {"published": "wang2018", "eigenvalue_share": 0.5}, "1/3"),
    *((SSP, {"ridge": value}, "ridge must be a finite number above 0") for value in (-1, NAN, INF, "x")),
    (ConstSSP, {"published": "wang2018"}, "one of None, 'piazza2021'"),
]
PARAMETERS = [(cls, *case) for cls in (SSP, ConstSSP, AdaSSP) for case in BAD_PARAMETERS] + OWN_PARAMETERS


@pytest.mark.parametrize(("cls", "wrong", "advice"), PARAMETERS)
def test_bad_parameters_are_refused_before_noise_with_advice(cls, wrong, advice, no_noise_allowed):
    given = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, [90, 1]), "bounds_y": (0, 200_000)} | wrong
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        with pytest.raises(DiscreetError, match=advice) as caught:
            cls(**given).fit(NUMBERS, Y.to_numpy())
    assert_clean_error(caught)


BAD_RELEASES = [
    *((wrong, advice) for wrong, advice in BAD_PARAMETERS if set(wrong) <= {"epsilon", "delta", "rows", "neighbors"}),
    *(({"random_state": value}, "random_state must be None") for value in (-1, "x")),
    *(({"targets": ["income"], "shares": value}, "share") for value in ({"gram": 0}, {"gram": NAN}, {"all": 1}, [1])),
    ({"shares": {"gram": 1}}, "needs targets="),
    *(({"targets": value}, "a list with at least one column name") for value in ("income", [], ())),
    ({"targets": ["wealth"]}, "'wealth' is not declared. Declared: age"),
    ({"targets": ["income", "income"]}, "named twice"),
    ({"moments": FRAME}, "A table needs domain="),
]


@pytest.mark.parametrize(("wrong", "advice"), BAD_RELEASES)
def test_bad_releases_are_refused_before_noise_with_advice(wrong, advice, no_noise_allowed):
    given = {"moments": Moments.from_source(FRAME, DOMAIN), "epsilon": 1, "delta": 1e-6} | wrong
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        with pytest.raises(DiscreetError, match=advice) as caught:
            release(**given)
    assert_clean_error(caught)


# -------------------------------------------------------------------- models by objective perturbation

PERTURBED = Domain(DOMAIN.columns | {"bought": bool, "visits": (0, 20)})
WITH_MORE = FRAME.assign(bought=FRAME["age"] > 50, visits=np.arange(ROWS) % 7)


MORE = [{"adaptive": False, "penalty": "l1"}, {"adaptive": True, "penalty": "l1"}]
RECYCLING = NappRecycling(retrieval="recycle")
NAPPS = [{"loss": "logistic"}, {"published": "li2021", "alpha": 2.0, "loss": "logistic", "recycling": RECYCLING}]


@pytest.mark.parametrize(
    ("cls", "target", "options"),
    [
        *((DPLogisticRegression, "bought", options) for options in MORE),
        *((DPLinearSVC, "region", options) for options in MORE),
        *((DPPoissonRegression, "visits", options) for options in MORE),
        *((ObjectivePerturbation, "income", options) for options in MORE),
        *((NAPP, "bought", options) for options in NAPPS),
        (NAPP, "income", {"published": "li2021", "alpha": 2.0, "augmentation": NappAugmentation(selection="VS+")}),
    ],
)
def test_a_perturbed_model_holds_no_data(cls, target, options, tmp_path, capfd):
    features = [name for name in FEATURES if name != target]
    model = cls(epsilon=1, delta=1e-6, domain=PERTURBED, rows=1000, **options)
    model.fit_source(WITH_MORE, target, features)
    path = tmp_path / "model.json"
    model.release_.save(path)
    printed = capfd.readouterr()
    r, c = model.results_, model.certificate_
    faces = [repr(model), model._repr_html_(), repr(vars(model)), path.read_text(), printed.out, printed.err]
    faces += [repr(r), r._repr_html_(), r.to_json(), report(r), repr(r.params), repr(r.selection())]
    faces += [repr(c), c.words(), json.dumps(c.to_dict()), *map(repr, c.check())]
    for face in faces:
        assert_clean(face)
    for thing in (model, r, c):
        assert_clean_pickle(pickle.dumps(thing))


@pytest.mark.parametrize("wrong", [{"region": WORD}, {"age": np.nan}, {"visits": np.inf}, {"bought": None}])
def test_perturbed_models_refuse_bad_rows_without_quoting_them(wrong):
    ((name, value),) = wrong.items()
    bad = WITH_MORE.astype({name: object})
    bad.loc[17, name] = value
    model = DPLogisticRegression(epsilon=1, delta=1e-6, domain=PERTURBED)
    with pytest.raises(DataError, match=f"'{name}'") as caught:
        model.fit_source(bad, "bought", ["age", "share", "region", "visits"])
    assert_clean_error(caught)


def test_labels_that_are_not_declared_are_not_quoted():
    labels = np.where(np.arange(ROWS) == 17, WORD, "yes")
    model = DPLinearSVC(epsilon=1, delta=1e-6, bounds_X=(0, [90, 1]), classes=["yes", "no"])
    with pytest.raises(DataError, match="not among the declared classes") as caught:
        model.fit(NUMBERS, labels)
    assert_clean_error(caught)


def test_rows_cannot_slip_into_a_pickle():
    with pytest.raises(TypeError, match="confidential") as caught:
        pickle.dumps(Rows(Table.of(WITH_MORE, PERTURBED), ["(intercept)", "age"], "bought"))
    assert_clean_error(caught)
    assert_clean(repr(Rows(Table.of(WITH_MORE, PERTURBED), ["(intercept)", "age"], "bought")))


# -------------------------------------------------------------------- coefficients that are released themselves

DRAWN = [m.estimator for m in registry.METHODS if issubclass(m.estimator, CoefficientsRegressor)]


@pytest.mark.parametrize("cls", DRAWN)
def test_released_coefficients_hold_no_data(cls, tmp_path, capfd):
    model = cls(epsilon=1, delta=1e-6, domain=DOMAIN, rows=2000, n_jobs=1).fit(X, Y)
    path = tmp_path / "model.json"
    model.release_.save(path)
    printed = capfd.readouterr()
    r, c = model.results_, model.certificate_
    faces = [repr(model), model._repr_html_(), repr(vars(model)), path.read_text(), printed.out, printed.err]
    faces += [repr(r), str(r.summary()), json.dumps(r.to_dict()), repr(r.params), repr(model.release_)]
    faces += [repr(c), c.words(), json.dumps(c.to_dict()), *map(repr, c.check())]
    for face in faces:
        assert_clean(face)
    assert_clean_pickle(pickle.dumps(model))


@pytest.mark.parametrize("cls", DRAWN)
def test_their_errors_quote_no_data(cls):
    bad = FRAME.astype({"region": object})
    bad.loc[17, "region"] = WORD
    for table, rows in ((bad, 2000), (FRAME, 1000)):
        model = cls(epsilon=1, delta=1e-6, domain=DOMAIN, rows=rows, n_jobs=1)
        if table is FRAME and cls.__name__ not in ("OPS", "AdaOPS", "OutputPerturbation"):
            continue  # rows is no bound for these
        with pytest.raises(DataError) as caught:
            model.fit(table[FEATURES], table["income"])
        assert_clean_error(caught)


def test_a_ridge_fit_under_way_shows_nothing():
    private = BoundedRidge(Moments.from_source(FRAME, DOMAIN), ("(intercept)", "age", "share"), "income", 2000.0)
    assert_clean(repr(private))
    assert repr(private) == "BoundedRidge(3 coordinates, confidential)"


# -------------------------------------------------------------------- scores, and all else that scikit-learn calls

PLAIN = {"epsilon": 5, "delta": 1e-6, "bounds_X": (0, [90, 1]), "rows": 2000, "n_jobs": 1, "random_state": 0}
FITTED = {
    "linear": lambda: SSP(**PLAIN, bounds_y=(0, 200_000)).fit(NUMBERS, Y.to_numpy()),
    "named": lambda: DPLinearRegression(epsilon=5, delta=1e-6, domain=DOMAIN, random_state=0).fit(X, Y),
    "many": lambda: ReuseCov(epsilon=5, delta=1e-6, domain=DOMAIN, random_state=0).fit(
        FRAME[["region", "age"]], FRAME[["share", "income"]]
    ),
    "trivial": lambda: TrivialRegressor(bounds_y=(0, 200_000)).fit(NUMBERS, Y),
    "coefficients": lambda: OutputPerturbation(**PLAIN, bounds_y=(0, 200_000)).fit(NUMBERS, Y.to_numpy()),
    "objective": lambda: ObjectivePerturbation(**PLAIN, bounds_y=(0, 200_000)).fit(NUMBERS, Y.to_numpy()),
    "counts": lambda: DPPoissonRegression(**PLAIN, bounds_y=(0, 20)).fit(NUMBERS, np.arange(ROWS) % 7),
    "classes": lambda: DPLogisticRegression(**PLAIN, classes=["no", "yes"]).fit(NUMBERS, LABELS),
    "numbered classes": lambda: DPLinearSVC(**PLAIN, classes=[0, 1]).fit(NUMBERS, np.arange(ROWS) % 2),
    "named classes": lambda: DPLogisticRegression(epsilon=5, delta=1e-6, domain=PERTURBED, random_state=0).fit(
        WITH_MORE[["age", "share"]], WITH_MORE["bought"]
    ),
    "NAPP": lambda: NAPP(**PLAIN, bounds_y=(0, 200_000)).fit(NUMBERS, Y.to_numpy()),
    "NAPP classes": lambda: NAPP(**PLAIN, loss="logistic", classes=["no", "yes"]).fit(NUMBERS, LABELS),
}
LABELS = np.where(np.arange(ROWS) % 2, "yes", "no")
OBJECTS = [*Y[:-1].tolist(), object()]
OUTCOMES = {
    "words": np.where(np.arange(ROWS) == 17, WORD, LABELS),
    "words in a series": pd.Series(np.where(np.arange(ROWS) == 17, WORD, LABELS)),
    "a word among numbers": np.array([*Y[:-1], WORD], dtype=object),
    "a word among numbers in a series": spoiled("income", WORD)["income"],
    "a word in a list": [*Y[:-1].tolist(), WORD],
    "numbers as text": Y.astype(str),
    "numbers as text in an array": Y.astype(str).to_numpy(),
    "text as categories": Y.astype(str).astype("category"),
    "text of pandas": Y.astype("string"),
    "text of arrow": pa.array(Y.astype(str)),
    "text of polars": pl.Series("income", Y.astype(str).tolist()),
    "text in a frame": Y.astype(str).to_frame(),
    "text in a table": pa.table({"income": Y.astype(str)}),
    "text in a frame of polars": pl.DataFrame({"income": Y.astype(str).tolist()}),
    "bytes": Y.astype(str).to_numpy().astype("S"),
    "continuous": Y,
    "continuous in an array": Y.to_numpy(),
    "missing": Y.where(SECRETS[2] != Y),
    "missing in an array": Y.where(SECRETS[2] != Y).to_numpy(),
    "NA": Y.astype("Float64").where(SECRETS[2] != Y),
    "NA among objects": Y.astype(object).where(SECRETS[2] != Y, pd.NA),
    "None among objects": [*Y[:-1].tolist(), None],
    "infinite": Y.replace(SECRETS[2], math.inf).to_numpy(),
    "objects": np.array(OBJECTS, dtype=object),
    "dates": pd.to_datetime(Y.round(), unit="D"),
    "dates in an array": pd.to_datetime(Y.round(), unit="D").to_numpy(),
    "spans of time": pd.to_timedelta(Y.round(), unit="D"),
    "complex": Y.to_numpy().astype(complex),
    "huge": [*Y[:-1].astype(int).tolist(), 10**400],
    "decimals": [*map(Decimal, Y[:-1].tolist()), Decimal("NaN")],
    "ragged": ragged([[value] for value in Y]),
    "arrays in cells": pd.Series([np.array([value, 1.0]) for value in Y]),
    "lists in cells": pd.Series([[value] for value in Y]),
    "dicts": [{"income": value} for value in Y],
    "lists of arrow": pa.array([[value] for value in Y]),
    "dictionary of arrow": pa.array(Y.astype(str)).dictionary_encode(),
    "sparse": sparse.csr_array(Y.to_numpy()[:, None]),
    "sparse of pandas": Y.astype(pd.SparseDtype("float", SECRETS[2])),
    "masked": np.ma.masked_equal(Y.to_numpy(), SECRETS[2]),
    "structured": np.array([(value, 1) for value in Y], dtype=[("a", float), ("b", int)]),
    "short": Y[:-1],
    "short text": LABELS[:-1],
    "long": np.append(Y, SECRETS[0]),
    "transposed": Y.to_numpy()[None],
    "two columns": FRAME[["age", "income"]].to_numpy(),
    "two columns, named": FRAME[["age", "income"]],
    "two columns of text": FRAME[["age", "income"]].astype(str),
    "two columns of a table": pa.Table.from_pandas(FRAME[["age", "region"]]),
    "three dimensions": Y.to_numpy()[None, None],
    "one number": SECRETS[0],
    "one word": WORD,
    "a mapping": {"income": Y.tolist()},
    "a set": set(Y.tolist()),
    "a generator": (value for value in Y),
    "none": None,
}
"""An outcome in every odd container; for some models it is a good one, which is no harm here."""


@cache
def fitted(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITTED[kind]()


def features_for(kind):
    return {"named": X, "many": FRAME[["region", "age"]], "named classes": FRAME[["age", "share"]]}.get(kind, NUMBERS)


def fails_cleanly(call):
    """Make a call that may fail: what it says then is searched, with warnings; our own errors only."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except DiscreetError as error:
            assert_clean(full_text(error), IN_WORDS)
    for warning in caught:
        assert_clean(str(warning.message), IN_WORDS)


@pytest.mark.parametrize("case", OUTCOMES)
@pytest.mark.parametrize("kind", FITTED)
def test_scores_quote_nothing(kind, case, capfd):
    fails_cleanly(lambda: fitted(kind).score(features_for(kind), OUTCOMES[case]))
    fails_cleanly(lambda: fitted(kind).score(OUTCOMES[case], OUTCOMES[case]))
    good = LABELS if "classes" in kind else Y
    fails_cleanly(lambda: fitted(kind).score(features_for(kind), good, sample_weight=OUTCOMES[case]))
    assert_clean("".join(capfd.readouterr()), IN_WORDS)


@pytest.mark.parametrize("case", OUTCOMES)
@pytest.mark.parametrize("kind", ["linear", "named", "many", "trivial", "classes", "named classes"])
def test_fits_and_predictions_quote_nothing(kind, case, capfd):
    model = clone(fitted(kind))
    fails_cleanly(lambda: model.fit(features_for(kind), OUTCOMES[case]))
    fails_cleanly(lambda: model.fit(OUTCOMES[case], Y))
    if kind != "trivial" and OUTCOMES[case] is not None:
        fails_cleanly(lambda: model.fit(features_for(kind), Y, OUTCOMES[case]))
    names = ["predict", "predict_proba", "decision_function"]
    for name in (name for name in names if hasattr(fitted(kind), name)):
        fails_cleanly(lambda name=name: getattr(fitted(kind), name)(OUTCOMES[case]))
    if kind != "trivial":
        predict = getattr(fitted(kind).results_, "predict", None)
        fails_cleanly(lambda: None if predict is None else predict(OUTCOMES[case]))
    assert_clean("".join(capfd.readouterr()), IN_WORDS)


@pytest.mark.parametrize("case", OUTCOMES)
def test_labels_that_are_public_are_quoted_no_more(case):
    fails_cleanly(lambda: declared_classes("public", as_outcomes(OUTCOMES[case]).columns()[0]))


def test_scores_are_those_of_scikit_learn():
    weights = np.random.default_rng(1).uniform(0, 2, ROWS)
    for kind in ("linear", "named", "trivial", "coefficients", "objective", "counts", "NAPP"):
        model, features = fitted(kind), features_for(kind)
        for given in (Y, Y.to_numpy(), Y.tolist(), pa.array(Y), pl.Series("income", Y.tolist()), Y.to_frame()):
            for w in (None, weights):
                assert model.score(features, given, w) == r2_score(Y, model.predict(features), sample_weight=w)
    both, model = FRAME[["share", "income"]], fitted("many")
    for given in (both, both.to_numpy(), pa.Table.from_pandas(both), pl.from_pandas(both)):
        wanted = r2_score(both, model.predict(features_for("many")))
        assert model.score(features_for("many"), given) == pytest.approx(wanted, rel=1e-9)
    for kind, labels in (("classes", LABELS), ("numbered classes", np.arange(ROWS) % 2), ("NAPP classes", LABELS)):
        for given in (
            labels,
            labels.tolist(),
            pd.Series(labels),
            pd.Series(labels).astype("category"),
            pa.array(labels),
        ):
            for w in (None, weights):
                wanted = accuracy_score(labels, fitted(kind).predict(NUMBERS), sample_weight=w)
                assert fitted(kind).score(NUMBERS, given, w) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("kind", FITTED)
def test_scores_of_a_model_that_is_not_fitted(kind):
    with pytest.raises(NotFittedError):
        clone(fitted(kind)).score(features_for(kind), Y)


def test_bad_weights_of_a_score_are_refused():
    for weights in (np.zeros(ROWS), np.ones(ROWS - 1), np.full(ROWS, np.nan), np.ones((ROWS, 2))):
        for kind, good in (("linear", Y), ("classes", LABELS)):
            with pytest.raises(DataError, match="sample_weight"):
                fitted(kind).score(NUMBERS, good, weights)


@pytest.mark.parametrize("case", ["a word among numbers", "numbers as text in an array", "missing in an array"])
def test_searches_and_cross_validation_quote_nothing(case, capfd):
    """What scikit-learn reports of fits and scores that failed holds whole tracebacks."""
    model = SSP(**PLAIN, bounds_y=(0, 200_000))
    for call in (
        lambda: cross_val_score(model, NUMBERS, OUTCOMES[case], cv=KFold(2)),
        lambda: GridSearchCV(model, {"ridge": [1.0, 2.0]}, cv=KFold(2), refit=False).fit(NUMBERS, OUTCOMES[case]),
        lambda: cross_validate(fitted("trivial"), NUMBERS, OUTCOMES[case], cv=KFold(2), error_score="raise"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            said = ""
            try:
                call()
            except ValueError as error:
                said = full_text(error)
        said += "".join(str(warning.message) for warning in caught)
        assert_clean(said, IN_WORDS)
        assert "y must hold numbers" in said or "y holds missing" in said
    assert_clean("".join(capfd.readouterr()), IN_WORDS)


@pytest.mark.parametrize("packed", [False, True])
def test_a_level_beyond_64_bits_with_a_sign_is_not_quoted(packed):
    secret = 2**64 - 987_654_321
    levels = pa.array([1, secret], pa.uint64())
    table = pa.table({"c": levels.dictionary_encode() if packed else levels, "y": [0.0, 1.0]})
    with pytest.raises(DataError, match="not declared") as caught:
        Moments.from_source(table, Domain({"c": [0, 1], "y": (0, 1)}))
    assert str(secret) not in full_text(caught.value)


def test_a_damaged_arrow_array_is_refused_in_our_words():
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a", "b"]), safe=False)
    with pytest.raises(DataError, match="Column 'c' is damaged") as caught:
        Moments.from_source(pa.table({"c": codes, "y": [0.0, 1.0]}), Domain({"c": ["a", "b"], "y": (0, 1)}))
    assert "7" not in str(caught.value)


def test_public_classes_do_not_tell_of_the_number_of_rows():
    """Scikit-learn warns where there are more than half as many labels as rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert declared_classes("public", np.arange(30) % 20) == tuple(range(20))
