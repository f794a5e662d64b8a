"""Distributions of the privacy loss epsilon(Z, z) over rows, targets or data sets (wang2017, section 2.2).

The meaning depends on which pairs (Z, z) are drawn:

* all rows of one table: `Losses.distribution`;
* **pDP for all**, one table and any target: `over` targets, and `Losses.for_all` for the worst;
* **pDP for one**, **under assumptions**, **under a prior**: `over` data sets, for one target: the maximum over a
  collection; over those that meet an assumption (`where`); over draws from the prior;
* **covariate shift**: `Distribution.shifted`, with the ratio of the target's to the data's density.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.errors import ParameterError


class Distribution:
    """A weighted sample of privacy losses; **confidential** where they come from private data.

    Parameters
    ----------
    values : array
        Losses, at least 0.
    weights : array, optional
        Not negative; equal by default.

    Examples
    --------
    >>> losses = Distribution([1.0, 2.0, 3.0, 4.0])
    >>> losses, losses.moments(2), losses.quantiles([0.5, 1.0])
    (Distribution(confidential), array([2.5, 7.5]), array([2., 4.]))
    """

    def __init__(self, values: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.values = np.ravel(np.asarray(values, dtype=np.float64))
        given = np.ones_like(self.values) if weights is None else np.ravel(np.asarray(weights, dtype=np.float64))
        if not len(self.values) or np.any(self.values < 0) or np.isnan(self.values).any():
            raise ParameterError("values must hold at least one loss, and losses are numbers from 0.")
        if given.shape != self.values.shape or not np.all(np.isfinite(given) & (given >= 0)) or not given.sum() > 0:
            raise ParameterError("weights must hold one finite number from 0 for each loss, and not only zeros.")
        self.weights = given / given.sum()

    def moments(self, k: int) -> Floats:
        """Return E epsilon, E epsilon^2, ..., E epsilon^k (wang2017, definition 7)."""
        return np.array([self.weights @ self.values**i for i in range(1, k + 1)])

    def exponential(self, t: float = 1.0) -> float:
        """Return E e^(t epsilon)."""
        return float(self.weights @ np.exp(t * self.values))

    def quantiles(self, levels: Sequence[float]) -> Floats:
        """Return the weighted quantiles: the least loss that at least this share of the weight does not exceed."""
        wanted = np.asarray(levels, dtype=np.float64)
        if not np.all((wanted >= 0) & (wanted <= 1)):
            raise ParameterError("Levels of quantiles lie from 0 to 1.")
        order = np.argsort(self.values)
        shares = np.cumsum(self.weights[order])
        places = np.searchsorted(shares, wanted - 1e-12)
        return self.values[order][np.minimum(places, len(order) - 1)]

    @property
    def largest(self) -> float:
        """The largest loss of positive weight."""
        return float(self.values[self.weights > 0].max())

    def tail(self, epsilon: float, k: int = 8) -> float:
        """Bound the share of losses of `epsilon` or more by the first k moments (Markov's inequality)."""
        if not epsilon > 0:
            return 1.0
        return float(min(1.0, *(self.moments(k) / epsilon ** np.arange(1, k + 1))))

    def shifted(self, ratio: ArrayLike) -> Distribution:
        """Reweight the distribution for targets that follow another law (covariate shift).

        Parameters
        ----------
        ratio : array
            For each loss, the density of its target under the new law over that under the old one, up to a factor.

        Examples
        --------
        >>> Distribution([1.0, 3.0]).shifted([1, 3]).moments(1)
        array([2.5])
        """
        return Distribution(self.values, self.weights * np.ravel(np.asarray(ratio, dtype=np.float64)))

    def __repr__(self) -> str:
        return "Distribution(confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Distribution of losses is confidential and is not pickled.")


def over(
    things: Iterable[Any], loss: Callable[[Any], float], where: Callable[[Any], bool] | None = None
) -> Distribution:
    """Collect the distribution of a loss over data sets (pDP for one) or over targets (pDP for all).

    Parameters
    ----------
    things : iterable
        Data sets that could have been, draws from a prior, or targets.
    loss : callable
        From one of them to its epsilon.
    where : callable, optional
        The assumption: only things for which it holds count.

    Examples
    --------
    >>> over([1, 2, 3], loss=lambda n: 1 / n, where=lambda n: n > 1).largest
    0.5
    """
    chosen = [thing for thing in things if where is None or where(thing)]
    if not chosen:
        raise ParameterError("None of the data sets or targets meets the assumption.")
    return Distribution([loss(thing) for thing in chosen])
