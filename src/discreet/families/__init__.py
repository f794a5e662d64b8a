"""Families: everything that differs between models of numbers, classes and counts, one object per family."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.core import checks
from discreet.core.field_kinds import ABOVE_0, NUMBER, one_of, record
from discreet.core.fields import Fields
from discreet.errors import FileFormatError
from discreet.families.base import ClassFamily, Family, FamilyWords, Label, Link, Loss, Outcome, category, places
from discreet.families.hinge import HINGE, QuadraticHinge, SmoothHinge
from discreet.families.logistic import LOGISTIC, Logistic
from discreet.families.multinomial import MULTINOMIAL
from discreet.families.normal import NORMAL, Squared
from discreet.families.poisson import POISSON, Poisson

FAMILIES: dict[Link, Family] = {family.link: family for family in (NORMAL, LOGISTIC, POISSON, HINGE, MULTINOMIAL)}
"""All families by link; a new family is a file of this folder and an entry here."""


def _losses() -> dict[str, type[Loss]]:
    return {loss.name: loss for family in FAMILIES.values() for loss in family.losses}


def loss_from_dict(facts: dict[str, Any]) -> Loss:
    """Rebuild a loss from `Loss.to_dict`.

    Examples
    --------
    >>> loss_from_dict({"name": "Poisson", "limit": 9.0})
    Poisson(limit=9.0)
    """
    known = _losses()
    if facts.get("name") not in known:
        raise FileFormatError(f"Unknown loss {checks.shown(facts.get('name'))}; a newer discreet may know it.")
    return known[facts["name"]](**{name: NUMBER.take(value) for name, value in facts.items() if name != "name"})


_OWN = ABOVE_0(absent=None)
_FIELDS = Fields("loss", "With its own parameters.", name=one_of(_losses), width=_OWN, limit=_OWN)
LOSS = replace(record(_FIELDS), read=loss_from_dict, write=Loss.to_dict)


def family_of(loss: Loss) -> Family:
    """The family that a loss belongs to.

    Examples
    --------
    >>> family_of(QuadraticHinge())
    <hinge family>
    """
    return next(family for family in FAMILIES.values() if isinstance(loss, family.losses))


__all__ = [
    "FAMILIES",
    "HINGE",
    "LOGISTIC",
    "LOSS",
    "MULTINOMIAL",
    "NORMAL",
    "POISSON",
    "ClassFamily",
    "Family",
    "FamilyWords",
    "Label",
    "Link",
    "Logistic",
    "Loss",
    "Outcome",
    "Poisson",
    "QuadraticHinge",
    "SmoothHinge",
    "Squared",
    "category",
    "family_of",
    "loss_from_dict",
    "places",
]
