"""Sessions of releases: a promise, the charge, noise, and a certificate that is checked.

`Session.charge` pays for the whole release, at every budget and ledger that counts it, and returns the source of its
random words. There is no other way to one, so that nothing can be drawn before it is paid for: no noise, no sample of
rows, no choice of blocks. A gate, the function that makes one kind of release, takes the exact statistics, what to
release of them and a session; it checks all that can fail, charges once, draws, certifies, and commits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from discreet import __version__
from discreet.core import checks
from discreet.domain import Domain
from discreet.domain.required import require_bounds
from discreet.errors import DataError, GuaranteeError, ParameterError
from discreet.gate import entropy
from discreet.gate.entropy import NO_NOISE, Entropy
from discreet.ledger.charging import Charge, charge
from discreet.privacy import gdp
from discreet.privacy.budget_parts import Cost
from discreet.privacy.events.base import Event
from discreet.privacy.guarantee import Guarantee
from discreet.recipes.base import Facts, Recipe
from discreet.released.certificate import Certificate


def promised(epsilon: Any, delta: Any, rows: Any, neighbors: Any, *, pure: bool = False) -> Guarantee:
    """Check the parameters of a promise; pure epsilon has delta = 0, which need not be given."""
    epsilon, rows = checks.epsilon(epsilon), checks.rows(rows)
    if pure and not (delta is None or (checks.is_real(delta) and delta == 0)):
        raise ParameterError(f"delta={delta!r} is more than needed: this promise has delta = 0. Leave delta out.")
    failure = 0.0 if pure else checks.delta(delta, rows)
    return Guarantee(epsilon, failure, checks.neighbors(neighbors), "verified")


class Session:
    """One release under way.

    Parameters
    ----------
    promise : Guarantee
        The guarantee; only the operating system's random words are secret, others make it a simulation.
    method : str
        The name of the release in its certificate and in the budget.
    rows : int, optional
        The public number of rows.
    random_state : None
        The source of random words, used once they are paid for; other than None for simulation only.

    Examples
    --------
    >>> session = Session(promised(1, 1e-6, None, "add-remove"), "an example", None, 0)
    >>> session.promise.status, session.charge(Domain({"a": (0, 1)}), mu=0.1).words(2).shape
    ('simulation', (2,))
    """

    def __init__(self, promise: Guarantee, method: str, rows: Any, random_state: Any) -> None:
        entropy.check(random_state)
        self.__secret = entropy.is_secret(random_state)
        if not self.__secret:
            none = random_state is NO_NOISE
            what = "No noise was added." if none else "The noise came from a seed or from the caller."
            promise = replace(promise, status="simulation", reason=what)
        self.promise, self.method, self.rows = promise, method, checks.rows(rows)
        self.__random_state, self.__charged = random_state, False
        self.__paid: Charge | None = None

    def __repr__(self) -> str:
        return f"Session({self.method!r}, {self.promise.status})"

    def facts(self, domain: Domain) -> Facts:
        """The public facts of a release of a table."""
        return Facts(domain, self.promise, self.rows)

    @cached_property
    def mu(self) -> float:
        """The mu that Gaussian releases may cost together."""
        return gdp.mu(epsilon=self.promise.epsilon, delta=self.promise.delta)

    @property
    def simulation(self) -> bool:
        """Whether random words can be repeated, so that nothing is promised and nothing is charged."""
        return not self.__secret

    def charge(
        self,
        domain: Domain,
        mu: float | None = None,
        epsilon: float | None = None,
        public_outcomes: Iterable[str] = (),
        *,
        searching: bool = False,
    ) -> Entropy:
        """Pay for the whole release, and only then return its random words; once.

        The domain tells which columns the release is about; those that are taken as public are part of the promise.
        Columns without bounds are refused, unless the release searches for them.
        """
        if not searching:
            require_bounds(domain)
        if self.__charged:
            raise GuaranteeError("A session is charged once, for all that it draws. This is a defect of discreet.")
        self.__refuse_known(self.__random_state)
        if not self.simulation:
            epsilon = self.promise.epsilon if epsilon is None else epsilon
            cost = Cost(epsilon, self.promise.delta, mu, frozenset(public_outcomes), domain.unit.person)
            self.__paid = charge(cost, self.promise.neighbors, self.method, domain.columns)
            self.__paid.draw()
        self.__charged = True
        source = entropy.entropy(self.__random_state)
        self.__refuse_known(source)
        return source

    def __refuse_known(self, source: Any) -> None:
        """Refuse a source of random words that was replaced since the session began."""
        if self.__secret and not entropy.is_secret(source):
            raise GuaranteeError(
                "The source of random words was replaced while the release was made, so that its noise may be known. "
                "Nothing is released. Replace it before, for a simulation, or not at all."
            )

    def commit(self, certificate: Certificate) -> Certificate:
        """Return the certificate of the release with the entries that paid for it, which record its digest."""
        if not self.__charged:
            raise GuaranteeError("A release is paid for before it is committed. This is a defect of discreet.")
        if self.__paid is not None:
            if receipts := self.__paid.receipts:
                certificate = replace(certificate, receipts=receipts)
            self.__paid.commit(certificate.digest if receipts else "")
        return certificate

    def certify(
        self,
        domain: Domain,
        *events: Event,
        declared: Domain | None = None,
        searched: Domain | None = None,
        returned: float = 0.0,
        recipe: Recipe | None = None,
    ) -> Certificate:
        """Return the certificate, checked; epsilon that was `returned` is not promised."""
        self.__refuse_known(None)
        promise = replace(self.promise, epsilon=self.promise.epsilon - returned) if returned else self.promise
        software = f"discreet {__version__}"
        told = None if recipe is None else recipe.entry
        certificate = Certificate(
            promise, self.method, domain, events, self.rows, software, declared, recipe=told, searched=searched
        )
        if promise.status == "verified" and not all(finding.ok for finding in certificate.check_costs()):
            raise GuaranteeError(
                "The calibrated noise does not keep the promise. This is a defect of discreet: please report it."
            )
        return certificate


def check_rows(count: int, rows: float | None = None) -> None:
    """Refuse an empty table, and one with more rows than the declared maximum."""
    if count == 0:
        raise DataError("There is no row to release anything from, or all weights are zero. Nothing was released.")
    if rows is not None and count > rows:
        raise DataError(
            "The table has more rows than rows= says. This method's promise is about tables of at most that many: "
            "declare a larger public number. Nothing was released."
        )
