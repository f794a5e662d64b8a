"""Subjects of attacks: an estimator as users fit it, and a small domain for every method of the registry."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from discreet.audit.tables import ROWS, Neighbours, corners
from discreet.core import citations
from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.errors import DiscreetError, DiscreetWarning, ParameterError
from discreet.families import NORMAL, Family
from discreet.mechanisms.registry import find
from discreet.models.base import PrivateEstimator
from discreet.privacy.values import GridValues
from discreet.released.certificate import Certificate

PUBLIC_ROWS = 64
"""The public number of rows, for methods that need one; made-up tables have fewer."""


def _family(estimator: type) -> Family:
    """The family of an estimator's outcomes; normal by default."""
    found: Family = getattr(estimator, "family", NORMAL)
    return found


def columns_of(estimator: type) -> dict[str, Any]:
    """The columns that an estimator is attacked on: one feature, and a number, a class or a count."""
    return {"x": (-1, 1), "y": _family(estimator).example}


_WITH_INTERCEPT = {
    "DPLinearRegression", "DPRidge", "DPLasso", "DPElasticNet", "AdaSSP", "ConstSSP", "ReuseCov", "SSP"
}  # fmt: skip
"""Methods for numbers that are attacked with an intercept, their default, as are all methods for classes and counts.
The others show coefficients only, and the attack is strongest on a single one."""


_UNLISTED = {"NoisyGradientDescent", "NoisySGD", "NAPP", "ObjectivePerturbation"}
"""Methods for numbers whose certificates do not list everything that the law of a release depends on, because the
promise does not depend on it. The same holds for all methods for classes and counts."""


@dataclass(frozen=True)
class Seen:
    """The released output of one fit, or only its refusal."""

    certificate: Certificate | None = None
    values: Sequence[Sequence[GridValues]] = ()
    coefficients: Floats | None = None
    intercepts: Floats = field(default_factory=lambda: np.zeros(0))
    weights: Floats | None = None
    refusal: str = ""


class Quiet(NamedTuple):
    """A fit without noise, and the table that it was made from."""

    table: pa.Table
    seen: Seen


@dataclass(frozen=True, eq=False)
class Subject:
    """An estimator, and the columns that it is fitted to."""

    estimator: PrivateEstimator  # with its promise and its `domain`
    target: str | tuple[str, ...]  # the outcome, or the outcomes
    features: tuple[str, ...]

    @property
    def domain(self) -> Domain:
        """The public bounds and levels of the columns."""
        if not isinstance(self.estimator.domain, Domain):
            raise ParameterError("The estimator must have domain=, the public bounds and levels of its columns.")
        return self.estimator.domain

    @property
    def columns(self) -> list[str]:
        """All columns that are read, the features first."""
        others = [self.target] if isinstance(self.target, str) else [*self.target]
        exposure = getattr(self.estimator, "exposure", None)
        made = self.domain.select([*self.features, *others, *([] if exposure is None else [exposure])])
        return list(made.inputs)

    @property
    def public(self) -> tuple[str, ...]:
        """The public columns: the outcomes, if the method treats them as public."""
        if getattr(self.estimator, "association", None) != "projection":
            return ()
        return (self.target,) if isinstance(self.target, str) else self.target

    @property
    def name(self) -> str:
        """The name of the method, and the paper whose constants it uses."""
        return citations.as_published(type(self.estimator).__name__, self.estimator._paper)

    @property
    def status(self) -> str:
        """Whether the promise is ours, or that of a paper's printed constants."""
        return "verified" if getattr(self.estimator, "published", None) is None else "claimed"

    def fitted(self, source: Any, random_state: Any) -> PrivateEstimator:
        """Fit a copy of the estimator by its public interface, with seeds, so that no budget is charged."""
        model = copy.copy(self.estimator).set_params(random_state=random_state)
        target = self.target if isinstance(self.target, str) else list(self.target)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            fitted: PrivateEstimator = model.fit_source(source, target, list(self.features))
        return fitted

    def seen(self, source: Any, random_state: Any) -> Seen:
        """The released output of one fit."""
        try:
            model = self.fitted(source, random_state)
        except DiscreetError as error:
            return Seen(refusal=type(error).__name__)
        intercepts = np.ravel(model.intercept_).astype(float)
        numbers = np.concatenate([np.ravel(model.coef_), intercepts]).astype(float)
        weights = getattr(model.results_, "weights", None)
        return Seen(model.certificate_, getattr(model.release_, "values", ()), numbers, intercepts, weights)

    def quiet(self) -> Quiet | None:
        """Fit without noise, if that reveals figures that certificates do not list: a step size, or an l1 weight.

        Its rows are all at one corner, so that the first step is long and no coefficient is 0.
        """
        from discreet.gate.entropy import NO_NOISE

        model = self.estimator
        bound = getattr(model, "radius", None) is not None or getattr(model, "published", None) is not None
        if (_family(type(model)).linear and type(model).__name__ not in _UNLISTED) or bound:
            return None
        domain = self.domain.select(self.columns)
        table = Neighbours(domain, (corners(domain, self.columns)[-1],) * ROWS, (), ()).table(())
        return Quiet(table, self.seen(table, NO_NOISE))


def subject_of(method: str, epsilon: float, delta: float | None, **options: Any) -> Subject:
    """A method of the registry, on one feature and one outcome in [-1, 1], a class or a count.

    Parameters
    ----------
    method : str
        The name of the method.
    epsilon, delta : float
        The promise.
    **options
        Other parameters of the estimator.

    Examples
    --------
    >>> subject_of("ssp", 1.0, 1e-6).name
    'SSP'
    """
    found = find(method)
    given: dict[str, Any] = {
        "domain": Domain(columns_of(found.estimator)),
        "fit_intercept": found.name in _WITH_INTERCEPT or not _family(found.estimator).linear,
        "rows": PUBLIC_ROWS,
        "n_jobs": 1,
    }
    return Subject(found.estimator(epsilon=epsilon, delta=delta, **(given | options)), "y", ("x",))
