"""What released coefficients cost each row: posterior samples and output perturbation (mathematics.md, 10.3 and 10.4).

Their parts need the exact moments: theta_hat and H are private, and computed anew. Where earlier releases fixed the
penalty and the noise (AdaOPS, output perturbation), the loss is that of all stages with the noise that was used.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.core.rounding import up
from discreet.per_instance.exact import of_block
from discreet.per_instance.parts import Facts, Part, own_curve, parts_of
from discreet.per_instance.posterior_curve import PosteriorCurve
from discreet.per_instance.quadratic_loss import ROUNDED
from discreet.per_instance.stream import Rows
from discreet.privacy import gdp
from discreet.privacy.events.gaussian import Block
from discreet.privacy.events.output import OutputEvent, output_change, output_rounding
from discreet.privacy.events.posterior import BallEvent, PosteriorEvent, tolerance
from discreet.privacy.events.staged import AdaptiveEvent, StagedEvent, log_norm_change
from discreet.privacy.laws import Law, Point

Floats = NDArray[np.float64]

GIVEN = "for the penalty and the noise that followed from what was released before"
LEVELS = 256
"""Sizes of rows are rounded up to this many levels, where a part has no curve."""

ROUNDING = "noise that hides rounding errors"
REPLACED = "the certificate's own bound for everybody, through the table without the row"


@parts_of(PosteriorEvent, moments=lambda event: event.neighbors == "add-remove")
def posterior(event: PosteriorEvent, facts: Facts) -> list[Part]:
    """The exact curve of the row; what hides the rounding errors of this table is added as the certificate does."""
    if facts.replaces:
        return own_curve(event, facts, REPLACED)
    hidden = gdp.delta(2 * event.tolerance / event.output, event.spare)
    spare = min(event.spare, gdp.epsilon(2 * _tolerance(event, facts, event.penalty) / event.output, hidden))
    return [_draw(event, facts, PosteriorCurve(event.gamma, spare, hidden))]


@parts_of(AdaptiveEvent, moments=lambda event: event.neighbors == "add-remove")
def adaptive(event: AdaptiveEvent, facts: Facts) -> list[Part]:
    """The two releases, the sample, and what hides its rounding errors."""
    if facts.replaces:
        return own_curve(event, facts, REPLACED)
    rounding = (2 * _tolerance(event, facts, event.h) / event.output) ** 2
    return [
        *_stages(event, facts),
        _draw(event, facts, PosteriorCurve(event.gamma), f"{GIVEN}; {ROUNDED}"),
        Part(ROUNDING, lambda rows: rounding * rows.present, rounding),
    ]


@parts_of(BallEvent)
def in_ball(event: BallEvent, facts: Facts) -> list[Part]:
    """Pure epsilon: (|y| + |x| radius)^2 gamma/2 of the row, rounded up to one of some levels."""
    if facts.replaces:
        return own_curve(event, facts)
    X, y = facts.domain.indices(event.design), facts.domain.indices([event.target])[0]
    sizes = (event.outcome + event.norm * event.radius) * np.arange(1, LEVELS + 1) / LEVELS
    laws: tuple[Law, ...] = (Point(0.0), *(Point(up(event.gamma * size**2 / 2)) for size in sizes.tolist()))

    def level(rows: Rows) -> Floats:
        size = np.abs(rows.Z[:, y]) + np.sqrt(rows.norm2(X)) * event.radius
        places = np.searchsorted(sizes, size * (1 - 2.0**-44)) + 1.0
        return np.where(size > 0, np.minimum(places, LEVELS), 0.0)

    note = "a bound from the norm of the row: the sum over the ball has no closed form"
    return [Part(event.name, level, note=note, laws=laws)]


def _tolerance(event: PosteriorEvent | AdaptiveEvent, facts: Facts, h: float) -> float:
    """A bound on the rounding errors of the draw for this table and its neighbours, instead of for every table."""
    fit, d, B = facts.ridge(event.design, event.target, event.penalty), len(event.design), event.norm
    h = max(h, float(fit.values[0]) + event.penalty - (0.0 if facts.adding else B**2))
    size = float(np.linalg.norm(fit.theta))
    moved = B / h * (event.outcome + B * size)
    return min(event.tolerance, tolerance(d, float(np.trace(fit.H)) + B**2, h, size + moved, event.gamma))


@parts_of(OutputEvent, moments=lambda event: event.neighbors == "add-remove")
def output(event: OutputEvent, facts: Facts) -> list[Part]:
    """The two releases, X'X where it was released, and the coefficients: mu = sqrt(gamma) |theta - theta_-i|_A."""
    if facts.replaces:
        return own_curve(event, facts, REPLACED)
    d, found = len(event.design), _stages(event, facts)
    C = np.reshape(event.root, (d, d)) if event.root else np.eye(d)
    A, error = C.T @ C, output_rounding(event)
    if event.gram_sd is not None:
        found.append(of_block(Block("gram", event.design, (), event.gram_sd), facts))

    def cost(rows: Rows) -> Floats:
        moved = facts.leave_one_out(rows, event.design, event.target, event.penalty, A).shift
        return event.gamma * (moved + error * rows.present) ** 2

    return [*found, Part("coefficients", cost, event.gamma * output_change(event) ** 2, given=GIVEN)]


def _draw(event: PosteriorEvent | AdaptiveEvent, facts: Facts, curve: PosteriorCurve, given: str = "") -> Part:
    """The posterior sample: m and r of each row, without it; the worst is the longest row with the largest residual."""
    fit = facts.ridge(event.design, event.target, event.penalty)
    B, Y = event.norm, event.outcome
    corner = np.array([B**2 / (fit.values[0] + event.penalty), Y + B * float(np.linalg.norm(fit.theta))])

    def cost(rows: Rows) -> Floats:
        found = facts.leave_one_out(rows, event.design, event.target, event.penalty)
        return np.stack([found.leverage, found.residual])

    return Part("posterior sample", cost, corner, given=given, curve=curve)


def _stages(event: StagedEvent, facts: Facts) -> list[Part]:
    """The least eigenvalue, and log(Y + B |theta|) where it was released."""
    found = [of_block(Block("eigenvalue", event.design, (), event.eigenvalue_sd), facts)]
    if event.norm_sd is None:
        return found
    B, Y, sd = event.norm, event.outcome, event.norm_sd
    worst = log_norm_change(event)
    error = worst - math.log1p(B**2 / event.h)

    def cost(rows: Rows) -> Floats:
        one = facts.leave_one_out(rows, event.design, event.target, event.penalty)
        moved = np.abs(np.log((Y + B * one.coef_norm_with) / (Y + B * one.coef_norm_without)))
        return ((moved + error * rows.present) / sd) ** 2

    return [*found, Part("log norm of the coefficients", cost, (worst / sd) ** 2, given=GIVEN)]
