"""The web application: pages, the JSON API, and the checks that both share."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import Receive, Scope, Send

from discreet import __version__
from discreet.errors import BudgetError, DiscreetError
from discreet.service import oidc, pages
from discreet.service.api import api
from discreet.service.auth import NotAllowedError, SignInError, TooOftenError
from discreet.service.core import NotFoundError, OverBudgetError, Service
from discreet.service.custody import custody
from discreet.service.jobs import NEUTRAL, ConflictError
from discreet.service.limited import BrokenStepError, BusyError
from discreet.service.limits import ATTEMPTS, Guard
from discreet.service.operations import PATHS, Readiness, operations
from discreet.service.rates import Rates
from discreet.service.settings import LOCAL
from discreet.service.supervisor import Supervisor
from discreet.service.telemetry import Metrics, Watch, log_error

STATUS: dict[type[Exception], int] = {
    NotFoundError: 404,
    OverBudgetError: 409,
    ConflictError: 409,
    BusyError: 429,
}
"""The HTTP status of each of our errors; all others are errors in the request itself (422)."""

NOT_ALLOWED = {
    "key": (401, "This key is not known, or was revoked."),
    "role": (403, "This is for custodians."),
    "form": (403, "This form is out of date. Go back, load the page again, and send it once more."),
    "origin": (403, "This form came from another site."),
}


def build(service: Service, config: str | None = None) -> FastAPI:
    """Build the application of a service; with a configuration, it runs its own workers."""

    @contextlib.asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        supervisor = Supervisor(service, config) if config is not None else None
        if supervisor is not None:
            app.state.readiness.supervisor = supervisor
            supervisor.start()
            service.steps.start()
        yield
        if supervisor is not None:
            supervisor.stop()
        service.store.close()

    app = FastAPI(
        title="discreet", version=__version__, openapi_url="/v1/openapi.json", docs_url=None, redoc_url=None,
        lifespan=living, description="Private regression for analysts who may not see the data.",
    )  # fmt: skip
    app.state.service = service
    app.state.rates = Rates(service.store, "requests", service.settings.service.requests_a_minute)
    app.state.attempts = Rates(service.store, "attempts", ATTEMPTS)
    app.state.metrics, app.state.readiness = Metrics(), Readiness(service)
    app.include_router(operations, include_in_schema=False)
    app.include_router(api)
    app.include_router(pages.pages, include_in_schema=False)
    app.include_router(custody, include_in_schema=False)
    oidc.add(app, service)
    _handle(app)
    app.add_middleware(OwnNames, allowed_hosts=_hosts(service))
    app.add_middleware(Guard, https=service.settings.public_is_https, broken=_broken)
    app.add_middleware(Watch, metrics=app.state.metrics)
    return app


class OwnNames(TrustedHostMiddleware):
    """Answer to the service's own names only, except on pages of operation, which programs ask by any name.

    A container or a cluster has names and addresses that no settings know. These pages take no cookie, and show nothing
    but whether the service works to who has no token.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["path"] in PATHS:
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def _hosts(service: Service) -> list[str]:
    """The host names that the service answers to, which prevents DNS rebinding by other sites."""
    public = urlsplit(service.settings.service.public or "").hostname
    return [*LOCAL, *([public] if public else [])]


def _handle(app: FastAPI) -> None:
    """Turn errors into replies, which quote no data."""

    def ours(request: Request, error: Exception) -> Response:
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
        if isinstance(error, (BudgetError, BrokenStepError)):
            return _told(request, 503, NEUTRAL)
        return _told(request, status, str(error))

    def unseen(request: Request, error: Exception) -> Response:
        return RedirectResponse("/sign-in", 303)

    def refused(request: Request, error: Exception) -> Response:
        return _told(request, *NOT_ALLOWED[str(error)])

    def often(request: Request, error: Exception) -> Response:
        return _told(request, 429, "That is more than is answered in a minute. Wait a little.")

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        lines = [f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors()]
        return _told(request, 422, "\n".join(lines))

    def plain(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        words = "There is no such page." if error.status_code == 404 else str(error.detail)
        return _told(request, error.status_code, words)

    handlers: dict[Any, Any] = {
        DiscreetError: ours, SignInError: unseen, NotAllowedError: refused, TooOftenError: often,
        RequestValidationError: invalid, HTTPException: plain,
    }  # fmt: skip
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _broken(request: Request, error: Exception) -> Response:
    """Answer for an error that nobody expected, which is logged without its words."""
    log_error("error", error, request=request.state.request)
    return _told(request, 500, NEUTRAL)


def _told(request: Request, status: int, words: str) -> Response:
    if request.url.path.startswith("/v1/"):
        return JSONResponse({"detail": words}, status)
    return pages.error_page(request, status, words)
