"""Every way in, with columns whose bounds nobody knows: they are found, or it is refused before anything is spent.

Engines are in tests/data/engines/test_search_of_engines.py. The methods are held against the registry.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet import Budget, Domain, DPLinearRegression, DPPoissonRegression, Moments, plan, release
from discreet.data.reading import Table
from discreet.data.rows import Rows
from discreet.errors import DiscreetError, ParameterError
from discreet.gate.session import Session, promised
from discreet.mechanisms.registry import METHODS
from discreet.models.base import Classifier

pytestmark = pytest.mark.filterwarnings("ignore")

N = 6000
DOMAIN = Domain({"a": "number", "b": {"low": 0}, "g": ["u", "v"], "y": "number", "c": {"low": 0}, "z": "number"})
UNIT = {"person": "who", "rows_per_person": 2, "weights": "w", "largest_weight": 2.0}
PROMISE = {"epsilon": 2, "delta": 1e-6}
SEARCHING = {
    "DPLinearRegression", "DPRidge", "DPLasso", "DPElasticNet",
    "DPLogisticRegression", "DPLinearSVC", "DPPoissonRegression",
}  # fmt: skip


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(0, 4, N), "b": rng.uniform(0, 50, N)})
    frame["y"] = 3 * frame["a"] + 0.1 * frame["b"] + rng.normal(0, 1, N)
    frame["z"] = frame["a"] - frame["y"]
    frame["c"] = rng.poisson(np.exp(0.1 * frame["a"]))
    frame["g"] = np.where(frame["a"] + rng.normal(0, 4, N) > 0, "v", "u")
    return frame.assign(who=np.arange(N) // 2, w=2.0)


FITS = {
    "fit": lambda model, frame, y: model.fit(frame[["a", "b"]], frame[y]),
    "fit_source": lambda model, frame, y: model.fit_source(frame, y, ["a", "b"]),
    "fit_formula": lambda model, frame, y: model.fit_formula(f"{y} ~ a + b", frame),
    "fit_moments": lambda model, frame, y: model.fit_moments(Moments.from_source(frame, model.domain), y),
}


@pytest.mark.parametrize("way", FITS)
@pytest.mark.parametrize("estimator", [method.estimator for method in METHODS], ids=lambda own: own.__name__)
def test_methods(estimator, way, people):
    if not hasattr(estimator, way):
        pytest.skip("it has no such way")
    y = "g" if issubclass(estimator, Classifier) else "c" if "Poisson" in estimator.__name__ else "y"
    more = {} if "OPS" in estimator.__name__ else {"delta": 1e-6}
    model = estimator(epsilon=2, domain=DOMAIN.select(["a", "b", y]), rows=N, **more)
    with Budget(epsilon=5, delta=1e-3, adding=True) as budget:
        if estimator.__name__ in SEARCHING and way != "fit_moments":
            FITS[way](model, people, y)
            certificate = model.certificate_
            assert certificate.guarantee.status == "verified"
            assert set(certificate.searched.searched) == {"a", "b", y} - {"g"}
            assert all(finding.ok for finding in certificate.check(model.release_.values))
            low, high = certificate.domain.columns["a"].range
            assert low < -6
            assert high > 6
            assert high - low < 130
            return
        with pytest.raises(ParameterError, match=r"needs bounds of all columns, and 'a', 'b'.*Nothing was spent"):
            FITS[way](model, people, y)
        assert budget.others_left == (5, 1e-3)


def test_the_methods_that_search_are_all_that_there_are():
    assert {method.estimator.__name__ for method in METHODS} >= SEARCHING


@pytest.mark.parametrize("unit", [{}, UNIT])
@pytest.mark.parametrize("asked", [{"targets": ["y"]}, {"models": ["y ~ a + b + g", "z ~ a"]}])
def test_releases_for_later_models(asked, unit, people):
    domain = DOMAIN.with_unit(**unit) if unit else DOMAIN
    released = release(people, domain=domain.select(["a", "b", "g", "y", "z"]), **asked, **PROMISE, random_state=1)
    assert released.certificate.searched.unit == domain.unit
    assert all(finding.ok for finding in released.certificate.check(released.values)[:-1])
    assert released.fit("y ~ a + b").coef[0] == pytest.approx(3, abs=0.3)
    assert "a" in released.select("y ~ a + b + g").chosen(0.9)


def test_several_outcomes(people):
    model = DPLinearRegression(**PROMISE, domain=DOMAIN, random_state=1).fit_source(people, ["y", "z"], ["a", "b"])
    assert model.coef_[:, 0] == pytest.approx([3, -2], abs=0.4)


def test_plans_search_as_releases_do(people):
    """A plan, from guesses alone, is about what a fit of people like these finds."""
    features, told = ["a", "b"], {"r_squared": 0.99, "about": GUESSES | {"b": {"high": 50}}, "draws": 4}
    found = plan(DOMAIN, "y", features, rows=N, **told, epsilon=2, delta=1e-6, methods=["DPLinearRegression"])
    model = DPLinearRegression(**PROMISE, domain=DOMAIN, rows=N, random_state=1).fit_source(people, "y", features)
    ratio = found.at(2.0).std_err[1:] / model.results_.inference.std_err[1:]
    assert (ratio > 1 / 3).all()
    assert (ratio < 3).all()


GUESSES = {"a": {"mean": 0, "sd": 4}, "y": {"mean": 2.5, "sd": 12}}
REFUSED = {
    "all products": lambda frame: release(frame, domain=DOMAIN, **PROMISE),
    "one stage": lambda frame: release(frame, domain=DOMAIN, targets=["y"], stages=1, **PROMISE),
    "shares": lambda frame: release(frame, domain=DOMAIN, targets=["y"], shares={"gram": 0.5}, **PROMISE),
    "moments": lambda frame: Moments.from_source(frame, DOMAIN),
    "a stream": lambda frame: DPLinearRegression(**PROMISE, domain=DOMAIN).fit_source(
        pa.Table.from_pandas(frame).to_reader(), "y", ["a", "b"]
    ),
    "an exposure": lambda frame: DPPoissonRegression(**PROMISE, domain=DOMAIN, exposure="b").fit_source(
        frame, "c", ["a"]
    ),
    "rows": lambda frame: Rows(Table.of(frame, DOMAIN), ["(intercept)", "a"], "y"),
    "a plan without guesses": lambda frame: plan(DOMAIN, "y", rows=N),
    "a plan of one stage": lambda frame: plan(DOMAIN, "y", ["a"], rows=N, about=GUESSES, stages=1),
    "a plan of another method": lambda frame: plan(DOMAIN, "y", ["a"], rows=N, about=GUESSES, methods=["AdaSSP"]),
    "a norm": lambda frame: Domain({"a": "number", "b": (0, 1)}, data_norm=1.0, norm_columns=["a"]),
}


@pytest.mark.parametrize("way", REFUSED)
def test_ways_that_do_not_search_refuse_before_anything_is_spent(way, people):
    with Budget(epsilon=5, delta=1e-3, adding=True) as budget:
        with pytest.raises(DiscreetError, match="bounds"):
            REFUSED[way](people)
        assert budget.others_left == (5, 1e-3)


def test_no_charge_is_made_for_columns_without_bounds_unless_they_are_searched_for():
    """The last guard, which every release passes: a way in that is added later refuses such columns, too."""
    with Budget(epsilon=5, delta=1e-3, adding=True) as budget:
        session = Session(promised(1, 1e-6, None, "add-remove"), "an example", None, None)
        with pytest.raises(ParameterError, match="needs bounds of all columns"):
            session.charge(DOMAIN, mu=0.1)
        assert budget.others_left == (5, 1e-3)
