"""Gaussian releases of one session in turn: what was released, what is left of mu, and the steps that come first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from discreet.core.arrays import Floats
from discreet.core.rounding import down
from discreet.data.counts import Histogram, Margins
from discreet.data.stages import StageSums
from discreet.domain import CONSTANT, Domain
from discreet.domain.cells import Span
from discreet.gate.coordinates import Choice, Meat, Radii, release_stage
from discreet.gate.entropy import Entropy
from discreet.gate.moments import Want, block_noise, calibrate, exact_blocks, exact_counts, noisy_blocks
from discreet.gate.session import Session
from discreet.privacy import sensitivity
from discreet.privacy.events.base import Event
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.released.coordinates import Axes, standardised
from discreet.released.grids import GridValues, ReleasedStage, statistic
from discreet.released.solve.location import WHOLE, Counts

ROWS = 0.02
"""The share of mu^2 that tells the number of rows, where it was not declared."""


class Steps:
    """What was released so far, and what is left of mu, which all steps together cost."""

    def __init__(self, domain: Domain, session: Session, mu: float, source: Entropy) -> None:
        self.domain, self.session, self.mu, self._source = domain, session, mu, source
        self.events: list[Event] = []
        self.values: list[tuple[GridValues, ...]] = []

    def left(self, share: float = 1.0) -> float:
        """The mu that a share of what is left of mu^2 comes to."""
        spent = math.fsum(event.mu**2 for event in self.events)
        return down(math.sqrt(max(self.mu**2 - spent, 0.0) * share))

    def share(self, share: float) -> float:
        """The mu that a share of the mu^2 of the whole promise comes to."""
        return down(self.session.mu * math.sqrt(share))

    def add(self, blocks: Sequence[Block], exact: Sequence[list[Floats]]) -> list[Floats]:
        """Release statistics of the mapped columns."""
        values = noisy_blocks(exact, block_noise(blocks, self.domain.unit), self._source)
        mu = sensitivity.mu(blocks, self.domain, self.session.promise.neighbors)
        self.events.append(GaussianEvent(mu, tuple(blocks)))
        self.values += values
        return [statistic(block, own) for block, own in zip(blocks, values, strict=True)]

    def add_stage(
        self,
        sums: StageSums,
        blocks: Sequence[Block],
        choose: Choice | None = None,
        meat: Meat | None = None,
        radii: Radii | None = None,
    ) -> ReleasedStage:
        """Release a stage."""
        own = None if self.domain.unit.plain else radii
        neighbors = self.session.promise.neighbors
        stage = release_stage(sums, blocks, neighbors, choose, self._source, meat=meat, radii=own)
        self.events.append(stage.event)
        self.values += stage.values
        return stage

    def calibrated(self, wants: Sequence[Want], mu: float) -> list[Block]:
        """The noise of some statistics of the mapped columns that costs mu."""
        return calibrate(wants, self.domain, self.session.promise.neighbors, mu)


def number_of_rows(steps: Steps, margins: Margins) -> tuple[float, float]:
    """The noisy number of rows, and the sd of its noise."""
    blocks = steps.calibrated([Want("sums", (CONSTANT,), (), 1.0)], steps.share(ROWS))
    (total,) = steps.add(blocks, exact_blocks(margins, blocks))
    return float(total[0]), blocks[0].sd


def counted(
    steps: Steps,
    histograms: Sequence[Histogram],
    spans: Sequence[Span | None],
    wants: Sequence[Want],
    share: float,
) -> list[Counts]:
    """Noisy counts over spans; those of the second level name theirs even if it is the whole, so that they differ."""
    plain = steps.calibrated(wants, steps.share(share))
    blocks = [replace(block, span=span) for block, span in zip(plain, spans, strict=True)]
    exact = [exact_counts(histogram, block) for histogram, block in zip(histograms, blocks, strict=True)]
    found = steps.add(blocks, exact)
    return [Counts(values, span or WHOLE, block.sd) for values, span, block in zip(found, spans, blocks, strict=True)]


def columns(steps: Steps, margins: Margins, design: Sequence[str], n: float, mu: float) -> Axes:
    """Axes along the columns, from the sums of x and of x^2."""
    names = tuple(name for name in design if name != CONSTANT)
    blocks = steps.calibrated([Want("sums", names, (), 0.5), Want("diagonal", names, (), 0.5)], mu)
    sums, squares = steps.add(blocks, exact_blocks(margins, blocks))
    return standardised(sums, squares, (blocks[0].sd, blocks[1].sd), n, constant=design[0] == CONSTANT)
