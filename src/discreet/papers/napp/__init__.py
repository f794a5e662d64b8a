"""NAPP-ERM, the method of paper 002: as published, and the parts of it that are sound."""

from discreet.papers.napp.estimator import NAPP

__all__ = ["NAPP"]
