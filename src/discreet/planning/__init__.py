"""Plans: the expected accuracy of private models, from public facts alone, before any budget is spent."""

from discreet.planning.base import Plan
from discreet.planning.result import plan
from discreet.recipes.outlook import interval_outlook

__all__ = ["Plan", "interval_outlook", "plan"]
