"""A report of a fitted model: one HTML page that needs no network, no script and no other file, and prints well."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from discreet.core import checks
from discreet.errors import ParameterError
from discreet.released.moments import ReleasedMoments
from discreet.results.effects import curves
from discreet.results.glossary import meanings
from discreet.results.plots import releases as plots
from discreet.results.plots.responses import response_plot
from discreet.results.plots.style import svg
from discreet.results.report import facts, promise
from discreet.results.report.page import bullets, code, figure, page, paragraphs, section, table

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted
    from discreet.results.released_model import ReleasedModel


def report(
    results: Fitted,
    released: ReleasedMoments | ReleasedModel | None = None,
    *,
    level: float = 0.95,
    date: dt.date | str | None = None,
) -> str:
    """A report as HTML text. The same arguments give the same text, to the last letter: no clock is read.

    Parameters
    ----------
    results : Results
        A fitted model.
    released : ReleasedMoments or ReleasedModel, optional
        The release it was fitted to, for the picture of noise against signal; without moments that part is left out.
    level : float
        The level of the intervals.
    date : date or str, optional
        The date that the citation gives.

    Examples
    --------
    >>> from discreet import DPLinearRegression
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1))
    >>> model = model.fit([[0.1], [0.9]] * 50, [0.2, 0.8] * 50)
    >>> report(model.results_, model.release_).splitlines()[0]
    '<!doctype html>'
    """
    level = checks.fraction("level", level)
    moments = moments_of(results, released)
    certificate = results.certificate
    heading = facts.heading(results)
    text, bibtex = facts.citation(results, None if date is None else str(date))
    parts = [
        section("What was asked", table(("", ""), facts.asked(results), "facts")),
        section("What was found", *_found(results, level)),
        section("What is promised to the people in the table", *_promised(results)),
        section("Where the budget went", *_budget(results)),
        *([section("Noise against signal", *_noise(moments))] if plots.budget_shares(certificate) else []),
        section(
            "The certificate",
            table(("", ""), facts.certified(results), "facts"),
            "<h3>Declared columns</h3>",
            table(("column", "role", "declared", "used"), facts.columns(results)),
            "<h3>Everything that was released</h3>",
            table(("statistic", "of", "noise sd", "arithmetic", "mu of the event"), facts.blocks(certificate)),
            paragraphs(facts.UNITS),
        ),
        section("How to verify", *_verify(results)),
        section("How to cite", paragraphs(text), code(bibtex)),
    ]
    return page(
        f"{heading}: a private regression", heading, facts.answer(results, level), promise.banners(results), parts
    )


def moments_of(results: Fitted, released: ReleasedMoments | ReleasedModel | None) -> ReleasedMoments | None:
    """Return the moments of a release, if it has any; refuse one that the model does not come from."""
    if released is None:
        return None
    if not isinstance(getattr(released, "digest", None), str):
        raise ParameterError("released must be a release: model.release_, or what PrivateMoments.load(FILE) gives.")
    same = released.digest == results.release if results.release else released.certificate == results.certificate
    if not same:
        raise ParameterError("This model was not fitted to this release. Give the release that it comes from.")
    return released if isinstance(released, ReleasedMoments) else None


def _found(results: Fitted, level: float) -> list[str]:
    summary = results.summary(level)
    count = len(results.names)
    words = f"Dot plot of the effects of {count} regressors on {results.target} over declared ranges."
    above = [(name, text) for name, text in summary.facts if name not in ("Method", "Guarantee", "Rows")]
    return [
        figure(svg(plots.coefficient_plot(results, level), "coef", words), facts.effects_caption(results, level)),
        *_curves(results, level),
        f'<div class="wide numbers">{summary.html_table()}</div>',
        paragraphs(*summary.notes, kind="notes"),
        table(("", ""), above, "facts") if above else "",
    ]


def _curves(results: Fitted, level: float) -> list[str]:
    bent = [one.variable for one in curves(results, level)]
    if not bent:
        return []
    words = f"Curves of the predicted {results.target} along {', '.join(bent)}, with bands for how sure they are."
    return [figure(svg(response_plot(results, level), "curves", words), facts.curves_caption(results, level))]


def _promised(results: Fitted) -> list[str]:
    certificate = results.certificate
    odds = promise.odds(certificate.guarantee)
    risk = [] if odds is None else ["<h3>What one person risks</h3>", paragraphs(*promise.risk(certificate.guarantee))]
    findings = [(f.what, "holds" if f.ok else "FAILS", f.detail) for f in certificate.check()]
    statement = certificate.words().splitlines()
    terms = meanings([*statement, *(text for finding in findings for text in finding)])
    return [
        paragraphs(*statement),
        *risk,
        "" if odds is None else table(*odds, "values"),
        "" if odds is None else paragraphs(*promise.exception(certificate.guarantee), kind="notes"),
        "<h3>What is not promised</h3>",
        bullets(promise.limits(certificate)),
        "<h3>What was checked</h3>",
        table(("what", "", "detail"), findings),
        *(["<h3>What these words mean</h3>", table(("", ""), terms, "facts")] if terms else []),
    ]


def _budget(results: Fitted) -> list[str]:
    shares = plots.budget_shares(results.certificate)
    if not results.certificate.events:
        return [paragraphs("Nothing was computed from the data, so nothing was spent.")]
    if not shares:
        return [paragraphs("There are no shares of mu² to show: not everything below is Gaussian noise on sums.")]
    words = "Bar chart of shares of mu squared: " + ", ".join(f"{name} {100 * part:.3g} %" for name, part in shares)
    return [
        figure(
            svg(plots.budget_plot(results.certificate), "budget", words),
            "How the privacy budget was divided. mu² is the quantity that adds up over Gaussian releases; a larger "
            "share means less noise on that statistic. X stands for the features, y for the outcome.",
        )
    ]


def _noise(released: ReleasedMoments | None) -> list[str]:
    if released is None:
        return [paragraphs("Not shown: this report was made without the release file, which holds the noisy numbers.")]
    words = "; ".join(
        f"{name}: {sum(values < plots.HIDDEN)} of {len(values)} released numbers are hidden in noise"
        for name, _, values in plots.signal_to_noise(released)
    )
    return [
        figure(
            svg(plots.noise_plot(released), "noise", f"Strip plot. {words}."),
            f"Each mark is one released number. Those left of the dashed line (crosses) are below {plots.HIDDEN:g} "
            "standard deviations of their noise: nobody can tell them from zero, and neither can the model. Numbers "
            "near zero are normal where two columns have nothing to do with each other.",
        )
    ]


def _verify(results: Fitted) -> list[str]:
    name = f"{results.target}.release.json"
    return [
        paragraphs(
            "Anyone who has the release file can check it without the data. The check recomputes the cost of the noise "
            "from the bounds and compares it with the promise; exit code 0 means that it adds up. FILE stands for the "
            f"release file, for example {name}."
        ),
        code("discreet check FILE"),
        paragraphs(
            f"The release with these numbers has the SHA-256 digest {results.release}."
            if results.release
            else "This model was saved by an older version, which did not keep the digest of the release.",
            "The digest finds damage and careless edits, not forgery: if it matters who made the file, it must be "
            "signed.",
        ),
    ]
