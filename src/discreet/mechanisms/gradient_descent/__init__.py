"""Noisy gradient descent, on all rows or on random batches."""
