"""The shares of mu^2 of every release: all of them, in one table.

Within a group shares are relative to each other, unless they are said to be of the whole promise.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.families import Link

# ---------------------------------------------------------------- one stage

MOMENTS: Mapping[str, float] = {"gram": 0.4, "cross": 0.55, "squares": 0.05}
"""X'X, X'y and y'y of one outcome, released for later models."""

ONE_STAGE: Mapping[str, float] = {"counts": 0.06, "gram": 0.40, "cross": 0.50, "squares": 0.04}
"""The default in one stage: counts that narrow the outcome's bounds, and the moments."""

# ---------------------------------------------------------------- stages of a linear model

ROWS = 0.02
"""Of the promise: the number of rows, where it was not declared, and the sum of an exposure."""

OUTCOME_COUNTS = 40.0, 0.05, 0.25
"""Of the promise: the outcome's counts get 40/(n mu), at least and at most so much; half of it for each level."""

STAGES: Mapping[int, tuple[float, ...]] = {
    0: (1.0,),
    2: (0.1, 0.3, 0.6),
    3: (0.03, 0.05, 0.12, 0.8),
    4: (0.04, 0.07, 0.1, 0.17, 0.62),
}
"""The sums of the columns, and each stage, by the number of stages."""

BALL_STAGES: Mapping[int, tuple[float, ...]] = {2: (0.4, 0.6)}
"""Each stage where rows lie in a ball, whose columns are not scaled first."""

MOST_STAGES = max(STAGES)

STAGE: Mapping[str, float] = {"counts": 0.1, "gram": 0.35, "cross": 0.5, "squares": 0.05}
LAST_STAGE: Mapping[str, float] = {"counts": 0.05, "gram": 0.12, "cross": 0.8, "squares": 0.03}
"""The statistics of a stage; the last of three or more needs less for U'U, which multiplies only what is left over."""

ROW_NORMS = 0.1
"""Of a stage: the counts of row norms, where it has them."""

SCORE_PRODUCTS = 0.1, 0.03, 0.3
"""Of the last stage: score products get log10(n mu^2/q) - 1 tenths, at least and at most so much. The less noise
matters beside the sampling error, the more an estimate of the latter is worth."""

LEAST = 1e-3
"""No statistic gets less of mu^2."""

# ---------------------------------------------------------------- classes and counts

COLUMNS, PRODUCTS, PRODUCTS_WITH_CLASS, COLUMNS_ALONE = 0.03, 0.1, 0.16, 0.05
"""Of the promise: the sums of the columns; their products, and those with a class as well; and the sums of the columns
where products are not released."""

COUNTS = 0.08
"""Of the promise: where a count lies, half of it for each of two levels."""

AT_MODEL: Mapping[Link, float] = {"logit": 0.12, "log": 0.62}
"""Of the promise: the last release, at the model. For counts it improves the model, too."""

RAISED: Mapping[str, tuple[float, float]] = {"columns": (25.0, 0.1), "counts": (12.0, 0.25), "products": (15.0, 0.2)}
"""With few rows shares are raised at the cost of the last release: to the first of these over n mu, at most to the
second; that of products for counts only."""

COLUMN_PRODUCTS: Mapping[str, float] = {"lengths": 0.1, "gram": 0.9}
COLUMN_PRODUCTS_WITH_CLASS: Mapping[str, float] = {"lengths": 0.06, "gram": 0.56, "cross": 0.38}
"""The products of the columns, without and with a line for a class."""

MODEL_STAGE: Mapping[Link, Mapping[str, float]] = {
    "logit": {"information": 0.6, "meat": 0.4},
    "log": {"counts": 0.06, "information": 0.24, "cross": 0.55, "meat": 0.15},
}
MODEL_STAGE_OF_FEW_ROWS: Mapping[str, float] = {"counts": 0.02, "information": 0.1, "cross": 0.87, "meat": 0.01}
"""The release at the model, and that of counts with few rows, which have no standard errors anyway. Classical standard
errors need no score products."""

CURVATURE = 0.015
"""Of epsilon: what the curvature of a model of counts may cost."""
