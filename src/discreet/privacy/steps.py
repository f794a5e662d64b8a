"""What the certificate of each method must list: one that leaves out a step promises more than was kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from discreet.domain import Domain
from discreet.domain.columns import Column, Numeric
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.kinds import Event
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent

_MOMENTS = "gram, cross, squares"
_NARROWED = (_MOMENTS, f"counts; {_MOMENTS}")
_STAGE, _MEASURED = f"stage: counts, {_MOMENTS}", f"stage: counts, lengths, {_MOMENTS}"
_TWO, *_MORE = [[*[_STAGE] * k, *last, _STAGE] for k, last in ((1, []), (1, [_MEASURED]), (2, [_MEASURED]))]
_STAGES = ["; ".join(stages) for stages in (_TWO, *_MORE)]
_COURSES = (
    f"counts; counts; {_STAGE}",
    *(f"{start}{stages}" for stages in _STAGES for start in ("counts; counts; sums, diagonal; ", "sums, diagonal; ")),
    *(f"{start}{stages}" for stages in _STAGES for start in ("counts; counts; ", "")),
)
_LINEAR = (*_NARROWED, *(f"{rows}{course}" for rows in ("sums; ", "") for course in _COURSES))
_OBJECTIVES = ("objective", "objective; declared objective")
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
    "DPLogisticRegression": _OBJECTIVES,
    "DPPoissonRegression": _OBJECTIVES,
    "DPLinearSVC": _OBJECTIVES,
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
        "gram; public outcomes: cross",
        "sample: gram; public outcomes: cross",
    ),
    "ObjectivePerturbation as published": _OBJECTIVES[:1],
    "NAPP as published": ("NAPP-ERM, printed constants",),
    "AdaOPS as published": ("printed posterior sampling",),
    "OPS as published": _POSTERIOR[:1],
}
"""The complete lists of each method: events stand between semicolons, statistics of one event between commas.

A model with several linear predictors has an objective for each, and as many declared ones where it has any; events
that hold several stages in one (adaptive posterior sampling, output perturbation) check these themselves.
"""

PUBLISHED = " as published"

_UNSPENT = 1e-3
"""The share of epsilon that rounding may leave over; the cheapest step costs ten times as much."""

_ANY = tuple(dict.fromkeys(steps for lists in STEPS.values() for steps in lists if steps))


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
        return "declared objective" if event.declared else "objective"
    if isinstance(event, GaussianEvent | SampledEvent | PublicOutcomesEvent | StageEvent):
        kinds = {SampledEvent: "sample: ", PublicOutcomesEvent: "public outcomes: ", StageEvent: "stage: "}
        statistics = dict.fromkeys(block.statistic for block in event.blocks)
        return kinds.get(type(event), "") + (", ".join(statistics) or "nothing")
    return event.mechanism


def complete(method: str) -> tuple[str, ...]:
    """The lists of events that a method may have; for an unknown one, as subclasses have, those of any method.

    Examples
    --------
    >>> complete("AdaSSP as published in 003")
    ('eigenvalue, gram, cross',)
    """
    name, published, _ = method.partition(f"{PUBLISHED} in ")
    return STEPS.get(name + PUBLISHED if published else name, _ANY)


def incomplete(method: str, events: Sequence[Event], status: str) -> str | None:
    """What is wrong with the list of events of a method, if anything is."""
    known, found = complete(method), listed(events)
    if found not in known:
        releases = "no method of discreet releases that alone" if known is _ANY else f"it releases {' | '.join(known)}"
        return f"{method}: {releases}; the certificate lists {found or 'nothing'}"
    if PUBLISHED in method and status == "verified":
        return "constants that a paper prints are never verified"
    return None


def unspent(events: Sequence[Event], epsilon: float, promised: float) -> str | None:
    """Why listed stages cannot be all: they come to an epsilon below the promised one, of which stages use all."""
    staged = any(isinstance(event, StageEvent) for event in events)
    return (
        "stages use all that is promised, and those that are listed do not"
        if (staged and epsilon < promised * (1 - _UNSPENT))
        else None
    )


def unpaid(domain: Domain, declared: Domain | None, blocks: Sequence[Block]) -> str | None:
    """Why listed counts cannot have narrowed the declared bounds to those of the domain, if they cannot."""
    if declared is None:
        return None
    counted = {name for block in blocks if block.statistic == "counts" for name in block.columns}
    changed = [name for name, column in domain.columns.items() if declared.columns[name] != column]
    if free := [name for name in changed if name not in counted]:
        return f"{', '.join(map(repr, free))}: no noisy counts are listed that could have narrowed them"
    rest = Domain.from_dict(declared.to_dict() | {"columns": domain.to_dict()["columns"]})
    if rest != domain or not all(_is_within(domain.columns[name], declared.columns[name]) for name in changed):
        return "they are not inside those that were declared"
    return None


def _is_within(column: Column, declared: Column) -> bool:
    """Whether a number's bounds lie inside the declared ones, and nothing else differs."""
    if not isinstance(column, Numeric) or not isinstance(declared, Numeric):
        return False
    inside = declared.low <= column.low < column.high <= declared.high
    return inside and replace(column, low=declared.low, high=declared.high) == declared
