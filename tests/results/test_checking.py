"""`discreet.load` and `discreet.check`: any saved document, and the same findings as the command line has."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import DPLogisticRegression, DPRidge, ManyResults, PrivateMoments, Results, ReuseCov
from discreet.core.files import write_document
from discreet.errors import FileFormatError, ParameterError

DATA = Path(__file__).parents[1] / "files"
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (3000, 2))
FACTS = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, 1)}


@pytest.fixture(scope="module")
def fitted():
    return {
        "ridge": DPRidge(**FACTS, bounds_y=(0, 2)).fit(X, X.sum(axis=1)),
        "classes": DPLogisticRegression(**FACTS, classes=[False, True]).fit(X, X[:, 0] > 0.5),
        "many": ReuseCov(**FACTS, bounds_y=(0, 1)).fit(X, X),
    }


@pytest.mark.parametrize(
    ("model", "held", "kind"),
    [
        ("ridge", "release_", PrivateMoments),
        ("ridge", "results_", Results),
        ("classes", "results_", Results),
        ("many", "results_", ManyResults),
    ],
)
def test_every_kind_is_loaded_and_checked(fitted, model, held, kind, tmp_path):
    saved = getattr(fitted[model], held)
    saved.save(tmp_path / "saved.json")
    loaded = discreet.load(tmp_path / "saved.json")
    assert isinstance(loaded, kind)
    assert loaded.certificate == saved.certificate
    of_file, of_object = discreet.check(tmp_path / "saved.json"), discreet.check(loaded)
    assert of_file
    assert of_object.ok
    assert of_file.findings == of_object.findings
    assert of_file.signature.status == "unsigned"
    assert of_object.signature is None


def test_an_estimator_and_a_certificate_are_checked_too(fitted):
    model = fitted["ridge"]
    assert discreet.check(model).findings == discreet.check(model.release_).findings
    assert list(discreet.check(model.certificate_)) == model.certificate_.check()


def test_old_files_are_loaded():
    assert isinstance(discreet.load(DATA / "v1.gram.release.json"), PrivateMoments)
    assert isinstance(discreet.load(DATA / "v1.results.json"), Results)
    assert discreet.check(DATA / "v1.outcome.release.json")


def test_a_plan_is_loaded_as_its_facts(tmp_path):
    write_document(tmp_path / "plan.json", {"kind": "plan", "format_version": 1, "method": "DPLinearRegression"})
    assert discreet.load(str(tmp_path / "plan.json"))["method"] == "DPLinearRegression"


def test_other_documents_are_named(tmp_path):
    write_document(tmp_path / "head.json", {"kind": "ledger head", "format_version": 1})
    with pytest.raises(FileFormatError, match=r"head\.json is no release.*the head of a ledger"):
        discreet.load(tmp_path / "head.json")


def forged(folder):
    """A release whose noise is too small for its promise."""
    body = json.loads((DATA / "v1.gram.release.json").read_text())
    body["certificate"]["guarantee"]["epsilon"] /= 10
    del body["sha256"]
    write_document(folder / "forged.json", body)
    return folder / "forged.json"


def test_the_findings_are_those_of_the_command_line(tmp_path, run):
    shutil.copy(DATA / "v1.gram.release.json", tmp_path / "good.json")
    for path, code in ((tmp_path / "good.json", 0), (forged(tmp_path), 1)):
        found = discreet.check(path)
        assert found.ok is bool(found) is (code == 0)
        ran = run("check", path, "--json")
        assert ran.code == code
        assert json.loads(ran.out) == json.loads(json.dumps(found.to_dict()))
        assert bool(found.failures) is not found.ok
        for finding in found:
            assert finding.what in str(found)
        assert ("FAILS" in str(found)) is (code == 1)
        assert "<table" in found._repr_html_()


def test_what_cannot_be_checked_is_said(fitted):
    with pytest.raises(ParameterError, match="check takes"):
        discreet.check(DPRidge())
    with pytest.raises(ParameterError, match="Files are signed"):
        discreet.check(fitted["ridge"], key="key.pem")
