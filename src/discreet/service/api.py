"""The JSON API under /v1: keys in a header, and requests that may hold listed fields only."""

from __future__ import annotations

import io
from typing import Annotated, Any, Literal

import pyarrow.csv
from fastapi import APIRouter, Header, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.planning.synthetic import synthetic
from discreet.service import views
from discreet.service.auth import Analyst, Custodian, Open
from discreet.service.balances import Balances
from discreet.service.core import NotFoundError, Service
from discreet.service.log import newest
from discreet.service.requests import AnyRequest

MOST_ROWS = 10_000
"""Maximum number of rows of a made-up table."""

Reference = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=100)]

api = APIRouter(prefix="/v1")


@api.get("/me", tags=["analysts"])
def me(person: Analyst) -> dict[str, str]:
    """The owner of the key."""
    return {"name": person.name, "role": person.role}


@api.get("/tables", tags=["analysts"])
def tables(person: Analyst, service: Open) -> list[dict[str, Any]]:
    """All tables, with what is left of their budgets."""
    return views.tables(service)


@api.get("/tables/{table}", tags=["analysts"])
def table(table: str, person: Analyst, service: Open) -> dict[str, Any]:
    """A table with its schema."""
    return views.table(service, table) | {"schema": service.catalogue.domain(table).to_dict()}


@api.get("/tables/{table}/synthetic", tags=["analysts"], response_class=Response)
def made_up(
    table: str,
    person: Analyst,
    service: Open,
    rows: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1000,
    seed: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> Response:
    """A made-up table as CSV, from the schema alone."""
    return Response(made_up_csv(service, _known(service, table), rows, seed), media_type="text/csv")


@api.get("/tables/{table}/releases", tags=["analysts"])
def releases(table: str, person: Analyst, service: Open, page: views.Page = 1) -> list[dict[str, Any]]:
    """Releases that models can be fitted to for free, and whether they are of the table as it is now."""
    return views.releases(service, _known(service, table), person, page)


@api.post("/quote", tags=["analysts"])
def quote(asked: AnyRequest, person: Analyst, service: Open) -> dict[str, Any]:
    """The price of a request, whether the budget covers it, and which releases serve it for free."""
    return views.quote(service.quote(asked, person))


@api.post("/jobs", tags=["analysts"], status_code=202)
def submit(asked: AnyRequest, person: Analyst, service: Open, reference: Reference = None) -> dict[str, Any]:
    """Submit a request. A second attempt with the same Idempotency-Key returns the same job."""
    return views.job(service, service.submit(person, asked, reference)[0], person)


@api.get("/jobs", tags=["analysts"])
def jobs(person: Analyst, service: Open, page: views.Page = 1) -> list[dict[str, Any]]:
    """Your requests, the newest first, 100 on a page."""
    return [views.listed(job, person) for job in service.jobs.of_person(person.name, page)]


@api.get("/jobs/{job}", tags=["analysts"])
def job(job: str, person: Analyst, service: Open) -> dict[str, Any]:
    """One of your requests."""
    return views.job(service, service.job(job, person), person)


@api.delete("/jobs/{job}", tags=["analysts"])
def cancel(job: str, person: Analyst, service: Open) -> dict[str, Any]:
    """Cancel a request that has not started yet."""
    service.jobs.cancel(service.job(job, person).id, person.name)
    return views.job(service, service.job(job, person), person)


@api.get("/jobs/{job}/files/{name}", tags=["analysts"], response_class=Response)
def file(job: str, name: str, person: Analyst, service: Open) -> Response:
    """A file of a request: release.json, results.json, certificate.json, plan.json or report.html."""
    if name not in views.DOWNLOADS:
        raise NotFoundError("There is no such file.")
    return Response(service.file(service.job(job, person), name), media_type=views.DOWNLOADS[name])


# ---------------------------------------------------------------- custodians


class Decision(BaseModel):
    """A custodian's decision on a request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    approve: bool
    why: Annotated[str, Field(max_length=300)] = ""


class NewKey(BaseModel):
    """The owner and the role of a new key."""

    model_config = ConfigDict(extra="forbid", strict=True)

    person: Annotated[str, Field(min_length=1, max_length=100)]
    role: Literal["analyst", "custodian"] = "analyst"


@api.get("/custody/accounts", tags=["custodians"])
def accounts(person: Custodian, service: Open) -> list[dict[str, Any]]:
    """The balance of each account, and which tables are closed."""
    states, now = service.catalogue.states(), Balances(service.ledger)
    return [
        {"table": name, "state": states[name]["state"], "problem": states[name]["problem"]} | now.told(table.account)
        for name, table in service.settings.tables.items()
    ]


@api.get("/custody/waiting", tags=["custodians"])
def waiting(person: Custodian, service: Open, page: views.Page = 1) -> list[dict[str, Any]]:
    """Requests that wait for a decision, with their price."""
    return [views.listed(job, person) for job in service.jobs.waiting(page)]


@api.post("/custody/jobs/{job}", tags=["custodians"])
def decide(job: str, decision: Decision, person: Custodian, service: Open) -> dict[str, Any]:
    """Approve a request, or refuse it."""
    found = service.job(job, person)
    service.jobs.decide(found.id, person.name, approve=decision.approve, why=decision.why)
    return views.job(service, service.job(job, person), person)


@api.post("/custody/tables/{table}/check", tags=["custodians"], status_code=202)
def check(table: str, person: Custodian, service: Open) -> dict[str, Any]:
    """Read a table again, and open it if it fits its schema."""
    return views.job(service, service.recheck(person, _known(service, table)), person)


@api.get("/custody/keys", tags=["custodians"])
def keys(person: Custodian, service: Open, page: views.Page = 1) -> list[dict[str, Any]]:
    """All keys, without their secrets, 100 on a page."""
    return service.people.all_keys(page)


@api.post("/custody/keys", tags=["custodians"], status_code=201)
def new_key(asked: NewKey, person: Custodian, service: Open) -> dict[str, str]:
    """Make a key, which is shown only here."""
    return {"key": service.people.new_key(asked.person, asked.role, person.name)}


@api.delete("/custody/keys/{key}", tags=["custodians"])
def revoke(key: str, person: Custodian, service: Open) -> dict[str, bool]:
    """Revoke a key, and end its sessions."""
    if not service.people.revoke_key(key, person.name):
        raise NotFoundError("There is no such key.")
    return {"revoked": True}


@api.delete("/custody/people/{name}", tags=["custodians"])
def revoke_person(name: str, person: Custodian, service: Open) -> dict[str, bool]:
    """End all keys and sessions of somebody."""
    if not service.people.revoke_person(name, person.name):
        raise NotFoundError("There is no such person.")
    return {"revoked": True}


@api.get("/custody/log", tags=["custodians"])
def log(person: Custodian, service: Open, page: views.Page = 1) -> list[dict[str, Any]]:
    """The log of events, the newest first, 100 on a page."""
    return newest(service.store, page)


def made_up_csv(service: Service, name: str, rows: int, seed: int) -> bytes:
    """Write made-up rows as CSV."""
    out = io.BytesIO()
    pyarrow.csv.write_csv(synthetic(service.catalogue.domain(name), rows, seed), out)
    return out.getvalue()


def _known(service: Service, table: str) -> str:
    if table not in service.catalogue:
        raise NotFoundError("There is no such table.")
    return table
