"""Old names of modules that have moved: they still work, with a warning that names the new module."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from discreet.errors import DiscreetWarning

MOVED = {
    "multi": ("discreet.mechanisms.reuse_covariance.estimator", "discreet.planning.theory"),
    "papers": ("discreet.mechanisms",),
    "papers.ada_ops": ("discreet.mechanisms.posterior_sampling.adaptive_estimator",),
    "papers.ada_ssp": ("discreet.mechanisms.sufficient_statistics.ada_ssp",),
    "papers.const_ssp": ("discreet.mechanisms.sufficient_statistics.const_ssp",),
    "papers.napp": ("discreet.mechanisms.napp.estimator",),
    "papers.napp.estimator": ("discreet.mechanisms.napp.estimator",),
    "papers.noisy_gradient_descent": ("discreet.mechanisms.gradient_descent.estimator",),
    "papers.noisy_sgd": ("discreet.mechanisms.gradient_descent.batches_estimator",),
    "papers.objective_perturbation": ("discreet.mechanisms.objective_perturbation.estimator",),
    "papers.ops": ("discreet.mechanisms.posterior_sampling.estimator",),
    "papers.output_perturbation": ("discreet.mechanisms.output_perturbation.estimator",),
    "papers.registry": ("discreet.mechanisms.registry",),
    "papers.reuse_cov": ("discreet.mechanisms.reuse_covariance.estimator",),
    "papers.ssp": ("discreet.mechanisms.sufficient_statistics.ssp",),
    "papers.subsample_aggregate": ("discreet.mechanisms.subsample_aggregate.estimator",),
    "papers.trivial": ("discreet.mechanisms.sufficient_statistics.trivial",),
    "plots": ("discreet.results.plots", "discreet.planning.theory"),
    "privacy.certificate": ("discreet.released.certificate",),
    "privacy.events.iterates": ("discreet.mechanisms.gradient_descent.event",),
    "privacy.events.napp": ("discreet.mechanisms.napp.event",),
    "registry": ("discreet.mechanisms.registry",),
    "report": ("discreet.results.report",),
    "theory": ("discreet.planning.theory",),
}
"""Old module names below ``discreet``, and the modules that now hold their contents."""

RENAMED = {"ManyResults": "Results"}
"""Old names in ``discreet``, and their new names."""


def renamed(name: str) -> str:
    """Return the new name of a renamed export, with a warning."""
    warnings.warn(f"discreet.{name} is now discreet.{RENAMED[name]}.", DiscreetWarning, stacklevel=3)
    return RENAMED[name]


class Moved(ModuleType):
    """A module under its old name."""

    def __getattr__(self, name: str) -> Any:
        """Load a name of the old module from its new module."""
        homes = MOVED[self.__name__.removeprefix("discreet.")]
        if not name.startswith("__"):
            for home in homes:
                if hasattr(found := importlib.import_module(home), name):
                    return getattr(found, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}; it is now {' and '.join(homes)}")


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        known = package == "discreet" and name in MOVED
        holds = any(other.startswith(f"{name}.") for other in MOVED)
        return ModuleSpec(fullname, self, is_package=holds) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Moved(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        homes = " and ".join(MOVED[module.__name__.removeprefix("discreet.")])
        warnings.warn(f"{module.__name__} is now {homes}.", DiscreetWarning, stacklevel=2)


def lead() -> None:
    """Make the old names importable."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
