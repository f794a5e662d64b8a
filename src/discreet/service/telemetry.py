"""Telemetry of a running service, for its operators: a log of JSON lines, request ids, and metrics for Prometheus.

None of it holds data, keys, formulas or results: requests are named by their route, errors by their kind and place.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import secrets
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from discreet import __version__
from discreet.service.limits import Message, Receive, Send

LOGGER = logging.getLogger("discreet.service")

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper ends of the bins of request times, in seconds."""

Sample = tuple[Mapping[str, str], float]


class JsonLines(logging.Formatter):
    """Records as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; the text of an exception, which may quote anything, is left out."""
        told = {
            "at": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        return json.dumps(told | getattr(record, "facts", {}))


def log_to_stderr() -> None:
    """Write the log to standard error, one line of JSON a record."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


def log(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Write one record."""
    LOGGER.log(level, event, extra={"facts": facts})


def log_error(event: str, error: BaseException, **facts: Any) -> None:
    """Write the kind of an error and where it arose, and none of its words."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames[-3:]]
    log(event, logging.ERROR, kind=type(error).__name__, places=places, **facts)


class Metrics:
    """Counts of requests and their times since the process began."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._bins: Counter[float] = Counter()
        self._seconds = 0.0

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._bins[next((end for end in BUCKETS if seconds <= end), float("inf"))] += 1
            self._seconds += seconds

    def text(self) -> str:
        """Return all counts in Prometheus's text format."""
        with self._lock:
            requests, bins, seconds = dict(self._requests), dict(self._bins), self._seconds
        counted = [
            ({"method": method, "route": route, "status": str(status)}, float(count))
            for (method, route, status), count in sorted(requests.items())
        ]
        lines = family("discreet_info", "gauge", "The version.", [({"version": __version__}, 1.0)])
        lines += family("discreet_requests_total", "counter", "Requests that were answered.", counted)
        total, ends = 0, []
        for end in (*BUCKETS, float("inf")):
            total += bins.get(end, 0)
            ends.append(f'discreet_request_seconds_bucket{{le="{"+Inf" if end == float("inf") else end}"}} {total}')
        lines += ["# HELP discreet_request_seconds The time of requests.", "# TYPE discreet_request_seconds histogram"]
        lines += [*ends, f"discreet_request_seconds_sum {seconds:.6f}", f"discreet_request_seconds_count {total}"]
        return "\n".join(lines) + "\n"


def family(name: str, kind: str, words: str, samples: Iterable[Sample]) -> list[str]:
    """Return the lines of one metric.

    Examples
    --------
    >>> family("people", "gauge", "How many.", [({"town": "a"}, 2.0)])
    ['# HELP people How many.', '# TYPE people gauge', 'people{town="a"} 2']
    """
    lines = [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        listed = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{listed}}} {value:g}" if listed else f"{name} {value:g}")
    return lines


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Watch:
    """Gives each request an id, counts it, and logs it once it is answered.

    Parameters
    ----------
    app
        The application.
    metrics : Metrics
        What counts.
    """

    def __init__(self, app: Any, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, id_, told = time.perf_counter(), secrets.token_hex(8), {"status": 500}

        async def seen(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id_.encode())]
            await send(message)

        scope.setdefault("state", {})["request"] = id_
        await self._app(scope, receive, seen)
        seconds = time.perf_counter() - begun
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.observe(scope["method"], route, told["status"], seconds)
        who, computer = scope["state"].get("who"), (scope.get("client") or ("unknown",))[0]
        log(
            "request", request=id_, who=who, computer=computer, method=scope["method"], route=route,
            status=told["status"], ms=round(1000 * seconds, 1),
        )  # fmt: skip
