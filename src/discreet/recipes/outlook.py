"""Whether a release in stages is likely to give intervals, from public facts, before anything is spent.

Intervals are given where the noise of X'X is small beside the variation of the columns. Stages make columns alike, so
with q coefficients that ratio goes as q^1.5/(n mu), whatever the bounds. The limits were measured on made-up tables:
``python -m experiments.planning.outlook``, docs/results/plans.md. Models of classes and counts spend much of mu on the
coefficients themselves, so their limits are larger. Of 36 kinds of tables, with 3 to 60 coefficients, at most 15 % of
the coefficients had an interval at n mu/q^1.5 = 8, up to 52 % at 12, and more than two thirds at 48 on most; one class
in twenty, or a correlation of 0.3 between all columns, needs more than that:
``python -m experiments.planning.outlook_models``, experiments/results/plan_outlook_models.json.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from discreet.privacy import gdp

Outlook = Literal["likely", "some", "unlikely"]


class OutlookLimits(NamedTuple):
    """Below `none`, a value of n mu/q^1.5, hardly any coefficient has an interval; from `most` on most of them have."""

    none: float
    most: float


NUMBERS = OutlookLimits(4.0, 16.0)
"""The limits of linear models."""

CLASSES_AND_COUNTS = OutlookLimits(8.0, 48.0)
"""The limits of logistic and Poisson models."""


def interval_outlook(size: int, rows: float, mu: float, *, linear: bool = True) -> Outlook:
    """Return whether intervals are likely: for most coefficients, for some, or hardly for any.

    Columns that nearly repeat each other have intervals later than others.

    Parameters
    ----------
    size : int
        The number of coefficients with the intercept.
    rows, mu : float
        The number of rows, and the cost of the release: `discreet.privacy.gdp.mu`, over the rows that a person has.
    linear : bool
        Whether the outcome is a number: False for two classes and for counts, which need more rows.

    Examples
    --------
    >>> mu = gdp.mu(epsilon=1, delta=1e-9)
    >>> interval_outlook(9, 15_000, mu), interval_outlook(40, 15_000, mu), interval_outlook(303, 15_000, mu)
    ('likely', 'some', 'unlikely')
    >>> interval_outlook(9, 15_000, mu, linear=False), interval_outlook(60, 15_000, mu, linear=False)
    ('likely', 'unlikely')
    """
    reach, limits = rows * mu / size**1.5, NUMBERS if linear else CLASSES_AND_COUNTS
    return "likely" if reach >= limits.most else "some" if reach >= limits.none else "unlikely"


def unlikely(size: int, rows: int, epsilon: float, delta: float, most: int = 1, *, linear: bool = True) -> str:
    """Say that no interval is likely, and what would help; "" where some are.

    Parameters
    ----------
    size, rows : int
        The number of coefficients with the intercept, and the public number of rows.
    epsilon, delta : float
        The promise.
    most : int
        The number of rows that a person has at most.
    linear : bool
        Whether the outcome is a number; False for classes and counts.

    Examples
    --------
    >>> for sentence in unlikely(303, 15_000, 1.0, 1e-9).split(". "):
    ...     print(sentence)
    No interval is likely: 303 coefficients are too many for about 15,000 rows at epsilon 1
    Some would have one with at most 77 coefficients, from about 120,000 rows on, or from epsilon 9 on.
    """
    mu = gdp.mu(epsilon=epsilon, delta=delta) / most
    if size < 2 or interval_outlook(size, rows, mu, linear=linear) != "unlikely":
        return ""
    least = (NUMBERS if linear else CLASSES_AND_COUNTS).none
    few, many = int((rows * mu / least) ** (2 / 3)), _rounded_up(least * size**1.5 / mu)
    needed = least * size**1.5 / rows * most
    ways = [f"with at most {few} coefficients"] if few > 1 else []
    ways += [f"from about {many:,} rows on", f"from epsilon {gdp.epsilon(mu=needed, delta=delta):.2g} on"]
    return (
        f"No interval is likely: {size} coefficients are too many for about {rows:,} rows at epsilon {epsilon:g}. Some "
        f"would have one {', '.join(ways[:-1])}, or {ways[-1]}."
    )


def no_errors(size: int) -> str:
    """Say that a wide model of classes is released without standard errors unless they are asked for."""
    return (
        f"No interval will be given: with {size} coefficients a model of classes is released without standard errors, "
        "unless covariance = 'classical' or 'robust' asks for them. Choose fewer columns or levels, or ask."
    )


def _rounded_up(rows: float) -> int:
    """Round a number of rows up to two digits."""
    unit = 10 ** max(math.floor(math.log10(rows)) - 1, 0)
    return int(math.ceil(rows / unit) * unit)
