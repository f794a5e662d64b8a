"""Fitted models: coefficients in the user's units, their uncertainty, and their guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.files import Document, Source, digest, load_document, write_document
from discreet.core.placeholders import Later, Unavailable
from discreet.domain import CONSTANT
from discreet.domain.formula import Model, recoding_of
from discreet.errors import ParameterError
from discreet.families import Link
from discreet.families.base import places
from discreet.privacy.values import GridValues
from discreet.released.certificate import Certificate
from discreet.released.means import OLD_MEANS, ColumnMeans, column_means
from discreet.released.moments import ReleasedMoments
from discreet.released.search import outside_words
from discreet.released.units import coefficient_unit, many_units, unclipped, unit_per, user_units
from discreet.results.boundary_warnings import remarks
from discreet.results.class_contrasts import TWO_CLASSES, contrasts_to, place_of, ratios
from discreet.results.description import description
from discreet.results.design import design_matrix
from discreet.results.documents import FORMAT_VERSIONS, document, exposure_of, facts_of
from discreet.results.estimands import CHOICES, EstimandChoice, resolved
from discreet.results.fitted import Fitted
from discreet.results.glm_inference import NO_DISPERSION, NO_DISPERSION_OF_PERSONS, NO_OUTCOMES, dispersion
from discreet.results.inference import OLD_FILE, infer
from discreet.results.marginal_inference import infer_many
from discreet.results.outcomes import outcomes_description
from discreet.results.series import like
from discreet.results.uncertainty import Inference
from discreet.solve.equations import NormalEquations

_UNKNOWN = Later.of("")
_OLD: Later[Inference | Unavailable] = Later.of(OLD_FILE)


@dataclass(frozen=True, eq=False, repr=False)
class Results(Fitted):
    """A fitted model of a number, a class or a count, or of several numbers on the same regressors.

    It holds released values only, so it can be saved and published.

    Parameters
    ----------
    targets : tuple of str
        The outcomes: one, or several.
    names : tuple of str
        The regressors, without the intercept.
    coef : array
        Their coefficients that predict, in units of the linear predictor per unit of the regressor (per level against
        the first); `params` are those to report. Of several outcomes, and of classes, there is a row for each linear
        predictor.
    intercept : float or array
        The linear predictor where all regressors are zero and categories at their first level; an entry for each row.
    model : str
        The method, or how the equations were solved.
    certificate : Certificate
        The guarantee of the release behind it.
    inference_later : Later
        `inference`, which takes a while to compute for thousands of outcomes.
    rows : float
        The number of rows: declared, or a released noisy one.
    rows_sd : float, optional
        The sd of its noise, 0 if it was declared.
    release_later : Later, optional
        `release`, which takes a while to find and is seldom asked for; None of a model that was released itself.
    remarks : tuple of str
        Remarks of the release on the data that a reader should know.
    link : {"identity", "logit", "log", "sign"}
        The link function.
    classes : tuple, optional
        The classes of the outcome, in order; more than two have one linear predictor each.
    weights : array, optional
        For the adaptive method: how much more than others each regressor was penalised, a row for each predictor.
    values : tuple of tuples of GridValues
        The noisy values of the Gaussian events of the certificate, of a model that was released in private coordinates.
    reference : int
        Of a multinomial model, the place of the class that the others are compared with; `against_class` names another.
    means : ColumnMeans or Unavailable
        The means of the regressors, from released sums.
    """

    targets: tuple[str, ...]
    names: tuple[str, ...]
    coef: Floats
    intercept: Any
    model: str
    certificate: Certificate
    inference_later: Later[Inference | Unavailable] = _OLD
    rows: float | None = None
    release_later: Later[str] | None = _UNKNOWN
    remarks: tuple[str, ...] = ()
    link: Link = "identity"
    classes: tuple[Any, ...] | None = None
    weights: Floats | None = None
    values: tuple[tuple[GridValues, ...], ...] = ()
    rows_sd: float | None = None
    reference: int = 0
    means: ColumnMeans | Unavailable = OLD_MEANS

    @property
    def several(self) -> bool:
        """Whether the outcomes are a list, so that numbers have a row for each."""
        return self.classes is None and self.coef.ndim == 2

    @property
    def inference(self) -> Inference | Unavailable:
        """Standard errors and tests of the coefficients, or why there are none."""
        found = self.inference_later()
        if isinstance(found, Unavailable) or not self.contrasted:
            return found
        return contrasts_to(found, len(self.classes or ()), self.reference)

    @property
    def release(self) -> str:  # type: ignore[override]
        """The digest of the release behind it, by which it can be cited."""
        if self.release_later is not None:
            return self.release_later()
        found = self.inference_later()  # one release has one digest, whichever fit is asked for
        same = self if isinstance(found, Unavailable) else self._inferred(resolved(found))
        return digest(same._document())

    @property
    def released(self) -> ReleasedMoments:
        """The noisy values of its own, with their certificate."""
        return ReleasedMoments(self.certificate, self.values)

    # ---------------------------------------------------------------- numbers by name

    @property
    def predictors(self) -> Floats:
        """(intercept, coefficients) of each linear predictor, a row each."""
        return np.column_stack([np.atleast_1d(self.intercept), np.atleast_2d(self.coef)])

    @property
    def lines(self) -> list[tuple[str, Floats]]:
        """(intercept, coefficients) that predict, with the prefix of their names: of each linear predictor, or class.

        Those of a multinomial model are differences to the reference class.
        """
        rows, at = self.predictors, self.reference
        return list(zip(self._heads, np.delete(rows, at, axis=0) - rows[at] if self.contrasted else rows, strict=True))

    @property
    def _heads(self) -> list[str]:
        labels = list(self.targets if self.several else self.classes or ())
        if not self.several and len(labels) < 3:
            return [""]
        return [f"{label}: " for i, label in enumerate(labels) if not (self.contrasted and i == self.reference)]

    def coordinate(self, name: str) -> str:
        """The regressor that a name in `coefficients` stands for."""
        known = (CONSTANT, *self.names)
        return next(name.removeprefix(head) for head in ("", *self._heads) if name.removeprefix(head) in known)

    def unit(self, *name: str) -> str:
        """The unit of a coefficient, as far as the schema gives units: that of the outcome, log odds or log rates.

        Parameters
        ----------
        *name : str
            The coefficient; of several outcomes, the outcome and the coefficient.
        """
        domain, own, head = self.certificate.domain, self.coordinate(name[-1]), self.family.words.unit
        return unit_per(domain, head, own) if head else coefficient_unit(domain, self._outcome_of(name[0]), own)

    def _outcome_of(self, name: str) -> str:
        """Return the outcome of a name or of its prefix."""
        if not self.several:
            return self.target
        return next(own for own in self.targets if name == own or name.startswith(f"{own}: "))

    def about(self, estimand: EstimandChoice) -> Self:
        """Return the model with intervals about another fit to the population.

        Parameters
        ----------
        estimand : {"auto", "declared", "bounded"}
            Least squares under the declared bounds (of classes and counts, the maximum-likelihood fit): what far rows
            and far residuals would add is charged to the intervals, as far as released counts tell. Or the bounded fit,
            in which they count less, as the release states. "auto" is the first of these where its intervals are at
            most 1.25 times as wide, the median of all, and else the second.
        """
        checks.choice("estimand", estimand, CHOICES)
        if self.several:  # whose inference may take a while
            return replace(self, inference_later=Later(lambda: self._inference_about(estimand)))
        return self._inferred(self._inference_about(estimand))

    def _inference_about(self, estimand: EstimandChoice) -> Inference | Unavailable:
        found = self.inference_later()
        if isinstance(found, Unavailable):
            return found
        if not self.family.linear and estimand == "declared" and not found.charged:
            raise ParameterError(
                "This model was saved by an older version of discreet, which did not say what rows far from the others "
                "would add. Leave out estimand, or choose 'bounded'."
            )
        return resolved(found, estimand)

    def _inferred(self, inference: Inference | Unavailable, **changes: Any) -> Self:
        return replace(self, inference_later=Later.of(inference), **changes)

    def against(self, asked: Model) -> Self:
        """Return the model with coefficients against the reference levels of a formula."""
        M = recoding_of(self.certificate.domain, asked)
        return self if M is None else self._recoded(asked.domain.design_names(asked.features)[1:], M)

    def _recoded(self, names: tuple[str, ...], M: Floats) -> Self:
        ((_, line),), found = self.lines, self.joint
        line = M @ line
        told = found if isinstance(found, Unavailable) else found.combined(M)
        return self._inferred(told, names=names, coef=line[1:], intercept=float(line[0]))

    # ---------------------------------------------------------------- of classes and counts

    def against_class(self, reference: Any) -> Self:
        """Return a multinomial model with coefficients, intervals and odds ratios against another class.

        Parameters
        ----------
        reference : object
            One of `classes`; the first of them is the reference otherwise.
        """
        return replace(self, reference=place_of(self, reference))

    def ratios(self, level: float = 0.95) -> Any:
        """A pandas frame: what one unit more multiplies the odds by, or the expected count, with intervals.

        Odds of a multinomial model are those of a class against the reference class.

        Parameters
        ----------
        level : float
            The level of the intervals.
        """
        return ratios(self, checks.fraction("level", level))

    @property
    def dispersion(self) -> float | Unavailable:
        """Dispersion of counts: their variance over their mean, averaged over the directions."""
        if not self.family.words.dispersion:
            return NO_DISPERSION
        if not self.certificate.domain.unit.plain:
            return NO_DISPERSION_OF_PERSONS
        return self.joint if isinstance(self.joint, Unavailable) else dispersion(self.joint)

    def selection(self) -> list[dict[str, Any]]:
        """List which regressors have a nonzero coefficient in some predictor, the largest in mapped units first.

        With an l1 penalty coefficients are exactly zero where noise and penalty outweigh the data. Free, as all that is
        computed from a release.
        """
        domain = self.certificate.domain
        halves = np.array([domain.map(domain.entries[i].column)[1] for i in domain.indices(self.names)])
        size = np.abs(np.atleast_2d(self.coef) * halves).max(axis=0)
        table = []
        for j in np.argsort(-size, kind="stable"):
            row = {"name": self.names[j], "selected": bool(size[j] > 0), "size": float(size[j])}
            if self.weights is not None:
                row["weight"] = float(self.weights[:, j].min())
            table.append(row)
        return table

    # ---------------------------------------------------------------- predictions

    def predictor(self, X: Any, *, clip: bool = True) -> Floats:
        """The linear predictors of the rows of X, a column each.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            The features by name; or a matrix with one column for each of `names`.
        clip : bool
            Whether columns are clipped to their declared bounds, as they were in the fit. Rows in the ball of a
            `data_norm` are not shortened.
        """
        eta: Floats = design_matrix(X, self.certificate.domain, self.names, clip=clip) @ self.coef.T + self.intercept
        return eta if eta.ndim == 2 else eta[:, None]

    def expected(self, eta: Floats, *, clip: bool = True) -> tuple[Floats, Floats]:
        """Expected outcomes at linear predictors, and their slopes: numbers, counts, or probabilities of a class.

        Parameters
        ----------
        eta : array
            The linear predictors.
        clip : bool
            Whether counts are at most their declared upper bound, as in the model.
        """
        domain = self.certificate.domain
        column = domain.columns.get(self.target)
        most = column.bounds[1] if clip and column is not None and column.bounds else math.inf
        return self.family.mean(eta, most), self.family.slope(eta, most)

    def outcomes(self, eta: Floats, *, clip: bool = True) -> Floats:
        """Return expected numbers or counts at linear predictors; of several outcomes a column for each.

        Parameters
        ----------
        eta : array
            The linear predictors.
        clip : bool
            Whether they are clipped to the range that was declared for the outcome.
        """
        found = eta if self.family.linear else self.expected(eta, clip=clip)[0]
        if not checks.flag("clip", clip):
            return found
        low, high = self.outcome_ranges.T
        within: Floats = np.clip(found, low, high)
        return within

    @property
    def outcome_ranges(self) -> Floats:
        """The declared range (low, high) of each outcome; that of a rate for one unit of exposure begins at 0."""
        certificate = self.certificate
        ranges = (certificate.declared or certificate.domain).ranges(self.targets)
        if exposure_of(certificate) is not None:
            ranges[:, 0] = 0.0
        return ranges

    def predict(self, X: Any, *, clip: bool = True) -> Any:
        """The expected number or count, or the class, of each row; of several outcomes a column for each.

        Columns are clipped to their declared bounds, as they were in the fit, and predicted numbers and counts to the
        range that was declared for the outcome.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            As for `predictor`.
        clip : bool
            False gives the plain line, however far it leads.

        Returns
        -------
        array, or Series
            For a pandas frame, a Series with the frame's index.
        """
        eta = self.predictor(X, clip=clip)
        if self.several:
            return self.outcomes(eta, clip=clip)
        if self.classes is None:
            return like(X, self.outcomes(eta[:, 0], clip=clip), self.target)
        return like(X, np.array(self.classes)[places(eta)], self.target)

    def predict_proba(self, X: Any, *, clip: bool = True) -> Floats | Unavailable:
        """The probability of each class, in the order of `classes`; of logistic models only.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            As for `predictor`.
        clip : bool
            Whether columns are clipped to their declared bounds.
        """
        p = self.family.probabilities(self.predictor(X, clip=clip))
        if p is None:
            return Unavailable("not available", f"A {self.kind} has no probabilities: a logistic regression has.")
        return p

    def predict_interval(
        self, X: Any, level: float = 0.95, *, of: str = "outcome", clip: bool = True
    ) -> tuple[Floats, Floats] | Unavailable:
        """Intervals (low, high) around the line of `params`, within the declared range of the outcome.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            As for `predict`.
        level : float
            The share of outcomes, or of samples and noises, for which the interval holds.
        of : {"outcome", "mean"}
            Where a new outcome lies, which is for numbers, with a variance that may change along the line, and tails
            that are normal, or as heavy as released counts of residuals say; or where the expected outcome lies, the
            line itself, a count, or the probability of the second class: NaN where the features tell too little of it.
        clip : bool
            Whether columns are clipped to their declared bounds, and both ends to the range of the outcome.
        """
        checks.choice("of", of, ("outcome", "mean"))
        level = checks.fraction("level", level)
        if self.several:
            return Unavailable("not available", "Intervals of predictions are for one outcome: fit it by itself.")
        D, found = design_matrix(X, self.certificate.domain, self.names, clip=clip), self.joint
        Z = np.column_stack([np.ones(len(D)), D])
        if isinstance(found, Unavailable):
            return found
        if not self.family.linear and (self.contrasted or of == "outcome"):
            return TWO_CLASSES if self.contrasted else NO_OUTCOMES
        C, df, spread, centre = found.covariance, found.degrees(Z), found.spread, Z @ found.estimate
        if isinstance(C, Unavailable) or isinstance(df, Unavailable):
            return C if isinstance(C, Unavailable) else df  # type: ignore[return-value]
        variance = np.einsum("ij,jk,ik->i", Z, C, Z)
        if of == "outcome":
            if isinstance(spread, Unavailable):
                return spread
            half = spread.reach(level) * np.sqrt(variance + spread.variance(centre))
        else:
            variance = np.where(found.noise_of(Z) > found.largest_noise, np.nan, variance)
            half = found.quantile(level, df) * np.sqrt(variance)
        low, high = centre - half, centre + half
        if self.classes is None:
            return self.outcomes(low, clip=clip), self.outcomes(high, clip=clip)
        return self.expected(low)[0], self.expected(high)[0]

    def predictions(self, X: Any, level: float = 0.95, *, clip: bool = True) -> dict[str, Any]:
        """Return all predictions of each row, by column: outcomes, and their probabilities or intervals.

        Several outcomes have a column each, by their names.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            As for `predict`.
        level : float
            The level of the intervals of outcomes.
        clip : bool
            Whether columns and outcomes are clipped to what was declared, as for `predict`.
        """
        if self.several:
            return dict(zip(self.targets, self.predict(X, clip=clip).T, strict=True))
        found, p = {"prediction": self.predict(X, clip=clip)}, self.predict_proba(X, clip=clip)
        interval = self.predict_interval(X, level, clip=clip)
        if not isinstance(p, Unavailable):
            found |= {f"p[{label}]": column for label, column in zip(self.classes or (), p.T, strict=True)}
        if not isinstance(interval, Unavailable):
            found |= dict(zip(("low", "high"), interval, strict=True))
        return found

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description; a number that is missing for one coefficient is None."""
        return outcomes_description(self) if self.several else description(self)

    def save(self, path: str | Path, *, simulation: bool = False, overwrite: bool = False) -> None:
        """Save the model and its certificate as JSON with a SHA-256 digest, which finds damage, not forgery.

        Parameters
        ----------
        path : path
            The file.
        simulation : bool
            Must be True to save a model whose noise came from a seed.
        overwrite : bool
            Must be True to replace a file: another model may be all that is left of its budget.
        """
        if not simulation:
            self.certificate.refuse_simulation("model", "Fit")
        write_document(path, self._document(), overwrite=overwrite)

    def _document(self) -> dict[str, Any]:
        return document(self)

    @staticmethod
    def load(path: Source) -> Results:
        """Load what `save` wrote, by this version or an older one: a model of any kind, of one outcome or several."""
        document = Document.of(path)
        kind = document.kind if document.kind in FORMAT_VERSIONS else "results"
        return load_document(document, kind, FORMAT_VERSIONS[kind], Results._from_document)

    @staticmethod
    def _from_document(body: dict[str, Any]) -> Results:
        return Results(**facts_of(body))


def results(
    released: ReleasedMoments, e: NormalEquations, theta: Floats, model: str, raw: NormalEquations | None = None
) -> Results:
    """Package solutions in the user's units.

    `theta`: the coefficients of one outcome; or those of several, a column for each.
    `raw`: the equations that standard errors of several outcomes come from, where e was changed since.
    """
    certificate, cited = released.certificate, Later(lambda: released.digest)
    rows, rows_sd = released.rows_and_noise()  # e.n is the sum of the weights that rows have in the last stage
    names, means = tuple(name for name in e.names if name != CONSTANT), column_means(released)
    facts: dict[str, Any] = {"rows_sd": rows_sd, "means": means}
    inference: Later[Inference | Unavailable]
    if theta.ndim == 2:
        T, h, t = many_units(released, e)
        params = (h * (T @ theta)).T + t
        inference = Later(lambda: infer_many(released, e if raw is None else raw))
        lines = params[:, 1:], params[:, 0]
        told = outside_words(released)
        return Results(e.targets, names, *lines, model, certificate, inference, rows, cited, told, **facts)
    target, units = e.target, user_units(released, e, unclip=False)
    coef, intercept = unclipped(released, target, units).params(theta)
    inference = Later(lambda: infer(released, e, units))
    told = remarks(released, target) + outside_words(released)
    line = coef, intercept
    return Results((target,), names, *line, model, certificate, inference, rows, cited, told, **facts)
