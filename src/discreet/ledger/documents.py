"""Exported ledgers as documents, and what their entries say, which accounts write one line of JSON at a time."""

from __future__ import annotations

from typing import Any

from discreet.core.field_kinds import COUNT, NEIGHBORS, SHA256, TEXT, TEXTS, by_name, many, maybe, record, whole
from discreet.core.fields import DocumentFields, FieldKind, Fields, defined, fixed, ref
from discreet.ledger.entries import FORMAT
from discreet.ledger.terms import Terms
from discreet.privacy.budget_parts import Cost, Spent

_ABOUT = dict[str, Any](account=TEXT, after=by_name(record(Spent))("The amounts spent so far, by account."))
_SETTLES = _ABOUT | {"settles": COUNT}
_STAMP = dict[str, Any](
    ledger=TEXT("The id of the ledger."),
    number=COUNT,
    previous=SHA256("The hash of the entry before; zeros for the first."),
    **dict.fromkeys(("when", "who", "software"), TEXT),
)
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
        times=whole(1)(f"The number of times that it is charged for a person. {_OLD}", absent=None),
        neighbors=NEIGHBORS,
        **dict.fromkeys(("purpose", "request", "token", "method"), TEXT),
        columns=TEXTS,
        formula=maybe(TEXT),
        **_STAMP,
    ),
    Fields("release_made", "The release was made.", kind=fixed("commit"), **_SETTLES, certificate=SHA256, **_STAMP),
    Fields("release_given_up", "Given up before any noise was drawn.", kind=fixed("cancel"), **_SETTLES, **_STAMP),
)
_SAID = FieldKind({"oneOf": [ref(entry.name) for entry in _ENTRIES]})
_BODY = {
    "contentMediaType": "application/json",
    "contentSchema": defined("ledger_entry", _SAID, "The body of an entry.").schema,
}
_LINE = Fields(
    "entry_line",
    "",
    body=FieldKind(TEXT.schema | _BODY, TEXT.fits)("One line of JSON, whose bytes are hashed."),
    hash=SHA256("The hash of the body."),
)
_LAST = "The number or hash of the last entry."
_HEAD = dict[str, Any](ledger=TEXT("The id of the ledger."), number=COUNT(_LAST), hash=SHA256(_LAST), when=TEXT(_LAST))
LEDGER_HEAD = DocumentFields("ledger head", "The last entry of a ledger.", (FORMAT,), **_HEAD)
LEDGER = DocumentFields("ledger", "All entries of a ledger.", (FORMAT,), **_HEAD, entries=many(record(_LINE)))
