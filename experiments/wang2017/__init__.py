"""Y.-X. Wang, 2017: the figures of "Per-instance differential privacy"."""
