"""Newton's method for F(theta) + b'theta + sum_j q_j theta_j^2/2 + sum_j l_j |theta_j|, F convex and smooth.

Each step minimises the quadratic model of the smooth part, with the l1 norm as it is: by a linear solve without one, by
coordinate descent and a linear solve on the coordinates that are not zero with one. Where that makes no progress, which
has not been seen, accelerated gradient steps take over; in real numbers these reach any tolerance in a known number.
Nothing is raised here: the caller receives the norm of the subgradient that was reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.core.arrays import Floats
from discreet.core.rounding import FEW, down

Smooth = Callable[[Floats], tuple[float, Floats, Floats]]

_STEPS = 200
_SWEEPS = 5000
_SLOW = 64
"""Accelerated steps are at most this many times the root of the condition number: errors then fall by 2^-90."""

_MOST = 1 << 17


@dataclass(frozen=True)
class WeightedPenalty:
    """sum_j q_j theta_j^2/2 + sum_j l_j |theta_j|."""

    quadratic: Floats
    l1: Floats

    @property
    def modulus(self) -> float:
        """The modulus of strong convexity."""
        return float(self.quadratic.min())

    def __call__(self, theta: Floats) -> float:
        """The value."""
        return float(self.quadratic @ theta**2 / 2 + self.l1 @ np.abs(theta))


def minimise(
    smooth: Smooth,
    b: Floats,
    penalty: WeightedPenalty,
    theta: Floats,
    tolerance: float,
    radius: float | None = None,
    steepest: float | None = None,
) -> tuple[Floats, float]:
    """Return the minimiser, up to a subgradient of norm `tolerance`, and the norm that was reached.

    `smooth`: F, its gradient and its Hessian.
    `tolerance`: the norm of the least subgradient at which to stop.
    `radius`: the largest norm of theta.
    `steepest`: a bound on the eigenvalues of the Hessian of F; without one there are no steps but Newton's.
    """
    fine = tolerance if radius is None else tolerance / 4
    found = _minimise(smooth, b, penalty, theta, fine, steepest)
    if radius is None or float(np.linalg.norm(found[0])) <= radius:
        return found
    return _on_sphere(smooth, b, penalty, found[0], tolerance, radius, steepest)


def _on_sphere(
    smooth: Smooth,
    b: Floats,
    penalty: WeightedPenalty,
    theta: Floats,
    tolerance: float,
    radius: float,
    steepest: float | None,
) -> tuple[Floats, float]:
    """Return the minimiser of norm `radius`: that of the objective with nu |theta|^2/2 more, for the right nu.

    The norm of the minimiser falls as nu grows, and 1/norm is nearly linear in it.
    """
    low, nu, slope = 0.0, 0.0, float("nan")
    high, fine = float("inf"), tolerance / 4
    best = theta, float("inf")
    for _ in range(_STEPS):
        norm = float(np.linalg.norm(theta))
        low, high = (nu, high) if norm > radius else (low, nu)
        rounded = theta * (down(radius / norm, FEW / 4))
        g = smooth(rounded)[1] + b + (penalty.quadratic + nu) * rounded
        residual = subgradient(g, rounded, penalty.l1)
        best = min(best, (rounded, residual), key=lambda found: found[1])
        if residual <= tolerance:
            return best
        before, inverse = nu, 1 / norm
        guess = nu + (1 / radius - inverse) / slope if slope > 0 else 2 * nu + penalty.modulus
        inside = low < guess < high
        nu = guess if inside else (low + high) / 2 if np.isfinite(high) else 2 * nu + penalty.modulus
        if abs(nu - before) <= 2.0**-50 * nu:  # minimisers too rough to tell on which side of the sphere they lie
            low, high, fine, slope = 0.0, float("inf"), fine / 16, float("nan")
        more = WeightedPenalty(penalty.quadratic + nu, penalty.l1)
        theta, _ = _minimise(smooth, b, more, theta, fine, steepest)
        if nu != before:
            slope = (1 / float(np.linalg.norm(theta)) - inverse) / (nu - before)
    return best


def _minimise(
    smooth: Smooth, b: Floats, penalty: WeightedPenalty, theta: Floats, tolerance: float, steepest: float | None
) -> tuple[Floats, float]:
    def whole(at: Floats) -> tuple[float, Floats, Floats]:
        value, gradient, hessian = smooth(at)
        g = gradient + b + penalty.quadratic * at
        return value + float(b @ at) + penalty(at), g, hessian + np.diag(penalty.quadratic)

    theta, residual = _newton(whole, theta, penalty.l1, tolerance)
    if residual <= tolerance or steepest is None:
        return theta, residual
    slow = _accelerated(whole, theta, penalty, tolerance, steepest + float(penalty.quadratic.max()))
    return min((theta, residual), slow, key=lambda found: found[1])


def _newton(whole: Smooth, theta: Floats, l1: Floats, tolerance: float) -> tuple[Floats, float]:
    """Take Newton steps, each shortened until the objective or the subgradient falls, while they make progress."""
    J, g, H = whole(theta)
    residual = subgradient(g, theta, l1)
    for _ in range(_STEPS):
        if residual <= tolerance:
            break
        direction = _model_minimiser(H, g, theta, l1) - theta
        expected = float(g @ direction + l1 @ (np.abs(theta + direction) - np.abs(theta)))
        step = 1.0
        while True:
            new = theta + step * direction
            J_new, g_new, H_new = whole(new)
            left = subgradient(g_new, new, l1)
            if J_new <= J + 1e-4 * step * expected or left <= residual / 2:
                break
            step /= 2
            if step < 2.0**-40:
                return theta, residual
        theta, J, g, H, residual = new, J_new, g_new, H_new, left
    return theta, residual


def _accelerated(
    whole: Smooth, theta: Floats, penalty: WeightedPenalty, tolerance: float, steepest: float
) -> tuple[Floats, float]:
    """Return the best point of Nesterov's proximal steps, for a convexity between the penalty's and `steepest`."""
    root = math.sqrt(steepest / penalty.modulus)
    momentum, l1 = (root - 1) / (root + 1), penalty.l1
    best, at = (theta, float("inf")), theta
    for step in range(min(_MOST, int(_SLOW * root) + _SLOW)):
        moved = at - whole(at)[1] / steepest
        new = np.sign(moved) * np.maximum(np.abs(moved) - l1 / steepest, 0.0)
        at, theta = new + momentum * (new - theta), new
        if step % 8 == 7:
            best = min(best, (theta, subgradient(whole(theta)[1], theta, l1)), key=lambda found: found[1])
            if best[1] <= tolerance:
                break
    return best


def subgradient(g: Floats, theta: Floats, l1: Floats) -> float:
    """Return the norm of the least subgradient, g being the gradient without the l1 norm."""
    at_zero = np.maximum(np.abs(g) - l1, 0.0)
    return float(np.linalg.norm(np.where(theta == 0, at_zero, g + l1 * np.sign(theta))))


def _model_minimiser(H: Floats, g: Floats, theta: Floats, l1: Floats) -> Floats:
    """Return the z that minimises g'(z - theta) + (z - theta)'H(z - theta)/2 + sum_j l_j |z_j|."""
    if not l1.any():
        full: Floats = theta - _solved(H, g)
        return full
    c, z = g - H @ theta, theta.copy()
    scale = float(np.abs(c).max()) + 1.0
    for sweep in range(_SWEEPS):
        before = z.copy()
        for j in range(len(z)):
            r = c[j] + H[j] @ z - H[j, j] * z[j]
            z[j] = -np.sign(r) * max(abs(r) - l1[j], 0.0) / H[j, j]
        if sweep % 5 == 0 and (polished := _polished(H, c, z, l1, scale)) is not None:
            return polished
        if np.array_equal(before, z):
            break
    return z


def _polished(H: Floats, c: Floats, z: Floats, l1: Floats, scale: float) -> Floats | None:
    """Return the exact minimiser, if its coordinates are zero, positive and negative where those of z are."""
    on = (z != 0) | (l1 == 0)
    signs = np.sign(z[on]) * (l1[on] > 0)
    exact = np.zeros_like(z)
    exact[on] = _solved(H[np.ix_(on, on)], -(c[on] + l1[on] * signs))
    same = np.all((np.sign(exact[on]) == signs) | (l1[on] == 0))
    slack = np.abs(c + H @ exact)[~on] <= l1[~on] + 1e-12 * scale
    return exact if same and np.all(slack) else None


def _solved(H: Floats, v: Floats) -> Floats:
    """Return H^-1 v, or that of a little more than H where rounding makes H singular: a direction need not be exact."""
    ridge = 0.0
    for _ in range(60):
        try:
            found: Floats = cho_solve(cho_factor(H + ridge * np.eye(len(H)) if ridge else H), v)
        except np.linalg.LinAlgError:
            ridge = max(4 * ridge, 2.0**-50 * float(np.trace(H)))
        else:
            return found
    return v
