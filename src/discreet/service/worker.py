"""A worker: a process that runs one job after another. It is started by the service, and ends with it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from discreet.errors import DiscreetError
from discreet.service.core import Service
from discreet.service.jobs import LEASE
from discreet.service.telemetry import log_error, log_to_stderr

PAUSE = 0.1
"""Seconds between two polls of an empty queue."""


def work(config: str, name: str, parent: int) -> None:
    """Run jobs until the service ends; the current one is finished."""
    service = Service.open(config)
    if service.settings.service.log:
        log_to_stderr()
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_live, args=(service, name), daemon=True).start()
    while not stopped.is_set() and os.getppid() == parent:
        job = service.jobs.claim(name)
        if job is None:
            stopped.wait(PAUSE)
        else:
            stopped.wait(service.work.do(job))


def _live(service: Service, name: str) -> None:
    while True:
        time.sleep(LEASE / 12)
        try:
            service.jobs.live(name)
        except Exception as error:  # the database may come back before the lease is over
            log_error("worker", error, worker=name)


def main() -> None:
    """Run as ``python -m discreet.service.worker CONFIG NAME PARENT``."""
    try:
        work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except DiscreetError as error:
        sys.exit("\n".join(error.args))


if __name__ == "__main__":
    main()
