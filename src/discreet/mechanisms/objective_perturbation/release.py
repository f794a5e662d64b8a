"""Release of minimisers of perturbed objectives; proofs in docs/mathematics, 7.

The noise b is a real Gaussian (or spherical Laplace) vector, rounded. The solver stops where the gradient, with a bound
on its errors by floating point and by the rounding of b, is within the event's tolerance; so the result lies
within tolerance/lambda of the exact minimiser, and the noise on top of it hides that difference. It is rounded to a
grid. Whether that holds depends on public facts and on the values to be released, never on the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.arrays import SILENT, Floats
from discreet.data.rows import Rows
from discreet.errors import DataError, DiscreetError, GuaranteeError
from discreet.gate.entropy import NO_NOISE, Entropy
from discreet.gate.noise import add_normal, rounded_normal, spherical_laplace
from discreet.gate.once import Drawn, once
from discreet.gate.session import Session
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent, most_rows
from discreet.released.certificate import Certificate
from discreet.solve.newton import WeightedPenalty, minimise

_GRID_BITS = 36
"""The noise in the objective is rounded to 2^-36 of its sd."""

_ENOUGH = 64
"""With this many blocks of rows, the solver starts from the solution for one block in sixteen."""


@dataclass(frozen=True)
class Task:
    """One objective to minimise: the outcome of a row, the penalty, the noise, and a bound on |theta|."""

    label: Callable[[Floats], Floats]
    penalty: WeightedPenalty
    event: ObjectiveEvent
    radius: float | None = None


@dataclass(frozen=True)
class Stages:
    """Objectives to minimise; and further ones, given their minimisers, whose events were declared beforehand."""

    tasks: Sequence[Task]
    reserved: Sequence[ObjectiveEvent] = ()
    then: Callable[[list[Floats]], Sequence[Task]] | None = None


def release_minimisers(rows: Rows, stages: Stages, session: Session) -> tuple[Certificate, list[Floats]]:
    """Minimise perturbed objectives and certify the minimisers."""
    tasks, most = stages.tasks, most_rows(session.rows)
    if rows.count > most:
        raise DataError(TOO_MANY)
    check_moduli(tasks)

    def draw(entropy: Entropy) -> Drawn[list[Floats]]:
        thetas = [minimiser(rows, task, most, entropy) for task in tasks]
        if stages.then is None:
            return Drawn(thetas)
        more = list(stages.then(thetas))
        if [task.event.declared for task in more] != [event.declared for event in stages.reserved]:
            raise GuaranteeError("A later stage is not the one that was declared. This is a defect of discreet.")
        check_moduli(more)
        thetas += [minimiser(rows, task, most, entropy) for task in more]
        return Drawn(thetas, tuple(task.event for task in [*tasks, *more]))

    return once(session, rows.domain, draw, planned=[*(task.event for task in tasks), *stages.reserved])


def check_moduli(tasks: Sequence[Task]) -> None:
    """Refuse penalties that are less convex than their events say."""
    if not all(task.event.modulus <= task.penalty.modulus for task in tasks):
        raise GuaranteeError("The penalty is less convex than its event says. This is a defect of discreet.")


@np.errstate(**SILENT)
def minimiser(rows: Rows, task: Task, most: float, entropy: Entropy) -> Floats:
    """Compute one minimiser with its noise; `most` is the number of rows for which rounding errors are bounded."""
    event, penalty = task.event, task.penalty
    d = len(rows.design)
    b, error = _noise(event, d, entropy)
    error += _edge(task, most) + 2.0**-48 * (float(np.linalg.norm(b)) + event.tolerance)
    if not error <= event.tolerance / 8:
        raise DiscreetError("Rounding errors may exceed their bound, whatever the rows are. Nothing was released.")
    theta = np.zeros(d)
    for every in (16, 1) if rows.blocks >= _ENOUGH else (1,):

        def smooth(at: Floats, every: int = every) -> tuple[float, Floats, Floats]:
            sums = rows.sums(event.loss, at, task.label, every=every)
            return sums.value, sums.gradient, sums.hessian

        goal = event.tolerance / 4 if every == 1 else event.scale / 8
        theta, left = minimise(smooth, b, penalty, theta, goal, task.radius, rows.count * event.smoothness)
    largest = event.largest(most, float(penalty.quadratic.max()))
    if not left <= goal and float(np.linalg.norm(theta)) <= largest:  # a longer one is refused below
        raise DiscreetError(_NOT_REACHED)
    released = _hidden(theta, event, entropy)
    if not float(np.linalg.norm(released)) + _reach(event, d) <= largest:
        raise DataError(_TOO_LONG)
    return _sparse(released, event, penalty) if entropy is not NO_NOISE else released


def _edge(task: Task, most: float) -> float:
    """The error in the gradient from a norm that equals the radius up to rounding errors (docs/mathematics, 7.7)."""
    if task.radius is None:
        return 0.0
    steepest = most * task.event.smoothness + task.event.modulus
    relative = max(2.0**-48, (len(task.event.design) + 32) * 2.0**-54)
    return relative * task.radius * math.sqrt(task.event.modulus * steepest)


def _reach(event: ObjectiveEvent, d: int) -> float:
    """A bound on the noise on the result and the solver's error; exceeded with a probability below 1e-30."""
    longest = math.sqrt(d) + 12 if event.noise == "gaussian" else d + 12 * math.sqrt(d) + 72
    return event.output * longest + event.tolerance / event.modulus


def _sparse(theta: Floats, event: ObjectiveEvent, penalty: WeightedPenalty) -> Floats:
    """Set coefficients under an l1 norm to 0 where they are within the noise on the result."""
    sd = event.output * (1.0 if event.noise == "gaussian" else math.sqrt(len(theta) + 1))
    return np.where((penalty.l1 > 0) & (np.abs(theta) <= 8 * sd), 0.0, theta)


def _noise(event: ObjectiveEvent, d: int, entropy: Entropy) -> tuple[Floats, float]:
    """Draw the noise of the objective; return it with a bound on the norm of its rounding error."""
    if entropy is NO_NOISE:
        return np.zeros(d), 0.0
    if event.noise == "laplace":
        b, error = spherical_laplace(d, entropy)
        return event.scale * b, event.scale * error
    z = np.ldexp(rounded_normal(np.zeros(d), 2.0**_GRID_BITS, entropy).astype(float), -_GRID_BITS)
    return event.scale * z, event.scale * math.sqrt(d) * 2.0**-_GRID_BITS


def _hidden(theta: Floats, event: ObjectiveEvent, entropy: Entropy) -> Floats:
    """Add to theta the noise that hides the error of the solver, on a grid of 2^-30 of that noise."""
    grid = math.ldexp(1.0, math.frexp(event.output)[1] - 31)
    if entropy is NO_NOISE:
        return theta
    if event.noise == "laplace":
        released: Floats = np.rint((theta + event.output * spherical_laplace(len(theta), entropy)[0]) / grid) * grid
        return released
    return add_normal(theta, event.output, entropy)


TOO_MANY = (
    "The table has more than twice as many rows as rows= says, or more than 2^20 without rows=. The promise is "
    "about smaller tables: declare a larger public number. Nothing was released."
)
_NOT_REACHED = (
    "The solver did not reach the tolerance that this release declares. Nothing was released; what it cost is spent. "
    "This has not been seen: please report it."
)
_TOO_LONG = (
    "The coefficients that would be released are too large for the rounding errors that this release declares. Choose "
    "a larger alpha, or a smaller public rows= if there are fewer. Nothing was released."
)
