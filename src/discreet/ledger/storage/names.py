"""Refusal of ledger files that have a second name.

SQLite keeps the journal of an unfinished transaction in a file beside a database, named after it, and the head of a
ledger lies there, too. By a second name, in another folder, neither is found: what a killed process left half-written
stays so, and an older copy is not noticed. So a second name is refused, whether it is a hard link or a mount of the
single file, as is common with containers. Symbolic links are resolved first. Folders may be mounted anywhere, because
the files beside are mounted with them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from discreet.errors import LedgerError

MOUNTS = Path("/proc/self/mountinfo")
"""The Linux list of mounts, as this process sees it."""

BESIDE = ("", "-journal", "-head", "-wal", "-shm")
"""The file, the journal of a transaction, the head, and the log and its index of format 1."""


def refuse_second_names(path: Path) -> None:
    """Refuse a file if it, or one beside it, has a second name; missing files are ignored."""
    mounts = _mounts()
    for one in (path.with_name(path.name + end) for end in BESIDE):
        try:
            facts = one.lstat()
        except FileNotFoundError:
            continue
        if facts.st_nlink > 1:
            raise LedgerError(
                f"{one.name} has a second name, a hard link, and programs that use the one do not see what others "
                "spend by the other. Remove one of the names: find -samefile lists them. To keep a copy of a ledger: "
                "discreet ledger backup. Nothing was released."
            )
        alone = facts.st_dev != one.parent.stat().st_dev if mounts is None else str(one) in mounts
        if alone or one.is_symlink():
            raise LedgerError(
                f"{one.name} is mounted by itself, or is a link, and the files beside it are not: programs here and "
                "there do not see what the others spend. Mount the folder that holds it, not the file: for example "
                f"-v /srv/ledger:/ledger, and use /ledger/{path.name}. Nothing was released."
            )


def _mounts() -> frozenset[str] | None:
    """The mount points; None if the system has no list of them, and then only mounts of other devices are detected."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    return frozenset(_OCTAL.sub(_character, line.split(" ")[4]) for line in lines if line.count(" ") > 4)


def _character(escape: re.Match[str]) -> str:
    return os.fsdecode(bytes([int(escape[1], 8)]))


_OCTAL = re.compile(r"\\([0-7]{3})")
"""Octal escapes, by which the list encodes blanks, tabs, line ends and backslashes."""
