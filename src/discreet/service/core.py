"""The service as a whole: state that pages, API and workers share."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any

from discreet.domain.formula import Model
from discreet.domain.formula import released as released_formula
from discreet.domain.models import joined, read_models
from discreet.errors import DiscreetError, ParameterError
from discreet.ledger import Ledger
from discreet.results.private_moments import PrivateMoments
from discreet.service.balances import Balances, Price
from discreet.service.catalogue import Catalogue
from discreet.service.jobs import ConflictError, Jobs, StoredJob
from discreet.service.people import People, Person
from discreet.service.requests import PAID, SOLVES, CheckRequest, FitRequest, ModelRequest, takes_classes
from discreet.service.settings import Settings
from discreet.service.storage import Store
from discreet.service.witness import Witness
from discreet.service.work import Work, load_release


class NotFoundError(DiscreetError):
    """Something that does not exist, or that belongs to somebody else."""


class OverBudgetError(DiscreetError):
    """A request that costs more than is left of an account."""


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
        self.witness = Witness(self.store, self.ledger)
        self.witness.start()
        self.balances = Balances(self.ledger)
        self.work = Work(self.catalogue, self.jobs, self.witness, self.ledger)
        self._releases: dict[str, PrivateMoments] = {}
        self._check_accounts()

    @classmethod
    def open(cls, config: str) -> Service:
        """Open a service from its configuration."""
        return cls(Settings.from_file(config))

    def _check_accounts(self) -> None:
        for name, table in self.settings.tables.items():
            self.ledger.account(table.account)
            self.balances.times(table.account, self.catalogue.domain(name).unit.person)

    # ---------------------------------------------------------------- requests

    def check(self, asked: Any) -> None:
        """Refuse an invalid request, from public facts alone."""
        if asked.table not in self.catalogue:
            raise NotFoundError("There is no such table.")
        table, domain = self.catalogue[asked.table], self.catalogue.domain(asked.table)
        if getattr(asked, "epsilon", 0.0) > table.most_epsilon:
            raise ParameterError(f"epsilon may be at most {table.most_epsilon:g} for this table.")
        formulas = getattr(asked, "formulas", None) or [asked.formula]
        many = ParameterError(f"A model of this table may have at most {table.most_coefficients} coefficients.")
        found = []
        for text, model in zip(formulas, read_models(domain, formulas), strict=True):
            if model.target is None:
                raise ParameterError(f"{text}: name the outcome left of '~'.")
            if _coefficients(model, classes=takes_classes(asked)) > table.most_coefficients:
                raise many
            found.append(model)
        if len(joined(domain, found)[0].entries) > table.most_coefficients:
            raise many

    def quote(self, asked: Any, person: Person) -> Quote:
        """Return the price of a request, whether the account holds it, and the releases that serve it for free."""
        self.check(asked)
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
        """Return current releases of the table that a model can be fitted to for free, the most accurate first.

        Releases with another unit of privacy or other weights than the schema's are left out.
        """
        if getattr(asked, "method", None) not in SOLVES:
            return []
        found, changed = [], self.catalogue.changed(asked.table)
        unit = self.catalogue.domain(asked.table).unit
        for job in self.jobs.releases(asked.table):
            if (job.started or 0.0) < changed:
                continue
            if not self.catalogue[asked.table].shared and job.person != person.name:
                continue
            released = self._released(job.id)
            if released.domain.unit == unit and _holds(released, asked.formula):
                found.append(
                    {"release": job.id, "epsilon": job.facts["epsilon"], "columns": [*released.domain.columns]}
                )
        return sorted(found, key=lambda one: -one["epsilon"])

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

    def _released(self, id_: str) -> PrivateMoments:
        if id_ not in self._releases:
            self._releases[id_] = load_release(self.jobs.file(id_, "release.json") or "")
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


def _coefficients(model: Model, *, classes: bool) -> int:
    """Return a bound on the coefficients of a model; refuse several levels as the outcome, but of a classifier."""
    target, size = model.target or "", len(model.domain.entries)
    column = model.domain.columns.get(target)
    if classes and column is not None and (m := len(column.levels)) > 2:
        return (size - m) * m
    model.domain.target(target)
    return size


def _holds(released: PrivateMoments, text: str) -> bool:
    """Whether a release holds what the model of a formula needs."""
    try:
        asked = released_formula(text, released.domain)
        released.equations(asked.target or "", asked.features)
    except DiscreetError:
        return False
    return True
