"""Families: everything that differs between models of numbers, classes and counts, one object per family."""

from __future__ import annotations

from typing import Any

from discreet.core import checks
from discreet.core.files import number
from discreet.errors import FileFormatError
from discreet.families.base import ClassFamily, Family, FamilyWords, Label, Link, Loss, Outcome, category, places
from discreet.families.hinge import HINGE, QuadraticHinge, SmoothHinge
from discreet.families.logistic import LOGISTIC, Logistic
from discreet.families.normal import NORMAL, Squared
from discreet.families.poisson import POISSON, Poisson

FAMILIES: dict[Link, Family] = {family.link: family for family in (NORMAL, LOGISTIC, POISSON, HINGE)}
"""All families by link; a new family is a file of this folder and an entry here."""


def loss_from_dict(facts: dict[str, Any]) -> Loss:
    """Rebuild a loss from `Loss.to_dict`.

    Examples
    --------
    >>> loss_from_dict({"name": "Poisson", "limit": 9.0})
    Poisson(limit=9.0)
    """
    known = {loss.name: loss for family in FAMILIES.values() for loss in family.losses}
    if facts.get("name") not in known:
        raise FileFormatError(f"Unknown loss {checks.shown(facts.get('name'))}; a newer discreet may know it.")
    return known[facts["name"]](**{name: number(value) for name, value in facts.items() if name != "name"})


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
