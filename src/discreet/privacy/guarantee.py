"""A promise of privacy, and whether we stand behind it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from discreet.core.checks import Neighbors, is_real
from discreet.errors import FileFormatError

Status = Literal["verified", "claimed", "simulation"]


@dataclass(frozen=True)
class Guarantee:
    """An (epsilon, delta) promise.

    Parameters
    ----------
    epsilon, delta : float
        The promise.
    neighbors : {"add-remove", "replace-one"}
        Which tables count as differing in one person.
    status : {"verified", "claimed", "simulation"}
        `verified` is proven in the documentation and tested; `claimed` is a paper's statement that we do not
        stand behind; `simulation` promises nothing, because its noise came from a seed or was left out.
    reason : str
        Why it is not verified.

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

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Guarantee:
        """Rebuild a guarantee from `to_dict`."""
        guarantee = cls(**facts)
        numbers = is_real(guarantee.epsilon) and is_real(guarantee.delta) and isinstance(guarantee.reason, str)
        known = guarantee.neighbors in get_args(Neighbors) and guarantee.status in get_args(Status)
        if not (numbers and known and 0 <= guarantee.epsilon < math.inf and 0 <= guarantee.delta < 1):
            raise FileFormatError("The guarantee is of an unknown kind.")
        return guarantee
