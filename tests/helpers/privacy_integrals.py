"""Divergences of posterior samples, as tests integrate them."""

import math

import numpy as np

from discreet.privacy import gdp, ops


def signed_delta(epsilon, m, r, gamma, *, without):
    """The curve of one direction for epsilons of either sign."""
    forth, back = (ops.delta, ops.delta_with) if without else (ops.delta_with, ops.delta)
    size = np.abs(epsilon)
    shrink = np.exp(-size)
    return np.where(epsilon >= 0, forth(size, m, r, gamma), 1 - shrink + shrink * back(size, m, r, gamma))


def planned_delta(plan, epsilon):
    """The delta of AdaOPS as a whole, add-remove: what its plan keeps at any epsilon."""
    return gdp.delta(plan.mu, epsilon) + plan.delta_a + plan.delta_b + plan.delta_o


def adapted(plan, lambda_min, norm, z1, z2):
    """All stages of AdaOPS: penalty, bound on residuals and precision, given the private figures and two normals."""
    chosen = plan.penalty(lambda_min + plan.s1 * z1)
    log_norm = math.log(plan.Y + plan.B * norm(chosen.lambda_)) + chosen.s2 * z2 if plan.mu2 else None
    R = plan.residual_bound(chosen, log_norm)
    return chosen, R, plan.precision(chosen, R)
