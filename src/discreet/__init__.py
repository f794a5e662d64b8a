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
    from discreet.errors import BudgetError, DiscreetError, DiscreetWarning, LedgerError
    from discreet.gate.release import release
    from discreet.ledger import Ledger
    from discreet.ledger.budget import Budget
    from discreet.models.glm import DPLinearSVC, DPLogisticRegression, DPPoissonRegression
    from discreet.models.linear import DPLinearRegression
    from discreet.models.penalised import DPElasticNet, DPLasso, DPRidge
    from discreet.papers.ada_ops import AdaOPS
    from discreet.papers.ada_ssp import AdaSSP
    from discreet.papers.const_ssp import ConstSSP
    from discreet.papers.napp import NAPP, NappAugmentation, NappConstants, NappRecycling, NappShape
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
    from discreet.results.checking import CheckReport, check, load
    from discreet.results.comparison import Comparison, compare
    from discreet.results.many_results import ManyResults
    from discreet.results.models import Selection
    from discreet.results.private_moments import PrivateMoments
    from discreet.results.results import Results

__version__ = "0.3.0.dev0"

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
    "ManyResults",
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
    "Results",
    "ReuseCov",
    "Selection",
    "SubsampleAggregate",
    "TrivialRegressor",
    "check",
    "compare",
    "formula",
    "load",
    "per_instance",
    "plan",
    "release",
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
    "discreet.gate.release": ("release",),
    "discreet.ledger": ("Ledger",),
    "discreet.ledger.budget": ("Budget",),
    "discreet.models.glm": ("DPLinearSVC", "DPLogisticRegression", "DPPoissonRegression"),
    "discreet.models.linear": ("DPLinearRegression",),
    "discreet.models.penalised": ("DPElasticNet", "DPLasso", "DPRidge"),
    "discreet.papers.ada_ops": ("AdaOPS",),
    "discreet.papers.ada_ssp": ("AdaSSP",),
    "discreet.papers.const_ssp": ("ConstSSP",),
    "discreet.papers.napp": ("NAPP", "NappAugmentation", "NappConstants", "NappRecycling", "NappShape"),
    "discreet.papers.noisy_gradient_descent": ("NoisyGradientDescent",),
    "discreet.papers.noisy_sgd": ("NoisySGD",),
    "discreet.papers.objective_perturbation": ("ObjectivePerturbation",),
    "discreet.papers.ops": ("OPS",),
    "discreet.papers.output_perturbation": ("OutputPerturbation",),
    "discreet.papers.reuse_cov": ("ReuseCov",),
    "discreet.papers.ssp": ("SSP",),
    "discreet.papers.subsample_aggregate": ("SubsampleAggregate",),
    "discreet.papers.trivial": ("TrivialRegressor",),
    "discreet.planning": (
        "Plan",
        "plan",
    ),
    "discreet.results.checking": ("CheckReport", "check", "load"),
    "discreet.results.comparison": (
        "Comparison",
        "compare",
    ),
    "discreet.results.many_results": ("ManyResults",),
    "discreet.results.private_moments": ("PrivateMoments",),
    "discreet.results.results": ("Results",),
    "discreet.results.models": ("Selection",),
}
"""Where each exported name is defined; it is loaded when it is first used."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}
_FOLDERS = (
    "audit",
    "cli",
    "client",
    "core",
    "data",
    "domain",
    "errors",
    "gate",
    "ledger",
    "models",
    "papers",
    "per_instance",
    "planning",
    "privacy",
    "released",
    "results",
    "service",
)

moved.lead()


def __getattr__(name: str) -> Any:
    """An exported name, from its home."""
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
