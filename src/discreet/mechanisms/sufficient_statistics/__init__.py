"""Sufficient statistics with Gaussian noise: SSP, AdaSSP and ConstSSP (wang2018, piazza2021)."""
