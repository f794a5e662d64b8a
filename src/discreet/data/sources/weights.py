"""Row weights: multiples of 2^-20 of the largest weight, rounded down, so that none exceeds its bound."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.domain.kinds.numeric import Numeric
from discreet.domain.unit import WEIGHT_BITS
from discreet.domain.values import plain, read_column
from discreet.errors import MISSING, DataError

ALL = float(1 << WEIGHT_BITS)
"""The largest weight in these units, which every row has if there are no weights."""


def on_grid(array: pa.Array, domain: Domain) -> Floats:
    """Clip weights to [0, largest weight], in units of 2^-20 of the largest; a missing weight is 0 or refused.

    Examples
    --------
    >>> domain = Domain({"x": (0, 1)}, weights="w", largest_weight=8)
    >>> on_grid(pa.array([2.0, 9.0, -1.0]), domain).tolist()
    [262144.0, 1048576.0, 0.0]
    """
    name, largest = str(domain.unit.weights), domain.unit.largest_weight
    column = Numeric(0.0, largest)
    array = plain(array, column)
    missing = array.is_null(nan_is_null=pa.types.is_floating(array.type)).to_numpy(zero_copy_only=False)
    if missing.any() and domain.missing == "error":
        raise DataError(f"Column {name!r} has missing values. Remedy: {MISSING}.")
    weights = np.zeros(len(array))
    weights[~missing] = read_column(array.filter(pa.array(~missing)), name, column)
    return np.floor(np.clip(weights, 0.0, largest) / largest * ALL)
