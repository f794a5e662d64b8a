"""Privacy curves, their composition and their calibration."""

from discreet.privacy import gdp

__all__ = ["gdp"]
