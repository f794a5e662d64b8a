"""Differentially private regression with guarantees that can be checked."""

__version__ = "0.1.0"

from discreet import per_instance
from discreet.domain import Domain
from discreet.errors import BudgetError, DiscreetError, DiscreetWarning
from discreet.formula import formula
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
from discreet.selection import Selection

__all__ = [
    "SSP",
    "AdaSSP",
    "Budget",
    "BudgetError",
    "ConstSSP",
    "DPElasticNet",
    "DPLasso",
    "DPLinearRegression",
    "DPRidge",
    "DiscreetError",
    "DiscreetWarning",
    "Domain",
    "Moments",
    "PrivateMoments",
    "Results",
    "Selection",
    "TrivialRegressor",
    "formula",
    "per_instance",
    "release",
]
