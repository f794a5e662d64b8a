"""What operators see: health, readiness, metrics, logs, request ids, a stop within seconds, and what is deleted."""

import json
import logging
import re
import signal
import socket
import time

import httpx2
import pytest
from conftest import Running, Town, set_up

from discreet.client import Client
from discreet.service.settings import Settings
from discreet.service.storage import jobs
from discreet.service.telemetry import JsonLines

SECRET = "s3cret-0123456789"


@pytest.fixture
def watched(tmp_path, monkeypatch):
    monkeypatch.setenv("METRICS", SECRET)
    return Town(set_up(tmp_path, more='metrics_token = "$METRICS"'))


def scraped(town, token=SECRET):
    return town.http.get("/metrics", headers={"Authorization": f"Bearer {token}"})


def values(text):
    """The samples of a page of metrics, each line of which must be one of the text format."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            name, value = re.fullmatch(r"(\w+(?:\{(?:\w+=\"[^\"]*\",?)*\})?) (\S+)", line).groups()
            found[name] = float(value)
        else:
            assert re.fullmatch(r"# (HELP \w+ .+|TYPE \w+ (counter|gauge|histogram))", line)
    return found


def test_health_readiness_and_metrics(watched):
    assert watched.http.get("/healthz").text == "ok\n"
    assert watched.http.get("/readyz").status_code == 200
    watched("ada", "GET", "/me")
    found = values(scraped(watched).text)
    assert found['discreet_requests_total{method="GET",route="/v1/me",status="200"}'] == 1
    assert found["discreet_request_seconds_count"] >= 3
    assert found['discreet_request_seconds_bucket{le="+Inf"}'] == found["discreet_request_seconds_count"]
    assert found['discreet_jobs{state="queued"}'] == 0
    assert found['discreet_table_open{table="people"}'] == 1
    assert found['discreet_budget_spent_share{account="town/people",part="Gaussian"}'] == 0
    assert found['discreet_ready{part="ledger"}'] == 1


@pytest.mark.parametrize("name", ["discreet:8350", "10.1.2.3:8350"])
def test_programs_that_watch_ask_by_any_name(watched, name):
    """As a cluster and a composition do, whose names no settings know; people may not."""
    told = {"Host": name, "Authorization": f"Bearer {SECRET}"}
    for path in ("/healthz", "/readyz", "/metrics"):
        assert watched.http.get(path, headers=told).status_code == 200
    assert watched.http.get("/metrics", headers={"Host": name}).status_code == 401
    for path in ("/sign-in", "/v1/me", "/metrics/../sign-in", "/"):
        assert watched.http.get(path, headers=told).status_code == 400


def test_metrics_are_for_who_has_the_token(watched, tmp_path):
    """They tell how long things take, which analysts are not to see."""
    for token in ("", "x", watched.keys["carl"]):
        assert scraped(watched, token).status_code == 401
    (tmp_path / "other").mkdir()
    assert scraped(Town(set_up(tmp_path / "other"))).status_code == 404


def test_a_ledger_that_is_gone_is_not_ready(watched, tmp_path):
    watched.app.state.readiness._until = 0
    (tmp_path / "people.ledger").rename(tmp_path / "elsewhere")
    answer = watched.http.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "not ready\n")
    assert watched.http.get("/healthz").status_code == 200


def test_each_request_has_an_id_and_a_line_without_data(shared_town, caplog):
    caplog.set_level(logging.INFO, "discreet.service")
    answer = shared_town("ada", "GET", "/tables/people")
    page = shared_town.browser("ada")
    caplog.clear()
    page.get("/tables/people/model", params={"formula": "income ~ age", "epsilon": "0.123"})
    shared_town("ada", "POST", "/quote", json={"formula": "income ~ sex"})
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records if record.name == "discreet.service"]
    assert [line["route"] for line in lines] == ["/tables/{table}/model", "/v1/quote"]
    assert lines[0]["who"] == "ada"
    assert lines[1]["status"] == 422
    assert all(re.fullmatch("[0-9a-f]{16}", line["request"]) for line in lines)
    assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])
    told = json.dumps(lines)
    assert not any(word in told for word in ("income", "0.123", "people", shared_town.keys["ada"]))


def test_an_error_is_logged_by_kind_and_place_alone(shared_town, caplog, monkeypatch):
    def broken(*_):
        raise RuntimeError("row 17 holds Atlantis")

    monkeypatch.setattr(type(shared_town.service.jobs), "of_person", broken)
    answer = shared_town("ada", "GET", "/jobs")
    assert answer.status_code == 500
    (error,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert error.facts["kind"] == "RuntimeError"
    assert error.facts["places"][-1].startswith("test_operations.py:")
    assert error.facts["request"] == answer.headers["x-request-id"]
    assert "Atlantis" not in caplog.text + answer.text + JsonLines().format(error)


def test_settings_and_people_show_no_secrets(tmp_path):
    more = f'database = "postgresql://u:{SECRET}@h/d"\nmetrics_token = "{SECRET}"\npublic = "https://m.example"'
    config = set_up(tmp_path, more=more)
    oidc = f'\n[oidc]\nissuer = "https://i.example"\nclient_id = "c"\nclient_secret = "{SECRET}"\n'
    config.write_text(config.read_text() + oidc)
    found = Settings.from_file(config)
    for shown in (found, found.service, found.oidc):
        assert SECRET not in repr(shown) + str(shown)


def test_sessions_show_no_token(shared_town):
    browser = shared_town.browser("ada")
    person = shared_town.service.people.of_session(browser.cookies["discreet"])
    assert person.form not in repr(person)


@pytest.mark.more
def test_finished_requests_are_deleted_but_for_those_that_were_paid_for(town):
    paid, free, refused = town.done()["id"], town.done(kind="plan")["id"], town.ask(table="asked").json()["id"]
    town("carl", "POST", f"/custody/jobs/{refused}", json={"approve": False})
    assert town.service.jobs.forget(time.time() - 3600) == 0
    with town.service.store.writing() as connection:
        connection.execute(jobs.update().values(finished=time.time() - 7200))
    assert town.service.jobs.forget(time.time() - 3600) == 2
    assert town("ada", "GET", f"/jobs/{paid}/files/release.json").status_code == 200
    for gone in (free, refused):
        assert town("ada", "GET", f"/jobs/{gone}").status_code == 404
        assert town.service.jobs.file_names(gone) == []
    assert town.done("bob", formula="income ~ age")["kind"] == "model"


@pytest.mark.more
def test_a_service_stops_within_ten_seconds(tmp_path):
    """While a request waits in a step, a browser is connected and a sender is slow; nothing that was asked is lost."""
    service = Running(set_up(tmp_path, step=0.2)).start()
    client = Client(service.address, service.key("ada"))
    asked = [client.fit("people", f"income ~ {x}", epsilon=0.3, wait=None) for x in ("age", "sex", "region")]
    port = int(service.address.rpartition(":")[2])
    slow = socket.create_connection(("127.0.0.1", port))
    slow.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    with httpx2.Client(base_url=service.address) as browser:
        browser.get("/sign-in")
        begun = time.monotonic()
        service.stop(signal.SIGTERM)
        assert time.monotonic() - begun < 10
    slow.close()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
    assert any(line["event"] == "request" for line in lines)
    service.start()
    try:
        client = Client(service.address, service.key("ada"))
        assert [client.job(job.id).wait(300).state for job in asked] == ["done"] * 3
    finally:
        service.stop()
