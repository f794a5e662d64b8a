"""Plans: the expected accuracy of private models, from public facts alone, before any budget is spent."""

from discreet.planning.base import Plan
from discreet.planning.result import plan

__all__ = ["Plan", "plan"]
