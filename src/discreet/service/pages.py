"""The pages of analysts: server-side HTML with forms and links, and no scripts."""

from __future__ import annotations

import hmac
import json
import secrets
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import ValidationError

from discreet.domain.schema import filled_schema
from discreet.errors import DiscreetError, printable
from discreet.service import views
from discreet.service.api import made_up_csv
from discreet.service.auth import (
    NotAllowedError,
    Open,
    Reader,
    Sender,
    computer,
    cookie_name,
    count,
    peek,
    refuse_foreign,
    service_of,
    set_session,
)
from discreet.service.core import NotFoundError, Service
from discreet.service.jobs import StoredJob
from discreet.service.limits import REPORT_CSP
from discreet.service.people import Person
from discreet.service.requests import (
    OFFERED,
    SOLVES,
    FitRequest,
    ModelRequest,
    PlanRequest,
    ReleaseRequest,
    TrialRequest,
)

PURPOSE = Form(max_length=300)
Text = Annotated[str, Form(max_length=2000)]
Names = Annotated[list[str] | None, Form(max_length=1000)]

pages = APIRouter()


def _shown(value: Any) -> Any:
    """Escape invisible characters in every text of a page: names may hold anything."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_PAGES = Environment(
    loader=PackageLoader("discreet.service"), autoescape=True, undefined=StrictUndefined, finalize=_shown,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip
_TEMPLATES = {name: _PAGES.get_template(name) for name in _PAGES.list_templates(["html"])}
"""All templates, compiled before the first request, so that no crowd of them compiles the same ones."""


def render(template: str, person: Person | None, status: int = 200, **facts: Any) -> HTMLResponse:
    """Render a page for somebody."""
    return HTMLResponse(_TEMPLATES[template].render(person=person, **facts), status)


def error_page(request: Request, status: int, words: str) -> HTMLResponse:
    """Show an error in words."""
    return render("error.html", peek(request), status, code=status, lines=words.split("\n"))


@pages.get("/style.css")
def style() -> Response:
    """Return the style sheet."""
    text = files("discreet.service").joinpath("static/style.css").read_text(encoding="utf-8")
    return Response(text, media_type="text/css", headers={"cache-control": "max-age=3600"})


# ---------------------------------------------------------------- sign in


@pages.get("/sign-in")
def sign_in_page(request: Request) -> Response:
    """Show the form for keys."""
    return _sign_in(request)


@pages.post("/sign-in")
def sign_in(request: Request, key: Annotated[str, Form(max_length=200)], form: Text = "") -> Response:
    """Exchange a key for a session."""
    refuse_foreign(request)
    if not hmac.compare_digest(form.encode(), request.cookies.get("discreet-form", "").encode()) or not form:
        raise NotAllowedError("form")
    service = service_of(request)
    found = service.people.of_key(key.strip())
    if found is None:
        count(request.app.state.attempts, computer(request))
        return _sign_in(request, "This key is not known, or was revoked.", 401)
    person, id_ = found
    response = RedirectResponse("/", 303)
    set_session(request, response, service.people.sign_in(person.name, id_, "key"))
    return response


def _sign_in(request: Request, problem: str = "", status: int = 200) -> Response:
    settings, form = service_of(request).settings, secrets.token_urlsafe(32)
    provider = None if settings.oidc is None else settings.oidc.name
    response = render("sign_in.html", None, status, form=form, problem=problem, provider=provider)
    response.set_cookie(
        "discreet-form", form, httponly=True, samesite="strict", secure=settings.public_is_https, path="/sign-in"
    )
    return response


@pages.post("/sign-out")
def sign_out(request: Request, person: Sender, service: Open) -> Response:
    """End a session."""
    service.people.sign_out(request.cookies.get(cookie_name(request), ""))
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(cookie_name(request))
    return response


# ---------------------------------------------------------------- tables


@pages.get("/")
def home(person: Reader, service: Open) -> Response:
    """List all tables, with what is left of their budgets."""
    return render("tables.html", person, tables=views.tables(service))


@pages.get("/tables/{table}")
def table(table: str, person: Reader, service: Open, page: views.Page = 1) -> Response:
    """Show a table: its columns, its budget, and its releases."""
    found, domain = views.table(service, table), service.catalogue.domain(table)
    columns = [(name, *column.words) for name, column in domain.inputs.items()]
    releases = views.releases(service, table, person, page)
    return render(
        "table.html", person, table=found, columns=columns, missing=domain.missing,
        steps=service.balances.steps(service.catalogue[table].account),
        releases=releases, reference=secrets.token_urlsafe(24), **views.pager(releases, page),
    )  # fmt: skip


@pages.get("/tables/{table}/schema.toml")
def schema(table: str, person: Reader, service: Open) -> Response:
    """Return the schema as a file."""
    views.table(service, table)
    return _download(filled_schema(service.catalogue.domain(table).to_dict()), "text/plain", f"{table}.toml")


@pages.get("/tables/{table}/synthetic.csv")
def made_up(table: str, person: Reader, service: Open) -> Response:
    """Return a made-up table as a file."""
    views.table(service, table)
    return _download(made_up_csv(service, table, 1000, 0), "text/csv", f"{table}.synthetic.csv")


# ---------------------------------------------------------------- the builder of models


@pages.get("/tables/{table}/model")
def builder(
    table: str, person: Reader, service: Open, formula: str = "", epsilon: str = "", method: str = ""
) -> Response:
    """Show a form for a model."""
    given = {"formula": formula[:2000], "epsilon": epsilon[:20], "method": method[:50]}
    return _builder(person, service, table, {name: text for name, text in given.items() if text})


@pages.post("/tables/{table}/model")
def build(
    table: str, person: Sender, service: Open, formula: Text = "", outcome: Text = "", features: Names = None,
    method: Text = "", epsilon: Text = "", r_squared: Text = "", about: Text = "", reference: Text = "",
) -> Response:  # fmt: skip
    """Check a model; if it is valid, go on to its price and plan."""
    chosen = features or []
    given = {"formula": formula, "outcome": outcome, "features": chosen, "method": method}
    given |= {"epsilon": epsilon, "r_squared": r_squared, "about": about}
    views.table(service, table)
    try:
        lines = [line.strip() for line in about.splitlines() if line.strip()]
        guesses = {"r_squared": number(r_squared) if r_squared else None, "about": lines}
        asked = _checked(
            PlanRequest, table=table, formula=formula_of(formula, outcome, chosen), method=method,
            epsilon=number(epsilon), **guesses,
        )  # fmt: skip
        job, _ = service.submit(person, asked, reference[:100] or None)
    except DiscreetError as error:
        return _builder(person, service, table, given, str(error).split("\n"))
    return RedirectResponse(f"/jobs/{job.id}", 303)


def _builder(person: Person, service: Service, table: str, given: dict[str, Any], problem: Any = ()) -> Response:
    found, domain = views.table(service, table), service.catalogue.domain(table)
    blank = {"formula": "", "outcome": "", "features": [], "method": OFFERED[0], "epsilon": "0.5"}
    blank |= {"r_squared": "", "about": ""}
    return render("builder.html", person, 422 if problem else 200, table=found, columns=list(domain.inputs),
        given=blank | given, problem=list(problem), methods=OFFERED, reference=secrets.token_urlsafe(24),
    )  # fmt: skip


def formula_of(text: str, outcome: str, features: list[str]) -> str:
    """Return the formula that was typed, or make one of the chosen columns.

    Examples
    --------
    >>> formula_of("", "income", ["age", "sex"]), formula_of(" y ~ x ", "income", [])
    ('income ~ age + sex', 'y ~ x')
    """
    if text.strip():
        return text.strip()
    names = [name for name in features if name != outcome]
    return f"{quoted(outcome)} ~ {' + '.join(map(quoted, names)) or '1'}" if outcome else ""


def quoted(name: str) -> str:
    """Quote the name of a column as formulas write it."""
    return name if name.isidentifier() else f"`{name}`"


def number(text: str) -> float:
    """Parse a number of a form; other text becomes NaN, which is refused with the other errors."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


# ---------------------------------------------------------------- jobs


@pages.get("/jobs")
def jobs(person: Reader, service: Open, page: views.Page = 1) -> Response:
    """List somebody's requests."""
    found = [views.listed(job, person) | {"words": words(job)} for job in service.jobs.of_person(person.name, page)]
    return render("jobs.html", person, jobs=found, **views.pager(found, page))


@pages.get("/jobs/{job}")
def job(job: str, person: Reader, service: Open) -> Response:
    """Show a request, or its report once there is one."""
    found = service.job(job, person)
    told = views.job(service, found, person)
    if "report.html" in told["files"]:
        return report_page(service, found, told)
    facts: dict[str, Any] = {"job": told, "words": words(found), "tables": [], "quote": None, "certificate": []}
    if found.kind == "plan":
        facts["quote"] = views.quote(service.quote(_fit(found), person))
        if told["state"] == "done":
            facts["tables"] = json.loads(service.file(found, "tables.json"))
    return render("job.html", person, **facts, reference=secrets.token_urlsafe(24), solves=SOLVES,
        approval=found.table in service.catalogue and service.catalogue[found.table].approval,
        asked=views.formulas(found) if found.kind not in ("check",) else [],
    )  # fmt: skip


@pages.get("/jobs/{job}/files/{name}")
def file(job: str, name: str, person: Reader, service: Open) -> Response:
    """Return a file of a request."""
    if name not in views.DOWNLOADS or name == "report.html":
        raise NotFoundError("There is no such file.")
    found = service.job(job, person)
    return _download(service.file(found, name), views.DOWNLOADS[name], f"{found.table}.{name}")


@pages.post("/jobs/{job}/cancel")
def cancel(job: str, person: Sender, service: Open) -> Response:
    """Cancel a request."""
    service.jobs.cancel(service.job(job, person).id, person.name)
    return RedirectResponse(f"/jobs/{job}", 303)


@pages.post("/jobs/{job}/ask")
def ask(
    job: str, person: Sender, service: Open, what: Text, reference: Text, purpose: Annotated[str, PURPOSE] = "",
    release: Text = "",
) -> Response:  # fmt: skip
    """Continue from a plan: pay for the model, try it on made-up rows, or fit it to an existing release."""
    facts = service.job(job, person).facts
    if facts["kind"] != "plan":
        raise NotFoundError("There is no such request.")
    own = {name: facts[name] for name in ("table", "formula", "method", "epsilon")}
    asked: Any = TrialRequest(**own) if what == "try" else FitRequest(**own, purpose=purpose, reuse=False)
    if what == "free":
        asked = _checked(
            ModelRequest, table=own["table"], formula=own["formula"], release=release, model=SOLVES[own["method"]]
        )
    made, _ = service.submit(person, asked, reference[:100])
    return RedirectResponse(f"/jobs/{made.id}", 303)


@pages.post("/tables/{table}/release")
def release(
    table: str, person: Sender, service: Open, formulas: Annotated[str, Form(max_length=20_000)] = "",
    epsilon: Text = "", purpose: Annotated[str, PURPOSE] = "", reference: Text = "",
) -> Response:  # fmt: skip
    """Request a release for several models."""
    lines = [line.strip() for line in formulas.splitlines() if line.strip()]
    asked = _checked(ReleaseRequest, table=table, formulas=lines, epsilon=number(epsilon), purpose=purpose)
    made, _ = service.submit(person, asked, reference[:100] or None)
    return RedirectResponse(f"/jobs/{made.id}", 303)


@pages.get("/tables/{table}/release")
def release_form(table: str, person: Reader, service: Open) -> Response:
    """Show a form for a release of several models."""
    return render("release.html", person, table=views.table(service, table), reference=secrets.token_urlsafe(24))


@pages.post("/tables/{table}/free")
def free(
    table: str,
    person: Sender,
    service: Open,
    release: Text,
    formula: Text,
    reference: Text,
    model: Text = "noise-aware",
) -> Response:
    """Fit a model to an existing release."""
    asked = _checked(ModelRequest, table=table, release=release, formula=formula, model=model)
    made, _ = service.submit(person, asked, reference[:100])
    return RedirectResponse(f"/jobs/{made.id}", 303)


def report_page(service: Service, found: StoredJob, told: dict[str, Any]) -> Response:
    """Return the report, with a link back above it."""
    return under_bar(service.file(found, "report.html"), "bar.html", job=told)


def under_bar(text: str, bar: str, **facts: Any) -> HTMLResponse:
    """Return a report under a bar of links."""
    text = text.replace("<main>", f"{_TEMPLATES[bar].render(**facts)}\n<main>", 1)
    return HTMLResponse(text, headers={"content-security-policy": REPORT_CSP})


def words(job: StoredJob) -> str:
    """Describe a request in words."""
    return f"{_KINDS[job.kind]}: {job.table if job.kind == 'check' else '; '.join(views.formulas(job))}"


_KINDS = {
    "fit": "Model",
    "release": "Release",
    "model": "Model, free",
    "plan": "Plan",
    "try": "Trial on made-up people",
    "check": "Check of the table",
}


def _fit(job: StoredJob) -> FitRequest:
    facts = job.facts
    return FitRequest(**{name: facts[name] for name in ("table", "formula", "method", "epsilon")})


def _checked(kind: Any, **facts: Any) -> Any:
    """Validate a request of a form; the error lists all problems."""
    try:
        return kind(**facts)
    except ValidationError as error:
        raise DiscreetError(*(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())) from None


def _download(content: str | bytes, kind: str, name: str) -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})
