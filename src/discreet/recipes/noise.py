"""Calibration: the least Gaussian noise on requested statistics that costs a given mu."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.core.checks import Neighbors
from discreet.core.rounding import up
from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import stage_block
from discreet.privacy.events.gaussian import Block
from discreet.statistics.base import stage_statistics
from discreet.statistics.space import Space


@dataclass(frozen=True)
class StatisticRequest:
    """A statistic to release and its share of mu^2."""

    statistic: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    share: float


def calibrate(requests: Sequence[StatisticRequest], space: Space, neighbors: Neighbors, mu: float) -> list[Block]:
    """Return the least noise that costs mu, with mu^2 split by the shares."""
    total = math.fsum(request.share for request in requests)
    units = [Block(request.statistic, request.rows, request.columns, 1.0) for request in requests]
    changes = zip(requests, units, sensitivity.sensitivities(units, space, neighbors), strict=True)
    blocks = [replace(unit, sd=change / (mu * math.sqrt(own.share / total))) for own, unit, change in changes]
    excess = up(sensitivity.mu(blocks, space, neighbors) / mu)
    return [replace(block, sd=block.sd * excess) for block in blocks]


def calibrate_public(requests: Sequence[StatisticRequest], domain: Domain, mu: float, norm: float) -> list[Block]:
    """Return the least noise that costs mu, split by the shares, where outcomes are public and have this norm."""
    total = math.fsum(request.share for request in requests)
    blocks = []
    for request in requests:
        unit = Block(request.statistic, request.rows, request.columns, 1.0)
        alone = request.statistic == "gram"
        change = sensitivity.sensitivity(unit, domain, "replace-one") if alone else 0.0
        change = change or sensitivity.public_mu([unit], domain, norm)
        blocks.append(replace(unit, sd=change / (mu * math.sqrt(request.share / total))))
    excess = up(sensitivity.public_mu(blocks, domain, norm) / mu)
    return [replace(block, sd=block.sd * excess) for block in blocks]


def stage_blocks(coordinates: Coordinates, shares: Mapping[str, float], neighbors: Neighbors, mu: float) -> list[Block]:
    """Return the least noise on the statistics of a stage that costs mu; it does not depend on P, theta, r or b.

    Parameters
    ----------
    coordinates : Coordinates
        The stage. Counts, inner and score products are those of each outcome; U'e and e'e are of all outcomes.
    shares : mapping
        The share of mu^2 of each statistic, by name; statistics that are not named are left out.
    neighbors : {"add-remove", "replace-one"}
        The relation.
    mu : float
        The cost of the stage.

    Examples
    --------
    >>> stage = Coordinates.rounded(["(intercept)", "x"], ["y"], [[1, 0], [0, 1]], [[0.5], [0.0]], 1.0, [[0.25]])
    >>> [(b.statistic, round(b.sd, 3)) for b in stage_blocks(stage, {"gram": 0.5, "cross": 0.5}, "add-remove", 0.1)]
    [('gram', 14.142), ('cross', 14.142)]
    """
    requests = []
    for kind in (kind for kind in stage_statistics() if shares.get(kind.name, 0) > 0):
        alone = [(name,) for name in coordinates.outcomes]
        groups = alone if kind.outcomes == "one" else [coordinates.outcomes if kind.outcomes == "all" else ()]
        for columns in groups:
            block = stage_block(coordinates, kind.name, columns)
            requests.append(StatisticRequest(kind.name, block.rows, block.columns, shares[kind.name] / len(groups)))
    return calibrate(requests, coordinates, neighbors, mu)
