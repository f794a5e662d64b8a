"""Wide tables: sketches and gradient steps, in every family, followed again, and better than one stage."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet import Budget, Domain, DPLinearRegression, DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.domain.sketch import SketchCoordinates
from discreet.per_instance import losses
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import StageEvent

pytestmark = pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")

N, SIZE = 3000, 260
LEVELS = [f"l{i}" for i in range(SIZE)]
PROMISE = {"epsilon": 8.0, "delta": 1e-6, "n_jobs": 1}


def table(n=N, seed=0):
    """Two categories with 520 levels together, whose effects add up."""
    rng = np.random.default_rng(seed)
    a, b = (np.minimum(rng.geometric(0.03, n) - 1, SIZE - 1) for _ in range(2))
    effects = np.random.default_rng(9).normal(size=(2, SIZE))
    eta = effects[0, a] + effects[1, b]
    return pa.table(
        {
            "a": pa.DictionaryArray.from_arrays(pa.array(a, pa.int32()), LEVELS),
            "b": pa.DictionaryArray.from_arrays(pa.array(b, pa.int32()), LEVELS),
            "who": np.arange(n) // 2,
            "w": rng.uniform(0.5, 2, n),
            "years": rng.uniform(0.5, 2, n),
            "pay": np.clip(50 + 10 * eta + 4 * rng.normal(size=n), 0, 100),
            "ill": np.where(eta + rng.normal(size=n) > 0, "yes", "no"),
            "care": np.array(["home", "ward", "icu"])[np.digitize(eta + 0.5 * rng.normal(size=n), [-0.7, 0.7])],
            "visits": np.minimum(rng.poisson(np.exp(0.5 * eta)), 20),
        }
    )


TABLE = table()
OUTCOMES = {"pay": (0, 100), "ill": ["no", "yes"], "care": ["home", "icu", "ward"], "visits": (0, 20)}


def fitted(estimator, target, unit=None, more=None, **options):
    columns = {"a": LEVELS, "b": LEVELS, target: OUTCOMES[target]} | (more or {})
    domain = Domain(columns, **unit or {})
    return estimator(**PROMISE, domain=domain, **options).fit_source(TABLE, target, ["a", "b"])


FITS = {
    "linear": lambda **given: fitted(DPLinearRegression, "pay", **given),
    "two classes": lambda **given: fitted(DPLogisticRegression, "ill", **given),
    "three classes": lambda **given: fitted(DPLogisticRegression, "care", **given),
    "counts": lambda **given: fitted(DPPoissonRegression, "visits", **given),
    "counts, with an exposure": lambda **given: fitted(
        DPPoissonRegression, "visits", more={"years": (0.1, 5)}, exposure="years", **given
    ),
    "hinge": lambda **given: fitted(DPLinearSVC, "ill", **given),
    "replace-one": lambda **given: fitted(DPLogisticRegression, "ill", neighbors="replace-one", rows=N, **given),
    "persons": lambda **given: fitted(DPLinearRegression, "pay", {"person": "who", "rows_per_person": 2}, **given),
    "weights": lambda **given: fitted(DPLogisticRegression, "ill", {"weights": "w", "largest_weight": 2.0}, **given),
}


@pytest.fixture(scope="module")
def made():
    held = {}

    def find(name):
        if name not in held:
            held[name] = FITS[name]()
        return held[name]

    return find


@pytest.mark.parametrize("name", FITS)
def test_a_wide_table_is_released_by_gradient_steps(name, made, tmp_path):
    model = made(name)
    certificate, path = model.certificate_, tmp_path / "model.json"
    assert certificate.recipe == {"name": "gradient steps"}
    assert certificate.epsilon == pytest.approx(8.0)
    stages = [event.coordinates for event in certificate.of(StageEvent)]
    assert [isinstance(own, SketchCoordinates) for own in stages[:3]] == [True, True, False]
    model.results_.save(path)
    assert discreet.check(path).ok
    again = discreet.load(path)
    assert np.array_equal(again.coef, model.results_.coef)
    assert np.array_equal(again.predict(TABLE.slice(0, 50)), model.results_.predict(TABLE.slice(0, 50)))
    assert certificate.mismatch(model.release_.values) is None
    assert certificate.mismatch() is None
    assert "not released" in str(model.results_.summary())
    assert set(model.results_.released.regressors) == {"a", "b"}


def test_it_is_more_accurate_than_one_stage():
    """R^2 on other rows; least squares explains about 0.9."""
    test = table(4000, 1)
    y = np.asarray(test["pay"])
    wide, one = (FITS["linear"](random_state=2, stages=stages).predict(test) for stages in ("auto", 1))
    error = [np.mean((predicted - y) ** 2) / np.var(y) for predicted in (wide, one)]
    assert error[0] < 0.6 * error[1]
    assert error[0] < 0.5


def test_without_noise_it_is_scikit_learns_model():
    """At a huge epsilon steps lead to the model that the rows call for, as far as 64 of them do."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (4000, 520)) * np.linspace(0.2, 1, 520)
    y = (X[:, ::50].sum(axis=1) + rng.logistic(size=4000) > 0) * 1
    model = DPLogisticRegression(epsilon=1e4, delta=1e-6, bounds_X=(-1, 1), classes=[0, 1], random_state=1).fit(X, y)
    other = LogisticRegression(C=0.1).fit(X, y)
    assert np.corrcoef(model.coef_[0], other.coef_[0])[0, 1] > 0.95


@pytest.mark.parametrize("name", ["linear", "three classes"])
def test_what_does_not_follow_is_found(name, made):
    model = made(name)
    certificate, values = model.certificate_, model.release_.values
    places = [i for i, event in enumerate(certificate.events) if isinstance(event, StageEvent)]
    sketch, step = (certificate.events[i].coordinates for i in (places[1], places[3]))
    turned = tuple(reversed(sketch.directions.integers))
    other = tuple((q + 1000, *rest) for q, *rest in step.theta.integers)
    forged = {
        places[1]: {"directions": replace(sketch.directions, integers=turned)},
        places[3]: {"theta": replace(step.theta, integers=other)},
        places[4]: {"shrinkage": replace(step.shrinkage, radius=step.shrinkage.radius * 1.01)},
        places[5]: {"shrinkage": replace(step.shrinkage, shares=(0.0,) * len(step.shrinkage.shares))},
    }
    for place, change in forged.items():
        events = list(certificate.events)
        events[place] = replace(events[place], coordinates=replace(events[place].coordinates, **change))
        assert replace(certificate, events=tuple(events)).mismatch(values) is not None
    for place in places[:4]:
        events, own = list(certificate.events), certificate.events[place]
        blocks = tuple(replace(block, sd=block.sd * 1.001) for block in own.blocks)
        mu = sensitivity.mu(blocks, own.coordinates, certificate.guarantee.neighbors)
        events[place] = replace(own, mu=mu, blocks=blocks)
        assert replace(certificate, events=tuple(events)).mismatch(values) is not None
    fewer = certificate.events[:-1]
    assert replace(certificate, events=fewer).mismatch(values[:-1]) is not None


@pytest.mark.parametrize("name", ["linear", "three classes", "persons"])
def test_losses_of_rows_are_below_the_promise(name, made):
    model = made(name)
    rows = TABLE.slice(0, 40)
    epsilons = losses(rows, model.release_).epsilon()
    assert (epsilons <= 8.0 * (1 + 1e-9)).all()
    assert epsilons.min() > 0


def test_a_ledger_is_charged_once():
    with Budget(epsilon=10, delta=1e-5) as budget:
        model = fitted(DPLinearRegression, "pay")
    assert model.certificate_.guarantee.status == "verified"
    assert "in 1 release" in repr(budget)


def test_arrays_frames_and_files_give_the_same_release(tmp_path):
    import pyarrow.parquet as pq

    frame, path = TABLE.select(["a", "b", "pay"]).to_pandas(), tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=700)
    domain = Domain({"a": LEVELS, "b": LEVELS, "pay": (0, 100)})
    fits = [
        DPLinearRegression(epsilon=8, delta=1e-6, domain=domain, random_state=1, n_jobs=jobs).fit_source(
            source, "pay", ["a", "b"]
        )
        for source, jobs in ((TABLE, 1), (frame.astype({"a": str, "b": str}), 2), (path, 2))
    ]
    assert all(np.array_equal(fits[0].coef_, other.coef_) for other in fits[1:])
    assert isinstance(frame, pd.DataFrame)


@pytest.mark.parametrize("name", ["linear", "two classes"])
def test_a_file_without_values_or_of_another_method_is_found(name, made):
    """Coefficients follow from the values alone, and a linear model is none of classes."""
    from discreet.results.saved import check_saved

    results = made(name).results_
    assert all(finding.ok for finding in check_saved(results))
    assert not all(finding.ok for finding in check_saved(replace(results, values=())))
    other = "DPLogisticRegression" if name == "linear" else "DPLinearRegression"
    assert replace(results.certificate, method=other).mismatch(results.values) is not None
