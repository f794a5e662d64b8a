"""Several models of one table: the columns that they use together, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from discreet.domain.domain import Domain
from discreet.domain.formula import Model, formula
from discreet.domain.kinds.base import Column
from discreet.domain.limits import MOST_TOGETHER, Effort
from discreet.errors import ParameterError


def read_models(domain: Domain, models: str | Sequence[str]) -> Iterator[Model]:
    """Read several formulas over the columns of a domain, one after the other."""
    texts = [models] if isinstance(models, str) else list(models)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ParameterError("models must be formulas, for example ['income ~ age + sex', 'health ~ age'].")
    effort = Effort(MOST_TOGETHER) if len(texts) > 1 else Effort()
    return (formula(text, domain, effort) for text in texts)


def of_models(domain: Domain, models: str | Sequence[str]) -> tuple[Domain, list[str] | None]:
    """Return the domain of the columns that formulas use, and their outcomes, which are numbers or levels.

    Outcomes are None, which stands for any column, where a formula names none or one is a feature of another model.

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "sex": ["F", "M"], "income": (0, 9), "wealth": (0, 9), "health": (0, 1)})
    >>> found, outcomes = of_models(domain, ["income ~ age + sex", "health ~ age^2"])
    >>> list(found.columns), outcomes
    (['age', 'sex', 'age^2', 'income', 'health'], ['income', 'health'])
    >>> of_models(domain, ["income ~ age", "health ~ income"])[1] is None
    True
    """
    found = list(read_models(domain, models))
    for model in found:
        if model.target is not None:
            model.domain.target(model.target)
    return joined(domain, found)


def joined(domain: Domain, found: Sequence[Model]) -> tuple[Domain, list[str] | None]:
    """Return the domain of the columns that models use together, and their outcomes, as `of_models` has them."""
    if len({model.domain.intercept for model in found}) > 1:
        raise ParameterError("All models of a release have an intercept, or none has: write - 1 in all, or in none.")
    explaining = _together(found, lambda model: model.features)
    explained = _together(found, lambda model: [name for name in model.domain.columns if name not in model.features])
    used = domain.with_columns(explaining | explained, found[0].domain.intercept)
    outcomes = [model.target for model in found if model.target is not None]
    open_ = len(outcomes) < len(found) or any(used.made_of(name) & set(explained) for name in explaining)
    return used, None if open_ else list(dict.fromkeys(outcomes))


def _together(models: Sequence[Model], names: Callable[[Model], Sequence[str]]) -> dict[str, Column]:
    """Merge the columns of several models; columns of the same name must be equal."""
    columns: dict[str, Column] = {}
    for model in models:
        for name in names(model):
            if columns.setdefault(name, model.domain.columns[name]) != model.domain.columns[name]:
                raise ParameterError(f"Two models want {name!r} against different levels: choose one for all of them.")
    return columns
