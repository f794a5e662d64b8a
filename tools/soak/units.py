"""Trials of unusual units of privacy, at every entry point: a certificate must name the declared unit.

Persons have keys of mixed kinds, missing ones and thousands of rows; weights are negative, infinite, missing or beyond
their bound. A release with another unit than the domain's counts as a failure.
"""

from __future__ import annotations

import decimal
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discreet import Budget, Domain, Moments, plan, release
from discreet.domain.schema import filled_schema
from discreet.domain.unit import MOST_ROWS
from discreet.mechanisms.registry import METHODS
from discreet.planning.synthetic import synthetic
from discreet.results.saved import load_saved
from tools.soak import tables
from tools.soak.watch import Watch

TERMS = (
    "age",
    "score",
    "region",
    "smoker",
    "age:score",
    "I(age^2)",
    "exp(score)",
    'C(region, Treatment("west"))',
    "who",
    "w",
)
ROLES = ("who", "w")


def units(rng: random.Random, watch: Watch, folder: Path) -> None:
    """A way in is tried with a table whose persons and weights are odd."""
    people = _counted(tables.frame(rng, watch.marks), rng, watch)
    domain = watch.attempt("domain", lambda: _domain(rng))
    if domain is None:
        return
    watch.read("repr of a domain", repr(domain))
    if domain.unit.person is not None and domain.unit.person not in repr(domain):
        watch.foreign.append("the repr of a domain does not name the unit")
    method = rng.choice(METHODS if rng.random() < 0.3 else METHODS[:8]).estimator
    text = "income ~ " + " + ".join(rng.sample(TERMS, rng.choice([1, 1, 2, 3]))) + rng.choice(["", "", " - 1"])
    model = method(epsilon=rng.choice([0.1, 1.0, 50.0]), delta=1e-6, rows=500, domain=domain)
    way = rng.choice(list(WAYS))
    with Budget(epsilon=1e4, delta=0.5, adding=True) as budget:
        found = watch.attempt(f"{way} of {method.__name__}", lambda: WAYS[way](model, people, text, rng, folder))
    if found is None:
        if budget.others_left != (1e4, 0.5) and way not in ("a command", "a service"):
            watch.foreign.append(f"{way} of {method.__name__} was refused after it was paid for")
        return
    for certificate in found:
        if certificate.domain.unit != domain.unit:
            watch.foreign.append(f"{way} of {method.__name__}: {certificate.domain.unit} of {domain.unit}")
        watch.read(f"words of {way}", certificate.words())


def _domain(rng: random.Random) -> Domain:
    unit: dict[str, Any] = {}
    if rng.random() < 0.85:
        rows = rng.choice([1, 2, 7, 100, MOST_ROWS] if rng.random() < 0.95 else [0, 2.0, MOST_ROWS + 1, math.nan])
        unit |= {"person": "who", "rows_per_person": rows}
    if rng.random() < 0.6 or not unit:
        bound = rng.choice([1.0, 4, 1e-6, 1e6] if rng.random() < 0.95 else [1e-300, 1e300, 0, math.inf, math.nan])
        unit |= {"weights": "w", "largest_weight": bound}
    return Domain(tables.SCHEMA, missing=rng.choice(["error", "drop", "drop"]), **unit)


def _counted(people: pd.DataFrame, rng: random.Random, watch: Watch) -> pd.DataFrame:
    """The people with persons and weights; one has the marks for a name and for a weight."""
    n, marks = len(people), watch.marks
    kinds: dict[str, list[Any]] = {
        "whole numbers": list(range(40)),
        "text": [f"p{i}" for i in range(40)],
        "mixed": [1, "1", 1.0, decimal.Decimal("1.00"), True, "1.0", "a", "A", "á", marks.word],
        "missing": [None, "a", "b", math.nan, ""],
        "numbers": [1.5, 2.0, math.nan, math.inf, -0.0, 0.0],
        "odd": [b"x", (1, 2), 2**70, "\x00", "\ud800", marks.word],
        "one": ["the only one"],
    }
    keys = rng.choice([*kinds.values(), kinds["whole numbers"], kinds["text"], kinds["text"]])
    who = rng.choices(keys, [8.0, *[1.0] * (len(keys) - 1)], k=n)
    draw = np.random.default_rng(rng.randrange(2**32))
    weights: list[Any] = list(draw.uniform(0, rng.choice([1.0, 4.0, 1e-3, 1e9]), n))
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        odd = [-1.0, math.nan, math.inf, -math.inf, 1e308, 5e-324, None, "x", "2", True, marks.numbers[2], 2**70]
        weights[rng.randrange(n)] = rng.choice(odd)
    if rng.random() < 0.3:
        who[rng.randrange(n)] = marks.word
    columns = {"who": pd.Series(who), "w": pd.Series(weights)}
    return people.assign(**{name: columns[name] for name in ROLES if rng.random() < 0.97})


# ---------------------------------------------------------------- ways in; each gives the certificates that come of it


def _fit(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    return [model.fit(people.drop(columns="income"), people["income"]).certificate_]


def _beside(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    X = people[tables.FEATURES]
    given = {"person": people.get("who"), "sample_weight": people.get("w")}
    return [model.fit(X, people["income"], **{k: v for k, v in given.items() if v is not None}).certificate_]


def _source(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    return [model.fit_source(tables.offered(people, rng, folder), "income").certificate_]


def _formula(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    return [model.fit_formula(text, tables.offered(people, rng, folder)).certificate_]


def _moments(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    moments = Moments.from_source(tables.offered(people, rng, folder), model.domain)
    if hasattr(model, "fit_moments") and rng.random() < 0.5:
        return [model.fit_moments(moments, "income").certificate_]
    return [release(moments, epsilon=1, delta=1e-6).certificate]


def _release(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    asked = rng.choice([{}, {"targets": ["income"]}, {"models": [text]}, {"models": [text, "income ~ age"]}])
    released = release(tables.offered(people, rng, folder), domain=model.domain, epsilon=1, delta=1e-6, **asked)
    text = text if "models" in asked else "income ~ age"
    return [released.certificate, *([released.fit(text).certificate] if rng.random() < 0.5 else [])]


def _dask(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    import dask.dataframe as frames

    try:
        source = frames.from_pandas(people, npartitions=3, sort=False)
        source.compute()
    except Exception:  # Dask's own: it cannot hold such keys
        source = people
    return [model.fit_formula(text, source).certificate_]


def _plan(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    found = plan(model.domain, text, rows=500, epsilon=[1], draws=2, methods=["SSP"], tighter=False)
    return [_Named(found.facts.domain)]


def _command(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    from tools.soak.parts import called

    (folder / "s.toml").write_text(filled_schema(model.domain.to_dict()), encoding="utf-8")
    try:
        people.to_parquet(folder / "people.parquet")
        data = "people.parquet"
    except Exception:  # Arrow's own: it cannot hold such keys
        people.to_csv(folder / "people.csv", errors="replace")
        data = "people.csv"
    asked = ["--formula", text] if rng.random() < 0.7 else ["--target", "income"]
    command = rng.choice(["fit", "release"])
    asked = ["--targets", "income"] if command == "release" and asked[0] == "--target" else asked
    given = [command, data, "--schema", "s.toml", *asked, "--epsilon", "1", "--delta", "1e-6", "--out", "out.json"]
    code, said = called(given)
    if code not in (0, 2) or "internal error" in said:
        raise RuntimeError(f"discreet {' '.join(given)}: exit code {code}: {said[-600:]}")
    return [load_saved(folder / "out.json").certificate] if code == 0 else []


def _service(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    from discreet.ledger import Ledger
    from discreet.service.core import Service
    from discreet.service.requests import FitRequest
    from discreet.service.settings import Settings
    from discreet.service.steps import load_release

    (folder / "s.toml").write_text(filled_schema(model.domain.to_dict()), encoding="utf-8")
    people.to_csv(folder / "people.csv", errors="replace", index=False)
    (folder / "service.toml").write_text(_CONFIG, encoding="utf-8")
    Ledger.create(folder / "people.ledger").open("town", epsilon=100, delta=1e-3)
    service = Service(Settings.from_file(folder / "service.toml"))
    service.catalogue.check("people", "soak")
    known = service.people.of_key(service.people.new_key("ada", "analyst", "soak"))
    assert known is not None
    job, _ = service.submit(known[0], FitRequest(table="people", formula=text, epsilon=1.0))
    while (taken := service.jobs.claim("soak")) is not None:
        service.work.do(taken)
    content = service.jobs.file(job.id, "release.json")
    return [] if content is None else [load_release(content).certificate]


_CONFIG = """\
[service]
step = 0.01

[tables.people]
data = "people.csv"
schema = "s.toml"
account = "town"
rows = 500
delta = 1e-6
"""


class _Named:
    """What a plan says of the unit, as a certificate does."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def words(self) -> str:
        return self.domain.unit.short


def _made_up(model: Any, people: Any, text: str, rng: random.Random, folder: Path) -> list[Any]:
    table = synthetic(model.domain, 200, seed=rng.randrange(99))
    return [release(table, domain=model.domain, models=[text], epsilon=1, delta=1e-6).certificate]


WAYS: dict[str, Callable[[Any, Any, str, random.Random, Path], list[Any]]] = {
    "fit": _fit,
    "fit, beside X": _beside,
    "fit_source": _source,
    "fit_formula": _formula,
    "moments": _moments,
    "release": _release,
    "Dask": _dask,
    "plan": _plan,
    "a command": _command,
    "a service": _service,
    "a made-up table": _made_up,
}
