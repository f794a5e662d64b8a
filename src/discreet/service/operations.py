"""Pages for programs that watch the service: whether it lives, whether it is ready, and its metrics."""

from __future__ import annotations

import hmac
import threading
import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from sqlalchemy import text

from discreet.service.auth import NotAllowedError, Open
from discreet.service.core import NotFoundError, Service
from discreet.service.settings import secret
from discreet.service.telemetry import Metrics, Sample, family

FRESH = 1.0
"""Seconds for which an answer about readiness holds."""

PATHS = HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"
"""The pages."""

operations = APIRouter()


class Readiness:
    """Whether the database, the ledger and the workers are there; looked at once a second at most."""

    def __init__(self, service: Service) -> None:
        self._service, self._lock = service, threading.Lock()
        self._until, self._found = 0.0, dict[str, bool]()
        self.supervisor: Any = None

    def parts(self) -> dict[str, bool]:
        """Return what is ready."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._found = {"database": self._database(), "ledger": self._ledger(), "workers": self._workers()}
                self._until = time.monotonic() + FRESH
            return self._found

    def _database(self) -> bool:
        try:
            with self._service.store.reading() as connection:
                connection.execute(text("SELECT 1"))
        except Exception:
            return False
        return True

    def _ledger(self) -> bool:
        try:
            self._service.witness.compare()
        except Exception:
            return False
        return True

    def _workers(self) -> bool:
        return self.supervisor is None or self.supervisor.alive() > 0 or not self._service.settings.service.workers


@operations.get(HEALTH)
async def health() -> Response:
    """Answer as long as the process lives."""
    return PlainTextResponse("ok\n")


@operations.get(READY)
def ready(request: Request) -> Response:
    """Tell whether requests can be answered, and nothing else."""
    found = all(request.app.state.readiness.parts().values())
    return PlainTextResponse("ready\n" if found else "not ready\n", 200 if found else 503)


@operations.get(METRICS)
def metrics(request: Request, service: Open) -> Response:
    """Return metrics to who has the token of the settings: they tell times that analysts are not to see."""
    token = service.settings.service.metrics_token
    if token is None:
        raise NotFoundError("There is no such page.")
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), secret(token).encode()):
        raise NotAllowedError("key")
    counted: Metrics = request.app.state.metrics
    told = counted.text() + "\n".join(_states(service, request.app.state.readiness)) + "\n"
    return PlainTextResponse(told, media_type="text/plain; version=0.0.4; charset=utf-8")


def _states(service: Service, readiness: Readiness) -> list[str]:
    """Return the metrics of the queue, the tables, the budgets and what the service stands on."""
    waits, states = service.jobs.oldest_queued(), service.catalogue.states()
    jobs: list[Sample] = [({"state": state}, count) for state, count in service.jobs.counts().items()]
    tables: list[Sample] = [({"table": name}, float(one["state"] == "open")) for name, one in states.items()]
    parts: list[Sample] = [({"part": name}, float(found)) for name, found in readiness.parts().items()]
    budgets: list[Sample] = []
    for account in dict.fromkeys(table.account for table in service.settings.tables.values()):
        told = service.balances.told(account)
        budgets += [({"account": account, "part": pot["name"]}, pot["share"]) for pot in told["pots"]]
    return [
        *family("discreet_ready", "gauge", "1 if this part works.", parts),
        *family("discreet_jobs", "gauge", "Requests by state.", jobs),
        *family("discreet_oldest_queued_seconds", "gauge", "How long the first in the queue waits.", [({}, waits)]),
        *family("discreet_table_open", "gauge", "1 if the table takes requests.", tables),
        *family("discreet_budget_spent_share", "gauge", "The share of a budget that is spent.", budgets),
    ]
