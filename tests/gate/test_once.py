"""The one driver of mechanisms: certified before anything is spent where that can be, and never released unlisted."""

import pytest
from drawn import no_draw

from discreet import Budget, Domain
from discreet.errors import GuaranteeError
from discreet.gate.once import Drawn, once
from discreet.gate.session import Session, promised
from discreet.mechanisms.posterior_sampling.event import BallEvent

DOMAIN = Domain({"x": (0, 1), "y": (0, 1)})


def session(random_state=None):
    return Session(promised(1, None, None, "add-remove", pure=True), "OPS", None, random_state)


def event(gamma):
    design = ("(intercept)", "x")
    norms = {"norm": DOMAIN.norms[design] ** 0.5 * (1 + 1e-14), "outcome": 1 + 1e-14}
    return BallEvent(design=design, target="y", neighbors="add-remove", radius=1.0, penalty=1.0, gamma=gamma, **norms)


def test_what_is_planned_is_certified_before_anything_is_spent():
    with (
        Budget(5, 1e-3, neighbors="add-remove", adding=True) as budget,
        no_draw(),
        pytest.raises(GuaranteeError, match="does not keep"),
    ):
        once(session(), DOMAIN, lambda entropy: pytest.fail("drawn"), planned=[event(gamma=100.0)])
    assert budget.to_dict()["releases"] == []


def test_what_turns_out_otherwise_than_planned_is_certified_again():
    with Budget(5, 1e-3, neighbors="add-remove", adding=True) as budget:
        with pytest.raises(GuaranteeError, match="does not keep"):
            once(session(), DOMAIN, lambda entropy: Drawn(0.5, (event(100.0),)), planned=[event(0.1)])
        certificate, value = once(session(), DOMAIN, lambda entropy: Drawn(0.5, (event(0.05),)), planned=[event(0.1)])
    assert [own.gamma for own in certificate.events] == [0.05]
    assert value == 0.5
    assert len(budget.to_dict()["releases"]) == 2, "what was drawn is paid for, released or not"


def test_what_is_not_listed_is_not_released():
    with pytest.raises(GuaranteeError, match="not listed"):
        once(session(random_state=0), DOMAIN, lambda entropy: Drawn(0.5))


def test_a_session_releases_once():
    own = session(random_state=0)
    once(own, DOMAIN, lambda entropy: Drawn(0.5, (event(0.1),)))
    with pytest.raises(GuaranteeError, match="charged once"):
        once(own, DOMAIN, lambda entropy: Drawn(0.5, (event(0.1),)))
