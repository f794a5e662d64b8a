"""A promise of privacy, its status, and the add-remove promise that implies it.

Proof for replace-one neighbours: ``docs/mathematics``, 8.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.field_kinds import FROM_0, NEIGHBORS, TEXT, choice, kept, number
from discreet.core.fields import Fields, FileRecord
from discreet.core.rounding import FEW, down
from discreet.errors import ParameterError

Status = Literal["verified", "claimed", "simulation"]


@dataclass(frozen=True)
class Guarantee(FileRecord):
    """An (epsilon, delta) promise.

    Parameters
    ----------
    epsilon, delta : float
        The promise.
    neighbors : {"add-remove", "replace-one"}
        The relation between tables that differ in one person.
    status : {"verified", "claimed", "simulation"}
        `verified` is proven in the documentation and tested; `claimed` is a paper's statement that we do not
        stand behind; `simulation` promises nothing, because its noise came from a seed or was left out.
    reason : str
        The reason why it is not verified.

    Examples
    --------
    >>> Guarantee(1.0, 1e-6, "add-remove", "verified").status
    'verified'
    """

    epsilon: float
    delta: float
    neighbors: Neighbors
    status: Status
    reason: str = ""

    FIELDS = Fields(
        "guarantee",
        "The promise.",
        "The guarantee is of an unknown kind.",
        epsilon=kept(FROM_0)("The epsilon of the promise."),
        delta=kept(number(minimum=0, exclusiveMaximum=1))("The delta of the promise."),
        neighbors=NEIGHBORS,
        status=choice(Status)("Proven and accounted for; stated by a paper; or nothing is promised."),
        reason=TEXT("Why it is not verified."),
    )


LARGEST_EPSILON = 700.0
"""Larger epsilons are refused for replace-one neighbours: e^epsilon would overflow float64, or nearly."""


def add_remove(epsilon: float, delta: float, neighbors: Neighbors) -> tuple[float, float]:
    """The add-remove promise that implies this one.

    For replace-one it is (epsilon/2, delta/(1 + e^(epsilon/2))): replacing a row is removing it and adding another,
    P(S) <= e^(e/2) P0(S) + d <= e^(e/2) (e^(e/2) P'(S) + d) + d.

    Examples
    --------
    >>> add_remove(1.0, 1e-6, "add-remove")
    (1.0, 1e-06)
    >>> epsilon, delta = add_remove(1.0, 1e-6, "replace-one")
    >>> epsilon, round(delta, 9)
    (0.5, 3.78e-07)
    """
    if neighbors == "add-remove":
        return epsilon, delta
    epsilon, delta = checks.positive("epsilon", epsilon), checks.fraction("delta", delta)
    if epsilon > LARGEST_EPSILON:
        raise ParameterError(
            f"With neighbors='replace-one' this method takes an epsilon of at most {LARGEST_EPSILON:g}: floating point "
            "cannot account for more. Such a promise hides nobody; values up to 1 are usual."
        )
    return epsilon / 2, down(delta / (1 + math.exp(epsilon / 2)), FEW / 4)
