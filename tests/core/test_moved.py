"""Old names of modules and exports: they lead to the new ones, with a warning at the line that uses them."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import discreet
from discreet import DiscreetWarning
from discreet.core.moved import MOVED

PAPERS = {
    "ada_ops": "AdaOPS", "ada_ssp": "AdaSSP", "const_ssp": "ConstSSP", "napp": "NAPP", "napp.estimator": "NAPP",
    "noisy_gradient_descent": "NoisyGradientDescent", "noisy_sgd": "NoisySGD",
    "objective_perturbation": "ObjectivePerturbation", "ops": "OPS", "output_perturbation": "OutputPerturbation",
    "reuse_cov": "ReuseCov", "ssp": "SSP", "subsample_aggregate": "SubsampleAggregate", "trivial": "TrivialRegressor",
}  # fmt: skip
"""The modules of the papers' methods in 0.2.0, and their estimators."""


@pytest.fixture
def anew(monkeypatch):
    """Import a module as if for the first time."""

    def load(name):
        for known in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, known)
        return importlib.import_module(name)

    return load


@pytest.mark.parametrize("name", MOVED)
def test_an_old_module_names_its_new_place(name, anew):
    with pytest.warns(DiscreetWarning, match=rf"discreet\.{name} is now {MOVED[name][0]}"):
        anew(f"discreet.{name}")
    for home in MOVED[name]:
        importlib.import_module(home)


@pytest.mark.parametrize(("name", "estimator"), PAPERS.items())
def test_the_methods_of_papers_are_found_where_they_were(name, estimator, anew):
    with pytest.warns(DiscreetWarning):
        assert getattr(anew(f"discreet.papers.{name}"), estimator) is getattr(discreet, estimator)


def test_every_folder_of_the_package_is_an_attribute_of_it():
    folders = [found.name for found in pkgutil.iter_modules(discreet.__path__) if found.ispkg]
    asked = "import discreet\nfor name in {folders}: getattr(discreet, name)"
    subprocess.run([sys.executable, "-c", asked.format(folders=folders)], check=True)
