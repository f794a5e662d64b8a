"""Divergences of posterior samples, as tests integrate them."""

import numpy as np

from discreet.privacy import ops


def signed_delta(epsilon, m, r, gamma, *, without):
    """The curve of one direction for epsilons of either sign."""
    forth, back = (ops.delta_without, ops.delta_with) if without else (ops.delta_with, ops.delta_without)
    size = np.abs(epsilon)
    shrink = np.exp(-size)
    return np.where(epsilon >= 0, forth(size, m, r, gamma), 1 - shrink + shrink * back(size, m, r, gamma))
