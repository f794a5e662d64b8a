"""What one fit is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Asked:
    """An outcome, its features and a promise; and whether the features came by name."""

    target: str
    features: list[str]
    promise: Guarantee
    named: bool = True
