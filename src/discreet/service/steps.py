"""Steps of a request before any row is read: formulas, plans, trials on made-up rows, models of releases.

Each step takes public facts alone. It runs in a process of its own with limits of time and memory (`limited.py`), for
formulas come from people who are not trusted with the computer that reads them.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from discreet.core.checks import Neighbors
from discreet.core.scratch import Scratch
from discreet.core.threads import one_thread
from discreet.domain import Domain
from discreet.domain.formula import Model
from discreet.domain.formula import released as released_formula
from discreet.domain.models import joined, read_models
from discreet.drivers.release import release as release_table
from discreet.errors import DiscreetError, DiscreetWarning, ParameterError
from discreet.planning import plan as make_plan
from discreet.planning.guesses import guesses
from discreet.planning.synthetic import synthetic
from discreet.results.private_moments import PrivateMoments
from discreet.results.report import report
from discreet.service.requests import FitRequest, PlanRequest, ReleaseRequest, TrialRequest, estimator_of, read

MADE_UP_ROWS = 1000
"""Number of made-up rows that a request is tried on."""


@dataclass(frozen=True)
class PublicTable:
    """The public facts of a table: its domain, about how many rows it has, and the delta of its releases."""

    domain: Domain
    rows: int
    delta: float

    @cached_property
    def made_up(self) -> Any:
        """Made-up rows."""
        return synthetic(self.domain, MADE_UP_ROWS)

    def plan(self, asked: PlanRequest) -> dict[str, str]:
        """Predict the accuracy of a model."""
        public: dict[str, Any] = {"rows": self.rows, "delta": self.delta}
        guessed: dict[str, Any] = {"r_squared": asked.r_squared, "about": guesses(asked.about)}
        asked_for: dict[str, Any] = {
            "epsilon": [asked.epsilon / 2, asked.epsilon, 2 * asked.epsilon],
            "methods": [asked.method],
        }
        found = make_plan(
            self.domain, asked.formula, draws=6, tighter=False, **public, **guessed, **asked_for
        )  # other bounds are not the analyst's to choose
        told = [_table(found.summary()), _table(found.coefficients())]
        return {"plan.json": found.to_json(), "tables.json": json.dumps(told)}

    def tried(self, asked: TrialRequest) -> dict[str, str]:
        """Fit a model to made-up rows."""
        model = self.estimator(asked, "add-remove", 0).fit_formula(asked.formula, self.made_up)
        released = model.release_ if isinstance(model.release_, PrivateMoments) else None
        return {"report.html": report(model.results_, released), "results.json": dumped(model.results_.to_dict())}

    def rehearsed(self, asked: FitRequest | ReleaseRequest, neighbors: Neighbors) -> dict[str, str]:
        """Run a paid request on made-up rows, and discard the result."""
        if isinstance(asked, FitRequest):
            self.estimator(asked, neighbors, 0).fit_formula(asked.formula, self.made_up)
        else:
            self.release(asked, neighbors, self.made_up, random_state=0)
        return {}

    def estimator(self, asked: FitRequest | TrialRequest, neighbors: Neighbors, random_state: int | None = None) -> Any:
        """Return the estimator of a request."""
        promise: dict[str, Any] = {"epsilon": asked.epsilon, "delta": self.delta, "rows": self.rows}
        promise |= {"neighbors": neighbors, "fit_intercept": self.domain.intercept, "random_state": random_state}
        return estimator_of(asked)(**promise, domain=self.domain, n_jobs=1)

    def release(
        self, asked: ReleaseRequest, neighbors: Neighbors, source: Any, random_state: int | None = None
    ) -> PrivateMoments:
        """Make the release of a request."""
        promise: dict[str, Any] = {"epsilon": asked.epsilon, "delta": self.delta, "rows": self.rows}
        promise |= {"neighbors": neighbors, "random_state": random_state}
        return release_table(source, domain=self.domain, models=asked.formulas, n_jobs=1, **promise)


def load_release(content: str) -> PrivateMoments:
    """Load a release from its document."""
    with Scratch() as folder:
        path = folder / "release.json"
        path.write_text(content, encoding="utf-8")
        return PrivateMoments.load(path)


def saved(what: Any) -> str:
    """Return the document of a release or a model."""
    with Scratch() as folder:
        path = folder / "saved.json"
        what.save(path)
        return path.read_text(encoding="utf-8")


def model_files(fitted: Any, released: PrivateMoments | None) -> dict[str, str]:
    """Return the files of a model: its document, its report and its certificate."""
    return {
        "results.json": saved(fitted),
        "report.html": report(fitted, released),
        "certificate.json": dumped(fitted.certificate.to_dict()),
    }


def dumped(facts: Any) -> str:
    """Return facts as JSON text."""
    return json.dumps(facts, indent=1, allow_nan=False)


def _table(read: Any) -> dict[str, Any]:
    return {"title": read.title, "columns": list(read.columns), "rows": [list(row) for row in read.rows]} | {
        "notes": list(read.notes)
    }


# ---------------------------------------------------------------- the steps, by their names in messages


@lru_cache(maxsize=64)
def _domain(document: str) -> Domain:
    return Domain.from_dict(json.loads(document))


@lru_cache(maxsize=256)
def _release(document: str) -> PrivateMoments:
    return load_release(document)


@lru_cache(maxsize=64)
def _public(document: str, rows: int, delta: float) -> PublicTable:
    return PublicTable(_domain(document), rows, delta)


def _read(given: Mapping[str, Any]) -> None:
    """Refuse formulas that a domain does not allow, or that have too many coefficients."""
    domain, most, found = _domain(given["domain"]), given["most"], []
    many = ParameterError(f"A model of this table may have at most {most} coefficients.")
    for text, model in zip(given["formulas"], read_models(domain, given["formulas"]), strict=True):
        if model.target is None:
            raise ParameterError(f"{text}: name the outcome left of '~'.")
        if _coefficients(model, classes=given["classes"]) > most:
            raise many
        found.append(model)
    if len(joined(domain, found)[0].entries) > most:
        raise many


def _coefficients(model: Model, *, classes: bool) -> int:
    """Return a bound on the coefficients of a model; refuse several levels as the outcome, but of a classifier."""
    target, size = model.target or "", len(model.domain.entries)
    column = model.domain.columns.get(target)
    if classes and column is not None and (m := len(column.levels)) > 2:
        return (size - m) * m
    model.domain.target(target)
    return size


def _serves(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the columns of those releases that hold what a model needs, with the unit of privacy of the table."""
    unit, found = _domain(given["domain"]).unit, {}
    for name, document in given["releases"].items():
        released = _release(document)
        if released.domain.unit == unit and _holds(released, given["formula"]):
            found[name] = [*released.domain.columns]
    return found


def _holds(released: PrivateMoments, text: str) -> bool:
    """Whether a release holds what the model of a formula needs."""
    try:
        asked = released_formula(text, released.domain)
        released.equations(asked.target or "", asked.features)
    except DiscreetError:
        return False
    return True


def _asked(given: Mapping[str, Any]) -> tuple[PublicTable, Any]:
    return _public(given["domain"], given["rows"], given["delta"]), read(given["asked"])


def _model(given: Mapping[str, Any]) -> dict[str, str]:
    """Fit a model to an existing release."""
    released, asked = _release(given["release"]), read(given["asked"])
    return model_files(released.fit(asked.formula, model=asked.model), released)


def _planned(given: Mapping[str, Any]) -> dict[str, str]:
    table, asked = _asked(given)
    return table.plan(asked)


def _tried(given: Mapping[str, Any]) -> dict[str, str]:
    table, asked = _asked(given)
    return table.tried(asked)


def _rehearsed(given: Mapping[str, Any]) -> dict[str, str]:
    table, asked = _asked(given)
    return table.rehearsed(asked, given["neighbors"])


STEPS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "read": _read, "serves": _serves, "model": _model, "plan": _planned, "try": _tried, "rehearse": _rehearsed,
}  # fmt: skip


def answer(message: Mapping[str, Any]) -> dict[str, Any]:
    """Take a step, and return what came of it; no error leaves this function."""
    try:
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore", DiscreetWarning)
            return {"done": STEPS[message["step"]](message["given"])}
    except DiscreetError as error:
        return {"refused": list(error.args)}
    except MemoryError:
        return {"too_large": True}
    except Exception as error:
        return {"broken": type(error).__name__}


def main() -> None:
    """Run as ``python -m discreet.service.steps MEGABYTES``: one message a line, one answer a line."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # nothing else is written between the answers
        _limit_memory(int(sys.argv[1]))
        answers.write("ready\n")
        answers.flush()
        documents: dict[str, str] = {}
        for line in sys.stdin:
            message = json.loads(line)
            documents |= message["documents"]
            answers.write(json.dumps(answer(_filled(message, documents))) + "\n")
            answers.flush()


def _filled(message: dict[str, Any], documents: Mapping[str, str]) -> dict[str, Any]:
    """Put documents, which are sent once, in the places of their digests."""
    given = dict(message["given"])
    for name in ("domain", "release"):
        if name in given:
            given[name] = documents[given[name]]
    given |= {"releases": {id_: documents[mark] for id_, mark in given.get("releases", {}).items()}}
    return message | {"given": given}


def _limit_memory(megabytes: int) -> None:
    """Limit the memory that this process may take besides what its programs take."""
    try:
        import resource
    except ImportError:  # Windows
        return
    if not Path("/proc/self/statm").exists():  # macOS does not hold programs to this limit
        return
    now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + megabytes * 2**20, now + megabytes * 2**20))


if __name__ == "__main__":
    main()
