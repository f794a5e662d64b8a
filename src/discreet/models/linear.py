"""Linear models on noisy moments: their base classes, and DPLinearRegression, the default."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.data.moments import Moments, counted, outcome_names, summed
from discreet.data.reading import Table
from discreet.data.stages import Readings
from discreet.data.tables import feature_names
from discreet.domain import Domain
from discreet.domain.levels import every_level, lift
from discreet.drivers.release import WIDE, has_own_bounds, has_own_range, refuse_robust, stages_suit
from discreet.drivers.run import Run, release_moments, run
from discreet.drivers.sources import MomentsSource, StagedSource
from discreet.errors import DiscreetWarning, ParameterError
from discreet.gate.session import Session
from discreet.models.base import PrivateRegressor, ReleasesMoments
from discreet.models.size import check_size
from discreet.models.spec import FitSpec
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.split import Sizes, shares_of
from discreet.recipes.base import Recipe
from discreet.recipes.budget import MOST_STAGES
from discreet.recipes.glm import Predictors
from discreet.recipes.linear import Linear, in_ball
from discreet.recipes.moments import Counted, Fixed, MomentsOnce, one_stage
from discreet.recipes.noise import StatisticRequest
from discreet.recipes.outcomes import ManyOutcomes
from discreet.recipes.staged import COVARIANCES, Covariance, Stages
from discreet.recipes.wide import Wide, WideModel
from discreet.released.equations import noise_aware_solution, normal_equations
from discreet.released.units import column_of, in_user_units
from discreet.results.estimands import CHOICES, EstimandChoice
from discreet.results.models import Solve, solve_many
from discreet.results.private_moments import PrivateMoments
from discreet.results.released_model import ReleasedModel
from discreet.results.results import Results, results
from discreet.solve.equations import NormalEquations

_LOOSE = 0.01
"""Bounds are far too wide where the outcome's mean square is below this share of the largest possible."""


def _source(table: Table) -> StagedSource:
    """Return the rows of a table for a recipe that reads them several times."""
    return StagedSource(Readings.of(table))


# ---------------------------------------------------------------- what the models share


@dataclass(kw_only=True, eq=False, repr=False)
class MomentsEstimator(PrivateRegressor):
    """A linear model that needs the exact moments of a table only."""

    def fit_moments(self, moments: Moments, target: str, features: Sequence[str] | None = None) -> Self:
        """Release from exact moments that were summed up before, and fit the model.

        Parameters
        ----------
        moments : Moments
            Exact moments of the private table. Their domain is used, its intercept too; `domain`, `bounds_X`,
            `bounds_y`, `data_norm` and `fit_intercept` of this estimator are not.
        target : str
            The outcome.
        features : sequence of str, optional
            The features; all other columns by default.
        """
        return self._fit(moments, self._spec(moments, (target,), features))

    def _spec(
        self, moments: Moments, targets: Sequence[str] | None, features: Sequence[str] | None, *, several: bool = False
    ) -> FitSpec:
        """Check the request for a fit to moments; by default their outcomes are fitted."""
        promise = self._check()
        if not isinstance(moments, Moments):
            raise ParameterError("moments must be Moments: sum up the table first, with Moments.from_source(...).")
        self._refuse_unit(moments.domain)
        targets = moments.targets if targets is None else targets
        names = feature_names(moments.domain, self._outcome_columns(moments.domain, targets), features)
        return FitSpec(tuple(targets), names, promise, several=several)

    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        check_size(len(table.domain.entries), staged=False)
        return self._fit(summed(table), spec)

    @abstractmethod
    def _fit(self, moments: Moments, spec: FitSpec) -> Self:
        """Release what the method needs of the moments, and fit the model."""


@dataclass(kw_only=True, eq=False, repr=False)
class MomentsRegressor(ReleasesMoments, MomentsEstimator):
    """A linear model fitted to one release of noisy moments."""

    one_row_each: ClassVar[str] = ""

    levels: ClassVar[bool] = False
    """Whether products with the first levels of categories are released too: the same noise, and more information."""

    # ---------------------------------------------------------------- the method's own mathematics

    def _requests(self, design: tuple[str, ...], target: str) -> list[StatisticRequest]:
        """Return the statistics that the verified method releases, with shares of mu^2: X'X and X'y, half for each."""
        return [StatisticRequest("gram", design, (), 1 / 2), StatisticRequest("cross", design, (target,), 1 / 2)]

    def _solve(self, released: PrivateMoments, e: NormalEquations, delta: float) -> Floats:
        """Return the coefficients of the mapped columns, from released values only."""
        raise NotImplementedError

    def _published(
        self, design: tuple[str, ...], target: str, R2: float, promise: Guarantee
    ) -> tuple[list[Block], str]:
        """Return the noise as printed, and the reason that it is not verified."""
        raise NotImplementedError

    # ---------------------------------------------------------------- wiring

    def _fit(self, moments: Moments, spec: FitSpec) -> Self:
        domain, promise = moments.domain, spec.promise
        if self._paper is None:
            session = self._session(promise)
            recipe: Fixed = MomentsOnce(session.facts(domain), requests=tuple(self._wanted(domain, spec)))
        else:
            design = domain.design_names(spec.features)
            target = domain.entries[domain.target(spec.target)].name
            R2 = domain.norm_squared(domain.indices(design))
            blocks, reason = self._published(design, target, R2, promise)
            session = self._session(promise, reason)
            event = GaussianEvent(sensitivity.mu(blocks, domain, promise.neighbors), tuple(blocks))
            recipe = Fixed(session.facts(domain), (event,))
        return self._fit_released(release_moments(recipe, MomentsSource(moments), session), spec)

    def _wanted(self, domain: Domain, spec: FitSpec) -> list[StatisticRequest]:
        """Return the statistics that are released for a model."""
        design = domain.design_names(spec.features)
        rows = every_level(domain, spec.features, design) if self.levels else design
        return self._requests(rows, domain.entries[domain.target(spec.target)].name)

    def _fit_released(self, released: PrivateMoments, spec: FitSpec) -> Self:
        """Fit the model to released values."""
        e = released.equations(spec.target, spec.features)
        self._set(released, self._results(released, e, spec.promise.delta), spec)
        return self

    def _results(self, released: PrivateMoments, e: NormalEquations, delta: float) -> Results:
        """Return the fitted model, from released values only."""
        return results(released, e, self._solve(released, e, delta), released.certificate.method)

    # ---------------------------------------------------------------- several outcomes

    def _fit_outcomes(self, moments: Moments, spec: FitSpec) -> Self:
        """Fit one outcome or several to one release of X'X, X'Y and y'y, each with all levels of categories."""
        domain, promise = moments.domain, spec.promise
        outcomes = outcome_names(domain, spec.targets)
        rows = every_level(domain, spec.features, domain.design_names(spec.features))
        norms = sensitivity.norm(rows, domain), sensitivity.norm(outcomes, domain)
        shares = shares_of(Sizes(len(rows), len(outcomes), *norms, promise.neighbors))
        session = Session(promise, "ReuseCov", self.rows, self.random_state)  # named for the method of many outcomes
        recipe = ManyOutcomes(session.facts(domain), (), rows, outcomes, shares)
        released = release_moments(recipe, MomentsSource(moments), session)
        e = normal_equations(released, spec.targets, spec.features)
        return self._fit_equations(released, e, e, spec)

    def _fit_equations(
        self,
        released: PrivateMoments,
        e: NormalEquations,
        raw: NormalEquations,
        spec: FitSpec,
        solve: Solve = "noise-aware",
        penalty: float | None = None,
    ) -> Self:
        """Solve equations for one outcome or several; `raw` are those of the release, before any correction."""
        theta, method = solve_many(released, e, solve, penalty), released.certificate.method
        if spec.several:
            fitted = results(released, e, theta, method, raw)
        else:
            fitted = results(released, raw.one(0), theta[:, 0], method)
        self._set(released, fitted, spec)
        return self


# ---------------------------------------------------------------- the default


@dataclass(kw_only=True, eq=False, repr=False)
class DPLinearRegression(MomentsRegressor):
    """Private linear regression that accounts for its own noise: the default, and the most accurate.

    A small part of the budget finds, privately, where the outcome and the columns lie. X'X, X'y and y'y are then
    released in whitened coordinates, once or several times (`stages`), and the coefficients are the
    posterior mean given all that was released. In one stage noisy counts, for 6 % of the budget, narrow the outcome's
    bounds (`narrow`). With much data nothing is clipped or shrunk, and the result is that of least squares.

    Several outcomes, as columns of y or as a list of names in `fit_source`, are fitted to the same stages, or in one
    stage as by `discreet.ReuseCov`, with bounds as declared; ``coef_`` then has a row and ``intercept_`` an entry for
    each.

    Parameters
    ----------
    {parameters}
    stages : int or "auto"
        The number of stages of the release, each in coordinates that the ones before it found. All rows are read once
        before any noise is drawn, which finds bad data, and once for each stage; in large tables row norms are counted
        in a reading of their own. "auto" decides by the released number of rows; streams, which can be read only once,
        have one stage, and so has `fit_moments`, which reads no rows. A model of one outcome with more than 512
        coefficients takes gradient steps after two sketches of the columns' products, and has no standard errors;
        DPRidge and DPLasso, which need all products, have one stage there.
    narrow : bool
        Whether the bounds of a declared outcome may be narrowed where there is one stage: all rows are then read twice.
        With narrow=False the bounds are used as declared, in one stage.
    covariance : {"auto", "robust", "classical"}
        Whether the last of several stages releases score products, for 3 to 30 % of its budget and in a reading of its
        own, which heteroskedasticity-robust standard errors need. "auto" is robust in stages of at most 64 coefficients
        with enough rows, and classical otherwise; the mean alone needs none.
    estimand : {"auto", "declared", "bounded"}
        The fit that intervals are about: least squares under the declared bounds, wider by what far rows might add; or
        the bounded fit, in which far rows and far residuals count less, as the release states. "auto" is the first
        where its intervals are at most 1.25 times as wide. Summaries show both where they differ.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (5000, 2))
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> model.certificate_.guarantee.status, bool(np.abs(model.coef_ - 1).max() < 0.5)
    ('verified', True)
    """

    stages: int | str = "auto"
    narrow: bool = True
    covariance: Covariance = "auto"
    estimand: EstimandChoice = "auto"

    levels: ClassVar[bool] = True
    many_outcomes: ClassVar[bool] = True
    descends: ClassVar[bool] = True
    """Whether wide tables are fitted by gradient steps, which release no products of the columns."""

    def _check(self) -> Guarantee:
        checks.choice("narrow", self.narrow, (True, False))
        checks.choice("stages", self.stages, ("auto", *range(1, MOST_STAGES + 1)))
        checks.choice("covariance", self.covariance, COVARIANCES)
        checks.choice("estimand", self.estimand, CHOICES)
        if not self.narrow and self.stages not in ("auto", 1):
            raise ParameterError(
                "narrow=False keeps the bounds as declared, which stages do not. Leave one of them out."
            )
        if not self.narrow or self.stages == 1:
            refuse_robust(self.covariance)
        return super()._check()

    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        domain, once = table.domain, table.reader.once
        if self._is_wide(domain, spec, once=once):
            table.reader.refuse_models()
            session = self._session(spec.promise)
            return self._fit_run(run(self._recipe(domain, spec, session), _source(table), session), spec)
        staged = self._is_staged(domain, spec, once=once)
        check_size(len(domain.entries), staged=staged)
        if not staged:
            refuse_robust(self.covariance)
            if spec.several:
                return self._fit_outcomes(summed(table, spec.targets), spec)
            if not self._is_counted(domain, spec) or (once and self.stages == "auto"):
                return super()._fit_rows(table, spec)
            domain.design_names(spec.features)
            if once:
                raise ParameterError(
                    "A stream can be read only once, and this method reads all rows again where bounds are narrowed. "
                    "Give a table or a file, or choose narrow=False."
                )
        session = self._session(spec.promise)
        recipe = self._recipe(domain, spec, session)
        if staged:
            return self._fit_run(run(recipe, _source(table), session), spec)
        return self._fit_run(run(recipe, MomentsSource.counted(*counted(table, spec.target), table), session), spec)

    def _is_wide(self, domain: Domain, spec: FitSpec, *, once: bool = False) -> bool:
        """Whether the model is fitted by gradient steps: it has many coefficients and one outcome."""
        free = self.stages == "auto" and self.narrow and self.descends and not (once or spec.several)
        if not free or self.covariance != "auto" or not has_own_range(domain, spec.target):
            return False
        design = every_level(domain, spec.features, domain.design_names(spec.features))
        return len(design) > WIDE and (self.neighbors == "add-remove" or self.rows is not None)

    def _fit_wide(self, found: Run, spec: FitSpec) -> Self:
        """Fit to a release by gradient steps, whose coefficients and noisy scores are what is kept."""
        domain, column = found.certificate.domain, column_of(found.certificate.domain, spec.target)
        shown = domain.design_names(spec.features)
        theta = lift(domain, every_level(domain, spec.features, shown), shown).T @ found.result.theta[:, 0]
        coef, intercept = in_user_units(domain, shown, theta, domain.map(column))
        names = shown[int(domain.intercept) :]
        released = ReleasedModel(found.certificate, spec.target, names, coef, intercept, values=found.values)
        self._set(released, released.results(), spec)
        return self

    def recipe(self, domain: Domain, target: str, features: Sequence[str]) -> tuple[Recipe, Session]:
        """Return the recipe by which `fit` releases a table that can be read again, and a session for it.

        Parameters
        ----------
        domain : Domain
            The columns of the table.
        target, features : str, sequence of str
            The outcome, and the features.
        """
        spec = FitSpec((target,), list(features), self._check())
        session = self._session(spec.promise)
        return self._recipe(domain, spec, session), session

    def solve(self, found: Run, target: str, features: Sequence[str]) -> Self:
        """Fit the model to a release by its `recipe`."""
        return self._fit_run(found, FitSpec((target,), list(features), self._check()))

    def _recipe(self, domain: Domain, spec: FitSpec, session: Session) -> Recipe:
        """Return the recipe: in stages, or in one stage with bounds narrowed or as declared."""
        facts, design = session.facts(domain), every_level(domain, spec.features, domain.design_names(spec.features))
        if self._is_wide(domain, spec):
            own = "identity", design, column_of(domain, spec.target), outcome_names(domain, spec.targets)
            return Wide(facts, Predictors(*own))
        if self._is_staged(domain, spec):
            stages: Stages = "auto" if isinstance(self.stages, str) else self.stages
            return Linear(facts, design, outcome_names(domain, spec.targets), stages, self.covariance)
        if self._is_counted(domain, spec):
            return Counted(facts, design, spec.target)
        return MomentsOnce(facts, requests=tuple(self._wanted(domain, spec)))

    def _fit_run(self, found: Run, spec: FitSpec) -> Self:
        """Fit to a release, and warn of bounds that were far too wide."""
        if isinstance(found.result, WideModel):
            return self._fit_wide(found, spec)
        released = PrivateMoments.of_run(found.certificate, found.values, found.result)
        if spec.several:
            e = normal_equations(released, spec.targets, spec.features)
            return self._fit_equations(released, e, e, spec)
        self._fit_released(released, spec)
        if getattr(found.result, "loose", False):  # it follows from the counts, so the certificate covers it
            warnings.warn(
                f"The bounds of {spec.target!r} are at least four times as wide as they need be. Noise was fitted to "
                "narrower ones, found privately; tighter bounds from public knowledge would serve better.",
                DiscreetWarning,
                stacklevel=4,
            )
        return self

    def _fit(self, moments: Moments, spec: FitSpec) -> Self:
        refuse_robust(self.covariance)
        return super()._fit(moments, spec)

    def _is_staged(self, domain: Domain, spec: FitSpec, *, once: bool = False) -> bool:
        """Whether the release is in stages; `once`: whether rows can be read only once.

        Rows in a ball have one stage unless more are asked for: their norms are similar already, and one stage was more
        accurate.
        """
        if self.stages == 1 or not self.narrow:
            return False
        asked_for = self.stages != "auto"
        suit = stages_suit(domain, spec.targets, once=once, asked=asked_for)
        return suit and (asked_for or not in_ball(domain, domain.design_names(spec.features)))

    def _is_counted(self, domain: Domain, spec: FitSpec) -> bool:
        """Whether counts narrow the outcome's bounds in one stage."""
        return self.narrow and has_own_bounds(domain, spec.target)

    def _set(self, release: Any, fitted: Results, spec: FitSpec) -> None:
        super()._set(release, fitted if self.estimand == "auto" else fitted.about(self.estimand), spec)

    def _requests(self, design: tuple[str, ...], target: str) -> list[StatisticRequest]:
        return one_stage(design, target)

    def _solve(self, released: PrivateMoments, e: NormalEquations, delta: float) -> Floats:
        if released.stages:
            return noise_aware_solution(released, e)[:, 0]
        if e.yy is not None and e.s_yy is not None and e.yy + 2 * e.s_yy < _LOOSE * e.n:
            warnings.warn(
                f"The released y'y says that {e.target!r} fills less than a tenth of its bounds: most of the noise is "
                "for room that is not needed. Give tighter bounds, or let them be narrowed (narrow=True).",
                DiscreetWarning,
                stacklevel=5,
            )
        return noise_aware_solution(released, e)[:, 0]
