"""Every field of every kind of file, changed in many ways with a fitting digest: check finds it, or it is listed here.

A forger without the data can always choose some fields: what people declare, what noise could have been, the words of
people. Those are listed in `FREE`, each with its reason, as in docs/reference/certificate.md; all others are
recomputed, compared with another field, or bounded by what tables and noise can do. Files are those of `every_file`.

    DISCREET_FIELDS=all pytest tests/results/test_every_field.py      each change of each field, which takes long
"""

import copy
import json
import os
import re
import zlib
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from every_file import MAKERS, as_released, bodies

from discreet import Domain
from discreet.core.files import digest
from discreet.errors import FileFormatError
from discreet.results.saved import check_file

EVERYWHERE = os.environ.get("DISCREET_FIELDS") == "all"
SHARE, SLOW = 4, 40
"""One in so many changes is tried in a file, or in one whose check takes long; which ones follows from names alone."""

OBJECTIVES = [
    name for name in MAKERS if any(word in name.lower() for word in ("poisson", "classes", "logistic", "svc"))
]

DECLARED = "people declare it: columns are mapped to [-1, 1] before anything is computed, so that it costs nothing"
WEAKER = "a promise that is weaker than the one that the noise keeps is kept, too"
NOISE = "noise may be any that costs no more than is promised, and a value any that a table and the noise may give"
ORDER = "which of the released values belongs to which column, only the data tell"
SAME = "another method releases the same statistics"
ROTATED = "other numbers for the same coordinates: rotated axes, and rounding errors, which processors may make"
OPTION = "another option of the recipe leads to the same questions, so it is the same release"
ASKED = "both fits follow from the same numbers, and whoever saves a model may ask for either"
WORDS = "words for people, from which nothing follows"
REST = "it follows from the release, another file that `release` names: check that one, and fit it again"

NUMBERS = "sign huge tiny zero more less double"
EVENT = "*:certificate.events.<*>"
FREE = [
    ("*:certificate.guarantee.epsilon", "huge more double", WEAKER),
    ("*:certificate.guarantee.delta", "more tiny", WEAKER),
    ("*:certificate.method", "as_*", SAME),
    ("*:certificate.rows", f"{NUMBERS} null number", DECLARED),
    *((f"*:certificate.recipe.{name}", "*", OPTION) for name in ("stages", "covariance")),
    ("*:certificate.recipe.rules", "less", OPTION),
    ("*:certificate.declared", "null", DECLARED),
    ("*:certificate.declared.columns.?.*", NUMBERS, DECLARED),
    ("*:certificate.domain.columns.?.*", f"{NUMBERS} reversed", DECLARED),
    ("*:certificate.domain.columns.?", "empty", DECLARED),
    *((f"*:certificate.domain.columns.?.{end}", "removed", DECLARED) for end in ("low", "high")),
    ("*:certificate.domain.columns.?.unit", "longer removed", DECLARED),
    ("*:certificate.domain.columns.?.product.#.column", "empty longer", DECLARED),
    ("*:certificate.domain.columns.?.product.#.levels.#", "empty longer removed", DECLARED),
    ("*:certificate.domain.columns.*.deviation.of", "empty longer", DECLARED),
    ("*:certificate.domain.columns.*.deviation.spec.*", f"{NUMBERS} reversed empty longer removed", DECLARED),
    ("*:certificate.domain.data_norm", NUMBERS, DECLARED),
    ("*:certificate.domain.norm_columns", "reversed", DECLARED),
    ("*:certificate.domain.missing", "as_*", DECLARED),
    ("*:certificate.domain.file*", "longer removed", DECLARED),
    ("*:classes*", "*", DECLARED),
    (f"{EVENT}.blocks.#.rows", "reversed", ORDER),
    (f"{EVENT}.blocks.#.columns", "reversed", ORDER),
    ("*:certificate.events.<sampled gaussian>.rate", NUMBERS, NOISE),
    *((f"model:certificate.events.<*{kind}>.*", NUMBERS, NOISE) for kind in ("sampling", "in a ball", "perturbation")),
    *((f"model:certificate.events.<*{kind}>.*", NUMBERS, NOISE) for kind in ("descent", "aggregate")),
    ("model:certificate.events.<output perturbation>.root", "reversed", NOISE),
    ("model:certificate.events.<objective perturbation>.target", "null", WORDS),
    ("release:values.#", "reversed", ORDER),
    *((f"{kind}:values.#.#.integers*", f"{NUMBERS} reversed", NOISE) for kind in ("release", "model")),
    *((f"model:{name}*", f"{NUMBERS} reversed", NOISE) for name in ("coef", "intercept", "weights")),
    *((f"*.coordinates.{name}.*", f"{NUMBERS} reversed", ROTATED) for name in ("P", "theta")),
    *((f"model:inference.{name}*", f"{NUMBERS} reversed null", ROTATED) for name in ("L", "W", "theta")),
    ("model:inference.estimand", "as_*", ASKED),
    ("*:inference.*not *", "empty longer", WORDS),
    ("*:inference.culprits.#", "empty longer", WORDS),
    ("model:inference", "removed", WORDS),
    ("model:inference.estimate.#", "tiny zero", ROTATED),
    *(
        (f"*results:{name}*", f"{NUMBERS} reversed null", REST)
        for name in ("coef", "intercept", "rows", "names", "targets")
    ),
    ("*results:rows_sd", "removed", REST),
    ("results:inference.spread.cut.mean", "half number", REST),
    ("*results:means*", f"{NUMBERS} reversed removed empty longer not", REST),
    ("*results:inference.*", f"{NUMBERS} reversed null removed empty longer as_*", REST),
    *(
        (f"results:*>.{name}*", f"{NUMBERS} reversed shorter removed", REST)
        for name in ("coordinates", "chosen", "radii")
    ),
    ("results:certificate.events.<gaussian>.blocks.#.span*", f"{NUMBERS} removed", REST),
]
"""(fields, changes that cannot be told, why): those of docs/reference/certificate.md."""

CLAIMED = [
    (
        "*:certificate.guarantee.epsilon",
        "less",
        "nobody vouches for what a paper claims; the recomputed epsilon counts",
    ),
    ("*:certificate.guarantee.reason", "longer", WORDS),
]
"""The same of a paper's constants."""

PURE = [("*:certificate.guarantee.delta", "zero", "Laplace noise keeps epsilon with no delta at all")]
"""The same of Laplace noise."""


def also_free(body):
    """What else a forger can choose in a file."""
    claimed = CLAIMED if body["certificate"]["guarantee"]["status"] == "claimed" else []
    return claimed + (PURE if '"laplace"' in json.dumps(body) else [])


def is_free(place, how, also=()):
    """Whether a forger can always make this change."""
    return any(
        fnmatchcase(place, fields.replace("[", "[[]")) and any(fnmatchcase(how, one) for one in changed.split())
        for fields, changed, _ in (*FREE, *also)
    )


def leaves(value, path=()):
    """The path of every entry of a body, lists and objects too."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from leaves(inner, (*path, key))


def at(body, path):
    for key in path:
        body = body[key]
    return body


ENUMS = [
    ["add-remove", "replace-one"],
    ["verified", "claimed", "simulation"],
    ["error", "drop"],
    ["weighted", "uniform"],
    ["logit", "log", "identity", "sign"],
    ["gaussian", "laplace"],
    ["gram", "cross", "squares", "eigenvalue", "counts", "sums", "diagonal", "lengths", "inner", "meat", "information"],
    ["declared", "bounded"],
    ["isotropic", "fisher", "democratic"],
    ["SSP", "AdaSSP", "DPLinearRegression", "moments", "ReuseCov", "TrivialRegressor", "DPLinearSVC", "OPS", "Sauce"],
    ["release", "results", "many results", "model"],
]
MANY = 10**12
"""Far beyond the noise of released integers, in units of their grid."""


def of_number(value):
    changed = {"sign": -value if value else -1.0, "huge": 1e300, "tiny": 1e-300, "zero": 0.0, "true": True}
    changed |= {"more": value * 1.01 + 0.01, "less": value * 0.99 - 0.01, "double": 2 * value + 1}
    if isinstance(value, int):
        changed |= {"more": value + 1, "less": value - 1, "huge": 10**18, "half": value + 0.5}
    return changed


def of_text(value):
    if re.fullmatch(r"-?\d+", value):
        q = int(value)
        changed = {"sign": str(-q - MANY), "huge": str(10**30), "below": str(-(10**15) << 26), "zero": "0", "number": q}
    else:
        changed = {"empty": "", "longer": value + "x"}
    return changed | {f"as_{other}": other for one in ENUMS if value in one for other in one if other != value}


def changes(value):
    """Other values of an entry, by what was done to it."""
    if isinstance(value, bool):
        return {"not": not value, "text": "x", "number": 1, "null": None}
    if isinstance(value, int | float):
        return of_number(value) | {"text": "x", "null": None, "list": [value]}
    if isinstance(value, str):
        return of_text(value) | {"one": 1, "null": None}
    if isinstance(value, list):
        changed = {"empty": [], "reversed": value[::-1], "shorter": value[:-1], "longer": value + value[-1:]}
        return changed | {"null": None, "twice": value + value, "nested": [value]}
    if isinstance(value, dict):
        return {"added": value | {"added": 1}, "null": None, "empty": {}}
    return {"number": 1, "text": "x", "list": [], "half": 0.5}


def mutants(body):
    """(path, what is to be done, the new value)."""
    for path in leaves(body):
        value = at(body, path)
        yield from (
            (path, how, new) for how, new in changes(value).items() if type(new) is not type(value) or new != value
        )
        yield path, "removed", None


def mutated(body, path, how, new):
    """The body with one change."""
    changed = copy.deepcopy(body)
    if how == "removed":
        del at(changed, path[:-1])[path[-1]]
    else:
        at(changed, path[:-1])[path[-1]] = new
    return changed


def general(body, path):
    """A path without places in lists and names of columns, and with the mechanism of its event."""
    words = []
    for i, key in enumerate(path):
        if words[-1:] == ["columns"] and isinstance(key, str):
            key = "*"
        words.append(str(key) if isinstance(key, str) else "#")
        if words[-2:] == ["events", "#"]:
            words[-1] = f"<{at(body, path[: i + 1]).get('mechanism')}>"
    return f"{body['kind']}:{'.'.join(words)}"


def passes(body, path):
    """Whether a body, with a fitting digest, passes for a file that adds up; only our own errors come out."""
    path.write_text(json.dumps(body | {"sha256": digest(body)}))
    try:
        return all(finding.ok for finding in check_file(path)[1])
    except FileFormatError:
        return False


def is_tried(name, place, how):
    """Whether a change of a field is tried in a file."""
    share = SLOW if name in OBJECTIVES else SHARE
    return EVERYWHERE or zlib.crc32(f"{name} {place} {how}".encode()) % share == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MAKERS)
def test_every_change_is_found_or_free(name, tmp_path):
    missed, tried = {}, Counter()
    for body in bodies(name).values():
        also = also_free(body)
        assert passes(body, tmp_path / "document.json") or also == CLAIMED
        for path, how, new in mutants(body):
            place = general(body, path)
            tried[place, how] += 1
            if (
                is_free(place, how, also)
                or not is_tried(name, place, how)
                or (tried[place, how] > 1 and not EVERYWHERE)
            ):
                continue
            if passes(mutated(body, path, how, new), tmp_path / "document.json"):
                missed.setdefault(place, set()).add(how)
    assert not missed


def test_whom_a_release_protects_is_the_forgers_choice_and_the_page_says_so(tmp_path):
    """A release of rows with `person` and one row each: no sum, no noise and no cost is another."""
    body = as_released(bodies("moments")["release"])
    body["certificate"]["domain"] |= {"person": "patient", "rows_per_person": 1}
    body["certificate"]["unit"] = Domain.from_dict(body["certificate"]["domain"]).unit.short
    body["format_version"] = 5
    assert passes(body, tmp_path / "forged.json")
    page = Path(__file__).parents[2] / "docs" / "reference" / "certificate.md"
    assert "`person`, `rows_per_person`, `weights` and `largest_weight`" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["classes", "Poisson"])
def test_a_promise_of_nothing_is_found_and_takes_no_longer(name, tmp_path):
    """The search for epsilon began at that of the file, and doubled it."""
    (body,) = bodies(name).values()
    for epsilon in (0.0, 1e-300):
        forged = mutated(body, ("certificate", "guarantee", "epsilon"), "zero", epsilon)
        assert not passes(forged, tmp_path / "document.json")
