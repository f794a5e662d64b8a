"""Linear models, one method a file."""

from discreet.linear.ada_ssp import AdaSSP
from discreet.linear.const_ssp import ConstSSP
from discreet.linear.dp_elastic_net import DPElasticNet
from discreet.linear.dp_lasso import DPLasso
from discreet.linear.dp_linear import DPLinearRegression
from discreet.linear.dp_ridge import DPRidge
from discreet.linear.ssp import SSP
from discreet.linear.trivial import TrivialRegressor

__all__ = ["SSP", "AdaSSP", "ConstSSP", "DPElasticNet", "DPLasso", "DPLinearRegression", "DPRidge", "TrivialRegressor"]
