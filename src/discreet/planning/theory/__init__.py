"""Bounds on accuracy and privacy loss from the papers, corrected where they do not hold.

Bounds hold as they stand, with their constants; rates are orders, with constant 1. See ``docs/research/theory.md``.
"""

from discreet.planning.theory.adaptive import (
    adaops_covariance,
    adaops_rate,
    adassp_bound,
    adassp_penalty,
    adassp_rate,
    overestimate,
)
from discreet.planning.theory.equations import (
    MomentNoise,
    equations_noise,
    estimation_bound,
    excess_bound,
    gram_noise_bound,
    relative_efficiency,
)
from discreet.planning.theory.losses import ModelLosses, conditioned_loss, leverage_loss, model_losses, worst_loss
from discreet.planning.theory.outcomes import Regime, paper_baseline, regime, reuse_cost, reuse_rate, sampling_excess
from discreet.planning.theory.perturbed import (
    augmentation_spread,
    excess_risk,
    lasso_shortfall,
    perturbation_size,
    rows_needed,
)
from discreet.planning.theory.plots import free_region_plot, lower_bounds_plot
from discreet.planning.theory.posterior import (
    ops_bound,
    ops_rate,
    posterior_distance,
    posterior_efficiency,
    posterior_excess,
)
from discreet.planning.theory.rates import (
    conditioned_from,
    cramer_rao,
    efficiency_rates,
    estimation_errors,
    free_epsilon,
    learning_rate,
    minimax_estimation,
    minimax_prediction,
    optimisation_errors,
    private_lower_bound,
)
from discreet.planning.theory.sampled import association_bound, sampled_bound, sampled_rate

__all__ = [
    "ModelLosses", "MomentNoise", "Regime", "adaops_covariance", "adaops_rate", "adassp_bound", "adassp_penalty",
    "adassp_rate", "association_bound", "augmentation_spread", "conditioned_from", "conditioned_loss", "cramer_rao",
    "efficiency_rates", "equations_noise", "estimation_bound", "estimation_errors", "excess_bound", "excess_risk",
    "free_epsilon", "free_region_plot", "gram_noise_bound", "lasso_shortfall", "learning_rate", "leverage_loss",
    "lower_bounds_plot", "minimax_estimation", "minimax_prediction", "model_losses", "ops_bound", "ops_rate",
    "optimisation_errors", "overestimate", "paper_baseline", "perturbation_size", "posterior_distance",
    "posterior_efficiency", "posterior_excess", "private_lower_bound", "regime", "relative_efficiency",
    "reuse_cost", "reuse_rate", "rows_needed", "sampled_bound", "sampled_rate", "sampling_excess", "worst_loss",
]  # fmt: skip
