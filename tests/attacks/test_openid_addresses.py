"""An address that the provider never verified (email_verified missing, null, 0, "false") opened the service in 0.2.0.

Only `email_verified: true`, a boolean, is a verified address. Addresses are plain ones in one spelling, so that nobody
gets a second account, or comes back after being revoked, by another case of a letter or by one that looks alike. Tokens
must be from the configured issuer and for this client.
"""

import time

import pytest

pytest.importorskip("fastapi", reason="the service is not installed: pip install 'discreet[service]'")
pytest.importorskip("joserfc", reason="the service is not installed: pip install 'discreet[service]'")

import httpx2
from service.conftest import Town, set_up
from service.provider import CLIENT, SECRET, Provider

OIDC = """
[oidc]
issuer = "{issuer}"
client_id = "{client}"
client_secret = "$OIDC_SECRET"
claim = "{claim}"
analysts = ["*@agency.example", "Bea@Agency.Example", "u-17"]
custodians = ["chief@agency.example"]
"""
CHIEF = "chief@agency.example"
MISSING = object()


@pytest.fixture(scope="module")
def provider():
    found = Provider()
    yield found
    found.server.shutdown()


@pytest.fixture(scope="module")
def towns(tmp_path_factory, provider):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OIDC_SECRET", SECRET)
        found = {}
        for claim in ("email", "sub"):
            config = set_up(tmp_path_factory.mktemp(claim), more='public = "http://localhost"')
            lines = OIDC.format(issuer=provider.issuer, client=CLIENT, claim=claim)
            config.write_text(config.read_text() + lines, encoding="utf-8")
            found[claim] = Town(config)
        yield found


@pytest.fixture
def sign_in(towns, provider):
    """Go to the provider with some claims, and come back."""

    def go(claim="email", **claims):
        given = {"email": CHIEF, "email_verified": True} | claims
        provider.claims = {name: value for name, value in given.items() if value is not MISSING}
        browser = towns[claim].browser()
        back = httpx2.get(browser.get("/oidc/start").headers["location"]).headers["location"]
        browser.last = browser.get(back)
        return browser

    return go


def is_in(browser):
    return browser.get("/").status_code == 200


def test_a_verified_address_gets_in(sign_in):
    browser = sign_in()
    assert is_in(browser)
    assert browser.get("/custody").status_code == 200


@pytest.mark.parametrize(
    "verified", [MISSING, None, 0, 1, "false", "true", "True", "", [], [True], {}, {"a": 1}, False]
)
def test_an_address_that_is_not_verified_does_not(sign_in, verified):
    browser = sign_in(email_verified=verified)
    assert not is_in(browser)
    assert browser.last.status_code == 422
    assert "verified" in browser.last.text
    assert CHIEF not in browser.last.text


@pytest.mark.parametrize(
    "address",
    [
        "eve@evil.example@agency.example", '"eve@evil.example"@agency.example', "eve @agency.example",
        "eve@agency.example\n", "@agency.example", "*@agency.example", "аnn@agency.example", "ann\u200b@agency.example",
        "ann@ａgency.example", "ann@agency.example.", ["chief@agency.example"], {"a": CHIEF}, 17, True, "", None,
    ],
)  # fmt: skip
def test_addresses_that_are_not_plain_ones_do_not(sign_in, address):
    assert not is_in(sign_in(email=address))


def test_one_address_is_one_person_in_every_case_of_its_letters(towns, sign_in):
    assert sign_in(email="Ann@Agency.EXAMPLE").get("/").status_code == 200
    assert sign_in(email="BEA@agency.example").get("/").status_code == 200
    town = towns["email"]
    assert town("carl", "DELETE", "/custody/people/ann@agency.example").status_code == 200
    for spelled in ("ann@agency.example", "Ann@Agency.EXAMPLE", "ANN@AGENCY.EXAMPLE"):
        assert not is_in(sign_in(email=spelled))


def test_who_was_revoked_in_another_case_stays_out_and_others_keep_their_name(towns, sign_in):
    """As 0.2.0 wrote them down: in the case in which the provider told them."""
    people = towns["email"].service.people
    people.known("Gone@Agency.example", "analyst")
    people.revoke_person("Gone@Agency.example", "test")
    assert not is_in(sign_in(email="gone@agency.example"))
    people.known("Dora@Agency.example", "analyst")
    assert "Dora@Agency.example" in sign_in(email="dora@agency.example").get("/").text


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://another.example"}, {"iss": None}, {"iss": ""}, {"aud": "another client"}, {"aud": []},
        {"aud": "another client", "azp": CLIENT}, {"aud": [CLIENT, "another client"]}, {"aud": [CLIENT], "azp": "x"},
        {"nonce": "another"}, {"nonce": None}, {"nonce": ""}, {"exp": int(time.time()) - 3600}, {"exp": None},
        {"exp": "never"}, {"iat": int(time.time()) + 3600}, {"sub": None}, {"sub": ""},
    ],
)  # fmt: skip
def test_tokens_that_are_not_for_this_sign_in_do_not(sign_in, claims):
    browser = sign_in(**claims)
    assert not is_in(browser)
    assert browser.last.status_code == 422


def test_another_claim_is_compared_as_it_is(sign_in):
    assert is_in(sign_in("sub", sub="u-17", email_verified=False))
    for other in ("U-17", "u-1", 17, ["u-17"], CHIEF.upper()):
        assert not is_in(sign_in("sub", sub=other))


def test_the_same_address_under_another_subject_is_the_same_person(towns, sign_in):
    """The account is what was verified: the address."""
    for subject in ("1", "2"):
        assert is_in(sign_in(email="emma@agency.example", sub=subject))
    with towns["email"].service.store.reading() as connection:
        from discreet.service.storage import people

        names = [row.name for row in connection.execute(people.select())]
    assert names.count("emma@agency.example") == 1
