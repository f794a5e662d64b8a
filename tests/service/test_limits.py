"""One analyst, or somebody who is none, cannot stop a service: sizes, times, memory, pages, rates, addresses."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

import pytest
import uvicorn
from conftest import Town, set_up
from sqlalchemy import event, select
from sqlalchemy.sql import func

from discreet.privacy.budget_parts import Cost
from discreet.service import core, limits
from discreet.service.limited import NICE, LimitedSteps, RefusedError, SentText, yield_to_pages
from discreet.service.limits import PromptProtocol
from discreet.service.rates import Rates
from discreet.service.storage import ON_A_PAGE, Store, jobs

pytestmark = pytest.mark.more

FIT = {"kind": "fit", "table": "people", "epsilon": 0.5, "formula": "income ~ age"}
WIDE = "".join(f"{name} = {{ levels = {json.dumps([f'v{i}' for i in range(100)])} }}\n" for name in "ghk")


# ---------------------------------------------------------------- formulas


def test_formulas_are_not_read_in_the_process_that_serves_pages(town, monkeypatch):
    """In 0.2.0 they were: 62 seconds and 4 GB for `g*h*k` with 100 levels each."""
    assert town.done()["state"] == "done"
    for name in ("domain.models.formula", "service.steps.released_formula", "service.steps.make_plan"):
        monkeypatch.setattr(f"discreet.{name}", None)
    assert town("ada", "POST", "/quote", json=FIT).json()["serves"]
    assert town("ada", "POST", "/quote", json=FIT | {"formula": "income ~ agee"}).status_code == 422
    assert [town.done(kind=kind)["state"] for kind in ("plan", "try")] == ["done", "done"]


def test_many_levels_are_refused_at_once(tmp_path):
    config = set_up(tmp_path)
    with (tmp_path / "people.toml").open("a") as schema:
        schema.write(WIDE)
    town = Town(config)
    begun = time.monotonic()
    for text in ("income ~ g*h*k", "income ~ g:h", "income ~ (g+h+k+age+sex+region)^6"):
        assert town("ada", "POST", "/quote", json=FIT | {"formula": text}).status_code == 422
    assert time.monotonic() - begun < 30


def test_a_request_that_takes_too_long_is_refused_and_the_next_one_is_read(town, monkeypatch):
    assert town("ada", "POST", "/quote", json=FIT).status_code == 200
    monkeypatch.setattr(core, "READING", 0.0)
    told = town("ada", "POST", "/quote", json=FIT)
    assert told.status_code == 422
    assert "0 seconds or 1024 MB" in told.json()["detail"]
    monkeypatch.undo()
    assert town("ada", "POST", "/quote", json=FIT).status_code == 200


def test_a_rehearsal_that_takes_too_long_is_refused_and_costs_nothing(tmp_path):
    town = Town(set_up(tmp_path, more="preparation_seconds = 0.001"))
    told = town.done()
    assert told["state"] == "refused"
    assert "0.001 seconds" in told["answer"]
    assert town.service.catalogue.is_open("people")
    assert all(entry.facts["kind"] != "reserve" for entry in town.service.ledger.entries())


def test_a_step_that_takes_too_much_memory_is_refused(town):
    steps = LimitedSteps(64)
    domain = town.service.catalogue.document("people")
    own = {"domain": domain, "formulas": ["income ~ age"], "classes": False, "most": 100}
    assert steps.take("read", seconds=60, **own) is None
    many = SentText(json.dumps({"columns": {"g": {"levels": [f"{i:0200d}" for i in range(200_000)]}}}))
    with pytest.raises(RefusedError, match="64 MB"):
        steps.take("read", seconds=60, **own | {"domain": many})
    assert steps.take("read", seconds=60, **own) is None


def test_a_defect_before_rows_are_read_closes_no_table(town, monkeypatch):
    steps = town.service.steps
    take = type(steps).take

    def broken(self, step, **given):
        return take(self, "nothing" if step == "rehearse" else step, **given)

    monkeypatch.setattr(type(steps), "take", broken)
    assert town.done()["state"] == "failed"
    assert town.service.catalogue.is_open("people")


def test_people_take_turns(town):
    """Twenty requests of one person do not keep another one waiting."""
    mine = [town.ask(kind="plan", formula=f"income ~ age + I(age*{i + 2})").json()["id"] for i in range(5)]
    other = town.ask("bob", kind="plan").json()["id"]
    order = [town.service.jobs.claim("test").id for _ in range(6)]
    assert order == [mine[0], other, *mine[1:]]


# ---------------------------------------------------------------- slow senders


@contextlib.contextmanager
def served(app, **options):
    """The application behind a real server, and its port."""
    config = uvicorn.Config(app, port=0, log_level="error", http=PromptProtocol, **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)


def ended(connection, seconds=20):
    """Whether the other side hangs up, and what it says before."""
    connection.settimeout(seconds)
    said = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(4096):
            said += part
    return said


def test_slow_headers_and_bodies_time_out(town, monkeypatch):
    monkeypatch.setattr(limits, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.5)
    with served(town.app) as port:

        def connected(*parts):
            connection = socket.create_connection(("127.0.0.1", port))
            for part in parts:
                connection.sendall(part)
            return connection

        assert ended(connected()) == b""
        assert ended(connected(b"GET /sign-in HTTP/1.1\r\nHost: loc")) == b""
        body = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
        assert b" 408 " in ended(connected(body))
        kept = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(3):  # who is quick is served, also on one connection
            kept.request("GET", "/sign-in", headers={"Host": "localhost"})
            assert kept.getresponse().read()
        kept.sock.sendall(b"GET /sign-in HTTP/1.1\r\n")
        assert ended(kept.sock) == b""


# ---------------------------------------------------------------- lists


def test_lists_have_pages(town):
    row = {
        "table": "people",
        "kind": "plan",
        "body": json.dumps(FIT),
        "original": "x",
        "person": "ada",
        "state": "cancelled",
        "created": 1.0,
        "tries": 0,
    }
    with town.service.store.writing() as connection:
        rows = [row | {"id": f"{i:032x}", "reference": str(i)} for i in range(ON_A_PAGE + 7)]
        connection.execute(jobs.insert(), rows)
    pages = [town("ada", "GET", f"/jobs?page={page}").json() for page in (1, 2, 3)]
    assert [len(found) for found in pages] == [ON_A_PAGE, 7, 0]
    assert len({job["id"] for found in pages for job in found}) == ON_A_PAGE + 7
    page = town.browser("ada")
    assert "?page=2" in page.get("/jobs").text
    second = page.get("/jobs?page=2").text
    assert "?page=1" in second
    assert "?page=3" not in second
    custody = town.browser("carl")
    for path in ("/custody", "/custody/keys", "/custody/log"):
        assert custody.get(f"{path}?page=2").status_code == 200
    for path in ("/custody/waiting", "/custody/keys", "/custody/log"):
        assert isinstance(town("carl", "GET", f"{path}?page=2").json(), list)
    assert town("ada", "GET", "/jobs?page=0").status_code == 422


def test_the_ledger_of_custodians_has_pages(town, monkeypatch):
    """It was one page of all releases."""
    monkeypatch.setattr("discreet.service.custody.ON_A_PAGE", 3)
    account = town.service.ledger.account("town/people")
    for number in range(7):
        what = {"method": "x", "columns": [], "formula": f"release {number}"}
        account.reserve(Cost(1e-4, 0.0), "add-remove", what).draw()
    custody = town.browser("carl")
    texts = [custody.get(f"/custody/ledger?page={page}").text for page in (1, 2, 3, 4)]
    shown = [[int(number) for number in re.findall(r"x: release (\d)<", text)] for text in texts]
    assert shown == [[6, 5, 4], [3, 2, 1], [0], []]
    assert ["?page=2" in texts[0], "?page=1" in texts[1], "?page=3" in texts[1]] == [True] * 3
    assert "?page=4" not in texts[2]
    assert custody.get("/custody/ledger?page=0").status_code == 422


# ---------------------------------------------------------------- rates and addresses


def test_rates_hold_across_processes(tmp_path):
    """Two processes, or one that is started again: in 0.2.0 each had limits of its own."""
    place = str(tmp_path / "service.db")
    first, second = (Rates(Store(place), "requests", 60) for _ in range(2))
    allowed = sum(rates.allow("ada") for _ in range(100) for rates in (first, second))
    assert 50 <= allowed <= 70  # time passes
    assert Rates(Store(place), "requests", 60).allow("bob")
    again = Rates(Store(place), "requests", 60)
    assert sum(again.allow("ada") for _ in range(100)) < 10


def test_rates_hold_across_processes_in_postgresql(team):
    pair = [Rates(team.service.store, "requests", 60) for _ in range(2)]
    assert 50 <= sum(rates.allow("ada") for _ in range(100) for rates in pair) <= 70


# ---------------------------------------------------------------- many at once


def test_rates_alone_do_not_wait_for_the_disk(town):
    """Each analyst's first page did, behind all sign-ins."""
    written, store = [], town.service.store
    event.listen(store.engine, "before_cursor_execute", lambda *given: written.append(given[2]))
    Rates(store, "requests", 60).allow("eve")
    assert [line for line in written if "PRAGMA" in line] == ["PRAGMA synchronous = NORMAL"]
    written.clear()
    town.service.people.sign_in("ada", None, "key")
    assert [line for line in written if "PRAGMA" in line] == ["PRAGMA synchronous = FULL"]
    assert any("discreet_events" in line for line in written)


def test_rates_alone_do_not_wait_for_the_disk_in_postgresql(team):
    asked = select(func.current_setting("synchronous_commit"))
    for wait, shown in ((False, "off"), (True, "on"), (False, "off")):
        with team.service.store.writing(wait=wait) as connection:
            assert connection.execute(asked).scalar() == shown


def test_writers_wait_for_their_turn_outside_the_database(tmp_path):
    """SQLite's own waiting has no order: with 50 sign-ins at once some took 4.7 seconds."""
    store = Store(str(tmp_path / "service.db"))
    done = threading.Event()

    def write():
        with store.writing():
            done.set()

    with store.writing():
        others = [threading.Thread(target=write) for _ in range(5)]
        for other in others:
            other.start()
        time.sleep(0.2)
        assert store.engine.pool.checkedout() == 1
        assert not done.is_set()
    for other in others:
        other.join(10)
    assert done.is_set()


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="this system has no niceness")
def test_processes_are_nice_before_they_import_anything():
    """They took the time of pages while they started."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield_to_pages(process.pid)
    found = os.getpriority(os.PRIO_PROCESS, process.pid)
    process.communicate(b"\n")
    assert found == min(os.getpriority(os.PRIO_PROCESS, 0) + NICE, 19)


def wrong_keys(port, count):
    """The statuses of guesses, each from another address, as the sender says."""
    found = []
    for i in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        headers = {"Host": "localhost", "Authorization": "Bearer dk_1_2", "X-Forwarded-For": f"10.0.0.{i}"}
        connection.request("GET", "/v1/me", headers=headers)
        found.append(connection.getresponse().status)
    return found


def test_the_address_of_a_client_is_what_a_declared_proxy_says(tmp_path):
    """0.2.0 believed every program on the same computer, so guesses of keys were never slowed down."""
    town = Town(set_up(tmp_path))
    with served(town.app, proxy_headers=False) as port:
        assert 429 in wrong_keys(port, 40)


def test_settings_name_the_proxies(tmp_path, monkeypatch):
    from discreet.cli import serve

    found = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: found.append(self.config))
    for more in ("", 'proxies = ["127.0.0.1"]'):
        folder = tmp_path / str(len(found))
        folder.mkdir()
        serve._serve(set_up(folder, more=more), 0, demo=False)
    assert not found[0].proxy_headers
    assert found[1].proxy_headers
    assert list(found[1].forwarded_allow_ips) == ["127.0.0.1"]
    assert all(one.http is PromptProtocol for one in found)
