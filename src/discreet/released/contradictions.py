"""What contradicts what in a certificate, from its own entries alone; costs are recomputed elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.core.checks import shown
from discreet.domain import CONSTANT
from discreet.privacy.events.coefficients import CoefficientEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.events.kinds import BlockEvent, Event
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.recipes.methods import PUBLISHED

if TYPE_CHECKING:
    from discreet.released.certificate import Certificate

_SOFTWARE = re.compile(r"discreet \d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9.]+)?")
"""As versions of Python packages are written."""

_LEDGER, _HASH = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{64}")


def contradictions(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """(what, why) of every contradiction between the entries of a certificate."""
    for found in (_of_status, _of_intercept, _of_events, _of_rows, _of_origin):
        yield from found(certificate)


def _of_status(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """A promise is verified and needs no reason, or it gives one; only a paper's constants are claimed."""
    promise, published = certificate.guarantee, PUBLISHED in certificate.method
    if promise.status == "verified" and published:
        yield "status", "constants that a paper prints are never verified"
    if promise.status == "claimed" and not published:
        yield "status", f"{shown(certificate.method)} has no constants of a paper, so its promise is not only claimed"
    if (promise.status == "verified") != (not promise.reason):
        told = "gives a reason why it is not" if promise.reason else "gives no reason why it is not verified"
        yield "status", f"the promise is {promise.status}, and {told}"


def _of_intercept(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Models of a domain have an intercept, or none: so has everything that was released for them."""
    intercept = certificate.domain.intercept
    for event in certificate.events:
        if (names := _design(event)) and (CONSTANT in names) != intercept:
            said, held = ("an", "lacks it") if intercept else ("no", f"is about {CONSTANT!r}")
            yield "intercept", f"the domain is for models with {said} intercept, and what was released {held}"
            return


def _design(event: Event) -> set[str]:
    """The coordinates of the regressors that an event is about, if it is about all of them."""
    if not isinstance(event, BlockEvent):
        return set(event.design)
    return {name for block in event.blocks if block.kind.of_design for name in block.rows}


def _of_events(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Released values of an event that no table and no noise would give; statistics of one event are of one design."""
    for event in certificate.events:
        if isinstance(event, CoefficientEvent) and (why := event.impossible()) is not None:
            yield f"values of {event.name}", why
        if isinstance(event, BlockEvent) and (why := _mixed(event.blocks)) is not None:
            yield "list of statistics", why
        if isinstance(event, ObjectiveEvent):
            yield from _of_objective(event, certificate)
        elif not isinstance(event, BlockEvent) and (why := _misplaced(event.design)) is not None:
            yield f"regressors of {event.name}", why


def _of_objective(event: ObjectiveEvent, certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What else a perturbed objective must be."""
    if (why := _misplaced(event.design)) is not None:
        yield f"regressors of {event.name}", why
    if not event.is_calibrated(certificate.rows):
        yield f"noise of {event.name}", "its scale, the tolerance of the solver and the noise on the result do not fit"


def _misplaced(names: Sequence[str]) -> str | None:
    """Why names cannot be those of regressors, in their order."""
    if len(set(names)) < len(names):
        return "a regressor is named twice"
    return "the constant is not the first one" if CONSTANT in names[1:] else None


def _mixed(blocks: tuple[Block, ...]) -> str | None:
    designs = {block.rows for block in blocks if block.kind.of_design}
    if (why := next(filter(None, map(_misplaced, designs)), None)) is not None:
        return why
    if len(designs) > 1:
        return "X'X and X'y that were released together are of different regressors"
    if any(block.layout == "uniform" and not block.kind.symmetric for block in blocks):
        return "only X'X has noise that is laid out in one of two ways"
    listed = [(block.statistic, block.rows, block.columns) for block in blocks]
    return "a statistic was released twice in one event" if len(set(listed)) < len(listed) else None


def _of_rows(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """The declared number of rows is one number, wherever it stands."""
    for event in certificate.events:
        rows = getattr(event, "rows", None)
        if rows is not None and rows != certificate.rows:
            declared = "none" if certificate.rows is None else f"{certificate.rows}"
            yield "rows", f"noise was fitted to at most {rows:g} declared rows, and the certificate declares {declared}"


def _of_origin(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Names of programs, ledgers and entries look as such."""
    if _SOFTWARE.fullmatch(certificate.software) is None:
        yield "software", f"{shown(certificate.software)} is no version of discreet"
    for receipt in certificate.receipts:
        if not (_LEDGER.fullmatch(receipt.ledger) and _HASH.fullmatch(receipt.hash) and receipt.account):
            yield "ledger", "it names no entry of a ledger: an id, an account or a hash is none"
