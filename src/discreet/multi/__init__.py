"""Many outcomes at once."""

from discreet.multi.baselines import independent_runs
from discreet.multi.reuse_cov import ReuseCov
from discreet.theory.outcomes import paper_baseline
from discreet.theory.regime import Regime, regime

__all__ = ["Regime", "ReuseCov", "independent_runs", "paper_baseline", "regime"]
