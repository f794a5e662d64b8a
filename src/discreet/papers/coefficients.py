"""What estimators that release coefficients, and not moments, share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.citations import mark_of
from discreet.core.later import Later
from discreet.core.unavailable import Unavailable
from discreet.data.inputs import design_names
from discreet.domain import CONSTANT, Domain, Numeric, derived
from discreet.errors import ParameterError
from discreet.gate.posterior import Subject
from discreet.gate.session import Release
from discreet.models.asked import Asked
from discreet.models.table import TableRegressor
from discreet.privacy import sensitivity
from discreet.privacy.certificate import Certificate
from discreet.privacy.guarantee import Guarantee
from discreet.released.units import column_of, in_user_units
from discreet.results.glm_results import GLMResults
from discreet.results.results import Results

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class CoefficientsRegressor(TableRegressor):
    """A linear model whose coefficients themselves are released."""

    why_no_inference: ClassVar[str] = ""
    """Why there are no standard errors."""

    @property
    def needs_rows(self) -> bool:
        """Whether the largest number of rows there can be must be declared."""
        return True

    def _poor_score(self) -> bool:
        """These methods are for comparison: no epsilon makes them all good on scikit-learn's small tables."""
        return True

    def _check(self) -> Guarantee:
        promise = super()._check()
        if self.needs_rows and self.rows is None:
            raise ParameterError(
                f"{type(self).__name__} needs rows=, the largest number of rows there can be: a public figure, "
                "declared by you, that its noise depends on."
            )
        return promise

    def _subject(self, domain: Domain, asked: Asked) -> Subject:
        design = design_names(domain, asked.features)
        outcome = domain.entries[domain.target(asked.target)].name
        sizes = sensitivity.norm(design, domain), sensitivity.norm((outcome,), domain)
        return Subject(
            design, outcome, *sizes, asked.promise.neighbors, None if self.rows is None else float(self.rows)
        )

    def _number(self, domain: Domain, target: str) -> str:
        """The outcome's column, for methods that read rows."""
        column = domain.entries[domain.target(target)].column
        if not isinstance(domain.columns[column], Numeric):
            raise ParameterError(
                f"Column {column!r} is a category; {type(self).__name__} needs a number as the outcome."
            )
        return column

    def _release(self, promise: Guarantee, reason: str | None = None) -> Release:
        """A release under way; with a reason why a paper's constants are only claimed to be private."""
        method = type(self).__name__
        if reason is not None:
            promise = replace(promise, status="claimed", reason=reason)
            method += f" as published in {mark_of(str(self._paper))}"
        return Release.begin(promise, method, self.rows, self.random_state)

    def _set(self, certificate: Certificate, theta: Floats, subject: Subject, asked: Asked) -> None:
        domain, design, target, features = certificate.domain, subject.design, asked.target, asked.features
        outcome = domain.map(column_of(domain, subject.target))
        coef, intercept = in_user_units(domain, design, theta, outcome)
        names = design[int(design[0] == CONSTANT) :]
        why = Unavailable("not available", self.why_no_inference)
        model = certificate.method
        facts = (coef[None, :], np.array([intercept]), model, certificate, "identity")
        self.release_ = GLMResults(target, names, *facts)  # type: ignore[arg-type]
        released = self.release_
        cited = Later(lambda: released.release)
        self.results_ = Results(target, names, coef, intercept, model, certificate, why, subject.rows, cited)
        self.certificate_ = certificate
        self._set_columns(list(derived.inputs({name: domain.columns[name] for name in features})), named=asked.named)
        self._features = tuple(features)
        self.coef_, self.intercept_ = coef, intercept

    def _coefficient_names(self) -> tuple[str, ...]:
        return self.results_.names
