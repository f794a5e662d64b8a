r"""The parts of a release and their costs to a row, in one format for all mechanisms.

A mechanism is added by a function from its event to `Part` s, under `parts_of`, in ``loss.py`` of its folder below
`discreet.mechanisms`; Gaussian sums have theirs in this folder. An event without one gets the certificate's own curve
for everybody, and the result says so. A part is one of three kinds:

* Gaussian: `cost` gives mu_i^2. Gaussian parts add up, blocks and stages together;
* a `curve`: `cost` gives statistics of the row, a line each, and the curve tells delta_i(epsilon) from them;
* `laws`: `cost` gives the place of each row's law among some, the last of which covers everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.data.moments import Moments
from discreet.per_instance.curves import LossCurve
from discreet.per_instance.eigenvalue import Spectrum
from discreet.per_instance.leverage import LeaveOneOut, LeverageRidge
from discreet.per_instance.stream import EncodedRows
from discreet.privacy.events.base import Event, beside
from discreet.privacy.laws import Law, Point
from discreet.released.certificate import Certificate


@dataclass(frozen=True)
class Part:
    """One part of a release and its cost to each row."""

    name: str
    cost: Callable[[EncodedRows], Floats]  # mu_i^2; with `curve`, statistics; with `laws`, the place of a law
    everyone: float | Floats | None = 0.0  # for the worst row of the domain; None: only the certificate is known
    note: str = ""  # why it is a bound; empty where it is exact
    given: str = ""  # the earlier release that fixed this part's noise scale
    column: str | None = None  # the one that it was computed from alone, in its declared bounds
    laws: tuple[Law, ...] = ()  # of the loss, at some levels
    curve: LossCurve | None = None  # known for every row


@dataclass(frozen=True)
class Pair:
    """A replacement row, encoded in the domain of the release and in that of its counts."""

    used: Floats
    declared: dict[str, Floats]


_Survey = Callable[[Callable[[EncodedRows], Floats]], Floats]


class LossFacts:
    """Facts besides the row that the cost of a part may depend on; **confidential**.

    `survey` and `survey_targets` are passes over the table and over targets, from a function of `EncodedRows` to its
    numbers for every row; `adding` tells whether rows are targets, and `pair` is the replacement under replace-one.
    """

    def __init__(
        self,
        certificate: Certificate,
        moments: Callable[[], Moments],
        survey: _Survey,
        survey_targets: _Survey,
        *,
        adding: bool,
        pair: Pair | None,
    ) -> None:
        self.certificate, self.adding, self.pair = certificate, adding, pair
        self._moments, self.survey, self.survey_targets = moments, survey, survey_targets
        self.domain = certificate.domain  # with the bounds that rows were clipped to
        self.replaces = certificate.guarantee.neighbors == "replace-one"  # rows are not added or removed
        self._fits: dict[Any, LeverageRidge] = {}

    @cached_property
    def moments(self) -> Moments:
        """The exact moments, summed up only where a part needs them."""
        return self._moments()

    def touched(self, rows: EncodedRows) -> Floats:
        """Return 1 for a row whose change may affect the release; under replace-one this includes dropped rows."""
        return np.ones(len(rows.Z)) if self.replaces else rows.present

    def spectrum(self, design: tuple[str, ...]) -> Spectrum:
        """Return the spectrum of X'X."""
        return Spectrum(self.moments.floats(self.domain.indices(design)))

    def ridge(self, design: tuple[str, ...], target: str, penalty: float) -> LeverageRidge:
        """Return the exact ridge fit of the table."""
        key = design, target, penalty
        if key not in self._fits:
            gram = self.moments.floats(self.domain.indices([*design, target]))
            self._fits[key] = LeverageRidge(gram[:-1, :-1], gram[:-1, -1], penalty)
        return self._fits[key]

    def leave_one_out(
        self, rows: EncodedRows, design: tuple[str, ...], target: str, penalty: float, A: Floats | None = None
    ) -> LeaveOneOut:
        """Return leave-one-out quantities of the rows, computed once for all parts that need them."""

        def work() -> LeaveOneOut:
            fit, X = self.ridge(design, target, penalty), rows.Z[:, span(self.domain.indices(design))]
            ask = fit.adding if self.adding else fit.without
            return ask(X, rows.Z[:, self.domain.indices([target])[0]], A)

        return rows.once(("leave one out", design, target, penalty, id(A)), work)

    def __repr__(self) -> str:
        return "LossFacts(confidential)"


_Maker = Callable[[Any, LossFacts], list[Part]]
_Needs = Callable[[Any], bool]
_MAKERS: dict[type, tuple[_Maker, _Needs]] = {}


def parts_of(event: type, *, moments: _Needs = lambda event: False) -> Callable[[_Maker], _Maker]:
    """Register the cost of events of a type; `moments` tells whether an event's depends on the moments of the table."""

    def keep(maker: _Maker) -> _Maker:
        _MAKERS[event] = maker, moments
        return maker

    return keep


def parts(facts: LossFacts) -> list[Part]:
    """List the parts of all events of a certificate."""
    return [part for event in facts.certificate.events for part in _maker(event)[0](event, facts)]


def needs_moments(certificate: Certificate) -> bool:
    """Return whether costs depend on the exact moments of the rows."""
    return any(_maker(event)[1](event) for event in certificate.events)


def _maker(event: Event) -> tuple[_Maker, _Needs]:
    """Find the function that lists the parts of an event in the folder of its mechanism; its own curve without one."""
    beside(type(event), "loss")
    return _MAKERS.get(type(event), (own_curve, lambda event: False))


def own_curve(event: Any, facts: LossFacts, why: str = "the certificate's own bound for everybody") -> list[Part]:
    """Use the event's own curve for everybody."""
    name = event.name
    found = []
    if event.mu > 0:
        found.append(Part(name, lambda rows: event.mu**2 * facts.touched(rows), event.mu**2, why))
    if event.law is not None:
        found.append(Part(name, facts.touched, note=why, laws=(Point(0.0), event.law)))
    return found


def span(indices: list[int]) -> slice | list[int]:
    """Return contiguous coordinates as a slice, which needs no copy."""
    together = indices == list(range(indices[0], indices[0] + len(indices)))
    return slice(indices[0], indices[-1] + 1) if together else indices
