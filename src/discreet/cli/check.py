"""`discreet check`: whether a file keeps what it promises, and who signed it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import console
from discreet.cli.arguments import Json, ReleaseFile
from discreet.core import signing
from discreet.core.files import Document
from discreet.privacy.events.base import Finding
from discreet.results.glossary import meanings
from discreet.results.saved import check_file

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
    document = Document.read(release, pipes=True)
    saved, found = check_file(document)
    certificate, signed = saved.certificate, signing.verify(document, key, signature)
    found += _findings(signed, asked=key is not None)
    ok = all(finding.ok for finding in found)
    if json:
        facts = [{"what": f.what, "ok": f.ok, "detail": f.detail} for f in found]
        epsilon = certificate.epsilon if math.isfinite(certificate.epsilon) else None
        told = {"ok": ok, "guarantee": certificate.guarantee.to_dict(), "unit": certificate.domain.unit.short}
        console.print_json(told | {"epsilon": epsilon, "findings": facts, "signature": vars(signed)})
    else:
        console.findings(found)
        console.meanings(meanings(text for finding in found for text in (finding.what, finding.detail)))
        console.say("", signed.words)
        console.certificate(certificate)
    if not ok:
        raise typer.Exit(1)


def _findings(verdict: signing.Verdict, *, asked: bool) -> list[Finding]:
    """A signature may not be forged; where a key was given, it must be there, and by that key."""
    if not asked and verdict.status != "forged":
        return []
    return [Finding("signature", verdict.status == "verified", verdict.words)]
