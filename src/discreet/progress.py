"""Progress of long jobs as a fraction: never a count, for counts are private."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float], None]


def as_progress(progress: bool | Progress) -> Progress:
    """A callback for a fraction between 0 and 1; True shows a bar on standard error."""
    if callable(progress):
        return progress
    return _Bar() if progress else _silent


def _silent(fraction: float) -> None:
    pass


class _Bar:
    """A bar on standard error that appears with the first progress and goes away at the end."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Rich

        columns = (TextColumn("reading"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._rich = Rich(*columns, console=Console(stderr=True), transient=True)
        self._task = self._rich.add_task("reading", total=1.0)

    def __call__(self, fraction: float) -> None:
        if fraction >= 1.0:
            self._rich.stop()
            return
        self._rich.start()
        self._rich.update(self._task, completed=fraction)
