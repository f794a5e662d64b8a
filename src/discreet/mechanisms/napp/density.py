"""The density of coefficients by NAPP-ERM, where the augmented rows are those of ridge regression."""

from __future__ import annotations

from typing import cast

import numpy as np

from discreet.audit.densities import Density, Shown, spherical
from discreet.audit.laws import ReleaseDensity, density_of
from discreet.domain import CONSTANT
from discreet.mechanisms.napp.event import NappEvent
from discreet.mechanisms.objective_perturbation.event import Noise


@density_of(NappEvent)
def _napp(event: NappEvent, law: ReleaseDensity, shown: Shown) -> Density | None:
    """The density for ridge regression in the limit of many augmented rows; None otherwise."""
    plain = (event.loss, event.regularizer, event.selection) == ("linear", "ridge", "none")
    if not plain or event.augmented is not None or event.rounds:
        return None
    G, v = law.products(event.design, event.target, shown.domain)
    slopes = np.array([name != CONSTANT for name in event.design])
    quadratic = np.diag(np.maximum(event.modulus, np.where(slopes, 2 * event.strength, 0.0)))
    b = (v - (G + quadratic) @ shown.theta) / event.scale
    return spherical(b, float(np.linalg.slogdet(G + quadratic)[1]), cast(Noise, event.noise))
