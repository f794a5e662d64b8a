"""Release by NAPP-ERM as published (li2021), which promises nothing of its own.

The noise b is that of eqs. (4), (9) and (10): Gaussian or spherical Laplace, on all of space or above c <= 0. The
algorithms that use rows and noise are in `algorithm`. See errata E9 to E13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

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

R = TypeVar("R")


@dataclass
class Recycled(Generic[R]):
    """The result of algorithm 2: the last run, and Delta_epsilon after each round."""

    run: R
    retrieved: list[float]


@dataclass(frozen=True)
class NAPPDraws:
    """Inputs that the release hands to an algorithm besides the rows: the noise b, and the rules of retrieval."""

    b: Floats
    rng: np.random.Generator  # for draws that need no secrecy
    budget: float  # the largest epsilon that can be retrieved
    rounds: int  # the number of times that retrieved budget is used again
    rescale: Callable[[float], float]  # the factor by which b shrinks when so much more epsilon is spent on it


@np.errstate(**SILENT)
def release_napp(
    rows: Rows,
    algorithm: Callable[[Rows, NAPPDraws], Recycled[R]],
    event: NappEvent,
    retrieval: str | None,
    session: Session,
) -> tuple[Certificate, Recycled[R]]:
    """Run algorithm 1, or algorithm 2 where `retrieval` is given, and certify its coefficients."""
    epsilon, delta = session.promise.epsilon, session.promise.delta
    truncation = 0.0 if event.selection == "VS+" else event.truncation
    budget = 0.0 if retrieval is None else (1 - event.share) * epsilon
    rounds = event.rounds if retrieval == "recycle" else 0

    def rescale(more: float) -> float:
        return noise_scale(event.gradient, event.share * epsilon + more, delta) / event.scale

    def run(entropy: Entropy) -> Drawn[Recycled[R]]:
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
    """Draw b, all above the threshold c if one is given; zeros without noise.

    The norm of spherical Laplace noise has a Gamma law of shape d (E9).
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
