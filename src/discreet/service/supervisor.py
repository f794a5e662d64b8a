"""Supervision of workers: starts them, replaces those that die, and settles the jobs that they left."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import time

from discreet.service.core import Service
from discreet.service.jobs import LEASE
from discreet.service.limited import yield_to_pages
from discreet.service.rates import forget
from discreet.service.telemetry import log, log_error

LOOK = 0.25
"""Seconds between two checks of the workers."""

HOUR = 3600.0

PATIENCE = 5.0
"""Seconds before a worker that died at once is replaced."""


class Supervisor:
    """The workers of a service.

    Parameters
    ----------
    service : Service
        The service that they work for.
    config : str
        Its configuration file, which each worker reads for itself.
    """

    def __init__(self, service: Service, config: str) -> None:
        self._service, self._config = service, config
        self._workers: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
        self._stopped, self._thread = threading.Event(), threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Start the workers and the thread that supervises them."""
        for _ in range(self._service.settings.service.workers):
            self._hire()
        self._thread.start()

    def alive(self) -> int:
        """Return the number of workers that run."""
        return sum(process.poll() is None for process, _ in list(self._workers.values()))

    def stop(self, wait: float = 5.0) -> None:
        """Let workers finish their jobs; those that take longer end later, by themselves."""
        self._stopped.set()
        self._thread.join()
        for process, _ in self._workers.values():
            process.terminate()
        until = time.monotonic() + wait
        for process, _ in self._workers.values():
            try:
                process.wait(max(until - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                continue

    def _hire(self) -> None:
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        command = [sys.executable, "-m", "discreet.service.worker", self._config, name, str(os.getpid())]
        own = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=own)
        yield_to_pages(process.pid)
        self._workers[name] = process, time.monotonic()

    def _watch(self) -> None:
        beats = {"settle": 0.0, "tick": 0.0, "tidy": 0.0}
        step = self._service.settings.service.step
        while not self._stopped.wait(LOOK):
            now = time.time()
            try:
                self._bury()
                if now >= beats["settle"]:
                    self._settle()
                    beats["settle"] = now + LEASE / 12
                if now >= beats["tick"]:
                    self._service.balances.tick()
                    beats["tick"] = (now // step + 1) * step
                if now >= beats["tidy"]:
                    self._tidy(now)
                    beats["tidy"] = now + HOUR
            except Exception as error:
                log_error("supervisor", error)
                self._stopped.wait(1.0)  # the database may come back

    def _tidy(self, now: float) -> None:
        """Delete what is kept no longer, and read the whole ledger, which finds damage."""
        self._service.balances.tick(whole=True)
        forget(self._service.store)
        if (days := self._service.settings.service.keep_days) is not None:
            self._service.jobs.forget(now - days * 24 * HOUR)

    def _bury(self) -> None:
        for name, (process, since) in list(self._workers.items()):
            if process.poll() is None:
                continue
            self._settle(name)
            log("worker ended", worker=name, code=process.returncode)
            if time.monotonic() - since < PATIENCE:
                continue  # it will be looked at again, and replaced then
            del self._workers[name]
            self._hire()

    def _settle(self, dead: str | None = None) -> None:
        for job in self._service.jobs.orphans(dead):
            self._service.work.settle(job)
