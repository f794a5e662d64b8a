"""The noise of paper 004 as it is printed, and why we do not vouch for it: errata E16 and E17.

With L = sqrt(2 log(2.5/delta)), B and T the bounds on the norms of a row's regressors and of its outcomes, and for sums
where the paper has means:

    X'X    2 L B^2/epsilon in every entry                                   algorithms 1 and 3
    X'Y    2 L B T/epsilon: the Gaussian mechanism at (epsilon/2, delta/2)  algorithms 1 to 4
    X'X of a share q of the rows, epsilon_1 = epsilon/(2 q): 2 q L B^2/epsilon_1   algorithm 4

Lemma 1 prints epsilon inside the root; we take it outside, as in the source that the lemma cites and in the appendix.
"""

from __future__ import annotations

import math

from discreet.domain import Domain
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.kinds import Event
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent
from discreet.privacy.guarantee import Guarantee

E16 = (
    "erratum E16: the printed noise is for changes of B^2 in X'X and sqrt(l) B Y in X'Y, which under replace-one are "
    "sqrt(2) B^2 and 2 sqrt(l) B Y. The recomputed epsilon is exact."
)
E17 = (
    "erratum E17: a share q of the rows is said to multiply epsilon by q, which holds for tiny epsilon only; and the "
    "noise is scaled for all rows. The recomputed epsilon is exact."
)


def printed_events(
    domain: Domain,
    design: tuple[str, ...],
    outcomes: tuple[str, ...],
    promise: Guarantee,
    rate: float | None,
    norm: float | None,
) -> tuple[tuple[Event, ...], str]:
    """What the paper releases, with its noise, and the reason for the status `claimed`."""
    B, T = sensitivity.norm(design, domain), sensitivity.norm(outcomes, domain) if norm is None else norm
    L, epsilon = math.sqrt(2 * math.log(2.5 / promise.delta)), promise.epsilon
    s_xx = 2 * L * B**2 / epsilon if rate is None else 2 * rate * L * B**2 / (epsilon / (2 * rate))
    gram, cross = Block("gram", design, (), s_xx, "uniform"), Block("cross", design, outcomes, 2 * L * B * T / epsilon)

    def gaussian(*blocks: Block) -> Event:
        return GaussianEvent(sensitivity.mu(blocks, domain, promise.neighbors), blocks)

    if rate is None and norm is None:
        return (gaussian(gram, cross),), E16
    first = gaussian(gram)
    if rate is not None:
        full = sensitivity.mu([gram], domain, promise.neighbors)
        first = SampledEvent(rate, full, (gram,), promise.neighbors)
    second = gaussian(cross)
    if norm is not None:
        second = PublicOutcomesEvent(sensitivity.public_mu([cross], domain, norm), norm, (cross,))
    return (first, second), E16 if rate is None else E17
