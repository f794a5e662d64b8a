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
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.per_instance import curves
from discreet.per_instance.measurement import certificate_of
from discreet.per_instance.mechanisms.stages import StageRows
from discreet.per_instance.result import Losses
from discreet.per_instance.stream import EncodedRows, all_rows
from discreet.privacy.events.coordinates import StageEvent


def compose(*losses: Losses) -> Losses:
    """Compose the losses of several releases from the same rows; ask the result for epsilon at a delta of your choice.

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
    """Bound the loss of a group by those of its members in turn: (E, delta without vs. with, delta with vs. without).

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
    """Compute epsilon for the presence of a whole group of rows; exact for Gaussian sums.

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
    known = all(event.gaussian_sums for event in certificate.events)
    if certificate.guarantee.neighbors != "add-remove" or not known:
        raise ParameterError("The exact loss of a group is known for add-remove releases of Gaussian sums only.")
    declared = certificate.declared or certificate.domain
    Z = all_rows(members, certificate.domain)
    squares = []
    for block in certificate.blocks:
        column = block.kind.column(block)
        own = Z if column is None else all_rows(members, declared, column)
        places = certificate.domain if column is None else declared.alone(column)
        squares.append(block.kind.group_change(block, places, own) / block.sd**2)
    for stage in certificate.of(StageEvent):
        squares += _stage_costs(stage, certificate.domain, Z)
    delta = checks.fraction("delta", certificate.guarantee.delta if delta is None else delta)
    return float(curves.epsilon(np.sqrt(sum(squares)), delta))


def _stage_costs(event: StageEvent, domain: Domain, Z: Floats) -> list[float]:
    """Return the squared changes of a stage's statistics when all rows of Z are removed, in units of their noise."""
    places, squares = StageRows(event, domain), []
    for block in event.blocks:
        if block.kind.counted:
            counts = np.bincount(places.bins(Z, block) + 1)[1:]
            squares.append(float(counts @ counts) / block.sd**2)
        else:
            squares.append(block.kind.group_change(block, places, places.seen(block, EncodedRows(Z)).Z) / block.sd**2)
    return squares


def identification(epsilon: float, delta: float) -> tuple[float, float]:
    """Bound the change of an event's log-odds (fact 5): the least probability for which it holds, and the bound.

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
    """Compose releases by adding their epsilons and deltas (simple composition, fact 6.1).

    Examples
    --------
    >>> simple([0.5, 1.0], [1e-6, 1e-6])
    (1.5, 2e-06)
    """
    return float(np.sum(epsilons)), min(1.0, float(np.sum(deltas)))
