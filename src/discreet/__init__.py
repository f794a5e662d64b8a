"""Differentially private regression with guarantees that can be checked."""

__version__ = "0.1.0"

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
from discreet.many_results import ManyResults
from discreet.moments import Moments
from discreet.multi import ReuseCov
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
    "ManyResults",
    "Moments",
    "PrivateMoments",
    "Results",
    "ReuseCov",
    "Selection",
    "TrivialRegressor",
    "formula",
    "release",
]
