"""The command: keys from the command line, what is refused before anything begins, and the demo in one command."""

import re
import signal
import socket
import sys

import httpx2
import pytest
from conftest import Running, set_up

from discreet.service.core import Service
from discreet.service.settings import Settings

pytestmark = pytest.mark.more


def test_keys_are_made_and_revoked_on_the_command_line(run, tmp_path):
    config = set_up(tmp_path)
    made = run("serve", config, "--new-key", "ada")
    key = re.search(r"dk_\S+", made.out)[0]
    people = Service(Settings.from_file(config)).people
    assert people.of_key(key)[0].name == "ada"
    assert run("serve", config, "--revoke", key.split("_")[1]).code == 0
    assert people.of_key(key) is None
    again = run("serve", config, "--revoke", key.split("_")[1])
    assert again.code == 2
    assert "no key" in again.said
    assert "known as analyst" in run("serve", config, "--new-key", "ada", "--role", "custodian").said
    assert "A role is one of" in run("serve", config, "--new-key", "eve", "--role", "king").said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("town/people", "nobody"), "no account 'nobody'"),
        (("people.toml", "missing.toml"), "missing.toml"),
        (("rows = 2000", "rows = 0"), "tables.people.rows"),
        (("approval = true", "aproval = true"), "tables.asked.aproval"),
        (("[service]", "[service"), "not valid TOML"),
    ],
)
def test_what_is_wrong_with_the_set_up_is_told_before_anything_begins(run, tmp_path, change, words):
    config = set_up(tmp_path)
    config.write_text(config.read_text().replace(*change))
    told = run("serve", config)
    assert told.code == 2
    assert words in told.said


def test_a_configuration_or_the_demo(run):
    assert "or give --demo" in run("serve").said


def test_a_port_that_is_taken_is_told(run, tmp_path):
    config = set_up(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = run("serve", config, "--port", taken.getsockname()[1])
    assert told.code == 2
    assert "cannot be listened on" in told.said


def test_the_demo_is_one_command(tmp_path, monkeypatch):
    """Its folder is gone afterwards."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(Running, "command", lambda self: [sys.executable, "-m", "discreet", "serve", "--demo"])
    demo = Running(tmp_path / "none.toml").start()
    keys = re.findall(r"dk_\S+", demo.said)
    assert len(keys) == 2
    tables = httpx2.get(f"{demo.address}/v1/tables", headers={"Authorization": f"Bearer {keys[0]}"}).json()
    assert [table["name"] for table in tables if table["open"]] == ["people", "people-approved"]
    demo.stop(signal.SIGINT)
    assert list(tmp_path.glob("discreet-*")) == []
