"""Models that are fitted to a release: of one outcome, penalised or not, or of several; and variable selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.old_keywords import old_attribute, renamed, tell_renamed
from discreet.domain import CONSTANT
from discreet.errors import ParameterError, printable
from discreet.released.certificate import Certificate
from discreet.released.equations import likelihood_of, noise_aware_solution, normal_equations, posterior_of
from discreet.released.moments import ReleasedMoments
from discreet.released.units import column_of, user_units
from discreet.results.results import Results, results
from discreet.results.summary import Summary, number, promise
from discreet.solve.equations import NormalEquations
from discreet.solve.inclusion import inclusion
from discreet.solve.joint import Joint
from discreet.solve.lasso import expected_rows, made_up_rows, penalty_grid, solve_path
from discreet.solve.noise_aware import Posterior
from discreet.solve.ridge import conjugate_gradients, paper_penalty, ridge

Solve = Literal["noise-aware", "ridge", "cg"]

L1_RATIOS = {"ridge": 0.0, "lasso": 1.0, "elastic-net": 0.5}
"""The penalised models, with the share of the l1 norm in their penalty; that of the elastic net is a default."""

PenaltyKind = Literal["l1", "l2", "elasticnet"]
PENALTIES = {"l1": "lasso", "l2": "ridge", "elasticnet": "elastic-net"}
"""The kinds of penalties, with the models that have them."""

_SLACK = 0.02
"""A penalty may add this share to the error that the release expects of its best model."""

_SURE = 0.95
"""A variable is in, or out, if its probability is at least this, or at most 1 minus this."""


# ---------------------------------------------------------------- one outcome


def penalised_by(penalty: Any, model: str, alpha: float | None, l1_ratio: float | None) -> tuple[str, dict[str, Any]]:
    """Return the model of a kind of penalty, and its options; a number in place of the kind is an old form of alpha.

    Examples
    --------
    >>> penalised_by("l1", "noise-aware", 0.1, None)
    ('lasso', {'alpha': 0.1})
    """
    if checks.is_real(penalty):
        if alpha is not None:
            raise ParameterError("penalty= names a kind, and alpha= its strength: give the strength once, as alpha=.")
        tell_renamed({"penalty= for the strength of a penalty": "alpha="})
        penalty, alpha = None, penalty
    if penalty is not None:
        named = PENALTIES[checks.choice("penalty", penalty, tuple(PENALTIES))]
        if model not in ("noise-aware", named):
            raise ParameterError(f"penalty={penalty!r} is that of model={named!r}: leave out model={model!r}.")
        model = named
    given = {"alpha": alpha, "l1_ratio": l1_ratio}
    return model, {name: value for name, value in given.items() if value is not None}


def refuse_kind(method: str, penalty: Any) -> None:
    """Refuse a kind of penalty for a method that has one kind alone."""
    if isinstance(penalty, str):
        raise ParameterError(
            f"{method} has one kind of penalty: leave out penalty={penalty!r}, and give a strength as alpha=. For "
            "other kinds there are DPRidge (l2), DPLasso (l1) and DPElasticNet (elasticnet)."
        )


def fit_equations(
    released: ReleasedMoments, e: NormalEquations, model: str, options: Mapping[str, Any], recoded: Floats | None = None
) -> Results:
    """Solve normal equations by a named model.

    `recoded`: M, where (intercept, coef) against the reference levels that a formula asks for is M (intercept, coef).
    """
    checks.choice("model", model, ("noise-aware", *L1_RATIOS, "ols"))
    if model in L1_RATIOS:
        return fit_penalised(released, e, model, *check_options(model, options), recoded)
    if options:
        raise ParameterError(
            f"{' and '.join(f'{name}=' for name in sorted(options))} of a penalty, and model={model!r} has none: say "
            "which penalty, as penalty='l1', 'l2' or 'elasticnet'."
        )
    return results(
        released, e, noise_aware_solution(released, e)[:, 0] if model == "noise-aware" else ridge(e.S, e.v, 0.0), model
    )


# ---------------------------------------------------------------- ridge, lasso and elastic net


@dataclass(frozen=True, eq=False)
class RegularisationPath:
    """Models for a whole grid of penalties, in the user's units, from the strongest penalty to the weakest.

    `coef`: one row of coefficients for each penalty.
    `excess_error`: the expected excess of each model's mean squared error over that of the noise-aware model, in units
        of the mapped outcome.
    `best`: the place of the penalty that is chosen where none is given.
    """

    names: tuple[str, ...]
    penalties: Floats
    coef: Floats
    intercept: Floats
    excess_error: Floats
    best: int


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PenalisedResults(Results):
    """A fitted ridge, lasso or elastic-net model.

    `alpha`: the strength of the penalty, in 1/(2n) |y - X theta|^2 + alpha r |theta|_1 + alpha (1 - r)/2 |theta|^2, for
        columns mapped to [-1, 1] by their declared bounds.
    `l1_ratio`: r.
    `chosen`: whether the penalty was chosen on the release.
    """

    alpha: float
    l1_ratio: float
    chosen: bool
    _problem: _Problem = field(repr=False)

    penalty = old_attribute("penalty", "alpha")

    def path(self) -> RegularisationPath:
        """Compute the model for a grid of penalties; it costs no privacy."""
        return self._problem.path(self.names)

    def _recoded(self, names: tuple[str, ...], M: Floats) -> Self:
        if self._problem.recoded is None:
            raise ParameterError(
                f"A model of kind {self.model!r} draws the levels of a category towards the reference that it was "
                "fitted with. Fit it anew with another one."
            )
        return super()._recoded(names, M)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return super().to_dict() | {"alpha": self.alpha, "l1_ratio": self.l1_ratio, "chosen": self.chosen}

    def summary(self, level: float = 0.95, most: int = 20) -> Summary:
        """A table of the coefficients, with the guarantee and the penalty on top."""
        how = "chosen on the release" if self.chosen else "as given"
        words = f"{self.alpha:.4g} ({how}), l1_ratio {self.l1_ratio:g}"
        return super().summary(level, most).with_fact("Penalty", words)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Penalised least squares on one release: penalties in the user's terms here, in the solver's below.

    Where the outcome's bounds were narrowed, the solver's outcome is k times as large as the declared bounds make it.
    So that a given penalty means the same whatever the noise did to the bounds, alpha refers to the declared ones: the
    l1 norm then carries alpha r k, the squared norm alpha (1 - r).
    """

    released: ReleasedMoments
    equations: NormalEquations
    l1_ratio: float
    recoded: Floats | None = None

    @cached_property
    def declared(self) -> Floats | None:
        """A, where theta is A times theta against the reference levels that are asked for, which are those penalised.

        All levels of a category are mapped alike, so that the units of both are the same.
        """
        if self.recoded is None:
            return None
        units = user_units(self.released, self.equations).T
        return np.asarray(np.linalg.solve(self.recoded @ units, units), dtype=np.float64)

    @cached_property
    def posterior(self) -> Posterior | Joint:
        """Posterior of the coefficients given the release."""
        return posterior_of(self.released, self.equations)

    @cached_property
    def rows(self) -> float:
        """The number of rows that X'X of the posterior is a sum over."""
        return max(self.released.geometry.rows if self.released.stages else self.equations.n, 1.0)

    def solve(self, penalties: Floats | None) -> tuple[Floats, Floats]:
        """Penalties, a grid of them by default, and one row of coefficients of the mapped columns for each."""
        e, r, known = self.equations, self.l1_ratio, self.posterior
        k = _outcome_scale(self.released, e.target)
        scale = r * k + (1 - r)
        inner_ratio, intercept = r * k / scale, e.names[0] == CONSTANT
        if self.released.mean_alone:  # there is no slope to penalise, so any grid will do
            if penalties is None:
                penalties = penalty_grid(np.eye(2), np.ones(2), 1.0, r, 0.0, intercept=False)
            return penalties, np.tile(known.mean, (len(penalties), 1))
        (X, y), noise = (expected_rows(known), 0.0) if isinstance(known, Joint) else (made_up_rows(e), e.s_xy)
        X = X if self.declared is None else X @ self.declared
        if penalties is None:
            penalties = penalty_grid(X, y, self.rows, inner_ratio, noise, intercept=intercept) / scale
        thetas = solve_path(X, y, self.rows, scale * penalties, inner_ratio, intercept=intercept)
        return penalties, thetas if self.declared is None else thetas @ self.declared.T

    def best(self, thetas: Floats) -> int:
        """Return the index of the chosen penalty on a path from the strongest penalty to the weakest."""
        error = self.posterior.excess_error(thetas)
        slack = _SLACK * self.posterior.expected_error if isinstance(self.posterior, Joint) else 0.0
        return int(np.argmax(error <= error.min() + slack))

    def path(self, names: tuple[str, ...]) -> RegularisationPath:
        """The whole path in the user's units."""
        penalties, thetas = self.solve(None)
        units = user_units(self.released, self.equations)
        errors = self.posterior.excess_error(thetas) / self.rows
        params = thetas @ units.T.T + units.t
        params = params if self.recoded is None else params @ self.recoded.T
        return RegularisationPath(names, penalties, params[:, 1:], params[:, 0], errors, self.best(thetas))


def fit_penalised(
    released: ReleasedMoments,
    e: NormalEquations,
    model: str,
    alpha: float | None,
    l1_ratio: float,
    recoded: Floats | None = None,
) -> PenalisedResults:
    """Fit at a given strength, or at one whose model the noise-aware posterior expects to predict well.

    Given the release, theta has a posterior with mean m, and coefficients t have an expected squared prediction error
    of (t - m)' X'X (t - m) plus a constant. Of one stage, the path's minimiser of it is taken. The path of several
    stages ends at m itself, so there it is the strongest penalty that adds next to nothing to the error of m.
    """
    problem = _Problem(released, e, l1_ratio, recoded)
    penalties, thetas = problem.solve(None if alpha is None else np.array([alpha]))
    best = problem.best(thetas)
    plain = results(released, e, thetas[best], model)
    facts = {f.name: getattr(plain, f.name) for f in fields(plain)}
    return PenalisedResults(
        **facts, alpha=float(penalties[best]), l1_ratio=l1_ratio, chosen=alpha is None, _problem=problem
    )


def check_options(model: str, options: Mapping[str, Any]) -> tuple[float | None, float]:
    """The strength and the l1_ratio of a penalised model, from a user's options.

    Examples
    --------
    >>> check_options("lasso", {"alpha": 0.1})
    (0.1, 1.0)
    """
    known = ("alpha", "l1_ratio") if model == "elastic-net" else ("alpha",)
    for name in options:
        if name not in known:
            raise ParameterError(f"{name}= is of penalty='elasticnet', and model={model!r} has none: leave it out.")
    alpha, l1_ratio = options.get("alpha"), options.get("l1_ratio", L1_RATIOS[model])
    if not checks.is_real(l1_ratio) or not 0 <= l1_ratio <= 1:
        raise ParameterError(f"l1_ratio must lie between 0 (ridge) and 1 (lasso), got {l1_ratio!r}.")
    return None if alpha is None else checks.positive("alpha", alpha), float(l1_ratio)


def _outcome_scale(released: ReleasedMoments, target: str) -> float:
    """k: the declared half-width of the outcome over the one that was used."""
    declared, domain = released.certificate.declared, released.domain
    if declared is None:
        return 1.0
    column = column_of(domain, target)
    return declared.map(column)[1] / domain.map(column)[1]


# ---------------------------------------------------------------- many outcomes


@renamed(penalty="alpha")
def fit_many(
    released: ReleasedMoments,
    targets: Sequence[str] | None,
    features: Sequence[str] | None,
    solve: Solve = "noise-aware",
    alpha: float | None = None,
) -> Results:
    """Fit one model to many outcomes of a release."""
    named = released.outcomes
    if targets is None and not named:
        raise ParameterError("This release names no outcomes: give targets, a list of columns.")
    e = normal_equations(released, named if targets is None else targets, features)
    return results(released, e, solve_many(released, e, solve, alpha), solve)


def solve_many(released: ReleasedMoments, e: NormalEquations, how: Solve, alpha: float | None = None) -> Floats:
    """Coefficients of the mapped columns, one column an outcome."""
    if how not in get_args(Solve):
        raise ParameterError(f"solve must be one of {', '.join(map(repr, get_args(Solve)))}; got {how!r}.")
    if how == "noise-aware":
        return noise_aware_solution(released, e)
    strength = paper_penalty(e) if alpha is None else alpha
    return ridge(e.S, e.V, strength) if how == "ridge" else conjugate_gradients(e.S, e.V, strength)


# ---------------------------------------------------------------- which variables belong to a model


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Probabilities that variables belong to a model. Computed from a release, so it costs no privacy.

    The same release gives the same probabilities, to the last bit: the draws behind them have a fixed seed. They take
    all noise into account, the release's and the sample's: where the noise drowns the data, nothing is sure.

    Parameters
    ----------
    target : str
        The outcome.
    names : tuple of str
        The regressors, without the intercept; a category has one for each level but the first.
    probability : array
        The probability that each one's coefficient is not zero.
    coef : array
        The mean coefficient if it is not, in the user's units.
    certificate : Certificate
        The guarantee of the release behind it.
    """

    target: str
    names: tuple[str, ...]
    probability: Floats
    coef: Floats
    certificate: Certificate

    def chosen(self, level: float = 0.5) -> tuple[str, ...]:
        """The variables whose probability is at least `level`; 0.5 gives the median-probability model."""
        checks.fraction("level", level)
        return tuple(name for name, p in zip(self.names, self.probability, strict=True) if p >= level)

    def verdict(self, name: str) -> str:
        """Return 'in' or 'out' if the probability of that is at least 95 %, else 'unsure'."""
        p = float(self.probability[self.names.index(name)])
        return "in" if p >= _SURE else "out" if p <= 1 - _SURE else "unsure"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "target": self.target,
            "probability": dict(zip(self.names, self.probability.tolist(), strict=True)),
            "coef": dict(zip(self.names, self.coef.tolist(), strict=True)),
            "verdict": {name: self.verdict(name) for name in self.names},
            "guarantee": self.certificate.guarantee.to_dict(),
        }

    def summary(self) -> str:
        """A table, the most probable variables first."""
        names = [printable(name) for name in self.names]
        width = max(map(len, [*names, "variable"]))
        lines = [
            f"Which variables explain {printable(self.target)}",
            promise(self.certificate.guarantee),
            "",
            f"{'variable':<{width}}  probability      coef if in  verdict",
        ]
        for i in np.argsort(-self.probability, kind="stable"):
            p, coef = self.probability[i], self.coef[i]
            lines.append(f"{names[i]:<{width}}  {p:>11.3f}  {number(coef):>14}  {self.verdict(self.names[i])}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def select_variables(released: ReleasedMoments, e: NormalEquations) -> Selection:
    """Inclusion probabilities of the regressors of released normal equations, the intercept always in the model."""
    constant = np.array([name == CONSTANT for name in e.names])
    probability, theta = inclusion(likelihood_of(released, e), constant)
    coef, _ = user_units(released, e).params(theta)
    names = tuple(name for name in e.names if name != CONSTANT)
    return Selection(e.target, names, probability[~constant], coef, released.certificate)
