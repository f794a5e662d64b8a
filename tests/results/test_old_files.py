"""Files of older format versions, kept in tests/files, still load, check and give the same numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import Moments, PrivateMoments, Results, release
from discreet.core.files import digest, write_document
from discreet.domain import Domain
from discreet.errors import FileFormatError, GuaranteeError
from discreet.released.units import user_units

DATA = Path(__file__).parents[1] / "files"
EXPECTED = json.loads((DATA / "v1.expected.json").read_text())
RELEASES = list(EXPECTED["fits"])


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_of_version_1(name):
    assert json.loads((DATA / name).read_text())["format_version"] == 1
    released = PrivateMoments.load(DATA / name)
    assert all(finding.ok for finding in released.certificate.check())
    assert released.certificate.guarantee.status == "verified"
    assert released.certificate.epsilon == pytest.approx(EXPECTED["epsilon"][name], rel=1e-12)


@pytest.mark.parametrize("model", ["ols", "ridge", "noise-aware"])
@pytest.mark.parametrize("name", RELEASES)
def test_models_of_a_release_of_version_1(name, model):
    """Least squares without first levels stays as it is, up to the common factor that undoes clipping.

    Models may become better, as those of releases that hold first levels did.
    """
    released = PrivateMoments.load(DATA / name)
    expected = EXPECTED["fits"][name][model]
    features = ["age", "region", "member", "born"] if "gram" in name else None
    found = released.fit("income", features, model=model).coefficients
    assert list(found) == list(expected)
    assert np.isfinite(list(found.values())).all()
    if model == "ols":
        e = released.equations("income", features)
        gram, cross = released.find("gram", e.names), released.find("cross", e.names, ["income"])
        known = released.domain.exclusive(released.domain.indices(e.names))
        S, v = np.where(known, 0.0, gram.pick(e.names, e.names)), cross.pick(e.names, ["income"])[:, 0]
        coef, _ = user_units(released, e).params(np.linalg.solve(S, v))
        slopes = [expected[key] for key in expected if key != "(intercept)"]
        factor = coef[0] / slopes[0] if "outcome" in name else 1.0
        assert coef / factor == pytest.approx(slopes, rel=1e-7)


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_of_version_1_is_saved_as_it_was(name, tmp_path):
    PrivateMoments.load(DATA / name).save(tmp_path / "again.json")
    old, new = (json.loads(path.read_text()) for path in (DATA / name, tmp_path / "again.json"))
    assert {key: new[key] for key in old if key not in ("sha256", "certificate")} == {
        key: old[key] for key in old if key not in ("sha256", "certificate")
    }
    assert old["certificate"].items() <= new["certificate"].items()


def test_moments_of_version_1(tmp_path):
    moments = Moments.load(DATA / "v1.moments.npz")
    assert moments.domain == PrivateMoments.load(DATA / "v1.gram.release.json").domain
    everything = list(range(len(moments.domain.entries)))
    assert moments.floats(everything).tolist() == EXPECTED["moments"]
    assert release(moments, epsilon=1, delta=1e-6).fit("income").target == "income"
    assert isinstance(moments.domain, Domain)
    moments.save(tmp_path / "again")
    assert Moments.load(tmp_path / "again") == moments


def test_results_of_version_1():
    loaded = Results.load(DATA / "v1.results.json")
    stored = json.loads((DATA / "v1.results.json").read_text())
    assert stored["format_version"] == 1
    assert loaded.coefficients == {"(intercept)": stored["intercept"]} | dict(
        zip(stored["names"], stored["coef"], strict=True)
    )
    assert all(finding.ok for finding in loaded.certificate.check())


def test_results_are_saved_whole_or_not_at_all(tmp_path):
    fitted = PrivateMoments.load(DATA / RELEASES[0]).fit("income", ["age"])
    fitted.save(tmp_path / "model.json")
    loaded = Results.load(tmp_path / "model.json")
    assert (loaded.coefficients, loaded.model, loaded.certificate) == (
        fitted.coefficients,
        fitted.model,
        fitted.certificate,
    )
    text = (tmp_path / "model.json").read_text()
    for damaged in (text[:-30], text.replace('"age"', '"wage"'), text.replace('"results"', '"release"')):
        (tmp_path / "damaged.json").write_text(damaged)
        with pytest.raises(FileFormatError):
            Results.load(tmp_path / "damaged.json")


def test_models_of_a_simulation_are_not_saved(tmp_path):
    simulated = release(Moments.load(DATA / "v1.moments.npz"), epsilon=1, delta=1e-6, random_state=1)
    with pytest.raises(GuaranteeError, match="simulation"):
        simulated.fit("income", ["age"]).save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


STAGED = ["logistic", "poisson"]
"""Models of 0.2, whose objectives were perturbed in the coordinates of a stage: read, and no longer made."""


@pytest.mark.parametrize("name", STAGED)
def test_perturbed_objectives_in_stages_are_read_with_their_intervals(name, tmp_path):
    path = DATA / "models" / f"{name}.model.json"
    body = json.loads(path.read_text())
    assert "objective perturbation" in [event["mechanism"] for event in body["certificate"]["events"]]
    loaded = discreet.load(path)
    assert discreet.check(path)
    assert (loaded.conf_int().to_numpy()[:, 0] < loaded.conf_int().to_numpy()[:, 1]).all()
    assert np.isfinite(loaded.std_err).all()
    assert "std err" in str(loaded)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert str(discreet.load(tmp_path / "again.json")) == str(loaded)


def less_noise(place):
    def change(body):
        event = body["certificate"]["events"][place]
        if "blocks" in event:
            event["mu"] *= 0.9
        else:
            event["scale"] *= 0.9

    return change


def lost(place):
    def change(body):
        events = body["certificate"]["events"]
        first = sum(len(event.get("blocks", ())) for event in events[:place])
        del body["values"][first : first + len(events[place].get("blocks", ()))]
        del events[place]

    return change


@pytest.mark.parametrize("change", [less_noise, lost])
@pytest.mark.parametrize("name", STAGED)
def test_every_cost_of_perturbed_objectives_in_stages_is_checked(name, change, tmp_path):
    body = json.loads((DATA / "models" / f"{name}.model.json").read_text())
    for place in range(len(body["certificate"]["events"])):
        forged = json.loads(json.dumps(body))
        change(place)(forged)
        path = tmp_path / f"{place}.json"
        path.write_text(json.dumps(forged | {"sha256": digest(forged)}))
        assert not discreet.check(path)


@pytest.mark.parametrize("name", STAGED)
def test_perturbed_objectives_in_stages_do_not_pass_for_scoring_steps(name, tmp_path):
    body = json.loads((DATA / "models" / f"{name}.model.json").read_text())
    body["certificate"]["recipe"] = {"name": "scoring steps", "stages": "auto", "covariance": "auto", "rules": 2}
    (tmp_path / "forged.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    assert not discreet.check(tmp_path / "forged.json")


MARKED = {
    "ada_ssp.release.json": ("AdaSSP as published in 003", []),
    "ada_ssp.results.json": ("AdaSSP as published in 003", []),
    "objective.model.json": ("ObjectivePerturbation as published in 000-code", ["epsilon of all events"]),
    "ops.model.json": ("OPS as published in 000", []),
}


@pytest.mark.parametrize("name", MARKED)
def test_papers_by_their_shelf_marks_are_read_and_checked_as_ever(name, tmp_path):
    """Files of 0.2 name papers by marks; what is read is saved again to the last bit."""
    method, wrong = MARKED[name]
    path = DATA / "marks" / name
    loaded = discreet.load(path)
    assert loaded.certificate.method == method
    assert [finding.what for finding in discreet.check(path).failures] == wrong
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert method in str(loaded.certificate.to_dict())


def test_an_unknown_paper_is_found_in_a_file(tmp_path):
    body = json.loads((DATA / "marks" / "ada_ssp.release.json").read_text())
    del body["sha256"]
    body["certificate"]["method"] = "AdaSSP as published in 007"
    write_document(tmp_path / "forged.json", body)
    assert not discreet.check(tmp_path / "forged.json")
