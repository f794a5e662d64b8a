"""Descriptions of tables, jobs and quotes, the same for pages and for programs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query

from discreet.service.balances import Balances, Price
from discreet.service.core import NotFoundError, Quote, Service
from discreet.service.jobs import StoredJob
from discreet.service.people import Person
from discreet.service.storage import ON_A_PAGE

Page = Annotated[int, Query(ge=1, le=10_000)]
"""The number of a page of a list."""

DOWNLOADS = {
    "release.json": "application/json",
    "results.json": "application/json",
    "certificate.json": "application/json",
    "plan.json": "application/json",
    "report.html": "text/html; charset=utf-8",
}
"""The files of a job that people may download, with their media types."""


def tables(service: Service, balances: Balances | None = None) -> list[dict[str, Any]]:
    """Describe all tables, with their balances at the last tick unless others are given."""
    states, known = service.catalogue.states(), balances or service.balances
    return [_table(service, name, states[name]["state"], known) for name in service.settings.tables]


def table(service: Service, name: str) -> dict[str, Any]:
    """Describe one table."""
    if name not in service.catalogue:
        raise NotFoundError("There is no such table.")
    return _table(service, name, service.catalogue.states()[name]["state"], service.balances)


def _table(service: Service, name: str, state: str, balances: Balances) -> dict[str, Any]:
    settings = service.catalogue[name]
    return {
        "name": name,
        "about": settings.about,
        "open": state == "open",
        "rows": settings.rows,
        "unit": service.catalogue.domain(name).unit.short,
        "delta": settings.failure,
        "most_epsilon": settings.most_epsilon,
        "approval": settings.approval,
        "shared": settings.shared,
        "budget": balances.told(settings.account),
    }


def quote(found: Quote) -> dict[str, Any]:
    """Describe the price of a request."""
    price = None if found.price is None else asdict(found.price) | {"words": found.price.words}
    return {"price": price, "fits": found.why_not is None, "why_not": found.why_not, "share": found.share} | {
        "serves": found.serves
    }


def job(service: Service, found: StoredJob, person: Person) -> dict[str, Any]:
    """Describe a job, with the names of its files."""
    files = service.jobs.file_names(found.id) if found.is_over else []
    return listed(found, person) | {"files": [name for name in DOWNLOADS if name in files]}


def listed(found: StoredJob, person: Person) -> dict[str, Any]:
    """Describe a job as somebody may see it: its end is padded, and errors about data are for custodians only."""
    facts: dict[str, Any] = {
        "id": found.id,
        "kind": found.kind,
        "table": found.table,
        "asked": found.facts,
        "price": None if found.price is None else Price(**found.price).words,
        "state": found.seen,
        "over": found.is_over,
        "created": moment(found.created),
        "answer": found.answer if found.is_over else None,
    }
    if person.is_custodian:
        facts |= {"person": found.person, "problem": found.problem, "decided_by": found.decided_by}
    return facts


def pager(found: Sequence[Any], page: int) -> dict[str, Any]:
    """Describe the links to the pages before and after one of a list."""
    return {"pager": {"page": page, "older": len(found) >= ON_A_PAGE}}


def moment(when: float | None) -> str | None:
    """Write a time, to the minute."""
    return None if when is None else dt.datetime.fromtimestamp(when, dt.UTC).strftime("%Y-%m-%d %H:%M")


def formulas(found: StoredJob) -> list[str]:
    """Return the formulas that a release was made for."""
    facts = found.facts
    return list(facts["formulas"]) if "formulas" in facts else [facts["formula"]]


def releases(service: Service, table: str, person: Person, page: int = 1) -> list[dict[str, Any]]:
    """Describe a page of the releases of a table that somebody may fit models to, the newest first.

    Of a closed table none is current, whatever closed it.
    """
    whose, changed = service.whose(table, person), service.catalogue.changed(table)
    is_open = service.catalogue.is_open(table)
    return [
        {
            "release": job.id,
            "epsilon": job.facts["epsilon"],
            "asked": formulas(job),
            "current": is_open and (job.started or 0.0) >= changed,
            "made": moment(job.created),
        }
        for job in service.jobs.releases(table, whose, page)
    ]
