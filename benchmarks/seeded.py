"""Digests of seeded summaries, release files and reports of every method, to compare before and after a change.

``python -m benchmarks.seeded`` prints and writes the digests of this checkout. With ``--before REV`` it also makes
them for an earlier revision, in the same run, and says whether all numbers of files are the same, values and noise
among them, and which words of files changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet
from benchmarks.common import at_revision

ROOT = Path(__file__).parents[1]
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
LINEAR = {
    "DPLinearRegression": [{}, {"narrow": False}, {"neighbors": "replace-one"}],
    "DPRidge": [{}, {"penalty": 0.1}],
    "DPLasso": [{}],
    "DPElasticNet": [{}],
    "AdaSSP": [{}, {"published": "wang2018"}, {"published": "piazza2021"}],
    "ConstSSP": [{"rows": 800}],
    "SSP": [{}, {"published": "wang2018"}],
    "ObjectivePerturbation": [{}, {"published": "wang2018"}],
    "AdaOPS": [{"rows": 800}, {"published": "wang2018"}, {"published": "wang2017", "variant": "kappa", "rows": 800}],
    "OPS": [{"rows": 800}, {"published": "wang2018", "rows": 800}, {"calibration": "pure", "delta": None, "rows": 800}],
    "OutputPerturbation": [{"rows": 800}],
    "NoisyGradientDescent": [{"rows": 800}],
    "NoisySGD": [{"rows": 800}],
    "SubsampleAggregate": [{"rows": 800}],
    "NAPP": [{}, {"published": "li2021", "alpha": 1.0}],
    "ReuseCov": [{}],
}
MARKS = {"wang2018": "000", "wang2017": "001", "li2021": "002", "piazza2021": "003"}
"""Papers as earlier revisions name them, and as digests are labelled, so that they compare."""

OTHERS = {
    "DPLogisticRegression": ("bought", [{}, {"penalty": "l1"}, {"adaptive": True}, {"noise": "laplace"}]),
    "DPLinearSVC": ("bought", [{}]),
    "DPPoissonRegression": ("visits", [{}]),
}


def people(rows: int = 800) -> tuple[pd.DataFrame, discreet.Domain]:
    """A made-up table and its public facts."""
    draw = np.random.default_rng(7)
    age, hours = draw.uniform(18, 90, rows), draw.uniform(0, 60, rows)
    sex = draw.choice(["F", "M"], rows)
    income = 500 * age + 900 * hours + 4000 * (sex == "M") + draw.normal(0, 9000, rows)
    bought, visits = income + draw.normal(0, 2e4, rows) > 5e4, draw.poisson(np.exp(age / 60))
    table = {"age": age, "hours": hours, "sex": sex, "income": income, "bought": bought, "visits": visits.astype(float)}
    domain = discreet.Domain(
        {
            "age": (18, 90),
            "hours": (0, 60),
            "sex": ["F", "M"],
            "income": (0, 150_000),
            "bought": bool,
            "visits": (0, 20),
        }
    )
    return pd.DataFrame(table), domain


def cases() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Methods, their outcomes and their options."""
    for name, options in LINEAR.items():
        yield from ((name, "income", chosen) for chosen in options)
    for name, (target, options) in OTHERS.items():
        yield from ((name, target, chosen) for chosen in options)


def digest(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def entries(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every entry of a document that is no list or object, with its path; # stands for places in lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from entries(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from entries(inner, f"{path}.#")
    else:
        yield path.lstrip("."), value


def of_file(place: Path) -> dict[str, Any]:
    """Digests of a file and of its numbers alone, released integers among them; and its words, by path."""
    body = {key: value for key, value in json.loads(place.read_text()).items() if key not in _ABOUT_FILES}
    held = list(entries({**body, "certificate": {k: v for k, v in body["certificate"].items() if k != "recipe"}}))
    numbers = [str(value) for path, value in held if not isinstance(value, str) or path.endswith("integers.#")]
    texts = {
        (path, value) for path, value in entries(body) if isinstance(value, str) and not path.endswith("integers.#")
    }
    return {"file": digest(place.read_bytes()), "numbers": digest(" ".join(numbers)), "words": sorted(texts)}


_ABOUT_FILES = ("sha256", "format_version")


def changed_words(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The words of files that one revision has and the other has not, each once."""
    found = {}
    for sign, one, other in (("-", before, now), ("+", now, before)):
        for case in one.keys() & other.keys():
            left = {tuple(pair) for pair in one[case].get("words", [])} - {
                tuple(pair) for pair in other[case].get("words", [])
            }
            found |= dict.fromkeys((path, sign, value) for path, value in left)
    return [f"{sign} {path}: {value}" for path, sign, value in sorted(found)]


def fitted(name: str, target: str, options: dict[str, Any]) -> dict[str, Any]:
    """Digests of one seeded fit: its summary, its file, its certificate and its report."""
    table, domain = people()
    if not (Path(discreet.__file__).parent / "core" / "citations.py").exists():  # an earlier revision
        options = {key: MARKS.get(value, value) for key, value in options.items()}
    model = getattr(discreet, name)(**PROMISE | {"domain": domain, "random_state": 11} | options)
    model.fit_source(table, [target, "visits"] if name == "ReuseCov" else target, ["age", "hours", "sex"])
    found: dict[str, Any] = {
        "summary": digest(str(model.results_.summary())),
        "certificate": digest(json.dumps(model.certificate_.to_dict())),
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "file.json"
        model.release_.save(place, simulation=True)
        found |= of_file(place)
        if hasattr(model.results_, "save_report") and not getattr(model.results_, "several", False):
            model.results_.save_report(Path(folder) / "page.html")
            found["report"] = digest((Path(folder) / "page.html").read_bytes())
    return found


def released() -> dict[str, Any]:
    """Digests of what is fitted to one seeded release."""
    table, domain = people()
    moments = discreet.Moments.from_source(table, domain)
    public = discreet.release(moments, **PROMISE, random_state=5)
    features = ["age", "hours", "sex"]
    models = {
        m: public.fit("income", features, model=m) for m in ("noise-aware", "ridge", "lasso", "elastic-net", "ols")
    }
    found: dict[str, Any] = {f"model {name}": digest(str(model.summary())) for name, model in models.items()}
    found["formula"] = digest(str(public.fit("income ~ age + sex").summary()))
    found["many"] = digest(str(public.fit_many(["income", "visits"], features).summary()))
    found["select"] = digest(str(public.select("income", features).summary()))
    found["compare"] = digest(str(discreet.compare(models["ridge"], models["ols"]).summary()))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "file.json"
        public.save(place, simulation=True)
        found |= of_file(place)
        found["pdp"] = digest(np.asarray(discreet.per_instance.losses(table, public).epsilon()).tobytes())
    return found


def digests() -> dict[str, dict[str, Any]]:
    """Digests by case; a case that cannot be run has the kind and the words of its error."""
    warnings.simplefilter("ignore")
    found = {"release": released()}
    for name, target, options in cases():
        label = " ".join([name, *(f"{key}={MARKS.get(value, value)}" for key, value in options.items())])
        try:
            found[label] = fitted(name, target, options)
        except discreet.DiscreetError as error:
            found[label] = {"error": type(error).__name__}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="REV", help="compare with this revision")
    parser.add_argument("--print", action="store_true", help="print JSON only")
    asked = parser.parse_args()
    now = digests()
    if asked.print:
        print(json.dumps(now))
        return 0
    before = at_revision(__file__, asked.before) if asked.before else now
    words = changed_words(before, now)
    compared = {case: {what: value for what, value in parts.items() if what != "words"} for case, parts in now.items()}
    differ = [
        (case, what) for case, parts in compared.items() for what in parts if before[case].get(what) != parts[what]
    ]
    for case, parts in compared.items():
        print(f"{case:45} " + "  ".join(f"{what} {value[:10]}" for what, value in parts.items()))
    if asked.before:
        numbers, count = (
            [what for _, what in differ].count("numbers"),
            sum("numbers" in parts for parts in compared.values()),
        )
        total = sum(map(len, compared.values()))
        print(f"\nNumbers of {count - numbers} of {count} files, values and noise, are the same at {asked.before}.")
        print(f"{total - len(differ)} of {total} digests of files, summaries, certificates and reports are the same.")
        print("\n".join(["Words that changed in files:", *words]))
    place = ROOT / "benchmarks/results/seeded.json"
    told = (
        json.loads(place.read_text()) | {"digests": compared} | ({"words that changed": words} if asked.before else {})
    )
    place.write_text(json.dumps(told, indent=1) + "\n")
    return int(any(what == "numbers" for _, what in differ))


if __name__ == "__main__":
    sys.exit(main())
