"""A table that is read twice: to find bad data, and then by a release that draws random words as it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from discreet.core.jobs import Progress, as_progress
from discreet.data.sources import open_source
from discreet.data.sources.arrow import StreamSource
from discreet.data.summing import EXACT_ROWS, Done, Shared, in_threads, threads
from discreet.domain import Domain
from discreet.domain.encoding import Encoder

_BATCH = 1 << 18


@dataclass(frozen=True, eq=False, repr=False)
class Unread:
    """The rows of a source that nobody has read yet; **confidential**.

    Parameters
    ----------
    source, domain, n_jobs, progress
        As in `Moments.from_source`.
    rows, left : int
        How many rows there are, and how many of them are not dropped for a missing value; once they were `checked`.

    Examples
    --------
    >>> import numpy as np
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> Unread((np.zeros((2, 1)), np.zeros(2)), domain).checked()
    Unread(2 columns, confidential)
    """

    source: Any
    domain: Domain
    n_jobs: int | None = None
    progress: bool | Progress = False
    rows: int = 0
    left: int = 0

    def checked(self) -> Unread:
        """Read all rows, so that bad data are found: the same table, to be read again.

        A stream that can be read only once is kept in memory.
        """
        opened, encoder = open_source(self.source, self.domain), Encoder(self.domain)
        if isinstance(opened, StreamSource) and opened.once:
            return replace(self, source=opened.table()).checked()
        size = min(EXACT_ROWS, max(1024, _BATCH // len(self.domain.entries)))
        parts = Shared(opened.parts(size))
        with as_progress(_half(self.progress, 0.0)) as report:
            done = Done(opened.total, report)

            def work() -> tuple[int, int]:
                rows, left, buffer = 0, 0, encoder.empty(size, columnar=opened.columnar)
                with parts:
                    for _, batch in parts:
                        written = opened.fill(batch, buffer, encoder)
                        encoder.finish(buffer[:written])
                        rows, left = rows + opened.size(batch), left + written
                        done.add(opened.size(batch))
                return rows, left

            counts = in_threads(opened, parts, work, threads(self.n_jobs))
        rows, left = (sum(part) for part in zip(*counts, strict=True))
        return replace(self, progress=_half(self.progress, 0.5), rows=rows, left=left)

    def __repr__(self) -> str:
        return f"Unread({len(self.domain.columns)} columns, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are confidential and are not pickled.")


def _half(progress: bool | Progress, start: float) -> bool | Progress:
    """One of two readings takes half of the progress that a caller is told; a bar is shown for each."""
    return (lambda fraction: progress(start + fraction / 2)) if callable(progress) else progress
