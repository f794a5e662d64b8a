"""Entries of a ledger: lines of JSON, each with the hash of the entry before, so that none can be changed alone.

The `kind` of an entry says what happened:

    ledger    the ledger was made: its id
    account   an account was opened: its limits, which never change
    reserve   a release was paid for, before its noise was drawn; from here on it counts as spent
    commit    that release was made: the digest of its certificate
    cancel    that release was given up before any noise was drawn: the only way to get something back

Every entry names its ledger, and every entry about an account says what was spent `after` it, by the account and by
the population it belongs to.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.core.files import canonical

FORMAT = 1
"""The format version, which the first entry states."""

KINDS = ("ledger", "account", "reserve", "commit", "cancel")

INDEX = ("population", "account", "request", "settles", "defines")
"""The columns by which entries are looked up; all of them follow from the bodies."""

UNIQUE = ("request", "settles", "defines")
"""The columns with unique values: the request, the reservation that is settled, the account that is defined."""

NOTHING = "0" * 64
"""The hash of the previous entry, as the first entry states it."""


def population(account: str) -> str:
    """The population that an account or one of its tables is about.

    Examples
    --------
    >>> population("clinic/visits"), population("clinic")
    ('clinic', 'clinic')
    """
    return account.partition("/")[0]


@dataclass(frozen=True)
class LedgerEntry:
    """One entry: its number, its body as JSON text, and the hash that is stored beside it."""

    number: int
    body: str
    hash: str

    @classmethod
    def after(cls, last: LedgerEntry | None, facts: dict[str, Any]) -> LedgerEntry:
        """Return the entry that follows another one, or the first entry."""
        number, previous = (0, NOTHING) if last is None else (last.number + 1, last.hash)
        ledger = facts["ledger"] if last is None else last.facts["ledger"]
        body = canonical(facts | {"ledger": ledger, "number": number, "previous": previous}).decode()
        return cls(number, body, hashed(body))

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The parsed body."""
        facts: dict[str, Any] = json.loads(self.body)
        return facts

    @property
    def index(self) -> tuple[Any, ...]:
        """The values of the index columns, in the order of `INDEX`."""
        facts = self.facts
        account = facts.get("account")
        return (
            None if account is None else population(account),
            account,
            facts.get("request") if facts["kind"] == "reserve" else None,
            facts.get("settles"),
            account if facts["kind"] == "account" else None,
        )


def hashed(body: str) -> str:
    """SHA-256 of a body, which contains the hash of the body before.

    Examples
    --------
    >>> hashed("{}")[:8]
    '44136fa3'
    """
    return hashlib.sha256(body.encode()).hexdigest()
