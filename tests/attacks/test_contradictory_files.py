"""`discreet check` passed files that contradict themselves or cannot be, and read a file anew for its signature.

Every field of a file is now recomputed, compared with another one, or bounded by what tables and noise can do; what is
left to a forger is listed (tests/results/test_every_field.py, docs/reference/certificate.md). A file is read once, and
its content and its signature are those of the same bytes, also from a pipe.
"""

import copy
import json
import os
import threading
from pathlib import Path

import pytest
from every_file import DOMAIN, PROMISE, as_released, bodies, table
from small_table import people

from discreet import Moments, release
from discreet.core.files import digest
from discreet.gate.entropy import NO_NOISE

pytestmark = pytest.mark.filterwarnings("ignore")
FAR = 10**13
"""In units of a grid: ten thousand standard deviations of noise."""


def written(body, name="forged.json"):
    """A file with a fitting digest, as a forger writes it."""
    Path(name).write_text(json.dumps(body | {"sha256": digest(body)}))
    return name


def told(run, body):
    """The exit code, and what was found wrong."""
    ran = run("check", written(body), "--json")
    assert "Traceback" not in ran.err
    found = json.loads(ran.out)["findings"] if ran.code < 2 else []
    return ran.code, [f"{one['what']}: {one['detail']}" for one in found if not one["ok"]] or [ran.err]


def place(body, statistic, stage=True):
    """Where the values of the first statistic of its kind stand."""
    blocks = [
        (block["statistic"], "coordinates" in event)
        for event in body["certificate"]["events"]
        for block in event.get("blocks", [])
    ]
    return blocks.index((statistic, stage))


def shift(body, statistic, part, entry, by, stage=True):
    own = body["values"][place(body, statistic, stage)][part]["integers"]
    own[entry] = str(int(own[entry]) + by)


# -------------------------------------------------------------------- no noise


def moments_without_noise():
    return release(Moments.from_source(people(500), DOMAIN), **PROMISE | {"random_state": NO_NOISE})


@pytest.mark.parametrize("make", [moments_without_noise, lambda: table(random_state=NO_NOISE).release_])
def test_no_noise_relabelled_as_verified(make, run):
    code, why = told(run, as_released(make()._document()))
    assert code == 1
    assert "as they are without noise" in " ".join(why)


# -------------------------------------------------------------------- what cannot be


def far_below(body):
    own = body["values"][0][0]["integers"]
    body["values"][0][0]["integers"] = [str(-(10**15) << 26)] * len(own)


def negative_squares(body):
    shift(body, "gram", 0, 1, -FAR)


def negative_counts(body):
    shift(body, "counts", 0, 3, -FAR)


def more_counts_than_rows(body):
    shift(body, "counts", 0, 3, FAR)


def product_beyond_squares(body):
    shift(body, "gram", 1, 1, FAR, stage=False)


def cross_beyond_squares(body):
    shift(body, "cross", 0, 1, FAR)


def no_intercept(body):
    body["certificate"]["domain"]["intercept"] = False


def norm_of_no_column(body):
    body["certificate"]["domain"] |= {"data_norm": 5.0, "norm_columns": []}


def unknown_method(body):
    body["certificate"]["method"] = "SecretSauce"


def claimed_by_no_paper(body):
    body["certificate"]["guarantee"] |= {"status": "claimed", "reason": "a paper states it"}


def verified_with_a_reason(body):
    body["certificate"]["guarantee"]["reason"] = "No noise was added."


def larger_mu(body):
    body["certificate"]["events"][0]["mu"] *= 1.01


def unknown_entry(body):
    body["certificate"]["audited"] = "by nobody"


def lost_entry(body):
    del body["certificate"]["unit"]


def other_software(body):
    body["certificate"]["software"] = "a program"


def huge_coefficient(body):
    body["coef"][0][0] = 1e300


def another_link(body):
    body["link"] = "log"


def negative_eigenvalue(body):
    body["certificate"]["events"][0]["eigenvalue"] = -1e6


def weaker_solver(body):
    body["certificate"]["events"][0]["tolerance"] /= 1e6


def smaller_errors(body):
    body["inference"]["sampling"] = [[value / 100 for value in row] for row in body["inference"]["sampling"]]


def other_slopes(body):
    body["coef"][0] = [2 * value for value in body["coef"][0]]


def lost_release(body):
    body["release"] = "somewhere"


CONTRADICTIONS = [
    ("moments", "release", far_below, "below 0"),
    ("staged", "release", negative_squares, "U'U: a matrix of products has an eigenvalue below 0"),
    ("staged", "release", negative_counts, "never below 0"),
    ("staged", "release", more_counts_than_rows, "number of rows"),
    ("moments", "release", product_beyond_squares, "X'X: a matrix of products has an eigenvalue below 0"),
    ("staged", "release", cross_beyond_squares, "U'e: a"),
    ("moments", "release", no_intercept, "models with no intercept, and what was released is about '(intercept)'"),
    ("AdaSSP", "results", no_intercept, "models without an intercept, and the model has one"),
    ("moments", "release", norm_of_no_column, "does not fit|parts do not fit|incomplete|no column"),
    ("moments", "release", unknown_method, "does not know the method 'SecretSauce'"),
    ("OPS", "release", unknown_method, "does not know the method 'SecretSauce'"),
    ("moments", "release", claimed_by_no_paper, "has no constants of a paper"),
    ("moments", "release", verified_with_a_reason, "the promise is verified, and gives a reason why it is not"),
    ("moments", "release", larger_mu, "noise on X'X: mu"),
    ("moments", "release", unknown_entry, "certificate.audited is unknown here|audited is unknown here"),
    ("moments", "release", lost_entry, "unit is missing"),
    ("moments", "release", other_software, "'a program' is no version of discreet"),
    ("OPS", "release", huge_coefficient, "larger than the listed penalty and noise can make them"),
    ("objective", "release", huge_coefficient, "larger than the listed penalty and noise can make them"),
    ("OPS", "release", another_link, "what was released is no Poisson regression"),
    ("AdaOPS", "release", negative_eigenvalue, "the least eigenvalue of X'X is below 0"),
    ("objective", "release", weaker_solver, "the tolerance of the solver and the noise on the result do not fit"),
    ("Poisson", "release", smaller_errors, "standard errors do not follow from the released values"),
    ("Poisson", "release", other_slopes, "the coefficients do not follow from the released values"),
    ("staged", "results", lost_release, "names no digest of its release"),
]


@pytest.mark.parametrize(
    ("name", "kind", "forge", "why"),
    CONTRADICTIONS,
    ids=[f"{name}: {forge.__name__}" for name, _, forge, _ in CONTRADICTIONS],
)
def test_a_contradiction_is_told(name, kind, forge, why, run):
    body = copy.deepcopy(bodies(name)[kind])
    assert told(run, body)[0] == 0, "the file as it was passes"
    forge(body)
    code, found = told(run, body)
    assert code in (1, 2)
    assert any(one in " ".join(" ".join(found).split()) for one in why.split("|")), found


def test_all_contradictions_are_told_at_once(run):
    body = copy.deepcopy(bodies("staged")["release"])
    for forge in (negative_squares, no_intercept, unknown_method, other_software, verified_with_a_reason):
        forge(body)
    code, found = told(run, body)
    assert code == 1
    for words in ("eigenvalue below 0", "no intercept", "'SecretSauce'", "'a program'", "gives a reason"):
        assert words in " ".join(found)


# -------------------------------------------------------------------- one reading


@pytest.fixture
def signed(run, tmp_path):
    """A release with its signature, and the same with other bounds."""
    body = bodies("moments")["release"]
    written(body, "release.json")
    assert run("sign", "--new-key", "custodian").code == 0
    assert run("sign", "release.json", "--key", "custodian.private.pem").code == 0
    other = copy.deepcopy(body)
    other["certificate"]["domain"]["columns"]["age"]["high"] = 45.0
    return (tmp_path / "release.json").read_bytes(), Path(written(other, "other.json")).read_bytes()


def test_a_file_that_is_swapped_while_it_is_read_is_not_signed(signed, run, monkeypatch):
    """Whoever can write the file shows one content to the check, and another to the signature."""
    genuine, other = signed
    read, turns = Path.read_bytes, iter([other, other])

    def swapped(path):
        return next(turns, genuine) if path.name == "release.json" else read(path)

    monkeypatch.setattr(Path, "read_bytes", swapped)
    ran = run("check", "release.json", "--key", "custodian.public.pem", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["signature"]["status"] == "forged"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names on this system")
def test_a_pipe_is_read_once_for_content_and_signature(signed, run):
    genuine, other = signed
    for content, expected in ((genuine, (0, "verified")), (other, (1, "forged"))):
        os.mkfifo("pipe.json")
        writer = threading.Thread(target=Path("pipe.json").write_bytes, args=(content,), daemon=True)
        writer.start()
        ran = run("check", "pipe.json", "--key", "custodian.public.pem", "--signature", "release.json.sig", "--json")
        assert ran.code == expected[0], ran.err
        assert json.loads(ran.out)["signature"]["status"] == expected[1]
        writer.join(10)
        Path("pipe.json").unlink()


# -------------------------------------------------------------------- what is no document


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"method":', '"method": "SSP", "method":', 1),
        lambda text: text.replace('"epsilon": 1.0', '"epsilon": NaN', 1),
        lambda text: text.replace('"epsilon": 1.0', '"epsilon": Infinity', 1),
        lambda text: text.replace('"epsilon": 1.0', '"epsilon": ' + "[" * 100_000 + "]" * 100_000, 1),
        lambda text: text[: len(text) // 2],
    ],
    ids=["an entry twice", "NaN", "Infinity", "nested too deeply", "half"],
)
def test_what_is_no_document_is_refused_in_words(change, run):
    written(bodies("moments")["release"])
    Path("forged.json").write_text(change(Path("forged.json").read_text()))
    ran = run("check", "forged.json")
    assert ran.code == 2
    assert "forged.json" in ran.err
    assert "Traceback" not in ran.err
