"""The promise in plain words, for those responsible for the people in the table.

The gain of an attacker. For neighbours (epsilon, delta) means P(E) <= e^epsilon P'(E) + delta for every event E, both
ways. A release that keeps it tells no more than one that with probability delta tells which of the two tables it came
from, and otherwise multiplies the odds by at most e^epsilon [Kairouz, Oh, Viswanath 2015]. So a certainty p becomes at
most p e^epsilon/(1 - p + p e^epsilon), outside that case. Whether a person is in the table at all is one step between
add-remove neighbours; between two contents of a row are two steps, a removal and an addition: 2 epsilon, and
delta (1 + e^epsilon). Between replace-one neighbours the content is one step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.privacy.guarantee import Guarantee
from discreet.released.certificate import Certificate

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted

BEFORE = (0.01, 0.1, 0.5)
"""Probabilities that an attacker may assign before the release."""

_LITTLE = 10.0
"""Above this epsilon the promise means little, which estimators warn of too."""


def banners(results: Fitted) -> list[str]:
    """Warnings for the top of the page."""
    g, found = results.certificate.guarantee, results.certificate.check()
    texts = {
        "simulation": f"SIMULATION. These numbers promise no privacy and must not be published. {g.reason}",
        "claimed": f"CLAIMED, NOT VERIFIED. A paper states this guarantee; discreet does not vouch for it. {g.reason}",
    }
    failed = [f.what for f in found if not f.ok and not f.what.startswith("status")]
    wrong = [f"CHECK FAILED: {', '.join(failed)}. The noise does not keep the promise."] if failed else []
    return [*([texts[g.status]] if g.status in texts else []), *wrong]


def odds(guarantee: Guarantee) -> tuple[tuple[str, ...], list[tuple[str, ...]]] | None:
    """A table of how certain an attacker can become; None where nothing is promised."""
    if guarantee.status == "simulation":
        return None
    e = guarantee.epsilon
    if guarantee.neighbors == "replace-one":
        columns = ("certain before", "after, of what the row says: at most")
        return columns, [(_percent(p), _percent(at_most(p, e))) for p in BEFORE]
    both = ("after, that the person is in the table: at most", "after, of what the person's row says: at most")
    return ("certain before", *both), [
        (_percent(p), _percent(at_most(p, e)), _percent(at_most(p, 2 * e))) for p in BEFORE
    ]


def at_most(before: float, epsilon: float) -> float:
    """Compute how certain somebody can become whose odds grow by e^epsilon."""
    return 1 / (1 + (1 - before) / before * math.exp(-epsilon))


def risk(guarantee: Guarantee) -> list[str]:
    """Text on the risk of one person, before the table."""
    condition = "If the paper's statement holds, this" if guarantee.status == "claimed" else "This"
    texts = [
        "The promise bounds what anyone can learn of one person because that person's row is in the table. Suppose "
        "that someone knows every other row, suspects something about one person, and then reads the release. "
        f"{condition} is how certain they can become at most:"
    ]
    if guarantee.epsilon > _LITTLE:
        texts.insert(0, f"Epsilon = {guarantee.epsilon:g} is so large that the promise means little.")
    return texts


def exception(guarantee: Guarantee) -> list[str]:
    """Text on what the table leaves out."""
    d, e = guarantee.delta, guarantee.epsilon
    one_in = f" (1 in {1 / d:,.0f})" if d > 0 else ""
    text = f"Outside a case of probability delta = {d:g}{one_in}, in which nothing is promised."
    if guarantee.neighbors == "add-remove":
        content = min(1.0, d * (1 + math.exp(min(e, 700.0))))
        text += (
            " What a row says is two steps away, a removal and an addition: the odds can grow by e^epsilon twice, and "
            f"the probability is {content:.3g}."
        )
    return [text]


def limits(certificate: Certificate) -> list[str]:
    """Text on the limits of the guarantee."""
    person, replaced = certificate.domain.unit.person, certificate.guarantee.neighbors == "replace-one"
    size = f"The number of {'rows' if person is None else 'persons'} is not hidden. " if replaced else ""
    whose = f"All rows that {person!r} tells to be one person's are protected together. People who stand under several"
    whose = "One row is one person. People with several rows" if person is None else whose
    return [
        "What is true of people in general is not hidden: it is what the release is for. If it tells that smokers stay "
        "longer, that holds for a smoker who is not in the table too.",
        f"{size}{whose}, or whose rows are linked, are protected less.",
        "Every release of the same people counts. This promise is about this release alone; the costs of several add "
        "up, whoever makes them.",
        "The table itself, its backups, error messages and running times are not covered.",
        "Bounds, levels and features are taken to be chosen without looking at the data.",
    ]


def _percent(p: float) -> str:
    if p > 0.9995:
        return "above 99.9 %"
    return f"{100 * p:.3g} %"
