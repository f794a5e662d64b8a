"""Names, levels and units may hold anything: nothing that is shown obeys them, hides them or is broken by them.

The names here clear the screen, turn the direction of the text, take no room or begin a line of their own. Everything
that the package shows is searched: it may hold printable characters, and line breaks that are ours.
"""

import io
import json
import os
import pickle
import re
import subprocess
import sys
import tomllib
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import (
    Domain,
    DPLasso,
    DPLinearRegression,
    DPLogisticRegression,
    Moments,
    PrivateMoments,
    ReuseCov,
    compare,
    formula,
    plan,
    release,
)
from discreet.core.files import digest
from discreet.core.placeholders import Unavailable
from discreet.domain.kinds.numeric import Numeric
from discreet.domain.schema import blank_schema
from discreet.errors import DiscreetError, DiscreetWarning, NotReleasedError, ParameterError, printable
from discreet.results import plots
from discreet.results.report import report
from discreet.results.report.page import code
from discreet.results.summary import Summary

FORGED = "FORGED"
"""Begins a line if a line break in front of it gets through."""

AGE, INCOME = f"\x1b[2Jage\n{FORGED}", f"in\tcome\x7f\r\n{FORGED}\xad"
REGION, HOURS = "re\u202egion\u2066\u200f\ufeff", "ho\u200durs\u2028\x85"
LEVELS = ["no\u200brth", "so\x9b31muth\ue000", f"we\u2029st\n{FORGED}\U000e0001"]
UNIT = f"E\x07UR\u061c\n{FORGED}"
FEATURES = [AGE, REGION, HOURS]
DOMAIN = Domain({AGE: Numeric(18, 90, UNIT), REGION: LEVELS, HOURS: (0, 80), INCOME: Numeric(0, 2e5, UNIT)})
PROMISE = {"epsilon": 3, "delta": 1e-6, "rows": 2000}
GIVEN = PROMISE | {"domain": DOMAIN}


def people(rows=2000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({AGE: rng.uniform(18, 90, rows), REGION: rng.choice(LEVELS, rows)})
    frame[HOURS] = rng.uniform(0, 80, rows)
    return frame.assign(**{INCOME: 1000 * frame[AGE] + 500 * frame[HOURS]})


FRAME = people()


@pytest.fixture(scope="module")
def model():
    return DPLinearRegression(**GIVEN).fit(FRAME[FEATURES], FRAME[INCOME])


@pytest.fixture(scope="module")
def released():
    return release(Moments.from_source(FRAME, DOMAIN), **PROMISE)


def assert_safe(text, known=True):
    """Printable characters and line breaks, none of which is a name's; and a name is there at all."""
    wrong = sorted({letter for letter in text if not letter.isprintable() and letter != "\n"})
    assert not wrong, f"{wrong} in {printable(text)[:500]}"
    assert f"\n{FORGED}" not in text
    assert not known or "\\" in text


# -------------------------------------------------------------------- the function


def test_everything_that_is_not_meant_to_be_seen_is_escaped():
    """Every character of Unicode: what Python does not print is spelled in ASCII, everything else is left alone."""
    dangerous = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    for place in range(0x110000):
        letter = chr(place)
        seen = printable(letter)
        if unicodedata.category(letter) in dangerous:
            assert seen.isascii()
            assert seen.isprintable()
            assert seen.encode().decode("unicode_escape") == letter
        elif letter != " " and unicodedata.category(letter) == "Zs":
            assert seen in (f"\\x{place:02x}", f"\\u{place:04x}")
        else:
            assert seen == letter


def test_text_that_was_escaped_stays_as_it_is():
    for text in (*FEATURES, INCOME, *LEVELS, UNIT, "C:\\new", "Größe (m²)", "年齢", "a b"):
        assert printable(printable(text)) == printable(text)
    assert printable("C:\\new Größe 年齢") == "C:\\new Größe 年齢"


# -------------------------------------------------------------------- errors and warnings


@pytest.mark.parametrize("kind", [DiscreetError, ParameterError, NotReleasedError, DiscreetWarning])
def test_messages_are_escaped_whatever_they_quote(kind):
    error = kind(f"Column {AGE} is odd:", f"  {INCOME}")
    assert str(error) == f"Column {printable(AGE)} is odd:\n  {printable(INCOME)}"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), str(kind())) == (kind, str(error), "")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"{REGION}", DiscreetWarning, stacklevel=1)
    assert_safe(str(caught[0].message))


ATTEMPTS = {
    "declared twice": lambda _: Domain({AGE: LEVELS[:1] * 2}),
    "undeclared": lambda _: DOMAIN.select(["\x1bother"]),
    "inverted": lambda _: Domain({AGE: (1, 0)}),
    "odd facts": lambda _: Domain({AGE: {UNIT: 1}}),
    "no such target": lambda m: m.release_.fit("\x1bother"),
    "no such feature": lambda m: m.release_.fit(INCOME, ["\x1bother"]),
    "outcome among features": lambda m: m.release_.fit(INCOME, [INCOME]),
    "not released": lambda _: release(Moments.from_source(FRAME, DOMAIN), **PROMISE, targets=[INCOME]).fit(
        AGE, [INCOME]
    ),
    "no such model": lambda m: m.release_.fit(INCOME, model="\x1b"),
    "no such coefficient": lambda m: m.results_.wald_test(["\x1bother"]),
    "column missing": lambda m: m.predict(FRAME[[AGE, HOURS]]),
    "column missing in results": lambda m: m.results_.predict(FRAME[[AGE, HOURS]]),
    "matrix for names": lambda m: m.results_.predict(np.zeros((2, 9))),
    "undeclared level": lambda m: m.predict(FRAME[FEATURES].assign(**{REGION: "\x1bother"})),
    "text for a number": lambda m: m.predict(FRAME[FEATURES].assign(**{AGE: "\x1b"})),
    "missing": lambda m: m.predict(FRAME[FEATURES].assign(**{AGE: np.nan})),
    "column not there": lambda _: Moments.from_source(FRAME[[AGE]], DOMAIN),
    "undeclared column": lambda m: m.fit(FRAME[FEATURES].assign(**{"\x1bother": 1.0}), FRAME[INCOME]),
    "formula": lambda _: formula(f"`{INCOME}` ~ `{AGE}` + \x1bother", DOMAIN),
    "formula's target": lambda _: formula("\x1bother ~ 1", DOMAIN),
    "plan": lambda _: plan(DOMAIN, INCOME, rows=1000, epsilon=1, delta=1e-6, about={"\x1bother": {"mean": 1}}),
    "file": lambda _: PrivateMoments.load("\x1b[2J.json"),
}


@pytest.mark.parametrize("case", ATTEMPTS)
def test_errors_quote_names_escaped(case, model):
    with pytest.raises((DiscreetError, OSError)) as caught:
        ATTEMPTS[case](model)
    assert_safe(str(caught.value), known=False)
    assert len(str(caught.value)) > 15


def test_an_error_in_a_formula_points_at_its_place():
    with pytest.raises(ParameterError) as caught:
        formula(f"`{INCOME}` ~ `{AGE}` + other", DOMAIN)
    message, text, mark = str(caught.value).split("\n")
    assert "other" in message
    assert text[mark.index("^") :] == "other"


# -------------------------------------------------------------------- results


def faces(fitted):
    yield from (str(fitted), repr(fitted), fitted._repr_html_())


def test_a_fitted_model_and_its_release(model):
    for face in (*faces(model.results_), repr(model), repr(DOMAIN), repr(vars(DOMAIN))):
        assert_safe(face)
    for page in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert_safe(page.replace(f"\n{FORGED}", ""))  # scikit-learn's own: a line break in HTML is a space
    certificate = model.certificate_
    for face in (certificate.words(), repr(certificate), *map(repr, certificate.check()), repr(certificate.events)):
        assert_safe(face, known=False)
    assert_safe(json.dumps(model.results_.to_dict()))
    assert_safe(repr(model.results_.params))
    assert_safe(repr(model.get_feature_names_out()))
    narrowed = DPLinearRegression(**GIVEN, stages=1).fit(FRAME[FEATURES], FRAME[INCOME])
    assert_safe(narrowed.certificate_.words())


def test_models_of_a_release(released):
    for kind in ("noise-aware", "ridge", "lasso", "ols"):
        for face in faces(released.fit(INCOME, FEATURES, model=kind)):
            assert_safe(face)
    pair = compare(released.fit(INCOME, FEATURES), released.fit(INCOME, [AGE]), (UNIT, REGION))
    for face in faces(pair):
        assert_safe(face)
    selected = released.select(INCOME)
    for face in (str(selected), repr(selected), selected.summary()):
        assert_safe(face)
    assert len({line.index("0") for line in str(selected).splitlines()[5:]}) <= 2


def test_models_of_many_outcomes():
    fitted = ReuseCov(**GIVEN).fit(FRAME[[AGE, REGION]], FRAME[[HOURS, INCOME]])
    for face in faces(fitted.results_):
        assert_safe(face)
    assert_safe(fitted.certificate_.words(), known=False)
    axes = fitted.results_.heatmap()
    assert_safe(drawn(axes.figure))


@pytest.mark.parametrize("target", [REGION, INCOME])
def test_classes_are_escaped_too(target):
    domain = Domain({AGE: (18, 90), HOURS: (0, 80), REGION: LEVELS, INCOME: bool})
    frame = FRAME.assign(**{INCOME: FRAME[AGE] > 50})
    features = [AGE, HOURS]
    fitted = DPLogisticRegression(**GIVEN | {"domain": domain}).fit(frame[features], frame[target])
    for face in (*faces(fitted.results_), report(fitted.results_), repr(fitted.results_.selection())):
        assert_safe(face)


def test_plans():
    found = plan(DOMAIN, INCOME, rows=2000, epsilon=[1], delta=1e-6, draws=2, want_width={AGE: 10}, methods=["SSP"])
    for face in (*faces(found), *found.advice()):
        assert_safe(face, known=False)
    assert_safe(str(found))
    assert_safe(drawn(found.plot()), known=False)
    assert_safe(found.to_json())


def test_reports(model):
    text = report(model.results_, model.release_, date=f"2026\x1b\n{FORGED}")
    assert_safe(text)
    for name in (*FEATURES, INCOME, UNIT):
        assert printable(name) in text
    assert_safe(code(f"a\x1b\n\u202e{FORGED}"), known=True)


def test_what_a_file_says_in_its_own_words():
    """Methods, software and reasons are text of the file's author."""
    gone = Unavailable("not\x1b released", f"Because\n{FORGED}.")
    assert_safe(str(gone))
    assert_safe(repr(gone))
    with pytest.raises(NotReleasedError) as caught:
        float(gone)
    assert_safe(str(caught.value))
    read = Summary(AGE, ((REGION, UNIT),), ("", INCOME), ((HOURS, "1"),), (LEVELS[2],))
    for face in (str(read), repr(read), read.html(), read._repr_html_(), str(read.with_fact(AGE, AGE))):
        assert_safe(face)


# -------------------------------------------------------------------- pictures


def drawn(figure):
    """A picture as SVG, as its user would save it: with the labels in comments, and as text."""
    import matplotlib

    texts = []
    for kind in ("path", "none"):
        file = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": kind, "text.parse_math": False}):
            figure.savefig(file, format="svg", metadata={"Date": None})
        texts.append(re.sub(r"base64,[\w+/=\s]*", "", file.getvalue()))
    return "".join(texts)


def test_pictures(model, released):
    lasso = DPLasso(**GIVEN).fit(FRAME[FEATURES], FRAME[INCOME]).results_
    two = compare(released.fit(INCOME, FEATURES), released.fit(INCOME, [AGE]), (UNIT, REGION))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of letters that the font does not have
        for figure in (
            model.results_.plot(),
            plots.coefficient_plot(model.results_),
            plots.budget_plot(model.certificate_),
            plots.noise_plot(model.release_),
            plots.comparison_plot(two),
            plots.path_plot(lasso),
            plots.privacy_plot({AGE: model, REGION: released}),
            plots.utility_plot({"epsilon": [1, 2], "method": [AGE, AGE], "error": [1, 2]}, label=UNIT),
        ):
            assert_safe(drawn(figure), known=False)
    assert printable(HOURS) in drawn(plots.coefficient_plot(model.results_))


# -------------------------------------------------------------------- files and the command line


def test_a_form_for_odd_names_is_plain_text_and_can_be_read():
    form = blank_schema([(name, "bool") for name in (*FEATURES, INCOME, 'quote"\\')])
    assert_safe(form)
    assert list(tomllib.loads(form)["columns"]) == [*FEATURES, INCOME, 'quote"\\']


COMMANDS = {
    "fit": ["fit", "people.parquet", "--schema", "people.json", "--target", INCOME, "--epsilon", 3, "--delta", 1e-6],
    "release": ["release", "people.parquet", "--schema", "people.json", "--epsilon", 3, "--delta", 1e-6],
    "model": ["model", "all.json", "--target", INCOME, "--report", "page.html", "--out", "model.json"],
    "ols": ["model", "all.json", "--target", INCOME, "--model", "ols"],
    "compare": ["compare", "all.json", "all.json", "--target", INCOME],
    "select": ["select", "all.json", "--target", INCOME],
    "check": ["check", "all.json"],
    "plan": [
        *["plan", "--schema", "people.json", "--rows", 2000, "--target", INCOME, "--epsilon", 1, "--delta", 1e-6],
        *["--methods", "SSP", "--draws", 2, "--want-width", f"{AGE}=10"],
    ],
    "pdp": ["pdp", "people.parquet", "--release", "all.json", "--out", "confidential.parquet"],
    "schema init": ["schema", "init", "people.parquet", "--out", "new.toml"],
    "schema check": ["schema", "check", "people.json", "people.parquet"],
}
WRONG = {
    "no such file": ["check", "\x1b[2J.json"],
    "no such data": ["fit", "\x1b[2J", "--schema", "people.json", "--target", INCOME, "--epsilon", 1],
    "no such target": ["model", "all.json", "--target", "\x1bother"],
    "no such feature": ["model", "all.json", "--target", INCOME, "--features", f"\x1bother\n{FORGED}"],
    "formula": ["model", "all.json", "--formula", f"`{INCOME}` ~ \x1bother\n{FORGED}"],
    "no such option": ["model", "all.json", f"--\x1bother\n{FORGED}"],
    "no such command": [f"\x1b[2J\u202e\n{FORGED}"],
    "one argument more": ["check", "all.json", f"\u202e\x1b[2J\n{FORGED}"],
    "no number": ["plan", "--schema", "people.json", "--rows", f"\u202e\x1b\n{FORGED}"],
    "no number in a list": ["plan", "--schema", "people.json", "--rows", 9, "--target", INCOME, "--epsilon", "\x1b"],
    "no pair": ["plan", "--schema", "people.json", "--rows", 9, "--target", INCOME, "--want-width", "\x1b"],
    "setting": [*COMMANDS["fit"], "--set", "\x1b=1"],
    "no place": [*COMMANDS["fit"], "--out", f"\x1b/\n{FORGED}.json"],
    "lone surrogate": ["check", "\udcff.json"],
    "other schema": ["schema", "check", "other.json", "people.parquet"],
    "several outcomes": [*COMMANDS["fit"][:5], f"{INCOME},\x1bother", *COMMANDS["fit"][6:]],
}


@pytest.fixture
def folder(tmp_path, released):
    pq.write_table(pa.Table.from_pandas(FRAME, preserve_index=False), tmp_path / "people.parquet")
    (tmp_path / "people.json").write_text(json.dumps(DOMAIN.to_dict()))
    (tmp_path / "other.json").write_text(json.dumps({"columns": {f"\x1b\n{FORGED}": [1, 2]}}))
    released.save(tmp_path / "all.json")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_print_names_escaped(command, run, folder):
    done = run(*COMMANDS[command])
    assert done.code == 0, done.err
    assert_safe(done.out + done.err, known=command in ("fit", "model", "ols", "compare", "select", "plan"))
    for path in folder.glob("*.[ht]*ml"):
        assert_safe(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", WRONG)
def test_refusals_print_arguments_escaped(case, run, folder):
    done = run(*WRONG[case])
    assert done.code == 2
    assert_safe(done.out + done.err, known=False)
    assert len(done.said) > 15


def test_a_file_with_a_digest_of_its_own_is_no_safer(run, folder):
    """Whoever writes a release file chooses its words, and the digest that fits them; even what no text may hold."""
    body = json.loads((folder / "all.json").read_text())
    del body["sha256"]
    text = json.dumps(body).replace(json.dumps(HOURS)[1:-1], r"\ud800\u001b]0;hours\u0007")
    body = json.loads(text)
    body["certificate"]["software"] = body["certificate"]["method"] = f"\x1b[2J\n{FORGED}"
    body["certificate"]["guarantee"] |= {"status": "claimed", "reason": f"\x1b[2J\n{FORGED}"}
    (folder / "forged.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    for command in (
        ["check"],
        ["model", "--target", INCOME, "--report", "forged.html"],
        ["select", "--target", INCOME],
    ):
        done = run(command[0], "forged.json", *command[1:])
        assert done.code == (command[0] == "check"), done.err
        assert_safe(done.out + done.err)
    assert_safe((folder / "forged.html").read_text(encoding="utf-8"))


def test_on_a_terminal_the_only_sequences_are_colours(folder):
    environment = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "400"}
    for command in (COMMANDS["model"][:4], WRONG["no such target"]):
        code = "from discreet.cli import main; main()"
        arguments = [sys.executable, "-c", code, *map(str, command)]
        done = subprocess.run(arguments, capture_output=True, cwd=folder, env=environment, check=False)
        text = (done.stdout + done.stderr).decode()
        assert "\x1b[" in text
        assert_safe(re.sub(r"\x1b\[[\d;]*m", "", text))
