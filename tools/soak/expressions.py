"""Trials of expressions with extreme constants, at every entry point, with and without a row where they are undefined.

An expression must be accepted both with that row and without it, or refused in the same words.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import discreet
from discreet import Domain, Moments, plan, release
from discreet.data import worker
from discreet.data.engines.base import Engine
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import METHODS
from tools.soak import tables
from tools.soak.watch import Watch

DOMAIN = Domain({**tables.SCHEMA, "day": ("2000-01-01", "2030-01-01")})
SCHEMA = """\
[columns]
age    = { low = 0, high = 100 }
score  = { low = -3, high = 3 }
region = { levels = ["north", "south", "west"] }
smoker = { type = "bool" }
day    = { low = "2000-01-01", high = "2030-01-01" }
income = { low = 0, high = 100 }
"""
SUMMED = ("DPLinearRegression", "DPRidge", "AdaSSP", "SSP", "ReuseCov", "NoisySGD")
"""Methods whose refusals depend on public facts, or on what they would release, never on rows."""

EXPONENTS = (-323, -308, -300, -250, -200, -160, -100, -20, -3, 0, 1, 3, 20, 100, 160, 200, 250, 300)
FUNCTIONS = (
    "log({})", "log1p({})", "sqrt({})", "exp({})", "center({})", "scale({})", "poly({}, 4)[3]", "bs({}, df=6)[2]",
    "cr({}, df=4)[2]", "cr({}, knots=[0.5, 0.5000000000001])[1]", "({})^2", "({})^9",
)  # fmt: skip
POINT = {"age": 44.25, "score": 0.1, "day": "2011-01-01"}
"""The row that expressions are made around."""


def tree(rng: random.Random, depth: int) -> str:
    """The text of an expression; differences from the point are frequent, for there things cancel."""
    if depth == 0 or rng.random() < 0.15:
        number = f"{rng.choice([1, 1, 1, 3, 9.5])}e{rng.choice(EXPONENTS)}"
        return rng.choice(["age", "score", "day", "(age - 44.25)", "(score - 0.1)", "(day - 14975)", number, number])
    if rng.random() < 0.3:
        return rng.choice(FUNCTIONS).format(tree(rng, depth - 1))
    return f"({tree(rng, depth - 1)} {rng.choice('+-**//')} {tree(rng, depth - 1)})"


def formula(rng: random.Random) -> str:
    """A formula with one such expression, often the attack's shape: tiny over a tiny sum of squares."""
    made = tree(rng, rng.randrange(1, 5))
    if rng.random() < 0.5:
        a, b, c = (rng.choice((-100, -160, -200, -250, -300)) for _ in range(3))
        made = f"1e{a}*1e{b}/(((age - 44.25)^2 + (score - 0.1)^2 + 1e{c})*1e{rng.choice((a, b))})"
    term = rng.choice(["I({})", "I({})", "region:I({})", "age:I({})", "I({})^2", "log({})", "bs({}, df=4)"])
    return f"income ~ score + {term.format(made)}"


def people(rng: random.Random, watch: Watch) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table with the row, and one without it: equally many rows."""
    frame = tables.frame(rng, watch.marks)
    draw = np.random.default_rng(rng.randrange(2**32))
    frame["day"] = pd.Timestamp("2000-01-01") + pd.to_timedelta(draw.integers(0, 10_000, len(frame)), unit="D")
    there = frame.copy()
    at = next(i for i in range(len(frame)) if frame["age"][i] not in watch.marks.numbers)
    there.loc[at, ["age", "score"]] = POINT["age"], POINT["score"]
    there.loc[at, "day"] = pd.Timestamp(POINT["day"])
    return there, frame


class Workers(Engine):
    """What workers of an engine do, in this process."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @property
    def schema(self) -> pa.Schema:
        """The table's."""
        return self._table.schema

    def answers(self, task: bytes, columns: list[str], report: Callable[[float], None]) -> Iterator[bytes]:
        """One for each half of the rows."""
        half = self._table.num_rows // 2
        for part in (self._table.slice(0, half), self._table.slice(half)):
            yield worker.run(task, part.select(columns).to_batches())


def offered(frame: pd.DataFrame, kind: str, folder: Path) -> Any:
    """The rows as one of the things that people pass."""
    table = pa.Table.from_pandas(frame.assign(day=frame["day"].dt.date), preserve_index=False)
    if kind == "engine":
        return Workers(table)
    if kind == "parquet":
        pq.write_table(table, folder / "people.parquet")
        return folder / "people.parquet"
    if kind == "csv":
        frame.to_csv(folder / "people.csv", index=False)
        return folder / "people.csv"
    if kind == "duckdb":
        import duckdb

        return duckdb.connect().from_arrow(table)
    return frame if kind == "pandas" else table


def expressions(rng: random.Random, watch: Watch, folder: Path) -> None:
    """One formula at every way in, with the row and without it."""
    text = formula(rng)
    tellers = people(rng, watch)
    watch.attempt("formula", lambda: discreet.formula(text, DOMAIN))
    watch.attempt("plan", lambda: plan(DOMAIN, text, rows=400, epsilon=1, delta=1e-6, methods=["SSP"], draws=2))
    method = rng.choice([own for own in METHODS if own.name in SUMMED]).estimator
    kind, seed = rng.choice(["pandas", "arrow", "csv", "parquet", "duckdb", "engine"]), rng.randrange(99)

    def fit(source: Any) -> None:
        method(epsilon=1, delta=1e-6, rows=400, domain=DOMAIN, random_state=seed).fit_formula(text, source)

    def chosen(source: Any) -> None:
        found = release(source, domain=DOMAIN, models=[text, "income ~ age"], epsilon=1, delta=1e-6, random_state=seed)
        found.select(text)

    def summed(source: Any) -> None:
        with np.errstate(all="raise"):
            Moments.from_source(source, discreet.formula(text, DOMAIN).domain, n_jobs=rng.choice([1, 2]))

    for way in (fit, chosen, summed):
        what = f"{way.__name__} {kind} {text}"
        _compared(watch, what, [_came(watch, what, way, offered(own, kind, folder)) for own in tellers])
    (folder / "people.toml").write_text(SCHEMA, encoding="utf-8")
    _compared(watch, f"discreet fit {text}", [_command(watch, text, own, folder) for own in tellers])


def _came(watch: Watch, what: str, call: Callable[[Any], None], source: Any) -> str:
    """What came of a call, in words; warnings of numpy count as errors of others."""
    told = ["failed"]

    def tried() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                call(source)
            except DiscreetError as error:
                told[0] = f"{type(error).__name__}: {error}"
                raise
        told[0] = "answered"

    watch.attempt(what, tried)
    return told[0]


def _command(watch: Watch, text: str, frame: pd.DataFrame, folder: Path) -> str:
    from discreet import cli

    frame.to_csv(folder / "people.csv", index=False)
    arguments = ["fit", str(folder / "people.csv"), "--schema", str(folder / "people.toml"), "--epsilon", "1"]
    arguments += ["--delta", "1e-6", "--formula", text, "--force", "--out", str(folder / "out.json")]
    said, code = io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["discreet", *arguments]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(said),
    ):
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    watch.read(f"discreet fit {text}", said.getvalue())
    return "answered" if code == 0 else f"{code}: {said.getvalue()}"


def _compared(watch: Watch, what: str, came: list[str]) -> None:
    """Keep what is not the same with the row and without it."""
    if came[0] != came[1]:
        watch.foreign.append(f"{what}: {came[0]!r} with the row, {came[1]!r} without it")
