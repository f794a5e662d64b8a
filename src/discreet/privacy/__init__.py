"""Privacy curves, their composition and their calibration."""
