"""Words of older files: one table from what they call a statistic to its name of today.

Files before version 6 call score products "meat" and row norms "lengths". Both words are read. A certificate that was
read by the old words is written by them again, so that its digest is still the one that ledgers, signatures and other
files name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STATISTICS = {"meat": "score products", "lengths": "row norms"}
"""Names of statistics up to version 5, with those since."""

SINCE = 6
"""The version of files that brought the new names."""

_OLDER = {new: old for old, new in STATISTICS.items()}


def has_old_words(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate, as a file holds it, calls a statistic by its old name.

    Examples
    --------
    >>> has_old_words({"events": [{"blocks": [{"statistic": "meat"}]}]}), has_old_words({"events": [{"mu": 1.0}]})
    (True, False)
    """
    return any(statistic in STATISTICS for statistic in _statistics(certificate))


def has_new_words(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate, as a file holds it, needs the names of version 6."""
    return any(statistic in _OLDER for statistic in _statistics(certificate))


def renewed(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate with the names of today.

    Examples
    --------
    >>> renewed({"events": [{"blocks": [{"statistic": "meat", "sd": 2.0}]}]})
    {'events': [{'blocks': [{'statistic': 'score products', 'sd': 2.0}]}]}
    """
    return _translated(certificate, STATISTICS)


def aged(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate with the names of files before version 6: what `renewed` was given."""
    return _translated(certificate, _OLDER)


def _statistics(certificate: Mapping[str, Any]) -> list[str]:
    """Names of statistics, of whatever a file may hold in the place of a certificate."""
    events = certificate.get("events")
    blocks = [block for event in _mappings(events) for block in _mappings(event.get("blocks"))]
    return [block["statistic"] for block in blocks if isinstance(block.get("statistic"), str)]


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _translated(certificate: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    def block(one: Any) -> Any:
        if not isinstance(one, Mapping) or not isinstance(one.get("statistic"), str):
            return one
        return {**one, "statistic": names.get(one["statistic"], one["statistic"])}

    def event(one: Any) -> Any:
        if not isinstance(one, Mapping) or not isinstance(one.get("blocks"), list):
            return one
        return {**one, "blocks": [block(part) for part in one["blocks"]]}

    if not isinstance(certificate.get("events"), list):
        return dict(certificate)
    return {**certificate, "events": [event(one) for one in certificate["events"]]}
