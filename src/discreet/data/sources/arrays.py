"""Plain numeric arrays X and y."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import issparse

from discreet.core.arrays import Bools, Floats, on_device
from discreet.data.sources.base import Source, check_lengths, spans
from discreet.data.sources.tensors import as_array, is_tensor
from discreet.domain import Domain
from discreet.domain.encoding import ONE, Encoder
from discreet.domain.required import require_bounds
from discreet.domain.value_types import floats
from discreet.domain.values import FAILURES
from discreet.errors import DataError, DataTypeError


class ArraySource(Source):
    """Rows of a matrix X, with a matrix of outcomes y beside them.

    The columns of X, then those of y, are the domain's columns in order.
    """

    columnar = False

    def __init__(self, X: np.ndarray[Any, Any], y: np.ndarray[Any, Any] | None, domain: Domain) -> None:
        self.domain = domain
        self._blocks = [X] if y is None else [X, y]
        self.total = check_lengths(len(block) for block in self._blocks)
        self.on_device = on_device(X)
        if self.on_device:
            require_bounds(domain, "An array on a device")
        if not domain.unit.plain:
            raise DataError(
                "The domain declares person= or weights=, which arrays do not have: give fit(X, y, sample_weight=, "
                "person=), or a table whose columns have names."
            )
        if domain.inputs != domain.columns:
            raise DataError("Derived columns need named columns: give a frame, an Arrow table or a file.")
        width = sum(block.shape[1] for block in self._blocks)
        if width != len(domain.columns):
            raise DataError(
                f"X and y must have as many columns together as the domain declares, and the domain declares "
                f"{len(domain.columns)}: give one pair of bounds a column, and one row a person."
            )
        if not all(
            column.bounds or column.levels == (*range(len(column.levels)),) for column in domain.columns.values()
        ):
            raise DataError("Categories need named columns: give a frame, an Arrow table or a file.")
        self._coded = [name for name, column in domain.columns.items() if not column.bounds]

    def parts(self, rows: int) -> Iterator[list[tuple[int, int]]]:
        """Return row ranges."""
        return ([span] for span in spans(self.total or 0, rows))

    def size(self, batch: tuple[int, int]) -> int:
        """Return the number of rows of a range."""
        return batch[1] - batch[0]

    def only(self, coordinate: str) -> ArraySource:
        """Return a source of the same rows with the column of one coordinate."""
        own, place = copy.copy(self), list(self.domain.columns).index(self.domain.column_of[coordinate])
        columns = [block[:, i : i + 1] for block in self._blocks for i in range(block.shape[1])]
        own.domain, own._blocks = self.domain.alone(coordinate), [columns[place]]
        return own

    def kept(self, batch: tuple[int, int]) -> Bools | None:
        """Return which rows of a range have no missing value, if others are dropped."""
        if self.domain.missing != "drop":
            return None
        blocks = [block[batch[0] : batch[1]] for block in self._blocks]
        missing: Bools = reduce(np.logical_or, (np.isnan(block).any(axis=1) for block in blocks))
        return np.logical_not(missing)

    def fill(self, batch: tuple[int, int], A: Floats, encoder: Encoder) -> int:
        """Write x - c."""
        blocks = [block[batch[0] : batch[1]] for block in self._blocks]
        if (kept := self.kept(batch)) is not None:
            blocks = [block[kept] for block in blocks]
        rows = len(blocks[0])
        if self._coded:
            self._fill_columns(blocks, A[:rows])
            encoder.centred(A[:rows])
        else:
            encoder.place(blocks, A[:rows])
        return rows

    def _fill_columns(self, blocks: Sequence[np.ndarray[Any, Any]], A: Floats) -> None:
        """Write numbers x, and the one-hot levels of categories, whose places in their levels the arrays hold."""
        names, positions, first = list(self.domain.columns), self.domain.positions, 0
        for block in blocks:
            own = names[first : first + block.shape[1]]
            numbers = [j for j, name in enumerate(own) if name not in self._coded]
            places = [positions[own[j]][0] for j in numbers]
            whole = numbers and places == list(range(places[0], places[0] + len(places)))
            A[:, slice(places[0], places[-1] + 1) if whole else places] = block[:, numbers] if numbers else 0.0
            for j, name in enumerate(own):
                if name in self._coded:
                    levels = np.arange(len(positions[name]))
                    A[:, positions[name][0] : positions[name][-1] + 1] = (block[:, j : j + 1] == levels) * ONE
            first += block.shape[1]


def as_cells(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Convert values to an array without changing entries: arrays keep their type, entries of lists stay objects."""
    if issparse(values):
        raise DataTypeError(
            f"{name} is sparse, and sparse data are not supported, for zeros do not stay zeros when columns are mapped "
            f"from their bounds. Give {name}.toarray()."
        )
    if isinstance(values, np.ma.MaskedArray):
        return values
    if is_tensor(values):
        tensor: np.ndarray[Any, Any] = as_array(name, values)
        return tensor
    try:
        array = _listed(values) if isinstance(values, (list, tuple)) else np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} cannot be read as an array: its rows must all have the same columns.") from None
    if array.ndim == 0 and array.dtype.kind in "OSU":
        raise DataTypeError(
            f"{name} must be an array or a table of rows, not {type(values).__name__}. Files, lazy frames and queries "
            "are read by fit_source."
        )
    return array


def _listed(values: list[Any] | tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """Convert a list, or a list of rows, to an array of objects, since numpy would find one type for all of them."""
    if not any(map(_is_row, set(map(type, values)))):
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        return cells
    rows = [list(row) for row in values]
    flat = list(itertools.chain.from_iterable(rows))
    if len(set(map(len, rows))) > 1 or any(map(_is_row, set(map(type, flat)))):
        raise ValueError("not a matrix")
    return _listed(flat).reshape(len(rows), -1)


def _is_row(kind: type) -> bool:
    return hasattr(kind, "__len__") and not issubclass(kind, (str, bytes))


def _typed(values: Any) -> Any:
    """Convert a list to an array of numbers if numpy reads it as one; return anything else unchanged.

    Whatever type numpy finds, every number of the list later becomes the nearest float64.
    """
    if not isinstance(values, (list, tuple)):
        return values
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        return values
    return array if array.dtype.kind in "iufb" else values


def as_matrix(name: str, values: Any, *, column: bool = False) -> np.ndarray[Any, Any]:
    """Convert values to a matrix of numbers; one dimension is one column if `column` is true."""
    array = as_cells(name, _typed(values))
    if column and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise DataError(
            f"{name} must have two dimensions, rows and columns; it has {array.ndim}. Reshape your data: "
            f"{name}.reshape(-1, 1) if it is one column, {name}.reshape(1, -1) if it is one row."
        )
    if array.dtype == object:
        array = _numbers(name, array)
    if array.dtype.kind == "c":
        raise DataError(f"{name} must hold real numbers. Complex data not supported.")
    if array.dtype.kind in "mM":
        raise DataError(
            f"{name} must hold numbers; it holds {array.dtype.type.__name__}. For dates, give a table whose columns "
            "have names, and their bounds: domain=Domain({'born': ('1920-01-01', '2010-12-31'), ...})."
        )
    if array.dtype.kind not in "iufb":
        raise DataError(f"{name} must hold numbers; it holds {array.dtype.type.__name__}.")
    if isinstance(array, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(array.astype(float), np.nan))
    return array


def _numbers(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if isinstance(array, np.ma.MaskedArray):
        array = array.filled(None)
    try:
        return floats(array.ravel().tolist()).reshape(array.shape)
    except FAILURES:
        raise DataTypeError(
            f"{name} must hold numbers; some of its entries are not. "
            "The argument must be free of strings and of other objects that are no numbers."
        ) from None
