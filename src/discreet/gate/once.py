"""The driver of mechanisms that release once: it charges, lets them draw, certifies and commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.domain import Domain
from discreet.errors import GuaranteeError
from discreet.gate.entropy import Entropy
from discreet.gate.session import Session
from discreet.privacy.events.base import Event
from discreet.released.certificate import Certificate

Values = TypeVar("Values")


@dataclass(frozen=True)
class Drawn(Generic[Values]):
    """The draw of a mechanism.

    Parameters
    ----------
    values : object
        The values to release.
    events : tuple of events
        The events to list, where they depend on the draw; empty where they are as planned.
    returned : float
        The unused epsilon, which is not promised.
    """

    values: Values
    events: tuple[Event, ...] = ()
    returned: float = 0.0


def once(
    session: Session,
    domain: Domain,
    draw: Callable[[Entropy], Drawn[Values]],
    *,
    planned: Sequence[Event] = (),
    mu: float | None = None,
    epsilon: float | None = None,
) -> tuple[Certificate, Values]:
    """Charge for the draw of a mechanism, draw, certify and commit.

    Whatever can fail for public reasons is checked by the caller, before anything is spent. Nothing that was drawn
    leaves this function without its certificate, which is checked against the promise; what fails was paid for.

    Parameters
    ----------
    session : Session
        The promise, and the budgets that count it.
    domain : Domain
        The bounds of the columns.
    draw : callable
        A function from random words to a draw.
    planned : sequence of events
        The events, where they are known beforehand: they are certified before anything is spent, and their cost is
        charged if it exceeds the promise.
    mu, epsilon : float, optional
        The price, as `Session.charge` takes it; the promise by default.
    """
    certificate = session.certify(domain, *planned) if planned else None
    if certificate is not None and epsilon is None and not session.simulation:
        epsilon = max(session.promise.epsilon, certificate.epsilon)
    entropy = session.charge(domain, mu=mu, epsilon=epsilon)
    drawn = draw(entropy)
    if drawn.events:
        certificate = session.certify(domain, *drawn.events, returned=drawn.returned)
    if certificate is None:
        raise GuaranteeError("What was drawn is not listed. This is a defect of discreet.")
    return session.commit(certificate), drawn.values
