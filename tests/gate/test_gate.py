"""The gate: nothing is drawn before it is paid for, nothing is paid for bad data, and one release is charged once."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from drawn import each_draw, no_draw

from discreet import Budget, BudgetError, Domain, DPLinearRegression, Moments, ReuseCov, SubsampleAggregate, release
from discreet.data.reading import Table
from discreet.errors import DataError, DiscreetWarning, GuaranteeError, ParameterError
from discreet.gate import session as gate_session
from discreet.gate.entropy import NO_NOISE, Entropy, OSEntropy, SeededEntropy
from discreet.gate.session import Session, promised
from discreet.mechanisms.registry import METHODS

ROWS = 600
DOMAIN = Domain(
    {"age": (18, 90), "hours": (0, 60), "bought": bool, "visits": (0, 20), "income": (0, 200_000), "debt": (0, 9)}
)
REPLACE = {"neighbors": "replace-one"}
PUBLIC = REPLACE | {"association": "projection"}
MANY = ("income", "debt")
CASES = {
    "DPLinearRegression": [{}, {"narrow": False}, {"target": MANY}],
    "DPRidge": [{}],
    "DPLasso": [{}],
    "DPElasticNet": [{}],
    "AdaSSP": [{}, {"published": "wang2018"}],
    "ConstSSP": [{"rows": ROWS}],
    "ReuseCov": [
        {"target": MANY} | options
        for options in (
            {},
            PUBLIC,
            {"subsample": 0.4},
            {"subsample": 0.4} | REPLACE,
            {"subsample": 0.4} | PUBLIC,
            {"published": "neel2023", "subsample": 0.4} | PUBLIC,
        )
    ],
    "SSP": [{}, {"published": "piazza2021"}],
    "DPLogisticRegression": [{"target": "bought"}, {"target": "bought", "adaptive": True}],
    "DPPoissonRegression": [{"target": "visits"}],
    "DPLinearSVC": [{"target": "bought", "noise": "laplace", "delta": None}],
    "ObjectivePerturbation": [{}, {"published": "wang2018"}],
    "NAPP": [{}, {"published": "li2021", "alpha": 1.0}],
    "AdaOPS": [{"rows": ROWS}, {"rows": ROWS, "published": "wang2018"}],
    "OPS": [{"rows": ROWS}, {"calibration": "pure", "delta": None}],
    "OutputPerturbation": [{"rows": ROWS}, {"rows": ROWS, "shape": "fisher"}],
    "NoisyGradientDescent": [{"rows": ROWS}],
    "NoisySGD": [{"rows": ROWS, "steps": 4}],
    "SubsampleAggregate": [{"rows": ROWS}],
}
EVERY = [(name, options) for name, cases in CASES.items() for options in cases]
QUICK = [(name, options) for name, options in EVERY if "adaptive" not in options]
"""Two stages read rows as one does, and take seconds to plan."""


def table(rows=ROWS):
    rng = np.random.default_rng(0)
    age, hours = rng.uniform(18, 90, rows), rng.uniform(0, 60, rows)
    income = 900 * age + 1500 * hours
    rest = {"visits": rng.poisson(3, rows).astype(float), "income": income, "debt": income / 4e4}
    return pd.DataFrame({"age": age, "hours": hours, "bought": income > 8e4} | rest)


TABLE = table()


def fitted(name, options, source=TABLE, domain=DOMAIN):
    """A model of the registry, fitted to a table."""
    estimator = next(method.estimator for method in METHODS if method.name == name)
    given = {"epsilon": 1, "delta": 1e-6, "domain": domain, "n_jobs": 1} | options
    target = given.pop("target", "income")
    target = list(target) if isinstance(target, tuple) else target
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return estimator(**given).fit_source(source, target, ["age", "hours"])


def budget(options, epsilon=5.0):
    return Budget(epsilon, 1e-3, neighbors=options.get("neighbors", "add-remove"), adding=True)


@pytest.fixture
def no_words():
    """Random words fail the test."""
    with no_draw():
        yield


def test_every_method_is_here():
    assert set(CASES) == {method.name for method in METHODS}


@pytest.mark.parametrize(("name", "options"), EVERY)
def test_a_release_that_the_budget_refuses_draws_nothing(name, options, no_words):
    with budget(options, epsilon=1e-3) as small, pytest.raises(BudgetError):
        fitted(name, options)
    assert small.to_dict()["releases"] == []


@pytest.mark.parametrize(("name", "options"), EVERY)
def test_one_charge_comes_before_all_random_words(name, options, monkeypatch):
    done, charge = [], gate_session.charge

    def recorded(*args):
        done.append("charge")
        return charge(*args)

    monkeypatch.setattr(gate_session, "charge", recorded)
    with each_draw(lambda: done.append("words")):
        assert fitted(name, options).certificate_.guarantee.status in ("verified", "claimed")
    assert done[:2] == ["charge", "words"]
    assert done.count("charge") == 1


SPOILED = {
    "a missing value in the last row": TABLE.assign(hours=TABLE["hours"].where(TABLE.index < ROWS - 1)),
    "text": TABLE.assign(age=TABLE["age"].astype(str)),
    "no row": TABLE[:0],
}


@pytest.mark.parametrize("case", SPOILED)
@pytest.mark.parametrize(("name", "options"), QUICK)
def test_bad_data_neither_spend_nor_draw(name, options, case, no_words):
    with budget(options) as whole, pytest.raises(DataError):
        fitted(name, options, SPOILED[case])
    assert whole.to_dict()["releases"] == []


@pytest.mark.parametrize(("name", "options"), QUICK)
def test_a_table_of_which_every_row_is_dropped_neither_spends_nor_draws(name, options, no_words):
    """The outcomes are there, so that their counts are not empty."""
    if options.get("association") == "projection":
        pytest.skip("missing='drop' does not go with public outcomes")
    with budget(options) as whole, pytest.raises(DataError, match="no row"):
        fitted(name, options, TABLE.assign(age=np.nan), Domain(DOMAIN.columns, missing="drop"))
    assert whole.to_dict()["releases"] == []


def test_a_sample_that_would_hold_no_row_is_refused_before_it_is_paid_for(no_words):
    with budget(REPLACE) as whole, pytest.raises(DataError, match="no row"):
        fitted("ReuseCov", {"subsample": 1e-3, "target": MANY} | REPLACE)
    assert whole.to_dict()["releases"] == []


@pytest.mark.parametrize("epsilon", [1e9, 1e-13])
def test_noise_that_cannot_be_exact_is_refused_before_it_is_paid_for(epsilon, no_words):
    options = {"epsilon": epsilon, "delta": 1e-14}
    with budget({}) as whole, pytest.raises(ParameterError, match="less extreme"):
        fitted("DPLinearRegression", options)
    assert whole.to_dict()["releases"] == []


# -------------------------------------------------------------------- the session


PROMISE = promised(1, 1e-6, None, "add-remove")


@pytest.mark.parametrize("random_state", [None, 0, np.random.default_rng(0), np.random.RandomState(0)])
def test_a_session_has_no_random_words_before_it_is_charged(random_state, no_words):
    session = Session(PROMISE, "a test", None, random_state)
    held = [getattr(session, name) for name in dir(session)]
    assert not [value for value in held if isinstance(value, Entropy)]
    assert isinstance(session.charge(DOMAIN, mu=0.1), Entropy)


def test_a_session_is_charged_once():
    with Budget(1, 1e-6) as whole:
        session = Session(PROMISE, "a test", None, None)
        session.charge(DOMAIN, mu=0.1)
        with pytest.raises(GuaranteeError, match="charged once"):
            session.charge(DOMAIN, mu=0.1)
    assert [release["method"] for release in whole.to_dict()["releases"]] == ["a test"]


def test_a_refused_session_gives_nothing_and_may_be_tried_again():
    session = Session(PROMISE, "a test", None, None)
    with Budget(1e-3, 1e-9), pytest.raises(BudgetError):
        session.charge(DOMAIN, mu=0.1)
    with Budget(1, 1e-6) as whole:
        assert type(session.charge(DOMAIN, mu=0.1)) is OSEntropy
    assert whole.mu_spent == 0.1


@pytest.mark.parametrize(
    ("random_state", "status"),
    [
        (None, "verified"),
        (OSEntropy(), "verified"),
        (0, "simulation"),
        (NO_NOISE, "simulation"),
        (SeededEntropy(0), "simulation"),
        (type("Own", (OSEntropy,), {})(), "simulation"),
    ],
)
def test_only_words_of_the_operating_system_keep_a_promise_and_cost(random_state, status):
    with Budget(1, 1e-6) as whole:
        session = Session(PROMISE, "a test", None, random_state)
        session.charge(DOMAIN, mu=0.1)
    assert session.promise.status == status
    assert session.simulation == (status == "simulation")
    assert len(whole.to_dict()["releases"]) == (status == "verified")


def test_a_bad_random_state_is_refused_before_anything_is_charged():
    with Budget(1, 1e-6) as whole:
        for attempt in (
            lambda: Session(PROMISE, "a test", None, "seed"),
            lambda: release(Moments.from_source(TABLE, DOMAIN), epsilon=0.5, delta=1e-6, random_state=-1),
            lambda: fitted("DPLinearRegression", {"random_state": True}),
        ):
            with pytest.raises(ParameterError, match="random_state"):
                attempt()
    assert whole.to_dict()["releases"] == []


def test_the_budget_names_the_method():
    with Budget(10, 1e-3) as whole:
        fitted("DPLinearRegression", {})
    assert [release["method"] for release in whole.to_dict()["releases"]] == ["DPLinearRegression"]


# -------------------------------------------------------------------- tables that are read twice


def stream(frame=TABLE):
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    return pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches(100))


BOTH = [(SubsampleAggregate, {"rows": ROWS}, "income"), (ReuseCov, {"subsample": 0.4}, list(MANY))]
BOTH += [(ReuseCov, {"subsample": 0.4} | REPLACE, list(MANY))]


@pytest.mark.parametrize(("cls", "options", "target"), BOTH)
def test_a_stream_is_as_good_as_a_table(cls, options, target):
    given = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "n_jobs": 1, "random_state": 1} | options
    one, other = (cls(**given).fit_source(source, target, ["age", "hours"]) for source in (TABLE, stream()))
    assert np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize(("cls", "options", "target"), BOTH)
def test_a_bad_stream_neither_spends_nor_draws(cls, options, target, no_words):
    given = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN} | options
    spoiled = SPOILED["a missing value in the last row"]
    with budget(options) as whole, pytest.raises(DataError, match="'hours'"):
        cls(**given).fit_source(stream(spoiled), target, ["age", "hours"])
    assert whole.to_dict()["releases"] == []


@pytest.mark.parametrize(("cls", "options", "target"), BOTH)
def test_progress_goes_from_nothing_to_all_once(cls, options, target):
    shown = []
    given = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "n_jobs": 1} | options
    cls(**given).fit_source(table(30_000), target, ["age", "hours"], progress=shown.append)
    assert shown == sorted(shown)
    assert shown[-1] == 1
    assert any(0 < fraction < 0.5 for fraction in shown)


def test_a_table_to_be_read_says_nothing_of_its_rows():
    found = Table.of(TABLE, DOMAIN).checked()
    assert (found.rows, found.left) == (ROWS, ROWS)
    assert str(ROWS) not in repr(found)
    with pytest.raises(TypeError, match="confidential"):
        found.__reduce__()


def test_counts_and_moments_share_one_charge():
    with Budget(1, 1e-6) as whole:
        DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN).fit_source(TABLE, "income", ["age", "hours"])
    assert len(whole.to_dict()["releases"]) == 1
    assert whole.epsilon_spent == pytest.approx(1, rel=1e-6)
