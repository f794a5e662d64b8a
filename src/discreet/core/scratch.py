"""Private temporary folders, removed with their owner, or by the next run after a kill."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows has no such locks: there a kill leaves its folder
    fcntl = None

_PREFIX = "discreet-scratch-"
_NAME = re.compile(_PREFIX + r"[a-z0-9_]{8}")


class Scratch:
    """A folder that only its owner may read.

    It is removed with this object. A killed process leaves it behind unlocked, and whoever makes the next one removes
    it.
    """

    def __init__(self) -> None:
        _sweep()
        self.path, lock = _locked()
        self._end = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def close(self) -> None:
        """Remove the folder, and all that is in it."""
        self._end()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def _locked() -> tuple[Path, int | None]:
    """Create and lock a folder; try again if it was swept before it was locked."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        if fcntl is None:
            return path, None
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY)
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), path.stat()):
                    return path, lock
            os.close(lock)


def _sweep() -> None:
    """Remove this user's scratch folders that no process has locked."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
            if _NAME.fullmatch(path.name):
                _sweep_one(path, fcntl)


def _sweep_one(path: Path, locks: ModuleType) -> None:
    with contextlib.suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(lock).st_uid == os.getuid():
                locks.flock(lock, locks.LOCK_EX | locks.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)


def _remove(path: Path, lock: int | None, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the owner
        return
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)
