"""Files of every method as an honest release writes them, from fixed seeds, so that they are the same each time.

Their noise is that of a simulation and their words are those of a release: no file tells where its noise came from.
"""

import json
import warnings
from functools import cache

import numpy as np
import pandas as pd
from small_table import DOMAIN, people

from discreet import (
    OPS,
    AdaOPS,
    AdaSSP,
    Domain,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    Moments,
    NoisyGradientDescent,
    NoisySGD,
    ObjectivePerturbation,
    OutputPerturbation,
    ReleasedModel,
    ReuseCov,
    SubsampleAggregate,
    formula,
    release,
)
from discreet.errors import DiscreetWarning

REPLACE = {"neighbors": "replace-one"}
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "random_state": 1}


def arrays(estimator, rows=60, **options):
    """A model of plain arrays."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (rows, 2))
    y = X @ [0.4, -0.3] + rng.normal(0, 0.2, rows)
    if "classes" in options:
        y = np.digitize(y, [0.0] if len(options["classes"]) == 2 else [-0.2, 0.2])
    elif options.get("bounds_y") == (0, 4):
        y = np.clip(np.rint(2 + 2 * y), 0, 4)
    given = PROMISE | {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "rows": 64, "n_jobs": 1} | options
    if "classes" in options:
        del given["bounds_y"]
    return estimator(**given).fit(X, y)


def table(estimator=DPLinearRegression, target="income", rows=4000, domain=DOMAIN, features=None, **options):
    """A model of people."""
    frame = people(rows)
    frame["hours"], frame["rich"] = frame["hours"].round(), frame["income"] > 70_000
    frame["person"], frame["weight"] = np.arange(rows) // 2, 0.5
    return estimator(**PROMISE | {"domain": domain} | options).fit_source(frame, target, features)


def moments(domain=DOMAIN, **options):
    return release(Moments.from_source(people(500), domain), **PROMISE | options)


def derived():
    asked = formula("income ~ age + hours + age:region + log(hours + 1)", DOMAIN)
    return table(domain=asked.domain, features=asked.features)


PERSONS = Domain(DOMAIN.columns, person="person", rows_per_person=2)
WEIGHTS = Domain(DOMAIN.columns, weights="weight", largest_weight=2.0)
BALL = Domain(
    {"a": {"low": -3, "high": 3, "unit": "m"}, "b": {"low": -3, "high": 3}, "y": (-1, 1)},
    data_norm=3.0,
    norm_columns=["a", "b"],
    file={"sep": ";"},
)


def within_persons():
    asked = formula("income ~ age + region + age:hours | person", PERSONS)
    return table(domain=asked.domain, features=asked.features)


RICH = Domain({**DOMAIN.columns, "rich": bool})


def in_a_ball():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(0, 1, 500), "b": rng.normal(0, 1, 500), "y": rng.uniform(-1, 1, 500)})
    return AdaSSP(**PROMISE, domain=BALL).fit_source(frame, "y")


MAKERS = {
    "moments": moments,
    "moments, no intercept": lambda: moments(Domain(DOMAIN.columns, intercept=False)),
    "moments, replace-one": lambda: moments(**REPLACE),
    "narrowed": lambda: table(stages=1),
    "staged": lambda: table(),
    "staged, no intercept": lambda: table(fit_intercept=False),
    "staged, mean alone": lambda: table(rows=60, epsilon=0.1),
    "staged, large": lambda: table(rows=40_000, epsilon=3),
    "persons": lambda: table(domain=PERSONS),
    "weights": lambda: table(domain=WEIGHTS),
    "within persons": within_persons,
    "lasso": lambda: table(DPLasso),
    "derived": derived,
    "in a ball": in_a_ball,
    "AdaSSP": lambda: arrays(AdaSSP),
    "AdaSSP as published": lambda: arrays(AdaSSP, published="piazza2021", epsilon=5.0),
    "ReuseCov": lambda: arrays(ReuseCov),
    "sampled": lambda: arrays(ReuseCov, subsample=0.3),
    "sampled, replace-one": lambda: arrays(ReuseCov, subsample=0.3, **REPLACE),
    "public outcomes": lambda: arrays(ReuseCov, association="projection", **REPLACE),
    "many": lambda: table(ReuseCov, ["income", "hours"], rows=500, features=["age", "region"]),
    "OPS": lambda: arrays(OPS),
    "OPS in a ball": lambda: arrays(OPS, calibration="pure", delta=None),
    "AdaOPS": lambda: arrays(AdaOPS),
    "AdaOPS as published": lambda: arrays(AdaOPS, published="wang2018"),
    "output": lambda: arrays(OutputPerturbation, shape="fisher"),
    "output, isotropic": lambda: arrays(OutputPerturbation),
    "descent": lambda: arrays(NoisyGradientDescent, steps=3),
    "batches": lambda: arrays(NoisySGD, steps=3),
    "blocks": lambda: arrays(SubsampleAggregate),
    "objective": lambda: arrays(ObjectivePerturbation),
    "adaptive": lambda: arrays(ObjectivePerturbation, adaptive=True),
    "classes": lambda: arrays(DPLogisticRegression, classes=[0, 1, 2]),
    "two classes": lambda: arrays(DPLogisticRegression, classes=[0, 1]),
    "support vectors": lambda: arrays(DPLinearSVC, classes=[0, 1]),
    "Laplace": lambda: arrays(DPLogisticRegression, classes=[0, 1], noise="laplace", delta=None, stages=1),
    "Laplace, delta": lambda: arrays(DPLogisticRegression, classes=[0, 1], noise="laplace", stages=1),
    "counts": lambda: arrays(DPPoissonRegression, bounds_y=(0, 4)),
    "logistic": lambda: table(DPLogisticRegression, "rich", domain=RICH, features=["age", "hours", "region"]),
    "Poisson": lambda: table(DPPoissonRegression, "hours", features=["age", "region"]),
    "logistic, many rows": lambda: table(DPLogisticRegression, "rich", 20_000, RICH, ["age", "hours"], epsilon=3),
    "Poisson, many rows": lambda: table(DPPoissonRegression, "hours", 20_000, features=["age", "region"], epsilon=3),
}
"""A file or two of each."""


def as_released(body):
    """The body of a simulation with the words of a release."""
    body = json.loads(json.dumps(body))
    guarantee, published = body["certificate"]["guarantee"], " as published" in body["certificate"]["method"]
    guarantee |= (
        {"status": "claimed", "reason": "a paper states it"} if published else {"status": "verified", "reason": ""}
    )
    body["certificate"]["simulation"] = False
    return body


@cache
def bodies(name):
    """The bodies of the files of a maker, by kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        made = MAKERS[name]()
        if not hasattr(made, "release_"):
            return {"release": as_released(made._document()), "results": as_released(made.fit("income")._document())}
        files = {"release": made.release_}
        if not isinstance(made.release_, ReleasedModel):
            files["results"] = made.results_
        return {kind: as_released(one._document()) for kind, one in files.items()}
