"""The container, its composition and the systemd unit: linters, and their steps without an engine."""

import ipaddress
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from discreet.ledger import Ledger

ROOT = Path(__file__).parents[2]
CONTAINER = ROOT / "distribution" / "container"
UNIT = ROOT / "distribution" / "systemd" / "discreet.service"


def steps():
    """The steps of the Dockerfile, in order: what each one does, and the rest of its line."""
    text = (CONTAINER / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def test_a_linter_finds_nothing_in_the_dockerfile():
    linter = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if linter is None:
        pytest.skip("hadolint is not installed: pip install 'discreet[dist]'")
    found = subprocess.run([linter, CONTAINER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_what_the_dockerfile_copies_is_there_and_is_not_ignored():
    ignored = (CONTAINER / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    copied = [shlex.split(rest)[:-1] for step, rest in steps() if step == "COPY" and "--from" not in rest]
    sources = [source for listed in copied for source in listed]
    assert all((ROOT / source).exists() for source in sources)
    assert {f"!{source}" for source in sources} == set(ignored) - {"*"}


def test_the_composition_agrees_with_the_files_beside_it():
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load((CONTAINER / "compose.yaml").read_text(encoding="utf-8"))
    own, proxy = found["services"]["discreet"], found["services"]["proxy"]
    assert (CONTAINER / own["build"]["context"] / own["build"]["dockerfile"]).resolve() == CONTAINER / "Dockerfile"
    folders = [volume.split(":")[1] for volume in own["volumes"]]
    assert folders == [rest for step, rest in steps() if step == "VOLUME"]  # a folder, not the ledger's file
    assert "ports" not in own  # reached through the proxy alone
    address = proxy["networks"]["inside"]["ipv4_address"]
    (subnet,) = found["networks"]["inside"]["ipam"]["config"]
    assert ipaddress.ip_address(address) in ipaddress.ip_network(subnet["subnet"])
    assert address in (CONTAINER / "compose.yaml").read_text(encoding="utf-8").split("services:")[0]
    (port,) = [rest for step, rest in steps() if step == "EXPOSE"]
    caddy = (CONTAINER / "Caddyfile").read_text(encoding="utf-8")
    assert f"reverse_proxy discreet:{port}" in caddy
    assert "/metrics" in caddy


def test_the_unit_is_one_that_systemd_takes(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "discreet"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = UNIT.read_text(encoding="utf-8")
    assert "/opt/discreet/bin/discreet serve /srv/discreet/service.toml" in text
    (tmp_path / UNIT.name).write_text(text.replace("/opt/discreet/bin/discreet", str(program)))
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / UNIT.name)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


# ---------------------------------------------------------------- the steps, in a folder in the place of /


def run_steps(root):
    """Run the RUN steps with their folders below another root; but for the user, which only root can add."""
    own = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    build = root / "build"
    build.mkdir(parents=True)
    for step, rest in steps():
        if step == "COPY" and "--from" not in rest:
            *sources, target = shlex.split(rest)
            for source in sources:
                place = build / target / ("" if (ROOT / source).is_dir() else Path(source).name)
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                place.parent.mkdir(parents=True, exist_ok=True)
                copy(ROOT / source, place)
        elif step == "RUN":
            script = re.sub(r"&& useradd .*$", "", rest)
            script = re.sub(r"/(wheels|opt|srv)\b", lambda match: f"{root}/{match[1]}", script)
            done = subprocess.run(
                ["sh", "-euc", script], cwd=build, env=own, capture_output=True, text=True, check=False
            )
            if "No matching distribution" in done.stderr or "Could not find a version" in done.stderr:
                pytest.skip("no index of packages can be reached")
            assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.more
def test_the_steps_make_a_service_that_is_healthy_and_stops(tmp_path):
    run_steps(tmp_path)
    folder = tmp_path / "srv" / "discreet"
    folder.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rows = "\n".join(f"{a},{a * 100}" for a in np.random.default_rng(0).integers(18, 91, 500))
    (folder / "people.csv").write_text(f"age,income\n{rows}\n")
    (folder / "people.toml").write_text("[columns]\nage = {low=18, high=90}\nincome = {low=0, high=10000}\n")
    table = '[tables.people]\ndata = "people.csv"\nschema = "people.toml"\naccount = "town"\nrows = 500\n'
    (folder / "service.toml").write_text(f'[service]\nport = {port}\npublic = "https://m.example"\n\n{table}')
    Ledger.create(folder / "people.ledger").open("town", epsilon=1, delta=1e-6)
    told = {step: json.loads(rest) for step, rest in steps() if step in ("ENTRYPOINT", "CMD")}
    health = next(json.loads(rest.partition("CMD ")[2]) for step, rest in steps() if step == "HEALTHCHECK")
    command = [word.replace("/opt/", f"{tmp_path}/opt/") for word in told["ENTRYPOINT"]]
    command += [word.replace("/srv/", f"{tmp_path}/srv/") for word in told["CMD"]]
    check = [word.replace("/opt/", f"{tmp_path}/opt/").replace(":8350", f":{port}") for word in health]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    service = subprocess.Popen(command, cwd=folder, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while subprocess.run(check, env=own, capture_output=True, check=False).returncode:
            assert time.monotonic() < until
            assert service.poll() is None
            time.sleep(1)
    finally:
        begun = time.monotonic()
        service.send_signal(signal.SIGTERM)
        service.wait(60)
    assert time.monotonic() - begun < 10
