"""Where models of classes and counts were once: they are `Results`, as all models are."""

from discreet.results.results import Results as GLMResults

__all__ = ["GLMResults"]
