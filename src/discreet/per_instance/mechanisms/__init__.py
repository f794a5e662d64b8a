"""Per-instance losses of mechanisms: one file a mechanism, which registers its events (`parts.parts_of`) on import."""

from discreet.per_instance.mechanisms import coefficients, descent, gaussian, objectives, stages

__all__ = ["coefficients", "descent", "gaussian", "objectives", "stages"]
