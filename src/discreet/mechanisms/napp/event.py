"""The constants that li2021 (NAPP-ERM) prints, and the event of a release made with them: errata E9 to E14.

Epsilon is split: the share r pays for the noise b in the objective (ratio r_1), the rest for the Jacobian (ratio r_2),
which the curvature 2 Lambda_0 of the penalty bounds. L = zeta_1 zeta_2 bounds the gradient of one row, zeta_3 its
Hessian. Kept so that the paper's figures can be reproduced. Nothing verified uses this file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.core.field_kinds import COUNT, choice, maybe, whole
from discreet.privacy.events.coefficients import FROM_ZERO, SIGNED, UnaccountedEvent, described

_LINKS = {"linear": "identity", "poisson": "log", "logistic": "logit", "hinge": "sign"}
"""The links of the losses."""

REGULARIZERS = ("ridge", "bridge", "lasso", "elasticnet", "scad", "l0")


def noise_scale(L: float, budget: float, delta: float) -> float:
    """Eq. (4): the sd of Gaussian b for r epsilon = budget, or, for delta = 0, the scale of spherical Laplace noise."""
    return L / budget if delta == 0 else L * math.sqrt(2 * (budget - math.log(delta))) / budget


def least_scale(L: float, budget: float, delta: float) -> float:
    """Corollary 5, eq. (12): the least sd of Gaussian b that the proof of theorem 4 allows.

    L (sqrt(2 log(1/delta) + 2 r epsilon) + sqrt(2 log(1/delta)))/(2 r epsilon), printed for r = 1/2; `noise_scale` is
    its second line, which is a little larger. For the noise alone it is right: log ratios exceed r epsilon with
    probability at most delta.
    """
    tail = -2 * math.log(delta)
    return L * (math.sqrt(tail + 2 * budget) + math.sqrt(tail)) / (2 * budget)


def least_modulus(zeta3: float, epsilon: float, share: float) -> float:
    """The Lambda_0 of algorithm 1, zeta_3/(2 (1 - r) epsilon)."""
    return zeta3 / (2 * (1 - share) * epsilon)


def retrievable(budget: float, modulus: float, least_weight: float) -> float:
    """Eq. (13) as it must be meant: the part of the Jacobian's budget that a curvature of 2 min_j w_j saves.

    The budget is (1 - r) epsilon, the modulus Lambda_0. V_(1) is 2 min_j w_j/(n_e l''), so the printed ratio
    Lambda_0/(n_e l'' V_(1)) lacks a factor 2, and min{0, ...} must be max (E13).
    """
    return max(0.0, budget * (1 - modulus / least_weight))


def printed_retrievable(budget: float, modulus: float, least_weight: float) -> float:
    """Eq. (13) as printed, but with max for min: half of the budget where there is nothing to retrieve (E13)."""
    return max(0.0, budget * (1 - modulus / (2 * least_weight)))


@described(
    "printed_napp",
    "NAPP with its printed constants: not accounted for.",
    loss=choice(*_LINKS),
    regularizer=choice(*REGULARIZERS),
    noise=choice("gaussian", "laplace"),
    selection=choice("none", "VS", "VS+", "c"),
    strength=FROM_ZERO,
    moor=COUNT,
    iterations=whole(1),
    rounds=COUNT,
    augmented=maybe(whole(1)),
    truncation=maybe(SIGNED),
    retrieved=FROM_ZERO,
)
@dataclass(frozen=True, kw_only=True)
class NappEvent(UnaccountedEvent):
    """Coefficients released by NAPP-ERM with printed constants, in units of the mapped columns.

    The `selection` of the noise term is "none" for b'theta, "VS" for b'|theta|, "VS+" and "c" for the same with b
    truncated at 0, or at c, the `truncation`. `gradient` is L, `share` r, `strength` Lambda, `modulus` the curvature
    2 Lambda_0, `moor` whether weights are the maximum (1) or the sum (0), `iterations` T, `augmented` n_e, None for its
    limit, and `retrieved` Delta_epsilon.
    """

    mechanism: ClassVar[str] = "NAPP-ERM, printed constants"
    name: ClassVar[str] = "coefficients, by NAPP-ERM with printed constants"
    minimises: ClassVar[bool] = True

    loss: str
    regularizer: str
    noise: str
    selection: str
    gradient: float
    scale: float
    share: float
    strength: float
    modulus: float
    moor: int
    iterations: int
    rounds: int
    augmented: int | None
    truncation: float | None
    retrieved: float

    @property
    def link(self) -> str | None:
        """The link of its loss."""
        return _LINKS[self.loss]
