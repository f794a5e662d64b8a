"""Release by NAPP-ERM as published (li2021), which promises nothing of its own.

The noise b is that of eqs. (4), (9) and (10): Gaussian or spherical Laplace, on all of space or above c <= 0. The
algorithms that use rows and noise are in `algorithm`. See errata E9 to E13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from scipy.special import gammaln, log_ndtr, ndtr, ndtri

from discreet.core.arrays import SILENT, Floats
from discreet.data.rows import Rows
from discreet.gate.entropy import NO_NOISE, Entropy
from discreet.gate.noise import normals, spherical_laplace
from discreet.gate.once import Drawn, once
from discreet.gate.session import Session
from discreet.mechanisms.napp.event import NappEvent, noise_scale
from discreet.released.certificate import Certificate


class NAPPFindings(Protocol):
    """The result of an algorithm of the paper besides its coefficients: Delta_epsilon after each round."""

    retrieved: list[float]


F = TypeVar("F", bound=NAPPFindings)


@dataclass(frozen=True)
class NAPPDraws:
    """Inputs that the release hands to an algorithm besides the rows.

    Parameters
    ----------
    b : array
        The noise of the objective.
    rng : Generator
        For draws that need no secrecy.
    budget : float
        The largest epsilon that can be retrieved.
    rounds : int
        The number of times that retrieved budget is used again.
    rescale : callable
        The factor by which b shrinks when so much more epsilon is spent on it.
    """

    b: Floats
    rng: np.random.Generator
    budget: float
    rounds: int
    rescale: Callable[[float], float]


@np.errstate(**SILENT)
def release_napp(
    rows: Rows,
    algorithm: Callable[[Rows, NAPPDraws], F],
    event: NappEvent,
    retrieval: str | None,
    session: Session,
) -> tuple[Certificate, F]:
    """Run algorithm 1, or algorithm 2 where `retrieval` is given, and certify its coefficients."""
    epsilon, delta = session.promise.epsilon, session.promise.delta
    truncation = 0.0 if event.selection == "VS+" else event.truncation
    budget = 0.0 if retrieval is None else (1 - event.share) * epsilon
    rounds = event.rounds if retrieval == "recycle" else 0

    def rescale(more: float) -> float:
        return noise_scale(event.gradient, event.share * epsilon + more, delta) / event.scale

    def run(entropy: Entropy) -> Drawn[F]:
        b = draw(len(rows.design), event.scale, event.noise, truncation, entropy)
        found = algorithm(rows, NAPPDraws(b, generator(entropy), budget, rounds, rescale))
        retrieved = found.retrieved[-1] if found.retrieved else 0.0
        return Drawn(found, (replace(event, retrieved=retrieved),), retrieved if retrieval == "return" else 0.0)

    return once(session, rows.domain, run, epsilon=math.inf)


_GRID = 20_001


def generator(entropy: Entropy) -> np.random.Generator:
    """A fast generator for draws that need no secrecy, seeded with random words."""
    if entropy is NO_NOISE:
        return np.random.default_rng(np.random.default_rng(0).integers(0, 2**64, size=4, dtype=np.uint64))
    return np.random.default_rng(entropy.words(4))


def draw(d: int, scale: float, law: str, above: float | None, entropy: Entropy) -> Floats:
    """Draw b; the norm of spherical Laplace noise has a Gamma law of shape d (E9). Zeros without noise.

    Parameters
    ----------
    d, scale, law : int, float, {"gaussian", "laplace"}
        The number of coordinates, and the noise's scale and law.
    above : float, optional
        The threshold c that all coordinates exceed.
    entropy : Entropy
        The source of random words.

    Examples
    --------
    >>> from discreet.gate.entropy import SeededEntropy
    >>> bool((draw(50, 2.0, "laplace", -1.0, SeededEntropy(0)) > -1).all())
    True
    """
    if entropy is NO_NOISE:
        return np.zeros(d)
    if above is None or above == 0:
        b = scale * (normals(d, entropy) if law == "gaussian" else spherical_laplace(d, entropy)[0])
        return b if above is None else np.abs(b)
    c, rng = above / scale, generator(entropy)
    sd = 1.0 if law == "gaussian" else _mixing(d, c, rng)
    u = rng.random(d)
    least = ndtr(c / sd)
    b = scale * sd * ndtri(least + u * (1 - least))
    return np.maximum(b, np.nextafter(above, math.inf))


def _mixing(d: int, c: float, rng: np.random.Generator) -> float:
    """Draw an sd sqrt(w) such that normals of this sd, all above c, are spherical Laplace noise above c.

    exp(-norm) is a mixture of normal densities of variance w with a Gamma law of shape (d + 1)/2 and scale 2. Above c
    that law is weighted by the probability Phi(-c/sqrt w)^d that all normals exceed c.
    """
    shape = (d + 1) / 2
    x = np.linspace(math.log(shape) - 12, math.log(shape) + 5, _GRID)
    w = np.exp(x)
    log_density = shape * x - w / 2 - gammaln(shape) + d * log_ndtr(-c / np.sqrt(w))
    density = np.exp(log_density - log_density.max())
    below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(math.exp(float(np.interp(rng.random() * below[-1], below, x))))
