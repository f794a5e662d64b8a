"""What DPRidge, DPLasso and DPElasticNet share: the release of DPLinearRegression, solved with a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.models.dp_linear import DPLinearRegression
from discreet.privacy.guarantee import Guarantee
from discreet.released.equations import NormalEquations
from discreet.results.models import PenalisedResults, check_options, fit_penalised
from discreet.results.private_moments import PrivateMoments

PENALISED = """narrow : bool
        Whether the outcome's bounds may be narrowed privately, as in `DPLinearRegression`.
    penalty : float, optional
        alpha, for all columns mapped to [-1, 1] by their declared bounds; the intercept is not penalised. By default it
        is chosen on the release itself, which costs nothing: the one whose model the noise-aware posterior expects
        to predict best. `penalty_` says which, and ``results_.path()`` gives all others."""


@dataclass(kw_only=True, eq=False, repr=False)
class PenalisedRegressor(DPLinearRegression):
    """A penalised linear model on one release.

    Parameters
    ----------
    {parameters}
    {penalised}
    """

    model: ClassVar[str]
    """The name of the model in `PrivateMoments.fit`."""

    many_outcomes: ClassVar[bool] = False

    penalty: float | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = (cls.__doc__ or "").replace("{penalised}", PENALISED)

    def _options(self) -> tuple[float | None, float]:
        return check_options(self.model, {"penalty": self.penalty})

    def _check(self) -> Guarantee:
        self._options()
        return super()._check()

    def _results(self, released: PrivateMoments, e: NormalEquations, delta: float) -> PenalisedResults:
        return fit_penalised(released, e, released.certificate.method, *self._options())

    def _set(self, released: PrivateMoments, fitted: Any, features: list[str], named: bool) -> None:
        super()._set(released, fitted, features, named)
        self.penalty_ = fitted.to_dict()["penalty"]
