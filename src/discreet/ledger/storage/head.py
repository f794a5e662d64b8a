"""The head of a ledger file: the number and hash of its newest entry, in a second file beside it.

A ledger cannot tell by itself that its end is missing, as it is from an older copy. So whoever reads or charges it
compares it with its head first. The head is a document such as ``discreet ledger export --head`` writes. It is written
after a commit and before any other process can charge, in place and within one sector of the disk, so that no full disk
prevents it and no kill leaves half of it. A process that dies between the commit and the head leaves a head that is one
entry behind, which is no flaw: nobody was told of that entry.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.core.files import digest, read_document
from discreet.errors import DiscreetError, FileFormatError, LedgerError
from discreet.ledger.entries import FORMAT, LedgerEntry
from discreet.ledger.storage.base import Reading

SIZE = 512
"""The size of the file: one sector."""

KIND = "ledger head"


class Head:
    """The head of the ledger file at a path."""

    def __init__(self, ledger: Path) -> None:
        self._ledger, self.path = ledger, ledger.with_name(ledger.name + "-head")

    def readable(self) -> dict[str, Any] | None:
        """The same as `read`, and None where this user may not read it, who may not charge either."""
        return self.read() if os.access(self.path, os.R_OK) else None

    def read(self) -> dict[str, Any] | None:
        """The ledger, number and hash that it names; None if there is no head."""
        try:
            if not self.path.read_bytes().strip():  # its first entry was never written
                return None
            found = read_document(self.path, KIND, (FORMAT,))
            if not (type(found.get("number")) is int and 0 <= found["number"] < 2**63):
                raise FileFormatError("its number is none")
            return found
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(f"{self.path.name} cannot be read: {error.strerror}. Nothing was released.") from None
        except DiscreetError:
            raise LedgerError(
                f"{self.path.name} is damaged, so it is not known whether {self._ledger.name} is the newest copy. "
                "Move it away, and the ledger, too, and restore the ledger from its newest copy: discreet ledger "
                f"restore COPY {self._ledger.name}. Nothing was released."
            ) from None

    def refuse_older(self, found: dict[str, Any] | None, t: Reading) -> None:
        """Refuse a ledger that has not all entries up to its head."""
        if found is None:
            return
        entry, last = t.find("number", found["number"]), t.last()
        if entry is not None and entry.hash == found["hash"]:
            return
        ends = "holds none" if last is None else f"ends at entry {last.number}"
        ends = ends if entry is None else f"has another entry {entry.number}"
        raise LedgerError(
            f"{self.path.name} has seen entry {found['number']}, and {self._ledger.name} {ends}: its end was lost, or "
            "an older copy or another ledger was put in its place, and what was spent could be spent again. Move "
            f"{self._ledger.name} away and leave its head, and restore it from its newest copy: discreet ledger "
            f"restore COPY {self._ledger.name}. Nothing was released."
        )

    def refuse_unknown(self, found: dict[str, Any] | None, t: Reading) -> None:
        """Refuse to charge a ledger in use that has no head: it may be any copy."""
        last = t.last()
        if found is None and last is not None and last.number > 0:
            raise LedgerError(
                f"{self.path.name} is missing, so it is not known whether {self._ledger.name} is the ledger itself or "
                "an older copy. If the ledger was moved, move its head to it. If this is a copy, or the head is lost, "
                f"make a ledger of it that can be charged: discreet ledger restore {self._ledger.name} NEW.ledger. "
                "Nothing was released."
            )

    @contextmanager
    def opened(self) -> Iterator[Callable[[LedgerEntry], None]]:
        """A function that names an entry as the newest; the file is opened first, before anything is committed."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            if os.fstat(handle).st_size == 0:
                if self._ledger.exists():
                    self.path.chmod(self._ledger.stat().st_mode & 0o666)  # for those who may write the ledger
                os.write(handle, b" " * SIZE)  # room that a full disk cannot take away
        except OSError as error:
            raise LedgerError(f"{self.path.name} cannot be written: {error.strerror}. Nothing was released.") from None
        try:
            yield lambda entry: self._write(handle, entry)
        finally:
            os.close(handle)

    def _write(self, handle: int, entry: LedgerEntry) -> None:
        when = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        named = {"ledger": entry.facts["ledger"], "number": entry.number, "hash": entry.hash, "when": when}
        body = {"kind": KIND, "format_version": FORMAT, **named}
        text = json.dumps(body | {"sha256": digest(body)}).encode()
        try:
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, text.ljust(SIZE - 1) + b"\n")
        except OSError as error:
            raise LedgerError(
                f"{self.path.name} cannot be written: {error.strerror}. Entry {entry.number} counts as spent, and "
                "nothing was released."
            ) from None
