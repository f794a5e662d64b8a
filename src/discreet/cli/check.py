"""`discreet check`: whether a release keeps what it promises."""

from __future__ import annotations

import math

import typer

from discreet.cli import console
from discreet.cli.arguments import Json, ReleaseFile
from discreet.results.private_moments import load_certificate

EPILOG = "Example: discreet check people.release.json"


def check(release: ReleaseFile, json: Json = False) -> None:
    """Recompute the privacy loss of a release from its noise and compare it with the promise.

    Exit code 0: it adds up. 1: it does not. 2: the file cannot be read.
    """
    certificate = load_certificate(release)
    found = certificate.check()
    if json:
        facts = [{"what": f.what, "ok": f.ok, "detail": f.detail} for f in found]
        promise = certificate.guarantee.to_dict()
        ok = all(f.ok for f in found)
        epsilon = certificate.epsilon if math.isfinite(certificate.epsilon) else None
        console.print_json({"ok": ok, "guarantee": promise, "epsilon": epsilon, "findings": facts})
    else:
        console.findings(found)
        console.certificate(certificate)
    if not all(f.ok for f in found):
        raise typer.Exit(1)
