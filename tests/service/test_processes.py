"""Processes that die: what was paid for is spent and said to be lost, everything else goes on."""

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT, Running, Town, set_up

from discreet.client import Client
from discreet.ledger import audit
from discreet.service.jobs import LOST, NEUTRAL
from discreet.service.storage import jobs
from discreet.service.supervisor import Supervisor

pytestmark = pytest.mark.more

DOOMED = """
import os, signal, sys
from discreet.gate.session import Session
from discreet.service.worker import work

step = getattr(Session, sys.argv[2])

def die(self, *given, **named):
    if not self.simulation:  # a rehearsal on made-up people lives
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *given, **named)

setattr(Session, sys.argv[2], die)
work(sys.argv[1], "doomed", os.getppid())
"""


def doomed(town, when):
    """Run a worker that is killed when it comes to a step of a release."""
    own = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", DOOMED, str(town.config), when]
    assert subprocess.run(command, env=own, check=False, timeout=120).returncode == -signal.SIGKILL


def settle(town):
    """What the supervisor does once it sees that a worker is dead."""
    for job in town.service.jobs.orphans("doomed"):
        town.service.work.settle(job)
    town.service.balances.tick()


def kinds(town):
    return [entry.facts["kind"] for entry in town.service.ledger.entries()]


def until(look, seconds=300):
    """Wait for something that must come."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def test_a_worker_killed_after_the_noise_has_spent_and_it_is_said(town):
    job = town.ask(reference="once").json()["id"]
    doomed(town, "certify")  # the noise is drawn, the release is not written
    assert town("ada", "GET", f"/jobs/{job}").json()["state"] == "running"
    settle(town)
    told = town("ada", "GET", f"/jobs/{job}").json()
    assert (told["state"], told["answer"], told["files"]) == ("lost", LOST, [])
    assert kinds(town).count("reserve") == 1
    assert "commit" not in kinds(town)
    assert town("ada", "GET", "/tables/people").json()["budget"]["epsilon_spent"] > 0
    assert town.ask(reference="once").json()["state"] == "lost"  # it is not made again
    town.work()
    assert kinds(town).count("reserve") == 1
    assert "died" in town("carl", "GET", f"/jobs/{job}").json()["problem"]
    assert "lost" in town.browser("carl").get("/custody").text
    assert not audit.flaws(town.service.ledger)
    assert town.done(formula="income ~ sex")["state"] == "done"


def test_a_worker_killed_before_the_noise_has_spent_nothing_and_the_job_is_done_again(town):
    job = town.ask().json()["id"]
    doomed(town, "charge")
    settle(town)
    assert town("ada", "GET", f"/jobs/{job}").json()["state"] == "queued"
    town.work()
    assert town("ada", "GET", f"/jobs/{job}").json()["state"] == "done"
    assert kinds(town).count("reserve") == 1


def test_a_job_that_kills_every_worker_is_given_up(town):
    job = town.ask().json()["id"]
    for _ in range(3):
        town.service.jobs.claim("doomed")
        settle(town)
    told = town("ada", "GET", f"/jobs/{job}").json()
    assert (told["state"], told["answer"]) == ("failed", NEUTRAL)


def test_a_lease_that_ran_out_frees_a_job_and_a_late_worker_changes_nothing(town):
    """Taken for dead, a worker comes back: its job is somebody else's, and the ledger pays for one of the two only."""
    town.ask()
    late = town.service.jobs.claim("late")
    with town.service.store.writing() as connection:
        connection.execute(jobs.update().values(lease=time.time() - 1))
    (orphan,) = town.service.jobs.orphans()
    town.service.work.settle(orphan)
    town.work()
    town.service.work.do(late)
    assert town.service.jobs.get(late.id).state == "done"
    assert kinds(town).count("reserve") == 1


def test_a_dead_worker_is_replaced(tmp_path):
    town = Town(set_up(tmp_path))
    supervisor = Supervisor(town.service, str(town.config))
    supervisor.start()
    try:
        (first,) = [process for process, _ in supervisor._workers.values()]
        time.sleep(5.1)  # one that dies at once is replaced a little later
        first.kill()
        job = town.ask().json()["id"]
        until(lambda: town("ada", "GET", f"/jobs/{job}").json()["state"] == "done")
    finally:
        supervisor.stop()
    assert all(process.poll() is not None for process, _ in supervisor._workers.values())


def test_a_killed_service_goes_on_with_its_queue(tmp_path):
    service = Running(set_up(tmp_path, step=0.2))
    service.start()
    client = Client(service.address, service.key("ada"))
    formulas = ["income ~ age", "income ~ sex", "income ~ region"]
    asked = [client.fit("people", text, epsilon=0.3, wait=None) for text in formulas]
    service.stop(signal.SIGKILL)
    service.start()
    try:
        client = Client(service.address, service.key("ada"))
        done = [client.job(job.id).wait(300) for job in asked]
        assert [job.state for job in done] == ["done"] * 3
    finally:
        service.stop()
    town = Town(service.config)
    assert kinds(town).count("reserve") == kinds(town).count("commit") == 3
    assert not audit.flaws(town.service.ledger)
