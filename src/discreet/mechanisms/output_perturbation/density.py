"""The density of output perturbation, given the table: C theta ~ N(C theta_hat, I/gamma)."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit.densities import Density, Shown, normal
from discreet.audit.laws import ReleaseDensity, density_of
from discreet.mechanisms.output_perturbation.event import OutputEvent
from discreet.mechanisms.posterior_sampling.density import before, fit_of


@density_of(OutputEvent)
def _output(event: OutputEvent, law: ReleaseDensity, shown: Shown) -> Density:
    fit, d = fit_of(event, law, shown), len(event.design)
    C = np.reshape(event.root, (d, d)) if event.root else np.eye(d)
    return before(event, fit) + normal(math.sqrt(event.gamma) * C @ (shown.theta - fit.theta))
