"""How the budget is split, and what public outcomes tell besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.data.public_outcomes import PublicOutcomes
from discreet.domain import CONSTANT, Domain
from discreet.privacy import gdp, sensitivity
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.split import Sizes, shares_of
from discreet.released.equations import NormalEquations
from discreet.released.solve.projection import Spectrum, project


def split_budget(
    domain: Domain,
    design: Sequence[str],
    outcomes: Sequence[str],
    promise: Guarantee,
    n: float | None = None,
    gram_share: float | None = None,
) -> dict[str, float]:
    """How mu^2 is split between X'X, X'Y and y'y, from public figures; n is given where outcomes are public."""
    norms = sensitivity.norm(design, domain), sensitivity.norm(outcomes, domain)
    sizes = Sizes(len(design), len(outcomes), *norms, promise.neighbors, n)
    if n is None:
        split = shares_of(sizes)
    else:
        g = sizes.projected_share(gdp.mu(epsilon=promise.epsilon, delta=promise.delta))
        split = {"gram": g, "cross": 1 - g, "squares": 0.0}
    if gram_share is None:
        return split
    rest = (1 - gram_share) / (split["cross"] + split["squares"])
    return {name: gram_share if name == "gram" else rest * share for name, share in split.items()}


def with_squares(e: NormalEquations, public: PublicOutcomes) -> NormalEquations:
    """The equations with y'y of public outcomes, which needs no noise; a little is named, for solvers divide by it."""
    return replace(e, squares=public.squares, s_yy=1e-6 * public.n)


def projected(e: NormalEquations, public: PublicOutcomes, R: float) -> NormalEquations:
    """The equations with X'Y projected, and with 1'Y of public outcomes, which needs no noise."""
    n = float(public.n)
    spectrum = Spectrum.of_rows(public.rows) if public.gram is None and public.rows is not None else None
    if spectrum is None:
        spectrum = Spectrum.of_gram(np.asarray(public.gram))
    found = project(e.V / n, spectrum, n, R)
    V = n * found.G
    if e.names[0] == CONSTANT:
        V[0] = public.sums
    return replace(e, V=V, s_V=e.s_V * np.maximum(found.noise, 1e-12))
