"""The gate of generalised linear models in private coordinates: scouts, perturbed objectives, and standard errors.

A few Gaussian releases, whose mu is fixed beforehand, find coordinates in which the table is round. There objectives
are perturbed whose noise was fixed beforehand, too, in units of these coordinates; and a last Gaussian release at the
minimisers tells how sure they are. Mathematics in ``docs/mathematics.md``, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.rounding import down, up
from discreet.data.counts import Margins
from discreet.data.reading import Unread
from discreet.data.stages import Readings
from discreet.data.turned import TurnedRows
from discreet.domain.coordinates import Coordinates
from discreet.domain.linked import Linked, Mean
from discreet.errors import DataError
from discreet.gate.coordinates import stage_blocks
from discreet.gate.objective import TOO_MANY, Task, check_moduli, minimiser
from discreet.gate.session import Session, check_rows
from discreet.gate.stages import Covariance
from discreet.gate.steps import ROWS, Steps, columns, number_of_rows
from discreet.privacy import sensitivity
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.gaussian import GaussianEvent, Statistic
from discreet.privacy.events.objective import Calibration, most_rows
from discreet.released.grids import GridValues
from discreet.released.scouting import Scouting, number_of_stages, penalties
from discreet.released.solve.newton import Penalty

Label = Callable[[Floats], Floats]

Stages = int | Literal["auto"]

MOST_STAGES = 3

COLUMNS, PRODUCTS = 0.03, 0.1
"""The shares of mu^2 that tell where the columns lie, and their products; without products columns have both."""

ERRORS = 0.12
"""The share of mu^2 that standard errors get."""

_LENGTHS: Mapping[Statistic, float] = {"lengths": 0.1, "gram": 0.9}
_SURE: dict[bool, Mapping[Statistic, float]] = {True: {"information": 0.6, "meat": 0.4}, False: {"information": 1.0}}
"""How the mu^2 of standard errors is split, robust ones or classical ones."""

_ROOM = 1e-7
"""The objective leaves room for this share more of mu than Gaussian releases are meant to cost: rounding errors."""


@dataclass(frozen=True)
class Family:
    """What is fitted.

    Parameters
    ----------
    calibration : Calibration
        The loss and the promise, for rows that are turned: see `turned_norm`.
    column : str
        The outcome's column.
    labels : sequence of callable
        For each linear predictor, from the outcome's column to what the loss takes.
    link : {"logit", "log"}, optional
        Of the last release, which tells standard errors; without one there is none.
    outcomes : tuple of str
        For each linear predictor the coordinate that the last release takes residuals of.
    """

    calibration: Calibration
    column: str
    labels: Sequence[Label]
    link: Mean | None = None
    outcomes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Minimisers:
    """What was released: the certificate, the noisy values of its Gaussian events, and the minimisers.

    Parameters
    ----------
    certificate, values : Certificate, tuple
        As of `ReleasedMoments`.
    thetas : list of array
        Coefficients of the design for each linear predictor.
    """

    certificate: Certificate
    values: tuple[tuple[GridValues, ...], ...]
    thetas: list[Floats]


def turned_norm(design: Sequence[str]) -> float:
    """The norm that no row exceeds in coordinates of a stage, as many as there are columns."""
    plain = _plain(design)
    return sensitivity.norm(plain.axes, plain)


def _plain(design: Sequence[str]) -> Coordinates:
    d = len(design)
    return Coordinates.rounded(design, [], np.eye(d), np.zeros((d, 0)), 1.0, [])


def release_scouted(
    table: Unread, family: Family, stages: Stages, covariance: Covariance, session: Session
) -> Minimisers:
    """Release the minimisers of perturbed objectives in private coordinates.

    Parameters
    ----------
    table : Unread
        The rows, which can be read again.
    family : Family
        What is fitted.
    stages : {2, 3, "auto"}
        Whether products of columns are scouted before the model; "auto" decides by the released number of rows.
    covariance : {"auto", "robust", "classical"}
        Whether standard errors hold where the model does not describe the variances.
    session : Session
        It is charged with all of it.
    """
    readings, calibration, count = Readings.of(table), family.calibration, len(family.labels)
    _, margins = readings.light([])
    check_rows(margins.count)
    most = most_rows(session.rows)
    if margins.count > most:
        raise DataError(TOO_MANY)
    mu = down(session.mu * math.sqrt(_gaussian(session, family)))
    modulus = calibration.least_modulus(count)
    noise = calibration.calibrate(modulus, count, [GaussianEvent(up(mu, _ROOM), ())])
    entropy = session.charge(table.domain, epsilon=session.promise.epsilon)
    steps = Steps(table.domain, session, mu, entropy)
    coordinates, n = _scouted(steps, readings, margins, calibration.design, stages, last=family.link is None)
    event = replace(noise, coordinates=coordinates)
    rows = TurnedRows(table, coordinates, family.column)
    penalty = Penalty(penalties(event, n), np.zeros(len(event.design)))
    tasks = [Task(label, penalty, event) for label in family.labels]
    check_moduli(tasks)
    gammas = [minimiser(rows, task, most, entropy) for task in tasks]
    thetas = [coordinates.P.floats @ gamma / coordinates.radius for gamma in gammas]
    events = [*steps.events, *(task.event for task in tasks)]
    if family.link is not None:
        _sure(steps, readings, family, coordinates, thetas, robust=covariance != "classical")
        events.append(steps.events[-1])
    certificate = session.commit(session.certify(table.domain, *events))
    return Minimisers(certificate, tuple(steps.values), thetas)


def _gaussian(session: Session, family: Family) -> float:
    """The share of mu^2 of all Gaussian releases."""
    rows = ROWS if session.rows is None else 0.0
    return rows + COLUMNS + PRODUCTS + (0.0 if family.link is None else ERRORS)


def _scouted(
    steps: Steps, readings: Readings, margins: Margins, design: tuple[str, ...], stages: Stages, *, last: bool
) -> tuple[Coordinates, float]:
    """The coordinates of the model and the number of rows; `last`: whether no Gaussian release comes after."""
    session = steps.session
    n = max(float(session.rows) if session.rows else number_of_rows(steps, margins)[0], 1.0)
    count = number_of_stages(n * session.mu, len(design)) if stages == "auto" else stages
    if count == 2:
        share = steps.left() if last else steps.share(COLUMNS + PRODUCTS)
        return Scouting(design, n, session.mu, columns(steps, margins, design, n, share)).final(None), n
    course = Scouting(design, n, session.mu, columns(steps, margins, design, n, steps.share(COLUMNS)))
    scout = course.scout()
    blocks = stage_blocks(scout, _LENGTHS, session.promise.neighbors, steps.left() if last else steps.share(PRODUCTS))
    return course.final(steps.add_stage(readings.staged(scout), blocks)), n


def _sure(
    steps: Steps, readings: Readings, family: Family, coordinates: Coordinates, thetas: list[Floats], *, robust: bool
) -> None:
    """Release what standard errors need, at the minimisers."""
    assert family.link is not None
    widths, theta = [[1.0]] * len(family.outcomes), np.column_stack(thetas)
    stage = Linked.at(coordinates, family.outcomes, theta, widths, family.link)
    blocks = stage_blocks(stage, _SURE[robust], steps.session.promise.neighbors, steps.left())
    steps.add_stage(readings.staged(stage), blocks, meat=partial(readings.meat, stage))
