"""Models within persons: the columns of a formula, less their means over the rows of the same person."""

from __future__ import annotations

from discreet.domain.domain import Domain
from discreet.domain.kinds.deviation import Deviation
from discreet.errors import ParameterError


def absorbed(
    text: str, chosen: Domain, target: str | None, features: list[str]
) -> tuple[Domain, str | None, list[str]]:
    """Return the domain of deviations from the means of persons, with the outcome and the features.

    Each regressor is a column of its own, the levels of categories but the first, too.

    Parameters
    ----------
    text : str
        The formula, for errors.
    chosen : Domain
        Its columns, before means are taken off.
    target, features : str and list of str
        Its outcome and its features.
    """
    if not chosen.intercept:
        raise ParameterError(
            f"{text}: persons are absorbed, each with a constant of its own. Leave out '- 1' or '+ 0'."
        )
    if not features:
        raise ParameterError(f"{text}: nothing is left to explain within persons. Name a feature.")
    regressors = [chosen.entries[place] for place in chosen.design(features)[1:]]
    outcomes = [] if target is None else [chosen.entries[chosen.target(target)]]
    columns = {
        own.name: Deviation.made(own.column, chosen.columns[own.column], own.level) for own in [*regressors, *outcomes]
    }
    found = chosen.with_columns(columns, intercept=False)
    return found, outcomes[0].name if outcomes else None, [own.name for own in regressors]


def before_means(domain: Domain) -> Domain:
    """Return the domain of the columns as they are read, where those of a release are deviations."""
    return domain.with_columns(domain.inputs, intercept=True) if domain.deviates else domain
