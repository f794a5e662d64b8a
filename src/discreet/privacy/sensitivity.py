r"""Sensitivities of the released statistics to one person: proofs in ``docs/mathematics``, section 2.

Rows are z with norm(z_X) <= R on the regressors and norm(z_Y) <= T on the outcomes, in units of the mapped
columns, rounding included; every coordinate is at most 1. A person has at most `most` rows, so the sensitivity to a
person is at most `most` times that to a row (2.10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.core.checks import Neighbors
from discreet.core.rounding import FEW, up
from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates
from discreet.domain.derived import inputs_of
from discreet.errors import DomainError
from discreet.privacy.events.gaussian import Block
from discreet.statistics import space as spaces
from discreet.statistics.cross import CROSS
from discreet.statistics.gram import GRAM, uniform
from discreet.statistics.space import Space


def sensitivity(block: Block, space: Space, neighbors: Neighbors = "add-remove") -> float:
    """The sensitivity of one block, weighted by its noise layout so that mu = sensitivity/sd.

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "income": (0, 200_000)})
    >>> block = Block("gram", ("(intercept)", "age"), (), sd=1.0)
    >>> round(sensitivity(block, domain), 6), round(sensitivity(block, domain, "replace-one"), 6)
    (2.0, 2.828427)
    """
    (change,) = sensitivities([block], space, neighbors)
    return change


def sensitivities(blocks: Sequence[Block], space: Space, neighbors: Neighbors) -> list[float]:
    """The sensitivity of each block."""
    if not isinstance(space, Coordinates) and not all(block.kind.words for block in blocks):
        raise ValueError("only a stage has such a statistic")
    found = [block.kind.rows_of_person(space) * block.kind.sensitivity(block, space, neighbors) for block in blocks]
    changes: list[float] = up(np.array(found), FEW).tolist()
    return changes


def costs(blocks: Sequence[Block], space: Space, neighbors: Neighbors) -> list[tuple[tuple[Block, ...], float]]:
    """The contribution of each block to mu^2; X'X and X'Y on the same X share one figure for replace-one neighbours."""
    changes = zip(blocks, sensitivities(blocks, space, neighbors), strict=True)
    alone: list[tuple[tuple[Block, ...], float]] = [((block,), (change / block.sd) ** 2) for block, change in changes]
    if neighbors == "add-remove":
        return alone
    joined = pairs(blocks)
    paired = {i for pair in joined for i in pair}
    together = [((blocks[i], blocks[j]), blocks[i].kind.joint(blocks[i], blocks[j], space)) for i, j in joined]
    return [*together, *(cost for i, cost in enumerate(alone) if i not in paired)]


def mu(blocks: Sequence[Block], space: Space, neighbors: Neighbors) -> float:
    """The mu of blocks released together with independent noise, rounded up."""
    return up(math.sqrt(math.fsum(cost for _, cost in costs(blocks, space, neighbors))), FEW)


def mu_of_before(blocks: Sequence[Block], space: Space, neighbors: Neighbors) -> float:
    """The largest mu that files list: versions up to 0.2.0 added up X'X and X'Y in the uniform layout (2.2, 2.6)."""
    if all(block.layout == "weighted" for block in blocks):
        return mu(blocks, space, neighbors)
    costs = [
        (change / block.sd) ** 2 for block, change in zip(blocks, sensitivities(blocks, space, neighbors), strict=True)
    ]
    for i, block in enumerate(blocks):
        if block.layout == "uniform":
            R2 = spaces.norm_squared(block.rows, space)
            costs[i] = R2 * (R2 + 1) / (block.sd**2 * (1 if neighbors == "replace-one" else 2)) * space.most**2
    return up(math.sqrt(math.fsum(costs)), FEW)


def pairs(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Index pairs of X'X and X'Y on the same X, and of other partners; each block is in one pair at most."""
    pairs: list[tuple[int, int]] = []
    for i, block in enumerate(blocks):
        taken = {j for _, j in pairs}
        same = (j for j, other in enumerate(blocks) if other.statistic == block.kind.partner and j not in taken)
        if (j := next((j for j in same if blocks[j].rows == block.rows), None)) is not None:
            pairs.append((i, j))
    return pairs


def public_mu(blocks: Sequence[Block], domain: Domain, T: float) -> float:
    """Replace-one cost of X'X and X'Y, or of X'Y alone, where the outcomes are public and |z_Y| <= T.

    The outcomes of the replaced row stay, so X'Y changes by (z_X - z'_X) z_Y'. With c = z_X . z'_X / R^2 and a, b as in
    `Gram.joint`, the cost is the maximum of a (1 - c^2) + b (1 - c) over c >= c_0, the least that the columns allow;
    and never more than with private outcomes of the same norm.
    """
    if not domain.unit.plain:
        raise ValueError("public outcomes are those of rows without persons and weights")
    gram = next((block for block in blocks if block.kind is GRAM), None)
    cross = next((block for block in blocks if block.kind is CROSS), None)
    if cross is None:
        raise ValueError("only X'y is about public outcomes")
    if len(blocks) != (1 if gram is None else 2) or (gram is not None and gram.rows != cross.rows):
        raise ValueError("no other statistic has a cost with public outcomes")
    R2 = spaces.norm_squared(cross.rows, domain)
    a, b = 0.0 if gram is None else 2 * (R2 / gram.sd) ** 2, 2 * R2 * (T / cross.sd) ** 2
    least = max(spaces.least_product(cross.rows, domain) / R2, -1.0)
    c = max(-b / (2 * a) if a else -1.0, least)
    worst = a * (1 - c**2) + b * (1 - c)
    if gram is not None:
        c = min(1.0, max(b / (2 * a), spaces.least_overlap(gram.rows, domain) / R2))
        worst = min(worst, a * (1 - c**2) + b * (1 + c))
    if gram is not None and gram.layout == "uniform":
        level, bend = uniform(a, R2, len(gram.rows))
        c = max(-b / (2 * bend), least)
        worst = min(worst, level - bend * c**2 + b * (1 - c))
    return up(math.sqrt(worst), FEW)


def refuse_mixed(domain: Domain, targets: Sequence[str]) -> None:
    """Refuse a domain in which an encoded outcome, or whether its row counts, depends on the row's features."""
    if domain.missing == "drop":
        raise DomainError(
            "missing='drop' does not go with public outcomes: which rows are left out depends on their features, which "
            "are private, and exact sums over the outcomes of the others would show it. Fill in what is missing first."
        )
    own = {domain.entries[i].column for i in domain.indices(targets)}
    features = inputs_of({name: column for name, column in domain.columns.items() if name not in own})
    if shared := sorted(features.keys() & inputs_of({name: domain.columns[name] for name in own}).keys()):
        raise DomainError(
            f"The outcomes and the features are both computed from {', '.join(map(repr, shared))}. Public outcomes "
            "would show of it what is promised to be private. Leave it out of the features, or of the outcomes."
        )
    ball = set(domain.norm_columns)
    if own & ball and ball - own:
        raise DomainError(
            "data_norm covers outcomes and features together, so how far an outcome is shortened depends on the "
            "features, which are private. With public outcomes name norm_columns= that are all outcomes, or all not."
        )


def norm(names: Sequence[str], space: Space) -> float:
    """Bound on the Euclidean norm of some coordinates of a row, rounded up."""
    return up(math.sqrt(spaces.norm_squared(names, space)), FEW)
