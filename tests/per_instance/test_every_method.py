"""Nobody loses more than was promised: every verified method of the registry, new ones included, on bad tables too."""

import inspect

import numpy as np
import pandas as pd
import pytest

from discreet import Domain
from discreet.mechanisms.registry import METHODS
from discreet.per_instance import losses

OPTIONS = {
    "OPS": [{}, {"calibration": "pure", "delta": None}],
    "AdaOPS": [{}, {"variant": "kappa"}],
    "OutputPerturbation": [{}, {"shape": "fisher"}, {"shape": "democratic"}],
    "ReuseCov": [{}, {"subsample": 0.3}, {"association": "projection"}],
    "ObjectivePerturbation": [{}, {"penalty": "l1"}, {"radius": 2.0}],
    "DPLogisticRegression": [{}, {"adaptive": True}, {"noise": "laplace", "delta": None}],
}
CASES = [
    pytest.param(method.estimator, options, neighbors, id=f"{method.name} {options} {neighbors}")
    for method in METHODS
    for options in OPTIONS.get(method.name, [{}])
    for neighbors in ("add-remove", "replace-one")
    if neighbors == "replace-one" or options.get("association") != "projection"
]
CORNERS = np.array([[a, b, y] for a in (-1.0, 1.0) for b in (-1.0, 1.0) for y in (-1.0, 1.0)])


def ordinary(rng):
    X = rng.uniform(-1, 1, (60, 2))
    return np.column_stack([X, X @ [0.4, -0.3] + rng.normal(0, 0.2, 60)])


def adversarial(rng):
    """Corners far outside the bounds, zeros, one direction many times over, and one row against all of them."""
    against = np.repeat([[1.0, 1.0, 1.0]], 30, axis=0)
    return np.concatenate([CORNERS * 1e6, np.zeros((2, 3)), against, [[1.0, 1.0, -1.0]], rng.uniform(-1, 1, (3, 3))])


def estimator(cls, options, neighbors):
    """The method with the outcome that it is for: a class, a count or a number."""
    names = set(inspect.signature(cls).parameters)
    given = {"epsilon": 1.0, "delta": 1e-5, "bounds_X": (-1, 1), "rows": 64, "n_jobs": 1, "neighbors": neighbors}
    given |= options
    if "classes" in names and "loss" not in names:
        return cls(**given, classes=[0, 1]), lambda y: (y > 0).astype(int)
    if "Poisson" in cls.__name__:
        return cls(**given, bounds_y=(0, 4)), lambda y: np.clip(np.rint(2 + 2 * y), 0, 4)
    return cls(**given, bounds_y=(-1, 1)), lambda y: y


@pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")
@pytest.mark.parametrize(("cls", "options", "neighbors"), CASES)
@pytest.mark.parametrize("table", [ordinary, adversarial])
def test_no_row_and_no_target_exceeds_the_certificate(cls, options, neighbors, table):
    A = table(np.random.default_rng(0))
    model, outcome = estimator(cls, options, neighbors)
    own, others = (A[:, :2], outcome(A[:, 2])), (CORNERS[:, :2], outcome(CORNERS[:, 2]))
    certified = model.fit(*own).certificate_
    if certified.guarantee.status != "verified":
        pytest.skip("nothing is vouched for")
    limit = certified.epsilon * (1 + 1e-6)
    found = losses(own, model, n_jobs=1)
    assert found.epsilon().max() <= limit
    assert found.for_all() <= limit
    assert found.for_all() >= found.epsilon().max()
    if neighbors == "add-remove":
        outside = losses(own, model, targets=others, n_jobs=1).epsilon()
        assert outside.max() <= min(limit, found.for_all() * (1 + 1e-6))
    else:
        assert losses(own, model, replacement=tuple(a[:1] for a in others), n_jobs=1).epsilon().max() <= limit


@pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")
@pytest.mark.parametrize(("cls", "options", "neighbors"), [case for case in CASES if case.values[2] == "replace-one"])
def test_a_dropped_row_may_be_replaced_by_one_that_counts(cls, options, neighbors):
    """Under replace-one, who is left out for a missing value loses what a row that comes in their place does."""
    A = pd.DataFrame(ordinary(np.random.default_rng(0)), columns=["a", "b", "y"])
    if options.get("association") == "projection":
        pytest.skip("no row is left out where outcomes are public")
    model, outcome = estimator(cls, options, neighbors)
    number = {"DPLogisticRegression": [0, 1], "DPLinearSVC": [0, 1], "DPPoissonRegression": (0, 4)}
    columns = {"a": (-1, 1), "b": (-1, 1), "y": number.get(cls.__name__, (-1, 1))}
    declared = {"domain": Domain(columns, missing="drop"), "bounds_X": None, "bounds_y": None, "classes": None}
    model.set_params(**{name: value for name, value in declared.items() if name in model.get_params()})
    A["y"] = outcome(A["y"])
    model.fit_source(A, "y")  # a table without gaps: its certificate is the same
    if model.certificate_.guarantee.status != "verified":
        pytest.skip("nothing is vouched for")
    A.loc[3, "a"] = np.nan
    found = losses(A, model, n_jobs=1)
    assert 0 < found.epsilon()[3] <= model.certificate_.epsilon * (1 + 1e-6)


def test_the_limit_can_be_reached():
    """A lonely row against all others reaches what OPS promises, within a few per cent: the test above could fail."""
    from discreet import OPS
    from discreet.privacy.ops import boxes

    model = OPS(epsilon=1, delta=1e-5, bounds_X=(-1, 1), bounds_y=(-1, 1), fit_intercept=False, rows=1000)
    event = model.fit(np.ones((1000, 1)), np.ones(1000)).certificate_.events[0]
    m, _ = boxes(event.penalty, event.rows, event.norm, event.outcome)
    # where the certificate's maximum lies: so many rows in one direction, with outcomes against the last one
    best = 0.0
    for k in np.unique(np.clip((1 / m - event.penalty).astype(int), 1, 999)):
        X, y = np.ones((k, 1)), np.ones(k)
        found = losses((X, y), model, targets=(np.ones((1, 1)), -np.ones(1)))
        best = max(best, float(found.epsilon()[0]))
    assert 0.3 <= best <= model.certificate_.epsilon
