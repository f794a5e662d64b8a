"""The charge of a release to every budget and account whose block it is in, or to none."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from discreet.core.checks import Neighbors
from discreet.errors import BudgetError, DiscreetWarning
from discreet.ledger import blocks
from discreet.ledger.accounts import Account, Ledger, Reservation
from discreet.ledger.blocks import Counter
from discreet.privacy.budget_parts import Cost
from discreet.released.certificate import Receipt

LEDGER, ACCOUNT, PURPOSE = "DISCREET_LEDGER", "DISCREET_ACCOUNT", "DISCREET_PURPOSE"
"""Environment variables that name the ledger, the account and the purpose of every release."""


class Charge:
    """A release that is charged to all its budgets and accounts: draw, then commit; or cancel before the draw.

    As a ``with`` block it is cancelled at its end, unless noise was drawn.
    """

    def __init__(self, reservations: Iterable[Reservation]) -> None:
        self._reservations, self._drawn = list(reservations), False

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """References to the entries of ledgers that outlive the process."""
        return tuple(one.receipt for one in self._reservations if one.ledger.shared)

    def draw(self) -> None:
        """Mark the noise as drawn."""
        for one in self._reservations:
            one.draw()
        self._drawn = True

    def commit(self, certificate: str) -> None:
        """Record the digest of the certificate; if that fails, the release is still complete and paid for."""
        for one in self._reservations:
            try:
                one.commit(certificate)
            except BudgetError:
                warnings.warn(
                    f"The ledger {one.ledger.name} could not note that entry {one.entry.number} was released. The "
                    "release is complete, and it counts as spent.",
                    DiscreetWarning,
                    stacklevel=4,
                )

    def cancel(self) -> None:
        """Cancel the release before any noise is drawn."""
        for one in self._reservations:
            one.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._drawn:
            self.cancel()


def charge(cost: Cost, neighbors: Neighbors, method: str, columns: Iterable[str] = ()) -> Charge:
    """Charge a release to every budget and account whose block it is in, before its noise is drawn, or to none.

    Parameters
    ----------
    cost : Cost
        The cost of the release.
    neighbors : {"add-remove", "replace-one"}
        The neighbouring relation of its promise.
    method : str
        The method of the release.
    columns : iterable of str
        The columns that it uses.
    """
    counting = blocks.counters()
    if (configured := configured_account()) is not None and not any(one.shared for one in counting):
        counting.append(configured)
    if not counting:
        blocks.refuse_uncounted()
    what: dict[str, Any] = {"method": method, "columns": list(columns), "formula": blocks.formula()}
    reservations: list[Reservation] = []
    try:
        for one in _cheapest_first(counting):
            reservations.append(one.reserve(cost, neighbors, what))
    except BaseException:
        for paid in reversed(reservations):
            with contextlib.suppress(BudgetError):  # where it cannot be given back, it stays spent
                paid.cancel()
        raise
    return Charge(reservations)


def configured_account() -> Account | None:
    """The account that the environment names, if it names any."""
    place = os.environ.get(LEDGER)
    if not place:
        return None
    return Ledger(place).account(os.environ.get(ACCOUNT) or None, purpose=os.environ.get(PURPOSE, ""))


def _cheapest_first(counting: list[Counter]) -> list[Counter]:
    """Sort budgets before ledgers, because a budget that refuses leaves no trace."""
    return sorted(counting, key=lambda one: one.shared)
