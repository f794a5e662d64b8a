"""Generalised linear models by objective perturbation."""

from discreet.glm.dp_logistic import DPLogisticRegression
from discreet.glm.dp_poisson import DPPoissonRegression
from discreet.glm.dp_svc import DPLinearSVC
from discreet.glm.objective_perturbation import ObjectivePerturbation

__all__ = ["DPLinearSVC", "DPLogisticRegression", "DPPoissonRegression", "ObjectivePerturbation"]
