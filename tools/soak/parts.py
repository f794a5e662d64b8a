"""The parts of the soak test: each is a function that tries something with one seed and records it in a `Watch`."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.exceptions import NotFittedError

import discreet
from discreet import Domain, Moments, PrivateMoments, release
from discreet.core.files import digest
from discreet.mechanisms.registry import METHODS
from discreet.results.saved import check_saved, load_saved
from tools.soak import tables
from tools.soak.expressions import expressions
from tools.soak.units import units
from tools.soak.watch import NASTY, Watch

FORMULAS = (
    "income", "~", "age", "+", "C(region)", "*", "log(score)", ":", "bs(age, 3)", "poly(smoker, 2)", "I(age^2)", "-",
    "1", "0", ".", "(", ")", "^", "/", "'x'", "1e9", "smoker",
)  # fmt: skip


def inputs(rng: random.Random, watch: Watch, folder: Path) -> None:
    """A method is fitted to a table, in which something may be wrong; all that comes of it is searched."""
    people = tables.frame(rng, watch.marks)
    if rng.random() < 0.7:
        people = tables.spoilt(people, rng, watch.marks)
    declared = watch.attempt("domain", lambda: tables.domain(rng))
    if declared is None:
        return
    method = rng.choice(METHODS).estimator
    model = method(epsilon=rng.choice([0.01, 1.0, 50.0]), delta=1e-6, domain=declared, random_state=rng.randrange(99))

    def source() -> Any:
        return tables.offered(people, rng, folder)

    way = rng.randrange(4)
    if way == 0:
        fitted = watch.attempt(f"{method.__name__}.fit_source", lambda: model.fit_source(source(), "income"))
    elif way == 1:
        text = " ".join(rng.choices(FORMULAS, k=rng.randrange(1, 9)))
        text = text if rng.random() < 0.4 else "income ~ " + " + ".join(rng.sample(tables.FEATURES, 2))
        fitted = watch.attempt(f"{method.__name__}.fit_formula", lambda: model.fit_formula(text, source()))
    elif way == 2:
        X, y = people.drop(columns=["income"], errors="ignore"), people.get("income", people.iloc[:, -1])
        fitted = watch.attempt(f"{method.__name__}.fit", lambda: model.fit(X, y))
    else:
        found = watch.attempt("Moments", lambda: Moments.from_source(source(), declared))
        fitted = found and watch.attempt("fit_moments", lambda: getattr(model, "fit_moments", _none)(found, "income"))
        watch.read("repr of moments", repr(found))

    watch.read("repr of a model", watch.attempt("repr", lambda: repr(model)) or "")
    if fitted is not None:
        everything(fitted, people, rng, watch, folder)


def _none(*_: Any) -> None:
    return None


def everything(model: Any, people: Any, rng: random.Random, watch: Watch, folder: Path) -> None:
    """All that people do with a fitted model; every text and file of it is searched."""
    from discreet.results.report import report

    results, path = model.results_, folder / "results.json"
    for what, call in {
        "summary": lambda: str(results.summary()),
        "repr": lambda: repr(model) + repr(results) + repr(model.release_) + str(model.certificate_),
        "report": lambda: report(results, model.release_ if isinstance(model.release_, PrivateMoments) else None),
        "to_dict": lambda: json.dumps(results.to_dict(), default=str),
        "conf_int": lambda: str(results.conf_int(rng.choice([0.9, 0.5, 1.0, -1, "x", None]))),
    }.items():
        watch.read(what, watch.attempt(what, call, kept=(NotFittedError,)) or "")
    watch.read_bytes("pickle", watch.attempt("pickle", lambda: pickle.dumps(model)) or b"")
    watch.attempt("save", lambda: results.save(path))
    if path.exists():
        watch.read_bytes("results file", path.read_bytes())
        watch.attempt("load", lambda: check_saved(load_saved(path)))
    X = people.drop(columns=["income"], errors="ignore")
    X = tables.spoilt(X, rng, watch.marks) if rng.random() < 0.5 and len(X) > 2 else X
    watch.attempt("predict", lambda: model.predict(X))


def parameters(rng: random.Random, watch: Watch, folder: Path) -> None:
    """Parameters of methods, releases, plans and domains have values of any kind."""
    draw = np.random.default_rng(rng.randrange(2**32))
    X, y = draw.uniform(0, 1, (60, 2)), draw.uniform(0, 1, 60)
    X[7] = watch.marks.numbers[:2]
    kind = rng.randrange(5)
    if kind <= 2:
        method = rng.choice(METHODS).estimator
        usual = {"epsilon": 1.0, "delta": 1e-6, "bounds_X": (0, 100), "random_state": 1, "n_jobs": 1}
        usual |= {"bounds_y": (0, 1)} if "bounds_y" in method().get_params() else {}
        names = rng.sample(sorted(method().get_params()), rng.choice([1, 1, 2, 3]))
        given = usual | {name: _any(rng) for name in names}
        model = watch.attempt(f"{method.__name__}({names})", lambda: method(**given))
        if model is not None:
            watch.attempt(f"{method.__name__}({names}).fit", lambda: model.fit(X, y))
            watch.attempt(f"repr of {method.__name__}({names})", lambda: repr(model))
    elif kind == 3:
        columns = {rng.choice(["a", "b", "", "y", "(intercept)", "\x00", 3]): _any(rng) for _ in range(3)}
        watch.attempt(f"Domain({columns!r:.200})", lambda: Domain(columns))
        watch.attempt("Domain.from_dict", lambda: Domain.from_dict(columns))
        watch.attempt("formula", lambda: discreet.formula(" ".join(rng.choices(FORMULAS, k=6)), Domain(tables.SCHEMA)))
    else:
        domain = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(0, 100), bounds_y=(0, 1))
        given = {"epsilon": 1.0, "delta": 1e-6, "random_state": 1} | {
            name: _any(rng) for name in rng.sample(["epsilon", "delta", "rows", "neighbors", "targets", "shares"], 2)
        }
        moments = Moments.from_source((X, y), domain)
        released = watch.attempt(f"release({given!r:.300})", lambda: release(moments, **given))
        if released is not None:
            target, features = rng.choice(["y", "a", "zz", None, 3]), rng.choice([None, ["a"], [], "a", [3]])
            watch.attempt("fit of a release", lambda: released.fit(target, features))
        facts = {"rows": 500, "epsilon": [1.0], "delta": 1e-6, "methods": ["SSP"], "draws": 2, "r_squared": 0.3}
        facts |= {name: _any(rng) for name in rng.sample(sorted(facts), 1) if name != "draws"}
        watch.attempt(f"plan({facts!r:.300})", lambda: discreet.plan(domain, "y", **facts))


def _any(rng: random.Random) -> Any:
    return rng.choice(NASTY) if rng.random() < 0.8 else rng.uniform(-2, 2) * 10.0 ** rng.randrange(-12, 12)


# ---------------------------------------------------------------- files


def files(rng: random.Random, watch: Watch, folder: Path) -> None:
    """Files are damaged in some bytes, or their JSON in some entries, and then read."""
    people = tables.frame(rng, watch.marks)
    domain = Domain(tables.SCHEMA)
    kind = rng.choice(["csv", "parquet", "moments", "release", "schema", "json"])
    path = folder / {"moments": "m.npz", "release": "r.json", "schema": "s.toml"}.get(kind, f"people.{kind}")
    reader: Callable[[], Any] = lambda: Moments.from_source(path, domain)  # noqa: E731
    if kind == "csv":
        people.to_csv(path, index=False)
    elif kind == "parquet":
        people.to_parquet(path, index=False)
    elif kind == "schema":
        domain.to_file(path) if hasattr(domain, "to_file") else path.write_text(_SCHEMA, encoding="utf-8")
        reader = lambda: Domain.from_file(path)  # noqa: E731
    else:
        moments = Moments.from_source(people, domain)
        if kind == "moments":
            moments.save(path)
            reader = lambda: Moments.load(path)  # noqa: E731
        else:
            release(moments, epsilon=1, delta=1e-6, random_state=1).save(path, simulation=True)
            reader = lambda: check_saved(load_saved(path))  # noqa: E731
    content = path.read_bytes()
    if kind == "json":
        content = _changed_json(content, rng)
    for _ in range(rng.choice([0, 1, 1, 5]) if kind == "json" else rng.choice([1, 1, 5])):
        content = _damaged(content, rng)
    path.write_bytes(content)
    watch.attempt(f"a damaged {kind} file", reader)


_SCHEMA = """[columns]
age = { low = 0, high = 100, unit = "year" }
region = ["north", "south", "west"]
income = { low = 0, high = 100 }
"""


def _damaged(content: bytes, rng: random.Random) -> bytes:
    at, end = rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)
    kind = rng.randrange(5)
    if kind == 0:
        return content[:at]
    if kind == 1:
        return content[:at] + rng.randbytes(rng.choice([1, 4, 100])) + content[at:]
    if kind == 2:
        return content[: min(at, end)] + content[max(at, end) :]
    if kind == 3:
        return (
            content[:at] + rng.choice([b"\x00", b"\n", b"\r\n", b'"', b",", b"\xff\xfe", b"[", b"1e999"]) + content[at:]
        )
    return content[:at] + rng.randbytes(1) + content[at + 1 :]


def _changed_json(content: bytes, rng: random.Random) -> bytes:
    body = json.loads(content)
    spot: Any = body
    while isinstance(spot, (dict, list)) and spot:
        key = rng.choice(list(spot)) if isinstance(spot, dict) else rng.randrange(len(spot))
        if not isinstance(spot[key], (dict, list)) or not spot[key] or rng.random() < 0.2:
            plain = [value for value in NASTY if isinstance(value, (str, int, float, list, type(None)))]
            spot[key] = rng.choice(
                [value for value in plain if value == value and value not in (float("inf"), -float("inf"))]
            )
            break
        spot = spot[key]
    with contextlib.suppress(ValueError, TypeError):
        body["sha256"] = digest(body)
    return json.dumps(body, default=str).encode()


# ---------------------------------------------------------------- the command line


def commands(rng: random.Random, watch: Watch, folder: Path) -> None:
    """A command with arguments that may be anything; its exit code is a known one, and it never gives up inside."""
    people = tables.frame(rng, watch.marks)
    people = tables.spoilt(people, rng, watch.marks) if rng.random() < 0.5 else people
    (folder / "s.toml").write_text(_SCHEMA, encoding="utf-8")
    try:
        people.to_csv(folder / "people.csv", index=False)
        people.to_parquet(folder / "people.parquet", index=False)
    except Exception:
        tables.frame(rng, watch.marks).to_csv(folder / "people.csv", index=False)
    arguments = _arguments(rng, folder)
    code, text = watch.attempt(f"discreet {' '.join(arguments)}", lambda: called(arguments)) or (None, "")
    watch.read(f"discreet {' '.join(arguments)}", text)
    if "internal error" in text or code not in (None, 0, 1, 2):
        watch.foreign.append(f"discreet {' '.join(arguments)}: exit code {code}: {text[-600:]}")
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("people.") and path.stat().st_size < 1 << 24:
            watch.read_bytes(f"{path.name} of discreet {' '.join(arguments)}", path.read_bytes())


def called(arguments: list[str]) -> tuple[int, str]:
    """The exit code of a command, and what it said."""
    from discreet import cli

    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["discreet", *arguments]),
        mock.patch.object(sys, "stdin", io.StringIO()),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        try:
            cli.main()
        except SystemExit as stop:
            return int(stop.code or 0), said.getvalue()
    return 0, said.getvalue()


def _arguments(rng: random.Random, folder: Path) -> list[str]:
    file = str(rng.choice([folder / "people.csv", folder / "people.parquet", folder / "s.toml", folder, "absent.csv"]))
    schema, out = ["--schema", str(folder / "s.toml")], ["--out", str(folder / "out.json")]
    formula = rng.choice(
        ["income ~ age", "income ~ age + C(region)", "income ~ log(age", "~", "income", "region ~ age"]
    )
    promise = [
        "--epsilon",
        rng.choice(["1", "0.1", "1000", "nan", "-1", "x"]),
        "--delta",
        rng.choice(["1e-6", "0", "2"]),
    ]
    command = rng.choice(
        [
            ["fit", file, formula, *schema, *promise, *out],
            ["fit", file, formula, *schema, *promise, "--json"],
            ["release", file, *schema, *promise, *out],
            ["plan", *schema, "--target", "income", "--rows", rng.choice(["500", "0", "x"]), *promise],
            ["schema", "init", file, *out],
            ["schema", "check", str(folder / "s.toml")],
            ["check", file],
            ["model", file, "--target", "income"],
            ["predict", file, file],
            ["compare", file, file],
            ["select", file],
            ["pdp", file, *schema],
            ["sign", file],
            ["methods"],
            ["ledger", rng.choice(["init", "show", "history", "verify", "x"]), str(folder / "ledger.db")],
        ]
    )
    options = ["--force", "--json", "--n-jobs", "--report", "--method", "--set", "--person", "--weights", "--neighbors",
               "--separator", "--missing", "--engine", "--table", "--model", "--help", "--rows"]  # fmt: skip
    values = [
        "1",
        "0",
        "-1",
        "nan",
        "x",
        "",
        "income",
        "age",
        "AdaSSP",
        "penalty=l1",
        "\x00",
        "a" * 999,
        "é",
        "--",
        ";",
    ]
    for _ in range(rng.choice([0, 0, 1, 2])):
        more = [rng.choice(options), rng.choice(values)][: rng.choice([1, 2, 2])]
        at = rng.randrange(1, len(command) + 1)
        command = [*command[:at], *more, *command[at:]]
    if rng.random() < 0.15:
        command.pop(rng.randrange(len(command)))
    return [text.replace("\x00", "\\0") for text in command]


PARTS: dict[str, Callable[[random.Random, Watch, Path], None]] = {
    "inputs": inputs,
    "parameters": parameters,
    "files": files,
    "commands": commands,
    "units": units,
    "expressions": expressions,
}
