r"""Per-instance losses of Gaussian noise on statistics: proofs in ``docs/mathematics``, sections 9.3, 9.4 and 10.

Gaussian noise of sd s_b on statistic f_b makes the loss of row i Gaussian with

    mu_i^2 = sum_b |f_b(table) - f_b(table without i)|^2 / s_b^2,

exactly, blocks and stages together. With z the encoded row, x = z_X and y = z_Y, the terms are

    X'X        |x|^4                       uniform layout: (|x|^4 + sum x_j^4)/2
    X'Y        |x|^2 |y|^2
    y'y        sum y_j^4
    counts     1, or 0 outside their span
    sums of x  |x|^2
    diagonal   sum x_j^4
    lambda_min (lambda_min(A) - lambda_min(A - x x'))^2, rounding errors added (`eigenvalue`)

*Replace-one.* With w the row in the place of z, p = |z_X|^2, q = |w_X|^2 and g = z_X.w_X,

    X'X     |z z' - w w'|^2 = p^2 + q^2 - 2 g^2          uniform layout: half of that + sum (z_j^2 - w_j^2)^2
    X'Y     p |z_Y|^2 + q |w_Y|^2 - 2 g (z_Y.w_Y)
    y'y     sum (y_j^2 - v_j^2)^2
    counts  2, or 0 in the same bin; 1 where one of them is outside the span
    sums    p + q - 2 g                                  diagonal: sum (z_j^2 - w_j^2)^2
    lambda_min  |lambda_min(A) - lambda_min(A - z z' + w w')|

The worst w has q <= R^2 and |w_Y| <= T, so X'X and X'Y on the same X cost at most the maximum over 0 <= g <= R |z_X| of
(p^2 + R^4 - 2 g^2)/s_xx^2 + (p |z_Y|^2 + R^2 T^2 + 2 g |z_Y| T)/s_xy^2; and never more than the certificate's mu^2.

*Public outcomes.* A row's features are replaced and its outcomes stay: with w the features in the place of x, X'X moves
by x x' - w w' and X'Y by (x - w) y'.

*A sample of the rows.* Given which other rows are in the sample, the row's own is a coin of known rate, and the noise
is Gaussian: so the curve of ``privacy.events.sampled`` at the row's own mu is a bound, by joint convexity. Beside
Gaussian releases of all rows the curve is the mean of the sample's over the loss of the Gaussian part. That is made
discrete as in the certificate, by a curve that joins points of the Gaussian one linearly in e^epsilon: so the result is
never too small. On a grid coarser than the certificate's it is a few per cent too large at most, and epsilon less than
1e-3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors
from discreet.core.rounding import down
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent, sampled
from discreet.per_instance.eigenvalue import Spectrum
from discreet.per_instance.mechanisms.parts import LossFacts, Pair, Part, parts_of, span
from discreet.per_instance.stream import EncodedRows
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.laws import Law, Point, gaussian_curve
from discreet.statistics.base import Places

_LEVELS = 24  # number of levels to which mu is rounded up, if several releases of samples are convolved

_GRID = np.linspace(-1, 1, 321)[:, None]
_REACH = 9.0
_BESIDE, _LEAST = 1e-4, 1e-8  # least mu of the Gaussian part: relative to that of the sample, and absolute
_UP = 1 + 1e-8


def _has_eigenvalue(event: GaussianEvent | SampledEvent) -> bool:
    return not all(block.exact for block in event.blocks)


@parts_of(GaussianEvent, moments=_has_eigenvalue)
def _gaussian(event: GaussianEvent, facts: LossFacts) -> list[Part]:
    """Compute exact costs block by block; under replace-one for a given replacement, or bounds for the worst one."""
    if not facts.replaces:
        return [of_block(block, facts) for block in event.blocks]
    if facts.pair is None:
        return _worst_parts(event, facts)
    return [_exchange(block, facts, facts.pair, event.mu**2 / len(event.blocks)) for block in event.blocks]


def of_block(block: Block, facts: LossFacts) -> Part:
    """Compute the exact cost of one statistic when a row is added or removed."""
    everyone = (sensitivity.sensitivity(block, facts.domain) / block.sd) ** 2
    if not block.exact:
        spectrum = facts.spectrum(block.rows)
        X, gap = span(facts.domain.indices(block.rows)), spectrum.gaps[1] if len(spectrum.gaps) > 1 else np.inf
        move = spectrum.rise if facts.adding else spectrum.fall
        most = min(everyone, float((gap + spectrum.error) / block.sd) ** 2)  # a row that is added: at most g_2
        return Part(
            block.name, lambda rows: ((move(rows.Z[:, X]) + rows.present * spectrum.error) / block.sd) ** 2, most
        )
    column = block.kind.column(block) if facts.domain.missing == "drop" or block.span is not None else None

    places = facts.domain if column is None else facts.domain.alone(column)

    def cost(rows: EncodedRows) -> Floats:
        return block.kind.change(block, places, rows) / block.sd**2

    return Part(block.name, cost, everyone, column=column)


# ---------------------------------------------------------------- rows that are replaced


def _exchange(block: Block, facts: LossFacts, pair: Pair, everyone: float) -> Part:
    """Compute the exact cost of one statistic when a given row replaces each row."""
    column = block.kind.column(block)

    def cost(rows: EncodedRows) -> Floats:
        if column is not None:
            return block.kind.swap(block, facts.domain.alone(column), pair.declared[column], rows) / block.sd**2
        if block.exact:
            return block.kind.swap(block, facts.domain, pair.used, rows) / block.sd**2
        X = facts.domain.indices(block.rows)
        x, A = pair.used[X], facts.moments.floats(X)
        with_w = Spectrum(A + np.outer(x, x))
        least = np.linalg.eigvalsh(A)[0]
        return np.asarray((np.abs(least - with_w.least + with_w.fall(rows.Z[:, X])) + with_w.error) ** 2) / block.sd**2

    return Part(block.name, cost, everyone, block.kind.bounded, column=column)


def _worst_parts(event: GaussianEvent, facts: LossFacts) -> list[Part]:
    """Bound the cost of any replacement for all blocks of an event jointly."""
    names = ", ".join(block.name for block in event.blocks)
    note = "a bound over every row that may take this one's place"
    spectra = {block: facts.spectrum(block.rows) for block in event.blocks if not block.exact}

    def cost(rows: EncodedRows) -> Floats:
        total = worst([block for block in event.blocks if block.exact], facts.domain, rows)
        for block, spectrum in spectra.items():
            X = facts.domain.indices(block.rows)
            fall, R2 = spectrum.fall(rows.Z[:, X]), facts.domain.norm_squared(X)
            total += ((np.maximum(fall, R2 - fall) + spectrum.error) / block.sd) ** 2
        return np.minimum(total, event.mu**2)

    return [Part(names, cost, event.mu**2, note)]


def worst(blocks: Sequence[Block], places: Places, rows: EncodedRows) -> Floats:
    """Bound mu_i^2 of several sums jointly over all possible replacements."""
    total, left = np.zeros(len(rows.Z)), list(blocks)
    for i, j in sensitivity.pairs(blocks):
        pair = blocks[i], blocks[j]
        left = [block for block in left if block not in pair]
        alone = [block.kind.most(block, places, rows) / block.sd**2 for block in pair]
        total += np.minimum(pair[0].kind.most_with(*pair, places, rows), sum(alone))
    for block in left:
        total += block.kind.most(block, places, rows) / block.sd**2
    return total


@parts_of(PublicOutcomesEvent)
def _public(event: PublicOutcomesEvent, facts: LossFacts) -> list[Part]:
    """Compute the exact cost for given features, or a bound over all features, at most the certificate's."""
    names = ", ".join(block.name for block in event.blocks)
    w = None if facts.pair is None else facts.pair.used
    note = "a bound over all features that may take this row's place" if w is None else ""

    def cost(rows: EncodedRows) -> Floats:
        moved = [block.kind.moved(block, facts.domain, rows, w) / block.sd**2 for block in event.blocks]
        total: Floats = np.sum(moved, axis=0)
        return np.minimum(total, event.mu**2) if w is None else total

    return [Part(names, cost, event.mu**2, note)]


# ---------------------------------------------------------------- a sample of the rows


@parts_of(SampledEvent, moments=_has_eigenvalue)
def _sample(event: SampledEvent, facts: LossFacts) -> list[Part]:
    """Evaluate the event's curve at the row's own mu."""
    inner = _gaussian(GaussianEvent(event.full_mu, event.blocks), facts)

    def cost(rows: EncodedRows) -> Floats:
        mu: Floats = np.sqrt(np.sum([part.cost(rows) for part in inner], axis=0))
        return np.minimum(mu, event.full_mu)[None]

    name = ", ".join(block.name for block in event.blocks) + " of a sample"
    note = "a bound, as if it were known which other rows are in the sample"
    curve = SampledCurve(event.rate, event.neighbors)
    return [Part(name, cost, np.array([event.full_mu]), note=note, curve=curve)]


@dataclass(frozen=True)
class SampledCurve:
    """The privacy curve of noise on a sample, from the mu that the noise would have on all rows."""

    width: ClassVar[int] = 1
    failure: ClassVar[float] = 0.0

    rate: float  # q: the sampling probability of a row
    neighbors: Neighbors  # the relation, and with it the sampling

    def delta(self, epsilon: Floats, mu: Floats, statistics: Floats) -> Floats:
        """Return the larger delta of the two directions."""
        size = self.size(statistics)
        losses, masses, infinite = _discrete(np.maximum(mu, np.maximum(_BESIDE * size, _LEAST)))
        own: Any = np.maximum(statistics[0], 1e-100)
        ways = sampled(self.rate, own, self.neighbors).ways
        found = np.max([(masses * way(epsilon - losses)).sum(axis=0) for way in ways], axis=0) + infinite
        return np.where((size > 0) | (mu > 0), np.minimum(found * _UP, 1.0), 0.0)

    def size(self, statistics: Floats) -> Floats:
        """Return about q mu."""
        return np.asarray(self.rate * statistics[0])

    def levels(self, mu: Floats, top: float) -> tuple[tuple[Law, ...], Floats]:
        """Return laws at a few mu, evenly spaced in log mu up to the top, and the index of each row's law."""
        mus = top * 2.0 ** (3 * (np.arange(1, _LEVELS + 1) - _LEVELS) / _LEVELS)
        laws: tuple[Law, ...] = (Point(0.0), *(sampled(self.rate, float(one), self.neighbors) for one in mus))
        return laws, np.where(mu > 0, np.minimum(np.searchsorted(mus, down(mu)) + 1.0, _LEVELS), 0.0)


def _discrete(mu: Floats) -> tuple[Floats, Floats, Floats]:
    """Losses, their probabilities and that of an infinite one: the pair whose curve joins points of the mu-GDP one."""
    losses = (_REACH * mu + mu**2 / 2) * _GRID
    a, curve = np.exp(losses), gaussian_curve(mu, losses)  # type: ignore[arg-type]
    first, last = (1 - curve[:1]) / a[:1], np.zeros_like(a[:1])
    slope = np.concatenate([first, -np.diff(curve, axis=0) / np.diff(a, axis=0), last])
    return losses, np.maximum(-np.diff(slope, axis=0), 0.0) * a, curve[-1]
