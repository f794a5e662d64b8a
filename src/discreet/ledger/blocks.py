"""The ``with`` blocks of budgets and accounts, which determine where a release is charged.

A block is ambient: it belongs to the process and not to an estimator, so clones, grid searches, cross-validation and
threads are all charged to it. Releases that a block should have counted, and no longer can, are refused. They come from

* a task, or a thread, that was started inside a block which has ended;
* a forked process, and any other worker, unless it has a block of its own; a ledger is shared by processes, so its
  blocks hold in forked ones.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

from discreet.core.checks import Neighbors
from discreet.errors import BudgetError
from discreet.privacy.budget_parts import Cost


class Counter(ABC):
    """A budget or account that is charged for the releases inside its ``with`` blocks."""

    def __init__(self) -> None:
        self._blocks: list[BudgetBlock] = []

    @property
    @abstractmethod
    def shared(self) -> bool:
        """Whether other processes see what it counts."""

    @property
    @abstractmethod
    def subject(self) -> Any:
        """The subject of the account: of two nested blocks with the same subject, only the inner one is charged."""

    @abstractmethod
    def reserve(self, cost: Cost, neighbors: Neighbors, what: dict[str, Any]) -> Any:
        """Pay for a release, before its noise is drawn."""

    def __enter__(self) -> Self:
        self._blocks.append(BudgetBlock(self))
        self._blocks[-1].begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks.pop().end()


class BudgetBlock:
    """One ``with`` block of a counter."""

    def __init__(self, counter: Counter) -> None:
        self.counter, self.process, self.ended = counter, os.getpid(), False
        self._before = set(threading.enumerate())

    def begin(self) -> None:
        """Start charging releases."""
        with _lock:
            _active.append(self)
        _enclosing.set((*_enclosing.get(), self))

    def end(self) -> None:
        """Stop charging releases, and remember the threads that may still be running."""
        global _strays, _any_ended
        with _lock:
            _active.remove(self)
            self.ended = _any_ended = True
            alive = set(threading.enumerate()) - {threading.current_thread(), threading.main_thread()}
            _suspects.update(alive)
            _strays = _strays or bool(alive - self._before)
        _enclosing.set(tuple(block for block in _enclosing.get() if block is not self))


_active: list[BudgetBlock] = []
_enclosing: ContextVar[tuple[BudgetBlock, ...]] = ContextVar("discreet_blocks", default=())
_formula: ContextVar[str | None] = ContextVar("discreet_formula", default=None)
_lock = threading.RLock()

_suspects: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
"""Threads that were alive when a block ended: they may run work that was started inside it."""

_strays = False
"""Whether a thread started inside a block was alive when the block ended: it may have started others since."""

_any_ended = False
_forked = False


def _after_fork() -> None:
    global _lock, _forked
    _lock, _forked = threading.RLock(), True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def counters() -> list[Counter]:
    """The budgets and accounts to charge; refuse a release from an ended block or in a process that cannot count."""
    if any(block.ended for block in _enclosing.get()):
        raise BudgetError(_ENDED)
    with _lock:
        active = list(_active)
    if any(block.process != os.getpid() and not block.counter.shared for block in active):
        raise BudgetError(_WORKER)
    ledgers = [block for block in _enclosing.get() if block.counter.shared] or active
    inner = {block.counter.subject: block.counter for block in ledgers if block.counter.shared}
    return [*dict.fromkeys(block.counter for block in active if not block.counter.shared), *inner.values()]


def refuse_uncounted() -> None:
    """Refuse a release that no block counts, if its thread or process may have been started inside a block."""
    if is_worker():
        raise BudgetError(_WORKER)
    if not _any_ended or (thread := threading.current_thread()) is threading.main_thread():
        return
    if _strays or thread in _suspects or isinstance(thread, threading._DummyThread):
        raise BudgetError(_ENDED)


def is_worker() -> bool:
    """Whether another process handed the work to this one: by fork, multiprocessing, joblib, Spark, Dask or Ray."""
    process = multiprocessing.current_process()
    if _forked or multiprocessing.parent_process() is not None or process.name.startswith("Loky"):
        return True
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    started = f"{getattr(spec, 'name', '')} {getattr(main, '__file__', '')}".replace(os.sep, ".")
    return any(name in started for name in _WORKERS)


@contextlib.contextmanager
def asked(formula: str | None) -> Iterator[None]:
    """Record the formula for the releases inside."""
    token = _formula.set(formula)
    try:
        yield
    finally:
        _formula.reset(token)


def formula() -> str | None:
    """The formula of the current release, if one was given."""
    return _formula.get()


_WORKERS = ("pyspark.daemon", "pyspark.worker", "distributed.cli.dask_worker", "ray._private.workers")
"""Names of the modules with which workers of Spark, Dask and Ray are started."""

_WORKER = (
    "This is a worker process, which cannot know what others have spent, so it releases nothing. Remedy: n_jobs=1; or "
    "a ledger, which processes share: `with Ledger(...).account(...):` inside the worker, or DISCREET_LEDGER in its "
    "environment; or set up a budget inside the worker, with discreet.Budget(...), and add up the workers' budgets "
    "yourself."
)
_ENDED = (
    "This thread or task may have been started inside a `with` block of a Budget or an account that has ended, so "
    "nobody would count what it releases. Remedy: wait for threads and tasks before the block ends; or give it a block "
    "of its own. Nothing was released."
)
