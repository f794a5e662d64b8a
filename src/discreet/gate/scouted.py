"""The gate of generalised linear models in private coordinates: scouts, perturbed objectives, and standard errors.

A few Gaussian releases, whose mu is fixed beforehand, find coordinates in which the table is round. There objectives
are perturbed whose noise was fixed beforehand, too, in units of these coordinates; and a last Gaussian release at the
minimisers tells how sure they are. Mathematics in ``docs/mathematics``, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.rounding import down, up
from discreet.data.counts import Histogram, Margins
from discreet.data.reading import Unread
from discreet.data.stages import Readings
from discreet.data.turned import TurnedRows
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.domain.linked import Linked, Mean
from discreet.errors import DataError
from discreet.gate.coordinates import stage_blocks
from discreet.gate.moments import Want, exact_blocks
from discreet.gate.objective import TOO_MANY, Task, check_moduli, minimiser
from discreet.gate.session import Session, check_rows
from discreet.gate.stages import Covariance
from discreet.gate.steps import ROWS, Steps, columns, counted, number_of_rows
from discreet.privacy import sensitivity
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.privacy.events.objective import Calibration, ObjectiveEvent, most_rows
from discreet.privacy.losses import Poisson
from discreet.released.course import quiet_place
from discreet.released.grids import GridValues
from discreet.released.prior import Prior, prior
from discreet.released.scouting import (
    Lead,
    Scale,
    Scouting,
    clipped_share,
    count_scale,
    is_few,
    is_wide,
    mean_exposure,
    number_of_stages,
    residual_widths,
)
from discreet.released.solve.newton import Penalty
from discreet.released.solve.sizes import count_law, count_span

Label = Callable[[Floats], Floats]

Stages = int | Literal["auto"]

MOST_STAGES = 3

COLUMNS, PRODUCTS, WITH_LINE, ALONE = 0.03, 0.1, 0.16, 0.05
"""The shares of mu^2 that tell where the columns lie; their products, and those with a class as well; and that of the
columns where products are not scouted."""

COUNTS = 0.08
"""The share of mu^2 that tells where a count lies, half of it for each of two levels."""

ERRORS: dict[Mean, float] = {"logit": 0.12, "log": 0.62}
"""The share of mu^2 of the last release, at the model: of counts it tells a better model, too."""

_RAISED = {"columns": (25.0, 0.1), "counts": (12.0, 0.25), "products": (15.0, 0.2)}
"""Where rows are few shares are raised at the cost of the last release: to the first of these over n mu, at most to the
second; that of products for counts only."""

_LENGTHS: Mapping[str, float] = {"lengths": 0.1, "gram": 0.9}
_LINE: Mapping[str, float] = {"lengths": 0.06, "gram": 0.56, "cross": 0.38}
"""How the mu^2 of the scout is split, without and with a line for a class."""

_SPLITS: dict[Mean, Mapping[str, float]] = {
    "logit": {"information": 0.6, "meat": 0.4},
    "log": {"counts": 0.06, "information": 0.24, "cross": 0.55, "meat": 0.15},
}
_FEW_ROWS: Mapping[str, float] = {"counts": 0.02, "information": 0.1, "cross": 0.87, "meat": 0.01}
"""How the mu^2 of the last release is split, and that of counts where rows are few: there standard errors are not told
anyway. Classical ones have no meat."""

_CURVATURE = 0.015
"""The share of epsilon that curvature may cost where counts are modelled."""

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
    exposure : str, optional
        Of counts, the column whose logarithm is added to the predictor.
    """

    calibration: Calibration
    column: str
    labels: Sequence[Label]
    link: Mean | None = None
    outcomes: tuple[str, ...] = ()
    exposure: str | None = None


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
        Whether products of columns are scouted before the model; "auto" decides by the number of rows.
    covariance : {"auto", "robust", "classical"}
        Whether standard errors hold where the model does not describe the variances. "auto" has none of classes where
        the table is wide.
    session : Session
        It is charged with all of it.
    """
    readings, count = Readings.of(table), len(family.labels)
    histograms, margins = readings.light([family.column] if family.link == "log" else [])
    check_rows(margins.count)
    most = most_rows(session.rows)
    if margins.count > most:
        raise DataError(TOO_MANY)
    shares = _shares(family, stages, covariance, session)
    mu = down(session.mu * math.sqrt(math.fsum(shares.values())))
    noise = _noise(family.calibration, count, mu)
    entropy = session.charge(table.domain, epsilon=session.promise.epsilon)
    steps = Steps(table.domain, session, mu, entropy)
    scouted = _scouted(steps, readings, (histograms, margins), family, shares)
    event = _event(noise, family.calibration, scouted)
    progress = table.progress if callable(table.progress) else None
    rows = TurnedRows(table, scouted.coordinates, family.column, exposure=family.exposure, progress=progress)
    if rows.count > most:  # where there were fewer when the columns were read
        raise DataError(TOO_MANY)
    penalty = Penalty(scouted.prior.penalties(event, scouted.rows), np.zeros(len(event.design)))
    tasks = [Task(label, penalty, event, centre=scouted.prior.centre) for label in family.labels]
    check_moduli(tasks)
    gammas = [minimiser(rows, task, most, entropy) for task in tasks]
    thetas = [scouted.coordinates.P.floats @ gamma / scouted.coordinates.radius for gamma in gammas]
    events = [*steps.events, *(task.event for task in tasks)]
    if shares["errors"] > 0:
        _at_model(steps, readings, family, scouted, thetas, robust=covariance != "classical")
        events.append(steps.events[-1])
    certificate = session.commit(session.certify(table.domain, *events))
    return Minimisers(certificate, tuple(steps.values), thetas)


class _Scouted(NamedTuple):
    """What scouts found: coordinates, the number of rows, of counts their size, and where the model is expected."""

    coordinates: Coordinates
    rows: float
    scale: Scale | None
    prior: Prior


def _shares(family: Family, stages: Stages, covariance: Covariance, session: Session) -> dict[str, float]:
    """The shares of mu^2 of all Gaussian releases, from public facts alone: products of None are decided later."""
    q, n = len(family.calibration.design), session.rows
    wide = is_wide(q)
    undecided = stages == "auto" and n is None and not wide
    three = stages == 3 or (stages == "auto" and n is not None and number_of_stages(n * session.mu, q) == 3)
    sure = family.link is not None and (family.link == "log" or covariance != "auto" or not wide)
    return {
        "rows": ROWS if n is None else 0.0,
        "exposure": 0.0 if family.exposure is None else ROWS,
        "counts": COUNTS if family.link == "log" else 0.0,
        "columns": COLUMNS if undecided or three else ALONE,
        "products": (WITH_LINE if _leads(family) else PRODUCTS) if undecided or three else 0.0,
        "errors": ERRORS[family.link] if family.link is not None and sure else 0.0,
    }


def _raised(shares: Mapping[str, float], n_mu: float, family: Family) -> dict[str, float]:
    """The shares for so many rows times mu, those of the first releases raised at the cost of the last one."""
    if shares["errors"] == 0:
        return dict(shares)
    counts = family.link == "log"
    apply = {"columns": True, "counts": counts, "products": counts and shares["products"] > 0}
    raised = {name: max(shares[name], min(few / n_mu, most)) for name, (few, most) in _RAISED.items() if apply[name]}
    return {**shares, **raised}


def _leads(family: Family) -> bool:
    """Whether a line is fitted to a yes or no first."""
    return family.link == "logit" and family.calibration.design[0] == CONSTANT


def _noise(calibration: Calibration, count: int, mu: float) -> ObjectiveEvent:
    """The noise of the objectives beside Gaussian releases of this mu; of counts, for those of at most 1."""
    others = [GaussianEvent(up(mu, _ROOM), ())]
    if not isinstance(calibration.loss, Poisson):
        return calibration.calibrate(calibration.least_modulus(count), count, others)
    modulus = calibration.norm**2 / math.expm1(min(_CURVATURE * calibration.epsilon, 1.0))
    return replace(calibration, loss=Poisson(1.0)).calibrate(modulus, count, others)


def _event(noise: ObjectiveEvent, calibration: Calibration, scouted: _Scouted) -> ObjectiveEvent:
    """The same noise in the coordinates that were found, and for the counts that were found."""
    if scouted.scale is None:
        return replace(noise, coordinates=scouted.coordinates)
    own = replace(calibration, loss=Poisson(scouted.scale.most))
    event = own.event(noise.modulus * scouted.scale.most, noise.scale * scouted.scale.most)
    return replace(event, coordinates=scouted.coordinates)


def _scouted(
    steps: Steps,
    readings: Readings,
    light: tuple[Sequence[Histogram], Margins],
    family: Family,
    shares: Mapping[str, float],
) -> _Scouted:
    """Where counts and columns lie, the products of columns where they are worth it, and what follows."""
    session, design, (histograms, margins) = steps.session, family.calibration.design, light
    n = max(float(session.rows) if session.rows else number_of_rows(steps, margins)[0], 1.0)
    scale, q, declared = None, len(design), steps.domain.map(family.column)
    exposure = 1.0
    if family.exposure is not None:
        blocks = steps.calibrated([Want("sums", (family.exposure,), (), 1.0)], steps.share(shares["exposure"]))
        (total,) = steps.add(blocks, exact_blocks(margins, blocks))
        exposure = mean_exposure(float(total[0]), n, steps.domain.map(family.exposure))
    shares = _raised(shares, n * session.mu, family)
    if histograms:
        want, share = [Want("counts", (), (family.column,), 1.0)], shares["counts"] / 2
        (first,) = counted(steps, histograms, [None], want, share)
        span = count_span(count_law([first], n, 2 * declared[1]))
        (second,) = counted(steps, histograms, [span], want, share)
        scale = count_scale([first, second], n, declared, session.mu, q)._replace(exposure=exposure)
    three = shares["products"] > 0 and (session.rows is not None or number_of_stages(n * session.mu, q) == 3)
    last, stage = shares["errors"] == 0, None
    alone = steps.left() if last else steps.share(shares["columns"] + min(shares["products"], PRODUCTS))
    axes = columns(steps, margins, design, n, steps.share(shares["columns"]) if three else alone)
    course = Scouting(design, n, session.mu, axes, counts=scale is not None)
    known = Lead(family.outcomes[0], steps.domain.map(family.outcomes[0])) if _leads(family) else None
    if three:
        scout = course.scout(known)
        mu = steps.left() if last else steps.share(shares["products"])
        blocks = stage_blocks(scout, _LENGTHS if known is None else _LINE, session.promise.neighbors, mu)
        stage = steps.add_stage(readings.staged(scout), blocks)
    own = course.final(stage)
    return _Scouted(own, n, scale, prior(course, stage, scale, own, known))


def _at_model(
    steps: Steps, readings: Readings, family: Family, scouted: _Scouted, thetas: list[Floats], *, robust: bool
) -> None:
    """Release what standard errors need, at the minimisers."""
    assert family.link is not None
    most = 1.0 if scouted.scale is None else scouted.scale.most
    widths = [[1.0] if scouted.scale is None else residual_widths(scouted.scale)] * len(family.outcomes)
    stage = Linked.at(
        scouted.coordinates, family.outcomes, np.column_stack(thetas), widths, family.link, most, family.exposure
    )
    few = family.link == "log" and is_few(scouted.rows * steps.session.mu, len(scouted.coordinates.design))
    own = _FEW_ROWS if few else _SPLITS[family.link]
    split = {kind: share for kind, share in own.items() if robust or kind != "meat"}
    total, mu = math.fsum(split.values()), steps.left()
    shares = {kind: share / total for kind, share in split.items()}
    blocks = stage_blocks(stage, shares, steps.session.promise.neighbors, mu)
    sds = [block.sd for block in blocks if block.statistic == "counts"]
    share = clipped_share(scouted.rows, steps.session.mu, len(stage.design))

    def choose(counts: Mapping[str, Floats]) -> list[int]:
        return [quiet_place(counts[name], share, sds[0]) for name in stage.outcomes]

    steps.add_stage(readings.staged(stage), blocks, choose if sds else None, partial(readings.meat, stage))
