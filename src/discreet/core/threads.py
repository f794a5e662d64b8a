"""Threads of the linear algebra libraries."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


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
