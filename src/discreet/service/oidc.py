"""Sign-in with an identity provider (OpenID Connect): authorisation code, PKCE, state and nonce.

Authlib implements the protocol. The provider authenticates people; the settings authorise them.
"""

from __future__ import annotations

import re
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from starlette.middleware.sessions import SessionMiddleware

from discreet.errors import ParameterError
from discreet.service.auth import own_address, service_of, set_session
from discreet.service.core import Service
from discreet.service.people import Role, server_secret
from discreet.service.settings import Oidc, secret

MINUTES = 10
"""Minutes that a sign-in may take."""


def role_of(settings: Oidc, claims: dict[str, Any]) -> tuple[str, Role]:
    """Return somebody's name and role from the provider's claims; refuse people who are not listed.

    Examples
    --------
    >>> settings = Oidc(issuer="https://i", client_id="c", client_secret="s", analysts=("*@agency.example",))
    >>> role_of(settings, {"email": "Ann@Agency.example", "email_verified": True})
    ('ann@agency.example', 'analyst')
    """
    name = claims.get(settings.claim)
    if not isinstance(name, str) or not name:
        raise ParameterError(f"The provider does not say who you are: its token has no text {settings.claim!r}.")
    by_address = settings.claim == "email"
    if by_address:
        name = _address(name, claims)
    for role, listed in (("custodian", settings.custodians), ("analyst", settings.analysts)):
        known = [one.lower() if by_address else one for one in listed]
        domains = [one[1:] for one in known if one.startswith("*@")]
        if name in known or any(name.endswith(domain) for domain in domains):
            return name, cast(Role, role)
    raise ParameterError("You are known to the provider, and not to this service. Ask its custodian.")


def _address(given: str, claims: dict[str, Any]) -> str:
    """Return an address that the provider has verified, in lower case; refuse any other."""
    if claims.get("email_verified") is not True:
        raise ParameterError(
            "The provider does not say that it verified this address (email_verified is not true), so it is not taken. "
            "Ask the provider to verify it; or the custodian to choose another claim, such as claim = 'sub'."
        )
    if not _ADDRESS.fullmatch(given):
        raise ParameterError("This address is not taken: it has other characters than plain addresses have.")
    return given.lower()


_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'+/=?^_`{|}~-]+@[A-Za-z0-9.-]+")
"""A plain ASCII address: one name and one domain, without look-alike letters."""


def add(app: FastAPI, service: Service) -> None:
    """Add the two routes of a sign-in, if a provider is configured."""
    settings = service.settings.oidc
    if settings is None:
        return
    from authlib.integrations.starlette_client import OAuth  # only where there is a provider

    issuer, https = settings.issuer.rstrip("/"), service.settings.public_is_https
    expected: dict[str, Any] = {
        "iss": {"essential": True, "values": [issuer, f"{issuer}/"]},
        "aud": {"essential": True, "value": settings.client_id},
        "sub": {"essential": True},
    }
    clients: Any = OAuth()
    clients.register(
        "provider", client_id=settings.client_id, client_secret=secret(settings.client_secret),
        server_metadata_url=f"{issuer}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid email profile", "code_challenge_method": "S256"},
    )  # fmt: skip
    app.add_middleware(
        SessionMiddleware, secret_key=server_secret(service.store), session_cookie="discreet-sign-in",
        max_age=MINUTES * 60, same_site="lax", https_only=https,
    )  # fmt: skip

    async def start(request: Request) -> Response:
        address = f"{own_address(request)}/oidc/callback"
        found: Response = await clients.provider.authorize_redirect(request, address)
        return found

    async def callback(request: Request) -> Response:
        try:
            token = await clients.provider.authorize_access_token(request, claims_options=expected)
        except Exception:  # a code, a state, a nonce or a signature that is not right
            raise ParameterError("The provider did not confirm the sign-in. Try it again.") from None
        own = service_of(request)
        name, role = role_of(settings, dict(token.get("userinfo") or {}))
        name = own.people.known(name, role, any_case=settings.claim == "email")
        request.session.clear()
        response = RedirectResponse("/", 303)
        set_session(request, response, own.people.sign_in(name, None, "provider"))
        return response

    app.add_api_route("/oidc/start", start, methods=["GET"], include_in_schema=False)
    app.add_api_route("/oidc/callback", callback, methods=["GET"], include_in_schema=False)
