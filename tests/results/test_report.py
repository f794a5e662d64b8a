"""Reports: complete, self-contained, safe, the same every time, and fit for a browser and for paper."""

import datetime as dt
import itertools
import math
import pickle
import re
import shutil
import subprocess
from html import escape, unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from fitted import MAKERS, ODD, case
from matplotlib.image import imread

from discreet import Results
from discreet.core.placeholders import Unavailable
from discreet.errors import ParameterError
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee
from discreet.results.export import latex
from discreet.results.report import report
from discreet.results.report.promise import BEFORE, at_most, exception, odds

VOID = {"meta", "br", "path", "use", "rect", "image", "line", "circle"}
SECTIONS = [
    "What was asked",
    "What was found",
    "What is promised to the people in the table",
    "Where the budget went",
    "Noise against signal",
    "The certificate",
    "How to verify",
    "How to cite",
]


class Page(HTMLParser):
    """What a page consists of; refuses tags that are closed in the wrong order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.headings, self.words, self.ids = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch(r"h\d", tag):
            self.headings.append([tag, ""])

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words.append(data)
        if self.open and re.fullmatch(r"h\d", self.open[-1]):
            self.headings[-1][1] += data

    @property
    def said(self):
        return " ".join(" ".join(self.words).split())


def page_of(name, **options):
    return Page(report(*case(name), **options))


@pytest.mark.parametrize("name", MAKERS)
def test_a_report_is_whole_and_needs_nothing_else(name):
    text = report(*case(name))
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert [words for tag, words in page.headings if tag == "h2"] == SECTIONS
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", re.sub(r"base64,[\w+/=\s]*", "", text))
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "iframe", "object", "embed", "form", "img", "base"}
    for _, attributes in page.tags:
        assert not {a for a in attributes if a.startswith("on") or a in ("src", "srcset", "action")}
        assert (attributes.get("href") or "#").startswith(("#", "data:image/png;base64,"))
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("name", MAKERS)
def test_a_report_can_be_read_by_everyone(name):
    page = page_of(name)
    assert ("html", {"lang": "en"}) in page.tags
    levels = [int(tag[1]) for tag, _ in page.headings]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert all(words.strip() for _, words in page.headings)
    pictures = [a for tag, a in page.tags if tag == "svg"]
    assert len(pictures) == 3
    assert all(a["role"] == "img" and len(a["aria-label"]) > 30 for a in pictures)
    assert len(set(page.ids)) == len(page.ids)
    assert page.said.count("FAILS") == 0 or name == "simulation"


@pytest.mark.parametrize("name", MAKERS)
def test_a_report_holds_the_summary_and_the_certificate(name):
    results, released = case(name)
    text, page = report(results, released), page_of(name)
    assert results.summary().html_table() in text
    for words in [*results.summary().notes, *results.certificate.words().splitlines()]:
        assert " ".join(words.split()) in page.said
    for finding in results.certificate.check():
        assert finding.what in page.said
        assert " ".join(finding.detail.split()) in page.said
    for event in results.certificate.events:
        for block in event.blocks:
            assert f"{block.sd:.6g}" in page.said
    for column in results.certificate.domain.columns:
        assert column in page.said
    assert results.certificate.software in page.said
    assert (results.release or "not recorded") in page.said
    assert "discreet check FILE" in page.said


def test_a_report_is_the_same_every_time():
    results, released = case("verified")
    copy = pickle.loads(pickle.dumps(results))
    assert report(results, released) == report(copy, released)
    assert report(results, released) != report(results, released, level=0.9)


def test_a_date_is_told_only_if_it_is_given():
    results, released = case("verified")
    dated = report(results, released, date=dt.date(2031, 5, 4))
    plain = report(results, released)
    assert "2031-05-04" in dated
    assert "2031" not in Page(plain).said
    assert "year" not in plain[plain.index("@misc") :]
    assert re.search(r"year +=.*2031", dated)
    assert f"{dt.date.today():%Y-%m}" not in Page(plain).said


@pytest.mark.parametrize(
    ("name", "banner"), [("simulation", "SIMULATION"), ("claimed", "CLAIMED, NOT VERIFIED"), ("verified", None)]
)
def test_what_is_not_verified_says_so_on_top(name, banner):
    text = report(*case(name))
    found = re.findall(r'<p class="banner" role="note">(.*?)</p>', text)
    assert [words.startswith(banner) for words in found] == ([True] if banner else [])
    if banner:
        assert text.index(banner) < text.index("<h2>")


def test_a_promise_that_the_noise_does_not_keep_is_told_on_top():
    from dataclasses import replace

    results, _ = case("verified")
    promise = replace(results.certificate.guarantee, epsilon=0.1)
    text = report(replace(results, certificate=replace(results.certificate, guarantee=promise)))
    assert "CHECK FAILED: epsilon of all events" in text[: text.index("<h2>")]
    assert "FAILS" in text


@pytest.mark.parametrize(("kind", "names"), [("odd names", ODD), ("few odd names", ODD[:2])])
def test_names_are_escaped_everywhere(kind, names):
    text = report(*case(kind), date="<i>today</i>")
    for name in (*names, "<i>today</i>"):
        assert escape(name) in text
        assert name not in text or name == escape(name)


def test_missing_intervals_have_their_reason():
    results, _ = case("noisy")
    page = page_of("noisy")
    assert isinstance(results.inference, Unavailable)
    assert results.inference.reason in page.said
    assert "intervals are not available" in page.said


def test_without_the_release_only_one_part_is_missing():
    results, _ = case("verified")
    text = report(results)
    assert "Not shown" in text
    assert text.count("<svg") == 2


def test_a_release_of_another_model_is_refused():
    results, _ = case("verified")
    for other in (case("penalised")[1], case("from a release")[1]):
        with pytest.raises(ParameterError, match="not fitted to this release"):
            report(results, other)
    with pytest.raises(ParameterError, match="PrivateMoments"):
        report(results, results)
    with pytest.raises(ParameterError, match="not fitted"):
        report(case("old file")[0], case("penalised")[1])


def test_the_level_is_checked():
    with pytest.raises(ParameterError, match="level"):
        report(*case("verified"), level=95)


def test_reports_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    results, released = case("verified")
    path = tmp_path / "r.html"
    results.save_report(path, released)
    assert path.read_text(encoding="utf-8") == report(results, released)

    def full(*_):
        raise OSError(28, "No space left on device", "r.html")

    before = path.read_bytes()
    monkeypatch.setattr("discreet.core.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        results.save_report(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_saved_model_gives_the_same_report(tmp_path):
    results, released = case("verified")
    results.save(tmp_path / "m.json")
    assert report(Results.load(tmp_path / "m.json"), released) == report(results, released)


# -------------------------------------------------------------------- the answer and the odds


def test_the_answer_names_the_largest_effect():
    results, _ = case("verified")
    answer = re.search(r'<p class="answer">(.*?)</p>', report(results))[1]
    hours, (low, high) = 80 * results.debiased["hours"], [80 * end for end in results.conf_int().loc["hours"]]
    age = 72 * results.debiased["age"]
    name, size = ("hours", hours) if abs(hours) > abs(age) else ("age", age)
    assert f"that of {name}: {size:,.0f} EUR more income" in answer
    if name == "hours":
        assert f"interval {low:,.0f} to {high:,.0f}" in answer
    clear = sum(results.conf_int().loc[n][0] > 0 or results.conf_int().loc[n][1] < 0 for n in results.names)
    assert f"{clear} of 4 effects" in answer


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("before", BEFORE)
def test_certainty_grows_as_by_bayes(before, epsilon):
    likelihoods = math.exp(epsilon), 1.0
    after = before * likelihoods[0] / (before * likelihoods[0] + (1 - before) * likelihoods[1])
    assert at_most(before, epsilon) == pytest.approx(after)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_contents_of_a_row_are_two_steps_away_and_the_stated_delta_is_enough(epsilon):
    """A Gaussian release with exactly this promise, seen from two rows instead of one, keeps what the report says."""
    delta = 1e-5
    mu = gdp.mu(epsilon=epsilon, delta=delta)
    stated = float(
        re.search(r"probability is (\S+)\.$", exception(Guarantee(epsilon, delta, "add-remove", "verified"))[0])[1]
    )
    assert (
        gdp.delta(mu=2 * mu, epsilon=2 * epsilon) <= stated == pytest.approx(delta * (1 + math.exp(epsilon)), rel=1e-2)
    )
    assert gdp.delta(mu=2 * mu, epsilon=epsilon) > stated  # so epsilon alone would promise too much


def test_the_table_of_odds():
    columns, rows = odds(Guarantee(1.0, 1e-6, "add-remove", "verified"))
    assert len(columns) == 3
    assert rows == [("1 %", "2.67 %", "6.95 %"), ("10 %", "23.2 %", "45.1 %"), ("50 %", "73.1 %", "88.1 %")]
    columns, rows = odds(Guarantee(1.0, 1e-6, "replace-one", "verified"))
    assert rows == [("1 %", "2.67 %"), ("10 %", "23.2 %"), ("50 %", "73.1 %")]
    assert odds(Guarantee(0.0, 0.0, "add-remove", "verified"))[1][2] == ("50 %", "50 %", "50 %")
    assert odds(Guarantee(800.0, 1e-6, "add-remove", "verified"))[1][0][1] == "above 99.9 %"
    assert odds(Guarantee(1.0, 1e-6, "add-remove", "simulation")) is None


def test_a_large_epsilon_is_called_so():
    assert "means little" in page_of("large epsilon").said
    assert "means little" not in page_of("verified").said


# -------------------------------------------------------------------- citing


@pytest.mark.parametrize("name", ["verified", "odd names", "old file"])
def test_bibtex_is_sound(name):
    results, _ = case(name)
    text = report(results)
    entry = re.search(r"<pre>(@misc.*?)</pre>", text, re.DOTALL)[1]
    plain = re.sub(r"\\[{}]", "", entry)
    assert plain.count("{") == plain.count("}")
    assert not re.search(r"(?<!\\)[%$#_&]", unescape(entry))
    assert (results.release[:12] or "release") in entry
    assert results.certificate.software in entry


def test_latex_escapes():
    assert latex("a~b^c\\") == r"a\textasciitilde{}b\textasciicircum{}c\textbackslash{}"


# -------------------------------------------------------------------- a real browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
SEEN = ["verified", "claimed", "simulation", "noisy", "forty", "odd names"]


def browse(folder, text, *arguments):
    page = folder / "page.html"
    page.write_text(text, encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
    quiet = ["--disable-background-networking", "--disable-component-update", "--no-pdf-header-footer"]
    command = [CHROMIUM, *options, *quiet, f"--user-data-dir={folder}/profile", *arguments, page.as_uri()]
    return subprocess.run(command, capture_output=True, timeout=120, check=True, cwd=folder).stdout.decode()


@needs_browser
@pytest.mark.parametrize("name", SEEN)
@pytest.mark.more
def test_a_browser_shows_the_coefficients(name, tmp_path):
    results, released = case(name)
    dom = Page(browse(tmp_path, report(results, released), "--dump-dom"))
    for row in results.summary().rows:
        assert all(cell in dom.said for cell in row)
    assert not [tag for tag, _ in dom.tags if tag == "script"]


@needs_browser
@pytest.mark.parametrize(("name", "width"), [("verified", 1000), ("verified", 500), ("long names", 500)])
@pytest.mark.more
def test_the_page_fits_every_screen_and_is_not_blank(name, width, tmp_path):
    page, height = report(*case(name)), 20_000

    def seen(width):
        browse(tmp_path, page, "--screenshot=s.png", f"--window-size={width},{height}")
        image = imread(tmp_path / "s.png")[..., :3]
        assert image.shape[:2] == (height, width)
        ink = image.min(axis=2) < 0.8
        return image, ink, np.flatnonzero(ink.any(axis=1))[-1]

    image, ink, end = seen(width)
    assert 3500 < end < 1.5 * seen(1000)[2]  # all of it is there, and no column is squeezed to single letters
    assert ink[: end // 100 * 100].reshape(-1, 100, width).any(axis=(1, 2)).mean() > 0.95  # in nearly every strip
    blue = np.abs(image - np.array([0, 0x72, 0xB2]) / 255).max(axis=2) < 0.05
    assert blue.sum() > 1000  # the bars of the budget
    ends = np.flatnonzero(ink.any(axis=0))
    assert 10 <= ends[0] < ends[-1] <= width - 10  # nothing sticks out


@needs_browser
@pytest.mark.parametrize(("name", "least", "most"), [("verified", 3, 7), ("claimed", 3, 7), ("forty", 5, 11)])
@pytest.mark.more
def test_printed_it_has_a_sensible_number_of_pages(name, least, most, tmp_path):
    browse(tmp_path, report(*case(name)), "--print-to-pdf=p.pdf")
    content = (tmp_path / "p.pdf").read_bytes()
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", content))
    assert least <= pages <= most
    a4 = re.findall(rb"/MediaBox\s*\[0 0 (\d+)[\d.]* (\d+)", content)
    assert {(int(w), int(h)) for w, h in a4} <= {(594, 841), (595, 842), (595, 841), (594, 842)}


@needs_browser
@pytest.mark.parametrize("width", [400, 700, 1000, 1400])
@pytest.mark.more
def test_no_table_is_cut_off(width, tmp_path):
    """In a frame of that width no part of the page is wider than its place, so nothing must be scrolled sideways."""
    results, released = case("verified")
    script = (
        "const d = document.querySelector('iframe').contentDocument, wide = [...d.querySelectorAll('.wide, html')]"
        ".filter(part => part.scrollWidth > part.clientWidth + 1).map(part => part.className || part.tagName);"
        "document.body.append('WIDER:' + d.querySelectorAll('.numbers td').length + ':' + wide.join())"
    )
    frame = f'<iframe srcdoc="{escape(report(results, released))}" width="{width}" height="900"></iframe>'
    dom = browse(tmp_path, f"{frame}<script>onload = () => {{ {script} }}</script>", "--dump-dom")
    cells = sum(len(row) - 1 for row in results.summary().rows)
    assert re.search(r"WIDER:[^<]*", dom.split("</script>")[-1])[0] == f"WIDER:{cells}:"
