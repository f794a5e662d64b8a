"""Limits on all requests and replies: headers, sizes and times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST = 64 * 1024
"""Maximum number of bytes of a request."""

HEADER_SECONDS = 10.0
"""Seconds in which the headers of a request must arrive."""

BODY_SECONDS = 20.0
"""Seconds in which the body of a request must arrive."""

GRACE = 3
"""Seconds that replies under way have when the service is asked to end."""

CONNECTIONS = 500
"""Maximum number of connections at a time."""

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
    """Add the headers to every reply, answer for errors, and refuse bodies that are too long, declared or not."""

    def __init__(self, app: Any, https: bool, broken: Callable[[Request, Exception], Response]) -> None:
        self._app, self._broken = app, broken
        self._headers = HEADERS | ({"strict-transport-security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                present = {name.lower() for name, _ in message["headers"]}
                own = [(name.encode(), value.encode()) for name, value in self._headers.items()]
                message["headers"] = [*message["headers"], *(pair for pair in own if pair[0] not in present)]
            await send(message)

        told = dict(scope["headers"]).get(b"content-length", b"0")
        first = None
        if told.isdigit() and int(told) <= LARGEST:
            try:
                first = await asyncio.wait_for(_body(receive), BODY_SECONDS)
            except TimeoutError:
                return await _answer(guarded, 408, b'{"detail":"The request did not arrive in time."}')
        if first is None:
            return await _answer(guarded, 413, b'{"detail":"The request is larger than 64 kB."}')
        given = [first]

        async def replayed() -> Message:
            return given.pop() if given else await receive()

        try:
            await self._app(scope, replayed, guarded)
        except Exception as error:
            answer = self._broken(Request(scope), error)
            if not begun:
                await answer(scope, receive, guarded)


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
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class PromptProtocol(HttpToolsProtocol):
    """HTTP that hangs up on computers whose headers do not come in time."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._wait()

    def on_headers_complete(self) -> None:
        """Wait no more."""
        self._rest()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Begin to wait for the headers of the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._rest()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._rest()
        self._late = self.loop.call_later(HEADER_SECONDS, self._hang_up)

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()

    def _hang_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
