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
from discreet.domain.levels import level_places, model_design
from discreet.privacy.events.base import Event, of_kind
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import ReleasedStage
from discreet.recipes import budget
from discreet.recipes.base import Facts, Spending, Steps
from discreet.recipes.geometry import NARROW, StageGeometry, as_declared, mean_alone, number_of_stages
from discreet.recipes.outlook import unlikely
from discreet.recipes.rules import NEWEST, RULES, Rules
from discreet.recipes.staged import Covariance, StagedRecipe, Stages, extreme_blocks, stage_options
from discreet.recipes.steps import column_axes, outcome_counts, total
from discreet.solve.axes import rare_gaps
from discreet.solve.location import WHOLE, Location, locate, locate_level, next_span, rows_of
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
    rules : int
        The version of the rules; see `recipes.rules`.
    many : bool, optional
        Whether the last of three stages is near least squares; by default the number of rows decides, see `Rules.many`.
    """

    design: tuple[str, ...]
    targets: tuple[str, ...]
    stages: Stages = "auto"
    covariance: Covariance = "auto"
    rules: int = NEWEST
    many: bool | None = None

    name: ClassVar[str] = "stages"

    @property
    def _rules(self) -> Rules:
        return RULES[self.rules]

    def steps(self) -> Steps[StageGeometry]:
        """Locate the outcomes and the columns, and release each stage in coordinates that those before it found."""
        spending = Spending(self.facts)
        geometry, count, weights = yield from self.start(spending)
        done: list[ReleasedStage] = []
        for k, weight in enumerate(weights, start=1):
            last, norms = k == len(weights), None
            final = last and k >= 3 and geometry.many
            if final:
                norms = done[-1] if not self._rules.norms else (yield from self._norms(spending, geometry, done))
            mu = spending.left(weight)
            coordinates = geometry.coordinates(done, mu, len(weights), norms)
            shares = self._shares(geometry, coordinates, mu, count, last=last, final=final)
            choose = partial(geometry.chosen, coordinates=coordinates, mu=mu, final=final)
            stage = yield from spending.stage(coordinates, shares, mu, choose, geometry.radii)
            done.append(stage)
        return geometry

    def _norms(
        self, spending: Spending, geometry: StageGeometry, done: Sequence[ReleasedStage]
    ) -> Steps[ReleasedStage]:
        """Count the row norms in the axes of the last stage."""
        coordinates, mu = geometry.norm_coordinates(done), spending.left(self._rules.norms)
        norms = yield from spending.stage(coordinates, {RowNormCounts.name: 1.0}, mu)
        return norms

    def start(self, spending: Spending) -> Steps[Start]:
        """Find the number of rows, where each outcome lies, and axes along the columns."""
        domain = self.facts.domain
        locations = yield from self.located(spending)
        n = locations[0].rows
        ball = in_ball(domain, self.design)
        count = self._count(n)
        many = self.many
        if many is None:
            many = count != 3 or n * self.facts.mu / domain.most >= self._rules.many * self.size**1.5
        shares = budget.STAGES[count] if many else self._rules.several_shares
        if ball:
            shares = budget.BALL_STAGES.get(count, shares[1:])
        weights = [share / math.fsum(shares[i:]) for i, share in enumerate(shares)]
        if count == 0 or ball:
            axes = as_declared(self.design) if ball else mean_alone(self.design)
        else:
            axes = yield from column_axes(spending, self.design, n, spending.left(weights.pop(0)))
        gaps = None
        if self._rules.capped and self.constant and count > 0 and not ball:
            gaps = rare_gaps(axes, level_places(domain, self.design))
        own = tuple(locations), axes, domain.most, self._rules, gaps, many
        geometry = StageGeometry(self.design, self.targets, *own)
        return Start(geometry, count, weights)

    def located(self, spending: Spending) -> Steps[list[Location]]:
        """Release the number of rows and two levels of counts of each outcome."""
        facts, m, rows = self.facts, len(self.targets), None
        if facts.counted_rows is not None:
            rows = float(facts.counted_rows), 0.0
        elif facts.neighbors == "add-remove":
            rows = yield from total(spending, CONSTANT)
        if rows is not None and not self.constant and not self._rules.counted:
            return [locate([], rows, centred=False) for _ in self.targets]
        numerator, least, most = budget.OUTCOME_COUNTS
        mu = facts.mu / facts.domain.most
        guess = 2 * numerator / mu if rows is None else max(rows[0], rows[1], 1.0)
        share = min(max(numerator / (guess * mu), least), most) / 2
        first = yield from outcome_counts(spending, self.targets, [None] * m, share)
        known = [rows or rows_of(counts) for counts in first]
        levels = [self.constant and is_level(facts.domain, name) for name in self.targets]
        pairs = zip(first, known, levels, strict=True)
        spans = [WHOLE if level else next_span(counts, own, centred=self.constant) for counts, own, level in pairs]
        second = yield from outcome_counts(spending, self.targets, spans, share)
        found = zip(first, second, known, levels, strict=True)
        return [
            locate_level([whole, part], own) if level else locate([whole, part], own, centred=self.constant)
            for whole, part, own, level in found
        ]

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
            return number_of_stages(n_mu, self.size, constant=self.constant, rules=self._rules)
        return self.stages

    def _shares(
        self, geometry: StageGeometry, coordinates: Coordinates, mu: float, count: int, *, last: bool, final: bool
    ) -> Mapping[str, float]:
        """Return the shares of the statistics of a stage, with counts of row norms if it has edges for them.

        The last stage has score products, unless its standard errors are classical; with them, U'U of a single outcome
        is that of the rows whose residuals are not clipped.
        """
        split = self._rules.last_stage if final else budget.STAGE if geometry.many else self._rules.several_stage
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
    def outlook(self) -> str:
        """That no interval is likely, where the number of rows was declared."""
        facts, promise = self.facts, self.facts.promise
        if facts.rows is None:
            return ""
        return unlikely(self.size, facts.rows, promise.epsilon, promise.delta, facts.domain.most)

    @property
    def histograms(self) -> tuple[str, ...]:
        """All outcomes."""
        return self.targets

    def extremes(self) -> Iterator[Sequence[Block]]:
        """Blocks with the least and the most noise that a release of this kind has."""
        return extreme_blocks(self.facts, self.design, self.targets[0])

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists stages of a linear model."""
        own = [event.coordinates for event in _stages(events)]
        if not own:
            return None
        if (told := stage_options(options, budget.MOST_STAGES, RULES)) is None:
            return None
        return cls(facts, own[0].design, own[0].outcomes, *told)

    def outlined(self, events: Sequence[Event]) -> Self:
        """Return the recipe with as many stages as are listed, and score products and row norms if they are listed."""
        stages = _stages(events)
        mean = len(stages) == 1 and len(stages[0].coordinates.axes) == 1
        robust = any(block.statistic == ScoreProducts.name for block in stages[-1].blocks)
        count = (0 if mean else len(stages)) if self.stages == "auto" else self.stages
        covariance = ("robust" if robust else "classical") if self.covariance == "auto" else self.covariance
        many = not self._rules.norms or count != 3 or any(event.of_norms for event in of_kind(StageEvent, events))
        return replace(self, stages=count, covariance=covariance, many=many)


def _stages(events: Sequence[Event]) -> list[StageEvent]:
    """Return the stages that are listed, without counts of row norms alone."""
    return [event for event in of_kind(StageEvent, events) if not event.of_norms]


def is_level(domain: Domain, name: str) -> bool:
    """Whether a coordinate is a level of a category, and so 0 or 1."""
    return domain.columns[domain.column_of[name]].is_indicator


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
