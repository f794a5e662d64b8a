"""Differentially private regression with guarantees that can be checked."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.core import moved

if TYPE_CHECKING:
    from discreet import per_instance
    from discreet.data.moments import Moments
    from discreet.data.sources.postgres import Postgres
    from discreet.domain import Domain, FileFormat
    from discreet.domain.formula import formula
    from discreet.drivers.bounds import bounds
    from discreet.drivers.release import release
    from discreet.errors import BudgetError, DiscreetError, DiscreetWarning, LedgerError
    from discreet.ledger import Ledger
    from discreet.ledger.budget import Budget
    from discreet.mechanisms.gradient_descent.batches_estimator import NoisySGD
    from discreet.mechanisms.gradient_descent.estimator import NoisyGradientDescent
    from discreet.mechanisms.napp.estimator import NAPP
    from discreet.mechanisms.napp.options import NappAugmentation, NappConstants, NappRecycling, NappShape
    from discreet.mechanisms.objective_perturbation.estimator import ObjectivePerturbation
    from discreet.mechanisms.output_perturbation.estimator import OutputPerturbation
    from discreet.mechanisms.posterior_sampling.adaptive_estimator import AdaOPS
    from discreet.mechanisms.posterior_sampling.estimator import OPS
    from discreet.mechanisms.reuse_covariance.estimator import ReuseCov
    from discreet.mechanisms.subsample_aggregate.estimator import SubsampleAggregate
    from discreet.mechanisms.sufficient_statistics.ada_ssp import AdaSSP
    from discreet.mechanisms.sufficient_statistics.const_ssp import ConstSSP
    from discreet.mechanisms.sufficient_statistics.ssp import SSP
    from discreet.mechanisms.sufficient_statistics.trivial import TrivialRegressor
    from discreet.models.glm import DPLinearSVC, DPLogisticRegression, DPPoissonRegression
    from discreet.models.linear import DPLinearRegression
    from discreet.models.penalised import DPElasticNet, DPLasso, DPRidge
    from discreet.planning import Plan, plan
    from discreet.results.checking import CheckReport, check, load
    from discreet.results.comparison import Comparison, compare
    from discreet.results.model_table import ModelTable, table
    from discreet.results.models import Selection
    from discreet.results.private_moments import PrivateMoments
    from discreet.results.released_model import ReleasedModel
    from discreet.results.results import Results

__version__ = "0.3.0.dev1"

__all__ = [
    "NAPP",
    "OPS",
    "SSP",
    "AdaOPS",
    "AdaSSP",
    "Budget",
    "BudgetError",
    "CheckReport",
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
    "FileFormat",
    "Ledger",
    "LedgerError",
    "ModelTable",
    "Moments",
    "NappAugmentation",
    "NappConstants",
    "NappRecycling",
    "NappShape",
    "NoisyGradientDescent",
    "NoisySGD",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Plan",
    "Postgres",
    "PrivateMoments",
    "ReleasedModel",
    "Results",
    "ReuseCov",
    "Selection",
    "SubsampleAggregate",
    "TrivialRegressor",
    "bounds",
    "check",
    "compare",
    "formula",
    "load",
    "per_instance",
    "plan",
    "release",
    "table",
]

_HOMES = {
    "discreet.data.moments": ("Moments",),
    "discreet.data.sources.postgres": ("Postgres",),
    "discreet.domain": ("Domain", "FileFormat"),
    "discreet.domain.formula": ("formula",),
    "discreet.errors": (
        "BudgetError",
        "DiscreetError",
        "DiscreetWarning",
        "LedgerError",
    ),
    "discreet.drivers.bounds": ("bounds",),
    "discreet.drivers.release": ("release",),
    "discreet.ledger": ("Ledger",),
    "discreet.ledger.budget": ("Budget",),
    "discreet.models.glm": ("DPLinearSVC", "DPLogisticRegression", "DPPoissonRegression"),
    "discreet.models.linear": ("DPLinearRegression",),
    "discreet.models.penalised": ("DPElasticNet", "DPLasso", "DPRidge"),
    "discreet.mechanisms.posterior_sampling.adaptive_estimator": ("AdaOPS",),
    "discreet.mechanisms.sufficient_statistics.ada_ssp": ("AdaSSP",),
    "discreet.mechanisms.sufficient_statistics.const_ssp": ("ConstSSP",),
    "discreet.mechanisms.napp.estimator": ("NAPP",),
    "discreet.mechanisms.napp.options": ("NappAugmentation", "NappConstants", "NappRecycling", "NappShape"),
    "discreet.mechanisms.gradient_descent.estimator": ("NoisyGradientDescent",),
    "discreet.mechanisms.gradient_descent.batches_estimator": ("NoisySGD",),
    "discreet.mechanisms.objective_perturbation.estimator": ("ObjectivePerturbation",),
    "discreet.mechanisms.posterior_sampling.estimator": ("OPS",),
    "discreet.mechanisms.output_perturbation.estimator": ("OutputPerturbation",),
    "discreet.mechanisms.reuse_covariance.estimator": ("ReuseCov",),
    "discreet.mechanisms.sufficient_statistics.ssp": ("SSP",),
    "discreet.mechanisms.subsample_aggregate.estimator": ("SubsampleAggregate",),
    "discreet.mechanisms.sufficient_statistics.trivial": ("TrivialRegressor",),
    "discreet.planning": (
        "Plan",
        "plan",
    ),
    "discreet.results.checking": ("CheckReport", "check", "load"),
    "discreet.results.comparison": (
        "Comparison",
        "compare",
    ),
    "discreet.results.model_table": ("ModelTable", "table"),
    "discreet.results.private_moments": ("PrivateMoments",),
    "discreet.results.released_model": ("ReleasedModel",),
    "discreet.results.results": ("Results",),
    "discreet.results.models": ("Selection",),
}
"""The module that defines each exported name; a name is loaded when it is first used."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}
_FOLDERS = (
    "audit",
    "cli",
    "client",
    "core",
    "data",
    "domain",
    "drivers",
    "errors",
    "families",
    "gate",
    "ledger",
    "mechanisms",
    "models",
    "per_instance",
    "planning",
    "privacy",
    "recipes",
    "released",
    "results",
    "service",
    "solve",
    "statistics",
)

moved.lead()


if not TYPE_CHECKING:  # type checkers should flag names that do not exist

    def __getattr__(name: str) -> Any:
        """Load an exported name from the module that defines it."""
        if name in moved.RENAMED:
            return getattr(importlib.import_module(__name__), moved.renamed(name))
        if name in _HOME:
            value = getattr(importlib.import_module(_HOME[name]), name)
        elif name in (*_FOLDERS, *moved.MOVED):
            value = importlib.import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
