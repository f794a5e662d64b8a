"""Objective perturbation: the minimiser of an objective with noise in it."""
