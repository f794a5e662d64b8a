"""Posterior sampling and the other families of paper 000, one method a file."""

from discreet.sampling.ada_ops import AdaOPS
from discreet.sampling.noisy_gradient_descent import NoisyGradientDescent
from discreet.sampling.noisy_sgd import NoisySGD
from discreet.sampling.ops import OPS
from discreet.sampling.output_perturbation import OutputPerturbation
from discreet.sampling.subsample_aggregate import SubsampleAggregate

__all__ = ["OPS", "AdaOPS", "NoisyGradientDescent", "NoisySGD", "OutputPerturbation", "SubsampleAggregate"]
