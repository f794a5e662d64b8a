"""Bounds for columns that have none, where nothing is released: made-up rows, and a digest that tells of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.domain.domain import Domain
from discreet.domain.kinds.numeric import Numeric
from discreet.domain.kinds.searched import Searched

_BEYOND = {"number": 100.0, "date": 36524.0}
"""Made-up values lie within 100, or 100 years, of the known bound."""


def made_up_bounds(domain: Domain) -> Domain:
    """Return a domain for made-up rows: values lie from the known bound, or 0, or 1970, to 100 (years) beyond.

    Examples
    --------
    >>> made_up_bounds(Domain({"a": "number", "b": {"high": 5}})).columns["b"].bounds
    (-95.0, 5.0)
    """

    def near(column: Searched) -> Numeric:
        origin, width = column.origin, _BEYOND[column.type]
        return column.resolved(*((origin - width, origin) if column.high == origin else (origin, origin + width)))

    return _bounded(domain, near)


def wide_bounds(domain: Domain, width: float) -> Domain:
    """Return a domain in which columns without bounds reach as far as `width` from the known bound, or from 0."""
    return _bounded(domain, lambda column: column.resolved(column.origin - width, column.origin + width))


def _bounded(domain: Domain, choose: Callable[[Any], Numeric]) -> Domain:
    for name in domain.searched:
        domain = domain.with_column(name, choose(domain.columns[name]))
    return domain
