"""Certificates: what they say, and what a recomputation finds in them, forgeries included."""

import json
import math
from dataclasses import replace

import pytest
from small_table import people_moments

from discreet import AdaSSP, Domain, PrivateMoments, TrivialRegressor, release
from discreet.core.files import digest
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block
from discreet.released.certificate import Certificate

BALL = Domain({"age": (18, 90), "hours": (0, 80), "income": (0, 200_000)}, data_norm=100, norm_columns=["age", "hours"])
CASES = {
    "all columns": (people_moments(), {}),
    "an outcome": (people_moments(), {"targets": ["income"]}),
    "replace-one": (people_moments(), {"targets": ["income"], "neighbors": "replace-one"}),
    "in a ball": (people_moments(BALL), {}),
}
PUBLIC = {name: release(moments, epsilon=1, delta=1e-6, **options) for name, (moments, options) in CASES.items()}


def findings(certificate):
    return {finding.what: finding.ok for finding in certificate.check()}


@pytest.mark.parametrize("name", PUBLIC)
def test_an_honest_certificate_passes(name):
    certificate = PUBLIC[name].certificate
    assert set(findings(certificate).values()) == {True}
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate
    assert certificate.epsilon == pytest.approx(1, abs=1e-9)
    assert certificate.epsilon <= 1


# -------------------------------------------------------------------- forgeries with a fitting digest


def lower_epsilon(facts):
    facts["guarantee"]["epsilon"] = 0.9


def lower_delta(facts):
    facts["guarantee"]["delta"] = 1e-7


def promise_more_neighbours(facts):
    facts["guarantee"]["neighbors"] = "replace-one"


def lower_mu(facts):
    facts["events"][0]["mu"] *= 0.99


def lower_epsilon_and_mu(facts):
    facts["guarantee"]["epsilon"] = 0.9
    facts["events"][0]["mu"] *= 0.8


def lower_an_sd(facts):
    facts["events"][0]["blocks"][-1]["sd"] *= 0.999


def lose_the_ball(facts):
    """Rows may now be longer than the noise was fitted to."""
    del facts["domain"]["data_norm"], facts["domain"]["norm_columns"]


def shrink_the_ball_to_a_column(facts):
    facts["domain"]["norm_columns"] = ["age"]


ANY = ["all columns", "an outcome", "in a ball"]
FORGERIES = [
    *((name, lower_epsilon) for name in PUBLIC),
    *((name, lower_delta) for name in PUBLIC),
    *((name, lower_mu) for name in PUBLIC),
    *((name, lower_epsilon_and_mu) for name in PUBLIC),
    *((name, lower_an_sd) for name in PUBLIC),
    *((name, promise_more_neighbours) for name in ANY),
    ("in a ball", lose_the_ball),
    ("in a ball", shrink_the_ball_to_a_column),
]


@pytest.mark.parametrize(("name", "forge"), FORGERIES, ids=[f"{name}: {f.__name__}" for name, f in FORGERIES])
def test_a_forger_who_mends_the_digest_is_found_by_recomputation(name, forge, tmp_path):
    path = tmp_path / "release.json"
    PUBLIC[name].save(path)
    body = json.loads(path.read_text())
    forge(body["certificate"])
    path.write_text(json.dumps(body))
    with pytest.raises(ValueError, match="damaged or edited"):
        PrivateMoments.load(path)
    path.write_text(json.dumps(body | {"sha256": digest(body)}))
    assert False in findings(PrivateMoments.load(path).certificate).values()


def test_bounds_in_other_units_do_not_touch_the_promise():
    """Noise is stated in units of the mapped columns, so bounds decide what a coefficient means, not what it costs."""
    facts = PUBLIC["all columns"].certificate.to_dict()
    facts["domain"]["columns"]["income"]["high"] = 300_000.0
    assert set(findings(Certificate.from_dict(facts)).values()) == {True}


def test_which_check_failed_is_said():
    certificate = PUBLIC["an outcome"].certificate
    promise = replace(certificate.guarantee, epsilon=0.5)
    assert findings(replace(certificate, guarantee=promise)) == {
        "noise on X'X, X'y, y'y": True,
        "epsilon of all events": False,
        "noise": False,  # of a recipe that promises less
        "status is 'verified'": True,
    }
    (event,) = certificate.events
    assert findings(replace(certificate, events=(replace(event, mu=event.mu / 2),))) == {
        "noise on X'X, X'y, y'y": False,
        "epsilon of all events": True,
        "status is 'verified'": True,
    }
    twice = replace(certificate, events=(event, event))
    assert twice.epsilon > 1.4
    assert not findings(twice)["epsilon of all events"]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_statistic_that_is_released_twice_costs_twice(neighbors):
    domain = CASES["an outcome"][0].domain
    gram, cross, squares = PUBLIC["an outcome"].blocks

    def cost(*blocks):
        return sensitivity.mu(blocks, domain, neighbors) ** 2

    for block in (gram, cross, squares):
        assert cost(block, block) == pytest.approx(2 * cost(block))
    pair = cost(gram, cross)
    assert cost(gram, cross, gram, cross) == pytest.approx(2 * pair)
    assert cost(gram, gram, cross) == pytest.approx(pair + cost(gram))
    assert cost(gram, cross, cross) == pytest.approx(pair + cost(cross))
    uniform = replace(gram, layout="uniform")
    apart = cost(uniform) + cost(cross)
    assert cost(uniform, cross) < apart if neighbors == "replace-one" else cost(uniform, cross) == pytest.approx(apart)
    assert cost(gram, uniform, cross) == pytest.approx(pair + cost(uniform))


def test_events_compose_exactly():
    block = Block("squares", (), ("income",), 5.0)
    certificate = PUBLIC["all columns"].certificate
    (event,) = certificate.events
    other = replace(event, blocks=(block,), mu=sensitivity.mu([block], certificate.domain, "add-remove"))
    both = replace(certificate, events=(event, other))
    mu = math.hypot(event.mu, 0.2)
    assert both.epsilon == pytest.approx(replace(certificate, events=(replace(event, mu=mu),)).epsilon, rel=1e-12)


# -------------------------------------------------------------------- words


@pytest.mark.parametrize("name", PUBLIC)
def test_plain_words_say_what_matters(name):
    words = PUBLIC[name].certificate.words()
    assert "at most 2.72 times" in words
    for phrase in ("epsilon = 1", "delta = 1e-06", "one row is one person", "proven", "plus 1e-06", "X'X"):
        assert phrase in words
    assert ("the number of rows is not hidden" in words) == (name == "replace-one")
    assert "{" not in words


def test_words_of_a_simulation_promise_nothing():
    certificate = release(people_moments(), epsilon=1, delta=1e-6, random_state=0).certificate
    assert "SIMULATION: this release promises no privacy" in certificate.words()
    assert "keeps" not in certificate.words()
    assert findings(certificate)["status is 'simulation'"] is False


def test_inexact_statistics_are_named():
    certificate = AdaSSP(epsilon=1, delta=1e-6).fit_moments(people_moments(), "income").certificate_
    assert "In floating point" in certificate.words()
    assert [block["exact"] for block in certificate.to_dict()["events"][0]["blocks"]] == [False, True, True]
    assert "In floating point" not in PUBLIC["all columns"].certificate.words()


def test_large_epsilons_have_words_too():
    certificate = PUBLIC["all columns"].certificate
    promise = replace(certificate.guarantee, epsilon=50.0)
    assert "at most e^50 times" in replace(certificate, guarantee=promise).words()


def test_the_certificate_of_nothing_round_trips():
    certificate = TrivialRegressor(bounds_y=(0, 1)).fit([[1.0]], [0.5]).certificate_
    assert Certificate.from_dict(certificate.to_dict()) == certificate
