"""The recipe of models of classes and counts: whiten the columns, then take noisy scoring steps.

Every release has Gaussian noise, as in a linear model. The first ones locate the outcome and the columns and find
coordinates that whiten the columns. Each step releases the sum of u e at the model so far, and the posterior given all
steps is the next model. A last stage, at the model, tells its standard errors. Mathematics in ``docs/mathematics``,
section 13.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.domain.levels import level_places, model_design
from discreet.families import FAMILIES, Family, Link
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy.events.base import Event, of_kind
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import ReleasedStage
from discreet.recipes import budget
from discreet.recipes.base import Facts, Spending, Steps
from discreet.recipes.geometry import quiet_place, score_radii
from discreet.recipes.glm_geometry import (
    Frame,
    ModelGeometry,
    Scale,
    clipped_share,
    count_scale,
    is_wide,
    mean_exposure,
    number_of_stages,
    step_width,
    widths_at_model,
)
from discreet.recipes.outlook import no_errors, unlikely
from discreet.recipes.rules import MODEL_RULES, NEWEST_OF_MODELS, RULES_OF_COUNTS, ModelRules
from discreet.recipes.staged import Covariance, StagedRecipe, Stages, extreme_blocks, stage_options
from discreet.recipes.steps import column_axes, outcome_counts, total, totals
from discreet.solve.axes import rare_gaps
from discreet.solve.scoring import Derivative, NoisyScore, ScoreField, Scoring
from discreet.solve.sizes import count_law, count_span
from discreet.statistics.row_norms import RowNormCounts
from discreet.statistics.scores import ScoreProducts

MOST_STAGES = 3

_RAREST = 0.01
"""The smallest share of a class that is assumed before the first step."""

LIKELY = 6.0
"""From this value of n mu/q^1.5 on standard errors are likely; below, all goes to the steps."""

_DOUBT = 0.1
"""The prior variance of the constant, besides that of the noise in the share of a class."""


@dataclass(frozen=True)
class Predictors:
    """A generalised linear model of one outcome.

    Parameters
    ----------
    link : {"logit", "softmax", "log", "sign"}
        The link, which names the family.
    design : tuple of str
        Coordinates of the regressors.
    column : str
        The outcome's column.
    outcomes : tuple of str
        For each linear predictor, the coordinate of its residuals.
    exposure : str, optional
        For counts, the column whose logarithm is added to the predictor.
    width : float, optional
        The width of the corner of a smooth hinge.
    """

    link: Link
    design: tuple[str, ...]
    column: str
    outcomes: tuple[str, ...]
    exposure: str | None = None
    width: float | None = None

    @property
    def family(self) -> Family:
        """The family of the outcome."""
        return FAMILIES[self.link]

    @property
    def constant(self) -> bool:
        """Whether the design begins with the constant."""
        return self.design[0] == CONSTANT

    def at(self, plain: Coordinates, theta: Floats, widths: Sequence[float], most: float) -> ModelCoordinates:
        """Return the coordinates of a step or of the last stage, at a model theta."""
        own = [list(widths)] * len(self.outcomes)
        return ModelCoordinates.at(plain, self.outcomes, theta, own, self.link, most, self.exposure, self.width)


class ScoringStart(NamedTuple):
    """The facts that the first releases tell: number of rows, size of counts, frame, posterior before any step."""

    rows: float
    scale: Scale | None
    frame: Frame
    scoring: Scoring


class Scored(NamedTuple):
    """The result of a recipe: the start, the posterior after all steps, and the coefficients (d, m)."""

    start: ScoringStart
    scoring: Scoring
    theta: Floats


@dataclass(frozen=True)
class Glm(StagedRecipe):
    """A model of classes or counts by noisy scoring steps in private coordinates.

    Parameters
    ----------
    facts : Facts
        The public facts.
    model : Predictors
        The model.
    stages : {2, 3, "auto"}
        Whether products of columns are released before the model; "auto" decides by the number of rows.
    covariance : {"auto", "robust", "classical"}
        Whether standard errors hold where the model does not describe the variances. "auto" has none where rows are
        few, nor of classes where the table is wide.
    rules : int
        The version of the rules; see `recipes.rules`.
    errors : bool, optional
        Whether a listed release has standard errors; by default the number of rows decides.
    """

    model: Predictors
    stages: Stages = "auto"
    covariance: Covariance = "auto"
    rules: int = NEWEST_OF_MODELS
    errors: bool | None = None

    name: ClassVar[str] = "scoring steps"

    def steps(self) -> Steps[Scored]:
        """Find the coordinates, take the steps, and release the statistics of standard errors at their model."""
        spending = Spending(self.facts)
        start = yield from self.start(spending)
        last = self._last(start.rows)
        left = spending.left() ** 2
        left -= min(last * self.facts.mu**2, budget.MOST_AT_MODEL * left)
        growth = [self._rules.growth**k for k in range(budget.SCORING_STEPS)]
        plain: Coordinates = start.frame.coordinates
        scoring, most = start.scoring, self._most(start)
        for k in range(budget.SCORING_STEPS):
            own = self.model.at(plain, _theta(plain, scoring.mean), [scoring.field.width], most)
            final = last == 0 and k == budget.SCORING_STEPS - 1
            mu = spending.left() if final else math.sqrt(left * growth[k] / math.fsum(growth))
            stage = yield from spending.stage(own, {"cross": 1.0}, mu)
            plain, scoring = stage.event.coordinates, _after(scoring, stage)
        if last > 0:
            at = self.model.at(plain, _theta(plain, scoring.mean), widths_at_model(start.scale), most)
            scoring = _after(scoring, (yield from self._at_model(spending, start, at)))
        return Scored(start, scoring, _theta(plain, scoring.mean))

    def start(self, spending: Spending) -> Steps[ScoringStart]:
        """Locate outcome and columns, release products of the columns if worthwhile; return the coordinates."""
        facts, own, mu = self.facts, self.model, self._mu
        n = float(facts.counted_rows) if facts.counted_rows else (yield from total(spending, CONSTANT))[0]
        n, scale, exposure = max(n, 1.0), None, 1.0
        if own.exposure is not None:
            exposed, _ = yield from total(spending, own.exposure)
            exposure = mean_exposure(exposed, n, facts.domain.map(own.exposure))
        shares = self._raised(n * mu)
        if self.histograms:
            scale = yield from self.counted(spending, shares["counts"] / 2, n)
            scale = scale._replace(exposure=exposure)
            at_mean, doubt = np.array([math.log(scale.mean / exposure)]), _DOUBT
        else:
            at_mean, doubt = yield from self.class_shares(spending, n)
        axes = yield from column_axes(spending, own.design, n, spending.share(shares["columns"]))
        gaps = rare_gaps(axes, level_places(facts.domain, own.design)) if own.constant else None
        geometry = ModelGeometry(own.design, n, mu, axes, facts.domain.most, gaps, self._rules)
        stage = norms = None
        if self._number(n) == 3:
            stage = yield from spending.stage(geometry.first(), {"gram": 1.0}, spending.share(shares["products"]))
            wide = geometry.norm_coordinates(stage)
            norms = yield from spending.stage(wide, {RowNormCounts.name: 1.0}, spending.share(budget.MODEL_NORMS))
        frame = geometry.final(stage, norms)
        return ScoringStart(n, scale, frame, self._before(frame, n, scale, at_mean, doubt))

    def _before(self, frame: Frame, n: float, scale: Scale | None, at_mean: Floats, doubt: float) -> Scoring:
        """Return the posterior before any step: the constant model."""
        own, r = self.model, frame.coordinates.radius
        start = np.zeros((len(own.design), len(own.outcomes)))
        if own.constant:
            start[0] = r * at_mean
        family, most = own.family, 1.0 if scale is None else scale.most
        shift = 0.0 if scale is None else math.log(scale.exposure)
        mean = family.field(most, shift, 1 / (1 + np.exp(-at_mean)), own.width)
        field = ScoreField(mean, frame.V, n, r, step_width(frame, scale, errors=self._last(n) > 0), own.constant)
        return Scoring(field, start, doubt)

    def class_shares(self, spending: Spending, n: float, share: float | None = None) -> Steps[tuple[Floats, float]]:
        """Release the share of the class of each predictor; return log odds at the mean and their prior variance."""
        own, facts, logs, doubt = self.model, self.facts, [], _DOUBT
        if not own.constant:
            return np.zeros(len(own.outcomes)), doubt
        found, sd = yield from totals(spending, own.outcomes, share)
        middle = 1 / max(len(own.outcomes), 2)
        for name, ones in zip(own.outcomes, found, strict=True):
            centre, half = facts.domain.map(name)
            noise = math.sqrt(half**2 + middle**2) * sd / n
            p = middle + (min(max(centre + half * ones / n, 0.0), 1.0) - middle) / (1 + 12 * noise**2)
            p = min(max(p, _RAREST), 1 - _RAREST)
            logs.append(math.log(p) if own.family.joint else math.log(p / (1 - p)))
            doubt = max(doubt, _DOUBT + min(noise / (p * (1 - p)), 1.0) ** 2)
        at_mean = np.array(logs)
        return at_mean - at_mean.mean() if own.family.joint else at_mean, doubt

    def counted(self, spending: Spending, share: float, n: float) -> Steps[Scale]:
        """Release two levels of counts of the outcome, and return its scale."""
        column, facts = self.model.column, self.facts
        declared = facts.domain.map(column)
        (first,) = yield from outcome_counts(spending, [column], [None], share)
        span = count_span(count_law([first], n, 2 * declared[1]))
        (second,) = yield from outcome_counts(spending, [column], [span], share)
        return count_scale([first, second], n, declared, self._mu, len(self.model.design))

    def _at_model(self, spending: Spending, start: ScoringStart, stage: ModelCoordinates) -> Steps[ReleasedStage]:
        """Release the statistics of standard errors, at the model."""
        split = self._rules.last_stage[self.model.link]
        kept = {
            kind: share for kind, share in split.items() if self.covariance != "classical" or kind != ScoreProducts.name
        }
        if ScoreProducts.name in kept and not self.facts.domain.unit.plain:
            kept["squares"] = budget.SQUARES_OF_PERSONS
        shares = {kind: share / math.fsum(kept.values()) for kind, share in kept.items()}
        clipped = clipped_share(start.rows, self._mu, len(stage.design))

        def choose(counts: Mapping[str, Floats], sd: float) -> list[int]:
            return [quiet_place(counts[name], clipped, sd, self._rules.radius.noise) for name in stage.outcomes]

        def radii(found: Mapping[str, Floats]) -> tuple[float, ...]:
            return score_radii(start.frame.typical_square, found["squares"] / start.rows, stage.most)

        found = yield from spending.stage(stage, shares, spending.left(), choose, radii)
        return found

    # ---------------------------------------------------------------- shares, from public facts alone

    @property
    def _rules(self) -> ModelRules:
        return MODEL_RULES[min(self.rules, RULES_OF_COUNTS) if self.model.family.sized else self.rules]

    @property
    def _mu(self) -> float:
        """The cost of the promise for one row of a person."""
        return self.facts.mu / self.facts.domain.most

    @staticmethod
    def _most(start: ScoringStart) -> float:
        return 1.0 if start.scale is None else start.scale.most

    @property
    def _sure(self) -> bool:
        """Whether the model has standard errors, given rows enough; of several classes, for rows that count alike."""
        own = self.model
        sure = own.family.staged and (not own.family.joint or self.facts.domain.unit.plain)
        return sure and (own.family.sized or self.covariance != "auto" or not is_wide(self._size))

    @property
    def _size(self) -> int:
        """The number of coefficients in the coordinates of the steps, without those that follow from others."""
        own = self.model
        return len(own.design) * (len(own.outcomes) - 1 if own.family.joint else 1)

    def _last(self, n: float) -> float:
        """Return the share of the last stage: none where no standard error is likely, unless they are asked for."""
        likely = self.errors if self.errors is not None else n * self._mu >= LIKELY * self._size**1.5
        return self._rules.last[self.model.link] if self._sure and (likely or self.covariance != "auto") else 0.0

    def _raised(self, n_mu: float) -> dict[str, float]:
        """Return the shares of the first releases for this n mu: with few rows they are larger."""
        shares = {"columns": budget.MODEL_COLUMNS, "products": budget.MODEL_PRODUCTS}
        shares |= {"counts": budget.COUNTS} if self.model.family.sized else {}
        return {
            name: max(share, min(few / n_mu, most))
            for name, share in shares.items()
            for few, most in [budget.RAISED[name]]
        }

    def _number(self, n: float) -> int:
        if self.stages == "auto":
            return number_of_stages(n * self._mu, len(self.model.design))
        return self.stages

    # ---------------------------------------------------------------- as drivers need it

    @property
    def outlook(self) -> str:
        """That no interval is likely, where the number of rows was declared; or that this model has none by default.

        Nothing is said of several classes, nor of models that have none in any case.
        """
        facts, promise, own = self.facts, self.facts.promise, self.model
        if not own.family.staged or len(own.outcomes) > 1:
            return ""
        size = len(model_design(facts.domain, own.design)[0])
        if not self._sure:
            return no_errors(size)
        if facts.rows is None:
            return ""
        return unlikely(size, facts.rows, promise.epsilon, promise.delta, facts.domain.most, linear=False)

    @property
    def histograms(self) -> tuple[str, ...]:
        """The outcome, where it is a count."""
        return (self.model.column,) if self.model.family.sized else ()

    def extremes(self) -> Iterator[Sequence[Block]]:
        """Blocks with the least and the most noise that a release of this kind has."""
        return extreme_blocks(self.facts, self.model.design, self.model.outcomes[0])

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists scoring steps."""
        stages = [event.coordinates for event in of_kind(StageEvent, events)]
        steps = [own for own in stages if isinstance(own, ModelCoordinates) and own.shrinkage is None]
        if len(steps) < budget.SCORING_STEPS or (told := stage_options(options, MOST_STAGES, MODEL_RULES)) is None:
            return None
        first = steps[0]
        column = facts.domain.column_of[first.outcomes[0]]
        model = Predictors(first.link, first.design, column, first.outcomes, first.exposure, first.width)
        return cls(facts, model, *told)

    def outlined(self, events: Sequence[Event]) -> Self:
        """Return the recipe with products of columns, and score products, if they are listed."""
        stages = of_kind(StageEvent, events)
        products = [event for event in stages if not isinstance(event.coordinates, ModelCoordinates)]
        at = [event for event in stages if any(block.kind.of_slopes for block in event.blocks)]
        robust = any(block.statistic == ScoreProducts.name for event in at for block in event.blocks)
        told: Covariance = "auto" if not at else "robust" if robust else "classical"
        count = (3 if products else 2) if self.stages == "auto" else self.stages
        covariance = told if self.covariance == "auto" else self.covariance
        return replace(self, stages=count, covariance=covariance, errors=bool(at))


def _after(scoring: Scoring, stage: ReleasedStage) -> Scoring:
    """Return the posterior given a step or the last stage, whose half width may be another one than that of steps."""
    own, b, step = stage.event.coordinates, stage.event.widths[0], scoring.field.width
    assert isinstance(own, ModelCoordinates)
    found = NoisyScore(scoring.mean, stage.cross * (b / step), stage.sd("cross") * b / step)
    if not stage.holds("information"):
        return scoring.after(found)
    c = own.largest_slope / step
    return scoring.after(found, Derivative(c * stage.information(own.outcomes[0]), c * stage.sd("information")))


def _theta(own: Coordinates, gamma: Floats) -> Floats:
    """Return the coefficients of the mapped columns."""
    return own.linear(gamma)
