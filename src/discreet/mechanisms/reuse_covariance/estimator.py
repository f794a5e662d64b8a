"""ReuseCov: many outcomes share one noisy X'X (neel2023, PRIMO); and one release per outcome, for comparison.

The noise as it is printed (errata E16, E17), with L = sqrt(2 log(2.5/delta)), B and T the bounds on the norms of a
row's regressors and of its outcomes, and for sums where the paper has means:

    X'X    2 L B^2/epsilon in every entry                                   algorithms 1 and 3
    X'Y    2 L B T/epsilon: the Gaussian mechanism at (epsilon/2, delta/2)  algorithms 1 to 4
    X'X of a share q of the rows, epsilon_1 = epsilon/(2 q): 2 q L B^2/epsilon_1   algorithm 4

Lemma 1 prints epsilon inside the root; we take it outside, as in the source that the lemma cites and in the appendix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.old_keywords import accepts_old_keywords
from discreet.data.moments import Moments, outcome_names, summed
from discreet.data.public_outcomes import PublicOutcomes
from discreet.data.reading import Progress, Table
from discreet.domain import CONSTANT, Domain
from discreet.domain.levels import every_level
from discreet.drivers.run import release_moments
from discreet.drivers.sources import MomentsSource, SampledSource, StatisticSource
from discreet.errors import ParameterError
from discreet.gate.session import promised
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent
from discreet.models.linear import DPLinearRegression, MomentsRegressor
from discreet.models.spec import FitSpec
from discreet.privacy import gdp, sensitivity
from discreet.privacy.events.base import BlockEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.split import Sizes, shares_of
from discreet.recipes.moments import Fixed
from discreet.recipes.outcomes import ManyOutcomes
from discreet.released.equations import normal_equations
from discreet.results.models import Solve, refuse_kind
from discreet.results.results import Results
from discreet.solve.equations import NormalEquations
from discreet.solve.projection import OutcomeSpectrum, project

E16 = (
    "erratum E16: the printed noise is for changes of B^2 in X'X and sqrt(l) B Y in X'Y, which under replace-one are "
    "sqrt(2) B^2 and 2 sqrt(l) B Y, though no row reaches both."
)
E17 = (
    "erratum E17: a share q of the rows is said to multiply epsilon by q, which holds for tiny epsilon only; and the "
    "noise is scaled for all rows."
)


@accepts_old_keywords
@dataclass(kw_only=True, eq=False, repr=False)
class ReuseCov(MomentsRegressor):
    """Linear models of many outcomes on the same features, from one release.

    X'X is released once, whatever the number l of outcomes, and X'Y with noise for the norm of all outcomes of a row
    together; so the noise grows with sqrt(l) at most, and that of X'X, which often matters most, not at all. One
    factorisation serves all outcomes. ``fit(X, Y)`` takes Y of any number of columns; ``coef_`` has a row for each.

    Parameters
    ----------
    {parameters}
    association : {"gaussian", "projection"}
        The release of X'Y. The projection is for outcomes that are **public**, and needs ``neighbors="replace-one"``:
        only the features of a person are then protected, not the outcomes. It drops noise that no features could cause,
        which helps when there are many outcomes for the number of rows.
    subsample : float, optional
        The share of the rows from which X'X is computed; all of them by default. It saves time where there are very
        many features, and costs accuracy. The sample is secret, and its effect on privacy is counted exactly.
    solve : {"noise-aware", "ridge", "cg"}
        The solve of `DPLinearRegression`; or the paper's ridge regression, directly or by conjugate gradients.
    alpha : float, optional
        The penalty of ridge regression, for the mapped columns; the paper's lambda by default.
    gram_share : float, optional
        The share of the budget (of mu^2) for X'X; by default it follows from the numbers of features and outcomes and
        from the bounds, all public.
    published : {None, "neel2023"}
        Use the constants printed in that paper; the guarantee is then `claimed`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (20_000, 2))
    >>> Y = X @ rng.uniform(0, 1, (2, 30))
    >>> model = ReuseCov(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, Y)
    >>> model.coef_.shape, model.intercept_.shape, model.certificate_.guarantee.status
    ((30, 2), (30,), 'verified')
    """

    papers: ClassVar[tuple[str, ...]] = ("neel2023",)
    paper_neighbors: ClassVar[Neighbors] = "replace-one"
    many_outcomes: ClassVar[bool] = True
    renamed: ClassVar[dict[str, str]] = {"penalty": "alpha"}

    association: Literal["gaussian", "projection"] = "gaussian"
    subsample: float | None = None
    solve: Solve = "noise-aware"
    alpha: float | None = None
    gram_share: float | None = None
    published: str | None = None

    @classmethod
    def check_old(cls, name: str, value: Any) -> None:
        """Refuse a kind of penalty: ridge regression is the only one."""
        refuse_kind(cls.__name__, value)

    # ---------------------------------------------------------------- scikit-learn's interface

    def fit_source(
        self,
        source: Any,
        targets: Sequence[str] | str,
        features: Sequence[str] | None = None,
        *,
        progress: bool | Progress = False,
    ) -> Self:
        """Read rows from a file, a frame or a table, release, and fit a model to every outcome.

        Parameters
        ----------
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation
            The private rows; `domain` must be given.
        targets : sequence of str
            The outcomes.
        features : sequence of str, optional
            The features; all other declared columns by default.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        return super().fit_source(source, targets, features, progress=progress)

    def fit_moments(
        self, moments: Moments, targets: Sequence[str] | str | None = None, features: Sequence[str] | None = None
    ) -> Self:
        """Release from exact moments that were summed up before, and fit a model to every outcome.

        Parameters
        ----------
        moments : Moments
            Exact moments of the private table, best with `targets` named. Their domain is used, its intercept too;
            `domain`, `bounds_X`, `bounds_y`, `data_norm` and `fit_intercept` of this estimator are not.
        targets : sequence of str, optional
            The outcomes; those of the moments by default.
        features : sequence of str, optional
            The features; all other columns by default.
        """
        if self.association == "projection" or self.subsample is not None:
            raise ParameterError("The projection and subsample need the rows, not moments: use fit or fit_source.")
        if isinstance(targets, str):
            return super().fit_moments(moments, targets, features)
        return self._fit(moments, self._spec(moments, targets, features, several=True))

    # ---------------------------------------------------------------- what is released

    def _check(self) -> Guarantee:
        checks.choice("association", self.association, ("gaussian", "projection"))
        checks.choice("solve", self.solve, ("noise-aware", "ridge", "cg"))
        for name in ("subsample", "gram_share"):
            if getattr(self, name) is not None:
                checks.fraction(name, getattr(self, name))
        if self.alpha is not None:
            checks.positive("alpha", self.alpha)
            if self.solve == "noise-aware":
                raise ParameterError('alpha= is for solve="ridge" or "cg": the noise-aware solve has none.')
        if self.association == "projection" and self.neighbors != "replace-one":
            raise ParameterError(
                'association="projection" takes the outcomes as public and protects the features, by replace-one: set '
                'neighbors="replace-one" if that is meant. Outcomes are protected by association="gaussian".'
            )
        if self._paper is not None and self.gram_share is not None:
            raise ParameterError("published= has a fixed split: leave out gram_share.")
        return super()._check()

    # ---------------------------------------------------------------- wiring

    def _refuse_unit(self, domain: Domain) -> None:
        super()._refuse_unit(domain)
        if not domain.unit.plain and (self.subsample is not None or self.association == "projection"):
            raise ParameterError(
                "subsample= and public outcomes do not go with persons and weights: which rows are drawn, and which "
                "outcomes are public, is proven for rows that count alike, one a person. Leave them out."
            )

    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        outcomes = outcome_names(table.domain, spec.targets)
        table.domain.design_names(spec.features)
        public = PublicOutcomes.of(table, outcomes) if self.association == "projection" else None
        if self.subsample is None:
            return self._fit_public(MomentsSource(summed(table, spec.targets)), spec, public)
        return self._fit_public(SampledSource(table, spec.targets, self.subsample), spec, public)

    def _fit(self, moments: Moments, spec: FitSpec) -> Self:
        return self._fit_public(MomentsSource(moments), spec, None)

    def _fit_public(self, source: StatisticSource, spec: FitSpec, public: PublicOutcomes | None) -> Self:
        """Release and fit, using what is known of public outcomes."""
        domain, features, promise = source.domain, spec.features, spec.promise
        design, outcomes = domain.design_names(features), outcome_names(domain, spec.targets)
        norm, n = (None, None) if public is None else (public.norm, float(public.n))
        if self._paper is None:
            rows = design if public is not None else every_level(domain, features, design)
            split = split_budget(domain, rows, outcomes, promise, n, self.gram_share)
            rate, session = self.subsample if isinstance(source, SampledSource) else None, self._session(promise)
            recipe: Fixed = ManyOutcomes(session.facts(domain), (), rows, outcomes, split, norm, rate)
        else:
            events, reason = printed_events(domain, design, outcomes, promise, self.subsample, norm)
            session = self._session(promise, reason)
            recipe = Fixed(session.facts(domain), events)
        released = release_moments(recipe, source, session)
        raw = normal_equations(released, spec.targets, features)
        raw = raw if public is None else with_squares(raw, public)
        e = raw if public is None else projected(raw, public, sensitivity.norm(design, domain))
        return self._fit_equations(released, e, raw, spec, self.solve, self.alpha)


# ---------------------------------------------------------------- the budget's split, and what public outcomes tell


def split_budget(
    domain: Domain,
    design: Sequence[str],
    outcomes: Sequence[str],
    promise: Guarantee,
    n: float | None = None,
    gram_share: float | None = None,
) -> dict[str, float]:
    """The shares of mu^2 for X'X, X'Y and y'y, from public figures; n is given where outcomes are public."""
    norms = sensitivity.norm(design, domain), sensitivity.norm(outcomes, domain)
    sizes = Sizes(len(design), len(outcomes), *norms, promise.neighbors, n)
    if n is None:
        split = shares_of(sizes)
    else:
        g = sizes.projected_share(gdp.mu(epsilon=promise.epsilon, delta=promise.delta))
        split = {"gram": g, "cross": 1 - g, "squares": 0.0}
    if gram_share is None:
        return split
    rest = (1 - gram_share) / (split["cross"] + split["squares"])
    return {name: gram_share if name == "gram" else rest * share for name, share in split.items()}


def with_squares(e: NormalEquations, public: PublicOutcomes) -> NormalEquations:
    """The equations with y'y of public outcomes, without noise; s_yy is tiny, not 0, since solvers divide by it."""
    return replace(e, squares=public.squares, s_yy=1e-6 * public.n)


def projected(e: NormalEquations, public: PublicOutcomes, R: float) -> NormalEquations:
    """The equations with X'Y projected, and with 1'Y of public outcomes without noise."""
    n = float(public.n)
    if public.gram is None and public.rows is not None:
        spectrum = OutcomeSpectrum.of_rows(public.rows)
    else:
        spectrum = OutcomeSpectrum.of_gram(np.asarray(public.gram))
    found = project(e.V / n, spectrum, n, R)
    V = n * found.G
    if e.names[0] == CONSTANT:
        V[0] = public.sums
    return replace(e, V=V, s_V=e.s_V * np.maximum(found.noise, 1e-12))


def printed_events(
    domain: Domain,
    design: tuple[str, ...],
    outcomes: tuple[str, ...],
    promise: Guarantee,
    rate: float | None,
    norm: float | None,
) -> tuple[tuple[BlockEvent, ...], str]:
    """The events that the paper releases, with its noise, and the reason for the status `claimed`."""
    B, T = sensitivity.norm(design, domain), sensitivity.norm(outcomes, domain) if norm is None else norm
    L, epsilon = math.sqrt(2 * math.log(2.5 / promise.delta)), promise.epsilon
    s_xx = 2 * L * B**2 / epsilon if rate is None else 2 * rate * L * B**2 / (epsilon / (2 * rate))
    gram, cross = Block("gram", design, (), s_xx, "uniform"), Block("cross", design, outcomes, 2 * L * B * T / epsilon)

    def released(*blocks: Block) -> BlockEvent:
        if norm is not None:
            return PublicOutcomesEvent(sensitivity.public_mu(blocks, domain, norm), norm, blocks)
        return GaussianEvent(sensitivity.mu(blocks, domain, promise.neighbors), blocks)

    if rate is None:
        return (released(gram, cross),), E16
    full = sensitivity.mu([gram], domain, promise.neighbors)
    return (SampledEvent(rate, full, (gram,), promise.neighbors), released(cross)), E17


def independent_runs(
    moments: Moments,
    targets: Sequence[str],
    features: Sequence[str] | None = None,
    *,
    epsilon: float,
    delta: float,
    runs: int | None = None,
    rows: int | None = None,
    neighbors: Neighbors = "add-remove",
    random_state: Any = None,
) -> list[Results]:
    """Fit every outcome by a release of its own, such that all of them together keep one promise exactly.

    The runs are Gaussian, so each may cost mu/sqrt(runs); its own certificate lists the epsilon of that at `delta`. The
    promise covers so many `runs`, where only some of them are fitted here; one per outcome by default.
    """
    promise = promised(epsilon, delta, rows, neighbors)
    mu = gdp.mu(epsilon=promise.epsilon, delta=promise.delta) / math.sqrt(runs or len(targets))
    own = gdp.epsilon(mu=mu, delta=promise.delta)
    given = {"epsilon": own, "delta": promise.delta, "rows": rows, "neighbors": neighbors, "random_state": random_state}
    names = [name for name in moments.domain.columns if name not in set(moments.targets)]
    fits = []
    for target in targets:
        chosen = [name for name in names if name != target] if features is None else features
        fits.append(DPLinearRegression(**given).fit_moments(moments, target, chosen).results_)
    return fits
