"""Losses of generalised linear models: convex in eta = x'theta, with bounded slope and curvature.

Each loss says what one row can do at most, per unit of the row's norm: `slope`, the largest |f'|; `span`, the length
of the interval of f' for one row; `curvature`, the largest f''. `one_signed`: f' never changes its sign, for any row.
`bell`: with s = |f'|/slope, f'' is at most 4 curvature s (1 - s); so it vanishes where the slope is largest.
`share`: how much of epsilon may go to curvature where no penalty is given; accuracy decides that, not privacy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.field_kinds import ABOVE_0, NUMBER, choice, record
from discreet.core.fields import Fields
from discreet.errors import FileFormatError


@dataclass(frozen=True)
class Loss(ABC):
    """A convex loss f(eta, y)."""

    name: ClassVar[str]
    one_signed: ClassVar[bool]
    bell: ClassVar[bool]
    share: ClassVar[float] = 0.1

    @property
    @abstractmethod
    def slope(self) -> float:
        """The largest |f'|."""

    @property
    def span(self) -> float:
        """The length of the interval in which f' of one row lies."""
        return self.slope

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The largest f''."""

    @abstractmethod
    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """The values f, f' and f'' of every row."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {"name": self.name} | asdict(self)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + e^eta) - y eta, for y = 0 or 1.

    Examples
    --------
    >>> Logistic().parts(np.zeros(1), np.ones(1))[1]
    array([-0.5])
    """

    name: ClassVar[str] = "logistic"
    one_signed: ClassVar[bool] = True
    bell: ClassVar[bool] = True

    @property
    def slope(self) -> float:
        """1."""
        return 1.0

    @property
    def curvature(self) -> float:
        """1/4."""
        return 0.25

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f' = p - y and f'' = p (1 - p), with p = 1/(1 + e^-eta)."""
        small = np.exp(-np.abs(eta))
        q = small / (1 + small)
        p = np.where(eta < 0, q, 1 - q)
        return np.maximum(eta, 0) + np.log1p(small) - y * eta, p - y, q * (1 - q)


@dataclass(frozen=True)
class SmoothHinge(Loss):
    """The hinge max(0, 1 - t eta), t = 2y - 1, with a rounded corner: w log(1 + e^((1 - t eta)/w)).

    It exceeds the hinge by at most w log 2.
    """

    width: float = 0.5

    name: ClassVar[str] = "smooth hinge"
    one_signed: ClassVar[bool] = True
    bell: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.positive("width", self.width)

    @property
    def slope(self) -> float:
        """1."""
        return 1.0

    @property
    def curvature(self) -> float:
        """1/(4w)."""
        return 0.25 / self.width

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f' = -t s and f'' = s (1 - s)/w, with s = 1/(1 + e^(-(1 - t eta)/w))."""
        t = 2 * y - 1
        u = (1 - t * eta) / self.width
        s = expit(u)
        value = self.width * (np.maximum(u, 0) + np.log1p(np.exp(-np.abs(u))))
        return value, -t * s, s * expit(-u) / self.width


@dataclass(frozen=True)
class QuadraticHinge(Loss):
    """The hinge with a quadratic corner, t = (2y - 1) eta: 0 from 1 on, (1 - t)^2/2 from 0 to 1, 1/2 - t below.

    Examples
    --------
    >>> QuadraticHinge().parts(np.array([-1.0, 0.5, 2.0]), np.ones(3))[0]
    array([1.5  , 0.125, 0.   ])
    """

    name: ClassVar[str] = "quadratic hinge"
    one_signed: ClassVar[bool] = True
    bell: ClassVar[bool] = False

    @property
    def slope(self) -> float:
        """1."""
        return 1.0

    @property
    def curvature(self) -> float:
        """1."""
        return 1.0

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f' and f'', which jumps at 0 and at 1."""
        sign = 2 * y - 1
        t = sign * eta
        s = np.clip(1 - t, 0.0, 1.0)
        return s**2 / 2 + np.maximum(-t, 0.0), -sign * s, ((t > 0) & (t < 1)).astype(float)


@dataclass(frozen=True)
class Poisson(Loss):
    """e^eta - y eta, for counts y from 0 to `limit`; linear where the rate e^eta exceeds `limit`.

    A mean of counts up to `limit` is at most `limit`, so nothing is lost beyond it. f' lies in [-y, limit - y]. Larger
    counts count as `limit`.
    """

    limit: float

    name: ClassVar[str] = "Poisson"
    one_signed: ClassVar[bool] = False
    bell: ClassVar[bool] = False
    share: ClassVar[float] = 0.25

    def __post_init__(self) -> None:
        checks.positive("limit", self.limit)

    @property
    def slope(self) -> float:
        """The limit."""
        return self.limit

    @property
    def curvature(self) -> float:
        """The limit."""
        return self.limit

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f' and f''; beyond the limit the rate stays there."""
        top, y = math.log(self.limit), np.clip(y, 0.0, self.limit)
        rate = np.where(eta < top, np.exp(np.minimum(eta, top)), self.limit)
        value = rate + self.limit * np.maximum(eta - top, 0) - y * eta
        return value, rate - y, np.where(eta < top, rate, 0.0)


@dataclass(frozen=True)
class Squared(Loss):
    """(eta - y)^2/2, for |y| <= 1; linear where |eta| exceeds `limit`, which is at least 1.

    f' lies in [-limit - y, limit - y].
    """

    limit: float = 1.0

    name: ClassVar[str] = "squared"
    one_signed: ClassVar[bool] = False
    bell: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not checks.positive("limit", self.limit) >= 1:
            raise FileFormatError("The limit of a squared loss is at least 1.")

    @property
    def slope(self) -> float:
        """The limit and the largest outcome."""
        return self.limit + 1.0

    @property
    def span(self) -> float:
        """Twice the limit."""
        return 2 * self.limit

    @property
    def curvature(self) -> float:
        """1."""
        return 1.0

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f' and f'', continued linearly."""
        inner = np.clip(eta, -self.limit, self.limit)
        value = (inner - y) ** 2 / 2 + (inner - y) * (eta - inner)
        return value, inner - y, (np.abs(eta) < self.limit).astype(float)


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Logistic, SmoothHinge, QuadraticHinge, Poisson, Squared)}


def loss_from_dict(facts: dict[str, Any]) -> Loss:
    """Rebuild a loss from `Loss.to_dict`.

    Examples
    --------
    >>> loss_from_dict({"name": "Poisson", "limit": 9.0})
    Poisson(limit=9.0)
    """
    if facts.get("name") not in LOSSES:
        raise FileFormatError(f"Unknown loss {checks.shown(facts.get('name'))}; a newer discreet may know it.")
    return LOSSES[facts["name"]](**{name: NUMBER.take(value) for name, value in facts.items() if name != "name"})


_OWN = ABOVE_0(absent=None)
_FIELDS = Fields("loss", "With its own parameters.", name=choice(*LOSSES), width=_OWN, limit=_OWN)
LOSS = replace(record(_FIELDS), read=loss_from_dict, write=Loss.to_dict)
