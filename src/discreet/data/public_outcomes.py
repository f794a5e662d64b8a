"""Statistics of outcomes that were declared public: their products, sums and largest norm."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from discreet.core.arrays import Floats
from discreet.data.reading import Table
from discreet.domain import LATTICE_BITS
from discreet.domain.encoding import ONE, Encoder
from discreet.domain.required import require_bounds
from discreet.errors import DataError, ParameterError
from discreet.privacy.sensitivity import refuse_mixed

_ROWS = 1024


class PublicOutcomes:
    """Facts about the encoded outcomes Y of a table whose outcomes are public.

    Attributes
    ----------
    n : int
        The number of rows.
    norm2_lattice : int
        The largest squared norm of a row of Y, exactly, in lattice units.
    sums, squares : array
        1'Y and the diagonal of Y'Y, in units of the mapped outcomes.
    gram : array or None
        Y'Y, unless there are fewer rows than outcomes.
    rows : array or None
        Y itself, if there are.

    Examples
    --------
    >>> from discreet import Domain
    >>> domain = Domain.from_bounds(["x"], ["a", "b"], bounds_X=(0, 1), bounds_y=(-1, 1))
    >>> Y = np.array([[1.0, 0.5], [0.0, 0.5], [0.0, 0.0]])
    >>> facts = PublicOutcomes.of(Table.of((np.zeros((3, 1)), Y), domain), ["a", "b"])
    >>> facts.gram.tolist(), round(facts.norm, 6)
    ([[1.0, 0.5], [0.5, 0.5]], 1.118034)
    """

    def __init__(self, n: int, norm2_lattice: int, sums: Floats, gram: Floats | None, rows: Floats | None) -> None:
        self.n = n
        self.norm2_lattice = norm2_lattice
        self.sums = sums
        self.gram = gram
        self.rows = rows
        self.squares: Floats = np.diag(np.asarray(gram)) if rows is None else np.sum(rows**2, axis=0)

    @classmethod
    def of(cls, table: Table, targets: Sequence[str]) -> PublicOutcomes:
        """Read all rows once; only the outcomes are used."""
        refuse_mixed(table.domain, targets)
        require_bounds(table.domain, "A release with public outcomes")
        opened, encoder = table.reader, Encoder(table.domain)
        if opened.once:
            raise ParameterError(
                "A stream can be read only once, and the projection reads the outcomes first and everything then. "
                "Give a table or a file."
            )
        places = table.domain.indices(targets)
        n, norm2, sums = 0, 0.0, np.zeros(len(places))
        held: list[Floats] | None = []
        gram: Floats | None = None
        with contextlib.closing(opened):
            for batch in itertools.chain.from_iterable(opened.parts(_ROWS)):
                A = encoder.empty(opened.size(batch), columnar=opened.columnar)
                A = A[: opened.fill(batch, A, encoder)]
                encoder.finish(A)
                Y = A[:, places]
                norm2 = max(norm2, float(np.einsum("ij,ij->i", Y, Y).max(initial=0.0)))
                Y = Y / ONE
                n, sums = n + len(Y), sums + Y.sum(axis=0)
                if held is not None and n < len(places):
                    held.append(Y)
                    continue
                for rows in [*(held or []), Y]:
                    gram = rows.T @ rows if gram is None else np.add(gram, rows.T @ rows, out=gram)
                held = None
        if norm2 == 0:
            raise DataError("The public outcomes are zero in every row, or there is no row. Nothing was released.")
        return cls(n, int(norm2), sums, gram, np.concatenate(held) if held else None)

    @property
    def norm(self) -> float:
        """The largest norm of a row of Y, rounded up."""
        return float(np.nextafter(np.sqrt(np.ldexp(float(self.norm2_lattice), -2 * LATTICE_BITS)), np.inf))

    def __repr__(self) -> str:
        return f"PublicOutcomes({len(self.sums)} outcomes)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Facts about public outcomes are not pickled: read them again.")
