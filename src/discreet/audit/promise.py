"""The trade-off between the two errors of any test that a certificate promises."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from discreet.audit.statistics import GuessCounts, Kind
from discreet.core.arrays import Floats
from discreet.privacy import accounting
from discreet.privacy.laws import Failure, together
from discreet.released.certificate import Certificate

_POINTS = 25


class TradeOff:
    """The trade-off function of a certificate, from its events and from the epsilon and delta that it states.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from discreet.audit.subjects import subject_of
    >>> model = subject_of("SSP", 1.0, 1e-6).fitted(pa.table({"x": [0.0], "y": [0.0]}), 0)
    >>> promise = TradeOff(model.certificate_)
    >>> promise.kind, round(float(promise.power(np.array([0.05]))[0]), 3)
    ('mu', 0.08)
    """

    def __init__(self, certificate: Certificate) -> None:
        self._certificate = certificate
        self.guarantee, self.events = certificate.guarantee, certificate.events

    @cached_property
    def mu(self) -> float:
        """The mu of the Gaussian parts of all events."""
        return accounting.mu(self.events)

    @cached_property
    def kind(self) -> Kind:
        """Whether the promise is that of Gaussian noise alone, so that it is one number, mu."""
        others = [law for law in accounting.laws(self.events) if not isinstance(law, Failure)]
        return "mu" if self.mu > 0 and not others else "epsilon"

    @cached_property
    def slip(self) -> float:
        """The probability with which a Gaussian promise may fail."""
        laws = accounting.laws(self.events)
        return math.fsum(law.probability for law in laws if isinstance(law, Failure))

    @cached_property
    def unmet(self) -> list[str]:
        """Findings of the certificate's own check for which a real release would be refused, apart from seeds."""
        seeded = f"status is {self.guarantee.status!r}"
        return [finding.what for finding in self._certificate.check() if not finding.ok and finding.what != seeded]

    @cached_property
    def _lines(self) -> list[tuple[float, float]]:
        """Pairs (epsilon, delta) that the certificate keeps."""
        stated = self.guarantee.epsilon, self.guarantee.delta
        if not self.events:
            return [stated]
        curve = together(accounting.laws(self.events), self.mu)
        return [stated, *((e, curve(e)) for e in np.linspace(0, 1.5 * stated[0], _POINTS).tolist())]

    def power(self, fp: Floats) -> Floats:
        """The largest power of a test, given its rate of false alarms."""
        if self.kind == "mu":
            with np.errstate(divide="ignore"):
                found: Floats = np.minimum(ndtr(ndtri(fp) + self.mu) + self.slip, 1.0)
            return found
        most = np.ones_like(fp)
        for epsilon, delta in self._lines:
            if epsilon > 700:
                continue
            most = np.minimum(most, delta + math.exp(epsilon) * fp)
            most = np.minimum(most, 1 - math.exp(-epsilon) * (1 - delta - fp))
        return np.clip(most, 0.0, 1.0)

    def broken_by(self, counts: GuessCounts, failure: float) -> bool:
        """Whether guesses prove, with this probability of error, that the promise is violated."""
        if self.kind == "mu":
            return counts.mu(failure, self.slip) > self.mu
        fp, fn = counts.rates(failure)
        return bool(1 - fn > self.power(np.array([fp]))[0] or 1 - fp > self.power(np.array([fn]))[0])
