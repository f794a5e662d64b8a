"""`discreet serve`: a service for analysts who may not see the data."""

from __future__ import annotations

import os
import socket
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.demo import SCHEMA, people
from discreet.core.scratch import Scratch
from discreet.errors import DiscreetWarning, ParameterError
from discreet.ledger.charging import LEDGER

EPILOG = "Example: discreet serve --demo"


def serve(
    config: Annotated[
        Path | None,
        typer.Argument(help="What is served, as TOML; see docs/howto/service.md, and docs/howto/operate.md."),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve made-up people, and print a key.")] = False,
    port: Annotated[int | None, typer.Option(help="Instead of the one that the configuration names; 0: any.")] = None,
    new_key: Annotated[
        str | None, typer.Option("--new-key", help="Make a key for somebody, print it, and end.")
    ] = None,
    role: Annotated[str, typer.Option(help="Of the new key: analyst or custodian.")] = "analyst",
    revoke: Annotated[
        str | None, typer.Option("--revoke", help="Revoke a key, by the letters after dk_, and end.")
    ] = None,
) -> None:
    """Serve private models of tables to analysts who may not see the data."""
    os.environ.pop(LEDGER, None)  # the configuration says who is charged
    warnings.simplefilter("ignore", DiscreetWarning)  # of other people's formulas
    if demo == (config is not None):
        raise ParameterError("Name a configuration, or give --demo.")
    if config is None:
        with Scratch() as folder:
            _serve(_set_up(folder), 0 if port is None else port, demo=True)
    elif new_key is not None:
        key = _opened(config).people.new_key(new_key, role, "command line")
        console.say(f"The key of {new_key}, which is shown once:", key)
    elif revoke is not None:
        if not _opened(config).people.revoke_key(revoke, "command line"):
            raise ParameterError(f"There is no key {revoke!r}, or it was revoked before.")
        console.say(f"The key {revoke} is revoked.")
    else:
        _serve(config, port, demo=False)


def _opened(config: Path) -> Any:
    try:
        from discreet.service.core import Service
    except ImportError as error:
        raise ParameterError(f'The service needs {error.name}: pip install "discreet[service]"') from None
    return Service.open(str(config))


def _set_up(folder: Path) -> Path:
    from discreet.service.demo import set_up

    return set_up(folder, people, SCHEMA)


def _serve(config: Path, port: int | None, *, demo: bool) -> None:
    service = _opened(config)
    import uvicorn

    from discreet.service.app import build
    from discreet.service.limits import CONNECTIONS, GRACE, PromptProtocol
    from discreet.service.telemetry import log_to_stderr

    for name in service.settings.tables:
        if not service.catalogue.is_checked(name) and (problem := service.catalogue.check(name, "start")) is not None:
            console.say_error(f"The table {name} stays closed:", *problem.split("\n"))
    settings = service.settings.service
    bound = _bound(settings.host, settings.port if port is None else port)
    name, number = bound.getsockname()[:2]
    console.say(f"Listening on http://{f'[{name}]' if ':' in name else name}:{number}")
    if demo:
        console.say(f"An analyst's key:   {service.people.new_key('ada', 'analyst', 'demo')}")
        console.say(f"A custodian's key:  {service.people.new_key('carl', 'custodian', 'demo')}")
    console.say("Ctrl-C ends it.")
    if settings.log:
        log_to_stderr()
    options: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False}
    options |= {"http": PromptProtocol, "limit_concurrency": CONNECTIONS, "timeout_graceful_shutdown": GRACE}
    options |= {"proxy_headers": bool(settings.proxies), "forwarded_allow_ips": list(settings.proxies)}
    uvicorn.Server(uvicorn.Config(build(service, str(config)), **options)).run(sockets=[bound])


def _bound(host: str, port: int) -> socket.socket:
    """Bind a socket, so that a port in use is reported before anything starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen()  # so that who is told the address is not turned away until the server runs
    except OSError as error:
        raise ParameterError(
            f"{host}:{port} cannot be listened on: {error.strerror}. Name another with --port."
        ) from None
    return bound
