"""Which variables belong to a linear model, and how sure the release is of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.text import printable
from discreet.domain import CONSTANT
from discreet.privacy.certificate import Certificate
from discreet.released.moments import PrivateMoments
from discreet.released.solve.equations import NormalEquations
from discreet.released.solve.inclusion import inclusion
from discreet.released.units import user_units
from discreet.results.summary import number

Floats = NDArray[np.float64]

SURE = 0.95
"""A variable is called in, or out, when the release is this sure of it."""


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Probabilities that variables belong to a model. Computed from a release, so it costs no privacy.

    The same release gives the same probabilities, to the last bit: the draws behind them have a fixed seed. They take
    all noise into account, the release's and the sample's: where the noise drowns the data, nothing is sure.

    Parameters
    ----------
    target : str
        The outcome.
    names : tuple of str
        The regressors, without the intercept; a category has one for each level but the first.
    probability : array
        The probability that each one's coefficient is not zero.
    coef : array
        The mean coefficient if it is not, in the user's units.
    certificate : Certificate
        The guarantee of the release behind it.
    """

    target: str
    names: tuple[str, ...]
    probability: Floats
    coef: Floats
    certificate: Certificate

    def chosen(self, level: float = 0.5) -> tuple[str, ...]:
        """The variables whose probability is at least `level`; 0.5 gives the median-probability model."""
        checks.fraction("level", level)
        return tuple(name for name, p in zip(self.names, self.probability, strict=True) if p >= level)

    def verdict(self, name: str) -> str:
        """'in' or 'out' where the release is 95 % sure, else 'unsure'."""
        p = float(self.probability[self.names.index(name)])
        return "in" if p >= SURE else "out" if p <= 1 - SURE else "unsure"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "target": self.target,
            "probability": dict(zip(self.names, self.probability.tolist(), strict=True)),
            "coef": dict(zip(self.names, self.coef.tolist(), strict=True)),
            "verdict": {name: self.verdict(name) for name in self.names},
            "guarantee": self.certificate.guarantee.to_dict(),
        }

    def summary(self) -> str:
        """A table, the most probable variables first."""
        g = self.certificate.guarantee
        names = [printable(name) for name in self.names]
        width = max(map(len, [*names, "variable"]))
        lines = [
            f"Which variables explain {printable(self.target)}",
            f"epsilon = {g.epsilon:g}, delta = {g.delta:g}, {g.neighbors} neighbours, {g.status}",
            "",
            f"{'variable':<{width}}  probability      coef if in  verdict",
        ]
        for i in np.argsort(-self.probability, kind="stable"):
            p, coef = self.probability[i], self.coef[i]
            lines.append(f"{names[i]:<{width}}  {p:>11.3f}  {number(coef):>14}  {self.verdict(self.names[i])}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def select_variables(released: PrivateMoments, e: NormalEquations) -> Selection:
    """Inclusion probabilities of the regressors of released normal equations, the intercept always in the model."""
    constant = np.array([name == CONSTANT for name in e.names])
    probability, theta = inclusion(e, constant)
    coef, _ = user_units(released, e).params(theta)
    names = tuple(name for name in e.names if name != CONSTANT)
    return Selection(e.target, names, probability[~constant], coef, released.certificate)
