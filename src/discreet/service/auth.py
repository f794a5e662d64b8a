"""Authentication: keys for programs, sessions for browsers. Neither is accepted in place of the other."""

from __future__ import annotations

import hmac
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from starlette.responses import Response

from discreet.service.core import Service
from discreet.service.people import HOURS, Person
from discreet.service.rates import Rates


class SignInError(Exception):
    """Nobody is signed in."""


class NotAllowedError(Exception):
    """An action that the person is not allowed, or a form that the service did not make."""


class TooOftenError(Exception):
    """More requests in a minute than the limit allows."""


def service_of(request: Request) -> Service:
    """Return the service of the application."""
    service: Service = request.app.state.service
    return service


async def opened(request: Request) -> Service:
    """Return the service, as a FastAPI dependency; async, so that it needs no thread."""
    return service_of(request)


def by_key(request: Request) -> Person:
    """Return the owner of the key that a program sent in the header ``Authorization: Bearer KEY``."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    found = service_of(request).people.of_key(key.strip()) if kind.lower() == "bearer" else None
    if found is None:
        count(request.app.state.attempts, computer(request))
        raise NotAllowedError("key")
    request.state.who = found[0].name
    count(request.app.state.rates, found[0].name)
    return found[0]


def by_session(request: Request) -> Person:
    """Return who is signed in with this browser."""
    person = peek(request)
    if person is None:
        raise SignInError
    request.state.who = person.name
    count(request.app.state.rates, person.name)
    return person


def peek(request: Request) -> Person | None:
    """Return who is signed in, or None."""
    token = request.cookies.get(cookie_name(request))
    return service_of(request).people.of_session(token) if token else None


async def by_form(request: Request, person: Annotated[Person, Depends(by_session)]) -> Person:
    """Return who sent a form, after checking that the service made it."""
    form = await request.form()
    refuse_foreign(request)
    if not hmac.compare_digest(str(form.get("form", "")).encode(), person.form.encode()):
        raise NotAllowedError("form")
    return person


async def custodian_by_key(person: Annotated[Person, Depends(by_key)]) -> Person:
    """Return the custodian whose program sent this request; refuse others."""
    return _custodian(person)


async def custodian_by_session(person: Annotated[Person, Depends(by_session)]) -> Person:
    """Return the custodian who is signed in with this browser; refuse others."""
    return _custodian(person)


async def custodian_by_form(person: Annotated[Person, Depends(by_form)]) -> Person:
    """Return the custodian who sent a form; refuse others."""
    return _custodian(person)


def _custodian(person: Person) -> Person:
    if not person.is_custodian:
        raise NotAllowedError("role")
    return person


def refuse_foreign(request: Request) -> None:
    """Refuse a form that another site made the browser send (CSRF)."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
    own = urlsplit(own_address(request)).netloc
    if (origin is not None and urlsplit(origin).netloc != own) or site not in ("same-origin", "none"):
        raise NotAllowedError("origin")


def own_address(request: Request) -> str:
    """Return the address at which people reach the service."""
    public = service_of(request).settings.service.public
    return (public or f"{request.url.scheme}://{request.headers.get('host', '')}").rstrip("/")


def cookie_name(request: Request) -> str:
    """Return the name of the session cookie; with TLS its prefix makes browsers insist on TLS."""
    return "__Host-discreet" if service_of(request).settings.public_is_https else "discreet"


def set_session(request: Request, response: Response, token: str) -> None:
    """Set the session cookie, which scripts cannot read."""
    secure = service_of(request).settings.public_is_https
    options: dict[str, Any] = {"httponly": True, "secure": secure, "samesite": "lax", "path": "/"}
    response.set_cookie(cookie_name(request), token, max_age=HOURS * 3600, **options)


def computer(request: Request) -> str:
    """Return the address of the client computer."""
    return request.client.host if request.client else "unknown"


def count(rates: Rates, who: str) -> None:
    """Count a request, and refuse it above the rate limit."""
    if not rates.allow(who):
        raise TooOftenError


Analyst = Annotated[Person, Depends(by_key)]
Custodian = Annotated[Person, Depends(custodian_by_key)]
Reader = Annotated[Person, Depends(by_session)]
Sender = Annotated[Person, Depends(by_form)]
CustodyReader = Annotated[Person, Depends(custodian_by_session)]
CustodySender = Annotated[Person, Depends(custodian_by_form)]
Open = Annotated[Service, Depends(opened)]
