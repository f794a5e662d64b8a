"""A formula of nine characters, g*h*k with 100 levels each, took 62 seconds and 4 GB in the process that serves pages.

The size of a formula is bounded before anything is multiplied out or computed: characters, parentheses, operations,
terms, coordinates, and the steps of exact arithmetic that the ranges of its expressions take.
"""

import json
import subprocess
import sys
import time
import tracemalloc
import warnings

import pytest

from discreet import Domain, formula
from discreet.errors import DiscreetError, ParameterError

SECONDS = 10
"""What a refusal or an answer takes at most; about a second is usual, also on a busy machine."""

MEGABYTES = 100

LEVELS = [f"v{i}" for i in range(40)]
DOMAIN = Domain(
    dict.fromkeys("abcdef", (18.3, 90.7))
    | dict.fromkeys("ghk", LEVELS)
    | {f"s{i}": ["x", "y"] for i in range(12)}
    | {"y": (0, 1)}
)


def tower(levels):
    text = "a"
    for _ in range(levels):
        text = f"({text})^9"
    return text


HOSTILE = {
    "cells": "y ~ g*h*k",
    "cells of many categories": "y ~ " + "*".join(f"s{i}" for i in range(12)),
    "nearly too many cells": "y ~ log(a) + " + "*".join(f"s{i}" for i in range(9)),
    "powers of powers": f"y ~ I({tower(12)}/{tower(12)})",
    "powers of small numbers": f"y ~ I(1 + {tower(12).replace('a', '(a*1e-300)')})",
    "the same terms again and again": "y ~ (a+b+c+d+a:b+a:c+a:d+b:c+b:d+c:d+a:b:c+a:b:d+a:c:d+b:c:d+a:b:c:d+e+f+e:f)^9",
    "a fraction of fractions": "y ~ I(a" + "+1/(a" * 24 + ")" * 24 + ")",
    "sums of fractions": "y ~ I(" + "+".join(f"1/({i}.7+a)" for i in range(33)) + ")",
    "many ranges": "y ~ " + " + ".join(f"I((a+b)/(a*b+{i}))" for i in range(100)),
    "many cuts": "y ~ " + "+".join("I(" + "*".join(f"({x}+{i}/{x})" for x in "abcde") + ")" for i in range(3, 30)),
    "nested functions": "y ~ " + "log(" * 20 + "a*(a+1)*1e9" + "+300)" * 20,
    "splines": "y ~ " + "+".join(f"bs(a*(a+{i}),df=30)" for i in range(70)),
    "natural splines": "y ~ " + "+".join(f"cr({x}+{i},df=30)" for i in range(12) for x in "abcdef"),
    "polynomials": "y ~ " + "+".join(f"poly(a*(a+{i}),9)" for i in range(90)),
    "parentheses": "y ~ " + "(" * 900 + "a" + ")" * 900,
    "signs": "y ~ I(" + "-" * 1900 + "a)",
    "digits": "y ~ I(0." + "1" * 1900 + "*a)",
}

CODE = """
import json, sys, time, tracemalloc, warnings
warnings.simplefilter("ignore")
import scipy.interpolate
from discreet import Domain, formula
from discreet.errors import DiscreetError
domain, texts = Domain.from_dict(json.load(sys.stdin)), {texts!r}
for name, text in texts.items():
    start = time.monotonic()
    try:
        formula(text, domain)
    except DiscreetError:
        pass
    print(json.dumps([name, time.monotonic() - start]), flush=True)
"""


def timed(texts):
    """Seconds for each text, as far as they come in two minutes, in a process of its own."""
    command = [sys.executable, "-c", CODE.replace("{texts!r}", repr(texts))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            out, _ = process.communicate(json.dumps(DOMAIN.to_dict()), timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
    return dict(map(json.loads, out.splitlines()))


def test_no_formula_keeps_a_computer_busy():
    assert max(map(len, HOSTILE.values())) <= 2000
    found = timed(HOSTILE)
    assert found.keys() == HOSTILE.keys()
    assert max(found.values()) < SECONDS


@pytest.mark.parametrize("name", ["cells", "cells of many categories"])
def test_cells_are_counted_before_they_are_made(name):
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match="coordinates"):
            formula(HOSTILE[name], DOMAIN)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEGABYTES * 1e6


def test_a_file_cannot_ask_for_more_either():
    factors = [{"column": name, "levels": LEVELS} for name in "ghk"]
    with pytest.raises(DiscreetError, match="cells"):
        Domain.from_dict({"columns": {"g:h:k": {"product": factors}}})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("powers of powers", "too large for floating point"),
        ("the same terms again and again", "terms or"),
        ("a fraction of fractions", "steps of arithmetic"),
        ("parentheses", "nested too deeply"),
    ],
)
def test_a_refusal_says_what_is_too_large(name, words):
    if name not in timed({name: HOSTILE[name]}):
        pytest.fail("no refusal within two minutes")
    with pytest.raises(ParameterError, match=words):
        formula(HOSTILE[name], DOMAIN)


def test_wide_models_are_read():
    wide = Domain({f"c{i}": (0, 1) for i in range(5000)} | {"y": (0, 1)})
    start = time.monotonic()
    assert len(formula("y ~ .", wide).features) == 5000
    assert len(formula("y ~ g*h + a*g", DOMAIN).domain.entries) == 1 + 1600 + 40 + 40 + 1 + 40 + 1
    squares = Domain({f"c{i}": (0, 1) for i in range(130)} | {"y": (0, 1)})
    assert len(formula("y ~ (.)^2", squares).features) == 130 * 131 // 2
    assert time.monotonic() - start < 3 * SECONDS


@pytest.mark.parametrize(
    "term", ["poly(a, 1e999)", "bs(a, df=1e999)", "bs(a, df=5, degree=1e999)", "scale(a, 1e150, 1e-160)"]
)
def test_figures_beyond_floating_point_are_refused_in_words(term):
    """Not by Python's error or numpy's warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ParameterError, match=r"whole number|floating point"):
            formula(f"y ~ {term}", DOMAIN)
