"""Release of posterior samples: coefficients drawn from exact moments; proofs in docs/mathematics, 8.

Ridge coefficients, norms, eigenvalues and draws are computed in floating point. Each is released with noise that hides
the bound on its rounding error which its event lists; here that bound is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.core.arrays import SILENT, Floats
from discreet.core.checks import Neighbors
from discreet.core.rounding import ROOM, down, up
from discreet.data.moments import Moments
from discreet.errors import DataError
from discreet.gate.entropy import Entropy
from discreet.gate.noise import NORMAL_BITS, add_normal, normals
from discreet.gate.once import Drawn, once
from discreet.gate.session import Session, check_rows
from discreet.mechanisms.posterior_sampling.adaptive_event import AdaptiveEvent, AdaptivePlan, norm_change
from discreet.mechanisms.posterior_sampling.ball_release import Ball, Proposal
from discreet.mechanisms.posterior_sampling.event import (
    ROWS,
    BallEvent,
    PosteriorEvent,
    PrintedEvent,
    relative,
    tolerance,
    trace_bound,
)
from discreet.released.certificate import Certificate
from discreet.statistics.eigenvalue import MAX_ROWS

_UNIT = 2.0**-53


class BoundedRidge:
    """Ridge coefficients of exact moments, with rounding errors bounded; **confidential**.

    A table with more rows than declared, or than 2^24, is refused.
    """

    def __init__(self, moments: Moments, design: tuple[str, ...], target: str, rows: float | None) -> None:
        self.moments, self.rows, self.d = moments, rows, len(design)
        self.places = [*moments.domain.indices(design), *moments.domain.indices([target])]
        check_rows(moments.count, rows)
        if moments.count > min(MAX_ROWS, ROWS if rows is None else math.inf):
            raise DataError(_ROUNDING)
        S = moments.floats(self.places)
        self.S, self.b = S[:-1, :-1], S[:-1, -1]

    def __repr__(self) -> str:
        return f"BoundedRidge({self.d} coordinates, confidential)"

    def least_eigenvalue(self) -> float:
        """The least eigenvalue of X'X, in floating point."""
        return float(np.linalg.eigvalsh(self.S)[0])

    def coefficients(self, lambda_: float, B: float, h: float) -> Floats:
        """The coefficients theta_lambda, within a relative error of `relative`."""
        return self._solve(lambda_, B, h, np.zeros(self.d), 1.0)[0]

    def draw(self, lambda_: float, B: float, h: float, gamma: float, tolerance: float, entropy: Entropy) -> Floats:
        """Draw theta ~ N(theta_lambda, H^-1/gamma), within `tolerance` of a real draw; H >= h I."""
        theta, error = self._solve(lambda_, B, h, normals(self.d, entropy), gamma)
        if not error <= tolerance:
            raise DataError(_ROUNDING)
        return theta

    def _solve(self, lambda_: float, B: float, h: float, z: Floats, gamma: float) -> tuple[Floats, float]:
        """Solve H^-1 (b + L z/sqrt gamma), with a bound on the error (docs/mathematics, 8.7)."""
        H, d = self.S + lambda_ * np.eye(self.d), self.d
        t = float(np.trace(H))
        if not t <= up(trace_bound(d, B, lambda_, self.rows)):
            raise DataError(_ROUNDING)
        try:
            L = np.tril(cho_factor(H, lower=True)[0])
        except np.linalg.LinAlgError:
            raise DataError(_ROUNDING) from None
        w = L @ z / math.sqrt(gamma)
        s = self.b + w
        theta = cho_solve((L, True), s)
        left = float(np.linalg.norm(s - H @ theta))
        sizes = [float(np.linalg.norm(v)) for v in (self.b, w, s, theta, z)]
        solver = left + 2 * (d + 6) * _UNIT * (sum(sizes[:3]) + t * sizes[3])
        spread = 1 / math.sqrt(gamma * h)
        factor = 4 * (d + 7) * _UNIT * t / h * sizes[4] + math.sqrt(d) * 2.0 ** -(NORMAL_BITS + 1)
        if not solver / h <= relative(d, t, h) / 4 * (sizes[3] + sizes[0] / t + sizes[4] * spread):
            raise DataError(_ROUNDING)
        return theta, 1.5 * (solver / h + factor * spread)


@np.errstate(**SILENT)
def release_posterior(moments: Moments, event: PosteriorEvent, session: Session) -> tuple[Certificate, Floats]:
    """Release one posterior sample with a penalty and a precision from public facts."""
    ridge = BoundedRidge(moments, event.design, event.target, event.rows)

    def draw(entropy: Entropy) -> Drawn[Floats]:
        lambda_, gamma, error = event.penalty, event.gamma, event.tolerance
        return Drawn(add_normal(ridge.draw(lambda_, event.norm, lambda_, gamma, error, entropy), event.output, entropy))

    return once(session, moments.domain, draw, planned=[event])


@np.errstate(**SILENT)
def release_in_ball(moments: Moments, event: BallEvent, session: Session) -> tuple[Certificate, Floats]:
    """Release one posterior sample among the lattice points of a ball, exactly."""
    check_rows(moments.count)
    S, b = moments.equations(event.design, event.target)
    ready = Proposal(Ball(S, b, event.gamma, event.penalty, event.radius))

    def draw(entropy: Entropy) -> Drawn[Floats]:
        return Drawn(ready.draw(entropy))

    return once(session, moments.domain, draw, planned=[event])


@dataclass(frozen=True)
class StagedSubject:
    """The subject of a staged release: regressors, outcome, and the facts that an event lists about them."""

    design: tuple[str, ...]
    target: str
    norm: float
    outcome: float
    neighbors: Neighbors
    rows: float | None

    def facts(self, *, rows: bool = True) -> dict[str, Any]:
        """Keyword arguments for an event, which may not list the number of rows."""
        return {name: value for name, value in asdict(self).items() if rows or name != "rows"}


@np.errstate(**SILENT)
def release_adaptive(
    moments: Moments, subject: StagedSubject, plan: AdaptivePlan, mu_out: float, session: Session
) -> tuple[Certificate, Floats]:
    """Run AdaOPS: release the least eigenvalue, the norm of the coefficients, and a posterior sample."""
    ridge = BoundedRidge(moments, subject.design, subject.target, subject.rows)

    def draw(entropy: Entropy) -> Drawn[Floats]:
        B, d = plan.B, plan.d
        eigenvalue = float(add_normal(ridge.least_eigenvalue(), plan.s1, entropy))
        chosen = plan.penalty(eigenvalue)
        s = norm_change(d, B, chosen.lambda_, chosen.h, subject.rows)
        chosen = replace(chosen, s=s, s2=s / plan.mu2 if plan.mu2 else 0.0)
        log_norm = None
        if plan.mu2:
            theta = ridge.coefficients(chosen.lambda_, B, chosen.h)
            log_norm = float(add_normal(math.log(plan.Y + B * float(np.linalg.norm(theta))), chosen.s2, entropy))
        R = plan.residual_bound(chosen, log_norm)
        gamma = down(plan.precision(chosen, R), ROOM)
        error = tolerance(d, trace_bound(d, B, chosen.lambda_, subject.rows), chosen.h, R / B, gamma)
        output = up(2 * error / mu_out, ROOM)
        event = AdaptiveEvent(
            **subject.facts(),
            eigenvalue=eigenvalue,
            eigenvalue_sd=plan.s1,
            eigenvalue_change=plan.eigenvalue_sensitivity,
            log_norm=log_norm,
            norm_sd=chosen.s2 or None,
            penalty=chosen.lambda_,
            residual=R,
            gamma=gamma,
            failures=(plan.delta_a, plan.delta_b, plan.delta_o),
            draw=plan.mu_o,
            tolerance=error,
            output=output,
        )
        theta = add_normal(ridge.draw(chosen.lambda_, B, chosen.h, gamma, error, entropy), output, entropy)
        return Drawn(theta, (event,))

    return once(session, moments.domain, draw)


@dataclass(frozen=True)
class Printed:
    """The stages of OPS or AdaOPS as a paper prints them, as functions of what was released before.

    `eigenvalue_sd` is the noise on the least eigenvalue, None where it is not released; `penalty` gives lambda and h
    from the released eigenvalue; `norm_sd` the noise on log(Y + B norm(theta)) from h, or None; `gamma` the precision
    from h and that release. With `code` the stages are those of wang2018's code: X'X + I stands
    for X'X, and the draw has covariance (R R')^-1/gamma, H = R'R, for H^-1/gamma (E25).
    """

    eigenvalue_sd: float | None
    penalty: Callable[[float], tuple[float, float]]
    norm_sd: Callable[[float], float] | None
    gamma: Callable[[float, float], float]
    code: bool = False


@np.errstate(**SILENT)
def release_printed(
    moments: Moments, subject: StagedSubject, stages: Printed, session: Session
) -> tuple[Certificate, Floats]:
    """Release by OPS or AdaOPS with a paper's constants: a draw in floating point, without any promise."""
    ridge = BoundedRidge(moments, subject.design, subject.target, subject.rows)

    def draw(entropy: Entropy) -> Drawn[Floats]:
        extra, eigenvalue = 1.0 if stages.code else 0.0, 0.0
        if stages.eigenvalue_sd is not None:
            eigenvalue = float(add_normal(ridge.least_eigenvalue() + extra, stages.eigenvalue_sd, entropy))
        lambda_, h = stages.penalty(eigenvalue)
        lambda_ += extra
        floor = max(lambda_ + max(ridge.least_eigenvalue(), 0.0), 1e-9)
        log_norm, sd = 0.0, None
        if stages.norm_sd is not None:
            sd = stages.norm_sd(h)
            size = float(np.linalg.norm(ridge.coefficients(lambda_, subject.norm, floor)))
            log_norm = float(add_normal(math.log(subject.outcome + subject.norm * size), sd, entropy))
        gamma = stages.gamma(h, log_norm)
        facts = subject.facts(rows=False)
        event = PrintedEvent(**facts, eigenvalue_sd=stages.eigenvalue_sd, norm_sd=sd, penalty=lambda_, gamma=gamma)
        if stages.code:
            theta = ridge.coefficients(lambda_, subject.norm, floor)
            L = np.linalg.cholesky(ridge.S + lambda_ * np.eye(ridge.d))
            theta += np.linalg.solve(L, normals(ridge.d, entropy)) / math.sqrt(gamma)
        else:
            theta = ridge.draw(lambda_, subject.norm, floor, gamma, math.inf, entropy)
        return Drawn(theta, (event,))

    return once(session, moments.domain, draw, epsilon=math.inf)


_ROUNDING = (
    "The table is too large for the rounding errors that this release declares. Declare the largest number of rows "
    "there can be, with rows=. Nothing was released."
)
