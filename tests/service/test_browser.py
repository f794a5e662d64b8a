"""The whole way in a real browser: sign in, build, plan, spend, read the report; the custodian's side; refusals."""

import re
import shutil

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.more,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium"),
]
WAIT = 180_000
UNNAMED = "e => !e.labels.length && !e.ariaLabel"
FIELDS = "input:not([type=hidden]), select, textarea"


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Window:
    """A browser's window, signed in with a key, that notes what goes wrong in it."""

    def __init__(self, chromium, address, key, width=1000):
        self.address, self.page = address, chromium.new_context(viewport={"width": width, "height": 800}).new_page()
        self.wrong = []
        self.page.set_default_timeout(WAIT)
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.goto(address)
        self.page.get_by_label("Your key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("heading", name="Tables").wait_for()

    def go(self, path):
        """Open a page; one that looks again by itself may be faster, and is left then."""
        for _ in range(20):
            try:
                self.page.goto(path if path.startswith("http") else self.address + path)
            except playwright.Error as error:
                if "ERR_ABORTED" not in str(error) and "interrupted" not in str(error):
                    raise
            else:
                break
        return self.page

    def press(self, name):
        self.page.get_by_role("button", name=name).click()

    def violations(self):
        """What the content security policy kept from happening: our own pages need nothing of it."""
        return [text for text in self.wrong if "Content Security Policy" in text or "Refused" in text]


@pytest.fixture(scope="module")
def analyst(chromium, running):
    return Window(chromium, running.address, running.key("anna"))


@pytest.fixture(scope="module")
def custodian(chromium, running):
    return Window(chromium, running.address, running.key("kurt", "custodian"))


def test_from_sign_in_to_the_report_by_clicks(analyst):
    page = analyst.page
    page.get_by_role("link", name="people", exact=True).click()
    assert page.get_by_role("cell", name="(18, 90) year").is_visible()
    page.get_by_role("link", name="Build a model").click()
    page.get_by_label("Explain").select_option("income")
    page.get_by_label("age").check()
    page.get_by_label("sex").check()
    page.get_by_label("epsilon").fill("0.6")
    analyst.press("See the price and the plan")
    page.get_by_role("heading", name="How good it will be").wait_for()
    assert "epsilon 0.6, delta 1e-07" in page.inner_text("main")
    page.get_by_label("What it is for").fill("to see whether it works")
    analyst.press("Spend, and fit it")
    page.get_by_role("heading", name="The certificate").wait_for()
    text = page.inner_text("main")
    assert "income ~ age + sex" in text
    assert "verified: proven" in text
    with page.expect_download() as download:
        page.get_by_role("link", name="release.json").click()
    assert download.value.suggested_filename == "people.release.json"
    analyst.go("/jobs")
    assert page.get_by_role("link", name="Model: income ~ age + sex").first.is_visible()
    assert not analyst.violations()


def test_a_wrong_formula_is_marked_and_can_be_mended(analyst):
    page = analyst.go("/tables/people/model")
    page.get_by_label("Formula").fill("income ~ agee + sex")
    analyst.press("See the price and the plan")
    told = page.get_by_role("alert").inner_text()
    assert "Did you mean 'age'?" in told
    assert re.search(r"income ~ agee \+ sex\n\s+\^", told)
    page.get_by_label("Formula").fill("income ~ region + age")
    page.get_by_label("epsilon").fill("nonsense")
    analyst.press("See the price and the plan")
    assert "epsilon" in page.get_by_role("alert").inner_text()
    page.get_by_label("epsilon").fill("0.2")
    analyst.press("See the price and the plan")
    page.get_by_role("heading", name="How good it will be").wait_for()
    analyst.press("Try it on made-up people: free")
    page.get_by_role("heading", name="The certificate").wait_for()
    assert "simulation" in page.inner_text("main").lower()


def test_a_request_over_budget_has_no_button_to_spend(analyst):
    page = analyst.go("/tables/small/model")
    page.get_by_label("Formula").fill("income ~ age")
    analyst.press("See the price and the plan")
    page.get_by_role("heading", name="How good it will be").wait_for()
    assert "would exceed the account 'town/small'" in page.get_by_role("alert").inner_text()
    assert page.get_by_role("button", name="Try it").is_visible()
    assert page.get_by_role("button", name="Spend").count() == 0


def test_a_model_of_classes_has_a_plan_and_a_price(analyst):
    page = analyst.go("/tables/people/model")
    page.get_by_label("Formula").fill("sex ~ age")
    page.get_by_label("Method").select_option("DPLogisticRegression")
    page.get_by_label("epsilon").fill("0.3")
    analyst.press("See the price and the plan")
    page.get_by_role("heading", name="How good it will be").wait_for()
    analyst.press("Spend, and fit it")
    page.get_by_role("heading", name="The certificate").wait_for()


def test_the_custodian_approves(analyst, custodian):
    page = analyst.go("/tables/asked/model")
    page.get_by_label("Formula").fill("income ~ age + region")
    page.get_by_label("epsilon").fill("0.1")
    analyst.press("See the price and the plan")
    page.get_by_label("What it is for").fill("<b>an article</b>")
    analyst.press("Ask the custodian for it")
    assert "The custodian decides" in page.get_by_role("status").inner_text()
    own = page.url
    desk = custodian.go("/custody")
    card = desk.locator(".card", has_text="anna asks of asked")
    assert "Purpose: <b>an article</b>" in card.inner_text()
    assert "epsilon 0.1, delta 1e-07" in card.inner_text()
    card.get_by_role("button", name="Approve").click()
    desk.get_by_role("heading", name="Custody").wait_for()
    assert desk.locator(".card", has_text="anna asks of asked").count() == 0
    analyst.go(own)
    page.get_by_role("heading", name="The certificate").wait_for()
    assert "approved a request" in custodian.go("/custody/log").inner_text("main")
    assert "income ~ age + region" in custodian.go("/custody/ledger").inner_text("main")
    assert not custodian.violations()


def test_the_custodian_makes_and_revokes_keys(custodian, chromium):
    page = custodian.go("/custody/keys")
    page.get_by_label("For whom").fill("newcomer")
    custodian.press("Make a key")
    key = page.locator(".secret").inner_text()
    window = Window(chromium, custodian.address, key)
    row = page.get_by_role("row", name=f"dk_{key.split('_')[1]}_")
    row.get_by_role("button", name="Revoke").click()
    page.get_by_text("revoked").first.wait_for()
    window.go("/jobs")
    assert window.page.get_by_label("Your key").is_visible()


def test_a_model_that_a_release_serves_is_offered_for_free(analyst):
    page = analyst.go("/tables/people/release")
    page.get_by_label("Models to come").fill("income ~ age + sex\nincome ~ age + region")
    page.get_by_label("epsilon").fill("0.7")
    analyst.press("Ask for the release")
    page.get_by_role("heading", name="Models of this release").wait_for()
    page.get_by_role("button", name="Fit").first.click()
    page.get_by_role("heading", name="The certificate").wait_for()
    page = analyst.go("/tables/people/model")
    page.get_by_label("Formula").fill("income ~ region")
    analyst.press("See the price and the plan")
    page.get_by_role("button", name="Take it from a release of epsilon 0.7: free").click()
    page.get_by_role("heading", name="The certificate").wait_for()
    analyst.go("/jobs")
    assert page.get_by_role("row", name="Model, free: income ~ region").first.is_visible()


def test_everything_works_by_the_keyboard(analyst):
    page = analyst.go("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page = analyst.go("/tables/people/model")
    page.get_by_label("Formula").focus()
    page.keyboard.type("income ~ age")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "See the price and the plan":
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Plan: income ~ age").wait_for()


def test_pages_fit_a_phone_and_a_desk(chromium, custodian, running):
    key = running.key("paul", "custodian")
    for width in (360, 1280):
        window = Window(chromium, running.address, key, width)
        for path in ("/", "/tables/people", "/tables/people/model", "/tables/people/release", "/jobs", "/custody",
                     "/custody/keys", "/custody/log", "/nothing"):  # fmt: skip
            page = window.go(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert (
                page.evaluate(
                    f"[...document.querySelectorAll({FIELDS!r})].filter(e => !e.labels.length && !e.ariaLabel).length"
                )
                == 0
            )


def test_signing_out_ends_it(chromium, running):
    window = Window(chromium, running.address, running.key("olga"))
    window.press("Sign out")
    window.page.get_by_label("Your key").wait_for()
    window.go("/jobs")
    assert window.page.get_by_label("Your key").is_visible()
