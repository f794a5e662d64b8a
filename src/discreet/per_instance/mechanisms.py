"""Every mechanism that says what it costs each row: name its module here, and the result knows it."""

from __future__ import annotations

from discreet.per_instance import exact, of_coefficients, of_descent, of_objectives, of_outcomes
from discreet.per_instance.parts import needs_moments, parts

MECHANISMS = (exact, of_coefficients, of_descent, of_objectives, of_outcomes)

__all__ = ["MECHANISMS", "needs_moments", "parts"]
