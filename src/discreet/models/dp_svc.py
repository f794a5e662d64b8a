"""DPLinearSVC: classes by a private linear support-vector machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.models.classifier import PerturbedClassifier
from discreet.models.outcome import Outcome
from discreet.privacy.losses import Loss, SmoothHinge
from discreet.results.glm_results import Link


@dataclass(kw_only=True, eq=False, repr=False)
class DPLinearSVC(PerturbedClassifier):
    """Linear support-vector machine by objective perturbation, with a proven guarantee.

    The hinge max(0, 1 - t eta), t = -1 or 1, has its corner rounded: w log(1 + e^((1 - t eta)/w)), at most w log 2
    above it.

    Parameters
    ----------
    {common}
    {penalties}
    {classes}
    width : float
        w. The smaller, the nearer to the hinge, and the larger the penalty that privacy needs: in proportion to 1/w.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> model = DPLinearSVC(epsilon=1, delta=1e-6, bounds_X=(-1, 1), classes=[0, 1]).fit(X, (X[:, 0] > 0).astype(int))
    >>> bool(model.score(X, X[:, 0] > 0) > 0.8)
    True
    """

    link: ClassVar[Link] = "sign"

    width: float = 0.5

    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        try:
            return SmoothHinge(self.width)
        except TypeError:
            raise ParameterError("width must be a number above 0.") from None
