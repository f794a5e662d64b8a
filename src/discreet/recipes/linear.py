"""The default linear model: locate outcomes and columns, then release stages in whitened coordinates.

Every step is a release with Gaussian noise, and its values determine the next one: its coordinates, its half widths,
its share of what is left. Whatever they are, mu^2 of all steps adds up to that of the promise.
Mathematics in ``docs/mathematics``, sections 11 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

from discreet.domain import CONSTANT, Domain
from discreet.domain.coordinates import Coordinates
from discreet.domain.levels import model_design
from discreet.privacy.events.base import Event, of_kind
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import ReleasedStage
from discreet.recipes import budget
from discreet.recipes.base import Facts, Spending, Steps
from discreet.recipes.geometry import NARROW, StageGeometry, as_declared, mean_alone, number_of_stages
from discreet.recipes.noise import StatisticRequest, calibrate
from discreet.recipes.staged import Covariance, StagedRecipe, Stages, stage_options
from discreet.recipes.steps import column_axes, outcome_counts, total
from discreet.solve.location import Location, locate, next_span, rows_of
from discreet.statistics.row_norms import RowNormCounts
from discreet.statistics.scores import ScoreProducts

_FEW = 10.0
"""Below this n mu^2/q, score products are left out unless they are asked for: they would be lost in noise."""


class Start(NamedTuple):
    """The geometry of the stages, their number, and the share of each of what is left of mu^2."""

    geometry: StageGeometry
    number: int
    weights: list[float]


@dataclass(frozen=True)
class Linear(StagedRecipe):
    """A linear model in stages.

    Parameters
    ----------
    facts : Facts
        The public facts.
    design, targets : tuple of str
        Coordinates of the regressors, and the outcomes.
    stages : int or "auto"
        The number of stages; "auto" decides by the released number of rows.
    covariance : {"auto", "robust", "classical"}
        "classical" leaves out the score products that robust standard errors need, and so does "auto" for wide tables;
        the mean alone has none either.
    """

    design: tuple[str, ...]
    targets: tuple[str, ...]
    stages: Stages = "auto"
    covariance: Covariance = "auto"

    name: ClassVar[str] = "stages"

    def steps(self) -> Steps[StageGeometry]:
        """Locate the outcomes and the columns, and release each stage in coordinates that those before it found."""
        spending = Spending(self.facts)
        geometry, count, weights = yield from self.start(spending)
        done: list[ReleasedStage] = []
        for k, weight in enumerate(weights, start=1):
            mu, last = spending.left(weight), k == len(weights)
            coordinates = geometry.coordinates(done, mu, len(weights))
            shares = self._shares(geometry, coordinates, mu, count, last=last, final=last and k >= 3)
            choose = partial(geometry.chosen, coordinates=coordinates, mu=mu, final=last and k >= 3)
            stage = yield from spending.stage(coordinates, shares, mu, choose, geometry.radii)
            done.append(stage)
        return geometry

    def start(self, spending: Spending) -> Steps[Start]:
        """Find the number of rows, where each outcome lies, and axes along the columns."""
        domain = self.facts.domain
        locations = yield from self._located(spending)
        n = locations[0].rows
        ball = in_ball(domain, self.design)
        count = self._count(n)
        shares = budget.BALL_STAGES.get(count, budget.STAGES[count][1:]) if ball else budget.STAGES[count]
        weights = [share / math.fsum(shares[i:]) for i, share in enumerate(shares)]
        if count == 0 or ball:
            axes = as_declared(self.design) if ball else mean_alone(self.design)
        else:
            axes = yield from column_axes(spending, self.design, n, spending.left(weights.pop(0)))
        geometry = StageGeometry(self.design, self.targets, tuple(locations), axes, domain.most)
        return Start(geometry, count, weights)

    def _located(self, spending: Spending) -> Steps[list[Location]]:
        """Release the number of rows and two levels of counts of each outcome."""
        facts, m, rows = self.facts, len(self.targets), None
        if facts.counted_rows is not None:
            rows = float(facts.counted_rows), 0.0
        elif facts.neighbors == "add-remove":
            rows = yield from total(spending, CONSTANT)
        if rows is not None and not self.constant:
            return [locate([], rows, centred=False) for _ in self.targets]
        numerator, least, most = budget.OUTCOME_COUNTS
        mu = facts.mu / facts.domain.most
        guess = 2 * numerator / mu if rows is None else max(rows[0], rows[1], 1.0)
        share = min(max(numerator / (guess * mu), least), most) / 2
        first = yield from outcome_counts(spending, self.targets, [None] * m, share)
        known = [rows or rows_of(counts) for counts in first]
        pairs = zip(first, known, strict=True)
        spans = [next_span(counts, own, centred=self.constant) for counts, own in pairs]
        second = yield from outcome_counts(spending, self.targets, spans, share)
        found = zip(first, second, known, strict=True)
        return [locate([whole, part], own, centred=self.constant) for whole, part, own in found]

    @property
    def constant(self) -> bool:
        """Whether the design begins with the constant."""
        return self.design[0] == CONSTANT

    @property
    def size(self) -> int:
        """The number of coefficients, without the levels that the others of their category imply."""
        return len(model_design(self.facts.domain, self.design)[0])

    def _count(self, n: float) -> int:
        if self.stages == "auto" or self.design == (CONSTANT,):
            n_mu = n * self.facts.mu / self.facts.domain.most
            return number_of_stages(n_mu, self.size, constant=self.constant)
        return self.stages

    def _shares(
        self, geometry: StageGeometry, coordinates: Coordinates, mu: float, count: int, *, last: bool, final: bool
    ) -> Mapping[str, float]:
        """Return the shares of the statistics of a stage, with counts of row norms if it has edges for them.

        The last stage has score products, unless its standard errors are classical; with them, U'U of a single outcome
        is that of the rows whose residuals are not clipped.
        """
        split = budget.LAST_STAGE if final else budget.STAGE
        if coordinates.row_norms:
            split = _beside(split, RowNormCounts.name, budget.ROW_NORMS)
        signal = geometry.rows * (mu / geometry.most) ** 2 / len(coordinates.axes)
        covariance = self._covariance(count)
        if last and (covariance == "robust" or (covariance == "auto" and signal > _FEW)):
            split = _beside(split, ScoreProducts.name, _score_share(signal))
            if len(self.targets) == 1 and self.facts.domain.unit.plain:
                split = {"inner" if kind == "gram" else kind: own for kind, own in split.items()}
        return split

    def _covariance(self, count: int) -> Covariance:
        """Return the kind of standard errors; with persons or weights they are robust (clustered) wherever possible."""
        plain = self.facts.domain.unit.plain
        if count == 0 and (plain or len(self.design) > 1):
            return "classical"
        if self.covariance != "auto":
            return self.covariance
        return "classical" if self.size > NARROW else "auto" if plain else "robust"

    # ---------------------------------------------------------------- as drivers need it

    @property
    def histograms(self) -> tuple[str, ...]:
        """All outcomes."""
        return self.targets

    def extremes(self) -> Iterator[Sequence[Block]]:
        """Blocks with the least and the most noise that a release of this kind has."""
        domain, neighbors = self.facts.domain, self.facts.neighbors
        counts = StatisticRequest("counts", (), self.targets[:1], 1.0)
        sums = StatisticRequest("sums", self.design, (), 1.0)
        for share in (1.0, budget.LEAST):
            mu = self.facts.mu * math.sqrt(share)
            yield [*calibrate([counts], domain, neighbors, mu), *calibrate([sums], domain, neighbors, mu)]

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists stages of a linear model."""
        own = [event.coordinates for event in of_kind(StageEvent, events)]
        if not own:
            return None
        if (told := stage_options(options, budget.MOST_STAGES)) is None:
            return None
        return cls(facts, own[0].design, own[0].outcomes, *told)

    def outlined(self, events: Sequence[Event]) -> Self:
        """Return the recipe with as many stages as are listed, and score products if they are listed."""
        stages = of_kind(StageEvent, events)
        mean = len(stages) == 1 and len(stages[0].coordinates.axes) == 1
        robust = any(block.statistic == ScoreProducts.name for block in stages[-1].blocks)
        count = (0 if mean else len(stages)) if self.stages == "auto" else self.stages
        covariance = ("robust" if robust else "classical") if self.covariance == "auto" else self.covariance
        return replace(self, stages=count, covariance=covariance)


def in_ball(domain: Domain, design: Sequence[str]) -> bool:
    """Whether all regressors lie in the ball of a `data_norm`."""
    return {domain.column_of[name] for name in design} <= set(domain.norm_columns)


def _score_share(signal: float) -> float:
    """Return the share of score products, given n mu^2 over the number of axes."""
    step, least, most = budget.SCORE_PRODUCTS
    return min(max(step * (math.log10(max(signal, 1.0)) - 1), least), most)


def _beside(split: Mapping[str, float], kind: str, share: float) -> Mapping[str, float]:
    """Return shares that leave this share for another statistic."""
    return {other: (1 - share) * own for other, own in split.items()} | {kind: share}
