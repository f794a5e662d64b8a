"""Plain numeric arrays X and y."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.domain import Domain, Numeric
from discreet.encoding import Encoder, Floats
from discreet.errors import DataError
from discreet.sources.base import Source, spans


class ArraySource(Source):
    """Rows of a numeric array X, with outcomes y beside them.

    The columns of X, then those of y, are the domain's columns in order.
    """

    columnar = False

    def __init__(self, X: Any, y: Any, domain: Domain) -> None:
        self.domain = domain
        self._blocks = [_matrix("X", X)]
        if y is not None:
            self._blocks.append(_matrix("y", y, column=True))
        self.total = len(self._blocks[0])
        if any(len(block) != self.total for block in self._blocks):
            raise DataError("X and y have different lengths: they must describe the same people.")
        width = sum(block.shape[1] for block in self._blocks)
        if width != len(domain.columns):
            raise DataError(
                f"X and y have {width} columns together and the domain declares {len(domain.columns)}: "
                "give one pair of bounds a column."
            )
        if not all(isinstance(column, Numeric) for column in domain.columns.values()):
            raise DataError("Categories need named columns: give a pandas frame, an Arrow table or a Parquet file.")

    def parts(self, rows: int) -> Iterator[list[tuple[int, int]]]:
        """Row ranges."""
        return ([span] for span in spans(self.total or 0, rows))

    def size(self, batch: tuple[int, int]) -> int:
        """Number of rows of a range."""
        return batch[1] - batch[0]

    def fill(self, batch: tuple[int, int], A: Floats, encoder: Encoder) -> int:
        """Write x - c."""
        blocks = [block[batch[0] : batch[1]] for block in self._blocks]
        if self.domain.missing == "drop":
            kept = ~np.any([np.isnan(block).any(axis=1) for block in blocks], axis=0)
            blocks = [block[kept] for block in blocks]
        rows, left = len(blocks[0]), 1
        for block in blocks:
            right = left + block.shape[1]
            np.subtract(block, encoder.centre[left:right], out=A[:rows, left:right])
            left = right
        return rows


def as_array(name: str, values: Any) -> np.ndarray[Any, Any]:
    """An array of whatever was given; what a masked array hides is missing."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.asarray(np.ma.filled(values.astype(float), np.nan))
        return np.asarray(values)
    except (TypeError, ValueError):
        raise DataError(f"{name} cannot be read as an array of numbers.") from None


def _matrix(name: str, values: Any, *, column: bool = False) -> np.ndarray[Any, Any]:
    array = as_array(name, values)
    if column and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise DataError(f"{name} must have two dimensions, rows and columns; it has {array.ndim}.")
    if array.dtype == object:
        array = _numbers(name, array)
    if array.dtype.kind not in "iufb":
        raise DataError(f"{name} must hold numbers; it holds {array.dtype.type.__name__}.")
    return array


def _numbers(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    try:
        return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} must hold numbers; some of its entries are not.") from None
