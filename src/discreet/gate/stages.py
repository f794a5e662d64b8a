"""The gate of private coordinates: where the outcome lies, where the columns lie, and stages in ever rounder axes.

Every step is a release with Gaussian noise, and what one step releases decides how the next one looks at the rows: its
coordinates, its half widths, its share of what is left. Whatever is decided, mu^2 of all steps adds up to that of the
promise. Mathematics in ``docs/mathematics``, sections 11 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, get_args

from discreet.data.counts import Histogram, Margins
from discreet.data.stages import Readings
from discreet.domain import CONSTANT, Domain, Numeric
from discreet.errors import ParameterError
from discreet.gate.coordinates import stage_blocks
from discreet.gate.moments import Want, block_noise, calibrate
from discreet.gate.session import Session, check_rows
from discreet.gate.steps import Steps, columns, counted, number_of_rows
from discreet.released.course import NARROW, Course, as_declared, mean_alone, number_of_stages
from discreet.released.equations import model_design
from discreet.released.grids import ReleasedStage
from discreet.released.solve.location import Location, locate, next_span, rows_of
from discreet.results.private_moments import PrivateMoments

Stages = int | Literal["auto"]

Covariance = Literal["auto", "robust", "classical"]

COVARIANCES: tuple[Covariance, ...] = get_args(Covariance)

_COUNTS = 40.0, 0.05, 0.25
"""The outcome's counts get 40/(n mu) of mu^2, but at least and at most so much; half of it for each level."""

SHARES: dict[int, tuple[float, ...]] = {
    0: (1.0,),
    2: (0.1, 0.3, 0.6),
    3: (0.03, 0.05, 0.12, 0.8),
    4: (0.04, 0.07, 0.1, 0.17, 0.62),
}
"""How the rest of mu^2 is split between the sums of the columns and the stages, by their number."""

BALL_SHARES: dict[int, tuple[float, ...]] = {2: (0.4, 0.6)}
"""The same for rows in a ball, whose columns are not looked at first."""

MOST_STAGES = max(SHARES)

_SPLIT: Mapping[str, float] = {"counts": 0.1, "gram": 0.35, "cross": 0.5, "squares": 0.05}
_LAST_SPLIT: Mapping[str, float] = {"counts": 0.05, "gram": 0.12, "cross": 0.8, "squares": 0.03}
"""How the mu^2 of a stage is split; a third stage needs less for U'U, which multiplies only what is left over."""

_LENGTHS = 0.1
"""The share of the mu^2 of a stage that tells the lengths of rows, where it does."""

_MEAT = 0.1, 0.03, 0.3
"""The meat of U'e gets log10(n mu^2/q) - 1 tenths of the mu^2 of the last stage, but at least and at most so much: the
less noise matters beside the sampling error, the more what tells of the latter is worth."""

_FEW = 10.0
"""Where n mu^2/q is less, there is no meat unless it is asked for: it would be lost in noise."""

WIDE = 512
"""Coordinates of a table from which one stage is the default: what several stages say together takes time with their
cube, a hundred times over, and memory with their square."""

_LEAST_SHARE = 1e-3
"""No statistic gets less of mu^2."""


def release_stages(
    table: Readings,
    design: Sequence[str],
    targets: Sequence[str],
    stages: Stages,
    session: Session,
    covariance: Covariance = "auto",
) -> PrivateMoments:
    """Release a table in private coordinates: one cheap reading of all rows, then one for each stage, and one for meat.

    Parameters
    ----------
    table : Readings
        What reads the rows.
    design : sequence of str
        Coordinates of the regressors.
    targets : sequence of str
        The outcomes, numbers each.
    stages : int or "auto"
        How many; "auto" decides by the released number of rows.
    session : Session
        It is charged with all of them.
    covariance : {"auto", "robust", "classical"}
        "classical" leaves out the meat that robust standard errors need, and so does "auto" for wide tables, where it
        takes long; the mean alone has none either.
    """
    domain = table.domain
    _check_noise(domain, design, targets, session)
    histograms, margins = table.light(targets)
    check_rows(margins.count)
    entropy = session.charge(domain, mu=session.mu)
    steps = Steps(domain, session, session.mu, entropy)
    locations = _located(steps, histograms, margins, constant=design[0] == CONSTANT)
    n = locations[0].rows
    auto = stages == "auto" or tuple(design) == (CONSTANT,)
    ball = in_ball(domain, design)
    size = len(model_design(domain, design)[0])
    n_mu = n * session.mu / domain.most
    count = number_of_stages(n_mu, size, constant=design[0] == CONSTANT) if auto else int(stages)
    shares = BALL_SHARES.get(count, SHARES[count][1:]) if ball else SHARES[count]
    weights = [share / math.fsum(shares[i:]) for i, share in enumerate(shares)]
    if count == 0 or ball:
        axes = as_declared(design) if ball else mean_alone(design)
    else:
        axes = columns(steps, margins, design, n, steps.left(weights.pop(0)))
    course = Course(tuple(design), tuple(targets), tuple(locations), axes, domain.most)
    _run(course, table, weights, steps, _covariance(covariance, course, size, count, plain=domain.unit.plain))
    return PrivateMoments(session.commit(session.certify(domain, *steps.events)), tuple(steps.values))


def _covariance(covariance: Covariance, course: Course, size: int, count: int, *, plain: bool) -> Covariance:
    """What standard errors are to be: wide tables have no meat unless it is asked for, nor has a mean of rows alike.

    Rows of persons, and weighted ones, always have it where it can be told.
    """
    if count == 0 and (plain or len(course.design) > 1):
        return "classical"
    if covariance != "auto":
        return covariance
    return "classical" if size > NARROW else "auto" if plain else "robust"


def stages_suit(domain: Domain, targets: Sequence[str], *, once: bool, asked: bool) -> bool:
    """Whether a table can be released in stages; refuse where it cannot and stages are asked for.

    Outcomes must be numbers with bounds of their own, and rows not be readable `once` only. A wide table has several
    stages only where they are asked for.
    """
    suit = not once and all(has_own_bounds(domain, name) for name in targets)
    if not asked:
        return suit and len(domain.entries) <= WIDE
    if not suit:
        raise ParameterError(
            "stages= needs outcomes that are numbers with bounds of their own, and rows that can be read again, so "
            "no stream. Choose stages=1 or 'auto'."
        )
    return suit


def refuse_robust(covariance: str) -> None:
    """Refuse robust standard errors where a release has no stages."""
    if covariance == "robust":
        raise ParameterError(
            "covariance='robust' needs the table in two stages or more: the last one tells how the residuals vary "
            "along with the regressors. One stage, streams, summed-up moments and rows in a ball do not. Choose "
            "stages=2 or more where the table allows it, or covariance='classical'."
        )


def has_own_bounds(domain: Domain, target: str) -> bool:
    """Whether an outcome is a number as it stands in the table, with bounds that it shares with no other column."""
    column = domain.columns.get(target)
    return isinstance(column, Numeric) and not column.factors and target not in domain.norm_columns


def in_ball(domain: Domain, design: Sequence[str]) -> bool:
    """Whether all regressors lie in the ball of a `data_norm`."""
    return {domain.column_of[name] for name in design} <= set(domain.norm_columns)


def _check_noise(domain: Domain, design: Sequence[str], targets: Sequence[str], session: Session) -> None:
    """Refuse noise that is too small or too large to be added exactly, before anything is charged."""
    for share in (1.0, _LEAST_SHARE):
        mu, neighbors = session.mu * math.sqrt(share), session.promise.neighbors
        wants = [Want("counts", (), (targets[0],), 1.0), Want("sums", tuple(design), (), 1.0)]
        blocks = [*calibrate(wants[:1], domain, neighbors, mu), *calibrate(wants[1:], domain, neighbors, mu)]
        block_noise(blocks, domain.unit)


# ---------------------------------------------------------------- where the outcome lies


def _located(steps: Steps, histograms: Sequence[Histogram], margins: Margins, *, constant: bool) -> list[Location]:
    """The number of rows and two levels of counts of each outcome."""
    session, m = steps.session, len(histograms)
    if session.rows is not None and steps.domain.unit.plain:
        rows: tuple[float, float] | None = (float(session.rows), 0.0)
    elif session.promise.neighbors == "add-remove":
        rows = number_of_rows(steps, margins)
    else:
        rows = None
    if rows is not None and not constant:
        return [locate([], rows, centred=False) for _ in histograms]
    mu = session.mu / steps.domain.most
    guess = 2 * _COUNTS[0] / mu if rows is None else max(rows[0], rows[1], 1.0)
    numerator, least, most = _COUNTS
    share = min(max(numerator / (guess * mu), least), most) / 2
    wants = [Want("counts", (), (histogram.column,), 1.0 / m) for histogram in histograms]
    first = counted(steps, histograms, [None] * m, wants, share)
    known = [rows or rows_of(counts) for counts in first]
    spans = [next_span(counts, own, centred=constant) for counts, own in zip(first, known, strict=True)]
    second = counted(steps, histograms, spans, wants, share)
    pairs = zip(first, second, known, strict=True)
    return [locate([whole, part], own, centred=constant) for whole, part, own in pairs]


# ---------------------------------------------------------------- stages


def _run(course: Course, table: Readings, weights: Sequence[float], steps: Steps, meat: Covariance) -> None:
    """Release the stages, each with a share of what is left of mu^2; the last one with its meat, unless classical."""
    done: list[ReleasedStage] = []
    neighbors = steps.session.promise.neighbors
    for k, weight in enumerate(weights, start=1):
        mu = steps.left(weight)
        coordinates = course.coordinates(done, mu, len(weights))
        final = k == len(weights) >= 3
        split = _LAST_SPLIT if final else _SPLIT
        if coordinates.lengths:
            split = _beside(split, "lengths", _LENGTHS)
        signal = course.rows * (mu / course.most) ** 2 / len(coordinates.axes)
        if k == len(weights) and (meat == "robust" or (meat == "auto" and signal > _FEW)):
            split = _beside(split, "meat", _meat(signal))
            if len(course.targets) == 1 and steps.domain.unit.plain:
                split = {"inner" if kind == "gram" else kind: own for kind, own in split.items()}
        blocks = stage_blocks(coordinates, split, neighbors, mu)
        sd = next(block.sd for block in blocks if block.statistic == "counts")
        choose = partial(course.chosen, coordinates=coordinates, mu=mu, sd=sd, final=final)
        sums = table.staged(coordinates, gram="gram" in split)
        scores = partial(table.meat, coordinates)
        done.append(steps.add_stage(sums, blocks, choose, scores, course.radii))


def _meat(signal: float) -> float:
    """The share of the meat, for so many rows times mu^2 over the number of axes."""
    step, least, most = _MEAT
    return min(max(step * (math.log10(max(signal, 1.0)) - 1), least), most)


def _beside(split: Mapping[str, float], kind: str, share: float) -> Mapping[str, float]:
    """Shares that leave one for another statistic."""
    return {other: (1 - share) * own for other, own in split.items()} | {kind: share}
