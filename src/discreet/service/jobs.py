"""Jobs: requests that wait for the custodian, are queued, run, or are over, with their results.

waiting    the custodian decides
queued     next in line
running    assigned to a worker, whose lease runs out unless it is renewed
done       its files are the release, the model and the report
refused    by the custodian, for lack of budget, or because it is impossible; nothing was spent
failed     not answered; only the custodian is told why
lost       paid for, but its worker died before the result was stored
cancelled  by its owner, before it ran
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.errors import DiscreetError
from discreet.service.limited import BusyError
from discreet.service.log import note
from discreet.service.people import Person
from discreet.service.requests import PAID, ServiceRequest, read
from discreet.service.storage import ON_A_PAGE, Store, files, jobs, paged

LEASE = 60.0
"""Seconds without a sign of life after which a worker is presumed dead."""

OVER = ("done", "refused", "failed", "lost", "cancelled")
UNFINISHED = ("waiting", "queued", "running")

LOST = (
    "The computer that worked on this died after the noise was drawn. The release is lost, and its budget is spent: "
    "nobody can know who saw it."
)
NEUTRAL = "This request was not answered. The custodian has been told why."
"""The only answer that analysts get to errors about data."""


class ConflictError(DiscreetError):
    """A request that the current state does not allow."""


class ReferenceUsedError(DiscreetError):
    """A request under a reference that another one has."""


@dataclass(frozen=True)
class StoredJob:
    """One job, as it is stored."""

    number: int
    id: str
    person: str
    table: str
    kind: str
    body: str
    original: str
    price: dict[str, Any] | None
    reference: str
    state: str
    created: float
    started: float | None
    finished: float | None
    shown: float | None
    worker: str | None
    lease: float | None
    tries: int
    decided_by: str | None
    answer: str | None
    problem: str | None

    @property
    def asked(self) -> Any:
        """The request."""
        return read(self.body)

    @property
    def facts(self) -> dict[str, Any]:
        """The request as a mapping."""
        facts: dict[str, Any] = json.loads(self.body)
        return facts

    @property
    def is_shown(self) -> bool:
        """Whether its end may be seen yet: times are padded."""
        return self.state not in OVER or self.shown is None or self.shown <= time.time()

    @property
    def seen(self) -> str:
        """The state that analysts see."""
        return self.state if self.is_shown else "running"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen, as analysts see it."""
        return self.seen in OVER


def _job(row: Mapping[Any, Any]) -> StoredJob:
    price = row["price"]
    return StoredJob(**{**row, "price": None if price is None else json.loads(price)})


class Jobs:
    """The jobs of a service."""

    def __init__(self, store: Store, most_unfinished: int) -> None:
        self._store, self._most = store, most_unfinished

    # ---------------------------------------------------------------- for people

    def submit(
        self,
        person: Person,
        asked: ServiceRequest,
        made: ServiceRequest,
        reference: str,
        price: dict[str, Any] | None,
        state: str,
    ) -> tuple[StoredJob, bool]:
        """Store a job for a request; return it and whether it is new. A reference seen before returns its job."""
        try:
            return self._submit(person, asked, made, reference, price, state)
        except IntegrityError:  # somebody was quicker with the same reference
            known = self.known(person, asked, reference)
            assert known is not None
            return known, False

    def _submit(
        self,
        person: Person,
        asked: ServiceRequest,
        made: ServiceRequest,
        reference: str,
        price: dict[str, Any] | None,
        state: str,
    ) -> tuple[StoredJob, bool]:
        with self._store.writing() as connection:
            if (known := _known(connection, person, asked, reference)) is not None:
                return known, False
            mine = (jobs.c.person == person.name, jobs.c.state.in_(UNFINISHED))
            if (connection.execute(select(func.count()).where(*mine)).scalar() or 0) >= self._most:
                raise BusyError(f"You have {self._most} requests that are not finished. Wait for them, or cancel some.")
            facts = {
                "id": secrets.token_hex(16), "person": person.name, "table": made.table, "kind": made.kind,
                "body": made.text(), "original": asked.text(), "reference": reference, "state": state,
                "price": None if price is None else json.dumps(price), "created": time.time(), "tries": 0,
            }  # fmt: skip
            connection.execute(insert(jobs).values(**facts))
            if price is not None:
                note(connection, person.name, f"asked for a {made.kind}", job=facts["id"], table=made.table)
            job = _first(connection, jobs.c.id == facts["id"])
        assert job is not None
        return job, True

    def known(self, person: Person, asked: ServiceRequest, reference: str) -> StoredJob | None:
        """Return the job of a reference, or None."""
        with self._store.reading() as connection:
            return _known(connection, person, asked, reference)

    def get(self, id_: str, person: Person | None = None) -> StoredJob | None:
        """Return a job; None if there is none, or if it is somebody else's and the person is no custodian."""
        with self._store.reading() as connection:
            found = _first(connection, jobs.c.id == id_)
        if found is not None and person is not None and not person.is_custodian and found.person != person.name:
            return None
        return found

    def listed(self, *where: Any, most: int = ON_A_PAGE, page: int = 1) -> list[StoredJob]:
        """Return a page of jobs, the newest first."""
        wanted = select(jobs).where(*where).order_by(jobs.c.number.desc())
        with self._store.reading() as connection:
            return [_job(row) for row in connection.execute(paged(wanted, page, most)).mappings()]

    def of_person(self, name: str, page: int = 1) -> list[StoredJob]:
        """Return a page of somebody's jobs, the newest first."""
        return self.listed(jobs.c.person == name, page=page)

    def waiting(self, page: int = 1) -> list[StoredJob]:
        """Return a page of the jobs that wait for the custodian's decision."""
        return self.listed(jobs.c.state == "waiting", page=page)

    def troubled(self) -> list[StoredJob]:
        """Return the last jobs with a problem that the custodian should know of, the newest first."""
        return self.listed(jobs.c.problem.is_not(None), most=20)

    def releases(self, table: str, person: str | None = None, page: int = 1) -> list[StoredJob]:
        """Return a page of the jobs that hold a release of a table, or those of one person, the newest first."""
        holds = select(files.c.job).where(files.c.name == "release.json")
        shown = jobs.c.shown.is_(None) | (jobs.c.shown <= time.time())
        where = [jobs.c.table == table, jobs.c.state == "done", jobs.c.kind.in_(PAID), shown, jobs.c.id.in_(holds)]
        if person is not None:
            where.append(jobs.c.person == person)
        return self.listed(*where, page=page)

    def file(self, id_: str, name: str) -> str | None:
        """Return a file of a job."""
        with self._store.reading() as connection:
            where = files.c.job == id_, files.c.name == name
            return connection.execute(select(files.c.content).where(*where)).scalar()

    def file_names(self, id_: str) -> list[str]:
        """Return the names of a job's files."""
        with self._store.reading() as connection:
            return list(connection.execute(select(files.c.name).where(files.c.job == id_)).scalars())

    def counts(self) -> dict[str, float]:
        """Return how many jobs there are in each state."""
        with self._store.reading() as connection:
            found = connection.execute(select(jobs.c.state, func.count()).group_by(jobs.c.state)).all()
        return dict.fromkeys((*UNFINISHED, *OVER), 0.0) | {state: float(count) for state, count in found}

    def oldest_queued(self) -> float:
        """Return the seconds for which the first job in the queue has waited; 0 if there is none."""
        with self._store.reading() as connection:
            found = connection.execute(select(func.min(jobs.c.created)).where(jobs.c.state == "queued")).scalar()
        return 0.0 if found is None else max(time.time() - found, 0.0)

    def forget(self, before: float) -> int:
        """Delete jobs that ended before a time, and their files, but for those that were paid for; return how many."""
        paid = jobs.c.kind.in_(PAID) & jobs.c.state.in_(("done", "failed", "lost"))
        old = select(jobs.c.id).where(jobs.c.state.in_(OVER), jobs.c.finished < before, ~paid)
        with self._store.writing() as connection:
            connection.execute(delete(files).where(files.c.job.in_(old)))
            gone = connection.execute(delete(jobs).where(jobs.c.id.in_(old))).rowcount
            if gone:
                note(connection, "service", "deleted old requests", count=gone)
        return gone

    def decide(self, id_: str, custodian: str, *, approve: bool, why: str = "") -> None:
        """Approve a request, or refuse it."""
        state = {"state": "queued"} if approve else {"state": "refused", "answer": f"The custodian refused: {why}"}
        done = {} if approve else {"finished": time.time()}
        with self._store.writing() as connection:
            where = jobs.c.id == id_, jobs.c.state == "waiting"
            changed = connection.execute(update(jobs).where(*where).values(**state, **done, decided_by=custodian))
            if not changed.rowcount:
                raise ConflictError("This request does not wait for a decision any more.")
            note(connection, custodian, "approved a request" if approve else "refused a request", job=id_)

    def cancel(self, id_: str, person: str) -> None:
        """Cancel a request that has not started yet."""
        with self._store.writing() as connection:
            where = jobs.c.id == id_, jobs.c.state.in_(("waiting", "queued"))
            changed = connection.execute(update(jobs).where(*where).values(state="cancelled", finished=time.time()))
            if not changed.rowcount:
                raise ConflictError("This request has begun, or is over: it cannot be cancelled any more.")
            note(connection, person, "cancelled a request", job=id_)

    # ---------------------------------------------------------------- for workers

    def claim(self, worker: str) -> StoredJob | None:
        """Assign the next job to a worker and return it: people take turns, and each one's jobs keep their order."""
        others = jobs.alias()
        served = select(func.max(others.c.started)).where(others.c.person == jobs.c.person).scalar_subquery()
        line = select(jobs.c.id).where(jobs.c.state == "queued")
        line = line.order_by(func.coalesce(served, 0.0), jobs.c.number).limit(1)
        with self._store.reading() as connection:  # an empty queue keeps nobody from writing
            if connection.execute(line).scalar() is None:
                return None
        with self._store.writing() as connection:
            id_ = connection.execute(line.with_for_update(skip_locked=True)).scalar()
            if id_ is None:
                return None
            now = time.time()
            mine = {"state": "running", "worker": worker, "started": now, "lease": now + LEASE}
            connection.execute(update(jobs).where(jobs.c.id == id_).values(**mine, tries=jobs.c.tries + 1))
            return _first(connection, jobs.c.id == id_)

    def live(self, worker: str) -> None:
        """Renew the lease of a worker."""
        with self._store.writing() as connection:
            mine = jobs.c.worker == worker, jobs.c.state == "running"
            connection.execute(update(jobs).where(*mine).values(lease=time.time() + LEASE))

    def finish(
        self,
        job: StoredJob,
        state: str,
        *,
        results: Mapping[str, str] | None = None,
        answer: str | None = None,
        problem: str | None = None,
        shown: float | None = None,
    ) -> bool:
        """Store the outcome of a job, unless it was taken from its worker meanwhile."""
        values = {"state": state, "answer": answer, "problem": problem, "finished": time.time(), "shown": shown}
        with self._store.writing() as connection:
            mine = jobs.c.id == job.id, jobs.c.state == "running", jobs.c.worker == job.worker
            if not connection.execute(update(jobs).where(*mine).values(**values)).rowcount:
                return False
            for name, content in (results or {}).items():
                connection.execute(insert(files).values(job=job.id, name=name, content=content))
            if state != "done" or job.price is not None:
                note(connection, "service", f"{job.kind}: {state}", job=job.id, table=job.table)
        return True

    def orphans(self, dead: str | None = None) -> list[StoredJob]:
        """Return running jobs whose worker died: one that is known to be dead, or any whose lease ran out."""
        gone = jobs.c.lease < time.time()
        if dead is not None:
            gone = gone | (jobs.c.worker == dead)
        return self.listed(jobs.c.state == "running", gone)

    def again(self, job: StoredJob) -> None:
        """Put a job of which nothing was paid for yet back into the queue."""
        with self._store.writing() as connection:
            mine = jobs.c.id == job.id, jobs.c.state == "running", jobs.c.worker == job.worker
            if connection.execute(update(jobs).where(*mine).values(state="queued", worker=None, lease=None)).rowcount:
                note(connection, "service", "queued a job again", job=job.id)


def _known(connection: Connection, person: Person, asked: ServiceRequest, reference: str) -> StoredJob | None:
    found = _first(connection, jobs.c.person == person.name, jobs.c.reference == reference)
    if found is not None and found.original != asked.text():
        raise ReferenceUsedError("This reference was used for another request. Choose a new one.")
    return found


def _first(connection: Connection, *where: Any) -> StoredJob | None:
    found = connection.execute(select(jobs).where(*where)).mappings().first()
    return None if found is None else _job(found)
