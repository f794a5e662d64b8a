"""An audit by one fit: many canaries, each included by an independent fair coin (Steinke, Nasr, Jagielski 2023).

Every canary is a row with a level of its own, so that no two canaries contribute to the same coordinate. A fit to the
table with about half of them gives a number for each level. The attacker guesses for the canaries with the most extreme
numbers, and abstains for the others. The number of right guesses bounds epsilon, because the canaries were drawn
independently: `bounds.one_run_epsilon`. The bound is looser than that from many fits, but needs only one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.audit import bounds
from discreet.audit.subjects import PUBLIC_ROWS, columns_of
from discreet.audit.tables import ends
from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.models.base import PrivateEstimator

_SHARE = 0.4
"""The share of the canaries that the attacker guesses, half of them on each side; fixed in advance."""

_LARGEST = 2000

_ALARM = 1e-3
"""The probability that a sound method is called broken; a usual delta contributes 1e-5 or more to it."""


@dataclass(frozen=True)
class OneRun:
    """The result of one fit: the numbers of canaries, of guesses and of right guesses, and the bound on epsilon."""

    subject: str
    promised: float
    delta: float
    canaries: int
    guesses: int
    right: int
    confidence: float

    @property
    def epsilon(self) -> float:
        """The lower bound."""
        failure = 1 - self.confidence
        return bounds.one_run_epsilon(self.canaries, self.guesses, self.right, self.delta, failure)

    @property
    def problems(self) -> list[str]:
        """Evidence that the promise is violated; empty for a sound method in all but one of 1,000 audits."""
        likely = bounds.one_run_failure(self.canaries, self.guesses, self.right, self.promised, self.delta)
        return ["more canaries are guessed rightly than the promise allows"] if likely < _ALARM else []

    @property
    def broken(self) -> bool:
        """Whether there are problems."""
        return bool(self.problems)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "method": self.subject,
            "promised": {"epsilon": self.promised, "delta": self.delta},
            "bound": {"epsilon": self.epsilon, "confidence": self.confidence},
            "broken": self.broken,
            "problems": self.problems,
            "attack": f"one run, {self.canaries} canaries",
            "fits": 1,
            "guesses": self.guesses,
            "right": self.right,
        }


def canary_domain(canaries: int, outcome: Any = (-1, 1)) -> Domain:
    """A domain with an outcome and a category, which has a level for each canary and one for nobody.

    Examples
    --------
    >>> len(canary_domain(3).columns["who"].levels)
    4
    """
    return Domain({"who": [f"c{k}" for k in range(canaries + 1)], "y": outcome})


def one_run(
    estimator: type[PrivateEstimator],
    epsilon: float,
    delta: float | None,
    *,
    canaries: int = 200,
    confidence: float = 0.95,
    seed: int | None = None,
    **options: Any,
) -> OneRun:
    """Compute a lower bound on epsilon from a single fit.

    Parameters
    ----------
    estimator : type
        A method that shows a coefficient for each level.
    epsilon, delta : float
        The promise, for add-remove neighbours; delta is None for a promise of epsilon alone.
    canaries : int
        The number of canaries.
    confidence : float
        The confidence of the bound.
    seed : int, optional
        The seed, to repeat the audit.
    **options
        Other parameters of the estimator.

    Examples
    --------
    >>> from discreet import SSP
    >>> found = one_run(SSP, 20.0, 1e-6, canaries=60, seed=0)
    >>> 0 <= found.epsilon <= 20
    True
    """
    if isinstance(canaries, bool) or not isinstance(canaries, int) or not 10 <= canaries <= _LARGEST:
        raise ParameterError(f"canaries must be a whole number from 10 to {_LARGEST}, got {checks.shown(canaries)}.")
    checks.fraction("confidence", confidence)
    rng = np.random.default_rng(seed)
    inside = rng.random(canaries) < 0.5
    names = [f"c{k + 1}" for k in np.flatnonzero(inside)] + ["c0"]
    domain = canary_domain(canaries, columns_of(estimator)["y"])
    table = pa.table({"who": names, "y": [ends(domain.columns["y"])[1]] * (len(names) - 1) + [0]})
    given: dict[str, Any] = {"domain": domain, "rows": max(PUBLIC_ROWS, 2 * canaries), "fit_intercept": False}
    model = estimator(epsilon=epsilon, delta=delta, random_state=rng, **(given | {"n_jobs": 1} | options))
    scores = _scores(model.fit_source(table, "y", ["who"]), canaries)
    order = np.argsort(scores)
    each = max(1, round(_SHARE * canaries / 2))
    right = int(np.sum(~inside[order[:each]]) + np.sum(inside[order[-each:]]))
    return OneRun(estimator.__name__, epsilon, delta or 0.0, canaries, 2 * each, right, confidence)


def _scores(model: PrivateEstimator, canaries: int) -> Floats:
    """A score for each canary, larger if it is likelier to be included: from noisy X'y and X'X, or a coefficient."""
    blocks = getattr(model.release_, "arrays", {})
    names = [f"who[c{k + 1}]" for k in range(canaries)]
    for block, array in blocks.items():
        if block.statistic == "cross" and set(names) <= set(block.rows):
            cross: Floats = array[[block.rows.index(name) for name in names], 0]
            gram = next((other for other in blocks if other.statistic == "gram"), None)
            if gram is None:
                return cross
            counts = np.diag(blocks[gram])[[gram.rows.index(name) for name in names]]
            # a canary changes its count and its sum by 1, so each is weighted by its inverse variance
            sds = {own.statistic: own.sd for own in blocks}
            return cross + float((sds["cross"] / sds["gram"]) ** 2) * counts
    return np.ravel(model.coef_)[-canaries:]
