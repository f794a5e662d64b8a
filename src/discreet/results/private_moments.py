"""Releases of noisy moments: saved and loaded, and good for any number of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.domain.formula import Model, is_formula, recoding_of
from discreet.domain.formula import released as released_formula
from discreet.errors import ParameterError
from discreet.released.moments import ReleasedMoments
from discreet.results.estimands import CHOICES, EstimandChoice
from discreet.results.models import PenaltyKind, Selection, fit_equations, fit_many, penalised_by, select_variables
from discreet.results.results import Results


@dataclass(frozen=True, repr=False)
class PrivateMoments(ReleasedMoments):
    """Noisy moments with their certificate. **Public**: save them, publish them, fit any number of models.

    Parameters
    ----------
    certificate : Certificate
        The promise, and the events that were released.
    values : tuple of tuples of GridValues
        For each block of the certificate: diagonal and upper triangle of a Gram matrix, or all values of another.
    """

    def fit(
        self,
        target: str,
        features: Sequence[str] | None = None,
        *,
        model: str = "noise-aware",
        penalty: PenaltyKind | None = None,
        alpha: float | None = None,
        l1_ratio: float | None = None,
        estimand: EstimandChoice = "auto",
    ) -> Results:
        """Fit a model to the release; this costs no privacy, however often it is done.

        Parameters
        ----------
        target : str
            The outcome, or a formula over released columns: ``"income ~ age + region"`` (docs/howto/formulas.md).
        features : sequence of str, optional
            The regressors; all released columns but the outcome's by default.
        model : {"noise-aware", "ridge", "lasso", "elastic-net", "ols"}
            The solve of `DPLinearRegression`; a penalised model; or plain least squares.
        penalty : {None, "l1", "l2", "elasticnet"}
            Another way to name a penalised model, by the kind of its penalty: lasso, ridge or elastic net.
        alpha : float, optional
            The strength of the penalty; chosen on the release by default.
        l1_ratio : float, optional
            The share of the l1 norm in an elastic net: 0 is ridge, 1 is lasso.
        estimand : {"auto", "declared", "bounded"}
            The estimand of intervals; see `Results.about`.
        """
        model, options = penalised_by(penalty, model, alpha, l1_ratio)
        checks.choice("estimand", estimand, CHOICES)
        if not is_formula(target, self.domain):
            return fit_equations(self, self.equations(target, features), model, options).about(estimand)
        asked = self._asked(target, features)
        e, recoded = self.equations(asked.target or "", asked.features), recoding_of(self.domain, asked)
        fitted = fit_equations(self, e, model, options, recoded)
        return fitted.against(asked).about(estimand)

    def fit_many(
        self, targets: Sequence[str] | None = None, features: Sequence[str] | None = None, **options: Any
    ) -> Results:
        """Fit one model to many outcomes at once, by default to all that the release names; costs no privacy.

        Parameters
        ----------
        targets, features : sequence of str, optional
            The outcomes, and the regressors: all released columns but outcomes' by default.
        **options
            ``solve="noise-aware"``, ``"ridge"`` or ``"cg"``, and of the latter two ``alpha=``, neel2023's by default.
        """
        return fit_many(self, targets, features, **options)

    def select(self, target: str, features: Sequence[str] | None = None) -> Selection:
        """Return the probability that each feature belongs to the model of the outcome, or of a formula; free."""
        if is_formula(target, self.domain):
            asked = self._asked(target, features)
            target, features = asked.target or "", asked.features
        return select_variables(self, self.equations(target, features))

    def _asked(self, target: str, features: Sequence[str] | None) -> Model:
        """Parse a formula over released columns."""
        if features is not None:
            raise ParameterError("Give either a formula or features, not both.")
        return released_formula(target, self.domain)
