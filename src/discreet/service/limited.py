"""Processes with limits of time and memory that take the steps before any row is read (`steps.py`).

A process that needs more is ended, and the next step begins in a new one; pages and other people's requests go on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from discreet.errors import DiscreetError

PROCESSES = 2
"""Maximum number of processes that take steps at a time."""

NICE = 5
"""How much nicer these processes and workers are than the one that starts them."""

PATIENCE = 60.0
"""Seconds that a process may take to start, or a step may wait for one."""

MOST_AT_ONCE = 10
"""Maximum number of requests of one person that are read or wait for it; one of them is read at a time."""

NO_ROOM = "The service has no room for this request at the moment. Try it again later."


class RefusedError(DiscreetError):
    """A request that cannot be carried out, for public reasons."""


class BusyError(DiscreetError):
    """More requests at a time than one person may have, or than are taken."""


class BrokenStepError(DiscreetError):
    """A defect: a step ended with an error that is not one of ours. It read no row."""


class SentText(str):
    """A long text that is sent to a process once."""

    @property
    def mark(self) -> str:
        """Its digest."""
        return hashlib.sha256(self.encode()).hexdigest()


def yield_to_pages(process: int) -> None:
    """Lower the priority of a process that was just started, before it imports anything, so that pages stay fast."""
    if hasattr(os, "setpriority"):
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process, os.getpriority(os.PRIO_PROCESS, 0) + NICE)


class _Process:
    """One process, used by one thread at a time; it is started when it is needed."""

    def __init__(self, megabytes: int) -> None:
        self._megabytes = megabytes
        self._process: subprocess.Popen[bytes] | None = None
        self._ready, self._sent, self._rest = False, set[str](), b""

    def start(self) -> None:
        """Start the process unless it runs, without waiting for it."""
        if self._process is not None and self._process.poll() is None:
            return
        command = [sys.executable, "-m", "discreet.service.steps", str(self._megabytes)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        own = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(command, **pipes, env=own)
        yield_to_pages(self._process.pid)
        self._ready, self._sent, self._rest = False, set(), b""

    def take(self, step: str, given: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Take a step, and return its answer."""
        self.start()
        if not self._ready and self._line(PATIENCE) is None:
            self.end()
            raise BusyError(NO_ROOM)
        self._ready = True
        documents = dict(_documents(given))
        new = {mark: text for mark, text in documents.items() if mark not in self._sent}
        try:
            self._write({"step": step, "given": _marked(given), "documents": new})
            line = self._line(seconds)
        except OSError:  # it was killed
            line = None
        self._sent |= {*documents}
        found: dict[str, Any] = {"too_large": True} if line is None else json.loads(line)
        if "too_large" in found:
            self.end()
        return found

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            self._process.wait()
            self._process = None

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _line(self, seconds: float) -> bytes | None:
        """Return the next line that it writes; None if it ends before, or takes longer."""
        assert self._process is not None
        assert self._process.stdout is not None
        until, source, parts = time.monotonic() + seconds, self._process.stdout.fileno(), [self._rest]
        while b"\n" not in parts[-1]:
            ready, _, _ = select.select([source], [], [], max(until - time.monotonic(), 0.0))
            part = os.read(source, 1 << 16) if ready else b""
            if not part or time.monotonic() >= until:  # what came too late is refused, however late it is read
                return None
            parts.append(part)
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line


class _Turn:
    """The requests of one person that are read or wait for it."""

    def __init__(self) -> None:
        self.lock, self.count = threading.Lock(), 0


class LimitedSteps:
    """Some processes that take steps, of which each person occupies one at most.

    Parameters
    ----------
    megabytes : int
        The memory that a step may take.
    """

    def __init__(self, megabytes: int) -> None:
        self._megabytes, self._lock, self._turns = megabytes, threading.Lock(), dict[str, _Turn]()
        self._idle: queue.LifoQueue[_Process] = queue.LifoQueue()
        for _ in range(PROCESSES):
            self._idle.put(_Process(megabytes))

    def start(self) -> None:
        """Start one process, so that the first request need not wait for it."""
        with self._process(0.0) as process:
            process.start()

    def take(self, step: str, *, seconds: float, **given: Any) -> Any:
        """Take a step, and return what came of it; refuse what needs more than the limits."""
        with self._process(PATIENCE) as process:
            found = process.take(step, given, seconds)
        if "too_large" in found:
            raise RefusedError(
                f"This needs more than {seconds:g} seconds or {self._megabytes} MB before any row is read, and is not "
                "made. Ask for fewer terms, levels or models at a time."
            )
        if "refused" in found:
            raise RefusedError(*found["refused"])
        if "broken" in found:
            raise BrokenStepError(f"An internal error of kind {found['broken']}, before any row was read.")
        return found["done"]

    @contextlib.contextmanager
    def turn(self, person: str) -> Iterator[None]:
        """Wait for one's turn: each person has one request read at a time, and a few that wait."""
        with self._lock:
            own = self._turns.setdefault(person, _Turn())
            if own.count >= MOST_AT_ONCE:
                raise BusyError(f"You have {MOST_AT_ONCE} requests that are being read. Send the next one after them.")
            own.count += 1
        try:
            with own.lock:
                yield
        finally:
            with self._lock:
                own.count -= 1
                if not own.count:
                    del self._turns[person]

    @contextlib.contextmanager
    def _process(self, patience: float) -> Iterator[_Process]:
        try:
            process = self._idle.get(timeout=patience) if patience else self._idle.get_nowait()
        except queue.Empty:
            raise BusyError(NO_ROOM) from None
        try:
            yield process
        finally:
            self._idle.put(process)


@cache
def limited_steps(megabytes: int) -> LimitedSteps:
    """Return the processes of this program that have a limit of memory."""
    return LimitedSteps(megabytes)


def _documents(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for value in given.values():
        if isinstance(value, SentText):
            yield value.mark, value
        elif isinstance(value, dict):
            yield from _documents(value)


def _marked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Put digests in the places of documents."""
    return {
        name: value.mark if isinstance(value, SentText) else _marked(value) if isinstance(value, dict) else value
        for name, value in given.items()
    }
