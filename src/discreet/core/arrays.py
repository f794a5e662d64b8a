"""Names for the kinds of arrays that recur, and how numpy works on them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Objects = NDArray[Any]
"""Python integers of any size, or values of any kind."""

SILENT: dict[str, Any] = {"all": "ignore"}
"""For `numpy.errstate`, wherever private numbers are worked on: a warning, or an error that the caller asked numpy to
raise instead, would tell that some row, or the sums of all, overflow."""

_SHORT = 512


@contextlib.contextmanager
def short_buffers() -> Iterator[None]:
    """Let numpy work on lines of 512 numbers or more where they are, inside a ``with`` block, or in a function.

    Usually it copies lines of fewer than 8,192 first, at twice the time. What is done element by element does not
    depend on it.

    Examples
    --------
    >>> with short_buffers():
    ...     inside = np.getbufsize()
    >>> inside, np.getbufsize()
    (512, 8192)
    """
    with np.errstate():  # which restores it
        np.setbufsize(_SHORT)
        yield
