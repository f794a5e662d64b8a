"""`discreet fit`: a private model of a table, with its certified release."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import (
    AccountOption,
    Delta,
    DeviceOption,
    Epsilon,
    Features,
    Force,
    Formula,
    Jobs,
    Json,
    LedgerOption,
    Out,
    Purpose,
    Relation,
    Report,
    Request,
    Rows,
    SchemaOption,
    Settings,
    Targets,
    chosen,
    counted,
    default_place,
    free,
    free_report,
    method_settings,
    outcomes_of,
    refuse_several,
    split,
)
from discreet.cli.files import names_units, reads_files
from discreet.cli.outlook import Yes, with_word
from discreet.cli.rows import EngineOption, PushdownOption, RowsArgument, TableOption, given_rows
from discreet.core.checks import neighbors as relation
from discreet.core.citations import PAPERS
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.ledger.accounts import Account
from discreet.mechanisms.registry import DEFAULT, find
from discreet.results.private_moments import PrivateMoments

_KEYS = ", ".join(paper.key for paper in PAPERS)
StagesOption = Annotated[
    str | None, typer.Option("--stages", help="Stages of methods that have them: 1 to 4, or auto, the default.")
]
EPILOG = "Example: discreet fit people.csv --schema people.toml --target income --epsilon 1 --delta 1e-6"


@names_units
@reads_files
def fit(
    data: RowsArgument,
    schema: SchemaOption,
    epsilon: Epsilon,
    file: dict[str, Any],
    unit: dict[str, Any],
    target: Targets = None,
    delta: Delta = None,
    features: Features = None,
    formula: Formula = None,
    rows: Rows = None,
    method: Annotated[str, typer.Option(help="See `discreet methods`.")] = DEFAULT,
    published: Annotated[str | None, typer.Option(help=f"A paper's printed constants: {_KEYS}.")] = None,
    settings: Settings = None,
    stages: StagesOption = None,
    neighbors: Relation = "add-remove",
    out: Out = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
    n_jobs: Jobs = None,
    device: DeviceOption = None,
    engine: EngineOption = None,
    table: TableOption = None,
    pushdown: PushdownOption = False,
    ledger: LedgerOption = None,
    account: AccountOption = None,
    purpose: Purpose = "",
    request: Request = None,
    yes: Yes = False,
) -> None:
    """Fit a private model to a table and save its certified release."""
    estimator = find(method).estimator
    options = _options(estimator, settings, published, stages)
    asked = chosen(Domain.from_file(schema).with_file(**file).with_unit(**unit), target, split(features), formula)
    domain, outcomes = asked.domain, outcomes_of(asked)
    if len(outcomes) > 1:
        refuse_several(estimator, report)
    options |= {"domain": domain, "fit_intercept": domain.intercept, "neighbors": relation(neighbors)}
    model: Any = estimator(epsilon=epsilon, delta=delta, rows=rows, n_jobs=n_jobs, device=device, **options)
    one = outcomes[0] if len(outcomes) == 1 else None
    given = given_rows(data, engine, table, pushdown)
    place, inputs = default_place(given.name, one or "outcomes", "release.json"), [*given.files, schema]
    path = free(out or place, force, inputs=inputs)
    page = free_report(report, force, path, inputs)
    with counted(ledger, account, purpose, request, formula) as charged:
        shown: dict[str, Any] = {"progress": console.progress(quiet=json)}
        with_word(partial(model.fit_source, given.source, one or outcomes, asked.features or None, **shown), yes=yes)
    model.release_.save(path, overwrite=force)
    moments = model.release_ if isinstance(model.release_, PrivateMoments) else None
    if page is not None:
        with console.saved_before(path):
            model.results_.save_report(page, moments)
    if json:
        places = {"release": str(path)} | ({} if page is None else {"report": str(page)})
        console.print_json(model.results_.to_dict() | places | {"certificate": model.certificate_.to_dict()})
        return
    console.summary(model.results_.summary())
    console.certificate(model.certificate_)
    _say_where(model, path, page, charged)


def _say_where(model: Any, path: Path, page: Path | None, charged: Account | None) -> None:
    console.say_counted(charged)
    console.say_public(path, model.certificate_, models=isinstance(model.release_, PrivateMoments))
    console.say_where(page)


def _options(estimator: Any, settings: list[str] | None, published: str | None, stages: str | None) -> dict[str, Any]:
    """Return the parameters that options name; refuse those that the method does not have."""
    options = method_settings(settings, estimator)
    if published is not None:
        if not estimator.papers:
            raise ParameterError(f"{estimator.__name__} is not from a paper: leave out --published.")
        options["published"] = published
    if stages is not None:
        if "stages" in options:
            raise ParameterError("Give either --stages or --set stages=..., not both.")
        if not hasattr(estimator, "stages"):
            raise ParameterError(f"{estimator.__name__} has no stages: leave out --stages.")
        options["stages"] = int(stages) if stages.isdecimal() else stages
    return options
