"""Whether a release in stages is likely to give intervals, from public facts, before anything is spent.

Intervals are given where the noise of X'X is small beside the variation of the columns. Stages make columns alike, so
with q coefficients that ratio goes as q^1.5/(n mu), whatever the bounds. The two limits were measured on made-up
tables: ``python -m experiments.planning.outlook``, docs/results/plans.md.
"""

from __future__ import annotations

import math
from typing import Literal

from discreet.privacy import gdp

Outlook = Literal["likely", "some", "unlikely"]

NONE, MOST = 4.0, 16.0
"""Below the first value of n mu/q^1.5 hardly any coefficient has an interval; from the second on most of them have."""


def interval_outlook(size: int, rows: float, mu: float) -> Outlook:
    """Return whether intervals are likely: for most coefficients, for some, or hardly for any.

    Columns that nearly repeat each other have intervals later than others.

    Parameters
    ----------
    size : int
        The number of coefficients with the intercept.
    rows, mu : float
        The number of rows, and the cost of the release: `discreet.privacy.gdp.mu`, over the rows that a person has.

    Examples
    --------
    >>> mu = gdp.mu(epsilon=1, delta=1e-9)
    >>> interval_outlook(9, 15_000, mu), interval_outlook(40, 15_000, mu), interval_outlook(303, 15_000, mu)
    ('likely', 'some', 'unlikely')
    """
    reach = rows * mu / size**1.5
    return "likely" if reach >= MOST else "some" if reach >= NONE else "unlikely"


def unlikely(size: int, rows: int, epsilon: float, delta: float, most: int = 1) -> str:
    """Say that no interval is likely, and what would help; "" where some are.

    Parameters
    ----------
    size, rows : int
        The number of coefficients with the intercept, and the public number of rows.
    epsilon, delta : float
        The promise.
    most : int
        The number of rows that a person has at most.

    Examples
    --------
    >>> for sentence in unlikely(303, 15_000, 1.0, 1e-9).split(". "):
    ...     print(sentence)
    No interval is likely: 303 coefficients are too many for about 15,000 rows at epsilon 1
    Some would have one with at most 77 coefficients, from about 120,000 rows on, or from epsilon 9 on.
    """
    mu = gdp.mu(epsilon=epsilon, delta=delta) / most
    if size < 2 or interval_outlook(size, rows, mu) != "unlikely":
        return ""
    few, many = int((rows * mu / NONE) ** (2 / 3)), _rounded_up(NONE * size**1.5 / mu)
    needed = NONE * size**1.5 / rows * most
    ways = [f"with at most {few} coefficients"] if few > 1 else []
    ways += [f"from about {many:,} rows on", f"from epsilon {gdp.epsilon(mu=needed, delta=delta):.2g} on"]
    return (
        f"No interval is likely: {size} coefficients are too many for about {rows:,} rows at epsilon {epsilon:g}. Some "
        f"would have one {', '.join(ways[:-1])}, or {ways[-1]}."
    )


def _rounded_up(rows: float) -> int:
    """Round a number of rows up to two digits."""
    unit = 10 ** max(math.floor(math.log10(rows)) - 1, 0)
    return int(math.ceil(rows / unit) * unit)
