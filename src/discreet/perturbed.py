"""The second gate: minimisers of perturbed objectives. It sees rows and noise together; proofs in mathematics.md, 7.

The noise b is a real Gaussian (or spherical Laplace) vector, rounded. The solver stops where the gradient, with all
that floating point and the rounding of b may have done to it, is within the event's tolerance; so the result lies
within tolerance/lambda of the exact minimiser, and the noise on top of it hides that difference. It is rounded to a
grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, GuaranteeError
from discreet.issuing import Release
from discreet.laplace import spherical_laplace
from discreet.noise import add_normal
from discreet.privacy.certificate import Certificate
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.objective import ObjectiveEvent
from discreet.randomness import NO_NOISE, Entropy, rounded_normal
from discreet.rows import Rows
from discreet.solve.newton import Penalty, minimise

Floats = NDArray[np.float64]

_GRID_BITS = 36
"""The noise in the objective is rounded to 2^-36 of its sd."""

_ENOUGH = 64
"""With this many blocks of rows, the solver starts from the solution for one block in sixteen."""


@dataclass(frozen=True)
class Task:
    """One objective to minimise: what the outcome of a row is, the penalty, the noise, and a bound on |theta|."""

    label: Callable[[Floats], Floats]
    penalty: Penalty
    event: ObjectiveEvent
    radius: float | None = None


def release_minimisers(
    rows: Rows,
    tasks: Sequence[Task],
    promise: Guarantee,
    method: str,
    public_rows: int | None,
    random_state: object,
    then: Callable[[list[Floats]], Sequence[Task]] | None = None,
    reserved: Sequence[ObjectiveEvent] = (),
) -> tuple[Certificate, list[Floats]]:
    """Minimise perturbed objectives and certify the minimisers.

    Parameters
    ----------
    rows, tasks : Rows, sequence of Task
        The private rows, and what to minimise.
    promise, method, public_rows, random_state
        As for other releases.
    then, reserved : callable, sequence of ObjectiveEvent
        Further tasks that depend on the minimisers so far; each event must keep what that of `reserved` declares.
    """
    release = Release.begin(promise, method, public_rows, random_state)
    certificate = release.certify(rows.domain, *(task.event for task in tasks), *reserved)
    release.charge(epsilon=max(promise.epsilon, certificate.epsilon))
    thetas = [_release(rows, task, release.source) for task in tasks]
    if then is None:
        return certificate, thetas
    more = list(then(thetas))
    if [task.event.declared for task in more] != [event.declared for event in reserved]:
        raise GuaranteeError("A later stage is not the one that was declared. This is a defect of discreet.")
    certificate = release.certify(rows.domain, *(task.event for task in [*tasks, *more]))
    return certificate, thetas + [_release(rows, task, release.source) for task in more]


def _release(rows: Rows, task: Task, source: Entropy) -> Floats:
    event, penalty = task.event, task.penalty
    if not event.modulus <= penalty.modulus:
        raise GuaranteeError("The penalty is less convex than its event says. This is a defect of discreet.")
    d = len(rows.design)
    b, error = _noise(event, d, source)
    theta = np.zeros(d)
    for every in (16, 1) if rows.blocks >= _ENOUGH else (1,):

        def smooth(at: Floats, every: int = every) -> tuple[float, Floats, Floats]:
            sums = rows.sums(event.loss, at, task.label, every=every)
            return sums.value, sums.gradient, sums.hessian

        goal = event.tolerance / 2 if every == 1 else event.scale / 8
        theta, residual = minimise(smooth, b, penalty, theta, goal, task.radius)
    size = float(np.linalg.norm(theta))
    error += rows.rounding(event.loss, event.norm, size)
    error += 2.0**-48 * (float(np.linalg.norm(b)) + float(penalty.quadratic.max()) * size + residual)
    if not residual + error <= event.tolerance:
        raise DataError(
            "The table is too large, or the coefficients are, for the tolerance that this release declares: rounding "
            "errors may exceed it. Declare a larger public number with rows=, or a larger alpha. Nothing was released."
        )
    released = _hidden(theta, event, source)
    return _sparse(released, event, penalty) if source is not NO_NOISE else released


def _sparse(theta: Floats, event: ObjectiveEvent, penalty: Penalty) -> Floats:
    """Coefficients under an l1 norm that are within the noise on the result are zeros of the minimiser: say so."""
    sd = event.output * (1.0 if event.noise == "gaussian" else math.sqrt(len(theta) + 1))
    return np.where((penalty.l1 > 0) & (np.abs(theta) <= 8 * sd), 0.0, theta)


def _noise(event: ObjectiveEvent, d: int, source: Entropy) -> tuple[Floats, float]:
    """The noise of the objective, and a bound on the norm of its rounding error."""
    if source is NO_NOISE:
        return np.zeros(d), 0.0
    if event.noise == "laplace":
        b, error = spherical_laplace(d, source)
        return event.scale * b, event.scale * error
    z = np.ldexp(rounded_normal(np.zeros(d), 2.0**_GRID_BITS, source).astype(float), -_GRID_BITS)
    return event.scale * z, event.scale * math.sqrt(d) * 2.0**-_GRID_BITS


def _hidden(theta: Floats, event: ObjectiveEvent, source: Entropy) -> Floats:
    """Theta with the noise that hides where the solver stopped, rounded to a grid of 2^-30 of that noise."""
    grid = math.ldexp(1.0, math.frexp(event.output)[1] - 31)
    if source is NO_NOISE:
        return theta
    if event.noise == "laplace":
        released: Floats = np.rint((theta + event.output * spherical_laplace(len(theta), source)[0]) / grid) * grid
        return released
    return add_normal(theta, event.output, source)
