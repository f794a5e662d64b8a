"""What an analyst, or somebody who is none, may try; all of it fails."""

import datetime as dt
import json
import time
from html.parser import HTMLParser

import pytest
from conftest import SCHEMA, Town, set_up, token_of, write_people

from discreet.errors import FileFormatError, ParameterError
from discreet.service import people as people_module
from discreet.service.jobs import NEUTRAL
from discreet.service.settings import Settings
from discreet.service.storage import events, jobs, keys, sessions

pytestmark = pytest.mark.more

SECRET = "Atlantis"
"""A value of the data that nobody may ever see."""


def everything(town):
    """All that the service keeps, but for the table."""
    with town.service.store.reading() as connection:
        return "".join(str(connection.execute(one.select()).all()) for one in (jobs, events, keys, sessions))


# ---------------------------------------------------------------- others' things


def test_another_analysts_job_is_not_there(town):
    job = town.ask("ada").json()["id"]
    town.work()
    for path in (f"/jobs/{job}", f"/jobs/{job}/files/release.json", f"/jobs/{job}/files/report.html"):
        unknown = path.replace(job, "0" * 32)
        assert town("bob", "GET", path).status_code == 404
        assert town("bob", "GET", path).json() == town("bob", "GET", unknown).json()
        assert town("ada", "GET", path).status_code == 200
    assert town("bob", "DELETE", f"/jobs/{job}").status_code == 404
    assert town("bob", "GET", "/jobs").json() == []
    page = town.browser("bob")
    assert page.get(f"/jobs/{job}").status_code == 404
    assert page.post(f"/jobs/{job}/cancel", data={"form": token_of(page.get("/").text)}).status_code == 404


def test_analysts_are_no_custodians(shared_town):
    for method, path in (
        ("GET", "/accounts"),
        ("GET", "/waiting"),
        ("GET", "/keys"),
        ("GET", "/log"),
        ("POST", "/keys"),
    ):
        body = {"json": {"person": "eve", "role": "custodian"}} if method == "POST" else {}
        assert shared_town("ada", method, f"/custody{path}", **body).status_code == 403
    page = shared_town.browser("ada")
    form = {"form": token_of(page.get("/").text)}
    for path in ("", "/keys", "/log", "/ledger"):
        assert page.get(f"/custody{path}").status_code == 403
    assert page.post("/custody/keys", data=form | {"name": "eve", "role": "custodian"}).status_code == 403
    assert "Custody" not in page.get("/").text


def test_an_approval_cannot_be_given_by_whoever_asks(town):
    job = town.ask(table="asked").json()["id"]
    assert town("ada", "POST", f"/custody/jobs/{job}", json={"approve": True}).status_code == 403
    town.work()
    assert town("ada", "GET", f"/jobs/{job}").json()["state"] == "waiting"


def test_releases_of_a_table_that_does_not_share_are_their_owners(tmp_path):
    config = set_up(tmp_path)
    config.write_text(config.read_text().replace('about = "Everybody"', "shared = false"))
    town = Town(config)
    job = town.done()["id"]
    assert town("bob", "GET", "/tables/people/releases").json() == []
    asked = {"kind": "model", "table": "people", "release": job, "formula": "income ~ age"}
    assert town("bob", "POST", "/jobs", json=asked).status_code == 404
    assert town("ada", "POST", "/jobs", json=asked).status_code == 202
    assert town.ask("bob").json()["kind"] == "fit"


# ---------------------------------------------------------------- who asks


@pytest.mark.parametrize(
    "key", ["", "dk_", "dk_x_y", "nonsense", "dk_00000000_" + "A" * 43, "é", "dk__" + "'; DROP TABLE keys"]
)
def test_keys_that_nobody_has_open_nothing(shared_town, key):
    headers = {"Authorization": f"Bearer {key}".encode()}
    assert shared_town.http.get("/v1/me", headers=headers).status_code in (401, 429)


def test_a_key_in_the_address_or_in_a_cookie_is_none(shared_town):
    key = shared_town.keys["ada"]
    assert shared_town.http.get(f"/v1/me?key={key}").status_code in (401, 429)
    page = shared_town.browser("ada")
    assert page.get("/v1/me").status_code in (401, 429)  # a session is for pages
    bearer = {"Authorization": f"Bearer {key}"}
    assert shared_town.browser().get("/", headers=bearer).status_code == 303  # and a key for programs


def test_keys_and_sessions_are_stored_as_digests_only(town):
    page = town.browser("ada")
    stored = everything(town)
    assert page.cookies["discreet"] not in stored
    for key in town.keys.values():
        assert key.split("_", 2)[2] not in stored
        assert people_module.digest(key.split("_", 2)[2]) in stored


def test_a_revoked_key_ends_its_sessions_too(town):
    page = town.browser("ada")
    assert page.get("/").status_code == 200
    id_ = town.keys["ada"].split("_")[1]
    assert town("carl", "DELETE", f"/custody/keys/{id_}").status_code == 200
    assert town("ada", "GET", "/me").status_code == 401
    assert page.get("/").status_code == 303
    page = town.browser("bob")
    assert town("carl", "DELETE", "/custody/people/bob").status_code == 200
    assert (town("bob", "GET", "/me").status_code, page.get("/").status_code) == (401, 303)


def test_a_forged_or_ended_session_is_none(town, monkeypatch):
    page = town.browser("ada")
    real = page.cookies["discreet"]
    for forged in (real[:-1] + ("A" if real[-1] != "A" else "B"), people_module.digest(real), "x" * 43, ""):
        other = town.browser()
        other.cookies.set("discreet", forged)
        assert other.get("/").headers["location"] == "/sign-in"
    later = time.time() + people_module.HOURS * 3600 + 1
    monkeypatch.setattr(people_module.time, "time", lambda: later)
    assert page.get("/").status_code == 303


def test_guessing_keys_is_slowed_down(town):
    wrong = {"Authorization": "Bearer dk_1_2"}
    answers = (town.http.get("/v1/me", headers=wrong).status_code for _ in range(1000))
    assert next(answers) == 401
    assert 429 in answers
    assert town("ada", "GET", "/me").status_code == 200


def test_asking_without_end_is_slowed_down(tmp_path):
    town = Town(set_up(tmp_path, more="requests_a_minute = 10"))
    answers = (town("ada", "GET", "/me").status_code for _ in range(1000))
    assert [next(answers) for _ in range(10)] == [200] * 10
    assert 429 in answers
    assert town("bob", "GET", "/me").status_code == 200


# ---------------------------------------------------------------- forms of other sites


def test_forms_of_other_sites_do_nothing(town):
    page = town.browser("ada")
    form = {"form": token_of(page.get("/").text)}
    job = town.ask(kind="plan").json()["id"]
    address = f"/jobs/{job}/cancel"
    for data, headers in (
        ({}, {}),
        ({"form": "x"}, {}),
        ({"form": token_of(town.browser("bob").get("/").text)}, {}),
        (form, {"Origin": "https://evil.example"}),
        (form, {"Origin": "null"}),
        (form, {"Sec-Fetch-Site": "cross-site"}),
    ):
        assert page.post(address, data=data, headers=headers).status_code == 403
    assert town("ada", "GET", f"/jobs/{job}").json()["state"] == "queued"
    assert page.post(address, data=form, headers={"Origin": "http://localhost"}).status_code == 303
    assert town("ada", "GET", f"/jobs/{job}").json()["state"] == "cancelled"


def test_nobody_is_signed_in_by_another_site(town):
    page = town.browser()
    page.get("/sign-in")
    assert page.post("/sign-in", data={"key": town.keys["ada"], "form": "x"}).status_code == 403
    assert page.post("/sign-in", data={"key": town.keys["ada"]}).status_code == 403


def test_the_service_answers_to_its_own_names_only(shared_town):
    """So that a page elsewhere cannot point its own name at this computer."""
    assert shared_town.http.get("/sign-in", headers={"Host": "evil.example"}).status_code == 400


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites(town):
    http = town.browser()
    form = token_of(http.get("/sign-in").text)
    told = http.post("/sign-in", data={"key": town.keys["ada"], "form": form}).headers["set-cookie"].lower()
    assert all(part in told for part in ("httponly", "samesite=lax", "path=/"))


def test_behind_tls_cookies_insist_on_it(tmp_path):
    config = set_up(tmp_path, more='public = "https://models.example"')
    town = Town(config)
    http = town.browser()
    page = http.get("https://models.example/sign-in")
    data = {"key": town.keys["ada"], "form": token_of(page.text)}
    told = http.post("https://models.example/sign-in", data=data).headers
    assert told["set-cookie"].startswith("__Host-discreet=")
    assert "secure" in told["set-cookie"].lower()
    assert "max-age" in told["strict-transport-security"]


# ---------------------------------------------------------------- what is sent


def test_oversized_bodies_are_refused(shared_town):
    headers = {"Authorization": f"Bearer {shared_town.keys['ada']}", "Content-Type": "application/json"}
    large = b'{"kind": "' + b"x" * 70_000 + b'"}'
    assert shared_town.http.post("/v1/jobs", content=large, headers=headers).status_code == 413

    def parts():
        for _ in range(10):
            yield b"x" * 10_000

    assert shared_town.http.post("/v1/jobs", content=parts(), headers=headers).status_code == 413
    assert shared_town.http.post("/sign-in", content=large).status_code == 413


@pytest.mark.parametrize(
    "more",
    [
        {"random_state": 0}, {"seed": 1}, {"levels": {"region": ["north"]}}, {"domain": {}}, {"schema": SCHEMA},
        {"missing": "drop"}, {"rows": 10}, {"neighbors": "replace-one"}, {"delta": 0.5}, {"data": "/etc/passwd"},
        {"account": "other"}, {"epsilon": "0.5"}, {"epsilon": True}, {"formula": ["income ~ age"]}, {"purpose": 3},
        {"epsilon": -1}, {"table": "../people"}, {"table": "people\x00"}, {"formula": "y" * 2001},
    ],
)  # fmt: skip
def test_a_request_says_nothing_that_is_not_the_analysts(shared_town, more):
    for path in ("/jobs", "/quote"):
        asked = {"table": "people", "kind": "fit", "epsilon": 0.5, "formula": "income ~ age"} | more
        assert shared_town("ada", "POST", path, json=asked).status_code == 422


def test_numbers_that_are_none_are_refused(shared_town):
    headers = {"Content-Type": "application/json"}
    for value in ("NaN", "Infinity", "1e999", "-0.0"):
        body = f'{{"table": "people", "kind": "fit", "epsilon": {value}, "formula": "income ~ age"}}'
        assert shared_town("ada", "POST", "/jobs", content=body, headers=headers).status_code == 422


WAYS_OUT = ["../../people.csv", "..%2f..%2fpeople.csv", "people.csv", "%00", "tables.json", "release.json%2f.."]


@pytest.mark.parametrize("name", WAYS_OUT)
def test_no_path_leads_out(shared_town, name):
    job = shared_town.done(kind="plan")["id"]
    page = shared_town.browser("ada")
    for answer in (
        shared_town("ada", "GET", f"/jobs/{job}/files/{name}"),
        page.get(f"/jobs/{job}/files/{name}"),
        page.get(f"/tables/{name}"),
        page.get(f"/{name}"),
        shared_town("ada", "GET", f"/tables/{name}/synthetic"),
    ):
        assert answer.status_code == 404
        assert "north" not in answer.text


class Tags(HTMLParser):
    """The tags of a page, with the names of their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, [name for name, _ in attrs]))


SCRIPT = "<script>alert('x')</script>"
ODD = f'"><img src=x onerror=alert(1)>{SCRIPT}'


def test_scripts_in_names_stay_text(tmp_path):
    config = set_up(tmp_path)
    quoted = json.dumps(ODD)
    (tmp_path / "people.toml").write_text(
        SCHEMA.replace('["F", "M"]', f'["F", {quoted}]') + f"{quoted} = {{low=0, high=1}}\n"
    )
    config.write_text(config.read_text().replace('about = "Everybody"', f"about = {quoted}"))
    town = Town(config)
    town.keys["ada"] = town.service.people.new_key(ODD, "analyst", "test")
    town.done(kind="plan", formula=f"income ~ age + `{ODD}`")
    job = town.done(kind="try", formula="income ~ age + sex")
    town.ask(table="asked", purpose=ODD, formula="income ~ sex")
    page, custody = town.browser("ada"), town.browser("carl")
    texts = [
        page.get(path).text for path in ("/", "/tables/people", "/tables/people/model", "/jobs", f"/jobs/{job['id']}")
    ]
    texts.append(page.get("/tables/people/model", params={"formula": ODD, "epsilon": ODD, "method": ODD}).text)
    texts += [custody.get(f"/custody{path}").text for path in ("", "/keys", "/log", "/ledger")]
    texts += [page.get(f"/jobs/{one.id}").text for one in town.service.jobs.of_person(ODD)]
    assert sum("&lt;script&gt;" in text for text in texts) >= 8
    for text in texts:
        tags = Tags(text).found
        assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in tags}
        assert not any(name.startswith("on") for _, names in tags for name in names)


def test_every_page_forbids_scripts(shared_town):
    page = shared_town.browser("carl")
    for path in (
        "/sign-in",
        "/",
        "/tables/people",
        "/tables/people/model",
        "/jobs",
        "/custody",
        "/custody/log",
        "/no",
        "/v1/me",
    ):
        policy = page.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script" not in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
    headers = page.get("/").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


# ---------------------------------------------------------------- refusals must not tell


def probes(town):
    """Everything that an analyst can see of some requests, times and ids left out."""
    told = []
    for asked in (
        {"formula": "income ~ region"},
        {"formula": "income ~ age"},
        {"formula": "income ~ C(region, Treatment('Atlantis'))"},
        {"formula": "income ~ C(region, levels=['north', 'south', 'west', 'Atlantis'])"},
        {"formula": "income ~ region", "levels": {"region": ["north", "south", "west", "Atlantis"]}},
        {"formula": "income ~ region", "kind": "try"},
        {"kind": "release", "formulas": ["income ~ region"], "formula": None},
    ):
        body = {"table": "people", "kind": "fit", "epsilon": 0.1, "formula": "income ~ age"} | asked
        body = {name: value for name, value in body.items() if value is not None}
        answer = town("ada", "POST", "/jobs", json=body)
        town.work()
        told.append((answer.status_code, answer.json().get("detail")))
        if answer.status_code == 202:
            job = town("ada", "GET", f"/jobs/{answer.json()['id']}").json()
            told.append((job["state"], job["answer"], job["files"]))
    return told


def test_levels_cannot_be_probed(tmp_path):
    """One row with a level that the schema does not have: whatever is asked for, the answer is the same."""
    folders = [tmp_path / name for name in ("clean", "odd")]
    towns = []
    for folder in folders:
        folder.mkdir()
        towns.append(Town(set_up(folder)))
    write_people(folders[1] / "people.csv", odd_region=SECRET)  # after it was checked: the data changed
    clean, odd = map(probes, towns)
    refusals = [told for told in clean if told[0] == 422]
    assert refusals == [told for told in odd if told[0] == 422]  # what is refused at once is refused of both
    assert {str(told) for told in odd if told[0] in ("failed", "refused", "lost")} == {
        str(("failed", NEUTRAL, []))
    }  # one neutral answer, whichever column was named
    closed = [told for told in odd if told[0] == 409]
    assert len({str(told) for told in closed}) == 1  # and from then on the table is closed, to every request alike
    assert all(entry.facts["kind"] != "reserve" for entry in towns[1].service.ledger.entries())
    assert SECRET not in towns[1].browser("ada").get("/tables/people").text


def test_what_is_wrong_with_data_is_told_to_the_custodian(town, tmp_path):
    write_people(tmp_path / "people.csv", odd_region=SECRET)
    first = town.done(formula="income ~ age")  # which does not even name the column
    assert (first["state"], first["answer"]) == ("failed", NEUTRAL)
    assert "problem" not in first
    assert town.ask(formula="income ~ sex").status_code == 409
    table = next(one for one in town("carl", "GET", "/custody/accounts").json() if one["table"] == "people")
    assert table["state"] == "closed"
    assert "region" in table["problem"]
    assert SECRET not in everything(town) + str(table)
    page = town.browser("carl").get("/custody").text
    assert "region" in page
    assert SECRET not in page
    write_people(tmp_path / "people.csv")
    assert town("carl", "POST", "/custody/tables/people/check").status_code == 202
    town.work()
    assert town.done(formula="income ~ age")["state"] == "done"


def test_a_table_that_does_not_fit_is_never_opened(tmp_path):
    config = set_up(tmp_path)
    write_people(tmp_path / "people.csv", odd_region=SECRET)
    town = Town(config)
    assert not town("ada", "GET", "/tables/people").json()["open"]
    assert town.ask().status_code == 409
    assert town.ask(kind="try").status_code == 202  # made-up people are there for everybody


def test_times_are_seen_in_steps(tmp_path):
    """A job that is over is seen to run until its step ends, and the balance moves only when the clock ticks."""
    town = Town(set_up(tmp_path, step=600.0))
    id_ = town.ask().json()["id"]
    job = town.service.jobs.claim("test")
    rest = town.service.work.do(job)
    assert 0 < rest <= 600
    stored = town.service.jobs.get(id_)
    assert stored.state == "done"
    assert stored.shown == pytest.approx(stored.started + 600.0)
    seen = town("ada", "GET", f"/jobs/{id_}").json()
    assert (seen["state"], seen["over"], seen["files"]) == ("running", False, [])
    assert town("ada", "GET", f"/jobs/{id_}/files/release.json").status_code == 404
    assert town("ada", "GET", "/tables/people/releases").json() == []
    assert town("ada", "GET", "/tables/people").json()["budget"]["epsilon_spent"] == 0
    town.service.balances.tick()
    assert town("ada", "GET", "/tables/people").json()["budget"]["epsilon_spent"] > 0


def test_logs_hold_no_data_and_no_keys(town, capfd, caplog):
    town.done()
    town.ask(formula="income ~ agee")
    out, err = capfd.readouterr()
    logged = out + err + caplog.text + everything(town)
    assert not any(key.split("_", 2)[2] in logged for key in town.keys.values())
    log = town("carl", "GET", "/custody/log").json()
    assert all(dt.datetime.fromtimestamp(event["at"]).year > 2000 for event in log)
    assert "income" not in json.dumps(log)


# ---------------------------------------------------------------- set-up that would not be safe


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('host = "0.0.0.0"', "in the clear"),
        ("port = -1\nworkers = 1000", "service.workers"),
        ("debug = true", "service.debug"),
        ('database = "$NO_SUCH_VARIABLE"', "NO_SUCH_VARIABLE"),
        ('database = "host=h user=u password=p"', "Write a database as postgresql"),
        ('ledger = "dbname=d"', "Write a database as postgresql"),
    ],
)
def test_settings_that_are_not_safe_or_not_known_are_refused(tmp_path, more, words):
    config = set_up(tmp_path)
    text = config.read_text().replace("port = 0\n", "" if more.startswith("port") else "port = 0\n")
    config.write_text(text.replace("workers = 1\n", more + ("\n" if "workers" in more else "\nworkers = 1\n")))
    with pytest.raises(ParameterError, match=words):
        Town(config)


def test_settings_with_a_key_of_many_parts_take_no_memory(tmp_path):
    """They took 2.4 GB, and ended with a RecursionError."""
    config = set_up(tmp_path)
    config.write_text("a" + ".a" * 25_000 + " = 1", encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"{config.name}: its entries are nested too deeply"):
        Settings.from_file(config)
    config.write_bytes(b"\xff")
    with pytest.raises(FileFormatError, match="settings are a TOML file"):
        Settings.from_file(config)


def test_a_host_that_others_reach_needs_tls_in_front(tmp_path):
    config = set_up(tmp_path, more='host = "0.0.0.0"\npublic = "https://models.example"')
    assert Settings.from_file(config).public_is_https


@pytest.mark.parametrize("proxy", ["*", "0.0.0.0/0", "::/0", "caddy", "", "172.30.0.2/24"])
def test_a_proxy_is_an_address_or_a_network_of_some(tmp_path, proxy):
    """Of everybody's word, people would choose their own address; a name would silently be nobody's."""
    with pytest.raises(ParameterError, match="proxies: "):
        Settings.from_file(set_up(tmp_path, more=f"proxies = ['127.0.0.1', '{proxy}']"))


def test_addresses_and_networks_of_proxies_are_taken(tmp_path):
    found = Settings.from_file(set_up(tmp_path, more="proxies = ['127.0.0.1', '::1', '172.30.0.0/24']"))
    assert found.service.proxies[-1] == "172.30.0.0/24"
