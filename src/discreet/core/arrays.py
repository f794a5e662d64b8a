"""Type aliases for arrays, and settings of numpy."""

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
"""Arguments of `numpy.errstate` for computations on private numbers: a warning, or an error that the caller asked numpy
to raise instead, would reveal that some row or sum overflows."""

_SHORT = 512


def on_device(array: object) -> bool:
    """Whether an array is one of a device (`data.device.arrays`), on which numpy's functions work, and not numpy's own.

    Examples
    --------
    >>> on_device(np.zeros(2))
    False
    """
    return not isinstance(array, np.ndarray)


@contextlib.contextmanager
def short_buffers() -> Iterator[None]:
    """Let numpy process lines of 512 numbers or more without copies, inside a ``with`` block or a function.

    By default, numpy first copies lines of fewer than 8,192 numbers, which doubles the time. Elementwise results are
    the same.

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
