"""Signing in with a provider of identities: who is listed gets in, and nobody by a token that is not right."""

import time
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from conftest import Town, set_up
from joserfc.jwk import RSAKey
from provider import CLIENT, SECRET, Provider

from discreet.errors import ParameterError

pytestmark = pytest.mark.more

OIDC = """
[oidc]
issuer = "{issuer}"
client_id = "{client}"
client_secret = "$OIDC_SECRET"
name = "the agency"
analysts = ["*@agency.example"]
custodians = ["chief@agency.example"]
"""


@pytest.fixture(scope="module")
def provider():
    found = Provider()
    yield found
    found.server.shutdown()


@pytest.fixture(scope="module")
def town(tmp_path_factory, provider):
    config = set_up(tmp_path_factory.mktemp("oidc"), more='public = "http://localhost"')
    config.write_text(config.read_text() + OIDC.format(issuer=provider.issuer, client=CLIENT))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OIDC_SECRET", SECRET)
        yield Town(config)


def signed_in(town, provider, change=None, **claims):
    """A browser that went to the provider and came back; `change` may do something to the way back."""
    provider.claims = {"email": "ann@agency.example", "email_verified": True} | claims
    browser = town.browser()
    away = browser.get("/oidc/start").headers["location"]
    assert away.startswith(provider.issuer)
    assert SECRET not in away
    back = httpx2.get(away).headers["location"]
    browser.last = browser.get(change(back) if change else back)
    return browser


def test_the_page_offers_it(town):
    assert "sign in with the agency" in town.browser().get("/sign-in").text


def test_who_is_listed_gets_in_as_what_the_settings_say(town, provider):
    browser = signed_in(town, provider)
    assert browser.last.headers["location"] == "/"
    assert "ann@agency.example" in browser.get("/").text
    assert browser.get("/custody").status_code == 403
    chief = signed_in(town, provider, email="chief@agency.example")
    assert chief.get("/custody").status_code == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "eve@elsewhere.example"},
        {"email": "eve@agency.example.evil"},
        {"email": "eve@notagency.example"},
        {"email": None},
        {"email_verified": False},
        {"aud": "another client"},
        {"iss": "https://another.example"},
        {"nonce": "another nonce"},
        {"exp": int(time.time()) - 3600},
    ],
)
def test_others_and_bad_tokens_do_not(town, provider, claims):
    browser = signed_in(town, provider, **claims)
    assert browser.last.status_code == 422
    assert browser.get("/").headers["location"] == "/sign-in"


def test_a_token_that_another_key_signed_is_refused(town, provider):
    real = provider.key
    provider.key = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
    try:
        browser = signed_in(town, provider)
    finally:
        provider.key = real
    assert browser.get("/").status_code == 303


def test_a_way_back_that_was_not_begun_here_is_refused(town, provider):
    """Another state, none, or somebody else's browser: a sign-in cannot be planted."""
    forged = signed_in(town, provider, change=lambda back: back.replace("state=", "state=x"))
    assert forged.get("/").status_code == 303
    seen = []
    signed_in(town, provider, change=lambda back: seen.append(back) or "/")
    assert parse_qs(urlsplit(seen[0]).query)["code"]
    victim = town.browser()
    assert victim.get(seen[0]).status_code == 422
    assert victim.get("/").status_code == 303


def test_who_was_revoked_here_stays_out(town, provider):
    browser = signed_in(town, provider, email="gone@agency.example")
    assert browser.get("/").status_code == 200
    assert town("carl", "DELETE", "/custody/people/gone@agency.example").status_code == 200
    assert browser.get("/").status_code == 303
    assert signed_in(town, provider, email="gone@agency.example").get("/").status_code == 303


def test_a_provider_needs_the_address_that_it_sends_people_to(tmp_path, provider):
    config = set_up(tmp_path)
    config.write_text(
        config.read_text() + f'\n[oidc]\nissuer = "{provider.issuer}"\nclient_id = "x"\nclient_secret = "y"\n'
    )
    with pytest.raises(ParameterError, match="public"):
        Town(config)
