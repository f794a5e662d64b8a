"""What is told of tables, jobs and quotes, to whom: the same for pages and for programs."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from typing import Any

from discreet.service.balances import Price
from discreet.service.core import Quote, Service
from discreet.service.jobs import Job
from discreet.service.people import Person

DOWNLOADS = {
    "release.json": "application/json",
    "results.json": "application/json",
    "certificate.json": "application/json",
    "plan.json": "application/json",
    "report.html": "text/html; charset=utf-8",
}
"""The files of a job that people may fetch, with what they are."""


def table(service: Service, name: str, *, full: bool) -> dict[str, Any]:
    """A table; with its schema where it is looked at alone."""
    settings = service.catalogue[name]
    facts: dict[str, Any] = {
        "name": name,
        "about": settings.about,
        "open": service.catalogue.is_open(name),
        "rows": settings.rows,
        "delta": settings.failure,
        "most_epsilon": settings.most_epsilon,
        "approval": settings.approval,
        "budget": service.balances.told(settings.account),
    }
    return facts | ({"schema": service.catalogue.domain(name).to_dict()} if full else {})


def quote(found: Quote) -> dict[str, Any]:
    """What a request would cost."""
    price = None if found.price is None else asdict(found.price) | {"words": found.price.words}
    return {"price": price, "fits": found.why_not is None, "why_not": found.why_not, "share": found.share} | {
        "serves": found.serves
    }


def job(service: Service, found: Job, person: Person) -> dict[str, Any]:
    """A job, as somebody may see it: its end at a step, and what went wrong with data for custodians only."""
    files = service.jobs.file_names(found.id) if found.is_over else []
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
        "files": [name for name in DOWNLOADS if name in files],
    }
    if person.is_custodian:
        facts |= {"person": found.person, "problem": found.problem, "decided_by": found.decided_by}
    return facts


def moment(when: float | None) -> str | None:
    """A time, to the minute."""
    return None if when is None else dt.datetime.fromtimestamp(when, dt.UTC).strftime("%Y-%m-%d %H:%M")


def formulas(found: Job) -> list[str]:
    """The models that a release was made for."""
    facts = found.facts
    return list(facts["formulas"]) if "formulas" in facts else [facts["formula"]]
