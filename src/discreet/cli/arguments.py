"""Arguments and options that several commands share."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.data.sources.paths import is_data_file
from discreet.domain import Domain
from discreet.domain.formula import Model, formula
from discreet.errors import ParameterError
from discreet.ledger.accounts import Account, Ledger
from discreet.ledger.blocks import asked
from discreet.ledger.charging import ACCOUNT, LEDGER, PURPOSE
from discreet.results.private_moments import PrivateMoments
from discreet.results.results import Results
from discreet.results.saved import load_saved

Data = Annotated[Path, typer.Argument(help="Parquet, CSV or Excel file, or a folder of them.", show_default=False)]
SchemaOption = Annotated[Path, typer.Option("--schema", help="TOML or JSON schema.", show_default=False)]
Epsilon = Annotated[float, typer.Option(help="Privacy loss; 0.1 is strong, 1 is usual.", show_default=False)]
Delta = Annotated[float | None, typer.Option(help="Failure probability; 1/rows^2 when --rows is given.")]
Rows = Annotated[int | None, typer.Option(help="Public, rounded number of rows, declared by you.")]
Features = Annotated[str | None, typer.Option(help="Columns, separated by commas; all but the outcome by default.")]
Relation = Annotated[str, typer.Option("--neighbors", help="add-remove or replace-one.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where to save the release.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Jobs = Annotated[int | None, typer.Option("--n-jobs", help="Threads; all cores by default.")]
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", help="Where sums are computed, with the same bits: cpu or cuda by PyTorch, or auto."),
]
Target = Annotated[str | None, typer.Option(help="The outcome, unless a formula names it.", show_default=False)]
Targets = Annotated[
    str | None,
    typer.Option("--target", help="The outcome, unless a formula names it; several, separated by commas."),
]
Formula = Annotated[
    str | None, typer.Option(help="Instead: 'income ~ age + region + log(wealth)'; see docs/howto/formulas.md.")
]
ReleaseFile = Annotated[Path, typer.Argument(help="A release file.", show_default=False)]
Report = Annotated[Path | None, typer.Option("--report", help="Where to write a report: one HTML page.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter of the method, as alpha=0.1; may be repeated.")
]
LedgerPlace = Annotated[
    str,
    typer.Argument(envvar=LEDGER, help="A ledger: a file, or postgresql://HOST/NAME.", show_default=False),
]
LedgerOption = Annotated[
    str | None, typer.Option("--ledger", envvar=LEDGER, help="The ledger that counts: a file, or postgresql://...")
]
AccountOption = Annotated[
    str | None, typer.Option("--account", envvar=ACCOUNT, help="Its account, where it has several: clinic/visits.")
]
Purpose = Annotated[str, typer.Option("--purpose", envvar=PURPOSE, help="Why; it stands in the ledger.")]
Request = Annotated[
    str | None, typer.Option("--request", help="A name for this release: asked for again, it is not paid for again.")
]
ModelName = Annotated[str, typer.Option("--model", help="noise-aware, ridge, lasso, elastic-net or ols.")]


@contextlib.contextmanager
def counted(
    place: str | None, account: str | None, purpose: str, request: str | None, formula: str | None
) -> Iterator[Account | None]:
    """Charge the releases of the block to an account, if a ledger is named."""
    if place is None and (account or request):
        raise ParameterError("--account and --request need --ledger, the ledger that counts.")
    with asked(formula):
        if place is None:
            yield None
            return
        with Ledger(place).account(account, purpose=purpose, request=request) as charged:
            yield charged


def split(names: str | None) -> list[str]:
    """Split names at commas outside of parentheses and brackets.

    Examples
    --------
    >>> split("age, sex, poly(age, 2)[1]")
    ['age', 'sex', 'poly(age, 2)[1]']
    """
    deep, parts = 0, [""]
    for letter in names or "":
        deep = max(deep + (letter in "([") - (letter in ")]"), 0)
        if letter == "," and deep == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [name.strip() for name in parts if name.strip()]


def method_settings(given: list[str] | None, estimator: type[Any]) -> dict[str, Any]:
    """Parse parameters of a method from texts such as ``alpha=0.1``; only those that have no option of their own.

    Members of a group of parameters are named without their group.

    Examples
    --------
    >>> from discreet import DPLogisticRegression
    >>> method_settings(["penalty=l1", "adaptive=True"], DPLogisticRegression)
    {'penalty': 'l1', 'adaptive': True}
    """
    named = {field.name for field in fields(estimator)} - COMMON - estimator.groups.keys()
    own = named | estimator.members().keys()
    found: dict[str, Any] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or name not in own | estimator.renamed.keys():
            raise ParameterError(f"--set {text}: give NAME=VALUE with a NAME among {', '.join(sorted(own)) or 'none'}.")
        found[name] = _value(name, value)
    grouped: dict[str, Any] = estimator.grouped(found)
    return grouped


def _value(name: str, text: str) -> Any:
    """Parse a number, a truth value, None or a list as Python writes it; return anything else as text."""
    if len(text) > LONGEST:
        raise ParameterError(f"--set {name}: its value is longer than {LONGEST:,} characters.")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    except (RecursionError, MemoryError):
        raise ParameterError(f"--set {name}: its value is nested too deeply.") from None


COMMON = {
    "epsilon", "delta", "domain", "bounds_X", "bounds_y", "data_norm", "fit_intercept", "rows", "neighbors",
    "published", "rows_per_person", "largest_weight", "n_jobs", "device", "random_state", "classes",
}  # fmt: skip
"""Parameters that have options of their own, or that do not apply to files."""


LONGEST = 4000
"""Maximum number of characters of a value on the command line."""


def stem(data: Path) -> str:
    """Return the name of a file or folder without its ending.

    Examples
    --------
    >>> stem(Path("folder/people.csv.gz"))
    'people'
    """
    return data.stem.removesuffix(".csv")


def chosen(domain: Domain, target: str | None, features: list[str], text: str | None) -> Model:
    """Return the columns, the outcome and the features that options or a formula name."""
    if text is None:
        return Model(domain, target, features)
    if target is not None or features:
        raise ParameterError("Give either --formula, or --target and --features.")
    return formula(text, domain)


def outcome_of(model: Model) -> str:
    """Return the outcome, which must be named."""
    if model.target is None:
        raise ParameterError("Name the outcome, with --target or left of '~' in --formula.")
    return model.target


def outcomes_of(model: Model) -> list[str]:
    """Return the outcomes: one column, or several names between commas unless the whole text is one column's name."""
    named = outcome_of(model)
    declared = {*model.domain.columns, *(entry.name for entry in model.domain.entries)}
    return [named] if named in declared or "," not in named else split(named)


def refuse_several(estimator: type, report: Path | None) -> None:
    """Refuse several outcomes for methods and reports that take one."""
    if not getattr(estimator, "many_outcomes", False):
        raise ParameterError(f"{estimator.__name__} is for one outcome. For several, use --method ReuseCov.")
    refuse_for_many({"--report": report})


def refuse_for_many(options: dict[str, Any]) -> None:
    """Refuse options that do not apply to several outcomes at once."""
    for name, value in options.items():
        if value is not None:
            raise ParameterError(
                f"{name} is for one outcome: leave it out here, and give it to `discreet model RELEASE --target NAME`."
            )


def all_outcomes(released: PrivateMoments, target: str | None, formula: str | None, model: str) -> bool:
    """Whether a release names several outcomes and none was requested."""
    return target is None and formula is None and model == "noise-aware" and len(released.outcomes) > 1


def default_place(data: Path, *parts: str) -> Path:
    """Return the default file name of a result, in the current folder; forbidden characters become underscores.

    Examples
    --------
    >>> default_place(Path("in/people.csv"), "a/b: c", "release.json").name
    'people.a_b_ c.release.json'
    """
    return Path(re.sub(r'[/\\:*?"<>|\x00-\x1f]', "_", ".".join([stem(data), *parts])))


def free(path: Path, force: bool, option: str = "--out", inputs: Sequence[Path | None] = ()) -> Path:
    """Check, before any budget is spent, that a result can be written to a path and that it is no input."""
    if any(_is_in(path.resolve(), given.resolve()) for given in inputs if given is not None):
        raise ParameterError(f"{path} is an input, or in its folder: it is not replaced. Name another with {option}.")
    if path.exists() and not force:
        raise ParameterError(f"{path} exists already. Name another file with {option}, or replace it with --force.")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ParameterError(
            f"Cannot write {path}: it or its folder is no place for a file. Name another with {option}."
        )
    return path


def free_report(report: Path | None, force: bool, release: Path, inputs: Sequence[Path | None] = ()) -> Path | None:
    """Check that a report can be written to a path, which is neither the release nor an input."""
    if report is not None and report.resolve() == release.resolve():
        raise ParameterError("The report would replace the release. Name another file with --report.")
    return None if report is None else free(report, force, "--report", inputs)


def _is_in(path: Path, given: Path) -> bool:
    return path == given or (given.is_dir() and given in path.parents and is_data_file(path))


def asked_of(released: PrivateMoments, target: str | None, features: str | None, text: str | None) -> str:
    """Return the outcome that options or a formula name; by default the only outcome of the release."""
    only = released.outcomes[0] if len(released.outcomes) == 1 and text is None else None
    return outcome_of(chosen(released.domain, target or only, split(features), text))


def fit_release(
    released: PrivateMoments, target: str | None, features: str | None, text: str | None, model: str, **options: Any
) -> Results:
    """Fit the model that options or a formula describe to a release."""
    outcome = asked_of(released, target, features, text)
    return released.fit(text or outcome, split(features) or None, model=model, **options)


def open_models(
    paths: Sequence[Path], target: str | None, features: str | None, texts: Sequence[str | None], model: str
) -> list[Any]:
    """Load models from files; a release gets the models that options or formulas describe."""
    saved = [load_saved(path) for path in paths]
    if not any(isinstance(one, PrivateMoments) for one in saved):
        refuse_fitting(target, features, texts[0], model)
    return [
        fit_release(one, target, features, text, model) if isinstance(one, PrivateMoments) else one
        for one in saved
        for text in (texts if isinstance(one, PrivateMoments) else texts[:1])
    ]


def refuse_fitting(target: str | None, features: str | None, text: str | None, model: str, **others: Any) -> None:
    """Refuse options that describe a model, for files that hold a fitted one."""
    given = {"--target": target, "--features": features, "--formula": text} | others
    refused = [name for name, value in given.items() if value is not None] + ["--model"] * (model != "noise-aware")
    if refused:
        raise ParameterError(f"A saved model is used as it is: leave out {', '.join(refused)}.")


def file_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return labels for files.

    Examples
    --------
    >>> file_names([Path("2024.release.json"), Path("2025.json")]), file_names([Path("x/m.json"), Path("y/m.json")])
    (('2024', '2025'), ('A', 'B'))
    """
    names = [path.name.removesuffix(".json").removesuffix(".release") or path.name for path in paths]
    return tuple(names) if len({*names}) == len(names) else tuple(_letter(i) for i in range(len(paths)))


def _letter(place: int) -> str:
    """Return A to Z, then A1, B1 and so on."""
    return chr(ord("A") + place % 26) + (str(place // 26) if place > 25 else "")
