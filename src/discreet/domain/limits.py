"""Limits on the size of formulas, checked before anything is multiplied out or computed.

A text of 2,000 characters is read or refused within about a second and 100 MB, whatever stands in it: formulas come
from people who are not trusted with the computer that reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_POWER = 9
"""The largest power of a column or an expression."""

LONGEST = 100_000
"""Maximum number of characters of a formula."""

DEEPEST = 40
"""Maximum depth of parentheses."""

MOST_OPERATIONS = 100
"""Maximum number of operators in one expression."""

MOST_WORK = 100_000
"""Steps of interval arithmetic that the ranges of all expressions of a formula take together, at most: a sum is one, a
product two, a quotient four, a function ten or more, each for every piece that bounds are cut into."""

MOST_TOGETHER = 300_000
"""Maximum number of these steps for all formulas of one release, and for all columns of a schema or of a file."""

MOST_TERMS = 10_000
"""Maximum number of terms of a formula."""

MOST_PRODUCTS = 50_000
"""Maximum number of products while terms are multiplied out, duplicates included."""

MOST_COORDINATES = 20_000
"""Coordinates that a formula, or one derived column, stands for, at most: a number is one, a category one a level, a
product of categories one a cell."""

TOO_WIDE = (
    f"This formula stands for more than {MOST_TERMS:,} terms or {MOST_COORDINATES:,} coordinates: a number is one, a "
    "category one a level, a product of categories one a cell. Leave products out, or declare fewer levels"
)


@dataclass
class Effort:
    """Steps of interval arithmetic that some texts take together."""

    most: int = MOST_WORK
    spent: int = 0

    def holds(self, steps: int) -> bool:
        """Take some more steps, and return whether the total is within the limit."""
        self.spent += steps
        return self.spent <= self.most

    @property
    def refusal(self) -> str:
        """The reason for a refusal."""
        return (
            f"The ranges of all expressions up to this one would take more than {self.most:,} steps of arithmetic: one "
            "in which a column stands twice takes some thousands. Make such columns in the data, and declare their "
            "bounds"
        )
