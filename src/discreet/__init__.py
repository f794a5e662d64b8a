"""Differentially private regression with guarantees that can be checked."""

__version__ = "0.1.0"
