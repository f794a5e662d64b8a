"""The service as a whole: state that pages, API and workers share."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any

from discreet.errors import DiscreetError, ParameterError
from discreet.ledger import Ledger
from discreet.service.balances import Balances, Price
from discreet.service.catalogue import Catalogue
from discreet.service.jobs import ConflictError, Jobs, StoredJob
from discreet.service.limited import SentText, limited_steps
from discreet.service.people import People, Person
from discreet.service.requests import PAID, SOLVES, CheckRequest, FitRequest, ModelRequest, takes_classes
from discreet.service.settings import Settings
from discreet.service.storage import Store
from discreet.service.witness import LedgerWitness
from discreet.service.work import Work


class NotFoundError(DiscreetError):
    """Something that does not exist, or that belongs to somebody else."""


class OverBudgetError(DiscreetError):
    """A request that costs more than is left of an account."""


READING = 10.0
"""Seconds that reading the formulas of a request may take."""

CLOSED = "This table takes no requests at the moment. The custodian knows why."


@dataclass(frozen=True)
class Quote:
    """The price of a request, and the releases that serve it for free."""

    price: Price | None
    why_not: str | None
    serves: list[dict[str, Any]]
    share: float | None
    """The share that the request takes of the part of the budget that pays."""


class Service:
    """A running service: its tables, jobs, people and balances.

    Parameters
    ----------
    settings : Settings
        The custodian's configuration.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.place(settings.service.database))
        self.ledger = Ledger(settings.place(settings.service.ledger))
        self.catalogue = Catalogue(settings, self.store)
        self.people = People(self.store)
        self.jobs = Jobs(self.store, settings.service.unfinished_jobs)
        self.witness = LedgerWitness(self.store, self.ledger)
        self.witness.start()
        self.balances = Balances(self.ledger)
        self.work = Work(self.catalogue, self.jobs, self.witness, self.ledger)
        self.steps = limited_steps(settings.service.preparation_megabytes)
        self._releases: dict[str, SentText] = {}
        self._check_accounts()

    @classmethod
    def open(cls, config: str) -> Service:
        """Open a service from its configuration."""
        return cls(Settings.from_file(config))

    def _check_accounts(self) -> None:
        for name, table in self.settings.tables.items():
            self.catalogue.place(name)
            self.ledger.account(table.account)
            self.balances.times(table.account, self.catalogue.domain(name).unit.person)

    # ---------------------------------------------------------------- requests

    def check(self, asked: Any, person: Person) -> None:
        """Refuse an invalid request, from public facts alone."""
        if asked.table not in self.catalogue:
            raise NotFoundError("There is no such table.")
        table = self.catalogue[asked.table]
        if getattr(asked, "epsilon", 0.0) > table.most_epsilon:
            raise ParameterError(f"epsilon may be at most {table.most_epsilon:g} for this table.")
        formulas = getattr(asked, "formulas", None) or [asked.formula]
        with self.steps.turn(person.name):
            self.steps.take(
                "read", seconds=READING, domain=self.catalogue.document(asked.table), formulas=formulas,
                classes=takes_classes(asked), most=table.most_coefficients,
            )  # fmt: skip

    def quote(self, asked: Any, person: Person) -> Quote:
        """Return the price of a request, whether the account holds it, and the releases that serve it for free."""
        self.check(asked, person)
        table, unit = self.catalogue[asked.table], self.catalogue.domain(asked.table).unit
        price, why_not, share = self.balances.price(asked, table, unit), None, None
        if price is not None:
            share = self.balances.share(table.account, price)
            try:
                self.balances.refuse(table.account, price)
            except DiscreetError as error:
                why_not = str(error)
        return Quote(price, why_not, self.serves(asked, person), share)

    def serves(self, asked: Any, person: Person) -> list[dict[str, Any]]:
        """Return current releases of an open table that a model can be fitted to for free, the most accurate first.

        Releases with another unit of privacy or other weights than the schema's are left out.
        """
        if getattr(asked, "method", None) not in SOLVES or not self.catalogue.is_open(asked.table):
            return []
        changed = self.catalogue.changed(asked.table)
        releases = self.jobs.releases(asked.table, self.whose(asked.table, person))
        known = {job.id: job for job in releases if (job.started or 0.0) >= changed}
        if not known:
            return []
        with self.steps.turn(person.name):
            found = self.steps.take(
                "serves", seconds=READING, domain=self.catalogue.document(asked.table), formula=asked.formula,
                releases={id_: self._release(id_) for id_ in known},
            )  # fmt: skip
        epsilons = {id_: known[id_].facts["epsilon"] for id_ in found}
        told = [{"release": id_, "epsilon": epsilons[id_], "columns": columns} for id_, columns in found.items()]
        return sorted(told, key=lambda one: -one["epsilon"])

    def whose(self, table: str, person: Person) -> str | None:
        """Return whose releases of a table somebody may fit models to: their own, or None for all."""
        return None if self.catalogue[table].shared else person.name

    def submit(self, person: Person, asked: Any, reference: str | None = None) -> tuple[StoredJob, bool]:
        """Queue a request; a paid one waits for the custodian first if the table requires it."""
        reference = reference or secrets.token_urlsafe(24)
        if (known := self.jobs.known(person, asked, reference)) is not None:
            return known, False
        quote, table, made = self.quote(asked, person), self.catalogue[asked.table], asked
        if isinstance(asked, FitRequest) and asked.reuse:
            as_good = [one for one in quote.serves if one["epsilon"] >= asked.epsilon]
            if as_good:
                facts: dict[str, Any] = {"table": asked.table, "formula": asked.formula, "model": SOLVES[asked.method]}
                made = ModelRequest(release=as_good[0]["release"], **facts)
        if isinstance(made, ModelRequest):
            self.release_of(made.release, person, made.table)
        if made.kind not in PAID or quote.price is None:
            return self.jobs.submit(person, asked, made, reference, None, "queued")
        if not self.catalogue.is_open(asked.table):
            raise ConflictError(CLOSED)
        if quote.why_not is not None:
            raise OverBudgetError(quote.why_not)
        state = "waiting" if table.approval else "queued"
        return self.jobs.submit(person, asked, made, reference, asdict(quote.price), state)

    def _release(self, id_: str) -> SentText:
        if id_ not in self._releases:
            self._releases[id_] = SentText(self.jobs.file(id_, "release.json") or "")
        return self._releases[id_]

    def recheck(self, person: Person, name: str) -> StoredJob:
        """Queue a check of a table; custodians ask for it."""
        asked = CheckRequest(table=name)
        return self.jobs.submit(person, asked, asked, secrets.token_urlsafe(24), None, "queued")[0]

    def job(self, id_: str, person: Person) -> StoredJob:
        """Return a job that somebody may see."""
        found = self.jobs.get(id_, person)
        if found is None:
            raise NotFoundError("There is no such request.")
        return found

    def release_of(self, id_: str, person: Person, table: str) -> StoredJob:
        """Return a release that somebody may fit models to: their own, or any if the table shares them."""
        mine = self.jobs.get(id_, None if self.catalogue[table].shared else person)
        if mine is None or mine.table != table or mine.state != "done" or not mine.is_shown:
            raise NotFoundError("There is no such release.")
        return mine

    def file(self, job: StoredJob, name: str) -> str:
        """Return a file of a job that is over."""
        found = self.jobs.file(job.id, name) if job.is_over else None
        if found is None:
            raise NotFoundError("There is no such file.")
        return found
