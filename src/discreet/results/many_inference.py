"""How sure a release is of the coefficients of many outcomes: `discreet.results.inference` for all of them at once.

G, and with it the sampling error in units of sigma^2 and the noise from X'Y, are the same for all outcomes; only the
noise from X'X, G E[N1 theta theta' N1] G, has each outcome's own theta in it. Only its diagonal is needed: for a row K
of T G, T the way to the user's units, and W_ij = w off the diagonal except for known entries (of the released Z'Z: with
z = L x, K L' stands for K and L theta for theta),

    K E[N1 theta theta' N1] K' = w (K theta)^2 + sum_i K_i^2 ((W theta^2)_i - w theta_i^2) - sum over known i, j.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.core.unavailable import Unavailable
from discreet.errors import FileFormatError
from discreet.released.moments import PrivateMoments
from discreet.released.solve.debiased import resolvent, through_noise
from discreet.released.solve.equations import ManyEquations
from discreet.released.units import column_of, user_units
from discreet.results.inference import NO_SQUARES, SAMPLED, _plain, read_part

Floats = NDArray[np.float64]

LARGEST_NOISE = 0.1
"""Intervals are given where the noise of X'X is at most this share of the features' least variation. They extend
equally to both sides, which holds up to here; those of a single outcome allow for more noise (`results.inference`)."""


@dataclass(frozen=True, eq=False)
class ManyInference:
    """Debiased intercepts and coefficients in the user's units, a row for each outcome, and their standard errors.

    Parameters
    ----------
    estimate : array
        The debiased (intercept, coefficients) of each outcome.
    std_err : array, or Unavailable
        Their standard errors: sampling error and privacy noise.
    privacy_noise : array
        What the standard errors would be if there were no sampling error.
    sigma : array, or Unavailable
        For each outcome, the standard deviation around its line.
    df : float
        Rows less coefficients.
    noise : float
        The noise of X'X, relative to the features' least variation.
    """

    estimate: Floats
    std_err: Floats | Unavailable
    privacy_noise: Floats
    sigma: Floats | Unavailable
    df: float
    noise: float

    def interval(self, level: float) -> Floats | Unavailable:
        """Confidence intervals: (low, high) for each outcome and coefficient."""
        if isinstance(self.std_err, Unavailable):
            return self.std_err
        half = float(stats.t.ppf((1 + level) / 2, self.df)) * self.std_err
        return np.stack([self.estimate - half, self.estimate + half], axis=-1)

    @property
    def p_values(self) -> Floats | Unavailable:
        """Of the tests that each coefficient is zero."""
        if isinstance(self.std_err, Unavailable):
            return self.std_err
        with np.errstate(divide="ignore", invalid="ignore"):
            p: Floats = 2 * stats.t.sf(np.abs(self.estimate / self.std_err), self.df)
        return p

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], outcomes: int, size: int) -> ManyInference:
        """Rebuild from `to_dict`, for some outcomes with an intercept and size - 1 coefficients each."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("estimate", "std_err", "privacy_noise"), (outcomes, size))
        shapes["sigma"] = (outcomes,)
        missing = ("std_err", "sigma")
        read = [read_part(facts, f.name, shapes.get(f.name), missing=f.name in missing) for f in fields(cls)]
        found = cls(*read)
        errors = [part for part in (found.std_err, found.privacy_noise) if not isinstance(part, Unavailable)]
        if any(part.min(initial=0.0) < 0 for part in errors) or found.df <= 0:
            raise FileFormatError("it is damaged: standard errors do not fit together.")
        return found


def infer_many(released: PrivateMoments, e: ManyEquations) -> ManyInference | Unavailable:
    """What released normal equations tell of the coefficients of many outcomes, or why they tell too little."""
    if released.sampled:
        return SAMPLED
    C, e = e.turn, e.turned()
    W, L = e.variances, e.L
    G = resolvent(e.S, W, L)
    noise = float(np.linalg.eigvalsh(through_noise(W, G @ G, L))[-1]) ** 0.5
    if noise > LARGEST_NOISE:
        return Unavailable(
            "not available",
            f"The noise of X'X is {noise:.2g} of the least variation of the features, and intervals for many outcomes "
            f"at once keep their level up to {LARGEST_NOISE:g} only. Single outcomes allow for more: fit(outcome). "
            "Fewer features, tighter bounds, more rows or a larger epsilon help.",
        )
    theta, df = G @ e.V, max(e.n - len(e.S), 1.0)
    unit = G + G @ through_noise(W, G, L) @ G
    sigma2 = None
    if e.yy is not None and e.s_yy is not None:
        rest = e.yy - np.sum(e.V * theta, axis=0) + e.s_xy**2 * np.trace(G)
        sigma2 = np.maximum(rest / df, e.s_yy / max(e.n, 1.0))
    T, h, t = many_units(released, e)
    T = T @ C
    K = T @ G
    of_s = _of_s(W, K, theta) if L is None else _of_s(W, K @ L.T, L @ theta)
    privacy = e.s_xy**2 * np.sum(K**2, axis=1)[:, None] + of_s
    sampling = None if sigma2 is None else sigma2 * np.einsum("ij,jk,ik->i", T, unit, T)[:, None]
    return ManyInference(
        estimate=(h * (T @ theta)).T + t,
        std_err=NO_SQUARES if sampling is None else (h * np.sqrt(sampling + privacy)).T,
        privacy_noise=(h * np.sqrt(privacy)).T,
        sigma=NO_SQUARES if sigma2 is None else h * np.sqrt(sigma2),
        df=df,
        noise=noise,
    )


def _of_s(W: Floats, K: Floats, theta: Floats) -> Floats:
    """The diagonal of K E[N1 theta theta' N1] K' for each column of theta."""
    off = W[~np.eye(len(W), dtype=bool)]
    w = float(off.max()) if off.size else 0.0
    squares = theta**2
    found = w * (K @ theta) ** 2 + K**2 @ (W @ squares - w * squares)
    i, j = np.nonzero(np.triu(w != W, k=1))
    if len(i):
        found -= 2 * (K[:, i] * K[:, j] * (w - W[i, j])) @ (theta[i] * theta[j])
    return np.maximum(found, 0.0)


def many_units(released: PrivateMoments, e: ManyEquations) -> tuple[Floats, Floats, Floats]:
    """(intercept, coef) = h T theta + t for each outcome: T, and h and t by outcome."""
    maps = np.array([released.domain.map(column_of(released.domain, name)) for name in e.targets])
    T = user_units(released, e.one(0), unclip=False).T / maps[0, 1]
    t = np.zeros((len(e.targets), len(T)))
    t[:, 0] = maps[:, 0]
    return T, maps[:, 1], t
