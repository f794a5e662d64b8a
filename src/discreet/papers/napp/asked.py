"""What is asked of published NAPP-ERM, checked; and why its guarantee is only claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from discreet.core import checks
from discreet.errors import ParameterError
from discreet.papers.napp.regularizers import Regularizer
from discreet.privacy.events.napp import REGULARIZERS


@dataclass(frozen=True)
class Asked:
    """The options of `NAPP` that follow the paper; see there."""

    loss: str
    regularizer: Regularizer
    modulus: float | None
    slope: float | None
    share: float
    moor: bool
    selection: Any
    n_e: int | None
    iterations: int
    tol: float | None
    zero: float | None
    retrieval: str | None
    rounds: int
    keep_trace: bool

    def check(self) -> None:
        """Refuse what cannot be meant."""
        r = self.regularizer
        checks.choice("regularizer", r.kind, REGULARIZERS)
        from_zero("alpha", r.strength)
        if not checks.is_real(r.gamma) or not 0 <= r.gamma < 2:
            raise ParameterError(f"gamma must be from 0 and below 2, got {r.gamma!r}.")
        from_zero("kappa", r.kappa)
        checks.positive("knot", r.knot)
        for name in ("modulus", "slope", "tol"):
            if getattr(self, name) is not None:
                checks.positive(name, getattr(self, name))
        checks.fraction("share", self.share)
        checks.choice("retrieval", self.retrieval, (None, "return", "recycle"))
        if self.zero is not None:
            from_zero("zero", self.zero)
        for name in ("moor", "keep_trace"):
            checks.choice(name, getattr(self, name), (True, False))
        for name in ("iterations", "rounds"):
            whole(name, getattr(self, name), 1)
        if self.n_e is not None and whole("n_e", self.n_e, 2) % 2:
            raise ParameterError(f"n_e must be even, for augmented rows come in pairs; got {self.n_e}.")
        number = checks.is_real(self.selection) and -math.inf < self.selection <= 0
        if not number and self.selection not in (None, "VS", "VS+"):
            raise ParameterError(
                'selection must be None, "VS", "VS+" or a number c <= 0 that all noise is to exceed; '
                f"got {self.selection!r}."
            )

    @property
    def word(self) -> str:
        """The noise term, as the certificate names it."""
        if checks.is_real(self.selection):
            return "c" if self.selection else "VS+"
        return self.selection or "none"

    @property
    def truncation(self) -> float | None:
        """c, where it is a number of its own."""
        return float(self.selection) if self.word == "c" else None

    @property
    def reason(self) -> str:
        """Why the guarantee is claimed only."""
        return " ".join(text for text, applies in self._errata() if applies) + " Nothing is recomputed."

    def _errata(self) -> list[tuple[str, bool]]:
        word, adaptive = self.word, self.regularizer.adaptive
        return [
            (
                "erratum E10: the proof holds the weights fixed, but they follow the coefficients, and with them the "
                "data.",
                adaptive,
            ),
            (
                "the proof neglects what a finite number of augmented rows adds, and the constants are the printed "
                "ones.",
                not adaptive,
            ),
            ("E11: truncated noise has another support with a row than without it.", word in ("VS+", "c")),
            ("E12: the noise term b'|theta| lets the data decide signs.", word == "VS"),
            ("E13: a budget that is retrieved depends on the data.", self.retrieval is not None),
            ("No gradient bound holds for squared losses and coefficients without bounds.", self.loss == "linear"),
        ]


def from_zero(name: str, value: Any) -> float:
    """A finite number of at least 0."""
    if not checks.is_real(value) or not 0 <= value < math.inf:
        raise ParameterError(f"{name} must be a finite number of at least 0, got {value!r}.")
    return float(value)


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least so many."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)
