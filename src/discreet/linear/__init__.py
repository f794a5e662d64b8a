"""Linear models, one method a file."""

from discreet.linear.ada_ssp import AdaSSP
from discreet.linear.const_ssp import ConstSSP
from discreet.linear.dp_linear import DPLinearRegression
from discreet.linear.ssp import SSP
from discreet.linear.trivial import TrivialRegressor

__all__ = ["SSP", "AdaSSP", "ConstSSP", "DPLinearRegression", "TrivialRegressor"]
