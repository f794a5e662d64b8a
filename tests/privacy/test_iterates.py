"""Iterates in certificates: small files that hold all that checks and per-instance losses need."""

import base64
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from discreet import NoisyGradientDescent, NoisySGD, Results
from discreet.errors import FileFormatError
from discreet.mechanisms.gradient_descent.event import MAX_POINTS, kept, pack, unpack
from discreet.per_instance import losses
from discreet.released.certificate import Certificate
from discreet.results.saved import load_certificate

FACTS = {"epsilon": 1.0, "delta": 1e-6, "bounds_X": (-1, 1), "bounds_y": (-1, 1)}


def table(n, d):
    X = np.random.default_rng(0).uniform(-1, 1, (n, d))
    return X, np.clip(X @ np.linspace(0.5, -0.3, d) / d, -1, 1)


def test_points_come_back_exactly():
    rng = np.random.default_rng(1)
    for width, count in ((1, 1), (3, 0), (3, 40), (7, 200)):
        points = tuple((rng.integers(-(2**29), 2**29, width * count) / 2**16).tolist())
        assert tuple(unpack(pack(points, width), width)) == points


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no base64",
        base64.b64encode(b"no zlib").decode(),
        base64.b64encode(zlib.compress(bytes(4))).decode(),
        base64.b64encode(zlib.compress(bytes(8))[:-1]).decode(),
        base64.b64encode(zlib.compress(bytes(8)) + b"more").decode(),
        base64.b64encode(zlib.compress(bytes(8 * MAX_POINTS + 8))).decode(),
        12,
        [0.0, 0.0],
        None,
    ],
)
def test_damaged_text_is_refused(text):
    """The last but three would unpack to more than any descent has: a small file cannot fill the memory."""
    with pytest.raises(FileFormatError, match="damaged"):
        unpack(text, 2)


def test_points_are_kept_on_the_lattice_and_in_the_ball():
    theta = np.random.default_rng(2).normal(size=5)
    near = kept(theta, 100.0)
    assert np.abs(near - theta).max() <= 2.0**-17
    assert np.array_equal(np.rint(near * 2**16), near * 2**16)
    assert np.linalg.norm(kept(theta * 50, 2.0)) == pytest.approx(2, abs=1e-4)
    assert not kept(np.zeros(3), 1.0).any()


@pytest.mark.parametrize("cls", [NoisyGradientDescent, NoisySGD])
def test_a_saved_model_is_small_and_tells_everything_again(cls, tmp_path):
    X, y = table(3000, 9)
    model = cls(**FACTS, rows=100_000).fit(X, y)
    path = tmp_path / "model.json"
    model.release_.save(path)
    assert path.stat().st_size < 30_000
    (event,), loaded = model.certificate_.events, load_certificate(path)
    assert len(event.iterates) >= 128 * 10
    assert loaded == model.certificate_ == Results.load(path).certificate
    assert loaded.events[0].mu == event.mu
    assert all(finding.ok for finding in loaded.check())
    before, after = losses((X, y), model), losses((X, y), path)
    assert before.epsilon().tolist() == after.epsilon().tolist()
    assert 0 < after.epsilon().max() <= 1


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_certificate_with_other_iterates_or_less_noise_is_found_out(neighbors):
    certificate = NoisyGradientDescent(**FACTS, rows=500, neighbors=neighbors).fit(*table(500, 2)).certificate_
    (event,) = certificate.events
    assert event.keeps()

    def holds(**changes):
        return all(finding.ok for finding in replace(certificate, events=(replace(event, **changes),)).check())

    assert holds()
    assert not holds(step_mu=event.step_mu * 1.001)
    assert not holds(iterates=())
    assert not holds(iterates=tuple(v + 0.5 for v in event.iterates))
    assert not holds(iterates=event.iterates + event.iterates[:3])
    facts = json.loads(json.dumps(certificate.to_dict()))
    assert Certificate.from_dict(facts) == certificate
    facts["events"][0]["iterates"] = pack(event.iterates[:-3], 3)[:-2]
    with pytest.raises(FileFormatError, match="damaged"):
        Certificate.from_dict(facts)
    facts["events"][0]["design"] = []
    with pytest.raises(FileFormatError):
        Certificate.from_dict(facts)
