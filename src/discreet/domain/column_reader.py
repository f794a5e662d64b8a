"""The part of formulas that names columns: plain ones, and categories with the order of their levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from discreet.core.checks import meant
from discreet.domain.domain import Domain
from discreet.domain.grammar import Reader, Token
from discreet.domain.kinds.base import Column, Level
from discreet.domain.kinds.categorical import Categorical


@dataclass
class ColumnReader(Reader):
    """Reader of columns of a domain."""

    domain: Domain = field(kw_only=True)
    compared: dict[str, Categorical] = field(default_factory=dict)

    def refuse(self, token: Token) -> NoReturn:
        """Refuse a name that is no number."""
        if token.text in self.domain.inputs:
            self.fail(token.place, f"{token.text!r} is a category, which is no number")
        self.undeclared(token)

    def undeclared(self, token: Token) -> NoReturn:
        """Refuse a name that is no declared column."""
        if (why_not := self.domain.unit.why_not(token.text)) is not None:
            self.fail(token.place, why_not.rstrip("."))
        hint = meant(token.text, self.domain.inputs)
        declared = ", ".join(self.domain.inputs)
        self.fail(token.place, f"Column {token.text!r} is not declared.{hint} Declared: {declared}")

    def read_column(self) -> str:
        """Read the name of a declared column."""
        token = self.now
        if token.kind != "name":
            self.fail(token.place, f"Expected a column, not {token.text!r}")
        if token.text not in self.domain.inputs:
            self.undeclared(token)
        self.skip()
        return token.text

    def category(self) -> str:
        """Read what stands in ``C(...)``, and return the category; `compared` has the order of its levels."""
        token = self.now
        name = self.read_column()
        spec = self.domain.inputs[name]
        if spec.bounds is not None:
            self.fail(token.place, f"{name!r} is declared as a number; declare its levels to use it as this")
        if self.take(","):
            place = self.now.place
            if self.now.text == "levels" and self.sees("=", ahead=1):
                levels = self._order(name, spec)
            else:
                level = self._reference(spec)
                levels = (level, *(other for other in spec.levels if other != level))
            if self.compared.setdefault(name, Categorical(levels)).levels != levels:
                self.fail(place, f"{name!r} is compared with two different levels, or its levels have two orders")
        return name

    def _order(self, name: str, spec: Column) -> tuple[Level, ...]:
        """Read all levels, in another order, in ``levels=["b", "a"]``."""
        self.skip(2)
        opening, found = self.now, list[Level]()
        self.expect("[")
        while not self.sees("]"):
            place = self.now.place
            found.append(self._level(spec))
            if found.count(found[-1]) > 1:
                self.fail(place, f"{found[-1]!r} stands twice")
            if not self.take(","):
                break
        self.expect("]")
        if missing := [str(level) for level in spec.levels if level not in found]:
            self.fail(
                opening.place,
                f"Rows of {name!r} may be at any declared level, so that all are listed, the reference first. Missing: "
                f"{', '.join(missing)}",
            )
        return tuple(found)

    def _level(self, spec: Column) -> Level:
        """Read one declared level."""
        given = self.tokens.popleft()
        found = [level for level in spec.levels if str(level) == given.text]
        if given.kind == "end" or not found:
            names = [str(level) for level in spec.levels]
            self.fail(given.place, f"{given.text!r} is not one of the levels: {', '.join(names)}")
        return found[0]

    def _reference(self, spec: Column) -> Level:
        """Read the reference level in ``Treatment("b")``."""
        token = self.now
        if token.text != "Treatment":
            self.fail(token.place, 'A category is compared with one of its levels, as C(a, Treatment("b"))')
        self.skip()
        if not self.take("("):
            return spec.levels[0]
        if self.now.text == "reference" and self.sees("=", ahead=1):
            self.skip(2)
        if self.take(")"):
            return spec.levels[0]
        level = self._level(spec)
        self.expect(")")
        return level
