"""`discreet check`: verifies a release against its guarantee, and its signature."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import console
from discreet.cli.arguments import Json, ReleaseFile
from discreet.core.files import Document
from discreet.results.checking import check as check_document
from discreet.results.glossary import meanings

EPILOG = "Example: discreet check people.release.json --key custodian.public.pem"

PublicKey = Annotated[
    Path | None, typer.Option("--key", help="Public key, in PEM, of whoever must have signed the file.")
]
SignatureFile = Annotated[
    Path | None, typer.Option("--signature", help="Where the signature is; FILE.sig, beside the file, by default.")
]


def check(release: ReleaseFile, key: PublicKey = None, signature: SignatureFile = None, json: Json = False) -> None:
    """Recompute the privacy loss of a release from its noise and compare it with the promise.

    Also tell what in the file contradicts what. With --key, the file must be signed by that key. It is read once, and
    may be a pipe. Exit code 0: it adds up. 1: it does not, or is not signed by the key. 2: the file or the key cannot
    be read.
    """
    found = check_document(Document.read(release, pipes=True), key=key, signature=signature)
    if json:
        console.print_json(found.to_dict())
    else:
        console.findings(found.findings)
        console.meanings(meanings(text for finding in found for text in (finding.what, finding.detail)))
        console.say("", found.signature.words if found.signature else "")
        console.certificate(found.certificate)
    if not found.ok:
        raise typer.Exit(1)
