"""A whole sign-in against a provider that others wrote, on loopback: discovery, consent, code, keys, claims."""

import re
from urllib.parse import urljoin

import httpx2
import pytest
from conftest import Town, set_up

from discreet.errors import ParameterError
from discreet.service.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the provider

OIDC = """
[oidc]
issuer = "{issuer}"
client_id = "discreet"
client_secret = "a secret"
analysts = ["*@agency.example"]
custodians = ["chief@agency.example"]
"""


def configured(folder, issuer):
    config = set_up(folder, more='public = "http://localhost"')
    config.write_text(config.read_text() + OIDC.format(issuer=issuer))
    return config


@pytest.fixture(scope="module")
def provider():
    """Authlib's authorisation server, as the package oidc-provider-mock runs it."""
    mock = pytest.importorskip("oidc_provider_mock", reason="pip install oidc-provider-mock")
    with mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(scope="module")
def town(tmp_path_factory, provider):
    return Town(configured(tmp_path_factory.mktemp("oidc"), provider))


def signed_in(town, provider, name, **claims):
    """A browser that was sent to the provider, said who it is there, and came back."""
    answer = httpx2.put(f"{provider}/users/{name}", json=claims)
    assert answer.is_success, answer.text
    browser = town.browser()
    away = browser.get("/oidc/start").headers["location"]
    assert away.startswith(f"{provider}/")
    consent = httpx2.get(away)
    assert re.search(r"<form", consent.text)
    back = httpx2.post(urljoin(provider, away), data={"sub": name}).headers["location"]
    browser.last = browser.get(back)
    return browser


@pytest.mark.more
def test_a_verified_address_that_is_listed_gets_in(town, provider):
    browser = signed_in(town, provider, "ann", email="Ann@agency.example", email_verified=True)
    assert browser.last.headers["location"] == "/"
    assert "ann@agency.example" in browser.get("/").text
    assert browser.get("/custody").status_code == 403
    chief = signed_in(town, provider, "chief", email="chief@agency.example", email_verified=True)
    assert chief.get("/custody").status_code == 200


@pytest.mark.more
@pytest.mark.parametrize("verified", ["missing", None, 0, "false", "true", 1, False])
def test_an_address_that_is_not_verified_does_not(town, provider, verified):
    """0.2.0 refused False alone."""
    told = {} if verified == "missing" else {"email_verified": verified}
    browser = signed_in(town, provider, "eve", email="eve@agency.example", **told)
    assert browser.last.status_code == 422
    assert browser.get("/").headers["location"] == "/sign-in"


@pytest.mark.more
def test_who_is_not_listed_does_not(town, provider):
    browser = signed_in(town, provider, "mal", email="mal@elsewhere.example", email_verified=True)
    assert browser.last.status_code == 422


@pytest.mark.parametrize(
    "issuer",
    ["http://login.agency.example", "http://127.0.0.1.evil.example", "ftp://localhost", "login.agency.example", ""],
)
def test_an_issuer_that_others_can_forge_is_refused(tmp_path, issuer):
    """0.2.0 took any."""
    with pytest.raises(ParameterError, match="https://"):
        Settings.from_file(configured(tmp_path, issuer))


@pytest.mark.parametrize("issuer", ["https://login.agency.example/tenant", "http://127.0.0.1:8080", "http://[::1]:1"])
def test_https_and_loopback_are_taken(tmp_path, issuer):
    assert Settings.from_file(configured(tmp_path, issuer)).oidc.issuer == issuer
