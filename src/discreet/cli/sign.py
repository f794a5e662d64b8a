"""`discreet sign`: signatures of files, and keys to sign with."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import console
from discreet.cli.arguments import Force, free
from discreet.core import signing
from discreet.core.files import Document
from discreet.errors import GuaranteeError, ParameterError
from discreet.results.saved import check_file

EPILOG = "Example: discreet sign people.release.json --key custodian.private.pem"


def sign(
    file: Annotated[Path | None, typer.Argument(help="A release, a saved model or a plan.", show_default=False)] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Your private Ed25519 key, in PEM.")] = None,
    new_key: Annotated[
        str | None, typer.Option("--new-key", help="Instead: make a key pair, NAME.private.pem and NAME.public.pem.")
    ] = None,
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Protect the new private key by one.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to put the signature; FILE.sig.")] = None,
    force: Force = False,
) -> None:
    """Sign a file, so that others can tell who made it and that nobody changed it: `discreet check FILE --key`."""
    if new_key is not None:
        if file is not None or key is not None or out is not None:
            raise ParameterError(
                "--new-key makes a key pair and nothing else: leave out the file and the other options."
            )
        return _new_keys(new_key, passphrase, force)
    if file is None or key is None or passphrase:
        raise ParameterError("Give a file and --key, your private key; or make one first with --new-key NAME.")
    document = Document.read(file)
    if document.kind != "plan" and not all(finding.ok for finding in check_file(document)[1]):
        raise GuaranteeError(f"{file.name} does not pass `discreet check`, so it is not signed.")
    place = free(out or signing.beside(file), force, inputs=[file, key])
    made = signing.sign(document, key, _asked if sys.stdin.isatty() else None)
    made.save(place)
    console.say(f"The signature is in {place}, by the key {made.fingerprint}. Publish it beside {file}.")


def _new_keys(name: str, ask: bool, force: bool) -> None:
    private, public = (free(Path(f"{name}.{kind}.pem"), force, "--new-key") for kind in ("private", "public"))
    words = _chosen() if ask else os.environ.get(signing.PASSPHRASE)
    found = signing.new_keys(private, public, words)
    console.say(f"The key {found} was made.")
    console.say(f"{private} is private: whoever has it can sign as you. Keep it where only you can read it.")
    console.say(f"{public} is public: give it to whoever checks your files, by a way that they trust.")


def _chosen() -> str:
    given = os.environ.get(signing.PASSPHRASE)
    return given or str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True))


def _asked() -> str:
    return str(typer.prompt("Passphrase", hide_input=True, err=True))
