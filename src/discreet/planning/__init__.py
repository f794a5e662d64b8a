"""Plans: how good a private model will be, from public facts alone, before any budget is spent."""

from discreet.planning.base import Plan
from discreet.planning.result import plan

__all__ = ["Plan", "plan"]
