"""Contradictions between the entries of a certificate; costs are recomputed elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.core.checks import shown
from discreet.domain import CONSTANT, Domain
from discreet.privacy.events.gaussian import Block
from discreet.recipes.methods import PUBLISHED
from discreet.statistics.searching import MAGNITUDES, PARTS

if TYPE_CHECKING:
    from discreet.released.certificate import Certificate

_SOFTWARE = re.compile(r"discreet \d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9.]+)?")
"""The program and its version, as versions of Python packages are written."""

_LEDGER, _HASH = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{64}")


def contradictions(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Return (what, why) of every contradiction between the entries of a certificate."""
    for found in (_of_status, _of_intercept, _of_events, _of_origin):
        yield from found(certificate)


def _of_status(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Check the status: a promise is verified without a reason, or gives one; only a paper's constants are claimed."""
    promise, published = certificate.guarantee, PUBLISHED in certificate.method
    if promise.status == "verified" and published:
        yield "status", "constants that a paper prints are never verified"
    if promise.status == "claimed" and not published:
        yield "status", f"{shown(certificate.method)} has no constants of a paper, so its promise is not only claimed"
    if (promise.status == "verified") != (not promise.reason):
        told = "gives a reason why it is not" if promise.reason else "gives no reason why it is not verified"
        yield "status", f"the promise is {promise.status}, and {told}"


def _of_intercept(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Check that the regressors of all events have an intercept if the domain has one, and none otherwise."""
    intercept = certificate.domain.intercept
    for event in certificate.events:
        if (names := event.regressors) and (CONSTANT in names) != intercept:
            said, held = ("an", "lacks it") if intercept else ("no", f"is about {CONSTANT!r}")
            yield "intercept", f"the domain is for models with {said} intercept, and what was released {held}"
            return


def _of_events(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Check events for values that no table and no noise would give, for lists that no release has, and for rows."""
    for event in certificate.events:
        yield from event.contradictions(certificate.rows)
    for event in certificate.events:
        rows = getattr(event, "rows", None)
        if rows is not None and rows != certificate.rows:
            declared = "none" if certificate.rows is None else f"{certificate.rows}"
            yield "rows", f"noise was fitted to at most {rows:g} declared rows, and the certificate declares {declared}"


def _of_origin(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Check that the names of programs, ledgers and entries are well formed."""
    if _SOFTWARE.fullmatch(certificate.software) is None:
        yield "software", f"{shown(certificate.software)} is no version of discreet"
    for receipt in certificate.receipts:
        if not (_LEDGER.fullmatch(receipt.ledger) and _HASH.fullmatch(receipt.hash) and receipt.account):
            yield "ledger", "it names no entry of a ledger: an id, an account or a hash is none"


def unpaid(domain: Domain, declared: Domain | None, blocks: Sequence[Block]) -> str | None:
    """Return the reason that listed counts cannot have narrowed the declared bounds to the domain's, if they cannot."""
    if declared is None:
        return None
    counted = {name for block in blocks if block.statistic == "counts" for name in block.columns}
    changed = [name for name, column in domain.columns.items() if declared.columns[name] != column]
    if free := [name for name in changed if name not in counted]:
        return f"{', '.join(map(repr, free))}: no noisy counts are listed that could have narrowed them"
    rest = declared.with_columns(domain.columns)
    if rest != domain or not all(domain.columns[name].is_narrowed(declared.columns[name]) for name in changed):
        return "they are not inside those that were declared"
    return None


def unfound(domain: Domain, searched: Domain | None, blocks: Sequence[Block]) -> str | None:
    """Return the reason that listed counts cannot have found the domain's bounds, if they cannot."""
    if domain.searched:
        return f"{', '.join(map(repr, domain.searched))}: bounds are neither declared nor found"
    if searched is None:
        return None
    counted = [
        {name for block in blocks if block.kind is kind for name in block.columns} for kind in (MAGNITUDES, PARTS)
    ]
    if free := [name for name in searched.searched if not all(name in own for own in counted)]:
        return f"{', '.join(map(repr, free))}: no noisy counts are listed that could have found them"
    changed = {name for name, column in domain.columns.items() if searched.columns[name] != column}
    found = all(searched.columns[name].admits(domain.columns[name]) for name in changed)
    if changed != set(searched.searched) or not found or searched.with_columns(domain.columns) != domain:
        return "they are not those of the columns that were searched, or change what was declared"
    return None
