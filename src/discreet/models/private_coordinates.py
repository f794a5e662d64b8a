"""Generalised linear models in private coordinates: when these are used, and the model that the release gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from discreet.core import checks
from discreet.data.reading import Table, as_progress
from discreet.data.stages import Readings
from discreet.domain import CONSTANT, Domain
from discreet.domain.levels import every_level
from discreet.drivers.release import has_own_range, refuse_robust
from discreet.drivers.run import run
from discreet.drivers.sources import StagedSource
from discreet.errors import ParameterError
from discreet.families import FAMILIES, Link, Outcome
from discreet.models.perturbed import PerturbedModel
from discreet.models.spec import FitSpec
from discreet.privacy.guarantee import Guarantee
from discreet.recipes.base import Recipe
from discreet.recipes.budget import SCORING_STEPS
from discreet.recipes.glm import MOST_STAGES, Glm, Predictors
from discreet.recipes.glm_geometry import WIDEST
from discreet.recipes.linear import in_ball
from discreet.recipes.staged import COVARIANCES, Covariance
from discreet.recipes.wide import Wide

_STAGES = """stages : int or "auto"
        2 releases first where the columns lie, and 3 their products, too: scoring steps are then taken in coordinates
        that whiten the columns, which takes much less noise where bounds are wide. 1 minimises a perturbed objective,
        for the columns as declared. "auto" takes 3, or 2 where rows are few; 1 for streams, for rows in a ball
        (`data_norm`), for a penalty or noise that you choose, for adaptive=True, and for replace-one neighbours without
        `rows`; and, for more than 512 coefficients, gradient steps after two sketches of the columns' products.
    covariance : {"auto", "robust", "classical"}
        Which variances standard errors allow for; a last release, 30 % of mu^2 or 50 % for counts, tells them where
        there are stages. "robust": any variance around the model; "classical": those that the model implies, with less
        noise, and all that three or more classes have. "auto" takes "robust", or "classical" for these, and no standard
        errors where rows are few or the table is wide.
    rows_per_person : int, optional
        How many rows a person counts for at most, where `fit` is told whose rows are; a domain may say so too. Persons
        and weights need stages.
    largest_weight : float, optional
        A public bound on `sample_weight`; a domain may say so too."""

_ONE_STAGE = "in one stage its promise is proven for rows that count alike, one a person"
_NEEDS = "Stages need rows that can be read again, so no stream; a feature; for a count an intercept and own bounds."


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateCoordinatesModel(PerturbedModel):
    """A generalised linear model that is fitted in private coordinates unless it is asked not to be."""

    words: ClassVar[dict[str, str]] = {"stages": _STAGES}

    one_row_each: ClassVar[str] = ""

    several: ClassVar[Link | None] = None
    """The link of three or more classes, if they have another one than two."""

    stages: int | str = "auto"
    covariance: Covariance = "auto"

    def _check(self) -> Guarantee:
        promise = super()._check()
        checks.choice("stages", self.stages, ("auto", *range(1, MOST_STAGES + 1)))
        checks.choice("covariance", self.covariance, COVARIANCES)
        if self.stages == 1:
            refuse_robust(self.covariance)
        if self.stages not in ("auto", 1) and (why := self._unfit()) is not None:
            raise ParameterError(f"stages={self.stages} needs {why}. Choose stages=1 or 'auto'.")
        return promise

    def _unfit(self) -> str | None:
        """Return the requirement of stages that the parameters do not meet, if any."""
        if self.penalty != "l2" or self.alpha is not None or self.adaptive:
            return "a penalty that is chosen for you: penalty='l2', alpha=None and adaptive=False"
        if self.noise != "gaussian":
            return "Gaussian noise"
        if self.neighbors == "replace-one" and self.rows is None:
            return "a declared number of rows, rows=, for replace-one neighbours"
        return None

    @property
    def _one_row_each(self) -> str:
        """Why it refuses persons and weights: in one stage its promise is not proven for them."""
        why = "stages='auto', 2 or 3" if self.stages == 1 else self._unfit()
        return "" if why is None else f"{_ONE_STAGE}. Stages need {why}"

    def _is_staged(self, table: Table, spec: FitSpec, design: tuple[str, ...], outcome: Outcome) -> bool:
        """Whether the model is fitted in private coordinates; refuse where that is asked for and cannot be."""
        if self.stages == 1 or self._unfit() is not None:
            return False
        suit = not table.reader.once and design != (CONSTANT,)
        sized = self.family.sized
        suit = suit and (not sized or (table.domain.intercept and has_own_range(table.domain, outcome.column)))
        if self.stages != "auto" and not suit:
            raise ParameterError(f"stages= does not go with this table. {_NEEDS}")
        if not (table.domain.unit.plain or suit):
            raise ParameterError(f"Persons and weights need stages: {_ONE_STAGE}. {_NEEDS}")
        if self.stages != "auto" or not table.domain.unit.plain:
            return suit
        if self._is_wide(table.domain, design, outcome):
            return suit and self.covariance == "auto"
        return suit and not in_ball(table.domain, design)

    def _is_wide(self, domain: Domain, design: tuple[str, ...], outcome: Outcome) -> bool:
        """Whether all linear predictors together have so many coefficients that gradient steps serve better."""
        return self.stages == "auto" and len(design) * len(self.family.coordinates(domain, outcome)) > WIDEST

    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        domain, target = table.domain, spec.target
        shown = domain.design_names(spec.features)
        design = every_level(domain, spec.features, shown)
        outcome = self._outcome(domain, target) if spec.classes is None else Outcome(target, target, spec.classes)
        if not self._is_staged(table, spec, design, outcome):
            refuse_robust(self.covariance)
            return super()._fit_rows(table, spec)
        table.reader.refuse_models()
        with as_progress(table.progress) as report:
            shared = replace(table, progress=_JoinedProgress(report))
            own, session = self._model(domain, spec, design, outcome), self._session(spec.promise)
            stages: int | Literal["auto"] = "auto" if isinstance(self.stages, str) else self.stages
            recipe: Recipe = Glm(session.facts(domain), own, stages, self.covariance)
            if self.covariance == "auto" and self._is_wide(domain, design, outcome):
                recipe = Wide(session.facts(domain), own)
            found = run(recipe, StagedSource(Readings.of(shared)), session)
            report(1.0)
        thetas = list(found.result.theta.T)
        told = {"values": found.values, "link": own.link}
        released = self._fitted(found.certificate, thetas, design, shown, outcome, **told)
        self._set(released, released.results(), spec)
        return self

    def _model(self, domain: Domain, spec: FitSpec, design: tuple[str, ...], outcome: Outcome) -> Predictors:
        """Return the model that is fitted."""
        outcomes = self.family.coordinates(domain, outcome)
        width = getattr(self._loss(domain, outcome, 1.0), "width", None)
        link = self.several if self.several is not None and len(outcomes) > 1 else self.family.link
        if self.covariance == "robust" and FAMILIES[link].joint:
            raise ParameterError(
                "Standard errors of three or more classes are those that the model implies. Choose another covariance, "
                "'auto' or 'classical', or one level against all others as the outcome."
            )
        return Predictors(link, design, outcome.column, outcomes, spec.exposure, width)


class _JoinedProgress:
    """The progress of several readings of a table, shown as one: each reading starts anew."""

    most = SCORING_STEPS + 5
    """The readings of a release: columns, products, row norms, steps, the model, and its score products."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self._report, self._done, self._last = report, 0, 0.0

    def __call__(self, fraction: float) -> None:
        if fraction < self._last:
            self._done = min(self._done + 1, self.most - 1)
        self._last = fraction
        self._report((self._done + fraction) / self.most)
