"""The pages of custodians: accounts and their history, requests to decide, keys, and the log."""

from __future__ import annotations

import threading
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from discreet.ledger.page import html
from discreet.service import views
from discreet.service.auth import CustodyReader, CustodySender, Open
from discreet.service.balances import Balances
from discreet.service.core import NotFoundError
from discreet.service.log import newest
from discreet.service.pages import render, under_bar, words
from discreet.service.storage import ON_A_PAGE

custody = APIRouter(prefix="/custody")

Short = Annotated[str, Form(max_length=300)]

_DRAWING = threading.Lock()
"""Plots are drawn one at a time."""


@custody.get("")
def overview(person: CustodyReader, service: Open, page: views.Page = 1) -> Response:
    """Show accounts, waiting requests, and errors."""
    states, now = service.catalogue.states(), Balances(service.ledger)
    tables = [table | {"is": states[table["name"]]} for table in views.tables(service, now)]
    waiting, troubled = (
        [views.listed(job, person) | {"words": words(job), "purpose": job.facts.get("purpose", "")} for job in found]
        for found in (service.jobs.waiting(page), service.jobs.troubled())
    )
    told = {"tables": tables, "waiting": waiting, "troubled": troubled} | views.pager(waiting, page)
    return render("custody.html", person, **told)


@custody.post("/jobs/{job}")
def decide(job: str, person: CustodySender, service: Open, decision: Short, why: Short = "") -> Response:
    """Approve a request, or refuse it."""
    found = service.job(job, person)
    service.jobs.decide(found.id, person.name, approve=decision == "approve", why=why or "no reason was given.")
    return RedirectResponse("/custody", 303)


@custody.post("/tables/{table}/check")
def check(table: str, person: CustodySender, service: Open) -> Response:
    """Read a table again."""
    if table not in service.catalogue:
        raise NotFoundError("There is no such table.")
    return RedirectResponse(f"/jobs/{service.recheck(person, table).id}", 303)


@custody.get("/ledger")
def ledger(person: CustodyReader, service: Open, page: views.Page = 1) -> Response:
    """Show the ledger: spending over time, and a page of its releases, the newest first."""
    entries, end = service.ledger.entries(), page * ON_A_PAGE
    with _DRAWING:
        text = html(service.ledger.name, entries, slice(end - ON_A_PAGE, end))
    older = end < sum(entry.facts["kind"] == "reserve" for entry in entries)
    return under_bar(text, "ledger_bar.html", pager={"page": page, "older": older})


@custody.get("/keys")
def keys(person: CustodyReader, service: Open, page: views.Page = 1) -> Response:
    """List all keys."""
    return _keys(person, service, None, page)


@custody.post("/keys")
def new_key(person: CustodySender, service: Open, name: Short, role: Short) -> Response:
    """Make a key, and show it once."""
    return _keys(person, service, service.people.new_key(name, role, person.name))  # type: ignore[arg-type]


@custody.post("/keys/{key}/revoke")
def revoke(key: str, person: CustodySender, service: Open) -> Response:
    """Revoke a key."""
    service.people.revoke_key(key, person.name)
    return RedirectResponse("/custody/keys", 303)


@custody.post("/people/revoke")
def revoke_person(person: CustodySender, service: Open, name: Short) -> Response:
    """End all keys and sessions of somebody."""
    service.people.revoke_person(name, person.name)
    return RedirectResponse("/custody/keys", 303)


@custody.get("/log")
def log(person: CustodyReader, service: Open, page: views.Page = 1) -> Response:
    """Show the log of events."""
    events = [event | {"when": views.moment(event["at"])} for event in newest(service.store, page)]
    return render("log.html", person, events=events, **views.pager(events, page))


def _keys(person: CustodyReader, service: Open, made: str | None, page: int = 1) -> Response:
    told = [key | {"since": views.moment(key["since"])} for key in service.people.all_keys(page)]
    return render("keys.html", person, keys=told, made=made, **views.pager(told, page))
