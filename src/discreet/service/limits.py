"""Limits on all requests and replies: headers, sizes, hosts and rates."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

LARGEST = 64 * 1024
"""Maximum number of bytes of a request."""

ATTEMPTS = 20
"""Maximum number of wrong keys from one computer in a minute."""

_BOTH = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

CSP = f"{_BOTH}; style-src 'self'; img-src 'self' data:"
"""The policy of pages: one style sheet of their own and no scripts, whatever a column is named."""

REPORT_CSP = f"{_BOTH}; style-src 'unsafe-inline'; img-src data:"
"""The policy of reports: inline styles, and no scripts."""

HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Guard:
    """Add the headers to every reply, and refuse bodies that are too long, declared or not."""

    def __init__(self, app: Any, https: bool) -> None:
        self._app = app
        self._headers = HEADERS | ({"strict-transport-security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                own = [(name.encode(), value.encode()) for name, value in self._headers.items()]
                message["headers"] = [*message["headers"], *(pair for pair in own if pair[0] not in present)]
            await send(message)

        told = dict(scope["headers"]).get(b"content-length", b"0")
        first = None
        if told.isdigit() and int(told) <= LARGEST:
            first = await _body(receive)
        if first is None:
            return await _answer(guarded, 413, b'{"detail":"The request is larger than 64 kB."}')
        given = [first]

        async def replayed() -> Message:
            return given.pop() if given else await receive()

        await self._app(scope, replayed, guarded)


async def _body(receive: Receive) -> Message | None:
    """Read a whole body as one message; None if it is too long."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return None
    return {"type": "http.request", "body": body, "more_body": False}


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Rates:
    """A rate limit for each person: so many events a minute, and as many at once.

    Examples
    --------
    >>> rates = Rates(2)
    >>> [rates.allow("somebody") for _ in range(3)], rates.allow("somebody else")
    ([True, True, False], True)
    """

    def __init__(self, a_minute: int) -> None:
        self._rate, self._most = a_minute / 60, float(a_minute)
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allow(self, who: str) -> bool:
        """Count one more event, and return whether it is within the limit."""
        now = time.monotonic()
        with self._lock:
            left, before = self._left.get(who, (self._most, now))
            left = min(left + (now - before) * self._rate, self._most)
            self._left[who] = (max(left - 1, 0.0) if left >= 1 else left), now
            if len(self._left) > 10_000:
                self._left = {name: one for name, one in self._left.items() if now - one[1] < 60}
        return left >= 1
