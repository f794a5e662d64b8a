"""Exported ledgers as documents, and what their entries say, which accounts write one line of JSON at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from discreet.core.fields import (
    DEFINED,
    NEIGHBORS,
    SHA256,
    TEXT,
    TEXTS,
    DocumentFields,
    Field,
    FieldKind,
    Fields,
    by_name,
    fixed,
    many,
    maybe,
    part,
    record,
    ref,
    whole,
)
from discreet.ledger.entries import FORMAT, Entry
from discreet.ledger.terms import Terms
from discreet.privacy.pots import Cost, Spent

_ABOUT: dict[str, FieldKind | Field] = {"account": TEXT, "after": by_name(record(Spent))("What was spent then, by account.")}
_STAMP: dict[str, FieldKind | Field] = {
    "ledger": TEXT("Its id."),
    "number": whole(0),
    "previous": SHA256("The hash of the entry before; zeros for the first."),
    "when": TEXT,
    "who": TEXT,
    "software": TEXT,
}
_OLD = "Entries of 0.2.0 lack it: those with a person count once, others as often as a person has rows."
_ENTRIES = (
    Fields("ledger_made", "The ledger was made.", kind=fixed("ledger"), format=fixed(FORMAT), **_STAMP),
    Fields("account_opened", "An account was opened.", kind=fixed("account"), **_ABOUT, **Terms.FIELDS.rows, **_STAMP),
    Fields(
        "release_paid",
        "A release was paid for, before its noise was drawn.",
        kind=fixed("reserve"),
        **_ABOUT,
        cost=record(Cost),
        times=whole(1)(f"How often it counts for a person. {_OLD}", absent=None),
        neighbors=NEIGHBORS,
        purpose=TEXT,
        request=TEXT,
        token=TEXT,
        method=TEXT,
        columns=TEXTS,
        formula=maybe(TEXT),
        **_STAMP,
    ),
    Fields(
        "release_made",
        "That release was made.",
        kind=fixed("commit"),
        **_ABOUT,
        settles=whole(),
        certificate=SHA256,
        **_STAMP,
    ),
    Fields(
        "release_given_up",
        "That release was given up before any noise was drawn.",
        kind=fixed("cancel"),
        **_ABOUT,
        settles=whole(),
        **_STAMP,
    ),
)
DEFINED["ledger_entry"] = {
    "oneOf": [ref(entry.name) for entry in _ENTRIES],
    "description": "What the body of an entry says.",
}
_BODY = {"contentMediaType": "application/json", "contentSchema": ref("ledger_entry")}
_HEAD: dict[str, FieldKind | Field] = {
    "ledger": TEXT("Its id."),
    "number": whole(0)("Of the last entry."),
    "hash": SHA256("Of the last entry."),
    "when": TEXT("Of the last entry."),
}


class Exported(NamedTuple):
    """A ledger as it is exported: its id, the last entry's number, hash and time, and all entries."""

    ledger: str
    number: int
    hash: str
    when: str
    entries: Sequence[Entry]


_LINE = Fields(
    "entry_line",
    "",
    body=FieldKind(TEXT.schema | _BODY, TEXT.fits)("One line of JSON, whose bytes are hashed."),
    hash=SHA256("Of the body."),
)
LEDGER_HEAD = DocumentFields("ledger head", "How far a ledger had come.", (FORMAT,), **_HEAD)
LEDGER = DocumentFields("ledger", "All entries of a ledger.", (FORMAT,), **_HEAD, entries=many(part(_LINE)))
