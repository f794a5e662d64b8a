"""The methods, by name: their sources and their guarantees."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.core import checks
from discreet.errors import ParameterError
from discreet.mechanisms.gradient_descent.batches_estimator import NoisySGD
from discreet.mechanisms.gradient_descent.estimator import NoisyGradientDescent
from discreet.mechanisms.napp.estimator import NAPP
from discreet.mechanisms.objective_perturbation.estimator import ObjectivePerturbation
from discreet.mechanisms.output_perturbation.estimator import OutputPerturbation
from discreet.mechanisms.posterior_sampling.adaptive_estimator import AdaOPS
from discreet.mechanisms.posterior_sampling.estimator import OPS
from discreet.mechanisms.reuse_covariance.estimator import ReuseCov
from discreet.mechanisms.subsample_aggregate.estimator import SubsampleAggregate
from discreet.mechanisms.sufficient_statistics.ada_ssp import AdaSSP
from discreet.mechanisms.sufficient_statistics.const_ssp import ConstSSP
from discreet.mechanisms.sufficient_statistics.ssp import SSP
from discreet.models.base import PrivateEstimator
from discreet.models.glm import DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.models.linear import DPLinearRegression
from discreet.models.penalised import DPElasticNet, DPLasso, DPRidge


@dataclass(frozen=True)
class Method:
    """One estimator as users choose it."""

    estimator: type[PrivateEstimator]
    source: str
    summary: str

    @property
    def name(self) -> str:
        """The name of the estimator."""
        return self.estimator.__name__

    @property
    def status(self) -> str:
        """The status in certificates: verified, or claimed for the printed constants of a paper."""
        papers = ", ".join(self.estimator.papers)
        return f"verified; published {papers}: claimed" if papers else "verified"


METHODS = (
    Method(DPLinearRegression, "ours", "noise-aware posterior mean, outcome bounds narrowed privately; the default"),
    Method(DPRidge, "ours", "ridge whose penalty is chosen on the release, at no cost"),
    Method(DPLasso, "ours", "lasso: some coefficients are zero; penalty chosen on the release"),
    Method(DPElasticNet, "ours", "elastic net between the two; penalty chosen on the release"),
    Method(
        AdaSSP,
        "wang2018 algorithm 2; piazza2021 algorithms 2, 3",
        "ridge whose penalty adapts to a private least eigenvalue",
    ),
    Method(ConstSSP, "piazza2021 algorithm 4", "ridge whose penalty depends on public facts only"),
    Method(ReuseCov, "neel2023 algorithms 1 to 4", "many outcomes on the same features, from one release"),
    Method(SSP, "wang2018 section 3.2; piazza2021 algorithm 1", "plain noisy normal equations; a baseline"),
    Method(DPLogisticRegression, "ours; li2021", "classes by logistic regression, objective perturbation"),
    Method(DPPoissonRegression, "ours; li2021", "counts by Poisson regression, objective perturbation"),
    Method(DPLinearSVC, "ours; li2021", "classes by a linear support-vector machine, objective perturbation"),
    Method(ObjectivePerturbation, "wang2018 section 3.2", "least squares by objective perturbation; for comparison"),
    Method(NAPP, "li2021 algorithms 1, 2", "weights that follow the coefficients, or a fixed penalty; for comparison"),
    Method(AdaOPS, "wang2018 algorithm 1; wang2017 algorithm 1", "a posterior sample that adapts to private figures"),
    Method(OPS, "wang2018 appendix F", "a posterior sample, calibrated from public facts; for comparison"),
    Method(
        OutputPerturbation, "wang2017 section 4", "ridge coefficients with noise of one of three shapes; for comparison"
    ),
    Method(NoisyGradientDescent, "wang2018 section 3.2", "gradient descent with noise, stopped early; for comparison"),
    Method(NoisySGD, "wang2018 section 3.2", "the same on sampled batches of rows; for comparison"),
    Method(SubsampleAggregate, "wang2018 section 3.2", "mean of fits to disjoint random blocks; for comparison"),
)
DEFAULT = METHODS[0].name


def find(name: str) -> Method:
    """A method by its name, in any case.

    Examples
    --------
    >>> find("adassp").name
    'AdaSSP'
    """
    for method in METHODS:
        if isinstance(name, str) and method.name.lower() == name.lower():
            return method
    raise ParameterError(f"There is no method {checks.shown(name)}. Known: {', '.join(m.name for m in METHODS)}.")
