"""Differentially private regression with guarantees that can be checked."""

__version__ = "0.1.0"

import discreet.cli.starting  # noqa: F401

# isort: split
from discreet import per_instance
from discreet.data.moments import Moments
from discreet.domain import Domain
from discreet.domain.formula import formula
from discreet.errors import BudgetError, DiscreetError, DiscreetWarning
from discreet.gate.moments import release
from discreet.models.dp_elastic_net import DPElasticNet
from discreet.models.dp_lasso import DPLasso
from discreet.models.dp_linear import DPLinearRegression
from discreet.models.dp_logistic import DPLogisticRegression
from discreet.models.dp_poisson import DPPoissonRegression
from discreet.models.dp_ridge import DPRidge
from discreet.models.dp_svc import DPLinearSVC
from discreet.papers.ada_ops import AdaOPS
from discreet.papers.ada_ssp import AdaSSP
from discreet.papers.const_ssp import ConstSSP
from discreet.papers.napp import NAPP
from discreet.papers.noisy_gradient_descent import NoisyGradientDescent
from discreet.papers.noisy_sgd import NoisySGD
from discreet.papers.objective_perturbation import ObjectivePerturbation
from discreet.papers.ops import OPS
from discreet.papers.output_perturbation import OutputPerturbation
from discreet.papers.reuse_cov import ReuseCov
from discreet.papers.ssp import SSP
from discreet.papers.subsample_aggregate import SubsampleAggregate
from discreet.papers.trivial import TrivialRegressor
from discreet.planning import Plan, plan
from discreet.privacy.budget import Budget
from discreet.results.comparison import Comparison, compare
from discreet.results.many_results import ManyResults
from discreet.results.models import Selection
from discreet.results.private_moments import PrivateMoments
from discreet.results.results import Results

__all__ = [
    "NAPP",
    "OPS",
    "SSP",
    "AdaOPS",
    "AdaSSP",
    "Budget",
    "BudgetError",
    "Comparison",
    "ConstSSP",
    "DPElasticNet",
    "DPLasso",
    "DPLinearRegression",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DPPoissonRegression",
    "DPRidge",
    "DiscreetError",
    "DiscreetWarning",
    "Domain",
    "ManyResults",
    "Moments",
    "NoisyGradientDescent",
    "NoisySGD",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Plan",
    "PrivateMoments",
    "Results",
    "ReuseCov",
    "Selection",
    "SubsampleAggregate",
    "TrivialRegressor",
    "compare",
    "formula",
    "per_instance",
    "plan",
    "release",
]
