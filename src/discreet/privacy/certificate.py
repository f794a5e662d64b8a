"""Certificates: what was promised, what was released, and how to check one against the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from discreet.core.checks import LARGEST_ROWS
from discreet.core.field_kinds import COUNT, FLAG, SHA256, TEXT, many, maybe, record, whole
from discreet.core.fields import Fields, FileRecord
from discreet.core.files import differences, digest
from discreet.core.rounding import ROOM, up
from discreet.domain import Domain
from discreet.errors import FileFormatError, GuaranteeError, printable
from discreet.privacy import accounting, sensitivity
from discreet.privacy.contradictions import contradictions
from discreet.privacy.events.coefficients import CoefficientEvent, UnaccountedEvent
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.kinds import EVENT, BlockEvent, Event
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.steps import incomplete, unpaid, unspent

VERSIONS = (1, 2, 3, 4, 5)
"""Versions of files that hold a certificate: 2 has derived columns, 3 stages, spans of counts, and sums of columns, 4
functions of columns, 5 persons and weights."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    what: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Receipt(FileRecord):
    """Where a release was paid for: a ledger by its id, an account of it, and an entry by its number and its hash."""

    ledger: str
    account: str
    entry: int
    hash: str

    FIELDS = Fields(
        "receipt",
        "",
        ledger=TEXT("Its id."),
        account=TEXT,
        entry=COUNT,
        hash=SHA256,
    )


@dataclass(frozen=True)
class Certificate(FileRecord):
    """The privacy certificate of a release.

    Parameters
    ----------
    guarantee : Guarantee
        The promise.
    method : str
        The algorithm.
    domain : Domain
        The public bounds that the noise was fitted to.
    events : tuple of events
        Everything that was released.
    rows : int, optional
        The public number of rows that was declared.
    software : str
        Name and version of the program.
    declared : Domain, optional
        The bounds as they were declared, where those of the outcome were narrowed by a private histogram.
    receipts : tuple of Receipt
        Where the release was paid for, if a ledger counts it.
    """

    guarantee: Guarantee
    method: str
    domain: Domain
    events: tuple[Event, ...] = ()
    rows: int | None = None
    software: str = ""
    declared: Domain | None = None
    receipts: tuple[Receipt, ...] = ()

    @property
    def counted_rows(self) -> int | None:
        """The declared number of rows, where each counts 1; sums of weights are not known from it."""
        return self.rows if self.domain.unit.plain else None

    @property
    def simulation(self) -> bool:
        """Whether the noise came from a seed, so that nothing is promised."""
        return self.guarantee.status == "simulation"

    def refuse_simulation(self, what: str, again: str) -> None:
        """Refuse to save as a public release what hides nobody."""
        if self.simulation:
            raise GuaranteeError(
                f"This {what} is a simulation: its noise came from a seed or was left out, so it hides nobody. "
                f"{again} again without random_state, or save it with simulation=True for a study on public data."
            )

    @cached_property
    def epsilon(self) -> float:
        """An epsilon that the listed events keep, recomputed; infinite where they list what no release has."""
        promised = self.guarantee
        try:
            return accounting.epsilon(self.events, promised.delta, promised.epsilon or 1.0) if self.events else 0.0
        except (ArithmeticError, ValueError):
            return math.inf

    def check(self) -> list[Finding]:
        """Recompute the noise's cost from the bounds and the listed noise, and compare it with the promise.

        Also whether the list of events is a complete one of the method, whether listed noise accounts for bounds that
        were narrowed, and what contradicts what.
        """
        findings = [self._examine(event) for event in self.events]
        promised = self.guarantee.epsilon
        ok = self.epsilon <= promised
        findings.append(Finding("epsilon of all events", ok, f"recomputed {self.epsilon:.6g}, promised {promised:g}"))
        wrong = {
            "list of events": incomplete(self.method, self.events),
            "cost of all stages": unspent(self.events, self.guarantee),
            "bounds that were narrowed": unpaid(self.domain, self.declared, self.blocks),
        }
        findings += [Finding(what, False, why) for what, why in wrong.items() if why is not None]
        findings += [Finding(what, False, why) for what, why in contradictions(self)]
        reason = self.guarantee.reason or "proven and tested"
        findings.append(Finding(f"status is {self.guarantee.status!r}", not self.simulation, reason))
        return findings

    def _examine(self, event: Event) -> Finding:
        """Whether the noise of one event fits the bounds and the relation."""
        if isinstance(event, BlockEvent | StageEvent) and not event.blocks:
            return Finding("noise on nothing", False, "an event lists no statistic, so its noise hides nothing")
        try:
            return self._compare(event)
        except (ArithmeticError, ValueError):
            return Finding("noise of an event", False, "it lists what no release has, so its cost cannot be recomputed")

    def _compare(self, event: Event) -> Finding:
        neighbors = self.guarantee.neighbors
        if not self.domain.unit.plain and not isinstance(event, GaussianEvent | StageEvent):
            return Finding("noise of an event", False, "it is proven for rows that count alike, one a person")
        if isinstance(event, GaussianEvent):
            mu = sensitivity.mu(event.blocks, self.domain, neighbors)
            names = ", ".join(block.name for block in event.blocks)
            listed = _is_bound(event.mu, mu, sensitivity.mu_of_before(event.blocks, self.domain, neighbors))
            return Finding(f"noise on {names}", listed, f"mu {mu:.6g}, listed {event.mu:.6g}")
        if isinstance(event, StageEvent):
            event.coordinates.check(self.domain)
            if _has_meat(event) and bool(event.radii) == self.domain.unit.plain:
                return Finding(f"noise on {event.name}", False, "scores of persons have a radius, and others have none")
            mu = sensitivity.mu(event.blocks, event.coordinates, neighbors)
            same = _is_bound(event.mu, mu)  # a stage that lists more than its noise costs leaves something out
            return Finding(f"noise on {event.name}", same, f"mu {mu:.6g}, listed {event.mu:.6g}")
        if isinstance(event, SampledEvent | PublicOutcomesEvent):
            return self._examine_outcomes(event)
        norm = self._norm(event)
        supported = _is_bound(event.norm, norm)
        if isinstance(event, CoefficientEvent):
            outcome = sensitivity.norm((event.target,), self.domain)
            fits = supported and _is_bound(event.outcome, outcome) and event.neighbors == neighbors
            detail = f"norm of a row {norm:.6g}, listed {event.norm:.6g}"
            return Finding(f"noise on {event.name}", fits and event.keeps(), detail)
        ok = supported and event.neighbors == neighbors and event.keeps_declared()
        stage = "" if event.declared is None else f", held to epsilon {event.declared[0]:.6g} declared beforehand"
        detail = f"norm of a row {norm:.6g}, listed {event.norm:.6g}{stage}"
        return Finding(f"noise in the {event.loss.name} objective", ok, detail)

    def _norm(self, event: ObjectiveEvent | CoefficientEvent) -> float:
        """The norm of a row of an event: of its columns, or of their coordinates in a stage."""
        turned = event.coordinates if isinstance(event, ObjectiveEvent) else None
        if turned is None:
            return sensitivity.norm(event.design, self.domain)
        turned.check(self.domain)
        if turned.design != event.design or len(turned.axes) != len(event.design):
            raise ValueError("the coordinates of an objective are of other columns than its own")
        return sensitivity.norm(turned.axes, turned)

    def _examine_outcomes(self, event: SampledEvent | PublicOutcomesEvent) -> Finding:
        """The same for a sample of the rows, and for public outcomes, whose norms whoever has them can recompute."""
        names = ", ".join(block.name for block in event.blocks)
        if isinstance(event, SampledEvent):
            mu, stated = sensitivity.mu(event.blocks, self.domain, self.guarantee.neighbors), event.full_mu
            most: float | None = sensitivity.mu_of_before(event.blocks, self.domain, self.guarantee.neighbors)
            what, more = f"noise on {names} of a sample", f", of a share {event.rate:g} of the rows"
        else:
            mu, stated, most = sensitivity.public_mu(event.blocks, self.domain, event.norm), event.mu, None
            what, more = f"noise on {names}, outcomes public", f", norm of the public outcomes {event.norm:.6g}"
            outcomes = [name for block in event.blocks for name in block.columns]
            sensitivity.refuse_mixed(self.domain, outcomes)
            if event.norm > up(sensitivity.norm(outcomes, self.domain), ROOM):
                return Finding(what, False, f"no outcomes within the bounds have a norm of {event.norm:.6g}")
        ok = _is_bound(stated, mu, most) and event.neighbors == self.guarantee.neighbors
        return Finding(what, ok, f"mu {mu:.6g}, listed {stated:.6g}{more}")

    @property
    def blocks(self) -> list[Block]:
        """The statistics of mapped columns that were released with Gaussian noise."""
        return [block for event in self.events if isinstance(event, BlockEvent) for block in event.blocks]

    @property
    def format_version(self) -> int:
        """The oldest version of files that can hold the certificate, so that older programs read what they can."""
        new = any(block.statistic in ("sums", "diagonal") for block in self.blocks)
        parts = [self, *self.events, *self.blocks]
        return max(3 if new else 1, self.domain.format_version, *(part.FIELDS.version(part) for part in parts))

    FIELDS = Fields(
        "certificate",
        "What was promised, and what was released with how much noise.",
        guarantee=record(Guarantee),
        method=TEXT("The algorithm."),
        unit=TEXT("Whom the promise protects.", attribute="domain.unit.short", derived=True),
        simulation=FLAG("True if nothing is promised.", derived=True),
        rows=maybe(whole(1, maximum=LARGEST_ROWS))("The public, declared number of rows; never read from the data."),
        domain=record(Domain)("The bounds that values were clipped to."),
        declared=maybe(record(Domain))(
            "The bounds as declared, where those of the outcome were narrowed.", absent=None, old=True
        ),
        events=many(EVENT)("Everything that was released, in order."),
        software=TEXT("Program and version."),
        ledger=many(record(Receipt))("The entries that paid for the release.", attribute="receipts", absent=()),
    )

    @property
    def digest(self) -> str:
        """SHA-256 of the certificate, by which a ledger knows it."""
        return digest(self.to_dict())

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild a certificate from `to_dict`."""
        try:
            certificate = super().from_dict(facts)
            consistent = certificate._names_columns()
            differing = differences(facts, certificate.to_dict())
        except FileFormatError:
            raise
        except Exception:  # whatever is not a certificate may fail in any way
            raise FileFormatError("The certificate is incomplete or of another kind.") from None
        gaussian = any(event.mu > 0 or isinstance(event, SampledEvent) for event in certificate.events)
        if not consistent:
            raise FileFormatError(
                "The certificate contradicts itself: its declared columns are not those of its domain."
            )
        if gaussian and not certificate.guarantee.delta > 0:
            raise FileFormatError("The certificate contradicts itself: Gaussian noise keeps no promise with delta = 0.")
        if differing:
            raise FileFormatError(f"The certificate contradicts itself: {'; '.join(differing)}.")
        return certificate

    def _names_columns(self) -> bool:
        """Whether events and declared bounds are about the columns of the domain; unknown ones raise a KeyError."""
        for event in self.events:
            if isinstance(event, BlockEvent):
                self.domain.indices([name for block in event.blocks for name in (*block.rows, *block.columns)])
            elif isinstance(event, StageEvent):
                event.coordinates.check(self.domain)
            else:
                self.domain.indices([*event.design, *([] if event.target is None else [event.target])])
                if isinstance(event, ObjectiveEvent) and event.coordinates is not None:
                    event.coordinates.check(self.domain)
        return self.declared is None or list(self.declared.columns) == list(self.domain.columns)

    def words(self) -> str:
        """The certificate in plain words, a statement a paragraph."""
        g = self.guarantee
        facts = [_PROMISE[g.status].format(g=g, factor=_factor(g.epsilon)), *self._facts(), _LIMITS]
        return "\n".join(map(printable, facts))

    def _facts(self) -> list[str]:
        unit = self.domain.unit
        facts = [unit.words(self.guarantee.neighbors)]
        facts += [] if unit.person is None else [_COUNTING.format(m=unit.rows_per_person)]
        facts += [] if unit.weights is None else [_WEIGHTS.format(unit=unit)]
        others = [event for event in self.events if not isinstance(event, BlockEvent | StageEvent)]
        if self.events:
            own = [event.name for event in self.events if not isinstance(event, BlockEvent)]
            names = ", ".join([*(block.name for block in self.blocks), *dict.fromkeys(own)])
            known = f"Recomputed from that noise, epsilon is at most {self.epsilon:.4g}."
            known = known if math.isfinite(self.epsilon) else "That noise does not bound epsilon."
            facts.append(f"Released with noise: {names}. {known}")
        else:
            facts.append("Nothing was computed from the data.")
        inexact = [block.name for block in self.blocks if not block.exact]
        bounded = (event for event in others if not event.exact and not isinstance(event, UnaccountedEvent))
        inexact += list(dict.fromkeys(event.name for event in bounded))
        if inexact:
            facts.append(f"In floating point, with a bound on its error in the noise: {', '.join(inexact)}.")
        facts += self._narrowed()
        facts += [_SAMPLE.format(share=event.rate) for event in self.events if isinstance(event, SampledEvent)]
        facts += [_PUBLIC for event in self.events if isinstance(event, PublicOutcomesEvent)]
        if self.rows is not None:
            facts.append(f"The number of rows was declared as {self.rows}; it was not read from the data.")
        return facts + [_COUNTED.format(r=receipt) for receipt in self.receipts]

    def _narrowed(self) -> list[str]:
        if self.declared is None:
            return []
        return [
            f"Bounds of {name!r}: declared {self.declared.columns[name].short()}, narrowed to {column.short()} by the "
            "noisy counts listed above. Values outside were moved to the nearest bound."
            for name, column in self.domain.columns.items()
            if self.declared.columns[name] != column
        ]


_PROMISE = {
    "verified": "This release keeps (epsilon = {g.epsilon:g}, delta = {g.delta:g}) differential privacy, proven and "
    "accounted for: the probability of anything that anyone may conclude from it is at most {factor} times what it "
    "would be without any one person's data, plus {g.delta:g}.",
    "claimed": "A paper states (epsilon = {g.epsilon:g}, delta = {g.delta:g}) differential privacy for this method. "
    "We do not vouch for its proof: {g.reason}",
    "simulation": "SIMULATION: this release promises no privacy. {g.reason}",
}
_COUNTING = "A person counts for at most {m} rows: where somebody has n of them and n is more, each counts {m}/n."
_WEIGHTS = "Rows are weighted by {unit.weights!r}; weights above {unit.largest_weight:g} were moved to it."
_SAMPLE = (
    "X'X was computed from a secret random sample of about {share:g} of the rows, which is counted: whoever "
    "learns which rows are in it is promised less."
)
_COUNTED = "Counted as entry {r.entry} of ledger {r.ledger:.8}, account {r.account!r}."
_PUBLIC = (
    "The outcomes were declared PUBLIC, and with them the number of rows and which row has which outcomes: nothing "
    "about them is protected. The promise covers the features only."
)
_LIMITS = "The promise is about what the release adds; it does not hide what is true of people in general."


def _has_meat(event: StageEvent) -> bool:
    return any(block.statistic == "meat" for block in event.blocks)


def _is_bound(listed: float, found: float, most: float | None = None) -> bool:
    """Whether a listed norm or mu is the one found again, or lies up to `most`, but for rounding errors."""
    return found <= listed <= up(found if most is None else most, ROOM)


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 20 else f"e^{epsilon:g}"
