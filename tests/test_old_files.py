"""Files of older format versions, kept in tests/data, still load, check and give the same numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from discreet import Moments, PrivateMoments, release
from discreet.domain import Domain

DATA = Path(__file__).parent / "data"
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
    """Least squares stays as it is, up to the common factor that undoes clipping; other models may become better."""
    released = PrivateMoments.load(DATA / name)
    expected = EXPECTED["fits"][name][model]
    features = ["age", "region", "member", "born"] if "gram" in name else None
    found = released.fit("income", features, model=model).params
    assert list(found) == list(expected)
    if model == "ols":
        slopes = [key for key in expected if key != "(intercept)"]
        factor = found["age"] / expected["age"] if "outcome" in name else 1.0
        assert [found[key] / factor for key in slopes] == pytest.approx([expected[key] for key in slopes], rel=1e-7)
    assert np.isfinite(list(found.values())).all()


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
