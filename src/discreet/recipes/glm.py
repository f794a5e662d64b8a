"""Recipes of models of classes and counts: whiten, minimise perturbed objectives, and release their standard errors.

A few Gaussian releases, whose mu is fixed beforehand, find coordinates that whiten the columns. The noise of the
objectives is fixed beforehand, too, in units of these coordinates. A last Gaussian release at the minimisers tells
their standard errors. Mathematics in ``docs/mathematics``, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.rounding import down, up
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.domain.levels import level_places, model_design
from discreet.families import Family, Link, Loss, family_of
from discreet.families.coordinates import ModelCoordinates
from discreet.mechanisms.objective_perturbation.event import ROTATED_SIZE, Calibration, ObjectiveEvent
from discreet.privacy import sensitivity
from discreet.privacy.events.base import Event, of_kind
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.recipes import budget
from discreet.recipes.base import AskMinimisers, Facts, Spending, Steps
from discreet.recipes.geometry import quiet_place
from discreet.recipes.glm_geometry import (
    MODEL_RULES,
    Lead,
    ModelGeometry,
    Scale,
    clipped_share,
    count_scale,
    is_few,
    is_wide,
    mean_exposure,
    number_of_stages,
    residual_widths,
)
from discreet.recipes.outlook import no_errors, unlikely
from discreet.recipes.prior import Prior, prior
from discreet.recipes.rules import NEWEST
from discreet.recipes.staged import Covariance, StagedRecipe, Stages, stage_options
from discreet.recipes.steps import column_axes, outcome_counts, total
from discreet.solve.axes import rare_gaps
from discreet.solve.newton import WeightedPenalty
from discreet.solve.sizes import count_law, count_span
from discreet.statistics.scores import ScoreProducts

MOST_STAGES = 3

_ROOM = 1e-7
"""Slack for rounding errors: the objective allows Gaussian releases to cost this share more of mu than planned."""


@dataclass(frozen=True)
class Predictors:
    """The linear predictors of a model and their loss.

    Parameters
    ----------
    loss : Loss
        The loss of a row; of counts, with the largest declared count as its limit.
    design : tuple of str
        Coordinates of the regressors.
    column : str
        The outcome's column.
    count : int
        The number of linear predictors.
    link : {"logit", "log"}, optional
        The link of the last release, which gives standard errors; without a link there are none.
    outcomes : tuple of str
        For each linear predictor, the coordinate of the residuals in the last release.
    exposure : str, optional
        For counts, the column whose logarithm is added to the predictor.
    """

    loss: Loss
    design: tuple[str, ...]
    column: str
    count: int = 1
    link: Link | None = None
    outcomes: tuple[str, ...] = ()
    exposure: str | None = None

    @property
    def family(self) -> Family:
        """The family of the outcome."""
        return family_of(self.loss)

    @property
    def led(self) -> bool:
        """Whether the prior of the model comes from least squares for the outcome."""
        return self.family.led and self.link is not None and self.design[0] == CONSTANT


class PilotFacts(NamedTuple):
    """The coordinates of a model, the number of rows, the scale of counts, and the prior."""

    coordinates: Coordinates
    rows: float
    scale: Scale | None
    prior: Prior
    geometry: ModelGeometry


class Minimised(NamedTuple):
    """The answer to `AskMinimisers`: the event that the certificate lists, and the coefficients of each predictor."""

    event: ObjectiveEvent
    thetas: list[Floats]


def rotated_norm(design: Sequence[str]) -> float:
    """The largest norm of a row in coordinates of a stage, as many as there are columns."""
    d = len(design)
    plain = Coordinates.rounded(design, [], np.eye(d), np.zeros((d, 0)), 1.0, [])
    return sensitivity.norm(plain.axes, plain)


@dataclass(frozen=True)
class Glm(StagedRecipe):
    """A model of classes or counts in private coordinates.

    Parameters
    ----------
    facts : Facts
        The public facts.
    predictors : Predictors
        The linear predictors.
    stages : {2, 3, "auto"}
        Whether products of columns are released before the model; "auto" decides by the number of rows.
    covariance : {"auto", "robust", "classical"}
        Whether standard errors hold where the model does not describe the variances. "auto" has none of classes where
        the table is wide.
    rules : int
        The version of the rules; see `recipes.rules`.
    listed_scale : float, optional
        The noise of the objectives that a file lists. Accounting checks that it is the least that keeps the promise, so
        it need not be searched for again.
    """

    predictors: Predictors
    stages: Stages = "auto"
    covariance: Covariance = "auto"
    rules: int = NEWEST
    listed_scale: float | None = None

    name: ClassVar[str] = "perturbed objectives in stages"

    def steps(self) -> Steps[Minimised]:
        """Find the coordinates, minimise the objectives there, and release standard errors at the minimisers."""
        noise = self.noise
        spending = Spending(self.facts, self.gaussian_mu)
        found = yield from self.start(spending)
        event = self._event(noise, found)
        penalty = WeightedPenalty(found.prior.penalties(event, found.rows), np.zeros(len(event.design)))
        model: Minimised = yield AskMinimisers(event, penalty, found.prior.centre, self.predictors.count)
        if self.shares["errors"] > 0:
            yield from self._at_model(spending, found, model)
        return model

    def start(self, spending: Spending) -> Steps[PilotFacts]:
        """Locate counts and columns, release products of the columns if worthwhile, and return the coordinates."""
        facts, own, shares = self.facts, self.predictors, self.shares
        n = float(facts.rows) if facts.rows else (yield from total(spending, CONSTANT))[0]
        n, scale, exposure = max(n, 1.0), None, 1.0
        if own.exposure is not None:
            exposed, _ = yield from total(spending, own.exposure)
            exposure = mean_exposure(exposed, n, facts.domain.map(own.exposure))
        shares = self._raised(shares, n * facts.mu)
        if self.histograms:
            scale = yield from self._counted(spending, shares["counts"] / 2, n)
            scale = scale._replace(exposure=exposure)
        three = shares["products"] > 0 and (facts.rows is not None or self._number(n) == 3)
        last, stage = shares["errors"] == 0, None
        both = shares["columns"] + min(shares["products"], budget.PRODUCTS)
        alone = spending.left() if last else spending.share(both)
        mu = spending.share(shares["columns"]) if three else alone
        axes = yield from column_axes(spending, own.design, n, mu)
        gaps = None
        if self._rules.capped and own.design[0] == CONSTANT:
            gaps = rare_gaps(axes, level_places(facts.domain, own.design))
        geometry = ModelGeometry(own.design, n, facts.mu, axes, counts=scale is not None, gaps=gaps)
        lead = Lead(own.outcomes[0], facts.domain.map(own.outcomes[0])) if own.led else None
        if three:
            split = budget.COLUMN_PRODUCTS if lead is None else budget.COLUMN_PRODUCTS_WITH_CLASS
            mu = spending.left() if last else spending.share(shares["products"])
            stage = yield from spending.stage(geometry.first(lead), split, mu)
        coordinates = geometry.final(stage)
        return PilotFacts(coordinates, n, scale, prior(geometry, stage, scale, coordinates, lead), geometry)

    def _number(self, n: float) -> int:
        if self.stages == "auto":
            return number_of_stages(n * self.facts.mu, len(self.predictors.design))
        return self.stages

    def _counted(self, spending: Spending, share: float, n: float) -> Steps[Scale]:
        """Release two levels of counts of the outcome, and return its scale."""
        column, facts = self.predictors.column, self.facts
        declared = facts.domain.map(column)
        (first,) = yield from outcome_counts(spending, [column], [None], share)
        span = count_span(count_law([first], n, 2 * declared[1]))
        (second,) = yield from outcome_counts(spending, [column], [span], share)
        return count_scale([first, second], n, declared, facts.mu, len(self.predictors.design))

    def _at_model(self, spending: Spending, found: PilotFacts, model: Minimised) -> Steps[None]:
        """Release the statistics of standard errors, at the minimisers."""
        own, plain = self.predictors, model.event.coordinates
        assert own.link is not None
        assert plain is not None
        most = 1.0 if found.scale is None else found.scale.most
        widths = [[1.0] if found.scale is None else residual_widths(found.scale)] * len(own.outcomes)
        theta = np.column_stack(model.thetas)
        stage = ModelCoordinates.at(plain, own.outcomes, theta, widths, own.link, most, own.exposure)
        few = own.family.sized and is_few(found.rows * self.facts.mu, len(plain.design))
        split = budget.MODEL_STAGE_OF_FEW_ROWS if few else budget.MODEL_STAGE[own.link]
        kept = {
            kind: share for kind, share in split.items() if self.covariance != "classical" or kind != ScoreProducts.name
        }
        shares = {kind: share / math.fsum(kept.values()) for kind, share in kept.items()}
        clipped = clipped_share(found.rows, self.facts.mu, len(stage.design))

        def choose(counts: Mapping[str, Floats], sd: float) -> list[int]:
            return [quiet_place(counts[name], clipped, sd, MODEL_RULES.noise) for name in stage.outcomes]

        yield from spending.stage(stage, shares, spending.left(), choose)

    # ---------------------------------------------------------------- shares and noise, from public facts alone

    @cached_property
    def shares(self) -> dict[str, float]:
        """The shares of mu^2 of all Gaussian releases; products may get none."""
        own, n = self.predictors, self.facts.rows
        wide = is_wide(len(own.design))
        undecided = self.stages == "auto" and n is None and not wide
        three = self.stages == 3 or (self.stages == "auto" and n is not None and self._number(n) == 3)
        sure = own.link is not None and (own.family.sized or self.covariance != "auto" or not wide)
        products = budget.PRODUCTS_WITH_CLASS if own.led else budget.PRODUCTS
        return {
            "rows": budget.ROWS if n is None else 0.0,
            "exposure": 0.0 if own.exposure is None else budget.ROWS,
            "counts": budget.COUNTS if own.family.sized else 0.0,
            "columns": budget.COLUMNS if undecided or three else budget.COLUMNS_ALONE,
            "products": products if undecided or three else 0.0,
            "errors": budget.AT_MODEL[own.link] if own.link is not None and sure else 0.0,
        }

    def _raised(self, shares: Mapping[str, float], n_mu: float) -> dict[str, float]:
        """Return the shares for this n mu, those of the first releases raised at the cost of the last one."""
        if shares["errors"] == 0:
            return dict(shares)
        counts = self.predictors.family.sized
        apply = {"columns": True, "counts": counts, "products": counts and shares["products"] > 0}
        raised = {
            name: max(shares[name], min(few / n_mu, most)) for name, (few, most) in budget.RAISED.items() if apply[name]
        }
        return {**shares, **raised}

    @cached_property
    def gaussian_mu(self) -> float:
        """The cost of all Gaussian releases together."""
        return down(self.facts.mu * math.sqrt(math.fsum(self.shares.values())))

    @cached_property
    def calibration(self) -> Calibration:
        """The public facts that determine the noise of the objectives."""
        facts, promise, design = self.facts, self.facts.promise, self.predictors.design
        own = promise.epsilon, promise.delta, promise.neighbors, "gaussian", facts.rows
        return Calibration(self.predictors.loss, design, rotated_norm(design), *own, size=ROTATED_SIZE)  # type: ignore[arg-type]

    @cached_property
    def noise(self) -> ObjectiveEvent:
        """The noise of the objectives beside Gaussian releases; for counts, as if they were at most 1."""
        calibration, count = self.calibration, self.predictors.count
        others = [GaussianEvent(up(self.gaussian_mu, _ROOM), ())]
        if (family := self.predictors.family).sized:
            modulus = calibration.norm**2 / math.expm1(min(budget.CURVATURE * calibration.epsilon, 1.0))
            calibration = replace(calibration, loss=family.loss(1.0))
        else:
            modulus = calibration.least_modulus(count)
        if self.listed_scale is not None:
            return calibration.event(modulus, self.listed_scale)
        return calibration.calibrate(modulus, count, others)

    def _event(self, noise: ObjectiveEvent, found: PilotFacts) -> ObjectiveEvent:
        """Return the event of this noise in the coordinates, and for the scale of counts, that were found."""
        if found.scale is None:
            return replace(noise, coordinates=found.coordinates)
        own = replace(self.calibration, loss=self.predictors.family.loss(found.scale.most))
        event = own.event(noise.modulus * found.scale.most, noise.scale * found.scale.most)
        return replace(event, coordinates=found.coordinates)

    # ---------------------------------------------------------------- as drivers need it

    @property
    def price(self) -> dict[str, Any]:
        """The whole epsilon: minimisers of perturbed objectives have no mu."""
        return {"epsilon": self.facts.promise.epsilon}

    def check(self) -> None:
        """Refuse a promise that no noise of the objectives keeps, before anything is charged."""
        _ = self.noise

    @property
    def outlook(self) -> str:
        """That no interval is likely, where the number of rows was declared; or that this model has none by default.

        Models without a link have none in any case, and nothing is said of them.
        """
        facts, promise, own = self.facts, self.facts.promise, self.predictors
        if own.link is None:
            return ""
        size = len(model_design(facts.domain, own.design)[0])
        if self.shares["errors"] == 0:
            return no_errors(size)
        if facts.rows is None:
            return ""
        return unlikely(size, facts.rows, promise.epsilon, promise.delta, facts.domain.most, linear=False)

    @property
    def histograms(self) -> tuple[str, ...]:
        """The outcome, where it is a count."""
        return (self.predictors.column,) if self.predictors.family.sized else ()

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists objectives in the coordinates of a stage."""
        objectives = of_kind(ObjectiveEvent, events)
        if not objectives or objectives[0].coordinates is None:
            return None
        if (told := stage_options(options, MOST_STAGES)) is None:
            return None
        own = objectives[0]
        scale = own.scale / own.loss.slope if family_of(own.loss).sized else own.scale
        return cls(facts, _predictors(facts, events, objectives), *told, scale)

    def outlined(self, events: Sequence[Event]) -> Self:
        """Return the recipe with products of columns, and score products, if they are listed."""
        stages = of_kind(StageEvent, events)
        products = [event for event in stages if not isinstance(event.coordinates, ModelCoordinates)]
        at = [event for event in stages if isinstance(event.coordinates, ModelCoordinates)]
        robust = any(block.statistic == ScoreProducts.name for event in at for block in event.blocks)
        told: Covariance = "auto" if not at else "robust" if robust else "classical"
        count = (3 if products else 2) if self.stages == "auto" else self.stages
        return replace(self, stages=count, covariance=told if self.covariance == "auto" else self.covariance)


def _predictors(facts: Facts, events: Sequence[Event], objectives: Sequence[ObjectiveEvent]) -> Predictors:
    """Return the linear predictors of listed events."""
    design, loss = objectives[0].design, objectives[0].loss
    stages = [event.coordinates for event in of_kind(StageEvent, events)]
    at = next((own for own in stages if isinstance(own, ModelCoordinates)), None)
    named = [name for own in stages for name in own.outcomes]
    counted = [b.columns[0] for e in of_kind(GaussianEvent, events) for b in e.blocks if b.statistic == "counts"]
    column = facts.domain.column_of[named[0]] if named else counted[0] if counted else ""
    family = family_of(loss)
    if family.sized:
        loss = family.loss(family.most(facts.domain, column))
    link = family.link if family.sized or named else None
    exposure = None if at is None else at.exposure
    return Predictors(loss, design, column, len(objectives), link, tuple(dict.fromkeys(named)), exposure)
