"""Certificates: the promise, the events that were released, and checks of one against the other."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypeVar

from discreet.core import checks
from discreet.core.checks import LARGEST_ROWS
from discreet.core.field_kinds import (
    COUNT,
    FLAG,
    FROM_0,
    SHA256,
    TEXT,
    by_name,
    choice,
    either,
    many,
    maybe,
    record,
    whole,
)
from discreet.core.fields import ClosedFields, FieldKind, Fields, FileRecord, ref
from discreet.core.files import differences, digest
from discreet.domain import Domain
from discreet.drivers.replay import Mismatch, Values, encodings, event_words, outline, replay
from discreet.errors import DiscreetError, FileFormatError, GuaranteeError, MissingPackageError, printable
from discreet.privacy import accounting, gdp
from discreet.privacy.bounds import Bounds
from discreet.privacy.events.base import BlockEvent, Event, Finding, of_kind
from discreet.privacy.events.gaussian import Block
from discreet.privacy.events.kinds import EVENTS
from discreet.privacy.guarantee import Guarantee
from discreet.recipes.base import Facts
from discreet.recipes.methods import readers, recipe_of
from discreet.recipes.staged import Covariance
from discreet.released.contradictions import contradictions, unfound, unpaid
from discreet.statistics.searching import SearchCounts

Kind = TypeVar("Kind", bound=Event)

VERSIONS = (1, 2, 3, 4, 5, 6, 7, 8)
"""Versions of files that hold a certificate: 2 has derived columns, 3 stages, spans of counts, and sums of columns, 4
functions of columns, 5 persons and weights, 6 rules of a release in stages by version, 7 bounds that were searched
for."""


@dataclass(frozen=True)
class Receipt(FileRecord):
    """The payment for a release: a ledger by its id, an account of it, and an entry by its number and its hash."""

    ledger: str
    account: str
    entry: int
    hash: str

    FIELDS = Fields("receipt", "", ledger=TEXT("The id of the ledger."), account=TEXT, entry=COUNT, hash=SHA256)


_OPTIONS = ClosedFields(
    "recipe",
    "",
    name=TEXT,
    stages=either(whole(2), choice("auto"))(absent=None),
    covariance=choice(Covariance)(absent=None),
    rules=whole(2)("The version of the rules of a linear release in stages; 1 if there is none.", absent=None, since=6),
    shares=by_name(FROM_0)(absent=None),
)
_RECIPE = FieldKind(
    ref(_OPTIONS.name), lambda value: isinstance(value, dict) and TEXT.fits(value.get("name")), write=dict
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
    recipe : mapping, optional
        The name of the recipe of a release of statistics and its options; files of older versions have none.
    searched : Domain, optional
        The columns as they were declared, where a private search found the bounds of some.
    """

    guarantee: Guarantee
    method: str
    domain: Domain
    events: tuple[Event, ...] = ()
    rows: int | None = None
    software: str = ""
    declared: Domain | None = None
    receipts: tuple[Receipt, ...] = ()
    recipe: Mapping[str, Any] | None = field(default=None, hash=False)
    searched: Domain | None = None

    @property
    def facts(self) -> Facts:
        """The public facts that the recipe of the release starts from."""
        return Facts(self.searched or self.declared or self.domain, self.guarantee, self.rows)

    @property
    def found(self) -> str:
        """The bounds that a private search found, in words; "" where all were declared."""
        names = () if self.searched is None else self.searched.searched
        price = f", for {self._price}" if self._price else ""
        own = ", ".join(f"{name} {self.domain.columns[name].short()}" for name in names[:8])
        return f"{own}{', ...' * (len(names) > 8)}: found by a private search{price}" if names else ""

    @property
    def _price(self) -> str:
        """The cost of a search for bounds, in words; "" for the whole promise."""
        spent = [(any(isinstance(b.kind, SearchCounts) for b in e.statistics), e.mu * e.mu) for e in self.events]
        whole = sum(own for _, own in spent)
        share = sum(own for searched, own in spent if searched) / whole if 0 < whole < math.inf else 0.0
        return "" if share == 1 else f"{100 * share:.2g} % of mu²"

    @property
    def counted_rows(self) -> int | None:
        """The declared number of rows, where each counts 1; sums of weights are not known from it."""
        return self.rows if self.domain.unit.plain else None

    @property
    def simulation(self) -> bool:
        """Whether the noise came from a seed, so that nothing is promised."""
        return self.guarantee.status == "simulation"

    def refuse_simulation(self, what: str, again: str) -> None:
        """Refuse to save a simulation as a public release."""
        if self.simulation:
            raise GuaranteeError(
                f"This {what} is a simulation: its noise came from a seed or was left out, so it hides nobody. "
                f"{again} again without random_state, or save it with simulation=True for a study on public data."
            )

    @cached_property
    def epsilon(self) -> float:
        """An epsilon that the listed events keep, recomputed; infinite if no release can list them."""
        promised = self.guarantee
        try:
            return accounting.epsilon(self.events, promised.delta, promised.epsilon or 1.0) if self.events else 0.0
        except (ArithmeticError, ValueError):
            return math.inf

    def check(self, values: Values | None = None) -> list[Finding]:
        """Recompute the cost of the noise, and replay the recipe of the release; compare both with the listed events.

        Parameters
        ----------
        values : sequence, optional
            The noisy values that were released. Without them only the list of statistics is compared, and their noise
            where no value decides it.
        """
        findings = self.check_costs()
        if (mismatch := self.mismatch(values)) is not None:
            findings.insert(-1, Finding(mismatch.subject, False, mismatch.why))
        return findings

    def check_costs(self) -> list[Finding]:
        """Recompute the cost of the noise from the bounds and the listed noise, and compare it with the promise.

        Also whether listed noise accounts for bounds that were narrowed, and which entries contradict each other.
        """
        bounds = Bounds(self.domain, self.guarantee.neighbors)
        findings = [event.examine(bounds) for event in self.events]
        promised = self.guarantee.epsilon
        ok = self.epsilon <= promised
        findings.append(Finding("epsilon of all events", ok, f"recomputed {self.epsilon:.6g}, promised {promised:g}"))
        wrong = {
            "cost of all stages": unspent(self.events, self.guarantee),
            "bounds that were narrowed": unpaid(self.domain, self.declared, self.blocks),
            "bounds that were searched for": unfound(self.domain, self.searched, self.blocks),
        }
        findings += [Finding(what, False, why) for what, why in wrong.items() if why is not None]
        findings += [Finding(what, False, why) for what, why in contradictions(self)]
        reason = self.guarantee.reason or "proven and tested"
        findings.append(Finding(f"status is {self.guarantee.status!r}", not self.simulation, reason))
        return findings

    def encodings(self, values: Values) -> list[Domain]:
        """Return the bounds by which rows were encoded for each event of a search for bounds; none without one."""
        return self._search(values)[0]

    def unseen(self, values: Values) -> tuple[str, ...]:
        """Return the columns of which a search for bounds saw nothing."""
        return self._search(values)[1]

    def _search(self, values: Values) -> tuple[list[Domain], tuple[str, ...]]:
        recipe = recipe_of(self.method, self.facts, self.events, self.recipe)
        return ([], ()) if recipe is None else encodings(recipe, self.events, values)

    def mismatch(self, values: Values | None = None) -> Mismatch | None:
        """Return the first difference between the listed events and the recipe, if there is one."""
        if not readers(self.method):
            why = f"this version of discreet does not know the method {checks.shown(self.method)}"
            return Mismatch("list of events", f"{why}, so it cannot check what it lists")
        try:
            recipe = recipe_of(self.method, self.facts, self.events, self.recipe)
            if recipe is None:
                listed = "; ".join(map(event_words, self.events)) or "nothing"
                return Mismatch(
                    "list of events", f"no recipe of {self.method} is whole; the certificate lists {listed}"
                )
            if self.recipe is None and recipe.named and _NAMELESS.match(self.software) is None:
                return Mismatch("recipe", "the certificate names none, and releases of its version do")
            own = [recipe] if self.recipe is not None else recipe.guesses(self.events)
            if values is None or not own:
                return outline(recipe, self.events, noise=self.recipe is not None)
            found = [replay(guess, self.events, values, self.domain) for guess in own]
            return None if None in found else found[0]
        except (DiscreetError, ArithmeticError, ValueError, KeyError, IndexError, TypeError):
            return Mismatch("stages", "the recipe cannot be replayed: no release has what is listed")

    def of(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Return the events of one kind."""
        return of_kind(kind, self.events)

    @property
    def blocks(self) -> list[Block]:
        """The statistics of mapped columns that were released with Gaussian noise."""
        return [block for event in self.of(BlockEvent) for block in event.blocks]

    @property
    def format_version(self) -> int:
        """The oldest version of files that can hold the certificate, so that older programs can read it."""
        events = (event.format_version for event in self.events)
        options = (_OPTIONS.rows[key].since for key in self.recipe or () if key in _OPTIONS.rows)
        return max([self.FIELDS.version(self), self.domain.format_version, *events, *options])

    FIELDS = Fields(
        "certificate",
        "The promise, and everything that was released, with its noise.",
        guarantee=record(Guarantee),
        method=TEXT("The algorithm."),
        unit=TEXT("Whom the promise protects.", attribute="domain.unit.short", derived=True),
        simulation=FLAG("True if nothing is promised.", derived=True),
        rows=maybe(whole(1, maximum=LARGEST_ROWS))("The public, declared number of rows; never read from the data."),
        domain=record(Domain)("The bounds that values were clipped to."),
        declared=maybe(record(Domain))(
            "The bounds as declared, where those of the outcome were narrowed.", absent=None, old=True
        ),
        searched=maybe(record(Domain))(
            "The columns as declared, where a private search found the bounds of some.", absent=None, since=7
        ),
        events=EVENTS("Everything that was released, in order."),
        software=TEXT("Program and version."),
        recipe=_RECIPE(
            "The recipe of a release of statistics, and its options: with the released values, all that is needed to "
            "ask its questions again.",
            absent=None,
        ),
        ledger=many(record(Receipt))("The entries that paid for the release.", attribute="receipts", absent=()),
    )

    @property
    def digest(self) -> str:
        """The SHA-256 of the certificate, by which a ledger knows it."""
        return digest(self.to_dict())

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild a certificate from `to_dict`."""
        try:
            certificate = super().from_dict(facts)
            consistent = certificate._names_columns()
            differing = differences(facts, certificate.to_dict())
        except (FileFormatError, MissingPackageError):
            raise
        except Exception:  # whatever is not a certificate may fail in any way
            raise FileFormatError("The certificate is incomplete or of another kind.") from None
        gaussian = any(event.needs_delta for event in certificate.events)
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
            event.check_columns(self.domain)
        others = (own for own in (self.declared, self.searched) if own is not None)
        return all(list(own.columns) == list(self.domain.columns) for own in others)

    def words(self) -> str:
        """Return the certificate in plain words, a statement a paragraph."""
        g = self.guarantee
        factor = f"{math.exp(g.epsilon):.3g}" if g.epsilon < 20 else f"e^{g.epsilon:g}"
        facts = [_PROMISE[g.status].format(g=g, factor=factor), *self._facts(), _LIMITS]
        return "\n".join(map(printable, facts))

    def _facts(self) -> list[str]:
        unit = self.domain.unit
        facts = [unit.words(self.guarantee.neighbors)]
        facts += [] if unit.person is None else [_COUNTING.format(m=unit.rows_per_person)]
        facts += [] if unit.weights is None else [_WEIGHTS.format(unit=unit)]
        facts += [_DEVIATIONS] if self.domain.deviates else []
        if self.events:
            own = dict.fromkeys(event.name for event in self.events if event.name)
            names = grouped([*(block.name for block in self.blocks), *own])
            known = f"Recomputed from that noise, epsilon is at most {self.epsilon:.4g}."
            known = known if math.isfinite(self.epsilon) else "That noise does not bound epsilon."
            facts.append(f"Released with noise: {names}. {known}")
        else:
            facts.append("Nothing was computed from the data.")
        inexact = [block.name for block in self.blocks if not block.exact]
        inexact += dict.fromkeys(event.name for event in self.events if not event.exact and event.accounted)
        if inexact:
            facts.append(f"In floating point, with a bound on its error in the noise: {grouped(inexact)}.")
        facts += self._narrowed()
        facts += [remark for event in self.events for remark in event.remarks]
        if self.rows is not None:
            facts.append(f"The number of rows was declared as {self.rows}; it was not read from the data.")
        return facts + [_COUNTED.format(r=receipt) for receipt in self.receipts]

    def _narrowed(self) -> list[str]:
        if self.searched is not None:
            return [
                f"Bounds of {name!r}: {self.searched.columns[name].short()} was declared, and a private search found "
                f"{self.domain.columns[name].short()}, by the noisy counts listed above. Values outside were moved to "
                "the nearest bound."
                for name in self.searched.searched
            ] + [f"The search for bounds cost {self._price or 'the whole promise'}."]
        if self.declared is None:
            return []
        return [
            f"Bounds of {name!r}: declared {self.declared.columns[name].short()}, narrowed to {column.short()} by the "
            "noisy counts listed above. Values outside were moved to the nearest bound."
            for name, column in self.domain.columns.items()
            if self.declared.columns[name] != column
        ]


def grouped(names: Iterable[str]) -> str:
    """List names, each once, with how many times it occurs.

    Examples
    --------
    >>> grouped(["sums of x", "counts of y", "counts of y"])
    'sums of x, counts of y (twice)'
    """
    times = {1: "", 2: " (twice)"}
    return ", ".join(f"{name}{times.get(n, f' ({n} times)')}" for name, n in Counter(names).items())


_PROMISE = {
    "verified": "This release keeps (epsilon = {g.epsilon:g}, delta = {g.delta:g}) differential privacy, proven and "
    "accounted for: the probability of anything that anyone may conclude from it is at most {factor} times what it "
    "would be without any one person's data, plus {g.delta:g}.",
    "claimed": "A paper states (epsilon = {g.epsilon:g}, delta = {g.delta:g}) differential privacy for this method. "
    "We do not vouch for its proof: {g.reason}",
    "simulation": "SIMULATION: this release promises no privacy. {g.reason}",
}
_COUNTING = "A person counts for at most {m} rows: where somebody has n of them and n is more, each counts {m}/n."
_DEVIATIONS = "Each column was replaced by its deviation from the mean over the rows of the same person."
_WEIGHTS = "Rows are weighted by {unit.weights!r}; weights above {unit.largest_weight:g} were moved to it."
_COUNTED = "Counted as entry {r.entry} of ledger {r.ledger:.8}, account {r.account!r}."
_LIMITS = "The promise is about what the release adds; it does not hide what is true of people in general."


_NAMELESS = re.compile(r"discreet 0\.([0-2]\.|3\.0\.dev0$)")
"""Software whose certificates do not name their recipe."""

_UNSPENT = 1e-3
"""The share of mu that rounding may leave over; without the cheapest step, ten times as much would be left."""


def unspent(events: Sequence[Event], promise: Guarantee) -> str | None:
    """Return the reason that listed stages are incomplete: they cost less than the promise, which stages use up.

    A model in coordinates of a stage does so, too, where no other stage is listed.
    """
    if all(event.rotated is None for event in events):
        return None
    if promise.epsilon > gdp.LIMIT:
        return f"no noise is calibrated to epsilon = {promise.epsilon:g}"
    if any(event.law is not None for event in events):
        short = accounting.epsilon(events, promise.delta, promise.epsilon) < (1 - _UNSPENT) * promise.epsilon
        return "stages and objectives use all that is promised, and those that are listed do not" if short else None
    spent = math.sqrt(math.fsum(event.mu**2 for event in events))
    if spent >= (1 - _UNSPENT) * gdp.mu(epsilon=promise.epsilon, delta=promise.delta):
        return None
    return "stages use all that is promised, and those that are listed do not"
