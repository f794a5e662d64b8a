"""Whether listed counts can have narrowed the declared bounds of an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.domain import Domain
from discreet.domain.columns import Column, Numeric
from discreet.privacy.events.gaussian import Block


def unpaid(domain: Domain, declared: Domain | None, blocks: Sequence[Block]) -> str | None:
    """Why listed counts cannot have narrowed the declared bounds to those of the domain, if they cannot."""
    if declared is None:
        return None
    counted = {name for block in blocks if block.statistic == "counts" for name in block.columns}
    changed = [name for name, column in domain.columns.items() if declared.columns[name] != column]
    if free := [name for name in changed if name not in counted]:
        return f"{', '.join(map(repr, free))}: no noisy counts are listed that could have narrowed them"
    rest = declared.with_columns(domain.columns)
    if rest != domain or not all(_is_within(domain.columns[name], declared.columns[name]) for name in changed):
        return "they are not inside those that were declared"
    return None


def _is_within(column: Column, declared: Column) -> bool:
    """Whether a number's bounds lie inside the declared ones, and nothing else differs."""
    if not isinstance(column, Numeric) or not isinstance(declared, Numeric):
        return False
    inside = declared.low <= column.low < column.high <= declared.high
    return inside and replace(column, low=declared.low, high=declared.high) == declared
