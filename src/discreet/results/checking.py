"""`discreet.load` and `discreet.check`: a saved document as the object that it holds, and a recomputation of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core import signing
from discreet.core.files import KINDS, Document, Source, read_document
from discreet.errors import FileFormatError, ParameterError
from discreet.privacy.events.base import Finding
from discreet.released.certificate import Certificate
from discreet.results.documents import FORMAT_VERSIONS
from discreet.results.released_model import ReleasedModel
from discreet.results.saved import Saved, check_file, check_saved, load_saved
from discreet.results.summary import Summarised, Summary, promise

_PLAN_VERSIONS = (1,)


@dataclass(frozen=True, repr=False)
class CheckReport(Summarised):
    """The findings of a check. Its truth value is `ok`, and it prints as a table.

    Parameters
    ----------
    findings : tuple of Finding
        Everything that was checked: ``what``, whether it is ``ok``, and a ``detail``.
    certificate : Certificate
        The certificate whose privacy loss was recomputed.
    signature : Verdict, optional
        The validity of the file's signature; None for an object in memory.
    """

    findings: tuple[Finding, ...]
    certificate: Certificate
    signature: signing.Verdict | None = None

    @property
    def ok(self) -> bool:
        """Whether no finding is a failure."""
        return all(finding.ok for finding in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The failed findings."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def summary(self) -> Summary:
        """A table of the findings."""
        rows = tuple((finding.what, "ok" if finding.ok else "FAILS", finding.detail) for finding in self.findings)
        signed = () if self.signature is None else (self.signature.words,)
        facts = (
            ("Promise", promise(self.certificate.guarantee)),
            ("Result", "it adds up" if self.ok else "IT DOES NOT ADD UP"),
        )
        return Summary("Check", facts, ("what", "", "detail"), rows, signed)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description, as ``discreet check --json`` prints it."""
        certificate = self.certificate
        epsilon = certificate.epsilon if math.isfinite(certificate.epsilon) else None
        told = {"ok": self.ok, "guarantee": certificate.guarantee.to_dict(), "unit": certificate.domain.unit.short}
        findings = [{"what": f.what, "ok": f.ok, "detail": f.detail} for f in self.findings]
        signature = None if self.signature is None else vars(self.signature)
        return told | {"epsilon": epsilon, "findings": findings, "signature": signature}


def load(path: Source) -> Saved | dict[str, Any]:
    """Load a saved document of the kind that the file states.

    Parameters
    ----------
    path : path
        A file that `save`, a command or the service wrote.

    Returns
    -------
    PrivateMoments, Results or dict
        The release; the model, fitted or released; the models of several outcomes; of a plan, its facts.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import discreet
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = discreet.DPRidge(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.release_.save(f"{folder}/release.json")
    ...     model.results_.save(f"{folder}/model.json")
    ...     [type(discreet.load(f"{folder}/{name}.json")).__name__ for name in ("release", "model")]
    ['PrivateMoments', 'Results']
    """
    document = Document.of(path)
    if document.kind == "release" or document.kind in FORMAT_VERSIONS:
        return load_saved(document)
    if document.kind == "plan":
        return read_document(document, "plan", _PLAN_VERSIONS)
    told = f" It holds {KINDS[document.kind]}." if document.kind in KINDS else ""
    raise FileFormatError(f"{document.name} is no release, model or plan of discreet.{told}")


def check(what: Any, *, key: str | Path | None = None, signature: str | Path | None = None) -> CheckReport:
    """Recompute the privacy loss of a release from its noise, and find contradictions in it.

    It needs no data and costs no privacy. A file is checked as by ``discreet check FILE``: whether its numbers follow
    from the events that its certificate lists, and who signed it. Of an object in memory there is no signature.

    Parameters
    ----------
    what : path, PrivateMoments, Results, ReleasedModel, Certificate or fitted estimator
        A saved file, or the object itself; of an estimator, its `release_`.
    key : path, optional
        The public key, in PEM, of whoever must have signed the file.
    signature : path, optional
        Where the signature is; beside the file by default.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = discreet.SSP(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> found = discreet.check(model)
    >>> found.ok, [finding.what for finding in found][:2]
    (True, ["noise on X'X, X'y", 'epsilon of all events'])
    """
    if isinstance(what, str | Path | Document):
        document = Document.of(what)
        saved, found = check_file(document)
        verdict = signing.verify(document, key, signature)
        if key is not None or verdict.status == "forged":
            found.append(Finding("signature", verdict.status == "verified", verdict.words))
        return CheckReport(tuple(found), saved.certificate, verdict)
    if key is not None or signature is not None:
        raise ParameterError("Files are signed, objects are not: give the path of the file, or leave out key=.")
    if isinstance(what, Certificate):
        return CheckReport(tuple(what.check()), what)
    held = what if isinstance(what, Saved | ReleasedModel) else getattr(what, "release_", None)
    if not isinstance(held, Saved | ReleasedModel):
        raise ParameterError("check takes the path of a file, a release, a model, a certificate or a fitted estimator.")
    return CheckReport(tuple(check_saved(held)), held.certificate)
