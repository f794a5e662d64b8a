"""Attacks on a search for bounds: the sound release passes, and one with less noise on its counts is caught."""

import pytest

from discreet import Domain
from discreet.audit import Neighbours, audit, subject_of
from discreet.drivers import run
from discreet.gate import statistics
from discreet.gate.noise import add_normal_on_grid
from discreet.gate.statistics import noisy_blocks
from discreet.statistics.searching import MAGNITUDES

DOMAIN = Domain({"x": "number", "y": "number"})
FAR = {"x": 1000.0, "y": -1000.0}


def attacked(fits, **options):
    given = {"domain": DOMAIN, "rows": None} | options
    subject = subject_of("DPLinearRegression", 8.0, 1e-6, **given)
    return audit(subject, fits=fits, pair=Neighbours(DOMAIN, ({"x": 0.0, "y": 0.0},) * 32, (), (FAR,)), seed=1)


@pytest.mark.more
def test_noise_that_is_a_fifth_too_small_is_caught(monkeypatch):
    sound = attacked(40)
    assert any(block.kind is MAGNITUDES for event in sound.promise.events for block in event.statistics)
    assert not sound.broken
    assert all(0.9 < noise.ratio < 1.1 for noise in sound.noise.values())

    def less(x, sd, m, source):
        return add_normal_on_grid(x, 0.8 * sd, m, source)

    monkeypatch.setattr(statistics, "add_normal_on_grid", less)
    found = attacked(40)
    assert found.broken
    assert min(noise.ratio for noise in found.noise.values()) < 0.9


@pytest.mark.more
def test_counts_without_noise_are_caught(monkeypatch):
    """Only those by sign and power of two: all other noise is as it should be."""
    size = MAGNITUDES.shape(None)[0]

    def forget(exact, noise, entropy):
        kept = []
        for own, parts, sds in zip(noisy_blocks(exact, noise, entropy), exact, noise, strict=True):
            bare = tuple(
                statistics.GridValues(m - more, tuple((part >> m).tolist()))
                for part, (_, m, more) in zip(parts, sds, strict=True)
            )
            kept.append(bare if len(parts[0]) == size else own)
        return tuple(kept)

    monkeypatch.setattr(run, "noisy_blocks", forget)
    assert attacked(40).broken


@pytest.mark.more
def test_a_person_with_many_weighted_rows_stays_within_the_promise():
    domain = DOMAIN.with_unit(person="who", rows_per_person=2, weights="w", largest_weight=2.0)
    subject = subject_of("DPLinearRegression", 8.0, 1e-6, domain=domain, rows=None)
    common = tuple({"x": 0.0, "y": 0.0, "who": i, "w": 1.0} for i in range(32))
    own = tuple({**FAR, "who": 99, "w": 2.0} for _ in range(5))
    assert not audit(subject, fits=60, pair=Neighbours(domain, common, (), own), seed=2).broken
