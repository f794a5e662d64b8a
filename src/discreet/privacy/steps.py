"""What the certificate of each method must list: one that leaves out a step promises more than was kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from discreet.core import citations
from discreet.core.checks import shown
from discreet.domain import CONSTANT, Domain
from discreet.domain.columns import Column, Numeric
from discreet.domain.linked import Linked
from discreet.privacy import accounting, gdp
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.kinds import Event
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent
from discreet.privacy.guarantee import Guarantee

_MOMENTS = "gram, cross, squares"
_NARROWED = (_MOMENTS, f"counts; {_MOMENTS}")
_STAGE, _MEASURED = f"stage: counts, {_MOMENTS}", f"stage: counts, lengths, {_MOMENTS}"
_LAST = f"{_STAGE}, meat".replace("gram", "inner"), f"{_STAGE}, meat", _STAGE
_BEFORE = ([_STAGE], [_STAGE, _MEASURED], [_STAGE, _STAGE, _MEASURED])
_STAGES = ["; ".join([*before, last]) for before in _BEFORE for last in _LAST]
_COUNTS, _COLUMNS = "counts; counts; ", "sums, diagonal; "
_THROUGH_0 = [stages.replace("stage:", "stage without intercept:") for stages in _STAGES]
_COURSES = (
    *(_COUNTS + stage.replace("stage:", "stage of the mean:") for stage in (_STAGE, f"{_STAGE}, meat")),
    *(_COUNTS + columns + stages for stages in _STAGES for columns in (_COLUMNS, "")),
    *(counts + columns + stages for stages in _THROUGH_0 for counts in (_COUNTS, "") for columns in (_COLUMNS, "")),
)
_LINEAR = (*_NARROWED, *(f"{rows}{course}" for rows in ("sums; ", "") for course in _COURSES))
_OBJECTIVES = ("objective", "objective; declared objective")
_SCOUTS = ["sums, diagonal", "sums, diagonal; stage: lengths, gram"]
_SCOUTS += [scouts.replace("stage:", "stage without intercept:") for scouts in _SCOUTS[1:]]
_TURNED = [f"{rows}{scouts}; turned objective" for rows in ("sums; ", "") for scouts in _SCOUTS]
_LED = [f"{rows}{_SCOUTS[1]}, cross; turned objective" for rows in ("sums; ", "")]
_SUMS = ("sums; ", "", "sums; sums; ")
_COUNTED = [f"{rows}counts; counts; {scouts}; turned objective" for rows in _SUMS for scouts in _SCOUTS]
_AT_COUNTS = ("counts, information, cross, meat", "counts, information, cross")
_POISSON = [f"{turned}; model: {errors}" for turned in _COUNTED for errors in _AT_COUNTS]
_LOGISTIC = [
    f"{turned}; model: {errors}" for turned in (*_TURNED, *_LED) for errors in ("information, meat", "information")
]
_POSTERIOR = ("posterior sampling", "posterior sampling in a ball")

STEPS: dict[str, tuple[str, ...]] = {
    "TrivialRegressor": ("",),
    "moments": ("gram", "gram, cross", *_LINEAR),
    "DPLinearRegression": _LINEAR,
    "DPRidge": _LINEAR,
    "DPLasso": _LINEAR,
    "DPElasticNet": _LINEAR,
    "AdaSSP": ("eigenvalue, gram, cross",),
    "ConstSSP": ("gram, cross",),
    "SSP": ("gram, cross",),
    "ReuseCov": (
        "gram, cross",
        _MOMENTS,
        "sample: gram; cross",
        "sample: gram; cross, squares",
        "public outcomes: gram, cross",
        "sample: gram; public outcomes: cross",
    ),
    "DPLogisticRegression": (*_OBJECTIVES, *_LOGISTIC, *_TURNED, *_LED),
    "DPPoissonRegression": (*_OBJECTIVES, *_POISSON),
    "DPLinearSVC": (*_OBJECTIVES, *_TURNED),
    "ObjectivePerturbation": _OBJECTIVES,
    "NAPP with a fixed penalty": _OBJECTIVES[:1],
    "AdaOPS": ("adaptive posterior sampling",),
    "OPS": _POSTERIOR,
    "OutputPerturbation": ("output perturbation",),
    "NoisyGradientDescent": ("noisy gradient descent",),
    "NoisySGD": ("noisy stochastic gradient descent",),
    "SubsampleAggregate": ("subsample and aggregate",),
    "AdaSSP as published": ("eigenvalue, gram, cross",),
    "ConstSSP as published": ("gram, cross",),
    "SSP as published": ("gram, cross",),
    "ReuseCov as published": (
        "gram, cross",
        "sample: gram; cross",
        "public outcomes: gram, cross",
        "gram; public outcomes: cross",
        "sample: gram; public outcomes: cross",
    ),
    "ObjectivePerturbation as published": _OBJECTIVES[:1],
    "NAPP as published": ("NAPP-ERM, printed constants",),
    "AdaOPS as published": ("printed posterior sampling",),
    "OPS as published": (*_POSTERIOR[:1], "printed posterior sampling"),
}
"""The complete lists of each method: events stand between semicolons, statistics of one event between commas.

A model with several linear predictors has an objective for each, and as many declared ones where it has any; events
that hold several stages in one (adaptive posterior sampling, output perturbation) check these themselves.
"""

PUBLISHED = " as published"

_UNSPENT = 1e-3
"""The share of mu that rounding may leave over; without the cheapest step ten times as much would be left."""


def listed(events: Sequence[Event]) -> str:
    """The events of a certificate, in the words of `STEPS`.

    Examples
    --------
    >>> from discreet.privacy.events.gaussian import Block
    >>> listed([GaussianEvent(0.1, (Block("gram", ("x",), (), 1.0), Block("cross", ("x",), ("y",), 1.0)))])
    'gram, cross'
    """
    runs = [(words, len(list(same))) for words, same in groupby(map(_words, events))]
    objectives = {count for words, count in runs if words.endswith("objective")}
    return "; ".join(
        words if words.endswith("objective") and len(objectives) == 1 else "; ".join([words] * count)
        for words, count in runs
    )


def _words(event: Event) -> str:
    if isinstance(event, ObjectiveEvent):
        plain = "objective" if event.coordinates is None else "turned objective"
        return f"declared {plain}" if event.declared else plain
    if isinstance(event, GaussianEvent | SampledEvent | PublicOutcomesEvent | StageEvent):
        kinds = {SampledEvent: "sample: ", PublicOutcomesEvent: "public outcomes: "}
        statistics = dict.fromkeys(block.statistic for block in event.blocks)
        kind = _stage(event) if isinstance(event, StageEvent) else kinds.get(type(event), "")
        return kind + (", ".join(statistics) or "nothing")
    return event.mechanism


def _stage(event: StageEvent) -> str:
    own = event.coordinates
    if isinstance(own, Linked):
        return "model: "
    if own.design[0] != CONSTANT:
        return "stage without intercept: "
    return "stage: " if len(own.axes) == len(own.design) > 1 else "stage of the mean: "


def complete(method: str) -> tuple[str, ...]:
    """The lists of events that a method may have; none of an unknown one.

    Examples
    --------
    >>> complete("AdaSSP as published in piazza2021"), complete("SecretSauce")
    (('eigenvalue, gram, cross',), ())
    """
    name, paper = citations.method_and_paper(method)
    if paper is None:
        return STEPS.get(name, ())
    return STEPS.get(name + PUBLISHED, ()) if citations.is_known(paper) else ()


def method_of(kind: type) -> str:
    """The method that an estimator is: the class itself, or the nearest it is made from, of which it is a variant.

    Examples
    --------
    >>> class SSP: ...
    >>> class Ours(SSP): ...
    >>> method_of(Ours)
    'SSP'
    """
    return next((own.__name__ for own in kind.__mro__ if own.__name__ in STEPS), kind.__name__)


def incomplete(method: str, events: Sequence[Event]) -> str | None:
    """What is wrong with the list of events of a method, if anything is."""
    known, found = complete(method), listed(events)
    if not known:
        return f"this version of discreet does not know the method {shown(method)}, so it cannot check what it lists"
    if found not in known:
        return f"{method} releases {' | '.join(known)}; the certificate lists {found or 'nothing'}"
    return None


def unspent(events: Sequence[Event], promise: Guarantee) -> str | None:
    """Why listed stages cannot be all: together they cost less than the promise allows, of which stages use all."""
    if not any(isinstance(event, StageEvent) for event in events):
        return None
    if promise.epsilon > gdp.LIMIT:
        return f"no noise is calibrated to epsilon = {promise.epsilon:g}"
    if any(event.law is not None for event in events):
        short = accounting.epsilon(events, promise.delta, promise.epsilon) < (1 - _UNSPENT) * promise.epsilon
        return "stages and objectives use all that is promised, and those that are listed do not" if short else None
    spent = math.sqrt(math.fsum(event.mu**2 for event in events))
    if spent >= (1 - _UNSPENT) * gdp.mu(epsilon=promise.epsilon, delta=promise.delta):
        return None
    return "stages use all that is promised, and those that are listed do not"


def unpaid(domain: Domain, declared: Domain | None, blocks: Sequence[Block]) -> str | None:
    """Why listed counts cannot have narrowed the declared bounds to those of the domain, if they cannot."""
    if declared is None:
        return None
    counted = {name for block in blocks if block.statistic == "counts" for name in block.columns}
    changed = [name for name, column in domain.columns.items() if declared.columns[name] != column]
    if free := [name for name in changed if name not in counted]:
        return f"{', '.join(map(repr, free))}: no noisy counts are listed that could have narrowed them"
    rest = declared.with_columns(domain.columns)
    if rest != domain or not all(_is_within(domain.columns[name], declared.columns[name]) for name in changed):
        return "they are not inside those that were declared"
    return None


def _is_within(column: Column, declared: Column) -> bool:
    """Whether a number's bounds lie inside the declared ones, and nothing else differs."""
    if not isinstance(column, Numeric) or not isinstance(declared, Numeric):
        return False
    inside = declared.low <= column.low < column.high <= declared.high
    return inside and replace(column, low=declared.low, high=declared.high) == declared
