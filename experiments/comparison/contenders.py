"""Who takes part in the comparison: a name, what kind of guarantee it has, and one fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

import discreet
from discreet import DiscreetWarning, Domain, Moments
from discreet.errors import DiscreetError
from discreet.models.linear import MomentsEstimator
from experiments.comparison.equal import PROTOCOL, stated_epsilon
from experiments.comparison.peers import boosted_ada_ssp, diffprivlib, opendp_ssp, tukey_em
from experiments.uci import Floats

Promise = Literal["verified", "equalised", "as printed", "as sold", "claimed", "none"]
DEFAULT = "DPLinearRegression"
NON_PRIVATE = "non-private"


@dataclass
class Task:
    """The training rows of one split, and the promise to keep."""

    X: Floats
    y: Floats
    epsilon: float
    delta: float
    seconds: float = field(default=0.0, init=False)
    """Of summing up the moments, which every method that needs only them is charged with."""

    @cached_property
    def moments(self) -> Moments:
        """Exact moments, made once."""
        names = [f"x{i}" for i in range(self.X.shape[1])]
        domain = Domain.from_bounds(names, ["y"], data_norm=1.0, bounds_y=(-1, 1), intercept=False)
        start = time.process_time()
        moments = Moments.from_source((self.X, self.y), domain, n_jobs=1)
        self.seconds = time.process_time() - start
        return moments


Found = tuple[Floats | None, float]
"""Coefficients, None where there is no model, and seconds of the processor, which other work hardly changes."""


@dataclass(frozen=True)
class Contender:
    """One method at one way of reading its epsilon."""

    name: str
    promise: Promise
    fit: Callable[[Task, np.random.Generator], Found]
    peer: bool = False
    slow: bool = False
    ready: Callable[[], bool] = lambda: True


def _estimator(cls: Any, options: dict[str, Any], equal: bool, task: Task, rng: np.random.Generator) -> Found:
    """Fit one of our estimators, at the wanted epsilon or at the stated one that truly gives it."""
    rows, d = task.X.shape
    epsilon = task.epsilon
    if equal:
        epsilon = stated_epsilon(cls, options["published"], epsilon, task.delta, rows, d)
    given = {"epsilon": epsilon, "delta": task.delta, "rows": rows, "random_state": rng, **options}
    if "published" in options:
        given["neighbors"] = getattr(cls, "paper_neighbors", "add-remove")
    whole = issubclass(cls, discreet.DPLinearRegression) or not issubclass(cls, MomentsEstimator)
    moments = None if whole else task.moments
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        try:
            model = cls(**given, **PROTOCOL)
            model = model.fit(task.X, task.y) if moments is None else model.fit_moments(moments, "y")
            coef = np.ravel(model.coef_)
        except DiscreetError:
            coef = None
    return coef, time.process_time() - start + (0.0 if moments is None else task.seconds)


def _timed(fit: Callable[[Task, np.random.Generator], Floats | None], task: Task, rng: np.random.Generator) -> Found:
    start = time.process_time()
    coef = fit(task, rng)
    return coef, time.process_time() - start


def _diffprivlib(equal: bool, task: Task, rng: np.random.Generator) -> Found:
    d = task.X.shape[1]
    epsilon = diffprivlib.equal_epsilon(task.epsilon, task.delta, d) if equal else task.epsilon
    coefs, seconds = diffprivlib.fit(task.X, task.y, [epsilon], [int(rng.integers(2**31))])
    return coefs[0], float(seconds[0])


def _opendp(scale: Callable[[float, float], float], task: Task, rng: np.random.Generator) -> Found:
    s = scale(task.epsilon, task.delta)
    return _timed(lambda task, rng: opendp_ssp.fit(task.X, task.y, s), task, rng)


def _boosted(rounds: int, task: Task, rng: np.random.Generator) -> Found:
    given = (task.X, task.y, task.epsilon, task.delta)
    return _timed(lambda task, rng: boosted_ada_ssp.fit(*given, rng, rounds), task, rng)


def _tukey(task: Task, rng: np.random.Generator) -> Found:
    return _timed(lambda task, rng: tukey_em.fit(task.X, task.y, task.epsilon, task.delta, rng), task, rng)


def _blind_descent(task: Task, rng: np.random.Generator) -> Found:
    """A hundred steps of 1/(rows B^2), the textbook's step for gradients that change by that much at most."""
    options = {"steps": 100, "time": 100 / task.X.shape[1]}
    return _estimator(discreet.NoisyGradientDescent, options, False, task, rng)


def _ours(name: str, cls: Any, slow: bool = False, **options: Any) -> Contender:
    return Contender(name, "verified", partial(_estimator, cls, options, False), slow=slow)


def _published(name: str, cls: Any, paper: str, slow: bool = False, **more: Any) -> list[Contender]:
    """A paper's printed noise, at its true epsilon and as it is printed."""
    options = {"published": paper, **more}
    return [
        Contender(f"{name} [{paper}]", "equalised", partial(_estimator, cls, options, True), slow=slow),
        Contender(f"{name} [{paper}], as printed", "as printed", partial(_estimator, cls, options, False), slow=slow),
    ]


def _claimed(name: str, cls: Any, paper: str, slow: bool = False, **options: Any) -> Contender:
    fit = partial(_estimator, cls, {"published": paper, **options}, False)
    return Contender(f"{name} [{paper}], as printed", "claimed", fit, slow=slow)


def _peer(name: str, fit: Any, promise: Promise = "verified", ready: Callable[[], bool] = lambda: True) -> Contender:
    return Contender(name, promise, fit, peer=True, slow=True, ready=ready)


CONTENDERS = (
    _ours(DEFAULT, discreet.DPLinearRegression),
    _ours("DPRidge", discreet.DPRidge),
    _ours("DPLasso", discreet.DPLasso, slow=True),
    _ours("DPElasticNet", discreet.DPElasticNet, slow=True),
    _ours("AdaSSP", discreet.AdaSSP),
    _ours("ConstSSP", discreet.ConstSSP),
    _ours("ReuseCov", discreet.ReuseCov),
    _ours("SSP", discreet.SSP),
    _ours("ObjectivePerturbation", discreet.ObjectivePerturbation, slow=True),
    _ours("NAPP", discreet.NAPP, slow=True),
    _ours("AdaOPS", discreet.AdaOPS, slow=True),
    _ours("AdaOPS, kappa", discreet.AdaOPS, slow=True, variant="kappa"),
    _ours("OPS", discreet.OPS, slow=True),
    _ours("OutputPerturbation", discreet.OutputPerturbation),
    _ours("OutputPerturbation, fisher", discreet.OutputPerturbation, shape="fisher"),
    _ours("OutputPerturbation, democratic", discreet.OutputPerturbation, shape="democratic"),
    _ours("NoisyGradientDescent", discreet.NoisyGradientDescent),
    Contender("NoisyGradientDescent, blind", "verified", _blind_descent),
    _ours("NoisySGD", discreet.NoisySGD, slow=True),
    _ours("SubsampleAggregate", discreet.SubsampleAggregate, slow=True),
    *_published("AdaSSP", discreet.AdaSSP, "wang2018"),
    *_published("AdaSSP", discreet.AdaSSP, "piazza2021"),
    *_published("ConstSSP", discreet.ConstSSP, "piazza2021"),
    *_published("SSP", discreet.SSP, "wang2018"),
    *_published("SSP", discreet.SSP, "piazza2021"),
    *_published("ReuseCov", discreet.ReuseCov, "neel2023", solve="ridge"),
    *_published("ObjectivePerturbation", discreet.ObjectivePerturbation, "wang2018", slow=True),
    *_published("ObjectivePerturbation", discreet.ObjectivePerturbation, "wang2018-code", slow=True),
    *_published("OPS", discreet.OPS, "wang2018", slow=True),
    _claimed("OPS", discreet.OPS, "wang2018-code"),
    _claimed("AdaOPS", discreet.AdaOPS, "wang2018"),
    _claimed("AdaOPS", discreet.AdaOPS, "wang2018-code"),
    _claimed("AdaOPS, kappa", discreet.AdaOPS, "wang2017", variant="kappa"),
    _claimed("NAPP", discreet.NAPP, "li2021", slow=True, alpha=1.0),
    _peer("Boosted AdaSSP", partial(_boosted, boosted_ada_ssp.ROUNDS)),
    _peer("Boosted AdaSSP, 10 rounds", partial(_boosted, 10)),
    _peer("TukeyEM", _tukey),
    _peer("OpenDP SSP", partial(_opendp, opendp_ssp.exact_scale), "equalised", opendp_ssp.available),
    _peer("OpenDP SSP, as sold", partial(_opendp, opendp_ssp.sold_scale), "as sold", opendp_ssp.available),
    _peer("diffprivlib", partial(_diffprivlib, True), "equalised", diffprivlib.available),
    _peer("diffprivlib, as sold", partial(_diffprivlib, False), "as sold", diffprivlib.available),
    Contender(NON_PRIVATE, "none", partial(_timed, lambda task, rng: np.linalg.lstsq(task.X, task.y)[0])),
)
BY_NAME = {contender.name: contender for contender in CONTENDERS}
EQUAL = tuple(c.name for c in CONTENDERS if c.promise in ("verified", "equalised"))
"""Those that keep the wanted (epsilon, delta), and no better: they can be compared."""
