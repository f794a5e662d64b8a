"""Fitted models of every kind that a reader may meet, each made once."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
from small_table import people

from discreet import AdaSSP, Domain, DPLasso, DPLinearRegression, Results, release
from discreet.data.moments import Moments
from discreet.errors import DiscreetWarning

SCHEMA = {
    "age": {"low": 18, "high": 90, "unit": "year"},
    "region": ["north", "south", "west"],
    "hours": {"low": 0, "high": 80, "unit": "hour"},
    "income": {"low": 0, "high": 200_000, "unit": "EUR"},
}
ODD = ["<b>&x</b>", "$a_1$", "a" * 200, "--><script>alert(1)</script>"]


def people_model(estimator=DPLinearRegression, people_rows=4000, seed=0, schema=SCHEMA, **options):
    given = {"epsilon": 1, "delta": 1e-6, "domain": Domain(schema)} | options
    return estimator(**given).fit_source(people(people_rows, seed=seed), "income")


def wide_model(names, **options):
    """A model with one coefficient for each name; all have the range 0 to 2 kg."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 2, (4000, len(names)))
    frame = pd.DataFrame(X, columns=names)
    frame["y"] = 1 + X @ rng.normal(0, 1, len(names)) / len(names) + rng.normal(0, 0.1, len(X))
    domain = Domain({name: {"low": 0, "high": 2, "unit": "kg"} for name in names} | {"y": (-3, 5)})
    return DPLinearRegression(**{"epsilon": 5, "delta": 1e-6, "domain": domain} | options).fit_source(frame, "y")


@cache
def case(name):
    """(results, released) of a named case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        model = MAKERS[name]()
    return (model.results_, model.release_) if hasattr(model, "results_") else model


def old_file():
    """What a file of an older version is loaded as."""
    model = people_model()
    f = model.results_
    return Results(f.targets, f.names, f.coef, f.intercept, f.model, f.certificate), model.release_


def free_model():
    """A model with fewer features than its release has."""
    public = release(Moments.from_source(people(4000), Domain(SCHEMA)), epsilon=2, delta=1e-6, rows=4000)
    return public.fit("income", ["age"], model="ols"), public


MAKERS = {
    "verified": people_model,
    "replace-one": lambda: people_model(neighbors="replace-one", epsilon=3),
    "claimed": lambda: people_model(AdaSSP, published="wang2018", rows=4000, epsilon=5),
    "simulation": lambda: people_model(random_state=3),
    "penalised": lambda: people_model(DPLasso),
    "noisy": lambda: people_model(epsilon=0.01),
    "large epsilon": lambda: people_model(epsilon=800),
    "without intercept": lambda: people_model(fit_intercept=False, epsilon=5),
    "old file": old_file,
    "from a release": free_model,
    "one": lambda: wide_model(["x"]),
    "five": lambda: wide_model([f"x{i}" for i in range(5)]),
    "forty": lambda: wide_model([f"x{i}" for i in range(40)]),
    "odd names": lambda: wide_model(ODD),
    "few odd names": lambda: wide_model(ODD[:2]),
    "long names": lambda: wide_model([f"a_rather_long_name_of_a_feature_{i}_at_the_second_visit" for i in range(5)]),
}
