"""Threads of the linear algebra libraries."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

_SMALL = 512


def one_thread() -> contextlib.AbstractContextManager[Any]:
    """Let every BLAS call use one thread, inside a ``with`` block, while the library's own threads share the cores.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    limits: contextlib.AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


def threads_for(size: int) -> contextlib.AbstractContextManager[Any]:
    """One thread for matrices of at most 512 rows: more would wait for each other longer than they work.

    Examples
    --------
    >>> with threads_for(100):
    ...     pass
    """
    return one_thread() if size <= _SMALL else contextlib.nullcontext()


@lru_cache
def _libraries() -> ThreadpoolController:
    """The loaded libraries: looking for them takes milliseconds."""
    return ThreadpoolController()
