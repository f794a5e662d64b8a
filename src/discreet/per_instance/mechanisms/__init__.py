"""What each mechanism costs a row: a file a mechanism, which registers its events (`parts.parts_of`) when imported."""

from discreet.per_instance.mechanisms import coefficients, descent, gaussian, objectives, stages

__all__ = ["coefficients", "descent", "gaussian", "objectives", "stages"]
