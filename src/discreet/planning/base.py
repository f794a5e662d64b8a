"""The interface of plans, for every kind of model."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.planning.simulation import SimulatedPromise
from discreet.results.summary import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Plan(ABC):
    """The expected accuracy of models, from public facts, before any budget is spent; no data are touched.

    `NumberPlan` is for numbers and compares methods. `ModelPlan` is for classes and counts and has one method.
    """

    promise: SimulatedPromise
    """The promise apart from epsilon."""

    expected: tuple[Any, ...]
    """The expected accuracy for each epsilon and method."""

    draws: int
    """The number of simulated tables."""

    @property
    @abstractmethod
    def best(self) -> str:
        """The method to use."""

    @abstractmethod
    def at(self, epsilon: float, method: str | None = None) -> Any:
        """The expected accuracy at one of the epsilons, of the best method by default."""

    @abstractmethod
    def summary(self) -> Summary:
        """Summarise the accuracy of predictions at each epsilon."""

    @abstractmethod
    def coefficients(self, method: str | None = None) -> Summary:
        """Expected standard errors of each coefficient at each epsilon."""

    @abstractmethod
    def to_frame(self, method: str | None = None) -> Any:
        """A pandas frame."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def plot(self) -> Figure:
        """Draw the error of prediction against epsilon."""
        raise ParameterError("A plan for classes or counts has no picture.")

    def __str__(self) -> str:
        return f"{self.summary()}\n\n{self.coefficients()}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_() + self.coefficients()._repr_html_()
