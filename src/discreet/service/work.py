"""The work for each kind of request.

A paid request has three steps. First the same code runs on made-up rows: errors of the request itself appear there, and
are shown in full because no row was read. Then the table must be unchanged since it was checked against its schema.
Only then the rows are read and the table's account is charged; errors of this step are shown to the custodian only.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from discreet.core.checks import Neighbors
from discreet.core.scratch import Scratch
from discreet.core.threads import one_thread
from discreet.domain import Domain
from discreet.drivers.release import release as release_table
from discreet.errors import BudgetError, DiscreetError, DiscreetWarning, LedgerError
from discreet.ledger import Ledger
from discreet.ledger.blocks import asked as asked_for
from discreet.planning import plan as make_plan
from discreet.planning.guesses import guesses
from discreet.planning.synthetic import synthetic
from discreet.results.private_moments import PrivateMoments
from discreet.results.report import report
from discreet.service.catalogue import INTERNAL, Catalogue
from discreet.service.jobs import LOST, NEUTRAL, Jobs, StoredJob
from discreet.service.requests import (
    PAID,
    CheckRequest,
    FitRequest,
    ModelRequest,
    PlanRequest,
    ReleaseRequest,
    TrialRequest,
    estimator_of,
)
from discreet.service.settings import TableSettings
from discreet.service.witness import Witness, WitnessedAccount

MADE_UP_ROWS = 1000
"""Number of made-up rows that a request is tried on."""

TRIES = 3
"""Maximum number of times that a job is started whose worker dies before anything is paid for."""


class RefusedError(DiscreetError):
    """A request that cannot be carried out, for public reasons."""


class TroubleError(DiscreetError):
    """An error about the data, in words for the custodian."""


@dataclass(frozen=True)
class JobOutcome:
    """The outcome of a job."""

    state: str
    files: dict[str, str] = field(default_factory=dict)
    answer: str | None = None
    problem: str | None = None


def request_name(job: StoredJob) -> str:
    """Return the name of a job's release in the ledger, which prevents paying for it twice."""
    return f"service job {job.id}"


def shown_at(started: float, now: float, step: float) -> float:
    """Return when the end of a job may be seen: at the first of 1, 2, 4, 8, ... steps after its beginning.

    Examples
    --------
    >>> shown_at(0.0, 1.2, 5.0), shown_at(0.0, 11.0, 5.0)
    (5.0, 20.0)
    """
    taken = max((now - started) / step, 1.0)
    return started + step * 2.0 ** math.ceil(math.log2(taken))


class Work:
    """Carries out jobs.

    Parameters
    ----------
    catalogue, jobs, witness, ledger
        The tables, the queue, what was seen of the ledger, and the ledger that is charged.
    """

    def __init__(self, catalogue: Catalogue, jobs: Jobs, witness: Witness, ledger: Ledger) -> None:
        self._catalogue, self._jobs, self._witness, self._ledger = catalogue, jobs, witness, ledger

    def do(self, job: StoredJob) -> float:
        """Carry out a job and store its outcome; return the seconds to wait, so that the next job begins at a step."""
        done, shown = self._done(job), None
        if job.kind in PAID:
            shown = shown_at(job.started or time.time(), time.time(), self._catalogue.settings.service.step)
        self._jobs.finish(job, done.state, results=done.files, answer=done.answer, problem=done.problem, shown=shown)
        return 0.0 if shown is None else max(shown - time.time(), 0.0)

    def settle(self, job: StoredJob) -> None:
        """Settle a job whose worker died: it is lost if it was paid for, otherwise it is started again."""
        if is_paid(self._ledger, job):
            self._jobs.finish(job, "lost", answer=LOST, problem="Its worker died after the release was paid for.")
        elif job.tries >= TRIES:
            self._jobs.finish(job, "failed", answer=NEUTRAL, problem=f"Its worker died {TRIES} times before the noise.")
        else:
            self._jobs.again(job)

    def _done(self, job: StoredJob) -> JobOutcome:
        try:
            with warnings.catch_warnings(), one_thread():
                warnings.simplefilter("ignore", DiscreetWarning)
                return JobOutcome("done", self._files(job))
        except RefusedError as error:
            return JobOutcome("refused", answer=str(error))
        except Exception as error:
            return self._trouble(job, error)

    def _trouble(self, job: StoredJob, error: Exception) -> JobOutcome:
        """Word an error for custodians and for everybody else; a paid request closes the table until it is checked."""
        known = isinstance(error, DiscreetError)
        problem = str(error) if known else INTERNAL.format(type(error).__name__)
        if job.kind not in PAID:
            return JobOutcome("failed", answer=NEUTRAL, problem=problem)
        if not isinstance(error, LedgerError):
            self._catalogue.close(job.table, problem, "service")
        spent = is_paid(self._ledger, job)
        return JobOutcome("failed", answer=f"{NEUTRAL} What it cost is spent." if spent else NEUTRAL, problem=problem)

    def _files(self, job: StoredJob) -> dict[str, str]:
        asked = job.asked
        table = ServedTable(self._catalogue, job.table)
        if isinstance(asked, CheckRequest):
            problem = self._catalogue.check(job.table, job.person)
            return {"check.json": json.dumps({"problem": problem})}
        if isinstance(asked, ModelRequest):
            return self._model(asked)
        if isinstance(asked, PlanRequest):
            return dict(_public(lambda: table.plan(asked)))
        if isinstance(asked, TrialRequest):
            return dict(_public(lambda: table.tried(asked)))
        return self._paid(job, asked, table)

    def _model(self, asked: ModelRequest) -> dict[str, str]:
        """Fit a model to an existing release."""
        content = self._jobs.file(asked.release, "release.json")
        if content is None:
            raise RefusedError("There is no such release.")
        released = load_release(content)
        fitted = _public(lambda: released.fit(asked.formula, model=asked.model))
        return model_files(fitted, released)

    def _paid(self, job: StoredJob, asked: FitRequest | ReleaseRequest, table: ServedTable) -> dict[str, str]:
        neighbors = self._ledger.account(table.settings.account).terms().neighbors
        _public(lambda: table.rehearsed(asked, neighbors))
        if not self._catalogue.is_checked(job.table):
            problem = self._catalogue.check(job.table, "service")
            if problem is not None:
                raise TroubleError(*problem.split("\n"))
        account = self._ledger.account(
            table.settings.account, purpose=asked.purpose, who=job.person, request=request_name(job)
        )
        try:
            with WitnessedAccount(self._witness, account), asked_for("; ".join(formulas(asked))):
                return table.released(asked, neighbors)
        except LedgerError:
            raise
        except BudgetError as error:
            if is_paid(self._ledger, job):  # by a worker that was taken for dead
                raise LedgerError(LOST) from None
            raise RefusedError(*error.args) from None


class ServedTable:
    """A table during a job: its public facts, and its rows for paid requests."""

    def __init__(self, catalogue: Catalogue, name: str) -> None:
        self._catalogue, self.name = catalogue, name

    @property
    def settings(self) -> TableSettings:
        """The table's settings."""
        return self._catalogue[self.name]

    @property
    def domain(self) -> Domain:
        """Its public facts."""
        return self._catalogue.domain(self.name)

    @cached_property
    def made_up(self) -> Any:
        """Made-up rows."""
        return synthetic(self.domain, MADE_UP_ROWS)

    def plan(self, asked: PlanRequest) -> dict[str, str]:
        """Predict the accuracy of a model."""
        public: dict[str, Any] = {"rows": self.settings.rows, "delta": self.settings.failure}
        guessed: dict[str, Any] = {"r_squared": asked.r_squared, "about": guesses(asked.about)}
        asked_for: dict[str, Any] = {"epsilon": _around(asked.epsilon), "methods": [asked.method]}
        found = make_plan(
            self.domain, asked.formula, draws=6, tighter=False, **public, **guessed, **asked_for
        )  # other bounds are not the analyst's to choose
        told = [_table(found.summary()), _table(found.coefficients())]
        return {"plan.json": found.to_json(), "tables.json": json.dumps(told)}

    def tried(self, asked: TrialRequest) -> dict[str, str]:
        """Fit a model to made-up rows."""
        model = self._estimator(asked, "add-remove", 0).fit_formula(asked.formula, self.made_up)
        released = model.release_ if isinstance(model.release_, PrivateMoments) else None
        return {"report.html": report(model.results_, released), "results.json": _dumped(model.results_.to_dict())}

    def rehearsed(self, asked: FitRequest | ReleaseRequest, neighbors: Neighbors) -> None:
        """Run a paid request on made-up rows, and discard the result."""
        if isinstance(asked, FitRequest):
            self._estimator(asked, neighbors, 0).fit_formula(asked.formula, self.made_up)
        else:
            self._release(asked, neighbors, self.made_up, random_state=0)

    def released(self, asked: FitRequest | ReleaseRequest, neighbors: Neighbors) -> dict[str, str]:
        """Read the rows, release, and return the files."""
        data = self._catalogue.data(self.name)
        if isinstance(asked, ReleaseRequest):
            released = self._release(asked, neighbors, data)
            return {"release.json": saved(released), "certificate.json": _dumped(released.certificate.to_dict())}
        model = self._estimator(asked, neighbors).fit_formula(asked.formula, data)
        if isinstance(model.release_, PrivateMoments):
            return {"release.json": saved(model.release_)} | model_files(model.results_, model.release_)
        return model_files(model.results_, None)

    def _estimator(
        self, asked: FitRequest | TrialRequest, neighbors: Neighbors, random_state: int | None = None
    ) -> Any:
        promise: dict[str, Any] = {"epsilon": asked.epsilon, "delta": self.settings.failure}
        promise |= {"rows": self.settings.rows, "neighbors": neighbors, "fit_intercept": self.domain.intercept}
        return estimator_of(asked)(**promise, domain=self.domain, n_jobs=1, random_state=random_state)

    def _release(
        self, asked: ReleaseRequest, neighbors: Neighbors, source: Any, random_state: int | None = None
    ) -> PrivateMoments:
        promise: dict[str, Any] = {"epsilon": asked.epsilon, "delta": self.settings.failure}
        promise |= {"rows": self.settings.rows, "neighbors": neighbors, "random_state": random_state}
        return release_table(source, domain=self.domain, models=asked.formulas, n_jobs=1, **promise)


def is_paid(ledger: Ledger, job: StoredJob) -> bool:
    """Whether the release of a job was paid for, and not refunded."""

    def read(t: Any) -> bool:
        entry = t.find("request", request_name(job))
        end = None if entry is None else t.find("settles", entry.number)
        return entry is not None and (end is None or end.facts["kind"] != "cancel")

    return ledger.read(read)


def formulas(asked: FitRequest | ReleaseRequest) -> list[str]:
    """Return the formulas of a request."""
    return [asked.formula] if isinstance(asked, FitRequest) else list(asked.formulas)


def load_release(content: str) -> PrivateMoments:
    """Load a release from its document."""
    with Scratch() as folder:
        path = folder / "release.json"
        path.write_text(content, encoding="utf-8")
        return PrivateMoments.load(path)


def saved(what: Any) -> str:
    """Return the document of a release or a model."""
    with Scratch() as folder:
        path = folder / "saved.json"
        what.save(path)
        return path.read_text(encoding="utf-8")


def model_files(fitted: Any, released: PrivateMoments | None) -> dict[str, str]:
    """Return the files of a model: its document, its report and its certificate."""
    return {
        "results.json": saved(fitted),
        "report.html": report(fitted, released),
        "certificate.json": _dumped(fitted.certificate.to_dict()),
    }


def _public(work: Callable[[], Any]) -> Any:
    """Run a step that reads no rows, whose errors may be shown in full."""
    try:
        return work()
    except LedgerError:
        raise
    except DiscreetError as error:
        raise RefusedError(*error.args) from None


def _around(epsilon: float) -> list[float]:
    """Return the requested epsilon, half and twice of it."""
    return [epsilon / 2, epsilon, 2 * epsilon]


def _table(read: Any) -> dict[str, Any]:
    return {"title": read.title, "columns": list(read.columns), "rows": [list(row) for row in read.rows]} | {
        "notes": list(read.notes)
    }


def _dumped(facts: Any) -> str:
    return json.dumps(facts, indent=1, allow_nan=False)
