"""T. Piazza, 2021: the figures of "Differentially private ridge regression"."""
