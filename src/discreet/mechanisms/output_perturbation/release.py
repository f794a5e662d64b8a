"""Release of ridge coefficients with Gaussian noise of a public shape; proofs in docs/mathematics, 8.6 and 8.7."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.core.arrays import SILENT, Floats
from discreet.core.rounding import ROOM, down, up
from discreet.data.moments import Moments
from discreet.domain import LATTICE_BITS
from discreet.gate.entropy import Entropy
from discreet.gate.noise import add_normal, add_rounded_normal
from discreet.gate.once import Drawn, once
from discreet.gate.session import Session
from discreet.mechanisms.output_perturbation.event import OutputEvent, OutputPlan, output_change, root
from discreet.mechanisms.posterior_sampling.adaptive_event import lower_bound, norm_change, quantile
from discreet.mechanisms.posterior_sampling.release import BoundedRidge, StagedSubject
from discreet.privacy.ops import coefficient_bound
from discreet.released.certificate import Certificate


@np.errstate(**SILENT)
def release_shaped(
    moments: Moments, subject: StagedSubject, plan: OutputPlan, session: Session
) -> tuple[Certificate, Floats]:
    """Release the least eigenvalue, X'X if the shape needs it, the norm of the coefficients, and the coefficients."""
    ridge = BoundedRidge(moments, subject.design, subject.target, subject.rows)

    def draw(entropy: Entropy) -> Drawn[Floats]:
        B, d = plan.B, plan.d
        eigenvalue = float(add_normal(ridge.least_eigenvalue(), plan.s1, entropy))
        least = lower_bound(eigenvalue, plan.s1, plan.failure, plan.change)
        lambda_ = plan.penalty(least)
        h = lambda_ + least
        C = np.eye(d)
        if plan.gram_sd is not None:
            S = _noisy_gram(moments, subject.design, plan.gram_sd, entropy) + (lambda_ + plan.tau) * np.eye(d)
            values, vectors = np.linalg.eigh(S)
            S = (vectors * np.maximum(values, h)) @ vectors.T  # where tau covers the noise, S is at least H
            C = root(plan.shape, S, d)
        s = norm_change(d, B, lambda_, h, subject.rows)
        theta = ridge.coefficients(lambda_, B, h)
        log_norm = float(add_normal(math.log(plan.Y + B * float(np.linalg.norm(theta))), s / plan.mu2, entropy))
        cap = plan.Y + B * coefficient_bound(lambda_, plan.rows, plan.B, plan.Y, least)
        draft = OutputEvent(
            **subject.facts(),
            eigenvalue=eigenvalue,
            eigenvalue_sd=plan.s1,
            eigenvalue_change=plan.change,
            log_norm=log_norm,
            norm_sd=s / plan.mu2,
            penalty=lambda_,
            residual=min(cap, math.exp(log_norm + s / plan.mu2 * quantile(plan.failure) + s)),
            gamma=1.0,
            failures=(plan.failure, plan.failure, plan.failure if plan.gram_sd else 0.0),
            shape=plan.shape,
            gram_sd=plan.gram_sd,
            tau=plan.tau,
            stretch=up(float(np.linalg.norm(C, 2)), ROOM),
            root=() if plan.gram_sd is None else tuple(C.ravel().tolist()),
        )
        event = replace(draft, gamma=down((plan.mu_o / output_change(draft)) ** 2, ROOM))
        noisy = add_normal(C @ theta, 1 / math.sqrt(event.gamma), entropy)
        return Drawn(np.asarray(np.linalg.solve(C, noisy), dtype=np.float64), (event,))

    return once(session, moments.domain, draw)


def _noisy_gram(moments: Moments, design: tuple[str, ...], sd: float, entropy: Entropy) -> Floats:
    """X'X with noise of this sd on the diagonal and sd/sqrt 2 off it, in exact arithmetic."""
    X = np.array(moments.domain.indices(design))
    i, j = np.triu_indices(len(X), k=1)
    N = np.zeros((len(X), len(X)))
    for at, scale in (((np.arange(len(X)),) * 2, sd), ((i, j), sd / math.sqrt(2))):
        exact = moments.integers(X[at[0]], X[at[1]])
        noisy, exponent = add_rounded_normal(exact, math.ldexp(scale, 2 * LATTICE_BITS), entropy)
        N[at] = np.ldexp(noisy.astype(float), exponent - 2 * LATTICE_BITS)
    return np.triu(N) + np.triu(N, 1).T
