"""Services about small made-up tables: inside this process, and as processes of their own."""

import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks import postgres

pytest.importorskip("fastapi", reason="the service is not installed: pip install 'discreet[service]'")
pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'discreet[service]'")

from fastapi.testclient import TestClient

from discreet.ledger import Ledger
from discreet.service.app import build
from discreet.service.core import Service
from discreet.service.settings import Settings

ROOT = Path(__file__).parents[2]
ROWS = 2000
SCHEMA = """\
[columns]
age    = { low = 18, high = 90, unit = "year" }
sex    = { levels = ["F", "M"] }
region = { levels = ["north", "south", "west"] }
income = { low = 0, high = 100000, unit = "EUR" }
"""
CONFIG = """\
[service]
port = 0
step = {step}
workers = {workers}
{more}

[tables.people]
data = "people.csv"
schema = "people.toml"
account = "town/people"
rows = 2000
delta = 1e-7
most_epsilon = 3.0
most_coefficients = 20
about = "Everybody"

[tables.asked]
data = "people.csv"
schema = "people.toml"
account = "town/people"
rows = 2000
delta = 1e-7
approval = true

[tables.small]
data = "people.csv"
schema = "people.toml"
account = "town/small"
rows = 2000
delta = 1e-7
about = "A table with little left"
"""
_NUMBERS = itertools.count()


def write_people(path, odd_region=None, rows=ROWS):
    """People as CSV; one of them may have a region that the schema does not know."""
    rng = np.random.default_rng(0)
    age, sex, region = rng.integers(18, 91, rows), rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    income = np.clip(10_000 + 600 * age + 5_000 * sex + rng.normal(0, 5_000, rows), 0, 100_000).round()
    regions = np.array(["north", "south", "west"], dtype=object)[region]
    if odd_region is not None:
        regions[rows // 2] = odd_region
    lines = [f"{a},{'FM'[s]},{r},{i:g}" for a, s, r, i in zip(age, sex, regions, income, strict=True)]
    path.write_text("\n".join(["age,sex,region,income", *lines, ""]), encoding="utf-8")


def set_up(folder, *, step=0.05, workers=1, more="", epsilon=3.0, ledger=None):
    """A table, its schema, a ledger and a configuration."""
    write_people(folder / "people.csv")
    (folder / "people.toml").write_text(SCHEMA, encoding="utf-8")
    config = folder / "service.toml"
    config.write_text(CONFIG.format(step=step, workers=workers, more=more), encoding="utf-8")
    made = Ledger.create(ledger or folder / "people.ledger")
    made.open("town", epsilon=epsilon, delta=1e-6, others=(0.5, 4e-7))
    made.open("town/people")
    made.open("town/small", epsilon=0.2, delta=5e-7)
    return config


class Town:
    """A service inside this process, whose jobs are done when they are asked to be."""

    def __init__(self, config):
        self.config = config
        self.service = Service(Settings.from_file(config))
        for name in self.service.settings.tables:
            self.service.catalogue.check(name, "test")
        self.app = build(self.service)
        self.http = TestClient(self.app, base_url="http://localhost", follow_redirects=False)
        self.keys = {
            name: self.service.people.new_key(name, role, "test")
            for name, role in (("ada", "analyst"), ("bob", "analyst"), ("carl", "custodian"))
        }

    def __call__(self, who, method, path, **options):
        headers = {"Authorization": f"Bearer {self.keys[who]}", **options.pop("headers", {})}
        return self.http.request(method, f"/v1{path}", headers=headers, **options)

    def ask(self, who="ada", reference=None, **asked):
        headers = {} if reference is None else {"Idempotency-Key": reference}
        asked = {"table": "people", "kind": "fit", "epsilon": 0.5, "formula": "income ~ age"} | asked
        return self(who, "POST", "/jobs", json=asked, headers=headers)

    def work(self):
        """Do all jobs that are queued, and let the clock tick."""
        while (job := self.service.jobs.claim("test")) is not None:
            time.sleep(self.service.work.do(job))
        self.service.balances.tick()

    def done(self, who="ada", **asked):
        """What came of a request."""
        job = self.ask(who, **asked).json()
        self.work()
        return self(who, "GET", f"/jobs/{job['id']}").json()

    def browser(self, who=None):
        """A browser without scripts, perhaps signed in."""
        http = TestClient(self.app, base_url="http://localhost", follow_redirects=False)
        if who is not None:
            form = re.search(r'name="form" value="([^"]+)"', http.get("/sign-in").text)[1]
            assert http.post("/sign-in", data={"key": self.keys[who], "form": form}).status_code == 303
        return http


def token_of(text):
    """What a page's forms send back."""
    return re.search(r'name="form" value="([^"]+)"', text)[1]


@pytest.fixture
def town(tmp_path):
    return Town(set_up(tmp_path))


@pytest.fixture(scope="module")
def shared_town(tmp_path_factory):
    """One service for tests that spend nothing."""
    return Town(set_up(tmp_path_factory.mktemp("town")))


@pytest.fixture
def team(tmp_path, database_server):
    """The same in PostgreSQL."""
    address = postgres.schema(database_server, f"service{next(_NUMBERS)}")
    more = f'database = "{address}"\nledger = "{address}"'
    return Town(set_up(tmp_path, more=more, ledger=address))


class Running:
    """A service as a process of its own."""

    def __init__(self, config):
        self.config, self.folder = config, Path(config).parent
        self.process = self.address = None
        self.said = ""

    def command(self):
        return [sys.executable, "-m", "discreet", "serve", str(self.config)]

    def start(self):
        own = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
        with (self.folder / "log").open("a") as log:
            options = {"stdout": subprocess.PIPE, "stderr": log, "env": own, "text": True}
            self.process = subprocess.Popen(self.command(), **options)
        for line in self.process.stdout:
            self.said += line
            if found := re.search(r"http://\S+", line):
                self.address = found[0]
            if "Ctrl-C" in line:
                return self
        raise AssertionError(f"the service ended with {self.process.wait()}")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(60)
        self.process.stdout.close()

    def key(self, name, role="analyst"):
        return Service(Settings.from_file(self.config)).people.new_key(name, role, "test")


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    """A service with a worker, for clients and browsers."""
    service = Running(set_up(tmp_path_factory.mktemp("running"), step=0.2, epsilon=4.0))
    service.start()
    yield service
    with contextlib.suppress(ProcessLookupError):
        service.stop()
