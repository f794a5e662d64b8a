"""Verification of a ledger: its entries are replayed, one after another.

The chain of hashes shows whether an entry was changed, removed, added or moved. It does not show that the last entries
are missing, as in an older copy that was put back, or that the whole ledger was rewritten. These are found with a
witness kept elsewhere: an exported head, or any release, whose certificate names its entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from discreet.core.field_kinds import TEXT
from discreet.core.files import Document, Source, read_document, write_document
from discreet.errors import BudgetError, DiscreetError, FileFormatError
from discreet.ledger.accounts import Ledger
from discreet.ledger.documents import LEDGER, LEDGER_HEAD
from discreet.ledger.entries import FORMAT, INDEX, KINDS, NOTHING, UNIQUE, LedgerEntry, hashed, population
from discreet.ledger.terms import Terms, counted, steps_in_0_2
from discreet.privacy import budget_parts
from discreet.privacy.budget_parts import Balance, Cost, Spent
from discreet.released.certificate import Receipt

MOST = 20
"""The maximum number of flaws that are listed; the rest are only counted."""


@dataclass(frozen=True)
class Witness:
    """An entry that a ledger must have: its ledger, number and hash, and the digest of its certificate, if known."""

    name: str
    ledger: str
    number: int
    hash: str
    certificate: str | None = None


@dataclass
class _Replay:
    """The state after some entries: accounts, what they have spent, and open reservations."""

    terms: dict[str, Terms] = field(default_factory=dict)
    spent: dict[str, Spent] = field(default_factory=dict)
    open: dict[int, dict[str, Any]] = field(default_factory=dict)
    seen: set[tuple[str, Any]] = field(default_factory=set)

    def play(self, entry: LedgerEntry) -> None:
        """Apply an entry; raise an error if it is wrong."""
        facts = entry.facts
        kind, account = facts["kind"], str(facts.get("account"))
        if kind not in KINDS or (kind == "ledger") != (entry.number == 0):
            raise FileFormatError("its kind is unknown, or out of place")
        if kind == "ledger":
            if facts["format"] != FORMAT:
                raise FileFormatError("it is of another format")
            return
        for key in zip(INDEX, entry.index, strict=True):
            if key[0] in UNIQUE and key[1] is not None:
                if key in self.seen:
                    raise FileFormatError(f"its {key[0]} stands twice")
                self.seen.add(key)
        if kind == "account":
            self._define(account, facts)
        elif kind == "reserve":
            self._reserve(entry.number, account, facts)
        else:
            self._settle(kind, account, facts)
        parts = dict.fromkeys((population(account), account))
        if facts["after"] != {name: self.spent[name].to_dict() for name in parts}:
            raise FileFormatError("what it says was spent is not what was")

    def _define(self, account: str, facts: dict[str, Any]) -> None:
        terms = Terms.from_dict(facts)
        if population(account) == account and terms.limits is None:
            raise FileFormatError("a population has no limits")
        if population(account) not in {account, *self.terms}:
            raise FileFormatError("it is a table of no population")
        self.terms[account], self.spent[account] = terms, Spent()

    def _dues(self, account: str, facts: dict[str, Any]) -> dict[str, tuple[Cost, Spent]]:
        cost = counted(facts, self.terms[account])
        above = self.terms[population(account)].limits
        limits = {population(account): above, account: self.terms[account].limits or above}
        return {name: (cost, one.due(cost)) for name, one in limits.items() if one is not None}

    def _reserve(self, number: int, account: str, facts: dict[str, Any]) -> None:
        own = self.terms[account]
        if own.person is not None or "times" in facts:
            times = own.steps(facts["cost"].get("person"), repr(account))
            if type(facts.get("times")) is not int or facts["times"] != times:
                raise FileFormatError("it does not count as often as its account says")
        for name, (cost, due) in self._dues(account, facts).items():
            terms = self.terms[name]
            budget_parts.refuse_relation(terms.neighbors, facts["neighbors"], repr(name))
            budget_parts.refuse_public(terms.public_outcomes, cost, repr(name))
            if terms.limits is not None:
                Balance(terms.limits, self.spent[name]).after(cost, repr(name))
            self.spent[name] += due
        self.open[number] = facts

    def _settle(self, kind: str, account: str, facts: dict[str, Any]) -> None:
        paid = self.open.pop(facts["settles"])
        if paid["account"] != account:
            raise FileFormatError("it settles a release of another account")
        if kind == "cancel":
            for name, (_, due) in self._dues(account, paid).items():
                self.spent[name] -= due
        else:
            TEXT.take(facts["certificate"])


class Chain:
    """The flaws of a chain of entries that are taken one after another, and of what witnesses have seen of it."""

    def __init__(self, witnesses: Iterable[Witness] = ()) -> None:
        self._witnesses, self._replay = list(witnesses), _Replay()
        self._flaws: list[str] = []
        self._count, self._previous = 0, NOTHING
        self._ledger: str | None = None
        self._seen: dict[int, str] = {one.number: "" for one in self._witnesses}
        self._certificates: dict[int, Any] = {}

    def take(self, entry: LedgerEntry, index: tuple[Any, ...] | None = None) -> None:
        """Look at the next entry, and at the values that it is stored under."""
        if hashed(entry.body) != entry.hash:
            self._flaws.append(f"Entry {entry.number} was changed: its hash is another one.")
        try:
            facts = entry.facts
            if self._count == 0:
                self._ledger = facts["ledger"]
            if entry.number != self._count or facts["number"] != self._count or facts["ledger"] != self._ledger:
                raise FileFormatError("it has another place, or belongs to another ledger")
            if facts["previous"] != self._previous:
                raise FileFormatError("it does not follow the entry before")
            self._replay.play(entry)
            if facts.get("settles") in self._seen:
                self._certificates[facts["settles"]] = facts.get("certificate")
            moved = index is not None and entry.index != index
        except DiscreetError as error:
            self._flaws.append(f"Entry {entry.number} is wrong: {str(error).rstrip('.')}.")
            moved = False
        except Exception:  # what is not an entry may fail in any way
            self._flaws.append(f"Entry {entry.number} is no entry, or does not fit those before.")
            moved = False
        self._flaws += [f"Entry {entry.number} is stored under another name."] * moved
        if entry.number in self._seen:
            self._seen[entry.number] = entry.hash
        self._count, self._previous = self._count + 1, entry.hash

    @property
    def damaged(self) -> bool:
        """Whether an entry had a flaw."""
        return bool(self._flaws)

    @property
    def flaws(self) -> list[str]:
        """The flaws, the first ones of many."""
        found = self._flaws + [flaw for witness in self._witnesses for flaw in self._missed(witness)]
        found += [] if self._count else ["There is no entry: the first one says which ledger it is."]
        more = len(found) - MOST
        return [*found[:MOST], f"And {more} more."] if more > 0 else found

    def _missed(self, witness: Witness) -> list[str]:
        """List the contradictions between the entries and a witness."""
        if self._ledger != witness.ledger:
            return [f"{witness.name} is from another ledger."]
        found = self._seen[witness.number]
        if not found:
            ends = f"and the ledger ends at {self._count - 1}: an older copy was put back"
            return [f"{witness.name} has seen entry {witness.number}, {ends}."]
        if found != witness.hash:
            return [f"{witness.name} has seen another entry {witness.number}: the ledger was written anew."]
        settled = self._certificates.get(witness.number, witness.certificate)
        if witness.certificate is not None and settled != witness.certificate:
            return [f"{witness.name} is not the release that entry {witness.number} paid for."]
        return []


def flaws(ledger: Ledger, witnesses: Iterable[Witness] = ()) -> list[str]:
    """List the flaws of a ledger; empty if it is as it was written."""
    try:
        found, chain = ledger.storage.flaws(), Chain(witnesses)
        for entry, index in ledger.storage.scan():
            chain.take(entry, index)
    except DiscreetError as error:
        return [str(error)]
    return found + chain.flaws


def chain_flaws(entries: Iterable[LedgerEntry]) -> list[str]:
    """List the flaws of a sequence of entries: in hashes, numbers, sums and limits."""
    chain = Chain()
    for entry in entries:
        chain.take(entry)
    return chain.flaws


def undercounted(entries: Iterable[LedgerEntry]) -> list[str]:
    """List releases that version 0.2.0 undercounted: once, though their person column may not be the account's."""
    terms: dict[str, Terms] = {}
    found: dict[int, str] = {}
    for entry in entries:
        facts = entry.facts
        if facts["kind"] == "account":
            terms[facts["account"]] = Terms.from_dict(facts)
        elif facts["kind"] == "cancel":
            found.pop(facts["settles"], None)
        elif facts["kind"] == "reserve" and "times" not in facts:
            own, cost = terms[facts["account"]], Cost.from_dict(facts["cost"])
            try:
                times = own.steps(cost.person, "the account")
            except BudgetError:
                times = None
            if times != steps_in_0_2(cost, own):
                today = "would be refused" if times is None else f"would count {times} times"
                found[entry.number] = (
                    f"Entry {entry.number} counts once, by version 0.2.0; today it {today}, because it protects the "
                    f"persons of column {cost.person!r} and the account does not say that they are its people."
                )
    return list(found.values())


def watched(entries: Iterable[LedgerEntry], notes: list[str]) -> Iterator[LedgerEntry]:
    """Entries as they are; and a note where the clock went back, which is no flaw, because nothing depends on it."""
    last = ""
    for entry in entries:
        if entry.facts["when"] < last:
            notes.append(f"The clock went back before entry {entry.number}.")
        last = entry.facts["when"]
        yield entry


def unsettled(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Releases that were paid for and neither committed nor cancelled: in progress, or lost. They count as spent."""
    open_ones: dict[int, LedgerEntry] = {}
    for entry in entries:
        if entry.facts["kind"] == "reserve":
            open_ones[entry.number] = entry
        else:
            open_ones.pop(entry.facts.get("settles", -1), None)
    return list(open_ones.values())


def export(ledger: Ledger, path: str | Path, *, head_only: bool = False) -> LedgerEntry:
    """Write all entries, or only the number and hash of the last one, to a document; return the last entry."""
    entries = [ledger.head()] if head_only else ledger.entries()
    head = entries[-1]
    held = SimpleNamespace(**head.facts | {"hash": head.hash, "entries": entries})
    write_document(path, (LEDGER_HEAD if head_only else LEDGER).body(held, FORMAT))
    return head


def exported(path: str | Path) -> list[LedgerEntry]:
    """The entries of an exported ledger."""
    body = read_document(path, "ledger", (FORMAT,))
    return [LedgerEntry(place, **line) for place, line in enumerate(LEDGER.read(body)["entries"])]


def witness_of(path: str | Path, receipts: Sequence[Receipt], certificate: str) -> list[Witness]:
    """The witnesses from a release: the entries that its certificate names, and its digest."""
    name = Path(path).name
    return [Witness(name, one.ledger, one.entry, one.hash, certificate) for one in receipts]


def head_of(path: Source) -> Witness | None:
    """The witness from an exported head or an exported ledger; None if the file is neither."""
    document = Document.of(path)
    if document.kind not in ("ledger", "ledger head"):
        return None
    body = read_document(document, document.kind, (FORMAT,))
    head = LEDGER_HEAD.read(body)
    return Witness(document.name, head["ledger"], head["number"], head["hash"])
