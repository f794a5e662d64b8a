"""The shares of mu^2 of every release: all of them, in one table.

Within a group shares are relative to each other, unless they are said to be of the whole promise.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.families import Link
from discreet.statistics.pair_information import PairInformation
from discreet.statistics.scores import ScoreProducts

# ---------------------------------------------------------------- one stage

MOMENTS: Mapping[str, float] = {"gram": 0.4, "cross": 0.55, "squares": 0.05}
"""Shares of X'X, X'y and y'y of one outcome, released for later models."""

ONE_STAGE: Mapping[str, float] = {"counts": 0.06, "gram": 0.40, "cross": 0.50, "squares": 0.04}
"""Shares of the default in one stage: counts that narrow the outcome's bounds, and the moments."""

# ---------------------------------------------------------------- bounds that are searched for

SEARCH_SHARE, SEARCH_NEED = (0.02, 0.1), 240.0
"""Share of the promise for the search: k (SEARCH_NEED/(n mu))^2 for k columns, between this minimum and maximum; the
latter where the number of rows was not declared. Then a count of 3 % of the rows stands out from the noise."""

SEARCH_STEPS = 2 / 3, 1 / 3
"""Shares within it: counts by sign and power of two, and counts in equal parts."""

SEARCH_ROWS = 0.1
"""Share of the first of these steps for the number of rows, where it was not declared."""

SEARCH_LEAST = 100.0
"""Below this n mu/sqrt(k) a search is refused: a count of a quarter of the rows would be lost in noise."""

# ---------------------------------------------------------------- stages of a linear model

ROWS = 0.02
"""Share of the promise for the number of rows, where it was not declared, and for the sum of an exposure."""

OUTCOME_COUNTS = 40.0, 0.05, 0.25
"""Share of the promise for the outcome's counts: 40/(n mu), between this minimum and maximum; half of it for each
level."""

STAGES: Mapping[int, tuple[float, ...]] = {
    0: (1.0,),
    2: (0.1, 0.3, 0.6),
    3: (0.03, 0.05, 0.12, 0.8),
    4: (0.04, 0.07, 0.1, 0.17, 0.62),
}
"""Shares of the sums of the columns, and of each stage, by the number of stages."""

BALL_STAGES: Mapping[int, tuple[float, ...]] = {2: (0.4, 0.6)}
"""Shares of each stage where rows lie in a ball, whose columns are not scaled first."""

MOST_STAGES = max(STAGES)

STAGE: Mapping[str, float] = {"counts": 0.1, "gram": 0.35, "cross": 0.5, "squares": 0.05}
LAST_STAGE: Mapping[str, float] = {"counts": 0.05, "gram": 0.12, "cross": 0.8, "squares": 0.03}
"""Shares of the statistics of a stage. The last of three or more needs less for U'U, which multiplies only the
correction to the model."""

ROW_NORMS = 0.1
"""Share of a stage for the counts of row norms, if it has them."""

SCORE_PRODUCTS = 0.1, 0.03, 0.3
"""Share of the last stage for score products: log10(n mu^2/q) - 1 tenths, between this minimum and maximum. The smaller
the noise is beside the sampling error, the more an estimate of the latter is worth."""

LEAST = 1e-3
"""No statistic gets a smaller share of mu^2."""

# ---------------------------------------------------------------- classes and counts

SCORING_STEPS = 8
"""The number of steps, which share what other releases leave of mu^2; see `recipes.rules`."""

MODEL_COLUMNS, MODEL_PRODUCTS, MODEL_NORMS = 0.05, 0.1, 0.01
"""Shares of the promise: the sums of the columns; the products of the columns; and the counts of row norms in whitened
coordinates."""

COUNTS = 0.08
"""Share of the promise for the location of a count, half of it for each of two levels."""

RAISED: Mapping[str, tuple[float, float]] = {"columns": (25.0, 0.1), "counts": (12.0, 0.25), "products": (15.0, 0.2)}
"""With few rows these shares are raised at the cost of the steps: to the first number over n mu, at most to the
second."""

LAST_AT_MODEL: Mapping[Link, float] = {"logit": 0.2, "softmax": 0.2, "log": 0.5}
"""Share of the promise for the last stage, at the model."""

MOST_AT_MODEL = 0.65
"""The most that the last stage has of what the first releases leave, where few rows raise their shares."""

SCORED_STAGE: Mapping[Link, Mapping[str, float]] = {
    "logit": {"information": 0.65, "cross": 0.1, ScoreProducts.name: 0.25},
    "softmax": {PairInformation.name: 0.8, "cross": 0.2},
    "log": {"counts": 0.04, "information": 0.5, "cross": 0.26, ScoreProducts.name: 0.2},
}
"""Shares within the last stage. Classical standard errors, as those of several classes, need no score products."""

SQUARES_OF_PERSONS = 0.03
"""Share of e'e beside those, where scores are summed by person and clipped to a norm that follows from it."""

# ---------------------------------------------------------------- wide tables

WIDE_TOTALS, WIDE_COLUMNS, WIDE_COLUMNS_IN_BALL, WIDE_SKETCHES = 0.005, 0.03, 0.01, (0.06, 0.06)
"""Shares of the promise: the number of rows, and of those of each class; the sums of the columns and of their squares,
with smaller noise where rows lie in a ball; and each sketch. The steps share the rest equally."""
