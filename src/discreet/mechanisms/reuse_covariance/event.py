"""Gaussian noise on a statistic of a random sample of the rows, and on statistics whose outcomes are public.

*Sampled.* Each row is in the sample with probability q, independently (add-remove); or the sample is one of all sets of
s = q n rows (replace-one). With D(epsilon) the Gaussian curve of the same noise without sampling, the curves are, as
``docs/mathematics``, 9.3 proves,

    the table with the row against the one without    q D(log(1 + (e^epsilon - 1)/q))
    the table without it against the one with it      (1 - (1 - q) e^epsilon) D(log(q/(e^-epsilon - 1 + q)))

for independent sampling, and the first one for samples of fixed size, where epsilon >= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors
from discreet.core.field_kinds import ABOVE_0, NEIGHBORS, number
from discreet.core.fields import Fields, fixed
from discreet.core.rounding import CURVE, ROOM, down, up
from discreet.errors import ParameterError
from discreet.privacy import sensitivity
from discreet.privacy.events.base import BlockEvent, Finding, is_bound
from discreet.privacy.events.gaussian import BLOCKS, Block
from discreet.privacy.laws import Profile, gaussian_curve, together

if TYPE_CHECKING:
    from discreet.privacy.bounds import Bounds

_LARGEST_MU = 1e3

_SAMPLE = (
    "X'X was computed from a secret random sample of about {share:g} of the rows, which is counted: whoever "
    "learns which rows are in it is promised less."
)
_PUBLIC = (
    "The outcomes were declared PUBLIC, and with them the number of rows and which row has which outcomes: nothing "
    "about them is protected. The promise covers the features only."
)


@dataclass(frozen=True)
class SampledEvent(BlockEvent):
    """Gaussian noise on statistics of a random, secret sample of the rows.

    A row is in it with a probability of at most `rate`, q: each by itself, or, for replace-one, a fixed number of rows.
    `full_mu` is the cost of the same noise on all rows.
    """

    mechanism: ClassVar[str] = "sampled gaussian"
    needs_delta: ClassVar[bool] = True

    rate: float
    full_mu: float
    blocks: tuple[Block, ...]
    neighbors: Neighbors

    mu = 0.0

    @property
    def law(self) -> Profile:
        """The curves of both directions."""
        return sampled(self.rate, self.full_mu, self.neighbors)

    @property
    def scale(self) -> float:
        """The factor by which sums over the sample are multiplied to stand for all rows."""
        return 1 / self.rate

    @property
    def sampled_share(self) -> float:
        """The share of the rows that are in the sample."""
        return self.rate

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that a certificate adds about it."""
        return (_SAMPLE.format(share=self.rate),)

    def finding(self, bounds: Bounds) -> Finding:
        """Compare the listed mu with that of the same noise on all rows."""
        names, mu = ", ".join(block.name for block in self.blocks), bounds.mu(self.blocks)
        ok = is_bound(self.full_mu, mu, bounds.mu_of_before(self.blocks)) and self.neighbors == bounds.neighbors
        detail = f"mu {mu:.6g}, listed {self.full_mu:.6g}, of a share {self.rate:g} of the rows"
        return Finding(f"noise on {names} of a sample", ok, detail)

    FIELDS = Fields(
        "sampled_gaussian",
        "The same of a secret sample of the rows.",
        "A sampled statistic of the release is of an unknown kind.",
        mechanism=fixed(mechanism),
        rate=number(exclusiveMinimum=0, exclusiveMaximum=1)("The share of the rows in its secret sample."),
        full_mu=number(exclusiveMinimum=0, maximum=_LARGEST_MU)("The cost of its noise on all rows."),
        neighbors=NEIGHBORS,
        blocks=BLOCKS,
    )


@dataclass(frozen=True)
class PublicOutcomesEvent(BlockEvent):
    """Gaussian noise on statistics of private features and public outcomes, whose largest norm in a row is `norm`."""

    mechanism: ClassVar[str] = "gaussian, public outcomes"

    mu: float
    norm: float
    blocks: tuple[Block, ...]

    law = None
    neighbors: Neighbors = "replace-one"
    remarks = (_PUBLIC,)

    def finding(self, bounds: Bounds) -> Finding:
        """Compare the listed mu with that of the noise; anyone with the public outcomes can recompute their norm."""
        mu = sensitivity.public_mu(self.blocks, bounds.domain, self.norm)
        what = f"noise on {', '.join(block.name for block in self.blocks)}, outcomes public"
        outcomes = [name for block in self.blocks for name in block.columns]
        sensitivity.refuse_mixed(bounds.domain, outcomes)
        if self.norm > up(bounds.norm(outcomes), ROOM):
            return Finding(what, False, f"no outcomes within the bounds have a norm of {self.norm:.6g}")
        ok = is_bound(self.mu, mu) and self.neighbors == bounds.neighbors
        detail = f"mu {mu:.6g}, listed {self.mu:.6g}, norm of the public outcomes {self.norm:.6g}"
        return Finding(what, ok, detail)

    FIELDS = Fields(
        "public_outcomes",
        "The same where outcomes are declared public: they are NOT protected.",
        "A statistic with public outcomes is of an unknown kind.",
        mechanism=fixed(mechanism),
        mu=number(exclusiveMinimum=0, maximum=_LARGEST_MU)("The cost, in Gaussian differential privacy."),
        norm=ABOVE_0("The largest norm of the outcomes in a row."),
        blocks=BLOCKS,
    )


def sampled(rate: float, mu: float, neighbors: Neighbors) -> Profile:
    """The curves of a mu-GDP Gaussian release on a random sample of the rows."""
    q = rate

    def present(epsilon: Floats) -> Floats:
        odds = 1 - (1 - q) * np.exp(-np.maximum(epsilon, math.log1p(-q)))
        inside = odds > 0
        shifted = epsilon + np.log(np.where(inside, odds, 1.0)) - math.log(q)
        delta: Floats = np.where(inside, q * gaussian_curve(mu, shifted), -np.expm1(np.minimum(epsilon, 0.0)))
        return delta

    def absent(epsilon: Floats) -> Floats:
        rest = 1 - (1 - q) * np.exp(np.minimum(epsilon, -math.log1p(-q)))
        inside = rest > 0
        shifted = math.log(q) - np.log(np.where(inside, rest, 1.0)) + epsilon
        delta: Floats = np.where(inside, rest * gaussian_curve(mu, shifted), 0.0)
        return delta

    def either(epsilon: Floats) -> Floats:
        shrink, size = np.exp(np.minimum(epsilon, 0.0)), present(np.abs(epsilon))
        delta: Floats = np.where(epsilon < 0, 1 - shrink + shrink * size, size)
        return delta

    return Profile((present, absent) if neighbors == "add-remove" else (either,))


@lru_cache(maxsize=64)
def largest_mu(rate: float, neighbors: Neighbors, epsilon: float, delta: float, rest: float) -> float:
    """The largest mu of noise on a sample that keeps a promise beside a mu-GDP part, `rest`, to a relative 1e-9."""
    below = down(epsilon, 10 * CURVE)  # more than the error of a recomputed epsilon

    def keeps(mu: float) -> bool:
        return together([sampled(rate, mu, neighbors)], rest)(below) <= delta

    low, high = 1e-6, 1e-5
    if not keeps(low):
        raise ParameterError("The promise leaves nothing for X'X. Choose a larger epsilon or another split.")
    while keeps(high) and high < _LARGEST_MU:
        low, high = high, 2 * high
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low
