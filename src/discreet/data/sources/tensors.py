"""Tensors of PyTorch and other packages, which DLPack exchanges; no package is imported before one is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.data.sources.base import comes_from, missing_package
from discreet.errors import DataTypeError

_HERE = 1
"""The kind of device that DLPack has for the memory of the processor."""


def is_tensor(values: Any) -> bool:
    """Whether values are a tensor, or an array of another package than numpy that offers itself by DLPack."""
    return hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray) and not comes_from(values, "pyarrow")


def here(name: str, values: Any) -> Any:
    """Return a tensor as numpy's array in this machine's memory; anything else as it is."""
    return np.asarray(as_array(name, values)) if is_tensor(values) else values


def as_array(name: str, values: Any) -> Any:
    """Return a tensor in this machine's memory as numpy's array, and one on a device as an array that stays there.

    Nothing is copied. `name` is that of an argument, for errors.
    """
    if comes_from(values, "discreet"):
        return values
    plain = values.detach() if comes_from(values, "torch") else values
    try:
        if plain.__dlpack_device__()[0] == _HERE:
            return np.from_dlpack(plain)
    except (BufferError, TypeError, ValueError, RuntimeError, AttributeError):
        pass  # a type that numpy lacks, such as bfloat16, or a layout that cannot be exchanged
    try:
        from discreet.data.device.arrays import from_dlpack
    except ImportError:
        raise missing_package("torch", "gpu") from None
    try:
        return from_dlpack(plain)
    except (BufferError, TypeError, ValueError, RuntimeError):
        raise DataTypeError(
            f"{name} is a {type(values).__name__} that DLPack cannot exchange: sparse, quantised or in parts. Remedy: "
            f"give a dense tensor of numbers, {name}.to_dense() for example."
        ) from None
