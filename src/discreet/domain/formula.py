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

Bounds of products and powers follow from those of their columns: see `discreet.domain.columns`.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from discreet.domain.columns import MAX_POWER, Categorical, Column, Factor, bounded, product
from discreet.domain.domain import Domain
from discreet.errors import DiscreetError, NotReleasedError, ParameterError, printable

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*(?:\.\w+)*)|`(?P<quoted>[^`]+)`|(?P<number>\d+)|(?P<sign>\*\*|[-~+:*^().]))"
)
_POWERS = {str(power): power for power in range(1, MAX_POWER + 1)}
_Term = dict[str, int]
"""The factors of a product, each with its power."""


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
        The formula; its grammar is in the docstring of `discreet.domain.formula`.
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
    parser = _Parser(text, domain)
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


def _known(term: _Term, domain: Domain) -> str | None:
    """The name of the domain's own column that a term is."""
    for name, column in domain.columns.items():
        if ({f.column: f.power for f in column.factors} or {name: 1}) == term:
            return name
    return None


def _derive(name: str, term: _Term, domain: Domain) -> Column:
    if term == {name: 1}:
        raise NotReleasedError(f"Column {name!r} is not there by itself. Declared: {', '.join(domain.columns)}.")
    if name in domain.columns:
        raise ParameterError(f"The product {name!r} has the name of a declared column. Rename that column.")
    radius = dict.fromkeys(domain.norm_columns, domain.data_norm)
    factors = [Factor(c, bounded(domain.inputs[c], radius.get(c)), power) for c, power in term.items()]
    column = product(name, factors)
    column.check(name)
    return column


# -------------------------------------------------------------------- from the text to its terms


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


@dataclass
class _Parser:
    """Reads one formula; errors show it with a mark under the place.

    Examples
    --------
    >>> parser = _Parser("y ~ a * b - a - 1", Domain(dict.fromkeys("aby", (0, 1))))
    >>> parser.parse()
    >>> list(parser.terms), parser.intercept
    ([(('b', 1),), (('a', 1), ('b', 1))], False)
    """

    text: str
    domain: Domain
    intercept: bool = True
    target: str | None = None
    outcome: str | None = None
    terms: dict[tuple[tuple[str, int], ...], None] = field(default_factory=dict)
    tokens: list[_Token] = field(default_factory=list)

    def parse(self) -> None:
        """Find the outcome, the terms and whether there is an intercept."""
        left, tilde, _ = self.text.partition("~")
        if not tilde:
            self.fail(len(self.text), "A formula has a '~' between the outcome and the features")
        self._read_target(left)
        self._read_tokens(len(left) + 1)
        self._item(self._take("+", "-") or "+")
        while (sign := self._take("+", "-")) is not None:
            self._item(sign)
        if self._now.kind != "end":
            self.fail(self._now.place, f"Expected '+', '-', ':' or '*', not {self._now.text!r}")

    def fail(self, place: int, message: str) -> NoReturn:
        """Refuse the formula and point at the place."""
        before = printable(self.text[:place])
        raise ParameterError(f"{message}:", f"  {self.text}", f"  {' ' * len(before)}^") from None

    # ------------------------------------------------------------ text to tokens

    def _read_target(self, left: str) -> None:
        name = left.strip()
        if not name:
            return
        name = name[1:-1] if name[0] == name[-1] == "`" else name
        try:
            self.outcome = self.domain.entries[self.domain.target(name)].column
        except DiscreetError as error:
            self.fail(len(left) - len(left.lstrip()), str(error).rstrip("."))
        self.target = name

    def _read_tokens(self, place: int) -> None:
        while self.text[place:].strip():
            match = _TOKEN.match(self.text, place)
            if match is None:
                place += len(self.text[place:]) - len(self.text[place:].lstrip())
                self.fail(place, "A formula cannot hold this character; put odd names in backticks")
            kind = str(match.lastgroup)
            at = match.start(kind) - (kind == "quoted")
            self.tokens.append(_Token("name" if kind == "quoted" else kind, match[kind], at))
            place = match.end()
        self.tokens.append(_Token("end", "the end", len(self.text)))

    @property
    def _now(self) -> _Token:
        return self.tokens[0]

    def _take(self, *signs: str) -> str | None:
        if self._now.kind == "sign" and self._now.text in signs:
            return self.tokens.pop(0).text
        return None

    # ------------------------------------------------------------ tokens to terms

    def _item(self, sign: str) -> None:
        token = self._now
        if token.kind == "number":
            if token.text not in ("0", "1") or (sign, token.text) == ("-", "0"):
                self.fail(token.place, "A term is a column, a product of columns, or 1 or 0 for the intercept")
            self.tokens.pop(0)
            self.intercept = (sign, token.text) == ("+", "1")
        elif self._take("."):
            outcome = self.outcome or ""
            self._keep(sign, [self._whole(name) for name in self.domain.features_for({outcome})], token)
        else:
            products = [self._product()]
            while self._take("*"):
                products.append(self._product())
            subsets = (s for k in range(1, len(products) + 1) for s in itertools.combinations(products, k))
            self._keep(sign, [self._merge(subset, token) for subset in subsets], token)

    def _whole(self, name: str) -> _Term:
        return {f.column: f.power for f in self.domain.columns[name].factors} or {name: 1}

    def _keep(self, sign: str, terms: list[_Term], token: _Token) -> None:
        for term in terms:
            known = next((key for key in self.terms if dict(key) == term), None)
            if sign == "+" and known is None:
                self._refuse_outcome(term, token)
                self.terms[tuple(term.items())] = None
            elif sign == "-" and known is None:
                self.fail(token.place, "This term is not in the model, so it cannot be taken out")
            elif sign == "-" and known is not None:
                del self.terms[known]

    def _refuse_outcome(self, term: _Term, token: _Token) -> None:
        if self.outcome is not None and self.domain.made_of(self.outcome).intersection(term):
            self.fail(token.place, "The outcome cannot explain itself")

    def _merge(self, products: tuple[_Term, ...], token: _Token) -> _Term:
        merged: _Term = {}
        for name, power in itertools.chain.from_iterable(term.items() for term in products):
            if name in merged:
                self.fail(token.place, f"{name!r} stands twice in a product; write a power, such as {name}^2")
            merged[name] = power
        return merged

    def _product(self) -> _Term:
        token = self._now
        factors = [self._factor()]
        while self._take(":"):
            factors.append(self._factor())
        return self._merge(tuple(factors), token)

    def _factor(self) -> _Term:
        token = self._now
        if token.kind == "name" and self.tokens[1].text == "(" and self.tokens[1].kind == "sign":
            return self._call(token)
        return self._power()

    def _call(self, token: _Token) -> _Term:
        if token.text not in ("C", "I"):
            self.fail(token.place, f"There is no function {token.text!r}; C(category) and I(product) are known")
        self.tokens = self.tokens[2:]
        if token.text == "C":
            inner = self._now
            term = {self._column(): 1}
            if not isinstance(self.domain.inputs[inner.text], Categorical):
                self.fail(inner.place, f"{inner.text!r} is declared as a number; declare its levels to use it as this")
        else:
            parts = [self._power()]
            while self._take("*"):
                parts.append(self._power())
            term = self._merge(tuple(parts), token)
        if not self._take(")"):
            self.fail(self._now.place, f"Expected ')', not {self._now.text!r}")
        return term

    def _power(self) -> _Term:
        place, name = self._now.place, self._column()
        if not self._take("^", "**"):
            return {name: 1}
        token = self._now
        if token.kind != "number" or token.text not in _POWERS:
            self.fail(token.place, f"A power is a whole number from 1 to {MAX_POWER}")
        if isinstance(self.domain.inputs[name], Categorical):
            self.fail(place, f"{name!r} is a category, which has no powers")
        self.tokens.pop(0)
        return {name: _POWERS[token.text]}

    def _column(self) -> str:
        token = self._now
        if token.kind != "name":
            self.fail(token.place, f"Expected a column, not {token.text!r}")
        if token.text not in self.domain.inputs:
            self.fail(token.place, f"Column {token.text!r} is not declared. Declared: {', '.join(self.domain.inputs)}")
        self.tokens.pop(0)
        return token.text
