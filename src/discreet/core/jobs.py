"""Long jobs: their progress as a fraction, never a count, for counts are private; and one BLAS thread at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

Progress = Callable[[float], None]


@contextlib.contextmanager
def as_progress(progress: bool | Progress, what: str = "reading") -> Iterator[Progress]:
    """A callback for a fraction between 0 and 1; True shows a bar on standard error, which goes away at the end."""
    if callable(progress) or not progress:
        yield progress if callable(progress) else _silent
        return
    bar = _Bar(what)
    try:
        yield bar
    finally:
        bar.stop()


def _silent(fraction: float) -> None:
    pass


class _Bar:
    """A bar on standard error that appears with the first progress."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Rich

        columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._rich = Rich(*columns, console=Console(stderr=True), transient=True)
        self._task = self._rich.add_task(what, total=1.0)

    def __call__(self, fraction: float) -> None:
        self._rich.start()
        self._rich.update(self._task, completed=fraction)

    def stop(self) -> None:
        """Take the bar away and give the terminal back."""
        self._rich.stop()


def one_thread() -> contextlib.AbstractContextManager[Any]:
    """Let every BLAS call use one thread, inside a ``with`` block, while the library's own threads share the cores.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    limits: contextlib.AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


@lru_cache
def _libraries() -> ThreadpoolController:
    """The loaded libraries: looking for them takes milliseconds."""
    return ThreadpoolController()
