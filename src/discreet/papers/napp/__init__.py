"""NAPP-ERM, the method of li2021: as published, and the parts of it that are sound."""

from discreet.papers.napp.estimator import NAPP
from discreet.papers.napp.options import NappAugmentation, NappConstants, NappRecycling, NappShape

__all__ = ["NAPP", "NappAugmentation", "NappConstants", "NappRecycling", "NappShape"]
