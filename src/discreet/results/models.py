"""The models that can be fitted to a release, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core import checks
from discreet.errors import ParameterError
from discreet.released.moments import ReleasedMoments
from discreet.released.solve.equations import NormalEquations
from discreet.released.solve.noise_aware import noise_aware
from discreet.released.solve.ridge import ridge
from discreet.results.penalised import L1_RATIOS, check_options, fit_penalised
from discreet.results.results import Results, results


def fit_equations(released: ReleasedMoments, e: NormalEquations, model: str, options: Mapping[str, Any]) -> Results:
    """Solve normal equations by a named model."""
    checks.choice("model", model, ("noise-aware", *L1_RATIOS, "ols"))
    if model in L1_RATIOS:
        return fit_penalised(released, e, model, *check_options(model, options))
    if options:
        raise ParameterError(f"model={model!r} has no option {min(options)!r}.")
    return results(released, e, noise_aware(e) if model == "noise-aware" else ridge(e.S, e.v, 0.0), model)
