"""Exact draws from a Gaussian restricted to the lattice points of a ball: ``docs/mathematics``, 8.7.

The law is p(theta) proportional to f(theta) = exp(-(gamma/2)(theta'S theta - 2 b'theta + lambda |theta|^2)) on the
lattice points with |theta| <= R, for integer S and b. With A = S + (lambda + nu) I and mu = A^-1 b, for any nu >= 0,

    f(theta) <= exp(gamma (nu R^2 + b'mu)/2) exp(-(gamma/2) (theta - mu)'A (theta - mu))        inside the ball,

so draws of N(mu, A^-1/gamma), rounded to the lattice, are accepted with probability f/(M q), q being the probability of
the rounded draw. nu makes the mean of |theta|^2 equal to R^2, at which M is least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from discreet.core.arrays import Floats
from discreet.errors import DataError
from discreet.gate.entropy import GUARD, NO_NOISE, Entropy, Uniform, precise
from discreet.gate.noise import rounded_normal

Ints = NDArray[np.int64]

UNIT_BITS = 40
"""S and b are in units of 2^-40."""

LATTICE = 39
"""theta has steps of 2^-39 of the radius, or of the next power of two above it."""

_WIDER = 2.0**-10  # the least eta: proposals have covariance A^-1/(gamma (1 - eta))
_SLACK = 2.0**-6  # slack of log M, besides twice the bound on rounding errors
_LARGEST = 4.0  # the largest such bound: e^8 times as many proposals
_U = 2.0**-53
_BATCH = 256
_PARTS = 4096  # centres are multiples of this fraction of a step


@dataclass(frozen=True)
class Ball:
    """A Gaussian restricted to a ball of `radius` R; **confidential**."""

    S: NDArray[Any]  # X'X and X'y in units of 2^-40, Python integers
    b: NDArray[Any]
    gamma: float
    penalty: float
    radius: float

    def __repr__(self) -> str:
        return f"Ball({len(self.b)} coordinates, confidential)"

    @property
    def step(self) -> float:
        """The step of the lattice; public, since it depends on the radius only."""
        return math.ldexp(1.0, math.frexp(self.radius)[1] - LATTICE)

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        return np.ldexp(self.S.astype(float), -UNIT_BITS), np.ldexp(self.b.astype(float), -UNIT_BITS)

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues of S + lambda I, and b in its eigenvectors; approximate."""
        S, b = self._floats
        values, V = np.linalg.eigh(S)
        return np.maximum(values, 0.0) + self.penalty, V.T @ b

    def _shift(self, spread: float) -> float:
        """The nu >= 0 at which |mu|^2 + spread tr A^-1 = R^2, or 0 if that is below R^2 without it."""
        values, w = self._spectrum

        def excess(nu: float) -> float:
            return float(np.sum((w / (values + nu)) ** 2 + spread / (values + nu))) / self.radius**2 - 1

        if excess(0.0) <= 0:
            return 0.0
        high = 1.0
        while excess(high) > 0:
            high *= 4
        return float(brentq(excess, 0.0, high, rtol=1e-12, disp=False))

    def mode(self) -> Floats:
        """The most likely point, up to rounding errors."""
        S, b = self._floats
        A = S + (self.penalty + self._shift(0.0)) * np.eye(len(b))
        return np.asarray(np.linalg.solve(A, b), dtype=np.float64)


class Proposal:
    """Rounded draws of N(mu, A^-1/gamma), coordinate by coordinate, and whether they are accepted; **confidential**."""

    def __init__(self, ball: Ball) -> None:
        self._ball = ball
        S, b = ball._floats
        try:
            self.nu = ball._shift(1 / ball.gamma)
            d, h = len(b), ball.penalty + self.nu
            A = S + h * np.eye(d)
            t = float(np.trace(A))
            eta = max(_WIDER, 4 * (d + 10) * _U * t / h)
            self._L = np.linalg.cholesky((1 - eta) * A)
            self._mu = np.linalg.solve(A, b)
        except np.linalg.LinAlgError:
            raise DataError(_TOO_LARGE) from None
        self._sd = 1 / (math.sqrt(ball.gamma) * np.diag(self._L) * ball.step)
        size = float(np.linalg.norm(self._mu))
        sizes = t * size + float(np.linalg.norm(b))
        left = float(np.linalg.norm(b - A @ self._mu)) + 2 * (d + 6) * _U * sizes
        a = math.sqrt(ball.gamma) * (left / math.sqrt(h) + 4 * (d + 10) * _U * math.sqrt(t) * (ball.radius + size))
        a += float(np.linalg.norm(1 / self._sd)) / _PARTS
        rounding = ball.gamma * (d + 10) * _U * (sizes * size + self.nu * ball.radius**2)
        slack = 2 * a * a / eta + ball.gamma * left * (size + left / h) + rounding
        slack += float(np.sum(self._sd**-2.0)) + 64 * d * _U * (1 + math.log(float(self._sd.max())))
        if not (eta <= 0.5 and slack <= _LARGEST and self._sd.min() >= 1):
            raise DataError(_TOO_LARGE)
        self._error = 4 * (d + 10) * _U * ball.gamma * (t * ball.radius**2 + sizes * ball.radius)
        self._log_M = (
            ball.gamma / 2 * (self.nu * ball.radius**2 + float(b @ self._mu))
            + float(np.sum(np.log(self._sd) + math.log(2 * math.pi) / 2))
            + _SLACK
            + 2 * slack
        )

    def __repr__(self) -> str:
        return "Proposal(confidential)"

    def draw(self, source: Entropy) -> Floats:
        """One point of the restricted Gaussian; its mode where no noise is wanted."""
        if source is NO_NOISE:
            return self._ball.mode()
        while (found := self.first_accepted(source)) is None:
            pass
        return np.asarray(found * self._ball.step, dtype=np.float64)

    def first_accepted(self, source: Entropy) -> Ints | None:
        """The first accepted point of a batch, in steps of the lattice; None if there is none."""
        theta, centre = self._draw(source)
        words = source.words(len(theta))
        log_alpha, error = self._log_alpha(theta, centre)
        with np.errstate(divide="ignore"):
            below = np.log(words.astype(float)) - 64 * math.log(2)
            above = np.log(words.astype(float) + 1) - 64 * math.log(2)
        likely = below - 1e-14 < log_alpha + error
        for i in np.flatnonzero(likely):
            sure = above[i] + 1e-14 < log_alpha[i] - error[i]
            if self._inside(theta[i]) and (sure or self._settle(theta[i], centre[i], int(words[i]), source)):
                accepted: Ints = theta[i]
                return accepted
        return None

    def _draw(self, source: Entropy) -> tuple[Ints, Floats]:
        """Points in steps of the lattice, and the centre that each coordinate was drawn around, in steps too."""
        d, step = len(self._mu), self._ball.step
        theta, centre = np.zeros((_BATCH, d), dtype=np.int64), np.zeros((_BATCH, d))
        off = np.zeros((_BATCH, d))
        for i in reversed(range(d)):
            around = (self._mu[i] - off[:, i + 1 :] @ self._L[i + 1 :, i] / self._L[i, i]) / step
            centre[:, i] = np.rint(around * _PARTS) / _PARTS
            whole = np.floor(centre[:, i])
            drawn = rounded_normal(centre[:, i] - whole, np.full(_BATCH, self._sd[i]), source)
            theta[:, i] = whole.astype(np.int64) + drawn
            off[:, i] = theta[:, i] * step - self._mu[i]
        return theta, centre

    def _inside(self, theta: Ints) -> bool:
        """Whether |theta| <= R, exactly."""
        over, under = (self._ball.radius / self._ball.step).as_integer_ratio()
        return sum(int(t) ** 2 for t in theta) * under**2 <= over**2

    def _log_alpha(self, theta: Ints, centre: Floats) -> tuple[Floats, Floats]:
        """Log f/(M q) in floating point, and a bound on its error inside the ball."""
        ball = self._ball
        S, b = ball._floats
        point, z = theta * ball.step, (theta - centre) / self._sd
        energy = np.einsum("ij,ij->i", point @ S - 2 * b, point) + ball.penalty * np.sum(point**2, axis=1)
        squares = np.sum(z**2, axis=1)
        log_q = -squares / 2 - float(np.sum(np.log(self._sd) + math.log(2 * math.pi) / 2))
        error = self._error + 16 * (len(b) + 10) * _U * (squares + abs(self._log_M))
        error += np.sum((z**2 + 1) / self._sd**2, axis=1)
        return -ball.gamma / 2 * energy - log_q - self._log_M, error

    def _settle(self, theta: Ints, centre: Floats, word: int, source: Entropy) -> bool:
        """Whether U < f/(M q), for a uniform U of which 64 bits are known; more are drawn until this is decided."""
        return Uniform(word, source).below(lambda bits: self._exact_alpha(theta, centre, bits))

    def _exact_alpha(self, theta: Ints, centre: Floats, bits: int) -> int:
        """The ratio f/(M q) times 2^(bits + guard), by mpmath."""
        ball, mp = self._ball, precise(bits + 4 * GUARD + 128)
        t = [int(k) for k in theta]
        step, gamma = mp.mpf(ball.step), mp.mpf(ball.gamma)
        quadratic = sum(t[i] * t[j] * int(ball.S[i, j]) for i in range(len(t)) for j in range(len(t)))
        linear = sum(t[i] * int(ball.b[i]) for i in range(len(t)))
        norm = sum(k * k for k in t)
        energy = mp.ldexp(quadratic * step - 2 * linear, -UNIT_BITS) * step + mp.mpf(ball.penalty) * norm * step**2
        q = mp.mpf(1)
        for k, c, sd in zip(t, centre.tolist(), self._sd.tolist(), strict=True):
            off = abs(k - mp.mpf(c))
            q *= mp.ncdf((mp.mpf(0.5) - off) / sd) - mp.ncdf((-mp.mpf(0.5) - off) / sd)
        return int(mp.ldexp(mp.exp(-gamma / 2 * energy - mp.mpf(self._log_M)) / q, bits + GUARD))


_TOO_LARGE = (
    "The table is too large for an exact draw with this promise, so nothing was released. "
    "Choose a smaller epsilon or a smaller radius."
)
