"""The rules of a release, by version: a file is replayed by the rules that it was released by.

Linear models and models of classes and counts have versions of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.families import Link
from discreet.recipes import budget
from discreet.statistics.pair_information import PairInformation
from discreet.statistics.scores import ScoreProducts


@dataclass(frozen=True)
class Rules:
    """The constants of radii, half widths and shares of a linear model in stages; n mu is per row of a person.

    Radii are in units of the typical row norm, q is the number of axes.
    """

    several: float
    many: float
    """From these values of n mu/q^1.5 on there are three stages instead of two. Below `many` they are alike. From
    `many` on the last is near least squares: it has most of mu^2, a radius from counts of row norms, and half widths of
    its own, and what is said below of the last stage holds for it."""

    several_shares: tuple[float, ...]
    """Shares of the sums of the columns, and of each of three stages that are alike."""

    several_stage: Mapping[str, float]
    """Shares of the statistics of each of them."""

    scout: tuple[float, float]
    scout_of_two: tuple[float, float]
    """Radius of the stages before the last, and of the first of two: a (n mu/q^1.5)^p for these a and p, from `SPHERE`
    to 8. It grows, so that whitening approaches the second moments."""

    edges: tuple[float, ...]
    """Edges of the bins in which row norms are counted before the last of three or more stages."""

    norms: float
    """Share of what is left of mu^2 for counts of row norms in the axes of the last stage; 0 if they are counted in
    the stage before."""

    beyond: float
    root_beyond: float
    """A share `beyond` q/(n mu) of the rows may exceed the last radius, or `root_beyond`/sqrt(n) if that is more."""

    reach: float
    """The last radius of three or more stages is at most sqrt(reach n mu/q^1.5)."""

    noise: float
    """Counts of far rows and of far residuals below this many sds of their noise are taken as zero."""

    narrowest: float
    """The smallest half width of the last of three or more stages, in units of the outcome's spread."""

    clipped: float
    root_clipped: float
    most_clipped: float
    """In the last of three or more stages a share `clipped` q/(n mu) of the residuals may be clipped, or
    `root_clipped`/sqrt(n) if that is more, and never more than `most_clipped`."""

    doubt: float
    """Factor on the covariance of earlier stages before the last of three or more, which are biased alike."""

    capped: bool
    """Whether rows of rare groups are kept from lying far out."""

    last_stage: Mapping[str, float]
    """Shares of the statistics of the last of three or more stages."""

    counted: bool = False
    """Whether outcomes of models without an intercept are counted, which tells their spread around 0."""


_RULES = {
    1: Rules(
        several=30.0,
        many=0.0,
        several_shares=budget.STAGES[3],
        several_stage=budget.STAGE,
        scout=(0.0, 0.5),
        scout_of_two=(0.0, 0.5),
        edges=tuple(2.0 ** (k / 4) for k in range(17)),
        norms=0.0,
        beyond=20.0,
        root_beyond=0.3,
        reach=1.0,
        noise=2.0,
        narrowest=0.4,
        clipped=3.0,
        root_clipped=0.15,
        most_clipped=0.3,
        doubt=4.0,
        capped=False,
        last_stage=budget.LAST_STAGE,
    ),
    2: Rules(
        several=15.0,
        many=0.0,
        several_shares=budget.STAGES[3],
        several_stage=budget.STAGE,
        scout=(math.sqrt(0.05), 0.5),
        scout_of_two=(math.sqrt(0.05), 0.5),
        edges=tuple(0.7 * 2.0 ** (k / 4) for k in (*range(10), *range(10, 39, 2))),
        norms=0.03,
        beyond=10.0,
        root_beyond=0.08,
        reach=0.3,
        noise=3.0,
        narrowest=0.1,
        clipped=8.0,
        root_clipped=0.05,
        most_clipped=0.3,
        doubt=16.0,
        capped=True,
        last_stage={"counts": 0.05, "gram": 0.25, "cross": 0.67, "squares": 0.03},
    ),
}

_THIRD = replace(
    _RULES[2],
    several=6.0,
    many=15.0,
    several_shares=(0.1, 0.27, 0.28, 0.35),
    several_stage={"counts": 0.1, "gram": 0.45, "cross": 0.4, "squares": 0.05},
    scout=(0.4, 0.4),
    most_clipped=0.12,
)
RULES: Mapping[int, Rules] = _RULES | {3: _THIRD, 4: replace(_THIRD, counted=True)}
"""Version 1 is that of discreet 0.2; versions 2 and 3 were never part of a published one."""

NEWEST = max(RULES)


@dataclass(frozen=True)
class ModelRules:
    """The constants and shares of a model of classes or counts by scoring steps."""

    radius: Rules
    """The constants of its radius, which is that of the last of three linear stages."""

    near: bool
    """Whether row norms are counted up to the largest possible radius only, and rare groups may lie as far out as the
    radius that follows."""

    growth: float
    """mu^2 of a step over that of the one before: the first ones are far from the model, and tell little of it."""

    last: Mapping[Link, float]
    """Share of the promise for the last stage, at the model."""

    last_stage: Mapping[Link, Mapping[str, float]]
    """Shares of the statistics of the last stage."""


MODEL_RULES: Mapping[int, ModelRules] = {
    2: ModelRules(
        RULES[2],
        near=False,
        growth=1.0,
        last=dict(budget.LAST_AT_MODEL) | {"logit": 0.3, "softmax": 0.3},
        last_stage=dict(budget.SCORED_STAGE)
        | {
            "logit": {"information": 0.5, "cross": 0.25, ScoreProducts.name: 0.25},
            "softmax": {PairInformation.name: 0.6, "cross": 0.4},
        },
    ),
    3: ModelRules(
        replace(RULES[2], beyond=20.0),
        near=True,
        growth=1.25,
        last=budget.LAST_AT_MODEL,
        last_stage=budget.SCORED_STAGE,
    ),
}
"""Version 2 was never part of a published discreet."""

NEWEST_OF_MODELS = max(MODEL_RULES)

RULES_OF_COUNTS = 2
"""The newest version that changed anything for counts."""
