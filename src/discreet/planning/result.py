"""A plan: what to expect of each method at each epsilon, what wishes take, and what to do."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.unavailable import Unavailable
from discreet.domain import CONSTANT
from discreet.errors import ParameterError
from discreet.papers.registry import DEFAULT
from discreet.planning.facts import Facts
from discreet.planning.inverse import Answer, Tighter
from discreet.planning.methods import Promise
from discreet.planning.simulate import Expected
from discreet.released.units import coefficient_unit
from discreet.results.summary import Summary, to_pandas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLOSE = 1.05
"""The default is recommended unless another method's errors are smaller by more than this factor."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What to expect before any budget is spent: made from public facts, no data were touched.

    Parameters
    ----------
    facts : Facts
        The public facts and guesses.
    promise : Promise
        What is promised besides epsilon.
    epsilons : tuple of float
        Those asked for.
    expected : tuple of Expected
        One for each epsilon and method.
    left_out : dict
        Why other methods were not simulated.
    answers : tuple of Answer
        What wishes take.
    tighter : tuple of Tighter
        What half as wide bounds would bring, at `reference`.
    draws : int
        How many tables were simulated.
    r_squared : float
        That of the simulated populations, which bounds may keep from the one asked for.
    """

    facts: Facts
    promise: Promise
    epsilons: tuple[float, ...]
    expected: tuple[Expected, ...]
    left_out: dict[str, str]
    answers: tuple[Answer, ...]
    tighter: tuple[Tighter, ...]
    draws: int
    r_squared: float

    @property
    def methods(self) -> list[str]:
        """The methods that were simulated."""
        return list(dict.fromkeys(found.method for found in self.expected))

    @property
    def names(self) -> list[str]:
        """The intercept and the coefficients; the intercept is 0 in models without one."""
        domain = self.facts.domain
        entries = [domain.entries[i].name for i in domain.design(self.facts.features)]
        return [CONSTANT, *(name for name in entries if name != CONSTANT)]

    @property
    def reference(self) -> float:
        """The epsilon that words and bounds are about."""
        return reference(self.epsilons)

    @property
    def best(self) -> str:
        """The method to use: the default, unless another has clearly smaller errors over all epsilons."""
        return best_of(self.expected)

    def at(self, epsilon: float, method: str | None = None) -> Expected:
        """What to expect at one of the epsilons, of the best method by default."""
        name = self.best if method is None else method
        for found in self.expected:
            if (found.epsilon, found.method) == (epsilon, name):
                return found
        raise ParameterError(
            f"This plan has no {name} at epsilon {epsilon:g}. It has {', '.join(self.methods)} at "
            f"{', '.join(f'{e:g}' for e in self.epsilons)}."
        )

    def advice(self) -> list[str]:
        """What to do, and why, in plain words."""
        from discreet.planning.words import advice

        return advice(self)

    # ---------------------------------------------------------------- tables

    def summary(self) -> Summary:
        """Errors of prediction of each method at each epsilon, and what to do."""
        from discreet.planning.words import methods_summary

        return methods_summary(self)

    def coefficients(self, method: str | None = None) -> Summary:
        """Expected standard errors of each coefficient at each epsilon."""
        from discreet.planning.words import coefficients_summary

        return coefficients_summary(self, self.best if method is None else method)

    def to_frame(self, method: str | None = None) -> Any:
        """A pandas frame: one row a method and epsilon; with a method's name, one row a coefficient and epsilon."""
        if method is not None:
            return self._coefficient_frame(method)
        rows = self.expected
        return to_pandas(
            {
                "name": [found.method for found in rows],
                "epsilon": [found.epsilon for found in rows],
                "mse": [found.mse for found in rows],
                "mse_low": [found.mse_range[0] for found in rows],
                "mse_high": [found.mse_range[1] for found in rows],
                "vs_trivial": [found.vs_trivial for found in rows],
                "vs_non_private": [found.vs_non_private for found in rows],
            }
        )

    def _coefficient_frame(self, method: str) -> Any:
        found = [self.at(epsilon, method) for epsilon in self.epsilons]
        size = len(self.names)
        columns: dict[str, list[Any]] = {"name": self.names * len(found)}
        columns["epsilon"] = [one.epsilon for one in found for _ in range(size)]
        for key in ("rmse", "std_err", "width"):
            columns[key] = [value for one in found for value in plain(getattr(one, key), size)]
        units = [coefficient_unit(self.facts.domain, self.facts.target, name) for name in self.names]
        return to_pandas(columns | {"unit": units * len(found)})

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        size = len(self.names)
        return {
            "kind": "plan",
            "facts": self.facts.to_dict(),
            "delta": self.promise.delta,
            "neighbors": self.promise.neighbors,
            "level": self.promise.level,
            "draws": self.draws,
            "simulated_r_squared": self.r_squared,
            "names": self.names,
            "expected": [
                {"method": e.method, "epsilon": e.epsilon, "mse": e.mse, "mse_range": list(e.mse_range)}
                | {"vs_trivial": e.vs_trivial, "vs_non_private": e.vs_non_private}
                | {key: plain(getattr(e, key), size) for key in ("rmse", "std_err", "width")}
                for e in self.expected
            ],
            "left_out": self.left_out,
            "answers": [
                {"want": a.want.words, "epsilon": _or_none(a.epsilon)}
                | {"rows": {f"{epsilon:g}": _or_none(n) for epsilon, n in a.rows.items()}}
                for a in self.answers
            ],
            "tighter": [vars(t) for t in self.tighter],
            "method": self.best,
            "advice": self.advice(),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def plot(self) -> Figure:
        """The error of prediction against epsilon, a curve for each method."""
        from discreet.planning.picture import plan_plot

        return plan_plot(self)

    def __str__(self) -> str:
        return f"{self.summary()}\n\n{self.coefficients()}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_() + self.coefficients()._repr_html_()


def reference(epsilons: Sequence[float]) -> float:
    """The largest epsilon up to 1, or else the smallest."""
    return max((epsilon for epsilon in epsilons if epsilon <= 1), default=min(epsilons))


def best_of(expected: Sequence[Expected]) -> str:
    """The default, unless another method's geometric mean of errors is clearly smaller."""
    scores: dict[str, list[float]] = {}
    for found in expected:
        scores.setdefault(found.method, []).append(math.log(max(found.mse, 1e-300)))
    means = {method: float(np.mean(values)) for method, values in scores.items()}
    best = min(means, key=lambda method: means[method])
    return DEFAULT if means.get(DEFAULT, math.inf) <= means[best] + math.log(CLOSE) else best


def plain(values: Any, size: int) -> list[float | None]:
    """Numbers for a table or for JSON; None where they are not available."""
    return [None] * size if isinstance(values, Unavailable) else [float(value) for value in values]


def _or_none(value: float | Unavailable) -> float | None:
    return None if isinstance(value, Unavailable) else float(value)
