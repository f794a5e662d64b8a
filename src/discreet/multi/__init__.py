"""Many outcomes at once."""

from discreet.multi.baselines import independent_runs, paper_baseline
from discreet.multi.regime import Regime, regime
from discreet.multi.reuse_cov import ReuseCov

__all__ = ["Regime", "ReuseCov", "independent_runs", "paper_baseline", "regime"]
