"""Saved documents with nonsense inside and a fitting digest: only our own errors come out, now or later.

Each document is changed in one place or in several: an entry goes, gets another kind of value, an extreme one, or that
of another entry; a list is torn, turned or doubled. The same changes each time. For more of them, and other ones::

    DISCREET_MUTATIONS=100000 DISCREET_MUTATION_SEED=7 DISCREET_MUTATION_READS=1 pytest tests/results/test_mutations.py
"""

import contextlib
import copy
import json
import os
import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import staged
from small_table import people

from discreet import (
    OPS,
    AdaOPS,
    Domain,
    DPLogisticRegression,
    DPPoissonRegression,
    Moments,
    NoisyGradientDescent,
    NoisySGD,
    OutputPerturbation,
    PrivateMoments,
    Results,
    ReuseCov,
    SubsampleAggregate,
    release,
)
from discreet.core.files import digest
from discreet.errors import DiscreetError, FileFormatError
from discreet.planning import plan
from discreet.results.saved import check_saved, load_saved

DATA = Path(__file__).parents[1] / "files"
TOTAL = int(os.environ.get("DISCREET_MUTATIONS", "12000"))
SEED = int(os.environ.get("DISCREET_MUTATION_SEED", "1"))
READ_EVERY = int(os.environ.get("DISCREET_MUTATION_READS", "10"))
"""Every tenth of what loads is read in full."""

SCHEMA = {"age": {"low": 18, "high": 90, "unit": "year"}, "region": ["north", "south", "west"], "income": (0, 200_000)}
VALUES = [
    None, True, False, "", "x", "(intercept)", "age", "income", -1, 0, 1, 2, 0.5, -0.5, 1e-320, 1e308, -1e308, 10**400,
    -(10**400), 10**18, 2**63, "1" * 5000, "y" * 3000, "\x1b[31m\x00\r\n", "\ud800", [], [[]], [[1, 2], [3]], {},
    {"a": 1}, [None], ["age", "age"], [[[[[1]]]]], {"not released": 3}, {"not released": "y'y"}, [1e308] * 4,
]  # fmt: skip


def array_model(estimator, options):
    """A model of plain arrays."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 2))
    y = X @ [0.4, -0.3] + rng.normal(0, 0.2, 60)
    if "classes" in options:
        y = np.digitize(y, [-0.2, 0.2])
    elif "bounds_y" in options:
        y = np.clip(np.rint(2 + 2 * y), 0, 4)
    else:
        options = options | {"bounds_y": (-1, 1)}
    given = {"epsilon": 1.0, "delta": 1e-5, "bounds_X": (-1, 1), "rows": 64, "n_jobs": 1, "random_state": 1}
    return estimator(**given | options).fit(X, y)


MODELS = {
    "OPS": (OPS, {}),
    "OPS in a ball": (OPS, {"calibration": "pure", "delta": None}),
    "AdaOPS": (AdaOPS, {}),
    "AdaOPS published": (AdaOPS, {"published": "wang2018"}),
    "output": (OutputPerturbation, {"shape": "fisher"}),
    "descent": (NoisyGradientDescent, {"steps": 3}),
    "batches": (NoisySGD, {"steps": 2}),
    "blocks": (SubsampleAggregate, {}),
    "logistic": (DPLogisticRegression, {"classes": [0, 1, 2], "adaptive": True}),
    "Poisson": (DPPoissonRegression, {"bounds_y": (0, 4)}),
}


@cache
def public():
    return release(Moments.from_source(people(300), Domain(SCHEMA)), epsilon=20, delta=1e-6, random_state=1)


def many(**options):
    model = ReuseCov(delta=1e-6, domain=Domain(SCHEMA | {"hours": (0, 80)}), random_state=1, **options)
    return model.fit_source(people(300), ["income", "hours"], ["age"])


def planned():
    facts = Domain({"age": (18, 90), "income": (0, 9)}), "income"
    return plan(*facts, rows=500, epsilon=[1.0], delta=1e-6, r_squared=0.3, methods=["SSP"], draws=2).to_dict()


DOCUMENTS = {
    "release": lambda: public()._document(),
    "sampled": lambda: many(epsilon=1, subsample=0.5).release_._document(),
    "staged": lambda: staged.released(people(300), random_state=1, epsilon=20)._document(),
    "results": lambda: public().fit("income", ["age", "region"])._document(),
    "many results": lambda: many(epsilon=50).results_._document(),
    "plan": lambda: planned() | {"format_version": 1},
    **{path.name: lambda path=path: json.loads(path.read_text()) for path in sorted(DATA.glob("v1.*.re*.json"))},
    **{name: lambda model=model: array_model(*model).release_._document() for name, model in MODELS.items()},
}
"""Bodies of documents of each kind; all noise is from seeds."""


# -------------------------------------------------------------------- changes


def places(value, path=()):
    """The path of every entry of a body."""
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        found += places(inner, (*path, key))
    return found


def at(body, path):
    for key in path:
        body = body[key]
    return body


def rotated(value, rng):
    """A list that is torn, doubled, turned, shuffled or made ragged; of other values, one of `VALUES`."""
    if not isinstance(value, list) or not value:
        return copy.deepcopy(rng.choice(VALUES))
    changes = [
        lambda: value[:-1],
        lambda: value + value,
        lambda: [*value, copy.deepcopy(value[0])],
        lambda: value[::-1],
        lambda: [value],
        lambda: [[entry] for entry in value],
        lambda: [list(row) for row in zip(*value, strict=False)] if isinstance(value[0], list) else value[1:],
        lambda: [value[0][:-1] if isinstance(value[0], list | str) else value[0], *value[1:], None],
    ]
    return rng.choice(changes)()


def mutated(body, rng):
    """The body with one to three changes."""
    body = copy.deepcopy(body)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        paths = places(body)
        path = rng.choice(paths)
        parent, key = at(body, path[:-1]), path[-1]
        kind = rng.randrange(8)
        if kind == 0:
            del parent[key]
        elif kind == 1:
            parent[key] = copy.deepcopy(at(body, rng.choice(paths)))
        elif kind == 2:
            parent[key] = rotated(parent[key], rng)
        elif kind == 3 and isinstance(parent, dict):
            parent[rng.choice(["x", "", "age", "\x00"])] = parent.pop(key)
        elif kind == 4 and isinstance(parent[key], int | float):
            scaled = min(max(parent[key], -1e308), 1e308) * rng.choice([-1, 0, 1e-300, 1e-9, 1 + 1e-9, 2, 1e9, 1e150])
            parent[key] = min(max(scaled, -1e308), 1e308)
        else:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
    return body


def written(path, body):
    """Write a body with a digest that fits, whatever it holds."""
    path.write_text(json.dumps(body | {"sha256": digest(body)}))


# -------------------------------------------------------------------- readers


def read(saved, tmp_path):
    """All that people do with what they loaded; whatever is wrong is told by our own errors."""
    names = getattr(saved, "names", ())
    tries = [
        lambda: check_saved(saved),
        saved.certificate.words,
        lambda: repr(saved),
        lambda: str(saved),
        lambda: saved.save(tmp_path / "again.json"),
    ]
    if isinstance(saved, PrivateMoments):
        tries += [
            lambda: saved.fit("income"),
            lambda: saved.fit("income", ["age"], model="ridge"),
            lambda: saved.fit_many(),
        ]
        tries += [lambda: saved.fit("income", ["age"]).summary()]
    else:
        tries += [saved.summary, saved.to_dict, lambda: saved._repr_html_()]
    if isinstance(saved, Results):
        tries += [
            lambda: saved.predict(np.zeros((2, len(names)))),
            lambda: saved.conf_int(0.9),
            lambda: saved.to_frame(),
        ]
    if isinstance(saved, Results) and names:
        tries.append(lambda: saved.wald_test(list(names)[:1]))
    if isinstance(saved, Results):
        X = np.zeros((2, len(names)))
        tries += [saved.to_json, saved.ratios, saved.selection, saved.marginal_effects, lambda: saved.dispersion]
        tries += [lambda: saved.predictions(X), lambda: saved.predict_interval(X, of="mean")]
    for attempt in tries:
        with contextlib.suppress(DiscreetError):
            attempt()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_but_our_own_errors(name, tmp_path):
    body, rng, path = DOCUMENTS[name](), random.Random(f"{SEED} {name}"), tmp_path / "document.json"
    written(path, body)
    if name != "plan":  # the test would be empty if nothing could be read
        read(load_saved(path), tmp_path)
    loaded, told = 0, set()
    for _ in range(TOTAL // len(DOCUMENTS) + 1):
        written(path, mutated(body, rng))
        try:
            saved = load_saved(path)
        except FileFormatError as error:
            told.add("document.json" in str(error))
            continue
        loaded += 1
        if loaded % READ_EVERY == 0:
            read(saved, tmp_path)
    assert told == {True}
    assert (loaded > 0) == (name != "plan")
