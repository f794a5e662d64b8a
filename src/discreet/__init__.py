"""Differentially private regression with guarantees that can be checked."""

__version__ = "0.1.0"

import discreet.starting  # noqa: F401

# isort: split
from discreet import per_instance
from discreet.comparison import Comparison, compare
from discreet.domain import Domain
from discreet.errors import BudgetError, DiscreetError, DiscreetWarning
from discreet.formula import formula
from discreet.glm import DPLinearSVC, DPLogisticRegression, DPPoissonRegression, ObjectivePerturbation
from discreet.linear import (
    SSP,
    AdaSSP,
    ConstSSP,
    DPElasticNet,
    DPLasso,
    DPLinearRegression,
    DPRidge,
    TrivialRegressor,
)
from discreet.many_results import ManyResults
from discreet.moments import Moments
from discreet.multi import ReuseCov
from discreet.napp import NAPP
from discreet.planning import Plan, plan
from discreet.privacy.budget import Budget
from discreet.release import release
from discreet.released import PrivateMoments
from discreet.results import Results
from discreet.sampling import OPS, AdaOPS, NoisyGradientDescent, NoisySGD, OutputPerturbation, SubsampleAggregate
from discreet.selection import Selection

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
