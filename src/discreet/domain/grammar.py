"""Parser of expressions: text to tokens to expressions; errors mark the position in the text.

Grammar of expressions::

    expression = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum      =  product { ("+" | "-") product }
    product  =  power { ("*" | "/") power }
    power    =  [ "-" ] atom [ ("**" | "^") whole number from 1 to 9 ]
    atom     =  number | name | call | "(" expression ")"
    call     =  function "(" sum { "," [ option "=" ] (number | list of numbers) } ")" [ "[" whole number "]" ]

Names with other characters than letters, digits, ``_`` and inner dots stand in backticks: ```body mass```.
"""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from discreet.domain.curves import ALIASES, FUNCTIONS, LEAVES_OUT_FIRST, SEVERAL, options
from discreet.domain.expressions import (
    RELATIONS,
    Call,
    Constant,
    Expression,
    Operation,
    Power,
    Relation,
    Variable,
)
from discreet.domain.limits import DEEPEST, LONGEST, MAX_POWER, MOST_OPERATIONS, Effort
from discreet.errors import DomainError, ParameterError, printable

if TYPE_CHECKING:
    from discreet.domain.kinds.base import Column

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*(?:\.\w+)*)|`(?P<quoted>[^`]+)`|'(?P<text>[^']*)'|\"(?P<text2>[^\"]*)\""
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|(?P<sign>\*\*|[<>=!]=|[-~+:*/^().,=<>\[\]|]))"
)
OTHER_ROWS = ("lag", "lead", "shift", "diff", "cumsum", "rank", "ntile", "qcut", "mean", "sum", "min", "max", "median")
"""Functions of other packages whose value in a row depends on other rows."""

_SPACE = re.compile(r"\s*")
_KINDS = {"quoted": "name", "text2": "text"}
_WHOLE = {str(number): number for number in range(100)}


class Token(NamedTuple):
    """A word, a number or a sign, with its position in the text."""

    kind: str
    text: str
    place: int
    quoted: bool = False


@dataclass
class Reader:
    """Parser of the tokens and expressions of one text.

    Examples
    --------
    >>> from discreet.domain import Numeric
    >>> expression("(age - 41)**2/100", {"age": Numeric(18, 90)}).bounds
    (0.0, 24.01)
    """

    text: str
    numbers: Mapping[str, Column]  # that expressions may use
    tokens: deque[Token] = field(default_factory=deque)
    deep: int = 0
    operations: int = 0
    effort: Effort = field(default_factory=Effort)

    def fail(self, place: int, message: str) -> NoReturn:
        """Refuse the text, and mark the position."""
        before = printable(self.text[:place])
        raise ParameterError(f"{message}:", f"  {self.text}", f"  {' ' * len(before)}^") from None

    # ------------------------------------------------------------ text to tokens

    def read_tokens(self, place: int, end: int) -> None:
        """Split a part of the text into tokens."""
        if len(self.text) > LONGEST:
            raise ParameterError(f"A formula has at most {LONGEST:,} characters.")
        while (place := _SPACE.match(self.text, place, end).end()) < end:  # type: ignore[union-attr]
            match = _TOKEN.match(self.text, place, end)
            if match is None:
                self.fail(place, "A formula cannot hold this character; put odd names in backticks")
            kind = str(match.lastgroup)
            at = match.start(kind) - (kind in ("quoted", "text", "text2"))
            self.tokens.append(Token(_KINDS.get(kind, kind), match[kind], at, kind == "quoted"))
            place = match.end()
        self.tokens.append(Token("end", "the end", end))

    @property
    def now(self) -> Token:
        """The next token."""
        return self.tokens[0]

    def take(self, *signs: str) -> str | None:
        """Read the next token if it is one of these signs."""
        return self.tokens.popleft().text if self.sees(*signs) else None

    def skip(self, count: int = 1) -> None:
        """Skip the next tokens."""
        for _ in range(count):
            self.tokens.popleft()

    def sees(self, *signs: str, ahead: int = 0) -> bool:
        """Whether a token is one of these signs."""
        token = self.tokens[min(ahead, len(self.tokens) - 1)]
        return token.kind == "sign" and token.text in signs

    def expect(self, sign: str) -> None:
        """Read a sign, which must come next."""
        if not self.take(sign):
            self.fail(self.now.place, f"Expected {sign!r}, not {self.now.text!r}")

    def whole(self, most: int, what: str) -> int:
        """Read a whole number of at least 1."""
        token = self.now
        number = _WHOLE.get(token.text, 0) if token.kind == "number" else 0
        if not 1 <= number <= most:
            self.fail(token.place, f"{what} is a whole number from 1 to {most}")
        self.skip()
        return number

    def measure(self, made: Expression, token: Token) -> None:
        """Refuse an expression whose range takes too long to compute, with all before it."""
        if not self.effort.holds(made.effort):
            self.fail(token.place, self.effort.refusal)

    @contextlib.contextmanager
    def parentheses(self, token: Token) -> Iterator[None]:
        """Read what stands in parentheses, one level deeper, and the closing one."""
        self.operations = self.operations if self.deep else 0
        self.deep += 1
        if self.deep > DEEPEST:
            self.fail(token.place, "Parentheses are nested too deeply here")
        yield
        self.expect(")")
        self.deep -= 1

    # ------------------------------------------------------------ tokens to expressions

    def whole_expression(self) -> Expression:
        """Read a sum, or a comparison of two."""
        left = self.sum()
        sign = self.take(*RELATIONS)
        if sign is None:
            return left
        right = self.sum()
        if self.sees(*RELATIONS):
            self.fail(self.now.place, "Compare two at a time, as in I((0 < x) * (x < 9))")
        return Relation(sign, left, right)

    def sum(self) -> Expression:
        """Read a sum."""
        return self._joined(lambda: self._joined(self._signed, "*", "/"), "+", "-")

    def _joined(self, operand: Callable[[], Expression], *signs: str) -> Expression:
        """Read operands with these signs between them, from left to right."""
        found = operand()
        while sign := self.take(*signs):
            right = operand()
            self.operations += 1
            if self.operations > MOST_OPERATIONS:
                self.fail(self.now.place, f"An expression has at most {MOST_OPERATIONS} operations")
            found = Operation(sign, found, right)
        return found

    def _signed(self) -> Expression:
        negative = False
        while self.take("-"):
            negative = not negative
        found = self._atom()
        if self.take("^", "**"):
            found = Power(found, self.whole(MAX_POWER, "A power"))
        if not negative:
            return found
        return Constant(-found.value) if isinstance(found, Constant) else Operation("-", Constant(0.0), found)

    def _atom(self) -> Expression:
        token = self.now
        if token.kind == "number":
            self.skip()
            value = float(token.text)
            if value > 1e300:
                self.fail(token.place, "This number is too large")
            return Constant(value)
        if self.take("("):
            with self.parentheses(token):
                return self.whole_expression()
        if self.sees_call():
            found, *more = self.call()
            if more:
                self.fail(
                    token.place, f"{token.text}(...) stands for several columns; pick one, as {token.text}(...)[1]"
                )
            return found
        return Variable(self.number(), self.numbers[token.text])

    def number(self) -> str:
        """Read the name of a declared number."""
        token = self.now
        if token.kind != "name":
            self.fail(token.place, f"Expected a column, not {token.text!r}")
        if token.text not in self.numbers:
            self.refuse(token)
        return self.tokens.popleft().text

    def refuse(self, token: Token) -> NoReturn:
        """Refuse a name that is no number."""
        self.fail(token.place, f"Column {token.text!r} is not a declared number")

    def sees_call(self) -> bool:
        """Whether a name and an opening parenthesis come next."""
        return self.now.kind == "name" and not self.now.quoted and self.sees("(", ahead=1)

    def call(self) -> list[Expression]:
        """Read a function call, and return its columns."""
        token = self.now
        name = ALIASES.get(token.text, token.text)
        if name not in FUNCTIONS:
            self.unknown(token)
        self.skip(2)
        places: list[Any] = []
        named: dict[str, Any] = {}
        with self.parentheses(token):
            argument = self.sum()
            if not argument.variables:
                self.fail(token.place, "A function needs a column inside")
            while self.take(","):
                self._option(places, named)
        part = None
        if self.take("["):
            part = self.whole(99, "A column of a function")
            self.expect("]")
        self.measure(argument, token)
        try:
            return self._columns(name, argument, options(name, places, named), part)
        except DomainError as error:
            self.fail(token.place, str(error).rstrip("."))

    def _columns(self, name: str, argument: Expression, given: Any, part: int | None) -> list[Expression]:
        count = len(Call(name, argument, given).parts)
        if part is not None and (part > count or name not in SEVERAL):
            raise DomainError(f"{name}(...) has {count} column{'s' * (count > 1)} here, so there is no [{part}]")
        first = 2 if name in LEAVES_OUT_FIRST else 1
        return [Call(name, argument, given, i) for i in ([part] if part else range(first, count + 1))]

    def unknown(self, token: Token) -> NoReturn:
        """Refuse a function that is not known, or not known here."""
        self.refuse_other_rows(token)
        self.fail(token.place, f"There is no function {token.text!r}. Known: {', '.join(FUNCTIONS)}")

    def refuse_other_rows(self, token: Token) -> None:
        """Refuse a function whose value in a row depends on other rows, with the reason."""
        if token.text in OTHER_ROWS:
            self.fail(
                token.place,
                f"{token.text!r} looks at other rows, and a row alone decides what it adds to a release: only then is "
                "one person's part bounded. Compute such a column before, and declare it with its bounds",
            )

    def _option(self, places: list[Any], named: dict[str, Any]) -> None:
        token = self.now
        if token.kind == "name" and self.sees("=", ahead=1):
            self.skip(2)
            if token.text in named:
                self.fail(token.place, f"{token.text!r} is given twice")
            named[token.text] = self._value()
        elif named:
            self.fail(token.place, "Options with names stand last")
        else:
            places.append(self._value())

    def _value(self) -> float | tuple[float, ...]:
        opening = self.take("[", "(")
        if opening is None:
            return self._figure()
        close, found = {"[": "]", "(": ")"}[opening], []
        while not self.sees(close):
            found.append(self._figure())
            if not self.take(","):
                break
        self.expect(close)
        return tuple(found)

    def _figure(self) -> float:
        negative = self.take("-") is not None
        token = self.now
        if token.kind != "number":
            self.fail(token.place, f"Expected a number, not {token.text!r}")
        self.skip()
        return -float(token.text) if negative else float(token.text)


def expression(text: str, numbers: Mapping[str, Column], effort: Effort | None = None) -> Expression:
    """Read the whole text as one expression."""
    reader = Reader(text, numbers, effort=effort or Effort())
    reader.read_tokens(0, len(text))
    first = reader.now
    found = reader.whole_expression()
    if reader.now.kind != "end":
        reader.fail(reader.now.place, f"Expected the end, not {reader.now.text!r}")
    reader.measure(found, first)
    return found
