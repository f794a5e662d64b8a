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
from dataclasses import dataclass, field
from typing import Any

from discreet.core.checks import Neighbors
from discreet.core.threads import one_thread
from discreet.domain import Domain
from discreet.errors import BudgetError, DiscreetError, DiscreetWarning, LedgerError
from discreet.ledger import Ledger
from discreet.ledger.blocks import asked as asked_for
from discreet.results.private_moments import PrivateMoments
from discreet.service.catalogue import INTERNAL, Catalogue
from discreet.service.jobs import LOST, NEUTRAL, Jobs, StoredJob
from discreet.service.limited import BrokenStepError, BusyError, RefusedError, SentText, limited_steps
from discreet.service.requests import (
    PAID,
    CheckRequest,
    FitRequest,
    ModelRequest,
    PlanRequest,
    ReleaseRequest,
    TrialRequest,
)
from discreet.service.settings import TableSettings
from discreet.service.steps import PublicTable, dumped, model_files, saved
from discreet.service.telemetry import log
from discreet.service.witness import LedgerWitness, WitnessedAccount

TRIES = 3
"""Maximum number of times that a job is started whose worker dies before anything is paid for."""


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

    def __init__(self, catalogue: Catalogue, jobs: Jobs, witness: LedgerWitness, ledger: Ledger) -> None:
        self._catalogue, self._jobs, self._witness, self._ledger = catalogue, jobs, witness, ledger

    def do(self, job: StoredJob) -> float:
        """Carry out a job and store its outcome; return the seconds to wait, so that the next job begins at a step."""
        done, shown = self._done(job), None
        if job.kind in PAID:
            shown = shown_at(job.started or time.time(), time.time(), self._catalogue.settings.service.step)
        self._jobs.finish(job, done.state, results=done.files, answer=done.answer, problem=done.problem, shown=shown)
        log("job", job=job.id, kind=job.kind, table=job.table, who=job.person, state=done.state)
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
        known = isinstance(error, (DiscreetError, ImportError))  # neither quotes data
        problem = str(error) if known else INTERNAL.format(type(error).__name__)
        if job.kind not in PAID:
            return JobOutcome("failed", answer=NEUTRAL, problem=problem)
        if not isinstance(error, (LedgerError, BrokenStepError, BusyError)):
            self._catalogue.close(job.table, problem, "service")
        if is_paid(self._ledger, job):
            problem += "\nIt had been paid for: what it cost is spent."
        return JobOutcome("failed", answer=NEUTRAL, problem=problem)

    def _files(self, job: StoredJob) -> dict[str, str]:
        asked = job.asked
        table = ServedTable(self._catalogue, job.table)
        if isinstance(asked, CheckRequest):
            problem = self._catalogue.check(job.table, job.person)
            return {"check.json": json.dumps({"problem": problem})}
        if isinstance(asked, ModelRequest):
            content = self._jobs.file(asked.release, "release.json")
            if content is None:
                raise RefusedError("There is no such release.")
            return self._public("model", job, release=SentText(content))
        if isinstance(asked, (PlanRequest, TrialRequest)):
            return self._public(asked.kind, job, **table.public)
        return self._paid(job, asked, table)

    def _public(self, step: str, job: StoredJob, **given: Any) -> dict[str, str]:
        """Take a step that reads no row, within limits of time and memory."""
        limits = self._catalogue.settings.service
        steps = limited_steps(limits.preparation_megabytes)
        return dict(steps.take(step, seconds=limits.preparation_seconds, asked=job.body, **given))

    def _paid(self, job: StoredJob, asked: FitRequest | ReleaseRequest, table: ServedTable) -> dict[str, str]:
        neighbors = self._ledger.account(table.settings.account).terms().neighbors
        self._public("rehearse", job, neighbors=neighbors, **table.public)
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

    @property
    def public(self) -> dict[str, Any]:
        """The public facts, for steps that read no row."""
        return {"domain": self._catalogue.document(self.name), "rows": self.settings.rows} | {
            "delta": self.settings.failure
        }

    def released(self, asked: FitRequest | ReleaseRequest, neighbors: Neighbors) -> dict[str, str]:
        """Read the rows, release, and return the files."""
        data = self._catalogue.data(self.name)
        table = PublicTable(self.domain, self.settings.rows, self.settings.failure)
        if isinstance(asked, ReleaseRequest):
            released = table.release(asked, neighbors, data)
            return {"release.json": saved(released), "certificate.json": dumped(released.certificate.to_dict())}
        model = table.estimator(asked, neighbors).fit_formula(asked.formula, data)
        if isinstance(model.release_, PrivateMoments):
            return {"release.json": saved(model.release_)} | model_files(model.results_, model.release_)
        return model_files(model.results_, None)


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
