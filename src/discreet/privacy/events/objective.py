"""Objective perturbation: what the minimiser of a noisy objective costs, and how much noise a promise needs.

theta minimises sum_i f(x_i'theta, y_i) + r(theta) + b'theta, with |x_i| <= B, r convex with modulus lambda, and b
Gaussian of sd sigma in every coordinate, or spherical Laplace (density proportional to e^(-|b|/sigma)). Write
L = B slope, b = B^2 curvature, mu = L/sigma, J = log(1 + b/lambda) and Q_v(m) = P(N(v^2/2, v^2) > m). The bounds on
the tail of the privacy loss below are proven in ``docs/mathematics.md``, section 7; all losses share them.

What is released is the minimiser up to a gradient of norm `tolerance`, with Gaussian noise (or spherical Laplace noise)
of size `output` on top, which hides that difference: it is at most tolerance/lambda.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.core.checks import Neighbors, is_real
from discreet.core.files import number, text, texts
from discreet.errors import FileFormatError
from discreet.privacy.laws import Law, Point, Tail, together
from discreet.privacy.losses import Loss, loss_from_dict
from discreet.privacy.rounding import gradient_error

Floats = NDArray[np.float64]
Noise = Literal["gaussian", "laplace"]

_ROUND_UP = 1 + 2.0**-40


@dataclass(frozen=True)
class ObjectiveEvent:
    """The released minimiser of a perturbed objective: everything that its privacy depends on.

    Parameters
    ----------
    loss : Loss
        f.
    design : tuple of str
        Names of the regressors' coordinates.
    norm : float
        B, the bound on their norm in a row.
    modulus : float
        lambda, the strong convexity of the penalty.
    scale : float
        sigma: the sd of each coordinate of Gaussian noise, or the scale of spherical Laplace noise.
    tolerance, output : float
        The largest norm of the gradient at which the solver stops, and the scale of the noise on the result.
    neighbors : {"add-remove", "replace-one"}
        The relation that `scale` is meant for.
    noise : {"gaussian", "laplace"}
        The law of the noise.
    declared : (epsilon, delta), optional
        For a stage that was calibrated after an earlier output was seen: what it was held to, declared before.
    target : str, optional
        The outcome's coordinate, named where the penalty is lambda |theta|^2/2 alone and theta is not constrained: then
        what a row lost under squared loss has a closed form. The promise does not depend on it.
    """

    loss: Loss
    design: tuple[str, ...]
    norm: float
    modulus: float
    scale: float
    tolerance: float
    output: float
    neighbors: Neighbors = "add-remove"
    noise: Noise = "gaussian"
    declared: tuple[float, float] | None = None
    target: str | None = None

    name = "perturbed minimiser"
    exact = False

    @property
    def gradient(self) -> float:
        """L: the norm of one row's gradient is at most this."""
        return self.norm * self.loss.slope * _ROUND_UP

    @property
    def smoothness(self) -> float:
        """b: the largest eigenvalue of one row's Hessian is at most this."""
        return self.norm**2 * self.loss.curvature * _ROUND_UP

    @property
    def mu(self) -> float:
        """The Gaussian part of the cost: the noise on the result, which hides where the solver stopped."""
        return 0.0 if self.declared or self.noise == "laplace" else self._output_cost

    @property
    def law(self) -> Law:
        """The other part: as declared beforehand, or as the noise has it."""
        return Point(*self.declared) if self.declared else self._own

    def largest(self, rows: float, quadratic: float) -> float:
        """The norm of theta up to which rounding errors of at most so many rows are within 5/8 of the tolerance.

        `quadratic` is the largest coefficient of the penalty.
        """
        facts = (self.loss, len(self.design), self.norm, rows)
        still = gradient_error(*facts, 0.0)
        return (self.tolerance * 0.625 - still) / (gradient_error(*facts, 1.0) - still + 2.0**-48 * quadratic)

    def keeps_declared(self) -> bool:
        """Whether the noise keeps what was declared."""
        if not self.declared:
            return True
        mu = self._output_cost if self.noise == "gaussian" else 0.0
        return together([self._own], mu)(self.declared[0]) <= self.declared[1]

    @property
    def _output_cost(self) -> float:
        return 2 * self.tolerance / self.modulus / self.output * _ROUND_UP

    @property
    def _own(self) -> Law:
        if self.noise == "laplace":
            return Point((_pure(self) + self._output_cost) * _ROUND_UP)
        return Tail(_tail(self))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "mechanism": "objective perturbation",
            "loss": self.loss.to_dict(),
            "design": list(self.design),
            "norm": self.norm,
            "gradient": self.gradient,
            "smoothness": self.smoothness,
            "one_signed": self.loss.one_signed,
            "modulus": self.modulus,
            "noise": self.noise,
            "scale": self.scale,
            "tolerance": self.tolerance,
            "output": self.output,
            "neighbors": self.neighbors,
            "declared": None if self.declared is None else list(self.declared),
            "target": self.target,
            "exact": False,
        }

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> ObjectiveEvent:
        """Rebuild an event from `to_dict`."""
        numbers = [facts[name] for name in ("norm", "modulus", "scale", "tolerance", "output")]
        known = facts["neighbors"] in get_args(Neighbors) and facts["noise"] in get_args(Noise)
        if not known or not all(is_real(value) and 0 < value < math.inf for value in numbers) or not facts["design"]:
            raise FileFormatError("A perturbed objective of the release is of an unknown kind.")
        declared = None if facts["declared"] is None else tuple(map(number, facts["declared"]))
        if declared is not None and not (len(declared) == 2 and declared[0] > 0 and 0 <= declared[1] < 1):
            raise FileFormatError("A perturbed objective of the release declares what no stage can keep.")
        norm, modulus, scale, tolerance, output = map(float, numbers)
        return cls(
            loss_from_dict(facts["loss"]),
            texts(facts["design"]),
            norm,
            modulus,
            scale,
            tolerance,
            output,
            facts["neighbors"],
            facts["noise"],
            None if declared is None else (declared[0], declared[1]),
            None if facts.get("target") is None else text(facts["target"]),
        )


def _tail(event: ObjectiveEvent) -> Callable[[Floats], Floats]:
    """The bound on P(privacy loss > m), for Gaussian noise."""
    J = math.log1p(event.smoothness / event.modulus) * _ROUND_UP
    mu, span = event.gradient / event.scale, event.norm * event.loss.span / event.scale * _ROUND_UP
    replace, one_signed = event.neighbors == "replace-one", event.loss.one_signed

    def plain(m: Floats) -> Floats:
        at = np.maximum(m - J, 0.0)
        if replace:
            corners = [2 * mu, mu, mu] if one_signed else [2 * mu] * 4
            p = sum(_q(v, at) for v in corners)
            if not one_signed:
                fewer = _q(2 * mu, at) + 2 * _q(span, at) + _q(2 * (span - mu), at)
                p = np.where(at >= 2 * mu * math.sqrt(2 + mu**2), fewer, p)
        else:
            p = _q(mu, at) * (1 if one_signed else 2)
            if not one_signed:
                fewer = _q(mu, at) + _q(span - mu, at)
                p = np.where(at >= mu * math.sqrt(2 + mu**2 / 4), fewer, p)
        return np.where(m < J, 1.0, np.minimum(p, 1.0))

    if not event.loss.bell or replace:
        return plain
    kappa = 4 * event.smoothness / event.modulus - mu**2 / 2
    return lambda m: np.minimum(plain(m), _bell(mu, kappa, m))


def _bell(mu: float, kappa: float, m: Floats) -> Floats:
    """The bound for losses whose curvature vanishes where their slope is largest: no J at all where m >= kappa."""
    if kappa <= 0:
        return _q(mu, m)
    least = (kappa + mu**2 / 2) ** 2 / (4 * kappa) if mu**2 / 2 < kappa else mu**2 / 2
    p = _q(mu, np.where(m < kappa, 2 * np.sqrt(kappa * m) - kappa, m))
    return np.where(m < least, 1.0, p)


def _q(v: float, m: Floats) -> Floats:
    """P(N(v^2/2, v^2) > m)."""
    if v <= 0:
        return np.where(m < 0, 1.0, 0.0)
    p: Floats = ndtr(v / 2 - m / v)
    return p


def _pure(event: ObjectiveEvent) -> float:
    """The largest privacy loss with spherical Laplace noise."""
    E, J = event.gradient / event.scale, math.log1p(event.smoothness / event.modulus)
    other = E if event.neighbors == "replace-one" else 0.0
    c = 4 * event.smoothness / event.modulus
    if not event.loss.bell:
        return other + E + J
    return other + (E if c <= E else min((c + E) ** 2 / (4 * c), E + J))
