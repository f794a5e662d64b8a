"""One BLAS thread at a time, while the library's own threads share the cores."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Let every BLAS call use one thread, inside a ``with`` block.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


@lru_cache
def _libraries() -> ThreadpoolController:
    """The loaded libraries: looking for them takes milliseconds."""
    return ThreadpoolController()
