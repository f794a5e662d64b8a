"""Subsample and aggregate: the mean of the coefficients of random blocks of rows."""
