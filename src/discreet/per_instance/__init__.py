"""What one release cost each person: per-instance privacy (wang2017). Everything here is **confidential**."""

from discreet.per_instance.composition import compose, group, household
from discreet.per_instance.distribution import Distribution, over
from discreet.per_instance.leverage import LeaveOneOut, leave_one_out
from discreet.per_instance.measurement import losses
from discreet.per_instance.result import Losses

__all__ = ["Distribution", "LeaveOneOut", "Losses", "compose", "group", "household", "leave_one_out", "losses", "over"]
