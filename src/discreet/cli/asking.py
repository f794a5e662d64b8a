"""Interactive questions about the columns of a table, for people new to schemas; each answer is checked at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import typer

from discreet.cli import console
from discreet.core import checks
from discreet.domain import Domain, FileFormat
from discreet.domain.columns import FORMS
from discreet.domain.kinds.base import Column, Question
from discreet.errors import DiscreetError, ParameterError, printable
from discreet.mechanisms.registry import DEFAULT
from discreet.planning import plan
from discreet.privacy import gdp
from discreet.results.summary import number

T = TypeVar("T")

CHOICES = (*FORMS, "skip")
_DIGITS = 3
"""A bound with more digits than this was probably read off the data."""


class Interview:
    """Asks about each column in turn.

    Parameters
    ----------
    columns : sequence of (name, kind)
        The result of `column_kinds`, from a file's first line or metadata alone.
    written : FileFormat
        The format of the file, as far as options tell.
    """

    def __init__(self, columns: Sequence[tuple[str, str]], written: FileFormat) -> None:
        self._columns, self._written = columns, written
        self._rows, self._epsilon = 0, 0.0

    @property
    def _delta(self) -> float:
        return min(1e-6, 1 / self._rows**2)

    def domain(self) -> Domain:
        """Ask about all columns and return the domain."""
        console.say(
            "Answer from what is known of the subject: laws, questionnaires, common sense. Never look into the data: a "
            "minimum or a list of the values that occur is itself private. Ctrl-C stops, and nothing is written.",
            "",
        )
        self._rows = _ask("About how many people are in the table, as is publicly known", _count)
        self._epsilon = _ask("Which epsilon do you have in mind (0.1 is strong, 1 is usual)", _epsilon, "1")
        specs: dict[str, Any] = {}
        for place, (name, kind) in enumerate(self._columns, 1):
            console.say("", f"Column {place} of {len(self._columns)}: {name}")
            if (spec := self._column(name, kind)) is not None:
                specs[name] = spec
        if not specs:
            raise ParameterError("All columns were skipped, so there is no schema to write.")
        console.say("")
        drop = typer.confirm("May values be missing? Rows that lack one are left out then", default=False)
        return Domain(specs, missing="drop" if drop else "error", file=self._file(specs))

    def tell(self, domain: Domain) -> None:
        """Show the effect of the bounds on the model of a column, if one is named."""
        numbers = [name for name, column in domain.columns.items() if column.bounds]
        if not numbers or len(domain.columns) < 2:
            return

        def named(text: str) -> str:
            if text and text not in numbers:
                raise ParameterError(f"{text!r} is no number of the schema.{checks.meant(text, numbers)}")
            return text

        console.say("")
        target = _ask("Which number do you want to explain (Enter for none)", named, "")
        if target:
            promise: dict[str, Any] = {"epsilon": self._epsilon, "delta": self._delta}
            found = plan(domain, target, rows=self._rows, **promise, draws=4, methods=[DEFAULT])
            console.say(f"A plan for {target} by all other columns, R^2 guessed as 0.5:", *_words(found))

    # ---------------------------------------------------------------- one column

    def _column(self, name: str, kind: str) -> Column | None:
        held = [word for word, form in FORMS.items() if kind in form.holds] or CHOICES

        def chosen(text: str) -> str:
            found = [choice for choice in CHOICES if choice.startswith(text.strip().lower()) and text.strip()]
            if len(found) != 1:
                raise ParameterError(f"Answer {', '.join(CHOICES)}, or their first letter.")
            if found[0] not in (*held, "skip"):
                raise ParameterError(f"The file holds a {kind} there: answer {', '.join([*held, 'skip'])}.")
            return found[0]

        default = next((word for word, form in FORMS.items() if form.kind == kind), None)
        words = ", ".join(f"{form.article}{form.word}" for form in FORMS.values())
        answer = _ask(f"  Is it {words}, or to be skipped", chosen, default)
        return None if answer == "skip" else self._asked(name, kind, answer)

    def _asked(self, name: str, kind: str, word: str) -> Column:
        form = FORMS[word]
        while True:
            answers = {question.key: _answer(question) for question in form.questions}
            try:
                column = form.make(name, answers, kind)
            except DiscreetError as error:
                console.say(*(f"  {line}" for line in error.args))
                continue
            if column.bounds:
                console.say(f"  {self._cost(column)}")
            return column

    def _cost(self, column: Column) -> str:
        """State how far noise moves the mean of a column if the whole budget is spent on it: h/(mu n)."""
        low, high = column.range
        half = (high - low) / 2
        mu = gdp.mu(self._epsilon, self._delta)
        unit = "days" if column.date else column.coordinate_unit or ""
        return (
            f"Noise would move its mean by about {number(half / (mu * self._rows))} {unit}".rstrip()
            + ", were that all you release; bounds twice as wide, twice as much."
        )

    def _file(self, specs: dict[str, Column]) -> FileFormat:
        dates = any(column.date for column in specs.values())
        if self._written.date_format or not dates or all(kind != "any" for _, kind in self._columns):
            return self._written

        def form(text: str) -> FileFormat:
            own = {} if text == "%Y-%m-%d" else {"date_format": text}
            return FileFormat.of(self._written.to_dict() | own, {})

        return _ask("How are dates written: %d is the day, %m the month, %Y the year", form, "%Y-%m-%d")


def _ask(question: str, read: Callable[[str], T], default: str | None = None) -> T:
    """Ask until the answer is valid; each refusal says why."""
    while True:
        text = typer.prompt(printable(question), default=default, show_default=bool(default))
        try:
            return read(text)
        except DiscreetError as error:
            console.say(*(f"  {line}" for line in error.args))


def _count(text: str) -> int:
    try:
        return checks.rows(int(text.replace(",", "").replace("_", ""))) or 0
    except ValueError:
        raise ParameterError("Give a whole number, such as 20000.") from None


def _epsilon(text: str) -> float:
    try:
        return checks.positive("epsilon", float(text))
    except ValueError:
        raise ParameterError("Give a number above 0, such as 1.") from None


def _answer(question: Question) -> Any:
    """Ask a question about a column; a number must be round, or known without looking at the data."""

    def read(text: str) -> Any:
        value = question.read(text)
        if (
            isinstance(value, float)
            and not _is_round(value)
            and not typer.confirm(
                f"  {value:.15g} is not round: do you know it without looking at the data", default=False
            )
        ):
            raise ParameterError("Then choose a round number that is surely beyond.")
        return value

    return _ask(f"  {question.text}", read, question.default)


def _is_round(value: float) -> bool:
    return len(f"{abs(value):.15g}".replace(".", "").strip("0")) <= _DIGITS


def _words(found: Any) -> list[str]:
    """Sum up a plan in two or three lines."""
    one = found.at(found.reference)
    share = (
        f"{one.vs_trivial:.2f} times that of predicting the mean; without privacy {one.non_private / one.trivial:.2f}"
    )
    kept = [line for line in found.advice() if not line.startswith((DEFAULT, "Left out"))]
    return [f"- The expected squared error is {share}.", *(f"- {line}" for line in kept)]
