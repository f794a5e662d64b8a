"""What every release goes through: where noise comes from, budgets, and the checked certificate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from discreet import __version__
from discreet.core import checks
from discreet.domain import Domain
from discreet.errors import DataError, GuaranteeError
from discreet.gate.randomness import NO_NOISE, Entropy, OSEntropy, entropy
from discreet.privacy.budget import Cost, charge
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.kinds import Event
from discreet.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Release:
    """One release under way: the promise, the source of noise, and what the certificate will say besides."""

    promise: Guarantee
    method: str
    rows: int | None
    source: Entropy

    @classmethod
    def begin(cls, promise: Guarantee, method: str, rows: Any, random_state: Any) -> Release:
        """Find the source of noise."""
        return cls.go_on(promise, method, rows, entropy(random_state))

    @classmethod
    def go_on(cls, promise: Guarantee, method: str, rows: Any, source: Entropy) -> Release:
        """Draw from a source; only the operating system's words are unknown to all, others make it a simulation."""
        if type(source) is not OSEntropy:
            what = "No noise was added." if source is NO_NOISE else "The noise came from a seed or from the caller."
            promise = replace(promise, status="simulation", reason=what)
        return cls(promise, method, checks.rows(rows), source)

    def charge(
        self, mu: float | None = None, epsilon: float | None = None, public_outcomes: Iterable[str] = ()
    ) -> None:
        """Charge the budgets, before noise is drawn; columns that are taken as public are part of the promise."""
        if type(self.source) is OSEntropy:
            epsilon = self.promise.epsilon if epsilon is None else epsilon
            cost = Cost(epsilon, self.promise.delta, mu, frozenset(public_outcomes))
            charge(cost, self.promise.neighbors, self.method)

    def certify(self, domain: Domain, *events: Event, declared: Domain | None = None) -> Certificate:
        """The certificate, checked."""
        software = f"discreet {__version__}"
        certificate = Certificate(self.promise, self.method, domain, events, self.rows, software, declared)
        if self.promise.status == "verified" and not all(finding.ok for finding in certificate.check()):
            raise GuaranteeError(
                "The calibrated noise does not keep the promise. This is a defect of discreet: please report it."
            )
        return certificate


def check_rows(count: int, rows: float | None = None) -> None:
    """Refuse an empty table, and one with more rows than were declared as the most there can be."""
    if count == 0:
        raise DataError("There is no row to release anything from. Nothing was released.")
    if rows is not None and count > rows:
        raise DataError(
            "The table has more rows than rows= says. This method's promise is about tables of at most that many: "
            "declare a larger public number. Nothing was released."
        )
