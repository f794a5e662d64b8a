"""The documentation as a site: formulas, notebooks, pictures; and the whole of it, built, and read in a browser."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import nbformat
import pytest
from experiments import pictures

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

sys.path.insert(0, str(ROOT / "docs" / "theme"))
import formulas  # noqa: E402

# ---------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a vector z of m coordinates", ["z", "m"]),
        ("A number in a box, as I said", []),
        ("moves by at most sqrt(m) 2^-21 when it is rounded", ["sqrt(m) 2^-21"]),
        ("the release is mu-GDP with mu^2 = sum_b |f_b|^2/s_b^2, and so on", ["mu", "mu^2 = sum_b |f_b|^2/s_b^2"]),
        ("it is (eps, delta)-DP (E10), by section 2 and 3.1", ["(eps, delta)"]),
        ("one row changes X'X by its own z z'. So the person's", ["X'X", "z z'"]),
        ("N(0, s^2 I) is drawn", ["N(0, s^2 I)"]),
        ("li2021 (Y. Li and F. Liu) fits theta (z by itself, and x)", ["theta", "z", "x"]),
        ("Y.-X. Wang and T. Piazza of [W], at most R T. Replace", ["R T"]),
    ],
)
def test_formulas_are_found_among_words(text, found):
    pieces = formulas.pieces(text)
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, math in pieces if math] == found


@pytest.mark.parametrize(
    ("plain", "latex"),
    [
        ("2^-p_j", "2^{-p_{j}}"),
        ("x_i^2", "x_{i}^{2}"),
        ("sqrt(1 + m)", r"\sqrt{1+m}"),
        ("L+'", "{L′}^{+}"),
        ("a <= b", r"a\leb"),
        ("e^{s - l}", "e^{s-l}"),
        ("1e-6", "10^{-6}"),
        ("a'theta_hat", r"{a′}\hat{\theta}"),
    ],
)
def test_formulas_keep_their_meaning(plain, latex):
    assert formulas.latex(plain).replace(" ", "") == latex
    assert formulas.mathml(plain).startswith("<math")


def test_every_page_of_mathematics_keeps_its_words():
    for path in (ROOT / "docs" / "mathematics").glob("*.md"):
        for line in path.read_text(encoding="utf-8").splitlines():
            pieces = formulas.pieces(line)
            assert "".join(piece for piece, _ in pieces) == line
            for piece, math in pieces:
                if math:
                    formulas.mathml(piece)


# ---------------------------------------------------------------- pictures and notebooks


@pytest.mark.parametrize("name", ["1-two-worlds", "2-odds", "5-budget"])
def test_pictures_are_drawn_again_by_their_command(name, tmp_path):
    drawn = pictures.draw(name, tmp_path).read_text(encoding="utf-8")
    assert drawn == pictures.draw(name, tmp_path).read_text(encoding="utf-8")
    assert (ROOT / pictures.FOLDER / f"{name}.svg").exists()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_hold_output_and_no_path(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(?:home|root|tmp|Users|work)/", text)
    assert len(text) < 150_000
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] == i for i, cell in enumerate(cells, 1))
    assert sum("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"]) >= 1


@pytest.mark.more
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path):
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()


# ---------------------------------------------------------------- the site


class Page(HTMLParser):
    """What a page asks for, links to, and can be linked to by."""

    def __init__(self, text):
        super().__init__()
        self.asked, self.links, self.names = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        facts = dict(attrs)
        self.names |= {facts[name] for name in ("id", "name") if facts.get(name)}
        if tag == "a" and facts.get("href"):
            self.links.add(facts["href"])
        elif tag == "link" and facts.get("rel") not in ("canonical", "next", "prev"):
            self.asked.add(facts.get("href"))
        elif facts.get("src"):
            self.asked.add(facts["src"])


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.more
def test_links_of_the_site_lead_somewhere_and_nothing_is_fetched_from_elsewhere(site):
    paths = [path for path in site.rglob("*.html") if path.name != "404.html"]
    pages = {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in paths}
    assert len(pages) > 70
    for uri, page in pages.items():
        for address in page.asked | {link for link in page.links if not urlsplit(link).scheme}:
            assert not urlsplit(address).netloc, f"{uri} asks for {address}"
            if address.startswith("data:"):
                continue
            target, anchor = urldefrag(urljoin(f"http://site/{uri}", address))
            target = unquote(urlsplit(target).path.lstrip("/"))
            assert (site / target).is_file() or (site / target / "index.html").is_file(), f"{uri}: {address}"
            if anchor and target in pages:
                assert unquote(anchor) in pages[target].names, f"{uri}: {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")), style


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.mark.more
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_the_screen_and_ask_nobody_else(site, address, width):
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    wrong = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("request", lambda request: request.url.startswith((address, "data:")) or wrong.append(request.url))
        for path in sorted(site.rglob("*.html")):
            uri = path.relative_to(site).as_posix()
            page.goto(address + uri)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{uri} is {wide} wide"
        page.goto(f"{address}index.html")
        page.locator("input[name=query]").fill("clustered")
        page.locator(".md-search-result__link").first.wait_for(timeout=60_000, state="attached")
        browser.close()
    assert wrong == []
