"""Imported first: Ctrl-C while the command line is still being imported ends it without a traceback."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath
from types import TracebackType


def is_command(argv: Sequence[str], original: Sequence[str]) -> bool:
    """Whether this process is ``discreet`` or ``python -m discreet``, rather than a program that imports the library.

    Examples
    --------
    >>> is_command(["/usr/bin/discreet", "demo"], []), is_command(["-m"], ["python", "-m", "discreet"])
    (True, True)
    >>> is_command(["-m"], ["python", "-m", "mine"]), is_command(["mine.py"], ["python", "mine.py"])
    (False, False)
    """
    return PurePath(argv[0] if argv else "").stem == "discreet" or ("-m", "discreet") in pairwise(original)


def _stopped(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Exit with 130 after Ctrl-C, even if an import turned it into another error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return sys.__excepthook__(kind, error, trace)
    sys.stderr.write("Stopped.\n")
    raise SystemExit(130)


if is_command(sys.argv, sys.orig_argv):
    sys.excepthook = _stopped
