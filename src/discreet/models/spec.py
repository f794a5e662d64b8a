"""One fit, as all ways to fit describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class FitSpec:
    """The outcomes, features and promise of one fit.

    The columns of X may be `named`; outcomes given as `several` have a model for each; `classes` are those whose places
    the outcome holds, where it is a number for that reason only. Counts may have an `exposure`.
    """

    targets: tuple[str, ...]
    features: list[str]
    promise: Guarantee
    named: bool = True
    several: bool = False
    classes: tuple[Any, ...] | None = None
    exposure: str | None = None

    @property
    def target(self) -> str:
        """The outcome, where there is one."""
        return self.targets[0]
