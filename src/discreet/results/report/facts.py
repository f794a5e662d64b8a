"""Text of a report on a model and its release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.domain.kinds.base import Column
from discreet.privacy.events.base import Event
from discreet.privacy.events.gaussian import Block
from discreet.released.certificate import Certificate
from discreet.released.units import column_of
from discreet.results.effects import Variables, effects
from discreet.results.export import latex
from discreet.results.plots.releases import brief
from discreet.results.summary import number, promise, row_count

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted

UNITS = (
    "Noise is in units of the mapped columns: every number was first mapped from its declared range to [-1, 1], and "
    "every level of a category is 0 or 1. On X'X the sd is that of the diagonal; off it, the noise is smaller by "
    "sqrt(2) unless the layout is called uniform."
)


def heading(results: Fitted) -> str:
    """The title: the outcome and the features, or how many there are."""
    names = features(results)
    formula = f"{results.target} ~ {' + '.join(names) or '1'}"
    return formula if len(formula) <= 90 or len(names) < 2 else f"{results.target} on {len(names)} features"


def features(results: Fitted) -> list[str]:
    """The columns of the regressors."""
    return list(dict.fromkeys(column_of(results.certificate.domain, name) for name in results.names))


def answer(results: Fitted, level: float) -> str:
    """State the main finding in a sentence or two: the largest effect that differs from zero, or that none does."""
    found, unit = effects(results, level), results.unit(CONSTANT)
    if not results.names:
        return f"The predicted {results.target} is {brief(found.estimate[0])} {unit}".strip() + "."
    if isinstance(found.ends, Unavailable):
        return (
            f"How much each feature changes {results.target} cannot be said: intervals are {found.ends}, for the "
            "reason given below the table, and without them nobody can tell an effect from noise."
        )
    sure = f"at the {100 * level:g} % level"
    if not found.clear:
        return f"None of the {len(found.names)} effects can be told from zero {sure}."
    i, variables = found.clear[0], Variables(results.certificate.domain, results.names)
    count = f"{len(found.clear)} of {len(found.names)} effects can be told from zero {sure}."
    more = "more" if found.estimate[i] > 0 else "less"
    size, against = f"{brief(abs(found.estimate[i]))} {unit}".strip(), results.reference_class
    of = results.target if against is None else f"for this class of {results.target} against {against}"
    words = found.ranges[i]
    where = f"from {words}" if words else f"than for {variables.first(found.variables[i])}"
    alone = not variables.partners(found.variables[i])
    others = "all else equal" if alone else "with the other features in the middle of their ranges"
    low, high = sorted(np.sign(found.estimate[i]) * found.ends[i])
    return (
        f"{count} The largest of them is that of {found.names[i]}: {size} {more} {of} {where}, {others} "
        f"({100 * level:g} % interval {brief(low)} to {brief(high)})."
    )


def effects_caption(results: Fitted, level: float) -> str:
    """Caption of the plot of effects."""
    text = (
        "Each feature goes from one end of its declared range to the other, with everything that moves along (squares, "
        "products, curves) and the others in the middle of theirs, so that all effects are in "
        f"{results.family.words.measure}; levels of a category are compared with its first one. On the right stands "
        "the coefficient itself, where a single one makes the effect. "
    )
    if results.reference_class is not None:
        text += f"Each class of {results.target} is compared with {results.reference_class}. "
    if isinstance(results.inference, Unavailable):
        return f"{text}No intervals: they are {results.inference}."
    if isinstance(why := results.known("std_err"), Unavailable):
        return f"{text}The band is what privacy noise alone does; sampling error is {why}."
    return (
        f"{text}Thin line: {100 * level:g} % interval, for sampling error and privacy noise together. Band: what it "
        "would be with privacy noise alone; where both are about as long, privacy noise is most of the uncertainty."
    )


def curves_caption(results: Fitted, level: float) -> str:
    """Caption of the plot of curves."""
    what = "The predicted outcome" if results.family.linear else f"The prediction, in {results.family.words.measure},"
    text = (
        f"{what} along each feature that stands in several terms, or in a curve, with the others in the middle of "
        "their ranges; where another feature multiplies it, a line for each of several places of that one."
    )
    if isinstance(why := results.known("std_err"), Unavailable):
        return f"{text} There are no bands, for intervals are {why}: a curve may be noise alone."
    return f"{text} Band: {100 * level:g} % interval of the line, point by point."


def asked(results: Fitted) -> list[tuple[str, str]]:
    """List the requested model and guarantee."""
    certificate = results.certificate
    g, domain = certificate.guarantee, certificate.declared or certificate.domain
    outcome = column_of(certificate.domain, results.target)
    used = features(results)
    return [
        ("Outcome", f"{results.target}, {bounds(domain.columns[outcome])}"),
        ("Features", "; ".join(f"{name}, {bounds(domain.columns[name])}" for name in used) or "none"),
        ("Intercept", "yes" if domain.intercept else "no"),
        ("Method", results.model),
        ("epsilon", f"{g.epsilon:g}"),
        ("delta", f"{g.delta:g}"),
        ("Neighbours", _NEIGHBORS[g.neighbors]),
        ("Guarantee", _STATUS[g.status]),
        ("Rows", _rows(results)),
    ]


_NEIGHBORS = {
    "add-remove": "add-remove: tables that differ in the presence of one person",
    "replace-one": "replace-one: tables of the same size that differ in what one person's row says",
}
_STATUS = {
    "verified": "verified: proven, tested and accounted for",
    "claimed": "claimed: a paper's statement that discreet does not vouch for",
    "simulation": "simulation: nothing is promised",
}


def _rows(results: Fitted) -> str:
    if not results.certificate.domain.unit.plain and results.rows is not None:
        return row_count(results.certificate, results.rows, results.rows_sd)
    if results.certificate.rows is not None:
        return f"{results.certificate.rows:,}, declared in public; not read from the data"
    if results.rows is None:
        return "not declared"
    return f"{row_count(results.certificate, results.rows, results.rows_sd)}; released with noise, not declared"


def bounds(column: Column) -> str:
    """Describe the declared facts of a column.

    Examples
    --------
    >>> from discreet.domain.columns import Categorical, Numeric
    >>> bounds(Numeric(18, 90, "year")), bounds(Categorical(("F", "M")))
    ('18 to 90 year', 'one of F, M')
    """
    return column.described(number)


def columns(results: Fitted) -> list[tuple[str, ...]]:
    """One row a declared column: name, role, declared bounds, bounds as used."""
    certificate = results.certificate
    declared = certificate.searched or certificate.declared or certificate.domain
    outcome = column_of(certificate.domain, results.target)
    in_model = features(results)
    rows: list[tuple[str, ...]] = []
    for name, column in declared.columns.items():
        role = "outcome" if name == outcome else "feature" if name in in_model else "released, not in this model"
        used = certificate.domain.columns[name]
        how = "found:" if column.searched else "narrowed to"
        narrowed = "as declared" if used == column else f"{how} {bounds(used)} by private counts"
        rows.append((name, role, bounds(column), narrowed))
    return rows


def certified(results: Fitted) -> list[tuple[str, str]]:
    """The certificate's own facts."""
    c = results.certificate
    g, domain = c.guarantee, c.domain
    facts = [
        ("Promise", promise(g)),
        ("epsilon, recomputed", f"{c.epsilon:.6g} at delta = {g.delta:g}, from the noise listed below"),
        ("Unit of privacy", domain.unit.short),
        ("Method", c.method),
        ("Rows", "not declared" if c.rows is None else f"{c.rows:,}, declared"),
        ("Missing values", "refused" if domain.missing == "error" else "rows that lack a value were left out"),
    ]
    if domain.data_norm is not None:
        facts.append(("Norm of a row", f"at most {domain.data_norm:g} over {', '.join(domain.norm_columns)}"))
    digest = f"SHA-256 {results.release}" if results.release else "not recorded"
    return [*facts, ("Software", c.software or "not recorded"), ("Digest of the release", digest)]


def blocks(certificate: Certificate) -> list[tuple[str, ...]]:
    """One row a released statistic."""
    rows: list[tuple[str, ...]] = []
    for event in certificate.events:
        cost = "not Gaussian" if event.law is not None else f"{event.mu:.6g}"
        if event.coefficients:
            rows.append((event.name, ", ".join(event.regressors), _scale(event), _arithmetic(event.exact), cost))
        for b in event.statistics:
            rows.append((event.title(b), event.about(b), _sd(b), _arithmetic(b.exact), cost))
    return rows


def _scale(event: Event) -> str:
    """The numbers behind the noise of released coefficients."""
    facts = event.to_dict()
    known = {name: facts[name] for name in ("scale", "sd", "gamma", "penalty", "steps", "rate") if facts.get(name)}
    return ", ".join(f"{name} {value:.6g}" for name, value in known.items())


def _arithmetic(exact: bool) -> str:
    return "exact" if exact else "floating point, error bounded"


def _sd(block: Block) -> str:
    layout = ", uniform" if block.kind.symmetric and block.layout == "uniform" else ""
    return f"{block.sd:.6g}{layout}"


# ---------------------------------------------------------------- citing


def citation(results: Fitted, date: str | None) -> tuple[str, str]:
    """A reference as text and as BibTeX."""
    g, c = results.certificate.guarantee, results.certificate
    title = f"A differentially private {results.kind} of {heading(results)}"
    software = f"{c.software or 'discreet'}, {c.method}"
    digest = f"release SHA-256 {results.release}" if results.release else "release without a recorded digest"
    when = f" {date}." if date else ""
    text = f"{title}.{when} {promise(g)}. {software}; {digest}."
    key = f"discreet-{results.release[:12] or 'release'}"
    entries = {
        "title": f"{{{latex(title)}}}",
        "howpublished": latex(f"{software}; {digest}"),
        "note": latex(promise(g)),
    }
    if date:
        year = re.match(r"\d{4}", date)
        entries |= {"year": year[0]} if year else {}
        entries |= {"date": latex(date)}
    lines = ",\n".join(f"  {name:<12} = {{{value}}}" for name, value in entries.items())
    return text, f"@misc{{{key},\n{lines}\n}}"
