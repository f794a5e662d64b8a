r"""Several releases and several people: composition, groups, post-processing, identification (wang2017, facts 5 and 6).

*Composition.* Gaussian parts add up as mu_i^2, exactly; see `compose`. *Post-processing* costs nothing: a function of
a release has at most its losses. *Groups.* For people z_1, ..., z_k added one after the other, with (epsilon_i,
delta_i) the loss of z_i given those before it, and E = sum epsilon_i,

    P_without <= e^E P_with + sum_i delta_i prod_{j<i} e^epsilon_j
    P_with    <= e^E P_without + sum_i delta_i prod_{j>i} e^epsilon_j                        (E20: not the same sum)

`household` gives the exact loss of a group under Gaussian noise, which is what to use where it can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.data.counts import bin_of
from discreet.domain import Domain
from discreet.domain.cells import BINS
from discreet.errors import ParameterError
from discreet.per_instance import curves
from discreet.per_instance.measurement import certificate_of
from discreet.per_instance.mechanisms.gaussian import Places
from discreet.per_instance.mechanisms.stages import StageRows
from discreet.per_instance.result import Losses
from discreet.per_instance.stream import Rows, each_row
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent


def compose(*losses: Losses) -> Losses:
    """The losses of several releases from the same rows together; ask it for an epsilon at a delta of your choice.

    Its certificate is that of the first release with the events of all, so that `for_all` covers all of them.
    """
    if not losses or not all(isinstance(found, Losses) for found in losses):
        raise ParameterError("Give the losses of at least one release, each as losses(...) returns them.")
    first = losses[0]
    sizes = {found.rows for found in losses}
    if len(sizes) > 1 or {found.about for found in losses} != {first.about}:
        raise ParameterError("Only losses of the same rows, about the same change, add up.")
    events = tuple(event for found in losses for event in found.certificate.events)
    return Losses(
        replace(first.certificate, events=events), [part for found in losses for part in found.measured], first.about
    )


def group(epsilons: ArrayLike, deltas: ArrayLike) -> tuple[float, float, float]:
    """(E, delta without against with, delta with against without) of a group, from the losses of its members in turn.

    Examples
    --------
    >>> E, forth, back = group([0.0, 1.0], [1e-6, 0.0])
    >>> E, forth, round(back, 9)
    (1.0, 1e-06, 2.718e-06)
    """
    e, d = (np.asarray(a, dtype=np.float64) for a in (epsilons, deltas))
    if e.shape != d.shape or e.ndim != 1 or not len(e) or np.any(e < 0) or np.any((d < 0) | (d > 1)):
        raise ParameterError("epsilons and deltas must be lists of the same length: from 0, and from 0 to 1.")
    before = np.exp(np.cumsum(e) - e)
    after = np.exp(e.sum() - np.cumsum(e))
    return float(e.sum()), min(1.0, float(d @ before)), min(1.0, float(d @ after))


def household(members: Any, release: Any, delta: float | None = None) -> float:
    """The epsilon of the presence of a whole group of rows, exact for Gaussian sums.

    Parameters
    ----------
    members : frame, Arrow table, array or pair (X, y)
        The group's rows.
    release : PrivateMoments, fitted estimator, Certificate, or path of a release file
        An add-remove release of Gaussian sums. A least eigenvalue, if there is one, is bounded by Weyl's inequality.
    delta : float, optional
        The certificate's by default.
    """
    certificate = certificate_of(release)
    gaussian = [event for event in certificate.events if isinstance(event, GaussianEvent | StageEvent)]
    if certificate.guarantee.neighbors != "add-remove" or len(gaussian) < len(certificate.events):
        raise ParameterError("The exact loss of a group is known for add-remove releases of Gaussian sums only.")
    declared = certificate.domain if certificate.declared is None else certificate.declared
    Z = _rows(members, certificate.domain)
    squares = []
    for event in gaussian:
        if isinstance(event, StageEvent):
            squares += _stage_costs(event, certificate.domain, Z)
            continue
        for block in event.blocks:
            if block.statistic == "counts":
                own = _rows(members, declared, block.columns[0])
                counts = np.bincount(bin_of(own[own[:, 0] > 0, 1], block.span) + 1, minlength=BINS + 1)[1:]
                squares.append(float(counts @ counts) / block.sd**2)
            else:
                squares.append(_change(block, certificate.domain, Z) / block.sd**2)
    delta = checks.fraction("delta", certificate.guarantee.delta if delta is None else delta)
    return float(curves.epsilon(np.sqrt(sum(squares)), delta))


def _rows(source: Any, domain: Domain, only: str | None = None) -> Floats:
    found: Floats = each_row(source, domain, lambda rows: rows.Z.T.copy(), only=only, n_jobs=1).T
    return found


def _stage_costs(event: StageEvent, domain: Domain, Z: Floats) -> list[float]:
    """Squared changes of the statistics of a stage when all rows of Z go, in units of their noise."""
    places, squares = StageRows(event, domain), []
    for block in event.blocks:
        if block.statistic in ("counts", "lengths"):
            counts = np.bincount(places.bins(Z, block) + 1)[1:]
            squares.append(float(counts @ counts) / block.sd**2)
        else:
            own, lines = places.seen(block, Rows(Z))
            squares.append(_change(own, places, lines.Z) / block.sd**2)
    return squares


def _change(block: Block, places: Places, Z: Floats) -> float:
    """Squared change of a statistic when all rows of Z go."""
    X, Y = Z[:, places.indices(block.rows)], Z[:, places.indices(block.columns)]
    if block.statistic == "cross":
        return float(np.sum((X.T @ Y) ** 2))
    if block.statistic == "squares":
        return float(np.sum((Y**2).sum(axis=0) ** 2))
    if block.statistic in ("sums", "diagonal"):
        return float(np.sum((X if block.statistic == "sums" else X**2).sum(axis=0) ** 2))
    S = X.T @ X
    if block.statistic == "eigenvalue":
        return float(np.linalg.eigvalsh(S)[-1] * (1 + 1e-9)) ** 2
    full = float(np.sum(S**2))
    return full if block.layout == "weighted" else (full + float(np.sum(np.diag(S) ** 2))) / 2


def identification(epsilon: float, delta: float) -> tuple[float, float]:
    """Fact 5: the least probability of an event, and how far its log-odds can change then.

    For events of probability at least delta/epsilon under both tables the change is at most 2 epsilon:
    P <= e^epsilon Q + delta <= (e^epsilon + epsilon) Q <= e^(2 epsilon) Q.

    Examples
    --------
    >>> identification(0.5, 1e-6)
    (2e-06, 1.0)
    """
    epsilon = checks.positive("epsilon", epsilon)
    return checks.fraction("delta", delta) / epsilon, 2 * epsilon


def simple(epsilons: Sequence[float], deltas: Sequence[float]) -> tuple[float, float]:
    """Simple composition (fact 6.1) of releases of which only (epsilon, delta) is known: both add up.

    Examples
    --------
    >>> simple([0.5, 1.0], [1e-6, 1e-6])
    (1.5, 2e-06)
    """
    return float(np.sum(epsilons)), min(1.0, float(np.sum(deltas)))
