"""The base class of estimators that release coefficients, not moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT, Domain
from discreet.errors import ParameterError
from discreet.mechanisms.posterior_sampling.release import StagedSubject
from discreet.models.base import PrivateRegressor, ReleasesModel
from discreet.models.spec import FitSpec
from discreet.privacy import sensitivity
from discreet.privacy.guarantee import Guarantee
from discreet.released.certificate import Certificate
from discreet.released.units import column_of, in_user_units
from discreet.results.released_model import ReleasedModel


@dataclass(kw_only=True, eq=False, repr=False)
class CoefficientsRegressor(ReleasesModel, PrivateRegressor):
    """A linear model whose coefficients are released directly."""

    why_no_inference: ClassVar[str] = ""
    """The reason why there are no standard errors."""

    @property
    def needs_rows(self) -> bool:
        """Whether the largest number of rows there can be must be declared."""
        return True

    def _poor_score(self) -> bool:
        """Whether scores may be poor: no epsilon makes all of these methods good on scikit-learn's small tables."""
        return True

    def _check(self) -> Guarantee:
        promise = super()._check()
        if self.needs_rows and self.rows is None:
            raise ParameterError(
                f"{type(self).__name__} needs rows=, the largest number of rows there can be: a public figure, "
                "declared by you, that its noise depends on."
            )
        return promise

    def _subject(self, domain: Domain, spec: FitSpec) -> StagedSubject:
        design = domain.design_names(spec.features)
        outcome = domain.entries[domain.target(spec.target)].name
        sizes = sensitivity.norm(design, domain), sensitivity.norm((outcome,), domain)
        return StagedSubject(
            design, outcome, *sizes, spec.promise.neighbors, None if self.rows is None else float(self.rows)
        )

    def _number(self, domain: Domain, target: str) -> str:
        """The outcome's column, for methods that read rows."""
        column = domain.entries[domain.target(target)].column
        domain.columns[column].as_number(column, type(self).__name__)
        return column

    def _fit_coefficients(self, drawn: tuple[Certificate, Floats], subject: StagedSubject, spec: FitSpec) -> Self:
        """Build the model from released coefficients, in the user's units."""
        certificate, theta = drawn
        domain, design = certificate.domain, subject.design
        coef, intercept = in_user_units(domain, design, theta, domain.map(column_of(domain, subject.target)))
        names = design[int(design[0] == CONSTANT) :]
        why = Unavailable("not available", self.why_no_inference)
        released = ReleasedModel(certificate, spec.target, names, coef, intercept, inference=why)
        self._set(released, released.results(), spec)
        return self
