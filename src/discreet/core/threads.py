"""Control of the threads of the linear algebra libraries."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

_SMALL = 512


def one_thread() -> contextlib.AbstractContextManager[Any]:
    """Limit BLAS calls to one thread inside a ``with`` block, while the library's own threads share the cores."""
    limits: contextlib.AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


def threads_for(size: int) -> contextlib.AbstractContextManager[Any]:
    """Limit BLAS to one thread for matrices of at most 512 rows, where more threads are slower."""
    return one_thread() if size <= _SMALL else contextlib.nullcontext()


@lru_cache
def _libraries() -> ThreadpoolController:
    """Return the loaded libraries; cached, since the search takes milliseconds."""
    return ThreadpoolController()
