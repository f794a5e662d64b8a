"""Differentially private regression with guarantees that can be checked."""

__version__ = "0.1.0"

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
from discreet.moments import Moments
from discreet.privacy.budget import Budget
from discreet.release import release
from discreet.released import PrivateMoments
from discreet.results import Results
from discreet.sampling import OPS, AdaOPS, NoisyGradientDescent, NoisySGD, OutputPerturbation, SubsampleAggregate
from discreet.selection import Selection

__all__ = [
    "OPS",
    "SSP",
    "AdaOPS",
    "AdaSSP",
    "Budget",
    "BudgetError",
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
    "Moments",
    "NoisyGradientDescent",
    "NoisySGD",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "PrivateMoments",
    "Results",
    "Selection",
    "SubsampleAggregate",
    "TrivialRegressor",
    "formula",
    "release",
]
