"""The kinds of models that there are: how linear predictors lead to outcomes, and what each is called."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.released.links import probabilities, rate

Link = Literal["logit", "log", "identity", "sign"]


class Kind(NamedTuple):
    """What models of a link are called, and what they are about.

    Parameters
    ----------
    words : str
        The kind of model.
    measure : str
        What effects are in.
    unit : str
        The unit of the linear predictor; "" for that of the outcome.
    ratio : str
        What e^coefficient is; "" where it is nothing.
    """

    words: str
    measure: str
    unit: str = ""
    ratio: str = ""


KINDS: dict[Link, Kind] = {
    "identity": Kind("linear regression", "the unit of the outcome"),
    "logit": Kind("logistic regression", "log odds of the outcome", "log odds", "odds_ratio"),
    "log": Kind("Poisson regression", "the logarithm of the expected count", "log rate", "rate_ratio"),
    "sign": Kind("linear classification", "the score, whose sign is the class", "1"),
}


def expected(link: Link, eta: Floats, most: float) -> tuple[Floats, Floats]:
    """Expected outcomes at linear predictors, and their slopes: numbers, probabilities, or counts of at most `most`.

    Examples
    --------
    >>> expected("logit", np.array([0.0]), 1.0)
    (array([0.5]), array([0.25]))
    """
    if link == "logit":
        p = probabilities(eta[:, None])[:, 1]
        return p, p * (1 - p)
    if link == "log":
        counts = rate(eta, most)
        return counts, counts
    return eta, np.ones(len(eta))
