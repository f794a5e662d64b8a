r"""What each event of a certificate costs each row: proofs in ``docs/mathematics.md``, section 10.

Gaussian noise of sd s_b on statistic f_b makes the loss of row i Gaussian with

    mu_i^2 = sum_b |f_b(table) - f_b(table without i)|^2 / s_b^2,

exactly, blocks and stages together. With z the encoded row, x = z_X and y = z_Y, the terms are

    X'X        |x|^4                       uniform layout: (|x|^4 + sum x_j^4)/2
    X'Y        |x|^2 |y|^2
    y'y        sum y_j^4
    counts     1
    lambda_min (lambda_min(A) - lambda_min(A - x x'))^2, rounding errors added (`eigenvalue`)

A mechanism is added by a function from its event to `Part` s, under `parts_of`. An event without one gets the
certificate's own curve for everybody, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import sensitivity
from discreet.domain import Domain
from discreet.moments import Moments
from discreet.per_instance.eigenvalue import Spectrum
from discreet.per_instance.stream import Rows
from discreet.privacy.certificate import Certificate
from discreet.privacy.events import Block, GaussianEvent
from discreet.privacy.laws import Law, Point
from discreet.privacy.objective import ObjectiveEvent

Floats = NDArray[np.float64]

LEVELS = 48
"""Norms of rows are rounded up to this many levels where a law depends on them."""


@dataclass(frozen=True)
class Part:
    """One part of a release and what it costs each row.

    Parameters
    ----------
    name : str
        How people call it.
    cost : callable
        From `Rows` to mu_i^2; or, with `laws`, to the place of each row's law among them.
    everyone : float
        mu^2 of the worst row of the domain, given this table.
    note : str
        Why it is a bound; empty where it is exact.
    column : str, optional
        Where the part was computed from one column alone, in its bounds as declared.
    laws : tuple of laws, optional
        For parts that are not Gaussian; the last one covers everybody.
    """

    name: str
    cost: Callable[[Rows], Floats]
    everyone: float = 0.0
    note: str = ""
    column: str | None = None
    laws: tuple[Law, ...] = ()


@dataclass(frozen=True)
class Pair:
    """A row that takes another's place, encoded in the domain of the release and in that of its counts."""

    used: Floats
    declared: dict[str, Floats]


class Facts:
    """What the cost of a part may depend on, besides the row; **confidential**."""

    def __init__(
        self, certificate: Certificate, moments: Callable[[], Moments], *, adding: bool, pair: Pair | None
    ) -> None:
        self.certificate, self.adding, self.pair = certificate, adding, pair
        self._moments = moments

    @property
    def domain(self) -> Domain:
        """The bounds that rows were clipped to."""
        return self.certificate.domain

    @property
    def replaces(self) -> bool:
        """Whether rows are replaced, and not added or removed."""
        return self.certificate.guarantee.neighbors == "replace-one"

    @cached_property
    def moments(self) -> Moments:
        """The exact moments, summed up only where a part needs them."""
        return self._moments()

    def spectrum(self, block: Block) -> Spectrum:
        """Of X'X."""
        return Spectrum(self.moments.floats(self.domain.indices(block.rows)))

    def __repr__(self) -> str:
        return "Facts(confidential)"


Maker = Callable[[Any, Facts], list[Part]]
_MAKERS: dict[type, Maker] = {}


def parts_of(event: type) -> Callable[[Maker], Maker]:
    """Register what events of a type cost each row."""

    def keep(maker: Maker) -> Maker:
        _MAKERS[event] = maker
        return maker

    return keep


def parts(facts: Facts) -> list[Part]:
    """The parts of all events of a certificate."""
    return [part for event in facts.certificate.events for part in _MAKERS.get(type(event), own_curve)(event, facts)]


def needs_moments(certificate: Certificate) -> bool:
    """Whether the rows must be summed up before the costs are known."""
    gaussian = [event for event in certificate.events if isinstance(event, GaussianEvent)]
    return any(block.statistic == "eigenvalue" for event in gaussian for block in event.blocks)


def own_curve(event: Any, facts: Facts) -> list[Part]:
    """The event's own curve, for everybody."""
    note = "the certificate's own bound for everybody"
    name = getattr(event, "name", type(event).__name__)
    found = []
    if event.mu > 0:
        found.append(Part(name, lambda rows: np.full(len(rows.Z), event.mu**2), event.mu**2, note))
    if event.law is not None:
        found.append(Part(name, lambda rows: np.zeros(len(rows.Z)), 0.0, note, laws=(event.law,)))
    return found


@parts_of(GaussianEvent)
def gaussian(event: GaussianEvent, facts: Facts) -> list[Part]:
    """Exact costs, block by block; under replace-one they are those of `replacement`."""
    if facts.replaces:
        from discreet.per_instance.replacement import against, worst

        return worst(event, facts) if facts.pair is None else against(event, facts, facts.pair)
    return [_block(block, facts) for block in event.blocks]


def _block(block: Block, facts: Facts) -> Part:
    everyone = (sensitivity.sensitivity(block, facts.domain) / block.sd) ** 2
    if block.statistic == "eigenvalue":
        spectrum = facts.spectrum(block)
        X, gap = span(facts.domain.indices(block.rows)), spectrum.gaps[1] if len(spectrum.gaps) > 1 else np.inf
        move = spectrum.rise if facts.adding else spectrum.fall
        most = min(everyone, float((gap + spectrum.error) / block.sd) ** 2)  # a row that is added: at most g_2
        return Part(
            block.name, lambda rows: ((move(rows.Z[:, X]) + rows.present * spectrum.error) / block.sd) ** 2, most
        )
    column = None
    if block.statistic == "counts" and facts.domain.missing == "drop":
        column = block.columns[0]
    return Part(block.name, lambda rows: change(block, facts.domain, rows) / block.sd**2, everyone, column=column)


def span(indices: list[int]) -> slice | list[int]:
    """Coordinates as a slice where they are neighbours, which needs no copy."""
    together = indices == list(range(indices[0], indices[0] + len(indices)))
    return slice(indices[0], indices[-1] + 1) if together else indices


def change(block: Block, domain: Domain, rows: Rows) -> Floats:
    """Squared change of a sum when one row comes or goes, weighted by its noise layout so that mu^2 = change/sd^2."""
    if block.statistic == "counts":
        return rows.present
    X, Y = domain.indices(block.rows), domain.indices(block.columns)
    if block.statistic == "gram":
        square = rows.norm2(X) ** 2
        return square if block.layout == "weighted" else (square + rows.norm4(X)) / 2
    if block.statistic == "cross":
        return rows.norm2(X) * rows.norm2(Y)
    return rows.norm4(Y)


@parts_of(ObjectiveEvent)
def objective(event: ObjectiveEvent, facts: Facts) -> list[Part]:
    """The event's bound at the row's own norm: a row moves the objective by its own gradient and Hessian alone."""
    if facts.replaces or event.declared is not None:
        return own_curve(event, facts)
    X, norms = facts.domain.indices(event.design), event.norm * np.arange(1, LEVELS + 1) / LEVELS
    laws: tuple[Law, ...] = (Point(0.0), *(replace(event, norm=float(norm)).law for norm in norms))
    note = "a bound from the norm of the row"

    def level(rows: Rows) -> Floats:
        places = np.searchsorted(norms, np.sqrt(rows.norm2(X)) * (1 - 2.0**-40)) + 1.0
        return np.where(rows.norm2(X) > 0, np.minimum(places, LEVELS), 0.0)

    output = Part("noise on the minimiser", lambda rows: event.mu**2 * rows.present, event.mu**2, note)
    return [Part(event.name, level, note=note, laws=laws), *([output] if event.mu else [])]
