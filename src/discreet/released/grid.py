"""Released integers and the statistics that they stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import LATTICE_BITS
from discreet.errors import FileFormatError, ParameterError
from discreet.privacy.events.gaussian import BINS, Block


@dataclass(frozen=True)
class GridValues:
    """Integers q that stand for the values q 2^exponent, in units of 2^-40."""

    exponent: int
    integers: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {"exponent": self.exponent, "integers": [str(q) for q in self.integers]}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> GridValues:
        """Rebuild from `to_dict`."""
        exponent, texts = facts["exponent"], facts["integers"]
        if type(exponent) is not int or not all(isinstance(text, str) for text in texts):
            raise FileFormatError("Released values are not integers on a grid.")
        return cls(exponent, tuple(map(int, texts)))

    def floats(self) -> Floats:
        """The values in units of the mapped columns."""
        with np.errstate(over="ignore"):
            values: Floats = np.ldexp(np.array(self.integers, dtype=float), self.exponent - 2 * LATTICE_BITS)
        if not np.isfinite(values).all():
            raise OverflowError("released integers are too large")
        return values


def grid_exponent(sd: float) -> int:
    """The m of the grid 2**m on which a value with noise of this sd is released: floor(log2 sd) - 30.

    The sd is in lattice units, from 2**30 (grid of one unit) to 2**82 (remainders are still exact doubles).

    Examples
    --------
    >>> grid_exponent(2.0**35), grid_exponent(2.0**35 - 1)
    (5, 4)
    """
    if not 2.0**30 <= sd <= 2.0**82:
        raise ParameterError(
            f"the noise sd must lie between 2**30 and 2**82 lattice units, got {sd:g}. Use a finer lattice "
            "if it is below, a coarser one if it is above."
        )
    return math.frexp(sd)[1] - 31


def statistic(block: Block, parts: Sequence[GridValues]) -> Floats:
    """The statistic of a block, in units of the mapped columns."""
    if block.statistic == "gram":
        diagonal, upper = (part.floats() for part in parts)
        at = np.triu_indices(len(block.rows), k=1)
        if len(diagonal) != len(block.rows) or len(upper) != len(at[0]):
            raise ValueError("a Gram matrix of another size")
        G = np.diag(diagonal)
        G[at] = upper
        G.T[at] = upper
        return G
    (values,) = (part.floats() for part in parts)
    shape = {
        "cross": (len(block.rows), len(block.columns)),
        "squares": (len(block.columns),),
        "eigenvalue": (),
        "counts": (BINS,),
    }
    return values.reshape(shape[block.statistic])


@dataclass(frozen=True, eq=False)
class Table:
    """The values of a released block, found by name.

    Parameters
    ----------
    block : Block
        What was released.
    array : array
        Its values, for all rows of the table.
    scale : float
        What the released values were multiplied by to stand for all rows: above 1 for a sample of the rows.
    norm2, n : float
        The bound on the squared norm of a row, and the number of rows, which tell how far a sample may be off.
    """

    block: Block
    array: Floats
    scale: float
    norm2: float
    n: float

    @property
    def sds(self) -> tuple[float, ...]:
        """Noise sds: of the diagonal of a Gram matrix and off it; of all values of another statistic.

        A sample of the rows adds its own error to X'X (docs 9.3), at most this much on average over the entries.
        """
        if self.scale == 1:
            return self.block.sds
        d = len(self.block.rows)
        error = self.norm2 * math.sqrt((self.scale - 1) * self.n / (d * (d + 1)))
        diagonal, upper = (self.scale * sd for sd in self.block.sds)
        return math.hypot(diagonal, math.sqrt(2) * error), math.hypot(upper, error)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Places of the rows."""
        return {name: i for i, name in enumerate(self.block.rows)}

    @cached_property
    def columns(self) -> dict[str, int]:
        """Places of the columns."""
        return {name: i for i, name in enumerate(self.block.columns)}

    def holds(self, rows: Sequence[str], columns: Sequence[str] = ()) -> bool:
        """Whether some products are among the values."""
        return all(name in self.rows for name in rows) and all(name in self.columns for name in columns)

    def pick(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        """The products of some coordinates."""
        if self.block.statistic == "squares":
            return self.array[[self.columns[name] for name in rows]][:, None]
        column = self.columns if self.block.statistic == "cross" else self.rows
        picked: Floats = self.array[np.ix_([self.rows[name] for name in rows], [column[name] for name in columns])]
        return picked
