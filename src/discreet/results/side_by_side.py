"""Several fitted models: which fit their intervals are about, and what their releases promise together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.privacy import accounting
from discreet.released.units import column_of
from discreet.results.estimands import Estimand
from discreet.results.inference import JointInference
from discreet.results.released_model import ReleasedModel
from discreet.results.results import Results

ABOUT: dict[Estimand, str] = {
    "declared": "the fit to the whole table, with every column clipped to its bounds.",
    "bounded": "bounded fits, in which rows far from the others count less.",
}


def fitted_model(model: Any) -> Any:
    """Return the results of a fitted estimator or of a released model; anything else unchanged."""
    return model.results() if isinstance(model, ReleasedModel) else getattr(model, "results_", model)


def estimands(models: Sequence[Results]) -> set[Estimand]:
    """Return the estimands that the intervals are about."""
    return {own.estimand for fitted in models if isinstance(own := fitted.joint, JointInference)}


def about_one_fit(models: Sequence[Results]) -> tuple[Results, ...]:
    """Return models whose intervals are about the same fit: least squares where they differ and all have it."""
    if len(estimands(models)) < 2:
        return tuple(models)
    whole = all(fitted.family.linear or is_charged(fitted) for fitted in models)
    estimand: Estimand = "declared" if whole else "bounded"
    return tuple(fitted.about(estimand) for fitted in models)


def is_charged(fitted: Results) -> bool:
    """Whether intervals about the declared fit can be had."""
    return not isinstance(fitted.inference, Unavailable) and fitted.inference.charged


def reference_levels(fitted: Results, name: str) -> Any:
    """Return what a coefficient is against: the class, and the levels of its column without a coefficient."""
    domain, name = fitted.certificate.domain, fitted.coordinate(name)
    own = [] if name == CONSTANT else domain.positions[column_of(domain, name)]
    levels = [domain.entries[i].name for i in own if domain.entries[i].name not in fitted.names]
    return fitted.reference_class, levels


def epsilon_together(models: Sequence[Results]) -> float | None:
    """The exact epsilon of several releases for people in all of them, at the largest delta; None if there is none."""
    releases = {fitted.release: fitted.certificate for fitted in models}
    promises = [certificate.guarantee for certificate in releases.values()]
    alike = len({g.neighbors for g in promises}) == 1 and all(g.status == "verified" for g in promises)
    if not alike or len(releases) < 2 or not all(releases):
        return None
    events = [event for certificate in releases.values() for event in certificate.events]
    found = accounting.epsilon(events, max(g.delta for g in promises))
    return found if math.isfinite(found) else None  # deltas of promises that are not of Gaussian noise add up
