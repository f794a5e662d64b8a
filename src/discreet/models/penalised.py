"""DPRidge, DPLasso and DPElasticNet: the release of DPLinearRegression, solved with a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.core.old_keywords import accepts_old_keywords, old_attribute
from discreet.models.base import Estimator
from discreet.models.linear import DPLinearRegression
from discreet.models.spec import FitSpec
from discreet.privacy.guarantee import Guarantee
from discreet.results.models import PenalisedResults, check_options, fit_penalised, refuse_kind
from discreet.results.private_moments import PrivateMoments
from discreet.solve.equations import NormalEquations

_PENALISED = """narrow : bool
        Whether the outcome's bounds may be narrowed privately, as in `DPLinearRegression`.
    alpha : float, optional
        The strength of the penalty, for all columns mapped to [-1, 1] by their declared bounds; the intercept is not
        penalised. By default it is chosen on the release itself, which costs nothing: in one stage the one whose model
        the noise-aware posterior expects to predict best; in several, where no penalty at all would give
        `DPLinearRegression`, the strongest one that adds at most 2 % to its expected error. `alpha_` says which, and
        ``results_.path()`` gives all others."""


class FitsPenalised(Estimator):
    """For type checkers: an estimator of a penalised model."""

    results_: PenalisedResults

    alpha_: float
    """The strength of the penalty, as given or as chosen on the release."""


@dataclass(kw_only=True, eq=False, repr=False)
class PenalisedRegressor(FitsPenalised, DPLinearRegression):
    """A penalised linear model on one release."""

    model: ClassVar[str]
    """The name of the model in `PrivateMoments.fit`."""

    many_outcomes: ClassVar[bool] = False
    descends: ClassVar[bool] = False
    words: ClassVar[dict[str, str]] = {"penalised": _PENALISED}
    renamed: ClassVar[dict[str, str]] = {"penalty": "alpha"}
    penalty_ = old_attribute("penalty_", "alpha_")

    alpha: float | None = None

    @classmethod
    def check_old(cls, name: str, value: Any) -> None:
        """Refuse a kind of penalty: the class has one already."""
        refuse_kind(cls.__name__, value)

    def _options(self) -> tuple[float | None, float]:
        return check_options(self.model, {"alpha": self.alpha})

    def _check(self) -> Guarantee:
        self._options()
        return super()._check()

    def _results(self, released: PrivateMoments, e: NormalEquations, delta: float) -> PenalisedResults:
        return fit_penalised(released, e, released.certificate.method, *self._options())

    def _set(self, release: Any, fitted: Any, spec: FitSpec) -> None:
        super()._set(release, fitted, spec)
        self.alpha_ = fitted.to_dict()["alpha"]


@accepts_old_keywords
@dataclass(kw_only=True, eq=False, repr=False)
class DPRidge(PenalisedRegressor):
    """Private ridge regression: 1/(2n) |y - X theta|^2 + alpha/2 |theta|^2 on released moments.

    `DPLinearRegression` shrinks each direction by its own noise and is the better default; ridge is for those who want
    one stated penalty.

    Parameters
    ----------
    {parameters}
    {penalised}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = DPRidge(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> model.certificate_.guarantee.status, model.alpha_ > 0
    ('verified', True)
    """

    model: ClassVar[str] = "ridge"


@accepts_old_keywords
@dataclass(kw_only=True, eq=False, repr=False)
class DPLasso(PenalisedRegressor):
    """Private lasso: 1/(2n) |y - X theta|^2 + alpha |theta|_1 on released moments; some coefficients are exactly zero.

    Zeros of a lasso do not say how sure they are: ``release_.select(...)`` does.

    Parameters
    ----------
    {parameters}
    {penalised}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 3))
    >>> lasso = DPLasso(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1), alpha=0.5).fit(X, X[:, 0])
    >>> lasso.coef_.tolist(), lasso.results_.path().coef.shape
    ([0.0, 0.0, 0.0], (100, 3))
    """

    model: ClassVar[str] = "lasso"


@accepts_old_keywords
@dataclass(kw_only=True, eq=False, repr=False)
class DPElasticNet(PenalisedRegressor):
    """Private elastic net: 1/(2n) |y - X theta|^2 + alpha r |theta|_1 + alpha (1 - r)/2 |theta|^2 on released moments.

    Parameters
    ----------
    {parameters}
    {penalised}
    l1_ratio : float
        r, from 0 (ridge) to 1 (lasso).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> net = DPElasticNet(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2), l1_ratio=0.9).fit(X, X.sum(axis=1))
    >>> net.results_.l1_ratio, net.results_.chosen
    (0.9, True)
    """

    model: ClassVar[str] = "elastic-net"

    l1_ratio: float = 0.5

    def _options(self) -> tuple[float | None, float]:
        return check_options(self.model, {"alpha": self.alpha, "l1_ratio": self.l1_ratio})
