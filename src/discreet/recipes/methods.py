"""The recipes of each method, and the search for the recipe of a certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from discreet.core import citations
from discreet.privacy.events.base import BlockEvent, Event, of_kind
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.recipes.base import AskEvent, Facts, Recipe
from discreet.recipes.events import Draws, Objectives, StagedObjectives
from discreet.recipes.glm import Glm
from discreet.recipes.linear import Linear
from discreet.recipes.moments import Counted, Fixed, MomentsOnce
from discreet.recipes.outcomes import ManyOutcomes
from discreet.recipes.search import BoundsAlone
from discreet.recipes.wide import Wide

Reader = Callable[[Facts, Sequence[Event], Mapping[str, Any]], Recipe | None]
"""A function from the facts, listed events and options of a certificate to its recipe; None if it is another one."""

PUBLISHED = " as published"


def _statistics(
    kind: type[Fixed],
    names: Sequence[str],
    facts: Facts,
    events: Sequence[Event],
    options: Mapping[str, Any],
) -> Recipe | None:
    """One event with these statistics."""
    listed = [[block.statistic for block in event.blocks] for event in of_kind(GaussianEvent, events)]
    if len(events) != 1 or listed != [list(names)]:
        return None
    return kind.listed(facts, events, options)


def moments(*names: str) -> Reader:
    """A release of these statistics with the least noise that keeps the promise."""
    return partial(_statistics, MomentsOnce, names)


def printed(*names: str) -> Reader:
    """A release of these statistics with the noise that a paper prints."""
    return partial(_statistics, Fixed, names)


def _printed_outcomes(facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Recipe | None:
    """X'X and X'Y of many outcomes with the noise that a paper prints."""
    listed = [block.statistic for event in of_kind(BlockEvent, events) for block in event.blocks]
    return Fixed.listed(facts, events, options) if listed == ["gram", "cross"] else None


def draw(*mechanisms: str) -> Reader:
    """One draw of a mechanism."""

    def read(facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Recipe | None:
        return Draws(facts, (AskEvent(mechanisms),))

    return read


def _wide(*, linear: bool) -> Reader:
    """Gradient steps of a linear model, or of classes and counts."""

    def read(facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Recipe | None:
        found = Wide.listed(facts, events, options)
        return found if found is not None and found.model.family.linear == linear else None

    return read


_LINEAR: tuple[Reader, ...] = (Linear.listed, Counted.listed, moments("gram", "cross", "squares"))
_GLM: tuple[Reader, ...] = (_wide(linear=False), Glm.listed, StagedObjectives.listed, Objectives.listed)

METHODS: dict[str, tuple[Reader, ...]] = {
    "TrivialRegressor": (Draws.listed,),
    "moments": (Linear.listed, moments("gram"), moments("gram", "cross"), moments("gram", "cross", "squares")),
    "DPLinearRegression": (_wide(linear=True), *_LINEAR),
    "DPRidge": _LINEAR,
    "DPLasso": _LINEAR,
    "DPElasticNet": _LINEAR,
    "bounds": (BoundsAlone.listed,),
    "AdaSSP": (moments("eigenvalue", "gram", "cross"),),
    "ConstSSP": (moments("gram", "cross"),),
    "SSP": (moments("gram", "cross"),),
    "ReuseCov": (ManyOutcomes.listed,),
    "DPLogisticRegression": _GLM,
    "DPPoissonRegression": _GLM,
    "DPLinearSVC": _GLM,
    "ObjectivePerturbation": (Objectives.listed,),
    "NAPP with a fixed penalty": (Objectives.listed,),
    "AdaOPS": (draw("adaptive posterior sampling"),),
    "OPS": (draw("posterior sampling", "posterior sampling in a ball"),),
    "OutputPerturbation": (draw("output perturbation"),),
    "NoisyGradientDescent": (draw("noisy gradient descent"),),
    "NoisySGD": (draw("noisy stochastic gradient descent"),),
    "SubsampleAggregate": (draw("subsample and aggregate"),),
    "AdaSSP as published": (printed("eigenvalue", "gram", "cross"),),
    "ConstSSP as published": (printed("gram", "cross"),),
    "SSP as published": (printed("gram", "cross"),),
    "ReuseCov as published": (_printed_outcomes,),
    "ObjectivePerturbation as published": (draw("objective perturbation"),),
    "NAPP as published": (draw("NAPP-ERM, printed constants"),),
    "AdaOPS as published": (draw("printed posterior sampling"),),
    "OPS as published": (draw("posterior sampling", "printed posterior sampling"),),
}


def readers(method: str) -> tuple[Reader, ...]:
    """Return the recipes that a method may have; none for an unknown method.

    Examples
    --------
    >>> len(readers("AdaSSP as published in piazza2021")), readers("SecretSauce")
    (1, ())
    """
    name, paper = citations.method_and_paper(method)
    if paper is None:
        return METHODS.get(name, ())
    return METHODS.get(name + PUBLISHED, ()) if citations.is_known(paper) else ()


def method_of(kind: type) -> str:
    """Return the method of an estimator: its class, or the nearest base class of which it is a variant.

    Examples
    --------
    >>> class SSP: ...
    >>> class Ours(SSP): ...
    >>> method_of(Ours)
    'SSP'
    """
    return next((own.__name__ for own in kind.__mro__ if own.__name__ in METHODS), kind.__name__)


def recipe_of(method: str, facts: Facts, events: Sequence[Event], told: Mapping[str, Any] | None) -> Recipe | None:
    """Return the recipe of a release by a method that lists these events; None if the method has no such recipe.

    Parameters
    ----------
    method, facts, events
        The entries of the certificate.
    told : mapping, optional
        The name of the recipe and its options; certificates of older versions have none.
    """
    found = (read(facts, events, told or {}) for read in readers(method))
    return next((recipe for recipe in found if recipe and told in (None, recipe.entry)), None)
