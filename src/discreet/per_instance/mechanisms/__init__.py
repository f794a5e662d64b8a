"""Costs of Gaussian sums to a row; the papers' mechanisms have a ``loss.py`` in their folders (`parts.parts_of`)."""

from discreet.per_instance.mechanisms import gaussian, stages

__all__ = ["gaussian", "stages"]
