"""Available memory, and errors for computations that need more, before they start."""

from __future__ import annotations

import contextlib
from pathlib import Path

from discreet.errors import ParameterError

_GROUP = Path("/sys/fs/cgroup")
_SYSTEM = Path("/proc/meminfo")


def available() -> int | None:
    """Return the bytes available to this process, on the machine or in its container, or None if unknown."""
    found = list[int]()
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = _SYSTEM.read_text(encoding="ascii").splitlines()
        found.append(1024 * int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]))
    with contextlib.suppress(OSError, ValueError):  # "max" where a container has no limit
        limit, used = (int((_GROUP / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
        found.append(max(limit - used, 0))
    return min(found, default=None)


def refuse_beyond(needed: float, what: str, remedy: str) -> None:
    """Refuse a computation that needs more memory than is available.

    `needed` are bytes, computed from public facts alone; `what` begins a sentence, and `remedy` is one.
    """
    there = available()
    if there is not None and needed > there:
        raise ParameterError(
            f"{what} needs about {spelled(needed)} of memory, and {spelled(there)} are free. Nothing was read. {remedy}"
        )


def spelled(size: float) -> str:
    """Return a number of bytes as readable text.

    Examples
    --------
    >>> spelled(2.34e9), spelled(5e6)
    ('2.3 GB', '5.0 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
