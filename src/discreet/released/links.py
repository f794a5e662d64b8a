"""What linear predictors say of an outcome: a probability, a class, a rate."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from discreet.core.arrays import Floats, Ints


def probabilities(eta: Floats) -> Floats:
    """The probability of each class; of more than two, each against the others, made to add up to 1.

    Parameters
    ----------
    eta : array (n, k)
        Log odds: of the second of two classes, or of each of several.

    Examples
    --------
    >>> probabilities(np.zeros((1, 1))).tolist(), probabilities(np.zeros((1, 4))).tolist()
    ([[0.5, 0.5]], [[0.25, 0.25, 0.25, 0.25]])
    """
    p = expit(eta)
    if p.shape[1] == 1:
        return np.hstack([1 - p, p])
    at_least = np.maximum(p, 1e-300)
    shares: Floats = at_least / at_least.sum(axis=1, keepdims=True)
    return shares


def places(eta: Floats) -> Ints:
    """The place of each row's class: the second of two where the predictor is above 0, the largest of several."""
    found: Ints = (eta[:, 0] > 0).astype(int) if eta.shape[1] == 1 else eta.argmax(axis=1)
    return found


def rate(eta: Floats, most: float) -> Floats:
    """The expected count, at most the upper bound of the outcome."""
    counts: Floats = np.exp(np.minimum(eta, np.log(most)))
    return counts
