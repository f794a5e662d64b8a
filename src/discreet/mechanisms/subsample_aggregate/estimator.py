"""SubsampleAggregate: the noisy mean of least-squares fits to disjoint random blocks of rows (Smith 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from discreet.core import checks
from discreet.core.rounding import ROOM, up
from discreet.data.reading import Table
from discreet.errors import ParameterError
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.mechanisms.subsample_aggregate.event import AggregateEvent
from discreet.mechanisms.subsample_aggregate.release import release_aggregate
from discreet.models.spec import FitSpec
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee

ROWS_PER_COEFFICIENT = 2
MAX_BLOCKS = 1 << 16
USUAL_BLOCKS = 256


@dataclass(kw_only=True, eq=False, repr=False)
class SubsampleAggregate(CoefficientsRegressor):
    """The mean of least-squares coefficients of disjoint blocks of rows, with Gaussian noise.

    Every row goes to one of `blocks` blocks at random. The coefficients of a block are clipped to a ball of norm
    `radius`. One person is in one block only, and so moves the mean by at most 2 radius/blocks.

    Parameters
    ----------
    {parameters}
    blocks : int, optional
        The number of blocks. By default rows/(2 d), d being the number of coefficients, at least 1 and at most 256.
    radius : float
        The largest norm of a block's coefficients, for columns and outcome mapped to [-1, 1].

    Notes
    -----
    `rows` must be given, or `blocks`. The promise depends on neither.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = SubsampleAggregate(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2), blocks=100)
    >>> model.fit(X, X.sum(axis=1)).certificate_.guarantee.status
    'verified'
    """

    needs_rows: ClassVar[bool] = False
    why_no_inference: ClassVar[str] = (
        "How much the coefficients of the blocks differ was not released, and clipping biases their mean. "
        "DPLinearRegression gives standard errors."
    )

    blocks: int | None = None
    radius: float = 1.0

    def _check(self) -> Guarantee:
        checks.positive("radius", self.radius)
        blocks = self.blocks
        if blocks is None and self.rows is None:
            raise ParameterError("SubsampleAggregate needs rows= or blocks=, to know how many blocks there should be.")
        whole = isinstance(blocks, int) and not isinstance(blocks, bool)
        if blocks is not None and not (whole and 1 <= blocks <= MAX_BLOCKS):
            raise ParameterError(f"blocks must be a whole number from 1 to {MAX_BLOCKS:,}, or None; got {blocks!r}.")
        return super()._check()

    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        subject, promise = self._subject(table.domain, spec), spec.promise
        d = len(subject.design)
        blocks = self.blocks or min(USUAL_BLOCKS, max(1, (self.rows or 0) // (ROWS_PER_COEFFICIENT * d)))
        radius = up(self.radius + d**0.5 * 2.0**-25)
        sd = up(2 * radius / gdp.mu(promise.epsilon, promise.delta), ROOM)
        event = AggregateEvent(**subject.facts(rows=False), blocks=blocks, radius=radius, sd=sd)
        self._number(table.domain, spec.target)
        return self._fit_coefficients(release_aggregate(table, event, self._session(promise)), subject, spec)
