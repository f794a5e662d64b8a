"""The command line."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from discreet import __version__, console
from discreet.arguments import chosen, free, outcome_of, split, stem
from discreet.checks import neighbors as relation
from discreet.domain import Domain
from discreet.errors import DiscreetError, ParameterError
from discreet.files import atomic_write
from discreet.glm.results import GLMResults, load_certificate
from discreet.moments import Moments
from discreet.registry import DEFAULT, METHODS, find
from discreet.release import release as release_moments
from discreet.released import PrivateMoments
from discreet.schema import KINDS, blank_schema
from discreet.sources import open_source
from discreet.sources.paths import column_kinds

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Differentially private regression with guarantees that can be checked.\n\n"
    "Start with [bold]discreet demo[/bold], or with [bold]discreet schema init people.parquet[/bold].",
    context_settings={"help_option_names": ["-h", "--help"]},
)
schemas = typer.Typer(no_args_is_help=True, help="Write and check schemas: the public facts about a table.")
app.add_typer(schemas, name="schema")

Data = Annotated[Path, typer.Argument(help="Parquet or CSV file, or a folder of them.", show_default=False)]
SchemaOption = Annotated[Path, typer.Option("--schema", help="TOML or JSON schema.", show_default=False)]
Epsilon = Annotated[float, typer.Option(help="Privacy loss; 0.1 is strong, 1 is usual.", show_default=False)]
Delta = Annotated[float | None, typer.Option(help="Failure probability; 1/rows^2 when --rows is given.")]
Rows = Annotated[int | None, typer.Option(help="Public, rounded number of rows, declared by you.")]
Features = Annotated[str | None, typer.Option(help="Columns, separated by commas; all but the outcome by default.")]
Relation = Annotated[str, typer.Option("--neighbors", help="add-remove or replace-one.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where to save the release.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing release file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Jobs = Annotated[int | None, typer.Option("--n-jobs", help="Threads; all cores by default.")]
Target = Annotated[str | None, typer.Option(help="The outcome, unless a formula names it.", show_default=False)]
Formula = Annotated[str | None, typer.Option(help="Instead: 'income ~ age + C(region) + age:hours'.")]
ReleaseFile = Annotated[Path, typer.Argument(help="A release file.", show_default=False)]


@app.command(
    epilog="Example: discreet fit people.parquet --schema people.toml --target income --epsilon 1 --delta 1e-6"
)
def fit(
    data: Data,
    schema: SchemaOption,
    epsilon: Epsilon,
    target: Target = None,
    delta: Delta = None,
    features: Features = None,
    formula: Formula = None,
    rows: Rows = None,
    method: Annotated[str, typer.Option(help="See `discreet methods`.")] = DEFAULT,
    published: Annotated[str | None, typer.Option(help="Use a paper's printed constants: 000, 001 or 003.")] = None,
    neighbors: Relation = "add-remove",
    out: Out = None,
    force: Force = False,
    json: Json = False,
    n_jobs: Jobs = None,
) -> None:
    """Fit a private model to a table and save its certified release."""
    estimator = find(method).estimator
    options: dict[str, Any] = {} if published is None else {"published": published}
    if published is not None and not estimator.papers:
        raise ParameterError(f"{estimator.__name__} is not from a paper: leave out --published.")
    asked = chosen(Domain.from_file(schema), target, split(features), formula)
    domain, outcome = asked.domain, outcome_of(asked)
    options |= {"domain": domain, "fit_intercept": domain.intercept, "neighbors": relation(neighbors)}
    model: Any = estimator(epsilon=epsilon, delta=delta, rows=rows, n_jobs=n_jobs, **options)
    path = free(out or Path(f"{stem(data)}.{outcome}.release.json"), force)
    model.fit_source(data, outcome, asked.features or None, progress=_progress(quiet=json))
    model.release_.save(path)
    if json:
        console.print_json(
            model.results_.to_dict() | {"release": str(path), "certificate": model.certificate_.to_dict()}
        )
        return
    console.coefficients(model.results_)
    console.certificate(model.certificate_)
    more = "." if isinstance(model.release_, GLMResults) else ", or fit more models with `discreet model`."
    console.say(f"\nThe release is in {path}. It is public: publish it{more}")


@app.command(epilog="Example: discreet release people.parquet --schema people.toml --epsilon 1 --delta 1e-6")
def release(
    data: Data,
    schema: SchemaOption,
    epsilon: Epsilon,
    delta: Delta = None,
    targets: Annotated[str | None, typer.Option(help="Outcomes, separated by commas; any column by default.")] = None,
    features: Features = None,
    formula: Formula = None,
    rows: Rows = None,
    neighbors: Relation = "add-remove",
    out: Out = None,
    force: Force = False,
    json: Json = False,
    n_jobs: Jobs = None,
) -> None:
    """Release the noisy moments of a table once, to fit any number of models to them later."""
    from discreet.release import promised

    promised(epsilon, delta, rows, neighbors)
    domain = chosen(Domain.from_file(schema), None, split(features), formula)[0]
    outcomes = split(targets)
    if features is not None:
        columns = [domain.entries[domain.target(name)].column for name in outcomes]
        domain = domain.select(dict.fromkeys([*split(features), *columns]))
    path = free(out or Path(f"{stem(data)}.release.json"), force)
    moments = Moments.from_source(data, domain, n_jobs=n_jobs, progress=_progress(quiet=json))
    released = release_moments(
        moments, epsilon=epsilon, delta=delta, targets=outcomes or None, rows=rows, neighbors=relation(neighbors)
    )
    released.save(path)
    if json:
        console.print_json({"release": str(path), "certificate": released.certificate.to_dict()})
        return
    console.certificate(released.certificate)
    console.say(f"\nThe release is in {path}. Fit models to it with: discreet model {path} --target NAME")


@app.command(epilog="Example: discreet model people.release.json --target income --features age,sex")
def model(
    release: ReleaseFile,
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    model: Annotated[str, typer.Option(help="noise-aware, ridge, lasso, elastic-net or ols.")] = "noise-aware",
    penalty: Annotated[float | None, typer.Option(help="Of penalised models; by default chosen for you.")] = None,
    l1_ratio: Annotated[float | None, typer.Option(help="Of the elastic net: 0 is ridge, 1 is lasso.")] = None,
    json: Json = False,
) -> None:
    """Fit a model to a release: free, as often as wanted, without the data."""
    options = {name: v for name, v in (("penalty", penalty), ("l1_ratio", l1_ratio)) if v is not None}
    released = PrivateMoments.load(release)
    outcome = outcome_of(chosen(released.domain, target, split(features), formula))
    fitted = released.fit(formula or outcome, split(features) or None, model=model, **options)
    if json:
        console.print_json(fitted.to_dict())
    else:
        console.coefficients(fitted)


@app.command(epilog="Example: discreet select people.release.json --target income")
def select(
    release: ReleaseFile,
    target: Annotated[str, typer.Option(help="The outcome.", show_default=False)],
    features: Features = None,
    json: Json = False,
) -> None:
    """Tell which variables belong to a model, and how sure that is: free, without the data."""
    selection = PrivateMoments.load(release).select(target, split(features) or None)
    if json:
        console.print_json(selection.to_dict())
    else:
        console.say(selection.summary())


@app.command(epilog="Example: discreet check people.release.json")
def check(release: ReleaseFile, json: Json = False) -> None:
    """Recompute the privacy loss of a release from its noise and compare it with the promise.

    Exit code 0: it adds up. 1: it does not. 2: the file cannot be read.
    """
    certificate = load_certificate(release)
    found = certificate.check()
    if json:
        facts = [{"what": f.what, "ok": f.ok, "detail": f.detail} for f in found]
        promise = certificate.guarantee.to_dict()
        ok = all(f.ok for f in found)
        epsilon = certificate.epsilon if math.isfinite(certificate.epsilon) else None
        console.print_json({"ok": ok, "guarantee": promise, "epsilon": epsilon, "findings": facts})
    else:
        console.findings(found)
        console.certificate(certificate)
    if not all(f.ok for f in found):
        raise typer.Exit(1)


@app.command(epilog="Example: discreet methods --json")
def methods(json: Json = False) -> None:
    """List the methods and the status of their guarantees."""
    if json:
        console.print_json(
            [{"name": m.name, "source": m.source, "status": m.status, "summary": m.summary} for m in METHODS]
        )
        return
    rows = [[m.name, m.summary, m.source, m.status] for m in METHODS]
    console.table("Methods", ["method", "what it does", "paper", "guarantee"], rows)


@schemas.command("init", epilog="Example: discreet schema init people.parquet --out people.toml")
def schema_init(
    data: Data,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the schema.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a schema to fill in, from the names and types of the columns only, never from values."""
    columns = column_kinds(data)
    known = [(name, kind) for name, kind in columns if kind in KINDS]
    path = free(out or Path(f"{stem(data)}.toml"), force)
    with atomic_write(path) as file:
        file.write(blank_schema(known).encode())
    console.say(f"Wrote {path}. Fill in the bounds from public knowledge, not from the data.")
    if any(kind == "any" for _, kind in columns):
        console.say("Names were taken from the first line of the CSV file, which must not be a person's.")
    for name in sorted({name for name, _ in columns} - {name for name, _ in known}):
        console.err.print(f"Left out: column {name!r}, whose type cannot be used.", markup=False)


@schemas.command("check", epilog="Example: discreet schema check people.toml people.parquet")
def schema_check(schema: Annotated[Path, typer.Argument(help="TOML or JSON schema.")], data: Data) -> None:
    """Check a schema, and that a file has its columns and types (a CSV file has names only); no row is read."""
    open_source(data, Domain.from_file(schema))
    console.say("The schema is complete and fits the file's columns and types.")


@app.command(epilog="Example: discreet demo")
def demo(
    folder: Annotated[Path, typer.Option(help="Where to put the table and the release.")] = Path("discreet-demo"),
) -> None:
    """Make up a table of 100,000 people and fit income privately, beside the non-private fit."""
    from discreet.demo import run

    run(folder)


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Differentially private regression with guarantees that can be checked."""
    if show:
        console.say(f"discreet {__version__}")
        raise typer.Exit


def _progress(*, quiet: bool) -> bool:
    return not quiet and sys.stderr.isatty()


def main() -> None:
    """Run the command line: exit code 0 done, 1 a check failed, 2 bad input, 130 stopped, 141 output closed."""
    warnings.showwarning = _warn  # type: ignore[assignment]
    sys.exit(_guarded(lambda: app(standalone_mode=False)))


def _guarded(command: Callable[[], Any]) -> int:
    try:
        code = command()
        if code == 130:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except DiscreetError as error:
        return _fail(str(error), 2)
    except typer.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _fail("Stopped. No file was changed.", 130)
    except BrokenPipeError:
        return console.output_closed()
    except OSError as error:
        return _fail(f"{error.strerror or 'The file cannot be used'}: {Path(str(error.filename or '')).name}", 2)
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):
            error.show()
            return int(error.exit_code)
        if os.environ.get("DISCREET_DEBUG"):
            raise
        return _fail(
            f"An internal error of kind {type(error).__name__}. Its details are hidden, for they may quote data; "
            "the curator can see them with DISCREET_DEBUG=1.",
            2,
        )


def _warn(message: Warning | str, *_: Any) -> None:
    console.err.print(Text("Warning: ", "bold yellow") + Text(str(message)), soft_wrap=True)


def _fail(message: str, code: int) -> int:
    console.err.print(Text("Error: ", "bold red") + Text(message), soft_wrap=True)
    return code
