"""`discreet ledger`: the privacy budget of people over all releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import Features, Force, Formula, Json, LedgerPlace, Target, chosen, free, outcome_of, split
from discreet.core.checks import neighbors as relation
from discreet.core.files import Document, atomic_write
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.ledger import Ledger, audit, copies, picture
from discreet.ledger.accounts import Account
from discreet.ledger.charging import ACCOUNT
from discreet.ledger.storage import Memory
from discreet.ledger.storage.base import NoLedgerError
from discreet.privacy import gdp
from discreet.privacy.budget_parts import Balance

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Count what is spent on the people of a table, over all releases."
)
AccountName = Annotated[
    str | None,
    typer.Option("--account", envvar=ACCOUNT, help="A population, or a table of one: clinic, clinic/visits."),
]

Seen = Annotated[
    list[Path] | None, typer.Option("--witness", help="An exported head or ledger, or a release; may be repeated.")
]


@app.command("init", epilog="Example: discreet ledger init people.ledger --account clinic --epsilon 3 --delta 1e-6")
def init(
    place: LedgerPlace,
    account: Annotated[str, typer.Option(help="A population, or a table of one: clinic, clinic/visits.")],
    epsilon: Annotated[float | None, typer.Option(help="The promise for all releases together.")] = None,
    delta: Annotated[float | None, typer.Option(help="Of that promise.")] = None,
    others: Annotated[
        str, typer.Option(help="The part of it for releases that are not Gaussian, as 1,5e-7: its epsilon and delta.")
    ] = "0,0",
    neighbors: Annotated[str | None, typer.Option(help="add-remove or replace-one.")] = None,
    person: Annotated[str | None, typer.Option(help="The column that tells whose a row is.")] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(help="The most rows of the table that one person has; 1 without --person.")
    ] = None,
    public_outcomes: Annotated[
        str | None, typer.Option(help="Columns that are declared public, so not protected; replace-one only.")
    ] = None,
) -> None:
    """Open an account, with limits that never change; the ledger is made where there is none."""
    aside = _others(others)
    exists = _exists(place)
    if not exists and "/" in account:
        raise ParameterError("A table needs the account of its population first: --account clinic, then clinic/visits.")
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "others": aside, "person": person}
    terms["rows_per_person"] = rows_per_person
    terms["neighbors"] = None if neighbors is None else relation(neighbors)
    terms["public_outcomes"] = split(public_outcomes)
    if not exists:
        Ledger.of(Memory()).open(account, **terms)  # so that bad terms make no file
    ledger = Ledger(place) if exists else Ledger.create(place)
    opened = ledger.open(account, **terms)
    console.say(f"The account {account!r} is open in {ledger.name}.", *_told(opened))
    console.say("Its limits never change. Charge releases to it with --ledger, or DISCREET_LEDGER in the environment.")


@app.command("show", epilog="Example: discreet ledger show people.ledger --html people.html")
def show(
    place: LedgerPlace,
    account: AccountName = None,
    html: Annotated[Path | None, typer.Option("--html", help="Where to write it as a page.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Tell what was spent over time, and what is left."""
    page = None if html is None else free(html, force, "--html", _inputs(place))
    ledger = Ledger(place)
    head = ledger.head()
    told = [story for story in picture.stories(ledger.scan()) if account in (None, story.name)]
    if account is not None and not told:
        ledger.account(account)
    if page is not None:
        from discreet.ledger.page import html as drawn  # with matplotlib

        with atomic_write(page) as file:
            file.write(drawn(ledger.name, ledger.entries()).encode())
    if json:
        console.print_json({"ledger": head.facts["ledger"], "accounts": [_facts(story) for story in told]})
        return
    for i, story in enumerate(told):
        console.say(*([""] * bool(i)), *picture.terminal(story, min(60, console.out.width - 12)))
    console.say("", f"Entry {head.number}, hash {head.hash}")
    if page is not None:
        console.say(f"The page is in {page}. Open it in a browser, or print it.")


@app.command("history", epilog="Example: discreet ledger history people.ledger --account clinic")
def history(place: LedgerPlace, account: AccountName = None, json: Json = False) -> None:
    """List every release: what, its cost, when, who and why."""
    ledger = Ledger(place)
    if account is not None:
        ledger.account(account)
    if json:
        console.print_json_lines(picture.releases(ledger.scan, account))
        return
    notes: list[str] = []
    rows = picture.history(audit.watched(ledger.scan(), notes), account)
    if not rows:
        console.say("No release was paid for yet.")
        return
    console.table(f"Releases in {ledger.name}", picture.HISTORY, rows, numeric=(0,), whole=(0, 2))
    console.say(*notes)


@app.command("export", epilog="Example: discreet ledger export people.ledger --head --out people.head.json")
def export(
    place: LedgerPlace,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write it, as JSON.")],
    head: Annotated[bool, typer.Option("--head", help="The number and the hash of the last entry only.")] = False,
    force: Force = False,
) -> None:
    """Write all entries, or the last one's number and hash: kept elsewhere, it tells when an older file is put back."""
    path = free(out, force, inputs=_inputs(place))
    last = audit.export(Ledger(place), path, head_only=head)
    console.say(f"Written: {path}, up to entry {last.number}. Keep it where nobody who writes the ledger can reach it.")


@app.command("backup", epilog="Example: discreet ledger backup people.ledger --out people.backup")
def backup(
    place: LedgerPlace,
    out: Annotated[Path, typer.Option("--out", "-o", help="A new file, from which the ledger can be restored.")],
) -> None:
    """Copy a ledger, which may be in use, to a file, and check every entry of it. Nothing is charged to a backup."""
    last = copies.backup(place, out)
    console.say(f"Written: {out}, up to entry {last.number}, hash {last.hash}.")
    console.say(f"What is charged from now on is not in it. To restore it: discreet ledger restore {out} PLACE")


@app.command("restore", epilog="Example: discreet ledger restore people.backup people.ledger --witness paper.json")
def restore(
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="A backup, or another copy of a ledger's file.")],
    place: Annotated[str, typer.Argument(metavar="PLACE", help="A new file, or the address of a new database.")],
    witness: Seen = None,
) -> None:
    """Make a ledger of a copy, unless the copy is damaged or lacks what a witness has seen.

    The head that a lost ledger left beside its file, as people.ledger-head, is a witness: leave it there. Without one
    it is not known whether the copy is the newest, and what was spent since can be spent again.
    """
    seen = [one for path in witness or [] for one in _witnesses(path)]
    last = copies.restore(copy, place, seen)
    console.say(f"Restored: {Ledger(place).name}, up to entry {last.number}, hash {last.hash}.")
    console.say("From now on charge this one alone: what is spent by another copy is not seen here.")


@app.command("migrate", epilog="Example: discreet ledger migrate people.ledger")
def migrate(place: LedgerPlace, witness: Seen = None) -> None:
    """Bring a ledger of an older discreet to the format of this one, once. Stop all programs that use it first."""
    last = copies.migrate(place, [one for path in witness or [] for one in _witnesses(path)])
    if last is None:
        console.say(f"{Ledger(place).name} has the current format already.")
        return
    console.say(f"Migrated: {Ledger(place).name}, up to entry {last.number}, hash {last.hash}.")
    console.say("Programs of an older discreet can no longer use it.")
    if not witness:
        console.say(_END_UNKNOWN)


@app.command("verify", epilog="Example: discreet ledger verify people.ledger --witness people.head.json")
def verify(
    place: LedgerPlace,
    witness: Seen = None,
    json: Json = False,
) -> None:
    """Play all entries again: nothing may be changed, left out or overspent. Exit code 1: it is."""
    seen = [one for path in witness or [] for one in _witnesses(path)]
    ledger = Ledger(place)
    found = audit.flaws(ledger, seen)
    notes = [] if found else audit.undercounted(ledger.scan())
    if json:
        console.print_json({"ok": not found, "flaws": found, "notes": notes})
    else:
        console.say(*(found or [_VERIFIED.format(name=ledger.name)]), *notes)
        if not seen:
            console.say(_END_UNKNOWN)
    if found:
        raise typer.Exit(1)


@app.command(
    "plan", epilog="Example: discreet ledger plan people.ledger --schema people.toml --rows 20000 --target income"
)
def plan(
    place: LedgerPlace,
    account: AccountName = None,
    delta: Annotated[float | None, typer.Option(help="Of each release; that of the account by default.")] = None,
    releases: Annotated[str, typer.Option(help="How many more, separated by commas.")] = "1,2,5,10",
    schema: Annotated[Path | None, typer.Option(help="With --rows and an outcome: how good models would be.")] = None,
    rows: Annotated[int | None, typer.Option(help="About how many rows the table has, as publicly known.")] = None,
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    json: Json = False,
) -> None:
    """Tell what could still be fitted with what is left."""
    one = Ledger(place).account(account)
    each = delta or one.balance().limits.delta
    declared, terms = None if schema is None else Domain.from_file(schema), one.terms()
    times = terms.steps(terms.person if declared is None else declared.unit.person, f"the account {one.name!r}")
    options = [(count, _epsilon(one.balance(), times, count, each)) for count in _counts(releases)]
    others = one.balance().others_left if one.balance().limits.others[0] else None
    if json:
        told = [{"releases": count, "epsilon": epsilon, "delta": each} for count, epsilon in options]
        console.print_json({"account": one.name, "gaussian": told, "others": others})
    else:
        title = f"{one.name}: Gaussian releases that still fit, each at delta = {each:g}"
        console.table(
            title, ["releases", "epsilon of each"], [[str(c), f"{e:g}"] for c, e in options], (0, 1), whole=(0, 1)
        )
        if others is not None:
            console.say(f"Releases that are not Gaussian: epsilon = {others[0]:.4g}, delta = {others[1]:.4g} in all.")
    if declared is None:
        return
    if rows is None:
        raise ParameterError("--schema needs --rows, about how many rows the table has, as publicly known.")
    asked = chosen(declared, target, split(features), formula)
    affordable = sorted({epsilon for _, epsilon in options if epsilon > 0})
    if not affordable:
        raise ParameterError("Nothing is left for another Gaussian release, so no model can be fitted any more.")
    from discreet.planning import plan as make_plan  # with all methods

    found = make_plan(
        asked.domain,
        outcome_of(asked),
        asked.features or None,
        rows=rows,
        epsilon=affordable,
        delta=each,
        neighbors=terms.neighbors,
        progress=console.progress(quiet=json),
    )
    if json:
        console.print_json(found.to_dict())
    else:
        console.summary(found.summary())


def _epsilon(balance: Balance, times: int, count: int, delta: float) -> float:
    """Return the epsilon, rounded down, of each of `count` more Gaussian releases that are counted `times` times."""
    if balance.limits.adding:
        epsilon, whole = balance.others_left
        return float(picture.floor(epsilon / count)) if times == 1 and delta * count <= whole else 0.0
    mu = balance.mu_left / times / count**0.5
    return float(picture.floor(gdp.epsilon(mu=mu, delta=delta))) if mu > 0 else 0.0


def _facts(story: picture.Story) -> dict[str, Any]:
    balance = story.balance
    return {
        "account": story.name,
        **story.terms.to_dict(),
        "limits": story.limits.to_dict(),
        "spent": balance.spent.to_dict(),
        "epsilon_spent": balance.epsilon_spent,
        "mu_left": balance.mu_left,
        "epsilon_left": balance.epsilon_left,
        "others_left": list(balance.others_left),
        "releases": story.releases,
        "never_finished": story.lost,
    }


def _told(account: Account) -> list[str]:
    (story,) = [one for one in picture.stories(account.ledger.scan()) if one.name == account.name]
    return picture.terminal(story)


def _exists(place: str) -> bool:
    """Whether there is a ledger; a database may exist without one."""
    if "://" not in place:
        return Path(place).exists()
    try:
        Ledger(place).accounts()
    except NoLedgerError:
        return False
    return True


def _others(given: str) -> tuple[float, float]:
    try:
        epsilon, delta = map(float, split(given))
    except ValueError:
        raise ParameterError(f"--others {given}: give an epsilon and a delta, as 1,5e-7.") from None
    return epsilon, delta


def _counts(given: str) -> list[int]:
    texts = split(given)
    if not texts or not all(text.isdecimal() and 0 < int(text) <= 10**6 for text in texts):
        raise ParameterError(f"--releases {given}: give whole numbers, as 1,2,5,10.")
    return list(map(int, texts))


def _inputs(place: str) -> list[Path | None]:
    return [] if "://" in place else [Path(place)]


def _witnesses(path: Path) -> list[audit.Witness]:
    document = Document.read(path)
    head = audit.head_of(document)
    if head is not None:
        return [head]
    from discreet.results.saved import load_certificate  # with all that reads releases

    certificate = load_certificate(document)
    found = audit.witness_of(path, certificate.receipts, certificate.digest)
    if not found:
        raise ParameterError(f"{path.name} names no entry of a ledger, so it is no witness.")
    return found


_VERIFIED = "{name} is as it was written: every entry follows the one before, all sums are right, no limit is exceeded."

_END_UNKNOWN = "Whether its end is missing only a witness can tell: --witness with an exported head or a release."
