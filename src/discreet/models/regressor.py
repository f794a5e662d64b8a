"""What regressors by objective perturbation share: bounds of the outcome, predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.data.inputs import check_pair
from discreet.domain import Domain, Numeric
from discreet.errors import ParameterError
from discreet.models.contract import Regressor
from discreet.models.outcome import Outcome
from discreet.models.perturbed import PerturbedModel


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedRegressor(Regressor, PerturbedModel):
    """A regressor whose linear predictor minimises a perturbed objective."""

    bounds_y: Any = None

    def _outcome(self, domain: Domain, target: str) -> Outcome:
        column = domain.entries[domain.target(target)].column
        if not isinstance(domain.columns[column], Numeric):
            raise ParameterError(
                f"Column {column!r} is a category; {type(self).__name__} needs a number as the outcome."
            )
        return Outcome(target, column)

    def _prepared(self, X: Any, y: Any, name: str | None) -> tuple[Any, Domain, Outcome]:
        domain, target = self._declared(X, name, {"bounds_y": self.bounds_y})
        outcome = self._outcome(domain, target)
        check_pair(X, y)
        return (X, y), domain, outcome

    def _set(self, *args: Any, **options: Any) -> None:
        super()._set(*args, **options)
        self.coef_, self.intercept_ = self.results_.coef[0], float(self.results_.intercept[0])
