"""The newest entry of the ledger that the service has seen, kept in the service's own database.

A ledger that does not hold this entry is another one, or an older copy: what was released since would not be counted.
It is refused when the service starts and before each charge.
"""

from __future__ import annotations

import json
from typing import Any

from discreet.core.checks import Neighbors
from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.ledger.accounts import Account, Reservation
from discreet.ledger.entries import LedgerEntry
from discreet.privacy.budget_parts import Cost
from discreet.service.storage import WITNESS, Store, fact, write_fact


class StaleLedgerError(LedgerError):
    """A ledger that lacks an entry which the service has seen."""


class LedgerWitness:
    """The newest entry that was seen of a ledger.

    Parameters
    ----------
    store : Store
        The database that keeps it.
    ledger : Ledger
        The ledger.
    """

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store, self._ledger = store, ledger

    def start(self) -> None:
        """Compare the ledger, and note its newest entry."""
        self.compare()
        last = self._ledger.read(lambda t: t.last())
        if last is not None:
            self.note(last)

    def compare(self) -> None:
        """Refuse a ledger that does not hold the newest entry that was seen."""
        seen = self._seen()
        if seen is None:
            return
        found = self._ledger.read(lambda t: t.find("number", seen["entry"]))
        if found is None or found.hash != seen["hash"]:
            raise StaleLedgerError(
                f"The ledger {self._ledger.name} is not the one that this service has charged, or is an older copy of "
                f"it: entry {seen['entry']} of the ledger {seen['ledger'][:8]}..., hash {seen['hash'][:16]}..., is "
                "missing. Releases that were made would not be counted. Nothing was released.",
                "If the settings name another ledger by mistake, name the right one. If it was lost, restore the "
                "newest backup that holds this entry. For other people, begin with a new ledger and a new `database`.",
            )

    def note(self, entry: LedgerEntry) -> None:
        """Record an entry, unless a newer one is recorded."""
        with self._store.writing() as connection:
            known = fact(connection, WITNESS)
            if known is None or json.loads(known)["entry"] < entry.number:
                told = {"ledger": entry.facts["ledger"], "entry": entry.number, "hash": entry.hash}
                write_fact(connection, WITNESS, json.dumps(told))

    def _seen(self) -> dict[str, Any] | None:
        with self._store.reading() as connection:
            found = fact(connection, WITNESS)
        return None if found is None else dict(json.loads(found))


class WitnessedAccount(Account):
    """An account whose ledger is compared before each charge; the charge is noted before its noise is drawn."""

    def __init__(self, witness: LedgerWitness, account: Account) -> None:
        super().__init__(account.ledger, account.name, account.purpose, account.who, account.request)
        self._witness = witness

    def reserve(self, cost: Cost, neighbors: Neighbors, what: dict[str, Any]) -> Reservation:
        """Compare the ledger, pay for a release, and note the entry."""
        self._witness.compare()
        paid = super().reserve(cost, neighbors, what)
        try:
            self._witness.note(paid.entry)
        except BaseException:
            paid.cancel()
            raise
        return paid
