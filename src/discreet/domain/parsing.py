"""From the text of a formula to its terms; the grammar is in `discreet.formula`."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from discreet.domain.columns import Categorical
from discreet.domain.derived import MAX_POWER, features_for, uses
from discreet.domain.domain import Domain
from discreet.errors import DiscreetError, ParameterError, printable

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*(?:\.\w+)*)|`(?P<quoted>[^`]+)`|(?P<number>\d+)|(?P<sign>\*\*|[-~+:*^().]))"
)
_POWERS = {str(power): power for power in range(1, MAX_POWER + 1)}
Term = dict[str, int]
"""The factors of a product, each with its power."""


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


@dataclass
class Parser:
    """Reads one formula; errors show it with a mark under the place.

    Examples
    --------
    >>> parser = Parser("y ~ a * b - a - 1", Domain(dict.fromkeys("aby", (0, 1))))
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
            self._keep(sign, [self._whole(name) for name in features_for(self.domain, outcome)], token)
        else:
            products = [self._product()]
            while self._take("*"):
                products.append(self._product())
            subsets = (s for k in range(1, len(products) + 1) for s in itertools.combinations(products, k))
            self._keep(sign, [self._merge(subset, token) for subset in subsets], token)

    def _whole(self, name: str) -> Term:
        return {f.column: f.power for f in self.domain.columns[name].factors} or {name: 1}

    def _keep(self, sign: str, terms: list[Term], token: _Token) -> None:
        for term in terms:
            known = next((key for key in self.terms if dict(key) == term), None)
            if sign == "+" and known is None:
                self._refuse_outcome(term, token)
                self.terms[tuple(term.items())] = None
            elif sign == "-" and known is None:
                self.fail(token.place, "This term is not in the model, so it cannot be taken out")
            elif sign == "-" and known is not None:
                del self.terms[known]

    def _refuse_outcome(self, term: Term, token: _Token) -> None:
        if self.outcome is not None and any(uses(self.domain, self.outcome, column) for column in term):
            self.fail(token.place, "The outcome cannot explain itself")

    def _merge(self, products: tuple[Term, ...], token: _Token) -> Term:
        merged: Term = {}
        for name, power in itertools.chain.from_iterable(term.items() for term in products):
            if name in merged:
                self.fail(token.place, f"{name!r} stands twice in a product; write a power, such as {name}^2")
            merged[name] = power
        return merged

    def _product(self) -> Term:
        token = self._now
        factors = [self._factor()]
        while self._take(":"):
            factors.append(self._factor())
        return self._merge(tuple(factors), token)

    def _factor(self) -> Term:
        token = self._now
        if token.kind == "name" and self.tokens[1].text == "(" and self.tokens[1].kind == "sign":
            return self._call(token)
        return self._power()

    def _call(self, token: _Token) -> Term:
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

    def _power(self) -> Term:
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
