"""Ledgers: durable records of the privacy budget spent on each population.

An account is about a *population*, the people to whom its promise is made; the tables that hold them are its children,
``"clinic/visits"``. A release of a table is charged to the table and to its population. Accounts do not belong to
analysts, because the releases of several analysts compose: together they reveal more than each one does.

A release is paid for in three steps:

    reserve    an entry with the whole cost is on disk; from here on it counts as spent, whatever happens
    draw       noise is drawn
    commit     an entry with the digest of the certificate; or, before the draw, cancel

A process that dies between two steps has spent the whole cost, so a ledger never undercounts.
"""

from __future__ import annotations

import datetime as dt
import getpass
import os
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from discreet import __version__
from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.errors import BudgetError, DiscreetWarning, LedgerError, ParameterError
from discreet.ledger.blocks import Counter
from discreet.ledger.entries import FORMAT, LedgerEntry, population
from discreet.ledger.storage import Reading, Storage, Transaction, storage_of
from discreet.ledger.storage.base import LostError, sound
from discreet.ledger.terms import Terms, charged, counted, dues, limits_of, spent_of, terms_of
from discreet.privacy import budget_parts
from discreet.privacy.budget_parts import Balance, Cost, Limits, Spent
from discreet.released.certificate import Receipt

T = TypeVar("T")

WHO = "DISCREET_WHO"
"""The environment variable that names who releases; by default the user of the computer."""

UNFINISHED = "The ledger was never finished: it has no first entry. Delete it, and make it again."

TRIES = 8
"""The number of attempts at a transaction whose outcome is unknown."""

LONGEST = 1000
"""The maximum number of characters of a purpose, a name or a request."""

MOST_ROWS = 1000
"""The maximum of `rows_per_person`."""


def rows_of_a_person(rows: Any) -> int | None:
    """Check the number of rows that one person may have; None if it is not declared."""
    if rows is not None and (type(rows) is not int or not 1 <= rows <= MOST_ROWS):
        raise ParameterError(f"rows_per_person must be a whole number from 1 to {MOST_ROWS}, got {rows!r}.")
    return None if rows is None else int(rows)


def person_column(person: Any) -> str | None:
    """Check the name of the column that identifies persons; None if there is none."""
    if person is not None and (not isinstance(person, str) or not person):
        raise ParameterError("person must be the name of a column, for example person='patient'.")
    return None if person is None else _text("person", person)


class Ledger:
    """An append-only record of releases and what each of them costs.

    Parameters
    ----------
    place : str or Path
        A file, or the address of a PostgreSQL database, ``postgresql://host/name``. It must hold a ledger: see
        `Ledger.create`.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "people.ledger"
    >>> account = Ledger.create(place).open("clinic", epsilon=3, delta=1e-6)
    >>> from discreet.ledger.charging import charge
    >>> with Ledger(place).account("clinic", purpose="an example"):
    ...     paid = charge(Cost(1, 1e-6, mu=0.2), "add-remove", "a release")
    ...     paid.draw()
    ...     paid.commit("0" * 64)
    >>> round(account.balance().epsilon_left, 2), account.releases()
    (2.84, 1)
    """

    def __init__(self, place: str | Path) -> None:
        self.storage: Storage = storage_of(place)
        self.place = str(getattr(self.storage, "path", place))

    @classmethod
    def create(cls, place: str | Path) -> Ledger:
        """Create a new ledger; refuse if there is one."""
        return cls(place)._begin()

    @classmethod
    def of(cls, storage: Storage) -> Ledger:
        """Create a new ledger in a storage."""
        ledger = cls.__new__(cls)
        ledger.storage, ledger.place = storage, storage.name
        return ledger._begin()

    def _begin(self) -> Ledger:
        self.storage.create()
        first = {"kind": "ledger", "format": FORMAT, "ledger": uuid.uuid4().hex} | stamp()
        self.write(lambda t: t.last() or _append(t, first))
        return self

    def __repr__(self) -> str:
        return f"Ledger({self.name!r})"

    @property
    def name(self) -> str:
        """The name of the ledger."""
        return self.storage.name

    @property
    def shared(self) -> bool:
        """Whether other processes see its entries."""
        return self.storage.shared

    def open(
        self,
        name: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        others: tuple[float, float] = (0.0, 0.0),
        neighbors: Neighbors | None = None,
        public_outcomes: Sequence[str] = (),
        person: str | None = None,
        rows_per_person: int | None = None,
    ) -> Account:
        """Open an account, with limits that never change.

        Parameters
        ----------
        name : str
            A population, ``"clinic"``; or a table of one that has an account, ``"clinic/visits"``.
        epsilon, delta : float
            The promise for all releases together. A table may leave them out and then has those of its population.
        others : (float, float)
            The part of the promise that is reserved for releases that are not Gaussian.
        neighbors : {"add-remove", "replace-one"}
            The relation that every release must use: add-remove by default, and for tables that of their population.
        public_outcomes : sequence of str
            Columns that are declared public: the promise is about the others only.
        person : str, optional
            The column that identifies persons. A release that protects the persons of this column is charged its own
            cost, any other one the cost for all rows of a person. Without it, `rows_per_person` alone defines a person.
        rows_per_person : int, optional
            The maximum number of rows of one person in a table: 1 by default. If only `person` is given, it is unknown,
            and releases that protect rows are refused. A table inherits both from its population, unless it is given
            its own: a column that holds the same people under another name, and their maximum number of rows there.
        """
        parent = population(name := _account_name(name))
        given = None
        if epsilon is not None or delta is not None or parent == name:
            given = Limits(checks.epsilon(epsilon), checks.delta(delta), others)
        elif tuple(others) != (0.0, 0.0):
            raise ParameterError("others= is a part of a promise: give the table's own epsilon= and delta=, too.")
        whose, rows = person_column(person), rows_of_a_person(rows_per_person)
        relation, public = checks.neighbors(neighbors or "add-remove"), budget_parts.columns(public_outcomes)
        if parent != name and (neighbors is not None or public):
            raise ParameterError("A table has the neighbors and public_outcomes of its population: leave them out.")
        budget_parts.check_public(public, relation)
        if parent == name and whose is None:
            rows = rows or 1
        return self.define(name, Terms(given, relation, public, rows, whose))

    def define(self, name: str, terms: Terms) -> Account:
        """Open an account with given terms; a table inherits the neighbours and, unless given, the persons."""

        def write(t: Transaction) -> None:
            if t.find("defines", name) is not None:
                raise LedgerError(f"There is an account {name!r} already, and its limits are fixed.")
            given, after = terms, {name: Spent()}
            if (parent := population(name)) != name:
                above = terms_of(t, parent, self)
                given = replace(terms, neighbors=above.neighbors, public_outcomes=above.public_outcomes)
                if terms.person is None:
                    rows = terms.rows_per_person or above.rows_per_person
                    given = replace(given, person=above.person, rows_per_person=rows)
                after[parent] = spent_of(t, parent)
            _append(t, {"kind": "account", "account": name} | given.to_dict() | _after(after) | stamp())

        self.write(write)
        account = Account(self, name)
        if population(name) != name:
            self._warn_of_others(account)
        return account

    def _warn_of_others(self, table: Account) -> None:
        """Warn if a table identifies persons by another column than its population does."""
        own, above = table.terms().person, Account(self, population(table.name)).terms().person
        if above is not None and above != own:
            warnings.warn(
                f"The account {table.name!r} tells persons by {own!r}, and its population by {above!r}. That is right "
                "if both columns hold the same people. If the table's column is a finer one, such as visits of "
                "patients, the population is promised more than it is charged for: open another account then.",
                DiscreetWarning,
                stacklevel=4,
            )

    def words(self, name: str) -> str:
        """Return how messages name an account."""
        return f"the account {name!r} of the ledger {self.name}" if self.shared else "the budget"

    def account(
        self, name: str | None = None, *, purpose: str = "", who: str | None = None, request: str | None = None
    ) -> Account:
        """Return an account, to which releases are charged in a ``with`` block.

        Parameters
        ----------
        name : str, optional
            The name of the account; optional if the ledger has only one.
        purpose : str
            The reason for the releases, recorded in the entries.
        who : str, optional
            Who releases; by default `DISCREET_WHO` or the user of this computer.
        request : str, optional
            A name for the one release inside; a request that was paid for before is refused.
        """
        if name is None:
            known = self.accounts()
            if len(known) != 1:
                listed = ", ".join(map(repr, known)) or "none"
                raise ParameterError(f"Name the account that is charged; the ledger {self.name} has {listed}.")
            (name,) = known
        account = Account(self, _account_name(name), _text("purpose", purpose), who, request)
        account.terms()
        return account

    def accounts(self) -> list[str]:
        """The names of all accounts, the oldest first."""
        with self.storage.reading() as t:
            return t.accounts()

    def read(self, work: Callable[[Reading], T]) -> T:
        """Run lookups on one consistent snapshot."""
        with self.storage.reading() as reading:
            return work(reading)

    def entries(self) -> list[LedgerEntry]:
        """All entries, the oldest first; raise an error if one is damaged."""
        return list(self.scan())

    def scan(self, after: int = -1) -> Iterator[LedgerEntry]:
        """All entries after a number, one after another, the oldest first; raise an error if one is damaged."""
        return (sound(entry, index) for entry, index in self.storage.scan(after))

    def head(self) -> LedgerEntry:
        """The newest entry."""
        last = self.read(lambda t: t.last())
        if last is None:
            raise LedgerError(UNFINISHED)
        return last

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run work in a transaction; it is repeated if the outcome is unknown, so it must be idempotent."""
        for _ in range(TRIES):
            try:
                with self.storage.writing() as transaction:
                    return work(transaction)
            except LostError:
                continue
        raise LedgerError(f"The ledger {self.name} does not answer. Nothing was released.")


class Account(Counter):
    """An account of a ledger: inside its ``with`` block every release is charged to it.

    It can be pickled and used in other processes.
    """

    def __init__(
        self, ledger: Ledger, name: str, purpose: str = "", who: str | None = None, request: str | None = None
    ) -> None:
        super().__init__()
        self.ledger, self.name, self.purpose = ledger, name, purpose
        self.who = None if who is None else _text("who", who)
        self.request = None if request is None else _text("request", request)

    def __repr__(self) -> str:
        return f"Account({self.name!r} of {self.ledger.name!r})"

    def __reduce__(self) -> Any:
        return _reopened, (self.ledger.place, self.name, self.purpose, self.who, self.request)

    @property
    def shared(self) -> bool:
        """Whether other processes see what it counts."""
        return self.ledger.shared

    @property
    def subject(self) -> tuple[str, str]:
        """The ledger and the population."""
        return self.ledger.place, population(self.name)

    def terms(self) -> Terms:
        """The terms on which it was opened."""
        return self.ledger.read(lambda t: terms_of(t, self.name, self.ledger))

    def balance(self) -> Balance:
        """The limits and what is spent of them; for a table without its own limits, those of its population."""

        def read(t: Reading) -> Balance:
            own = terms_of(t, self.name, self.ledger)
            if own.limits is not None:
                return Balance(own.limits, spent_of(t, self.name))
            above = terms_of(t, population(self.name), self.ledger)
            return Balance(limits_of(above), spent_of(t, population(self.name)))

        return self.ledger.read(read)

    def releases(self) -> int:
        """The number of releases that were charged to it and not cancelled."""
        kinds = [e.facts["kind"] for e in self.ledger.scan() if _is_part(e.facts.get("account"), self.name)]
        return kinds.count("reserve") - kinds.count("cancel")

    def reserve(self, cost: Cost, neighbors: Neighbors, what: dict[str, Any]) -> Reservation:
        """Pay for a release before its noise is drawn; refuse it if it exceeds the limits."""
        named = what | {"request": self.request or uuid.uuid4().hex, "token": uuid.uuid4().hex}
        return self.ledger.write(lambda t: self._reserve(t, cost, neighbors, named))

    def _reserve(self, t: Transaction, cost: Cost, neighbors: Neighbors, what: dict[str, Any]) -> Reservation:
        known = t.find("request", what["request"])
        if known is not None and known.facts["token"] != what["token"]:
            raise BudgetError(
                f"The request {what['request']!r} was paid for already, as entry {known.number} of the ledger "
                f"{self.ledger.name}, so it is not made again. What it released is where it was saved then, or lost; "
                "another request is another release. Nothing was released."
            )
        if known is None:
            times, after = charged(t, self.name, cost, neighbors, self.ledger)
            facts = {"kind": "reserve", "account": self.name, "cost": cost.to_dict(), "neighbors": neighbors}
            known = _append(
                t, facts | {"times": times} | what | {"purpose": self.purpose} | _after(after) | stamp(self.who)
            )
        return Reservation(self.ledger, known)


class Reservation:
    """A release that is paid for: draw its noise and commit it, or cancel it before the draw.

    Only the process that made it can use it: after a fork, noise would be drawn twice for one charge.
    """

    def __init__(self, ledger: Ledger, entry: LedgerEntry) -> None:
        self.ledger, self.entry = ledger, entry
        self._process, self._lock, self._state = os.getpid(), threading.Lock(), "reserved"

    @property
    def receipt(self) -> Receipt:
        """The reference to the entry that certificates contain."""
        return Receipt(self.entry.facts["ledger"], self.entry.facts["account"], self.entry.number, self.entry.hash)

    def draw(self) -> None:
        """Mark the noise as drawn: from here on the cost is not refunded."""
        self._step(("reserved",), "drawn")

    def commit(self, certificate: str) -> None:
        """Record the digest of the release's certificate."""
        self._step(("drawn",), "committed")
        self._settle("commit", {"certificate": certificate})

    def cancel(self) -> None:
        """Cancel the release before any noise is drawn, and refund its cost."""
        self._step(("reserved",), "cancelled")
        self._settle("cancel", {})

    def _step(self, allowed: tuple[str, ...], state: str) -> None:
        with self._lock:
            if self._process != os.getpid():
                raise BudgetError("A release is made by the process that paid for it. Nothing was released.")
            if self._state not in allowed:
                raise BudgetError(f"This release is {self._state} already, so it cannot be {state}.")
            self._state = state

    def _settle(self, kind: str, more: dict[str, Any]) -> None:
        number, account = self.entry.number, self.entry.facts["account"]

        def write(t: Transaction) -> None:
            if t.find("settles", number) is not None:  # our own, whose answer did not come
                return
            after = {name: spent_of(t, name) for name in dict.fromkeys((population(account), account))}
            if kind == "cancel":
                cost = counted(self.entry.facts, terms_of(t, account, self.ledger))
                paid = dues(t, account, cost, self.ledger)
                after = {name: spent - paid[name] for name, spent in after.items()}
            facts = {"kind": kind, "account": account, "settles": number} | more
            _append(t, facts | _after(after) | stamp())

        self.ledger.write(write)


def stamp(who: str | None = None) -> dict[str, Any]:
    """The time, user and software version of an entry, for information only."""
    return {
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
        "who": who or _user(),
        "software": f"discreet {__version__}",
    }


def _user() -> str:
    if given := os.environ.get(WHO):
        return given[:LONGEST]
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may have no such user
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def _append(t: Transaction, facts: dict[str, Any]) -> LedgerEntry:
    last = t.last()
    if last is None and facts["kind"] != "ledger":
        raise LedgerError(UNFINISHED)
    entry = LedgerEntry.after(last, facts)
    t.append(entry)
    return entry


def _after(spent: dict[str, Spent]) -> dict[str, Any]:
    return {"after": {name: one.to_dict() for name, one in spent.items()}}


def _is_part(account: str | None, name: str) -> bool:
    return account is not None and name in (account, population(account))


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST:
        raise ParameterError(f"{what} must be a text of at most {LONGEST} characters.")
    return value


def _account_name(name: Any) -> str:
    parts = _text("The name of an account", name).split("/")
    if len(parts) > 2 or not all(part and part == part.strip() and part.isprintable() for part in parts):
        raise ParameterError(
            f"An account is named by a population, 'clinic', or by a table of one, 'clinic/visits'; got {name!r}."
        )
    return "/".join(parts)


def _reopened(place: str, name: str, purpose: str, who: str | None, request: str | None) -> Account:
    return Ledger(place).account(name, purpose=purpose, who=who, request=request)
