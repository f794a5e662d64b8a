"""Whether listed counts can have narrowed the declared bounds of an outcome."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.domain import Domain
from discreet.privacy.events.gaussian import Block


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
