"""The result of an audit: a bound with its confidence, a plot, and a page for the privacy officer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.audit.evidence import SUMS
from discreet.audit.promise import TradeOff
from discreet.audit.statistics import AuditNoise, GuessCounts, Kind, counted
from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALARM = 1e-5
"""The probability that a sound method is called broken."""

_POINTS = 101


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """A lower bound on the epsilon of an estimator, with its evidence. Its tables are made up, so it is public."""

    subject: str
    status: str  # whether the promise is verified, or a paper's claim
    path: str  # how rows reached the method
    neighbors: Neighbors
    unit: str  # who is protected
    tables: str  # a description of the two tables
    statistic: str  # the one that tells the tables apart
    kind: Kind  # whether the bound is on the mu of a Gaussian promise, or on epsilon directly
    counts: GuessCounts  # the guesses that were counted
    trained: int  # the number of fits that chose the statistic and its threshold
    refused: int  # the number of all fits that were refused
    confidence: float
    promise: TradeOff
    scores: tuple[Floats, Floats]  # of the counted fits to each table
    noise: dict[str, AuditNoise]  # of sums and of coefficients, if its law is known

    @property
    def promised(self) -> float:
        """The epsilon that is promised."""
        return self.promise.guarantee.epsilon

    @property
    def delta(self) -> float:
        """The delta of the promise and of the bound."""
        return self.promise.guarantee.delta

    @property
    def epsilon(self) -> float:
        """The lower bound: with the stated confidence the true epsilon is no smaller."""
        return self.counts.epsilon(self.kind, self.delta, 1 - self.confidence, self.promise.slip)

    @property
    def mu(self) -> float | None:
        """The lower bound on mu, if the promise is Gaussian."""
        return self.counts.mu(1 - self.confidence, self.promise.slip) if self.kind == "mu" else None

    @property
    def problems(self) -> list[str]:
        """Evidence that the promise is violated; empty for a sound method in all but one of 100,000 audits.

        All tests share `ALARM`. (A bound at the usual confidence lies above a promise that is just kept in one audit of
        twenty.)
        """
        failure, delta, slip = ALARM / 4, self.delta, self.promise.slip
        found = []
        beyond = self.counts.epsilon(self.kind, delta, failure, slip) > self.promised
        if beyond or self.promise.broken_by(self.counts, failure):
            found.append("the attack tells the tables apart better than the promise allows")
        for name, own in self.noise.items():
            if own.is_small(failure):
                found.append(f"the noise of {name} is smaller than is listed")
        if SUMS in self.noise and self.noise[SUMS].is_large(failure):
            found.append("released sums are not those of the table with the listed noise")
        if self.status == "verified" and self.promise.unmet:
            found.append(f"the certificate does not pass its own check: {', '.join(self.promise.unmet)}")
        return found

    @property
    def broken(self) -> bool:
        """Whether there are problems."""
        return bool(self.problems)

    @property
    def fits(self) -> int:
        """The number of fits."""
        return self.trained + self.counts.first + self.counts.second

    def roc(self) -> tuple[Floats, Floats]:
        """The rates of false alarms and of detections, for every threshold."""
        first, second = self.scores
        edges = np.unique(np.quantile(np.concatenate(self.scores), np.linspace(0, 1, _POINTS)))
        found = [counted(first, second, float(edge)) for edge in [*edges, -np.inf]]
        fp = np.array([own.false_positives / own.first for own in found])
        tp = np.array([1 - own.false_negatives / own.second for own in found])
        order = np.lexsort((tp, fp))
        return fp[order], tp[order]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "method": self.subject,
            "path": self.path,
            "neighbors": self.neighbors,
            "unit": self.unit,
            "status": self.status,
            "promised": {"epsilon": self.promised, "delta": self.delta},
            "bound": {
                "epsilon": self.epsilon,
                "mu": self.mu,
                "promised_mu": self.promise.mu if self.kind == "mu" else None,
                "confidence": self.confidence,
            },
            "broken": self.broken,
            "attack": self.statistic,
            "problems": self.problems,
            "noise": {name: {"values": own.values, "sd_over_listed": own.ratio} for name, own in self.noise.items()},
            "tables": self.tables,
            "fits": self.fits,
            "trained": self.trained,
            "refused": self.refused,
            "guesses": [self.counts.first, self.counts.second],
            "errors": [self.counts.false_positives, self.counts.false_negatives],
        }

    def plot(self) -> Figure:
        """Plot the trade-off of the attack and the promised one."""
        from discreet.audit.page import roc_plot

        return roc_plot(self)

    def report(self) -> str:
        """Return one HTML page, in plain words."""
        from discreet.audit.page import audit_page

        return audit_page(self)

    def __repr__(self) -> str:
        verdict = "BROKEN" if self.broken else "not broken"
        return f"Audit({self.subject}: epsilon >= {self.epsilon:.3g} of {self.promised:g} promised, {verdict})"
