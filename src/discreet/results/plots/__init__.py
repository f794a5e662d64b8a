"""Pictures of released objects and of privacy; each returns a matplotlib figure."""

from discreet.results.plots.curves import path_plot, privacy_plot, utility_plot
from discreet.results.plots.releases import (
    HIDDEN,
    budget_plot,
    budget_shares,
    coefficient_plot,
    comparison_plot,
    noise_plot,
    signal_to_noise,
)

__all__ = [
    "HIDDEN",
    "budget_plot",
    "budget_shares",
    "coefficient_plot",
    "comparison_plot",
    "noise_plot",
    "path_plot",
    "privacy_plot",
    "signal_to_noise",
    "utility_plot",
]
