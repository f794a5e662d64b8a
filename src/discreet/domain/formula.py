"""Formulas such as ``income ~ age + C(region) + age:hours + I(age**2)``, over declared columns.

Grammar::

    formula  =  [ outcome ]  "~"  item { ("+" | "-") item }
    item     =  "1" | "0" | "." | product { "*" product }
    product  =  factor { ":" factor }
    factor   =  name [ power ]  |  "C(" name ")"  |  "I(" name [ power ] { "*" name [ power ] } ")"
    power    =  ( "**" | "^" ) whole number from 1 to 9

``a + b`` are terms of their own. ``a:b`` is their product: of numbers in the user's own units, of a number with each
level of a category, or of the levels of two categories. ``a*b`` is ``a + b + a:b``. ``- a`` takes a term out again,
``- 1`` or ``+ 0`` the intercept. ``.`` stands for all declared columns but the outcome. ``C(a)`` says that a is a
category, and is an error where it is declared as a number. Inside ``I(...)`` ``*`` is a plain product. Names with other
characters than letters, digits, ``_`` and inner dots stand in backticks: ```body mass```. The outcome is a number, or
one level of a category: ``region[south]``.

Bounds of products and powers follow from those of their columns: see `discreet.domain.derived`.
"""

from __future__ import annotations

from typing import NamedTuple

from discreet.domain.columns import Categorical, Column, Factor
from discreet.domain.derived import bounded, product
from discreet.domain.domain import Domain
from discreet.domain.parsing import Parser, Term
from discreet.errors import NotReleasedError, ParameterError


class Model(NamedTuple):
    """What a formula stands for.

    Attributes
    ----------
    domain : Domain
        The features and then the outcome, with derived columns and the formula's intercept.
    target : str or None
        The outcome; None if nothing stands left of the ``~``.
    features : list of str
        The features, in the order of the formula.
    """

    domain: Domain
    target: str | None
    features: list[str]


def formula(text: str, domain: Domain) -> Model:
    """Read a formula over the columns of a domain.

    Parameters
    ----------
    text : str
        The formula; its grammar is in the docstring of `discreet.formula`.
    domain : Domain
        The public facts about the columns.

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "sex": ["F", "M"], "hours": (0, 60), "income": (0, 200_000)})
    >>> model = formula("income ~ age + C(sex) + age:hours + I(age**2)", domain)
    >>> model.target, model.features
    ('income', ['age', 'sex', 'age:hours', 'age^2'])
    >>> model.domain.columns["age:hours"], model.domain.columns["age^2"].low
    (Numeric(low=0.0, high=5400.0, unit=None, date=False), 324.0)
    """
    if not isinstance(text, str):
        raise ParameterError("A formula is text, for example 'income ~ age + sex'.")
    if not isinstance(domain, Domain):
        raise ParameterError("A formula needs a Domain: the public bounds of the columns.")
    parser = Parser(text, domain)
    parser.parse()
    columns: dict[str, Column] = {}
    for term in map(dict, parser.terms):
        known = _known(term, domain)
        name = known or ":".join(name if power == 1 else f"{name}^{power}" for name, power in term.items())
        columns[name] = domain.columns[name] if known else _derive(name, term, domain)
    features = list(columns)
    intercept = domain.intercept and parser.intercept
    if not intercept and any(_is_plain(column) for column in columns.values()):
        raise ParameterError(
            f"{text}: a category needs the intercept, for others are compared with its first level. Leave out '- 1' or "
            "'+ 0': the model is the same, and the mean of a level is the intercept plus its coefficient."
        )
    if not features and not intercept:
        raise ParameterError(f"{text}: a model needs at least one feature, or an intercept.")
    if parser.outcome is not None:
        columns[parser.outcome] = domain.columns[parser.outcome]
    if not columns:
        raise ParameterError(f"{text}: name an outcome or a feature.")
    ball = [name for name in domain.norm_columns if name in columns]
    radius = domain.data_norm if ball else None
    chosen = Domain(columns, data_norm=radius, norm_columns=ball or None, intercept=intercept, missing=domain.missing)
    return Model(chosen, parser.target, features)


def released(text: str, domain: Domain) -> tuple[str, list[str]]:
    """Outcome and features of a formula over a release, which must hold all of them."""
    model = formula(text, domain)
    if model.target is None:
        raise ParameterError(f"{text}: name the outcome left of '~'.")
    if model.domain.intercept != domain.intercept:
        raise ParameterError(f"{text}: this release was made with an intercept, so its models have one.")
    for name in model.features:
        if name not in domain.columns:
            raise NotReleasedError(
                f"{name!r} was not released, and cannot be made from what was. Released: {', '.join(domain.columns)}."
            )
    return model.target, model.features


def _is_plain(column: Column) -> bool:
    return isinstance(column, Categorical) and all(isinstance(f.spec, Categorical) for f in column.factors)


def _known(term: Term, domain: Domain) -> str | None:
    """The name of the domain's own column that a term is."""
    for name, column in domain.columns.items():
        if ({f.column: f.power for f in column.factors} or {name: 1}) == term:
            return name
    return None


def _derive(name: str, term: Term, domain: Domain) -> Column:
    if term == {name: 1}:
        raise NotReleasedError(f"Column {name!r} is not there by itself. Declared: {', '.join(domain.columns)}.")
    if name in domain.columns:
        raise ParameterError(f"The product {name!r} has the name of a declared column. Rename that column.")
    radius = dict.fromkeys(domain.norm_columns, domain.data_norm)
    factors = [Factor(c, bounded(domain.inputs[c], radius.get(c)), power) for c, power in term.items()]
    column = product(name, factors)
    column.check(name)
    return column
