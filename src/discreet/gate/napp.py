"""The gate of NAPP-ERM as published: it sees rows and noise together, and promises nothing of its own (E10 to E13)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.data.rows import Rows
from discreet.gate.session import Release
from discreet.papers.napp.algorithm import Losses, Plan, Recycled, Squares, recycle
from discreet.papers.napp.augmented import Part
from discreet.papers.napp.noise import draw, generator
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.napp import NappEvent, noise_scale
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.losses import Loss

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """What is asked of one release.

    Parameters
    ----------
    plan : Plan
        For algorithm 1.
    event : NappEvent
        What the certificate lists; `retrieved` is filled in.
    losses : (Loss, Loss), optional
        Of the rows, and of augmented ones; None for least squares.
    label : callable
        What the outcome of a row is.
    retrieval : {None, "return", "recycle"}
        What becomes of the budget that algorithm 2 retrieves.
    """

    plan: Plan
    event: NappEvent
    losses: tuple[Loss, Loss] | None
    label: Callable[[Floats], Floats]
    retrieval: str | None


def release_napp(
    rows: Rows, task: Task, promise: Guarantee, method: str, public_rows: int | None, random_state: object
) -> tuple[Certificate, Floats, Recycled]:
    """Run algorithm 1, or 2; certify and return the coefficients. The runs are confidential."""
    release = Release.begin(promise, method, public_rows, random_state)
    plan, event, source = task.plan, task.event, release.source
    release.charge(epsilon=math.inf)
    epsilon, delta = release.promise.epsilon, release.promise.delta
    truncation = 0.0 if event.selection == "VS+" else event.truncation
    b = draw(len(rows.design), event.scale, event.noise, truncation, source)

    def rescale(more: float) -> float:
        return noise_scale(event.gradient, event.share * epsilon + more, delta) / event.scale

    budget = 0.0 if task.retrieval is None else (1 - event.share) * epsilon
    rounds = event.rounds if task.retrieval == "recycle" else 0
    found = recycle(
        _data(rows, task), task.losses and task.losses[1], plan, b, generator(source), budget, rounds, rescale
    )
    retrieved = found.retrieved[-1] if found.retrieved else 0.0
    if task.retrieval == "return":
        release = replace(release, promise=replace(release.promise, epsilon=epsilon - retrieved))
    certificate = release.certify(rows.domain, replace(event, retrieved=retrieved))
    return certificate, found.run.coefficients(plan), found


def _data(rows: Rows, task: Task) -> Part:
    if task.losses is None:
        sums = rows.each(lambda X, y: (X.T @ X, X.T @ task.label(y), float(task.label(y) @ task.label(y))))
        S, v, s = (sum(part) for part in zip(*sums, strict=True))
        return Squares(S, v, s)
    X, y = zip(*rows.each(lambda X, y: (X, task.label(y))), strict=True)
    return Losses(np.concatenate(X), np.concatenate(y), task.losses[0])
