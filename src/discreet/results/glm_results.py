"""Old name of `Results` for models of classes and counts."""

from discreet.results.results import Results as GLMResults

__all__ = ["GLMResults"]
