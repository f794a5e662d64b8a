"""Failures that a trial is watched for: exceptions that are not ours, and planted values in any message or file."""

from __future__ import annotations

import contextlib
import io
import math
import random
import re
import struct
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from discreet.errors import DiscreetError

T = TypeVar("T")

DEFECT = "This is a defect of discreet"
"""What an error of ours says that is as bad as one of others."""


@dataclass(frozen=True)
class Marks:
    """Values that stand in private rows and nowhere else."""

    numbers: tuple[float, ...]
    word: str
    rows: int

    @classmethod
    def drawn(cls, rng: random.Random) -> Marks:
        """Numbers of many digits, within 0 and 100; a word; and a number of rows that is no round one."""
        numbers = tuple(rng.uniform(10, 99) for _ in range(3))
        return cls(numbers, "zq" + "".join(rng.choices("bcdfghjkvwxz", k=10)), rng.choice([389, 397, 431, 467, 547]))

    def _pattern(self, spellings: list[str], *more: str) -> re.Pattern[str]:
        numbers = [re.escape(format(number, own)) for number in self.numbers for own in spellings]
        return re.compile("|".join([*numbers, self.word, *more]))

    @cached_property
    def among_noise(self) -> re.Pattern[str]:
        """In what holds noisy numbers, some of which are like any number of few digits."""
        return self._pattern(["", ".12g"])

    @cached_property
    def in_words(self) -> re.Pattern[str]:
        """In errors and warnings, which hold no noise: fewer digits count, and so does the number of rows."""
        return self._pattern(["", ".9g", ".7g"], rf"(?<![\d.]){self.rows}(?!\d|\.\d*[1-9])")

    @cached_property
    def packed(self) -> list[bytes]:
        """In bytes."""
        return [struct.pack("<d", number) for number in self.numbers] + [self.word.encode()]


@dataclass
class Watch:
    """Counts calls, and keeps what must not happen."""

    marks: Marks
    seed: int
    calls: int = 0
    done: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    foreign: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)

    def attempt(self, what: str, call: Callable[[], T], *, kept: tuple[type[Exception], ...] = ()) -> T | None:
        """What a call gives, or None where it is refused; `kept` are exceptions of others that are as good as ours."""
        self.calls += 1
        said, told = io.StringIO(), ""
        with warnings.catch_warnings(record=True) as heard, contextlib.redirect_stdout(said):
            warnings.simplefilter("always")
            with contextlib.redirect_stderr(said):
                try:
                    found = call()
                    self.done += 1
                except (DiscreetError, *kept) as error:
                    found, told = None, "".join(traceback.format_exception(error))
                    self.refused[type(error).__name__] += 1
                    if DEFECT in str(error):
                        self.foreign.append(f"{what}: {error}")
                except Exception as error:
                    found, told = None, ""
                    self.foreign.append(f"{what}: {''.join(traceback.format_exception(error)[-12:])}")
        words = "\n".join([told, *(str(warning.message) for warning in heard)])
        self._search(what, re.sub(r"line \d+", "line", words), self.marks.in_words)
        self.read(what, said.getvalue())
        return found

    def read(self, what: str, text: str) -> None:
        """Search what was said or written, which may hold noise."""
        self._search(what, text, self.marks.among_noise)

    def read_bytes(self, what: str, content: bytes) -> None:
        """Search a file or a pickle."""
        if any(pattern in content for pattern in self.marks.packed):
            self.leaks.append(f"{what}: bytes")
        self.read(what, content.decode("latin-1"))

    def _search(self, what: str, text: str, pattern: re.Pattern[str]) -> None:
        match = pattern.search(text)
        if match is not None:
            around = text[max(0, match.start() - 120) : match.end() + 40]
            self.leaks.append(f"{what}: {match.group()!r} in {around!r}")


NASTY: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 10, 0.5, -0.5, 1e-9, 1e-300, 5e-324, 1e9, 1e300, math.nan, math.inf, -math.inf,
    10**400, 2**63, -(2**63), "", "x", "auto", "l1", "0", "1e999", "\x00", "\ud800", "a" * 3000, (), [], {}, set(),
    b"x", (0, 1), (1, 0), [0, 1], [[0, 1]], (None, 1), ("a", "b"), object(), print, int, [1, "a", None], {"a": 1},
    1 + 2j, (0, 1, 2), [math.nan], (math.nan, 1), (0, math.inf), range(3), "add-remove", "replace-one", "classical",
)  # fmt: skip
"""Values for parameters of any kind."""
