"""Many outcomes at once."""

from discreet.multi.reuse_cov import ReuseCov

__all__ = ["ReuseCov"]
