"""Load test of a running service: 50 analysts read pages, plan and request models for two minutes.

::

    python -m benchmarks.service --analysts 50 --seconds 120 --out benchmarks/results/service_sqlite.json
    python -m benchmarks.service --postgres --out benchmarks/results/service_postgres.json

Each analyst reads a page, thinks for about a second, and goes on; one page in 25 is followed by a request for a plan or
a model. The budget holds a part of the models only, so that the ledger refuses the rest. Afterwards there must be
no errors, and the ledger must have paid for exactly the models that were returned; what is queued by then
is cancelled. The memory of the processes is read every second; with --postgres the database and the ledger are in a
PostgreSQL server that waits for the disk.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import psutil
import pyarrow.parquet as pq

from benchmarks import postgres
from discreet.cli.demo import SCHEMA, people
from discreet.ledger import Ledger, audit
from discreet.privacy.budget_parts import Cost
from discreet.service.core import Service
from discreet.service.jobs import ConflictError
from discreet.service.settings import Settings
from discreet.service.storage import jobs as stored

CONFIG = """\
[service]
port = 0
step = 2.0
workers = 2
log = false
{more}

[tables.people]
data = "people.parquet"
schema = "people.toml"
account = "people"
rows = 100000
"""
PAGES = ("/", "/tables/people", "/tables/people/model", "/jobs")
COLUMNS = ("age", "education", "sex", "hours", "region")
EPSILON = 0.1
"""Of each model."""


def set_up(folder: Path, database: str | None) -> Path:
    """A table of 100,000 made-up people, and a budget for some models."""
    more = "" if database is None else f'database = "{database}"\nledger = "{database}"'
    pq.write_table(people(), folder / "people.parquet")
    (folder / "people.toml").write_text(SCHEMA, encoding="utf-8")
    (folder / "service.toml").write_text(CONFIG.format(more=more), encoding="utf-8")
    Ledger.create(database or folder / "people.ledger").open("people", epsilon=0.6, delta=1e-9)
    return folder / "service.toml"


def started(config: Path) -> tuple[subprocess.Popen[str], str]:
    """A service that runs, and its address."""
    command = [sys.executable, "-m", "discreet", "serve", str(config)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    address = ""
    for line in process.stdout or ():
        if found := re.search(r"http://\S+", line):
            address = found[0]
        if "Ctrl-C" in line:
            break
    return process, address


class Analyst:
    """Reads, thinks, and sometimes asks."""

    def __init__(self, address: str, key: str, seed: int) -> None:
        self._key, self._random = key, random.Random(seed)
        self._http = httpx2.AsyncClient(base_url=address, timeout=60)
        self.reads: list[float] = []
        self.answers: Counter[str] = Counter()

    async def work(self, until: float) -> None:
        """Sign in, and go on until the time is over."""
        page = await self._http.get("/sign-in")
        form = re.search(r'name="form" value="([^"]+)"', page.text)
        assert form is not None
        await self._http.post("/sign-in", data={"key": self._key, "form": form[1]})
        while time.monotonic() < until:
            await self._read(self._random.choice(PAGES))
            if self._random.random() < 1 / 25:
                await self._ask()
            await asyncio.sleep(self._random.uniform(0.5, 1.5))
        await self._http.aclose()

    async def _read(self, path: str) -> None:
        begun = time.perf_counter()
        try:
            answer = await self._http.get(path)
        except httpx2.HTTPError as error:
            self.answers[f"read: {type(error).__name__}"] += 1
            return
        self.reads.append(time.perf_counter() - begun)
        self.answers[f"read: {answer.status_code}"] += 1

    async def _ask(self) -> None:
        features = self._random.sample(COLUMNS, self._random.randint(1, 4))
        kind = self._random.choice(["fit", "plan"])
        asked = {"kind": kind, "table": "people", "formula": f"income ~ {' + '.join(features)}", "epsilon": EPSILON}
        more = {"reuse": False} if kind == "fit" else {}
        answer = await self._http.post("/v1/jobs", json=asked | more, headers={"Authorization": f"Bearer {self._key}"})
        self.answers[f"{kind}: {answer.status_code}"] += 1


LATE = """
import sys, time
while sys.stdin.read(1):
    begun = time.perf_counter()
    time.sleep(0.01)
    print(time.perf_counter() - begun - 0.01, flush=True)
"""
"""A process that does nothing but sleep, and tells how late it wakes up: what the machine itself adds."""


async def lateness(until: float) -> list[float]:
    """How late a sleeping process is woken up meanwhile, in seconds."""
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    sleeper = await asyncio.create_subprocess_exec(sys.executable, "-c", LATE, **pipes)
    assert sleeper.stdin is not None
    assert sleeper.stdout is not None
    late = []
    while time.monotonic() < until:
        sleeper.stdin.write(b"x")
        late.append(float(await sleeper.stdout.readline()))
        await asyncio.sleep(0.1)
    sleeper.stdin.close()
    await sleeper.wait()
    return late


async def memory(service: int, until: float) -> dict[str, list[float]]:
    """The resident memory of the service's processes by their work, in MB, once a second."""
    seen: dict[str, list[float]] = {}
    while time.monotonic() < until:
        own: Counter[str] = Counter()
        for process in (root := psutil.Process(service)), *root.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                command = " ".join(process.cmdline())
                role = next((role for role in ("worker", "steps") if f"discreet.service.{role}" in command), "pages")
                own[role] += process.memory_info().rss / 2**20
        for role in ("pages", "worker", "steps"):
            seen.setdefault(role, []).append(own[role])
        await asyncio.sleep(1.0)
    return seen


def course(seen: list[float]) -> dict[str, float]:
    """The memory in the second and in the last quarter of the time, and the most."""
    quarter = max(len(seen) // 4, 1)
    parts = {"second_quarter": seen[quarter : 2 * quarter] or seen, "last_quarter": seen[-quarter:]}
    return {name: round(float(np.median(part)), 1) for name, part in parts.items()} | {"most": round(max(seen), 1)}


Crowd = tuple[list[Analyst], list[float], dict[str, list[float]]]


async def crowd(address: str, keys: list[str], seconds: float, service: int) -> Crowd:
    """All analysts at once; how late a process is woken up that only sleeps; and the memory of the service."""
    analysts = [Analyst(address, key, seed) for seed, key in enumerate(keys)]
    until = time.monotonic() + seconds
    own = lateness(until), memory(service, until)
    late, seen, *_ = await asyncio.gather(*own, *(analyst.work(until) for analyst in analysts))
    return analysts, late, seen


def finished(service: Service, patience: float = 120.0) -> Counter[str]:
    """The states of all jobs, once none is under way any more; what is still queued is cancelled."""
    until = time.monotonic() + patience
    for job in service.jobs.listed(stored.c.state == "queued", most=10**6):
        with contextlib.suppress(ConflictError):
            service.jobs.cancel(job.id, "benchmark")
    while True:
        states = Counter(f"{job.kind}: {job.state}" for job in service.jobs.listed(most=10**6))
        if not any(state.endswith(("queued", "running")) for state in states) or time.monotonic() > until:
            return states
        time.sleep(0.5)


def exact(service: Service) -> dict[str, Any]:
    """Whether the ledger paid for exactly what came out, to the last bit."""
    entries = service.ledger.entries()
    paid = [Cost.from_dict(entry.facts["cost"]) for entry in entries if entry.facts["kind"] == "reserve"]
    balance = service.ledger.account("people").balance()
    return {
        "releases": len(paid),
        "sum_is_exact": balance.spent.mu2 == sum((Fraction(cost.mu or 0) ** 2 for cost in paid), Fraction(0)),
        "within_limit": balance.spent.mu2 <= Fraction(balance.limits.mu) ** 2,
        "flaws": audit.flaws(service.ledger),
    }


def quantiles(values: Any) -> dict[str, float]:
    """Some quantiles."""
    return {f"p{q}": round(float(np.percentile(values, q)), 1) for q in (50, 90, 95, 99)}


def measure(analysts: int, seconds: float, database: str | None = None) -> dict[str, Any]:
    """All of it."""
    with tempfile.TemporaryDirectory(prefix="discreet-") as name:
        config = set_up(Path(name), database)
        service = Service(Settings.from_file(config))
        process, address = started(config)
        try:
            keys = [service.people.new_key(f"analyst {i}", "analyst", "benchmark") for i in range(analysts)]
            load = os.getloadavg()[0]
            found, late, seen = asyncio.run(crowd(address, keys, seconds, process.pid))
            states, ledger = finished(service), exact(service)
        finally:
            process.terminate()
            process.wait(60)
    reads = np.array([one for analyst in found for one in analyst.reads]) * 1000
    answers = sum((analyst.answers for analyst in found), Counter[str]())
    wrong = [name for name in answers if name not in ("read: 200", "fit: 202", "fit: 409", "plan: 202")]
    failed = [name for name in states if name.endswith(("failed", "lost", "queued", "running"))]
    return {
        "analysts": analysts,
        "seconds": seconds,
        "storage": "SQLite" if database is None else "PostgreSQL",
        "load_before": load,
        "pages": len(reads),
        "page_ms": quantiles(reads),
        "sleeper_late_ms": quantiles(np.array(late) * 1000),
        "memory_mb": {role: course(values) for role, values in seen.items()},
        "answers": dict(sorted(answers.items())),
        "jobs": dict(sorted(states.items())),
        "ledger": ledger,
        "errors": wrong + failed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--analysts", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with postgres.server(durable=True) if given.postgres else contextlib.nullcontext() as server:
        found = measure(given.analysts, given.seconds, None if server is None else postgres.schema(server, "service"))
    text = json.dumps(found, indent=1)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")
    done = found["jobs"].get("fit: done", 0)
    sys.exit(bool(found["errors"] or found["ledger"]["flaws"] or done != found["ledger"]["releases"]))


if __name__ == "__main__":
    main()
