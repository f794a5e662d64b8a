"""Plans: how good a private model will be, from public facts alone, before any budget is spent."""

from discreet.planning.result import Plan, plan

__all__ = ["Plan", "plan"]
