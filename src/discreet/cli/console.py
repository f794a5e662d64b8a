"""Output to the terminal. All text is escaped here first, names and arguments included."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich.box
import typer
from rich.console import Console, ConsoleDimensions, JustifyMethod
from rich.table import Table
from rich.text import Text

from discreet.errors import DiscreetError, printable

if TYPE_CHECKING:
    from discreet.ledger.accounts import Account
    from discreet.privacy.events.base import Finding
    from discreet.released.certificate import Certificate
    from discreet.results.summary import Summary


LONG = 1000
"""The number of rows beyond which a table is long."""

WIDE = 10_000
"""The width of output that is no terminal: in a pipe or a file, lines are not wrapped and tables not divided."""


class _Console(Console):
    """A console with its own exit code for a closed pipe, because 1 means that a check failed."""

    @property
    def size(self) -> ConsoleDimensions:
        """The size of the terminal, or as COLUMNS says; wide if there is no terminal."""
        told = self._width or os.environ.get("COLUMNS") or self.is_terminal
        return super().size if told else ConsoleDimensions(WIDE, 25)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size

    def on_broken_pipe(self) -> None:
        raise SystemExit(output_closed())


out = _Console(highlight=False)
err = _Console(stderr=True, highlight=False)


def output_closed() -> int:
    """Discard further output once the pipe is closed; return the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def as_json(body: Any) -> str:
    """Write JSON."""
    return json.dumps(body, indent=2, allow_nan=False) + "\n"


def print_json(body: Any) -> None:
    """Print JSON, and nothing else, on standard output."""
    sys.stdout.write(as_json(body))


def print_text(text: str) -> None:
    """Print text for another program, as it is, on standard output."""
    sys.stdout.write(text.rstrip("\n") + "\n")


def print_json_lines(items: Iterable[Any]) -> None:
    """Print a JSON array of any length, each item on a line of its own, as they come."""
    before = "[\n"
    for item in items:
        sys.stdout.write(before + json.dumps(item, allow_nan=False))
        before = ",\n"
    sys.stdout.write("[]\n" if before == "[\n" else "\n]\n")


def plain(text: str) -> Text:
    """Make text without markup, escaped."""
    return Text(printable(text))


def say(*lines: str) -> None:
    """Print lines as they are, for the terminal to wrap."""
    for line in lines:
        out.print(plain(line), soft_wrap=True)


def say_error(*lines: str) -> None:
    """Print lines on standard error."""
    for line in lines:
        err.print(plain(line), soft_wrap=True)


def progress(*, quiet: bool) -> bool:
    """Whether to show a progress bar: on a terminal, unless only JSON is wanted."""
    return not quiet and sys.stderr.isatty()


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[int] = (),
    whole: Sequence[int] = (0,),
) -> None:
    """Print a plain table under its title; `numeric` columns are aligned to the right, `whole` ones never broken.

    A long table has no frame, and its cells are never broken.
    """
    say(title)
    if len(rows) > LONG:
        return _long(columns, rows, numeric)
    grid = Table(header_style="bold")
    for i, column in enumerate(columns):
        grid.add_column(plain(column), justify="right" if i in numeric else "left", overflow="fold", no_wrap=i in whole)
    for row in rows:
        grid.add_row(*map(plain, row))
    out.print(grid)


def _long(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int]) -> None:
    widths = [max(len(columns[i]), *(len(printable(row[i])) for row in rows)) for i in range(len(columns))]
    sides = [">" if i in numeric else "<" for i in range(len(columns))]
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    for row in (columns, *rows):
        sys.stdout.write(form.format(*map(printable, row)).rstrip() + "\n")


def summary(read: Summary) -> None:
    """Print a summary: its title, facts, table and notes."""
    say(read.title)
    facts = Table(box=None, show_header=False, pad_edge=False)
    for name, text in read.facts:
        facts.add_row(plain(name), plain(text))
    out.print(facts)
    for places in _fitting(read):
        grid = Table(header_style="bold", box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for i in places:
            side: JustifyMethod = "right" if read.is_numeric(i) else "left"
            grid.add_column(plain(read.columns[i]), justify=side, overflow="fold", width=_width(read, i))
        for row in read.rows:
            grid.add_row(*(plain(row[i]) for i in places))
        if read.foot:
            grid.add_section()
        for row in read.foot:
            grid.add_row(*(plain(row[i]) for i in places))
        out.print(grid)
    for line in read.notes:
        out.print(plain(line))


def _width(read: Summary, i: int) -> int:
    """Return the width for the cells of a column and the longest word of its heading, at most half of the terminal."""
    heading = read.columns[i]
    words = heading.split() if len(heading) > 7 else [heading]
    cells = [row[i] for row in (*read.rows, *read.foot)]
    return min(max(map(len, [*cells, *words, "-"])), out.width // 2)


def _fitting(read: Summary) -> list[list[int]]:
    """Divide the columns of a table into parts that fit the terminal; each part repeats the names."""
    names = list(range(read.keys))
    parts: list[list[int]] = [[*names]]
    for i in range(read.keys, len(read.columns)):
        if sum(_width(read, k) + 2 for k in [*parts[-1], i]) > out.width - 2 and len(parts[-1]) > read.keys:
            parts.append([*names])
        parts[-1].append(i)
    few = read.keys + 3
    while len(parts) > 1 and len(parts[-1]) < few < len(parts[-2]):  # ends of intervals stay together, with their unit
        parts[-1].insert(read.keys, parts[-2].pop())
    return parts


def say_public(path: Path, certified: Certificate, *, models: bool) -> None:
    """Name the release, and what may be done with it."""
    more = ", or fit more models with `discreet model`" if models else ""
    advice = f"It is public: publish it{more}."
    if certified.guarantee.status == "claimed":
        advice = "Its promise is a paper's, and we do not vouch for it: read the certificate before you publish it."
    say("", f"The release is in {path}. {advice}")


def say_counted(account: Account | None) -> None:
    """Say what is left of the account that a release was charged to, or that it was not counted."""
    if account is None:
        say("", "Not counted together with other releases of the same people: `discreet ledger init` starts a count.")
        return
    balance = account.balance()
    left = [] if balance.limits.adding else [f"{balance.epsilon_left:.3g} for a Gaussian release"]
    left += [f"{balance.others_left[0]:.3g} for others"] if balance.limits.others[0] else []
    say(
        "",
        f"Counted in {account.ledger.name}, account {account.name!r}: epsilon {balance.epsilon_spent:.3g} of "
        f"{balance.limits.epsilon:g} is spent; left: {', '.join(left)}.",
    )


def say_where(report: Path | None) -> None:
    """Name the report, if one was written."""
    if report is not None:
        say(f"The report is in {report}. Open it in a browser, or print it.")


@contextlib.contextmanager
def saved_before(path: Path) -> Iterator[None]:
    """Say that the release is safe if a later step fails."""
    try:
        yield
    except Exception:
        say_error(f"The release is complete in {path}; the report is not.")
        raise


def findings(found: Sequence[Finding]) -> None:
    """Print the findings of a check."""
    rows = [[f.what, "ok" if f.ok else "FAILS", f.detail] for f in found]
    table("Check", ["what", "", "detail"], rows, whole=(1,))


def meanings(terms: Sequence[tuple[str, str]]) -> None:
    """Print the meanings of terms."""
    grid = Table(box=None, show_header=False, pad_edge=False)
    for term, meaning in terms:
        grid.add_row(plain(term), plain(meaning))
    out.print(grid)


def certificate(certified: Certificate) -> None:
    """Print a certificate in plain words."""
    out.print("\n[bold]Certificate[/bold]")
    for statement in certified.words().split("\n"):
        out.print(plain(f"- {statement}"))


def guarded(command: Callable[[], Any]) -> int:
    """Run a command; errors become messages, which quote no data, and an exit code."""
    warnings.showwarning = warn  # type: ignore[assignment]
    with _noting_ctrl_c() as stopped:
        try:
            code = command()
            if code == 130:  # what typer makes of Ctrl-C
                raise KeyboardInterrupt
            return code if isinstance(code, int) else 0
        except typer.Exit as stop:
            return stop.exit_code
        except BrokenPipeError:
            return output_closed()
        except (Exception, KeyboardInterrupt) as error:
            if stopped or isinstance(error, (KeyboardInterrupt, typer.Abort)):
                return _fail("Stopped. No file is half-written: each is complete or as it was.", code=130)
            return _explain(error)


@contextlib.contextmanager
def _noting_ctrl_c() -> Iterator[list[int]]:
    """Record Ctrl-C, because the interrupted code may turn KeyboardInterrupt into another error."""
    noted: list[int] = []

    def note(number: int, _: Any) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ours = ours and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _explain(error: BaseException) -> int:
    if isinstance(error, DiscreetError):
        return _fail(*error.args, code=2)
    if isinstance(error, OSError):
        return _fail(f"{error.strerror or 'The file cannot be used'}: {Path(str(error.filename or '')).name}", code=2)
    if hasattr(error, "show") and hasattr(error, "exit_code"):
        with contextlib.suppress(BrokenPipeError, SystemExit):  # nobody reads it; its exit code is still told
            _show(error)
        return int(error.exit_code)
    if os.environ.get("DISCREET_DEBUG"):
        raise error
    if isinstance(error, ImportError):  # which quotes no data
        return _fail(f"A package that is needed cannot be imported: {error}", code=2)
    return _fail(
        f"An internal error of kind {type(error).__name__}. Its details are hidden, for they may quote data; "
        "the curator can see them with DISCREET_DEBUG=1.",
        code=2,
    )


def _show(error: Any) -> None:
    """Show an error of the command line itself, with the quoted arguments escaped."""
    words = "\n".join(map(printable, error.format_message().split("\n")))
    error.format_message = lambda: words
    error.show()


def warn(message: Warning | str, *_: Any) -> None:
    """Print a warning on standard error."""
    err.print(Text("Warning: ", "bold yellow") + plain(str(message)), soft_wrap=True)


def _fail(message: str, *more: str, code: int) -> int:
    err.print(Text("Error: ", "bold red") + plain(message), soft_wrap=True)
    say_error(*more)
    return code
