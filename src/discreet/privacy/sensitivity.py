r"""How far one person can move the released statistics: proofs in ``docs/mathematics``, section 2.

Rows are z with norm(z_X) <= R on the regressors and norm(z_Y) <= T on the outcomes, in units of the mapped
columns, rounding included; every coordinate is at most 1. A person counts for `most` rows at most: what holds for a
row, or for none, holds for `most` times as much of a person (2.10).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from discreet.core.checks import Neighbors
from discreet.core.rounding import FEW, up
from discreet.domain import CONSTANT, Domain
from discreet.domain.coordinates import Coordinates
from discreet.domain.derived import inputs_of
from discreet.errors import DomainError
from discreet.privacy.events.gaussian import SYMMETRIC, Block

Space = Domain | Coordinates
"""What blocks are about: the mapped columns of a domain, or the coordinates of a stage."""

MAX_ROWS = 1 << 32
"""Tables larger than this are refused where a floating-point eigenvalue is released."""


def sensitivity(block: Block, space: Space, neighbors: Neighbors = "add-remove") -> float:
    """Largest change of one block, weighted by its noise layout so that mu = sensitivity/sd.

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
    found = [_counts_for(block, space) * _change(block, space, neighbors) for block in blocks]
    changes: list[float] = up(np.array(found), FEW).tolist()
    return changes


def _counts_for(block: Block, space: Space) -> int:
    """How many rows a person counts for; the scores of a person are one vector, which is no longer than a row's."""
    return 1 if block.statistic == "meat" else space.most


def _change(block: Block, space: Space, neighbors: Neighbors) -> float:
    """The sensitivity of a block, before it is rounded up."""
    if block.statistic in ("lengths", "inner", "meat", "information") and not isinstance(space, Coordinates):
        raise ValueError("only a stage has such a statistic")
    R2, T2 = _norm_squared(block.rows, space), _norm_squared(block.columns, space)
    replace = neighbors == "replace-one"
    if block.statistic in SYMMETRIC:
        r = _least_overlap(block.rows, space)
        weighted, triangle = (2 * (R2 - r) * (R2 + r), R2 * (R2 + 1)) if replace else (R2**2, R2 * (R2 + 1) / 2)
        return math.sqrt(weighted if block.layout == "weighted" else min(weighted, triangle))
    if block.statistic == "cross":
        return math.sqrt(R2 * T2) * (2 if replace else 1)
    if block.statistic == "squares":
        return math.sqrt(min(len(block.columns), 2 * T2) if replace else T2)
    if block.statistic in ("counts", "lengths"):
        return math.sqrt(2) if replace else 1.0
    if block.statistic in ("sums", "diagonal"):
        return math.sqrt(_margin_exchange(block, space) if replace else R2)
    return R2 * (1 + 2 * eigenvalue_error(len(block.rows)) / space.most)


def _margin_exchange(block: Block, space: Space) -> float:
    """Squared change of the sums of x_i, or of x_i^2, when one row is replaced; 2.9 of the mathematics."""
    if isinstance(space, Coordinates):
        raise ValueError("a stage has no such statistic")
    R2 = _norm_squared(block.rows, space)
    if block.statistic == "sums":
        change = 2 * (R2 - _least_product(block.rows, space))
    else:
        held = Counter(space.column_of[name] for name in block.rows if name != CONSTANT)
        ball = [name for name in block.rows if space.column_of[name] in space.norm_columns]
        alone = sum(min(count, 2) for name, count in held.items() if name not in space.norm_columns)
        change = alone + min(len(ball), 2 * _norm_squared(ball, space))
    return max(change, R2) if space.missing == "drop" or not space.unit.plain else change


def costs(blocks: Sequence[Block], space: Space, neighbors: Neighbors) -> list[tuple[tuple[Block, ...], float]]:
    """What each block adds to mu^2; X'X and X'Y on the same X share one figure for replace-one neighbours."""
    changes = zip(blocks, sensitivities(blocks, space, neighbors), strict=True)
    alone: list[tuple[tuple[Block, ...], float]] = [((block,), (change / block.sd) ** 2) for block, change in changes]
    if neighbors == "add-remove":
        return alone
    joined = pairs(blocks)
    paired = {i for pair in joined for i in pair}
    together = [((blocks[i], blocks[j]), _joint(blocks[i], blocks[j], space)) for i, j in joined]
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
            R2 = _norm_squared(block.rows, space)
            costs[i] = R2 * (R2 + 1) / (block.sd**2 * (1 if neighbors == "replace-one" else 2)) * space.most**2
    return up(math.sqrt(math.fsum(costs)), FEW)


def pairs(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Places of X'X and X'Y on the same X, each block in one pair at most."""
    crosses = [j for j, block in enumerate(blocks) if block.statistic == "cross"]
    pairs = []
    for i, gram in enumerate(blocks):
        j = next((j for j in crosses if blocks[j].rows == gram.rows), None)
        if gram.statistic == "gram" and j is not None:
            crosses.remove(j)
            pairs.append((i, j))
    return pairs


def eigenvalue_error(size: int) -> float:
    """Bound on the rounding error of a computed least eigenvalue, in units of R^2, for at most MAX_ROWS rows."""
    return 4 * size * 2.0**-52 * MAX_ROWS


def _joint(gram: Block, cross: Block, space: Space) -> float:
    """Replace-one cost of X'X and X'Y together: no pair of rows is the worst for both.

    With a = 2 R^4/s_xx^2, b = 2 R^2 T^2/s_xy^2 and c = abs(z_X . z'_X)/R^2 it is the maximum over c of
    a (1 - c^2) + b (1 + c); and in the uniform layout, where that is less, of the same with `_uniform` for X'X.
    """
    R2, T2 = _norm_squared(gram.rows, space), _norm_squared(cross.columns, space)
    a, b = 2 * (R2 / gram.sd) ** 2, 2 * R2 * T2 / cross.sd**2
    c = min(1.0, max(b / (2 * a), _least_overlap(gram.rows, space) / R2))
    worst = a * (1 - c**2) + b * (1 + c)
    if gram.layout == "uniform":
        level, bend = _uniform(a, R2, len(gram.rows))
        c = min(1.0, b / (2 * bend))
        worst = min(worst, level - bend * c**2 + b * (1 + c))
    return up(space.most**2 * worst, FEW)


def _uniform(a: float, R2: float, size: int) -> tuple[float, float]:
    """Replace-one cost of X'X in the uniform layout, k - m c^2 at most where z_X . z'_X = c R^2: k and m."""
    return a / 2 * (1 + 1 / R2), a / 2 * (1 + 1 / size)


def public_mu(blocks: Sequence[Block], domain: Domain, T: float) -> float:
    """Replace-one cost of X'X and X'Y, or of X'Y alone, where the outcomes are public and |z_Y| <= T.

    The outcomes of the replaced row stay, so X'Y changes by (z_X - z'_X) z_Y'. With c = z_X . z'_X / R^2 and a, b as in
    `_joint`, the cost is the maximum of a (1 - c^2) + b (1 - c) over c >= c_0, the least that the columns allow; and
    never more than with private outcomes of the same norm.
    """
    if not domain.unit.plain:
        raise ValueError("public outcomes are those of rows without persons and weights")
    gram = next((block for block in blocks if block.statistic == "gram"), None)
    cross = next((block for block in blocks if block.statistic == "cross"), None)
    if cross is None:
        raise ValueError("only X'y is about public outcomes")
    if len(blocks) != (1 if gram is None else 2) or (gram is not None and gram.rows != cross.rows):
        raise ValueError("no other statistic has a cost with public outcomes")
    R2 = _norm_squared(cross.rows, domain)
    a, b = 0.0 if gram is None else 2 * (R2 / gram.sd) ** 2, 2 * R2 * (T / cross.sd) ** 2
    least = max(_least_product(cross.rows, domain) / R2, -1.0)
    c = max(-b / (2 * a) if a else -1.0, least)
    worst = a * (1 - c**2) + b * (1 - c)
    if gram is not None:
        c = min(1.0, max(b / (2 * a), _least_overlap(gram.rows, domain) / R2))
        worst = min(worst, a * (1 - c**2) + b * (1 + c))
    if gram is not None and gram.layout == "uniform":
        level, bend = _uniform(a, R2, len(gram.rows))
        c = max(-b / (2 * bend), least)
        worst = min(worst, level - bend * c**2 + b * (1 - c))
    return up(math.sqrt(worst), FEW)


def refuse_mixed(domain: Domain, targets: Sequence[str]) -> None:
    """Refuse a domain in which an encoded outcome, or whether its row counts, depends on the features of that row."""
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


def _least_product(names: Sequence[str], domain: Domain) -> float:
    """A lower bound on z . z': each number and each ball adds -1 at least, a category 0, the constant 1."""
    columns = {domain.column_of[name] for name in names}
    numbers = {name for name in columns if name in domain.columns and domain.columns[name].bounds}
    signed = {name for name in columns - numbers if _has_signed_levels({name}, domain)}
    moving = [n for n in names if domain.column_of[n] in numbers | signed]
    return (1.0 if names[0] == domain.entries[0].name else 0.0) - _norm_squared(moving, domain)


def norm(names: Sequence[str], space: Space) -> float:
    """Bound on the Euclidean norm of some coordinates of a row, rounded up."""
    return up(math.sqrt(_norm_squared(names, space)), FEW)


def _norm_squared(names: Sequence[str], space: Space) -> float:
    return space.norms[tuple(names)]


def _least_overlap(names: Sequence[str], space: Space) -> int:
    """The least abs(z . z') over corners of a box that has the constant in it: 0, or 1 where parity forbids 0."""
    if isinstance(space, Coordinates):
        return 0
    columns = {space.column_of[name] for name in names}
    if names[0] != space.entries[0].name or columns & set(space.norm_columns) or _has_signed_levels(columns, space):
        return 0
    numbers = sum(name in space.columns and space.columns[name].bounds is not None for name in columns)
    categories = len(columns) - 1 - numbers
    if len(columns) == 1:
        return 0
    return int(numbers == 0 or (categories == 0 and numbers % 2 == 0))


def _has_signed_levels(columns: set[str], domain: Domain) -> bool:
    """Whether some category multiplies a number, so that equal levels may have a product below 0."""
    categories = [spec for spec in map(domain.columns.get, columns) if spec is not None and spec.levels]
    return not all(spec.is_indicator for spec in categories)
