"""Formulas such as ``income ~ age + C(region) + log(wealth)``, over declared columns; see docs/howto/formulas.md.

Grammar::

    formula  =  [ outcome ]  "~"  terms  [ "|" name ]
    terms    =  [ "+" | "-" ] item { ("+" | "-") item }
    item     =  "1" | "0" | product { "*" product }
    product  =  power { ":" power }
    power    =  factor [ ("**" | "^") whole number from 1 to 9 ]
    item     =  "offset(log(" name "))"
    factor   =  name | "." | "(" terms ")" | category | "I(" expression ")" | call
    category =  "C(" name [ "," ( "Treatment(" level ")" | "levels=[" level { "," level } "]" ) ] ")"

with expressions and calls as in `discreet.domain.grammar`. ``a + b`` are terms of their own. ``a:b`` is their product:
of numbers in the user's own units, of a number with each level of a category, or of the levels of two categories.
``a*b`` is ``a + b + a:b``. ``(a + b)^2`` are its terms and all products of two of them; ``a^2`` is the square of a
number. ``- a`` takes a term out again, ``- 1`` or ``+ 0`` the intercept; the first category then has a coefficient for
every level. ``.`` stands for all declared columns but the outcome. ``C(a)`` says that a is a category, and is an error
where it is declared as a number; ``C(a, Treatment("b"))`` compares the others with its level b, and
``C(a, levels=["b", "c", "a"])`` puts all levels in that order, the reference first. Inside ``I(...)`` signs
are those of arithmetic. The outcome is a number, a category, one level of it, ``region[south]``, or a number made of
declared ones, ``log(income)``. ``| id`` absorbs persons, id being the column of persons: each column less its mean over
the rows of the same person (`discreet.domain.kinds.deviation`).

The bounds of all that is derived follow from those of the columns: see `discreet.domain.derived`.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, NoReturn

from discreet.core.arrays import Floats
from discreet.core.checks import meant
from discreet.domain.absorbed import absorbed, before_means
from discreet.domain.column_reader import ColumnReader
from discreet.domain.curves import FUNCTIONS
from discreet.domain.derived import bounded, computed, factors_of, product, shown
from discreet.domain.domain import Domain
from discreet.domain.expressions import RELATIONS, Call, Expression, Variable
from discreet.domain.grammar import Token
from discreet.domain.kinds.base import Column, Factor
from discreet.domain.kinds.numeric import Numeric
from discreet.domain.levels import recoding
from discreet.domain.limits import MAX_POWER, MOST_COORDINATES, MOST_PRODUCTS, MOST_TERMS, TOO_WIDE, Effort
from discreet.domain.redundancy import redundant
from discreet.errors import DiscreetError, DiscreetWarning, DomainError, NotReleasedError, ParameterError

_Term = dict[str, int]
"""The factors of a product, names of columns or expressions as they are shown, each with its power."""

_Key = frozenset[tuple[str, int]]
"""A term without the order of its factors, which tells it from others."""


class Model(NamedTuple):
    """A formula over a domain: its columns, features and outcome.

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


def formula(text: str, domain: Domain, effort: Effort | None = None) -> Model:
    """Read a formula over the columns of a domain.

    Parameters
    ----------
    text : str
        The formula; its grammar is in the docstring of `discreet.domain.formula`.
    domain : Domain
        The public facts about the columns.
    effort : Effort, optional
        The work that several formulas may take together; by default this one has `MOST_WORK` of its own.

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "sex": ["F", "M"], "hours": (0, 60), "income": (0, 200_000)})
    >>> model = formula("income ~ age + C(sex) + age:hours + I((age - 40)**2)", domain)
    >>> model.target, model.features
    ('income', ['age', 'sex', 'age:hours', 'I((age - 40)^2)'])
    >>> model.domain.columns["age:hours"], model.domain.columns["I((age - 40)^2)"].high
    (Numeric(low=0.0, high=5400.0, unit=None, date=False), 2500.0)
    """
    model, exposure = with_exposure(text, domain, effort)
    if exposure is not None:
        raise ParameterError(f"{text}: an offset is for a model of counts, DPPoissonRegression.fit_formula.")
    return model


def with_exposure(text: str, domain: Domain, effort: Effort | None = None) -> tuple[Model, str | None]:
    """Read a formula, and the column x of ``offset(log(x))``, which is in the model's domain, too; None without it."""
    if not isinstance(text, str):
        raise ParameterError("A formula is text, for example 'income ~ age + sex'.")
    if not isinstance(domain, Domain):
        raise ParameterError("A formula needs a Domain: the public bounds of the columns.")
    parser = _Parser(text, _numbers(domain), domain=domain, effort=effort or Effort())
    parser.parse()
    parser.refuse_wide()
    columns = dict(parser.column(term) for term in parser.terms)
    features = list(columns)
    intercept = domain.intercept and parser.intercept
    if not features and not intercept:
        raise ParameterError(f"{text}: a model needs at least one feature, or an intercept.")
    if parser.exposure is not None:
        columns[parser.exposure] = domain.inputs[parser.exposure]
    if parser.outcome is not None:
        columns |= [parser.outcome]
    if not columns:
        raise ParameterError(f"{text}: name an outcome or a feature.")
    chosen = domain.with_columns(columns, intercept)
    if parser.absorbed:
        return Model(*absorbed(text, chosen, parser.target, features)), None
    if parser.target is not None and (same := redundant(chosen, features)):
        warnings.warn(
            f"{text}: {', '.join(same)} says nothing that the other terms do not say, so their coefficients cannot be "
            "told apart. Leave it out.",
            DiscreetWarning,
            stacklevel=2,
        )
    return Model(chosen, parser.target, features), parser.exposure


def released(text: str, domain: Domain) -> Model:
    """Read a formula over a release, which must hold all of its terms; reference levels may differ."""
    model = formula(text, before_means(domain))
    if model.target is None:
        raise ParameterError(f"{text}: name the outcome left of '~'.")
    if model.domain.deviates != domain.deviates:
        one, other = ("with", "without") if domain.deviates else ("without", "with")
        raise NotReleasedError(f"{text}: this release was made {one} '| person', and this model is {other} it.")
    if model.domain.intercept != domain.intercept:
        raise ParameterError(f"{text}: this release was made with an intercept, so its models have one.")
    for name, column in model.domain.columns.items():
        if name not in domain.columns:
            raise NotReleasedError(
                f"{name!r} was not released, and cannot be made from what was. Released: {', '.join(domain.columns)}."
            )
        if column != domain.columns[name] and not domain.intercept:
            raise NotReleasedError(f"Without an intercept the levels of {name!r} cannot be compared with another one.")
    return model


def recoding_of(domain: Domain, asked: Model) -> Floats | None:
    """Return M, where (intercept, coef) against a formula's reference levels is M (intercept, coef); None if alike."""
    names = asked.domain.design_names(asked.features)
    if not domain.intercept or sorted(names) == sorted(domain.design_names(asked.features)):
        return None
    M: Floats = recoding(domain, asked.domain, asked.features).T
    return M


def is_formula(text: object, domain: Domain) -> bool:
    """Whether an argument is a formula, and not the name of an outcome."""
    return isinstance(text, str) and "~" in text and text not in domain.columns


def _numbers(domain: Domain) -> dict[str, Column]:
    """Return the numbers that expressions may use; inside a ball each is within its radius."""
    radius = dict.fromkeys(domain.norm_columns, domain.data_norm)
    specs = {name: bounded(spec, radius.get(name)) for name, spec in domain.inputs.items()}
    return {name: spec for name, spec in specs.items() if spec.bounds}


# -------------------------------------------------------------------- from the text to its terms


@dataclass
class _Parser(ColumnReader):
    """Parser of one formula; errors mark the position in it."""

    intercept: bool = True
    target: str | None = None
    outcome: tuple[str, Column] | None = None
    exposure: str | None = None
    terms: list[_Term] = field(default_factory=list)
    products: int = 0
    absorbed: bool = False
    made: dict[str, Expression] = field(default_factory=dict)

    def parse(self) -> None:
        """Find the outcome, the terms and whether there is an intercept."""
        place = self._tilde()
        if place is None:
            self.fail(len(self.text), "A formula has a '~' between the outcome and the features")
        self._read_target(self.text[:place])
        self.tokens.clear()
        self.read_tokens(place + 1, len(self.text))
        self.terms = self._terms(outermost=True)
        if self.take("|"):
            self._absorb()
        if self.sees(*RELATIONS):
            self.fail(self.now.place, "A comparison stands inside I(...), as in I(age > 12)")
        if self.now.kind != "end":
            self.fail(self.now.place, f"Expected '+', '-', ':' or '*', not {self.now.text!r}")

    def _absorb(self) -> None:
        """Read the column of persons, whose means are taken off."""
        token, person = self.now, self.domain.unit.person
        if token.kind != "name" or self.exposure is not None:
            self.fail(token.place, "After '|' stands the column of persons, in a model of numbers without an exposure")
        if token.text != person:
            declared = f"which is {person!r} here" if person else "and none is declared: see docs/howto/persons.md"
            self.fail(
                token.place,
                "Only persons can be absorbed, for other means would hold the rows of several of them: write the "
                f"column of persons, {declared}, or C(...) for a category",
            )
        self.skip()
        self.absorbed = True

    def refuse_wide(self) -> None:
        """Refuse terms with too many coordinates, before any is computed."""
        sizes = {name: len(spec.levels) or 1 for name, spec in self.domain.inputs.items()}
        wide = sum(math.prod(sizes.get(name, 1) for name in term) for term in self.terms)
        if len(self.terms) > MOST_TERMS or wide > MOST_COORDINATES:
            self.fail(len(self.text), TOO_WIDE)

    def column(self, term: _Term) -> tuple[str, Column]:
        """Return the name and the column of a term."""
        name = ":".join(name if power == 1 else f"{name}^{power}" for name, power in term.items())
        for known in self._known.get(frozenset(term.items()), []):
            if not self.compared.keys() & term.keys():
                return known, self.domain.columns[known]
            name = known
        if term == {name: 1} and name not in self.made:
            if name not in self.compared:
                raise NotReleasedError(
                    f"Column {name!r} is not there by itself. Declared: {', '.join(self.domain.columns)}."
                )
            return name, self.compared[name]
        if name in self.domain.columns and not self.compared.keys() & term.keys():
            raise ParameterError(f"The product {name!r} has the name of a declared column. Rename that column.")
        column = product(name, [self._made(own, power) for own, power in term.items()])
        column.check(name)
        return name, column

    @cached_property
    def _known(self) -> dict[_Key, list[str]]:
        """The declared columns, by the product that they represent."""
        found: dict[_Key, list[str]] = {}
        for name, column in self.domain.columns.items():
            factors = frozenset((f.column, f.power) for f in column.factors) or frozenset([(name, 1)])
            found.setdefault(factors, []).append(name)
        return found

    def _made(self, name: str, power: int) -> Factor:
        if name in self.made:
            return computed(self.made[name], power)
        return Factor(name, self.compared.get(name) or self.numbers.get(name) or self.domain.inputs[name], power)

    # ------------------------------------------------------------ the outcome

    def _tilde(self) -> int | None:
        """Return the place of the first ~ outside of backticks."""
        inside = False
        for place, letter in enumerate(self.text):
            inside ^= letter == "`"
            if letter == "~" and not inside:
                return place
        found = self.text.find("~")
        return None if found < 0 else found

    def _read_target(self, left: str) -> None:
        name = left.strip()
        if not name:
            return
        place = len(left) - len(left.lstrip())
        quoted = name[0] == name[-1] == "`" and name.count("`") == 2
        name = name[1:-1] if quoted else name
        column = self.domain.columns.get(name)
        if column is not None and column.levels and not column.factors:
            self.target, self.outcome = name, (name, column)
            return
        try:
            own = self.domain.entries[self.domain.target(name)].column
        except DiscreetError as error:
            if quoted or not any(sign in name for sign in "()^*:"):
                self.fail(place, str(error).rstrip("."))
            self._read_made_target(left, place)
        else:
            self.target, self.outcome = name, (own, self.domain.columns[own])

    def _read_made_target(self, left: str, place: int) -> None:
        self.read_tokens(place, len(left))
        terms = self._multiplied()
        if self.now.kind != "end":
            self.fail(self.now.place, f"Expected '~', not {self.now.text!r}")
        if len(terms) != 1:
            self.fail(place, "The outcome is one number")
        name, column = self.column(terms[0])
        if column.bounds is None and name not in self.domain.columns:
            self.fail(place, "The outcome is one number, a category, or one level of it")
        self.target, self.outcome = name, (name, column)

    # ------------------------------------------------------------ terms

    def _terms(self, *, outermost: bool = False) -> list[_Term]:
        found: dict[_Key, _Term] = {}
        sign: str | None = self.take("+", "-") or "+"
        while sign is not None:
            token = self.now
            if token.kind == "number":
                self._constant(sign, token, outermost=outermost)
            elif token.text == "offset" and self.sees_call():
                self._offset(sign, token, outermost=outermost)
            else:
                self._keep(found, sign, self._crossed(), token)
            sign = self.take("+", "-")
        return list(found.values())

    def _constant(self, sign: str, token: Token, *, outermost: bool) -> None:
        if token.text not in ("0", "1") or (sign, token.text) == ("-", "0"):
            self.fail(token.place, "A term is a column, a product of columns, or 1 or 0 for the intercept")
        if not outermost:
            self.fail(token.place, "1 and 0 stand outside of parentheses; arithmetic stands inside I(...)")
        self.skip()
        self.intercept = (sign, token.text) == ("+", "1")

    def _offset(self, sign: str, token: Token, *, outermost: bool) -> None:
        """Read ``offset(log(x))``: x is the exposure."""
        self.skip(2)
        with self.parentheses(token):
            made = self.sum()
        named = isinstance(made, Call) and made.function == "log" and isinstance(made.argument, Variable)
        if not named or sign == "-" or not outermost or self.exposure is not None:
            self.fail(token.place, "An offset is + offset(log(x)), once, with a column x: how long a row was there for")
        self.exposure = made.argument.name  # type: ignore[attr-defined]
        if self.exposure in self._outcomes:
            self.fail(token.place, "The outcome cannot explain itself")

    def _keep(self, found: dict[_Key, _Term], sign: str, terms: list[_Term], token: Token) -> None:
        for term in terms:
            key = frozenset(term.items())
            if sign == "-" and key not in found:
                self.fail(token.place, "This term is not in the model, so it cannot be taken out")
            if sign == "-":
                del found[key]
            elif key not in found:
                self._refuse_outcome(term, token)
                found[key] = term

    def _refuse_outcome(self, term: _Term, token: Token) -> None:
        made_of = {own for name in term for own in (self.made[name].columns if name in self.made else [name])}
        if made_of & self._outcomes:
            self.fail(token.place, "The outcome cannot explain itself")

    @property
    def _outcomes(self) -> set[str]:
        """Return the outcome and the columns that it is made of."""
        if self.outcome is None:
            return set()
        name, column = self.outcome
        return {name, *column.inputs(name)}

    def _crossed(self) -> list[_Term]:
        token = self.now
        parts = [self._multiplied()]
        while self.take("*"):
            parts.append(self._multiplied())
        if self.sees("/"):
            self.fail(self.now.place, "A quotient stands inside I(...), as in I(a / 2)")
        subsets = itertools.chain.from_iterable(itertools.combinations(parts, k) for k in range(1, len(parts) + 1))
        return self._merged((terms for subset in subsets for terms in itertools.product(*subset)), token)

    def _multiplied(self) -> list[_Term]:
        token = self.now
        parts = [self._raised()]
        while self.take(":"):
            parts.append(self._raised())
        return self._merged(itertools.product(*parts), token)

    def _merged(self, products: Iterable[tuple[_Term, ...]], token: Token, *, once: bool = False) -> list[_Term]:
        """Multiply terms, each product once; with `once`, a factor that several of them share is taken once."""
        found: dict[_Key, _Term] = {}
        for terms in products:
            self.products += 1
            if self.products > MOST_PRODUCTS or len(found) > MOST_TERMS:
                self.fail(token.place, TOO_WIDE)
            merged: _Term = {}
            for name, power in itertools.chain.from_iterable(term.items() for term in terms):
                if name in merged and not (once and merged[name] == power):
                    self.fail(token.place, f"{name!r} stands twice in a product; write a power, such as {name}^2")
                merged[name] = power
            found.setdefault(frozenset(merged.items()), merged)
        return list(found.values())

    def _raised(self) -> list[_Term]:
        token, grouped = self.now, self.sees("(", ".")
        terms = self._factor()
        if not self.take("^", "**"):
            return terms
        power = self.whole(MAX_POWER, "A power")
        if grouped:
            subsets = (itertools.combinations(terms, k) for k in range(1, power + 1))
            return self._merged(itertools.chain.from_iterable(subsets), token, once=True)
        return [self._power(term, power, token) for term in terms]

    def _power(self, term: _Term, power: int, token: Token) -> _Term:
        for name, own in term.items():
            if name in self.domain.inputs and self.domain.inputs[name].bounds is None:
                self.fail(token.place, f"{name!r} is a category, which has no powers")
            if own * power > MAX_POWER:
                self.fail(token.place, f"A power is a whole number from 1 to {MAX_POWER}")
        return {name: own * power for name, own in term.items()}

    # ------------------------------------------------------------ factors

    def _factor(self) -> list[_Term]:
        token = self.now
        if self.take("("):
            with self.parentheses(token):
                return self._terms()
        if self.take("."):
            return [self._whole_column(name) for name in self.domain.features_for(self._outcomes)]
        if not self.sees_call():
            return [{self.read_column(): 1}]
        special: dict[str, Callable[[], list[_Term]]] = {"C": self._categories, "I": self._arithmetic}
        if token.text in special:
            self.skip(2)
            with self.parentheses(token):
                return special[token.text]()
        return [self._term(made, token) for made in self.call()]

    def _whole_column(self, name: str) -> _Term:
        factors = self.domain.columns[name].factors
        self.made |= {f.column: f.expression for f in factors if f.expression is not None}
        return {f.column: f.power for f in factors} or {name: 1}

    def _categories(self) -> list[_Term]:
        return [{self.category(): 1}]

    def _arithmetic(self) -> list[_Term]:
        token = self.now
        made = self.whole_expression()
        if not made.variables:
            self.fail(token.place, "Arithmetic needs a column")
        return [self._term(made, token)]

    def _term(self, made: Expression, token: Token) -> _Term:
        """Return the factors of an expression that is a product, or the expression as its only factor."""
        factors = factors_of(made) or {made: 1}
        term: _Term = {}
        for own, power in factors.items():
            name = own.name if isinstance(own, Variable) else shown(own)
            if not isinstance(own, Variable):
                if name in self.domain.inputs:
                    self.fail(token.place, f"{name!r} is the name of a declared column, too. Rename that column")
                self.measure(own, token)
                try:
                    low, high = own.bounds
                    if low == high:
                        self.fail(token.place, f"This is {low:g} everywhere within the declared bounds")
                    Numeric(low, high).check(name)
                except DomainError as error:
                    self.fail(token.place, str(error).rstrip("."))
                self.made[name] = own
            term[name] = power
        return term

    def unknown(self, token: Token) -> NoReturn:
        """Refuse a function that is not known."""
        self.refuse_other_rows(token)
        hint = meant(token.text, ["C", "I", *FUNCTIONS])
        self.fail(token.place, f"There is no function {token.text!r}.{hint} Known: C, I, {', '.join(FUNCTIONS)}")
