"""Per-instance privacy losses (wang2017): the cost of one release to each person. Everything is **confidential**."""

from discreet.per_instance.composition import compose, group, household
from discreet.per_instance.distribution import Distribution, over
from discreet.per_instance.leverage import LeaveOneOut, leave_one_out
from discreet.per_instance.measurement import losses
from discreet.per_instance.result import Losses

__all__ = ["Distribution", "LeaveOneOut", "Losses", "compose", "group", "household", "leave_one_out", "losses", "over"]
