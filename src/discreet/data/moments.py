"""Exact moments: sums of products of encoded rows, as integers that do not depend on how rows were read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from discreet.core import checks
from discreet.core.arrays import Floats, Ints, Objects
from discreet.core.field_kinds import TEXTS
from discreet.core.files import atomic_write, reading, refuse_special
from discreet.data.counts import Histogram, refuse_persons
from discreet.data.device.device import Device, as_device
from discreet.data.passes.moments import MomentsPass, Sampler, layout
from discreet.data.reading import Progress, Table
from discreet.data.sums import LIMB, Total, carry, integers, sum_bits
from discreet.data.wire import NOTE, packed, unpacked
from discreet.domain import Domain
from discreet.domain.required import require_bounds
from discreet.errors import FileFormatError, ParameterError

_VERSIONS, _WITH_OUTCOMES = (1, 2, 3, 4, 5), 3
"""Versions of files of moments, and the one that keeps only some products; others are those of domains."""


class Moments:
    """The exact Gram matrix of the encoded rows of a table; **confidential**.

    With z = (1, x_1, ..., x_p) the encoded row on the lattice 2^-20, this is the sum of z z' over the rows, in
    integers of 95 bits. Sums of integers do not depend on order, chunking or threads, so one row changes the
    moments by exactly its own z z'. Moments of parts of a table add up with ``+``, unless they are those of persons.

    With outcomes named, only what models of those outcomes need is kept: products of the other columns with each other
    and with the outcomes, and each outcome's square. Memory then grows with the number of outcomes, not its square.

    Examples
    --------
    >>> X, y = np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 1.0, 1.0])
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1))
    >>> Moments.from_source((X, y), domain)
    Moments(2 columns, confidential)
    >>> Moments.from_source((X, y), domain, targets=["y"])
    Moments(2 columns, 1 outcome, confidential)
    """

    def __init__(self, domain: Domain, high: Ints, low: Ints, targets: tuple[str, ...] = ()) -> None:
        self.domain = domain
        self.targets = targets
        self._high = high
        self._low = low
        self._layout = layout(domain, targets)

    @classmethod
    def from_source(
        cls,
        source: Any,
        domain: Domain,
        *,
        targets: Sequence[str] | None = None,
        n_jobs: int | None = None,
        device: str | Device | None = None,
        progress: bool | Progress = False,
    ) -> Moments:
        """Read all rows once and sum them up exactly.

        Parameters
        ----------
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation, `Postgres`, array, or pair (X, y)
            The private rows. A path names a Parquet or CSV file (``.parquet``, ``.csv``, ``.csv.gz``) or a folder of
            them, or Parquet in object storage (``s3://...``). A frame is one of pandas, polars, which may be lazy,
            Spark or Dask.
        domain : Domain
            Public bounds and levels; the source is checked against them before it is scanned.
        targets : sequence of str, optional
            The outcomes, where they are known already; products of two different outcomes are then left out.
        n_jobs : int, optional
            Threads; all cores by default.
        device : {None, "auto", "cpu", "cuda"}, optional
            Where sums are computed: by numpy (None), or by PyTorch; see `DPLinearRegression`.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        if not isinstance(domain, Domain):
            raise ParameterError(
                "domain must be a Domain, the public bounds of the columns: Domain({'age': (18, 90)}), for example, or "
                "Domain.from_file('people.toml')."
            )
        if targets is not None:
            outcome_names(domain, targets)  # bad outcomes are refused before a source is opened
        return summed(Table.of(source, domain, n_jobs, progress, as_device(device)), targets)

    @classmethod
    def from_batch(cls, A: Floats, domain: Domain) -> Moments:
        """Compute the moments of one encoded batch of at most 8,192 rows."""
        if not domain.unit.plain:
            raise ParameterError("Moments of one batch are those of rows without persons and weights.")
        total = Total(layout(domain))
        total.add(A)
        return cls(domain, *total.limbs())

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if other.domain != self.domain:
            raise ParameterError("These moments have different domains and cannot be added.")
        if other.targets != self.targets:
            raise ParameterError("These moments have different outcomes and cannot be added.")
        refuse_persons(self.domain, "Moments")
        limbs = carry(self._high + other._high, self._low + other._low)
        return Moments(self.domain, *limbs, self.targets)

    def integers(self, rows: ArrayLike, columns: ArrayLike) -> Objects:
        """Return exact entries of the Gram matrix: int64 if all are below 2^62, else Python integers.

        They are in units of 2^-`bits`, and of the largest weight if rows have weights.
        """
        at = self._at(np.asarray(rows, dtype=int), np.asarray(columns, dtype=int))
        return integers(self._high[at], self._low[at])

    @property
    def bits(self) -> int:
        """The number b of bits such that the integers are in units of 2^-b."""
        return sum_bits(self.domain)

    @property
    def count(self) -> int:
        """The number of rows, or the sum of their weights rounded up; **confidential**."""
        return -(-int(self.integers([0], [0])[0]) >> self.bits)

    def equations(self, design: Sequence[str], target: str) -> tuple[Objects, Objects]:
        """Return the exact X'X and X'y of some coordinates, as Python integers in units of 2^-40."""
        X, y, d = np.array(self.domain.indices(design)), self.domain.indices([target])[0], len(design)
        S = self.integers(np.repeat(X, d), np.tile(X, d)).astype(object).reshape(d, d)
        return S, self.integers(X, np.full(d, y)).astype(object)

    def floats(self, indices: list[int]) -> Floats:
        """Return a square block of the Gram matrix in float64, in units of the mapped columns."""
        rows, columns = np.ix_(indices, indices)
        at = self._at(*np.broadcast_arrays(rows, columns))
        high = np.ldexp(self._high[at].astype(float), LIMB - self.bits)
        block: Floats = high + np.ldexp(self._low[at].astype(float), -self.bits)
        return block

    def _at(self, rows: Objects, columns: Objects) -> tuple[Objects, Objects]:
        """Return the places of products of coordinates in the arrays of sums."""
        if not self.targets:
            return rows, columns
        f, place = len(self._layout.features), np.full(self._layout.size, -1)
        place[self._layout.features] = np.arange(f)
        place[self._layout.outcomes] = f + np.arange(len(self.targets))
        i, j = place[rows], place[columns]
        i, j = np.minimum(i, j), np.maximum(i, j)
        square = (i >= f) & (i == j)
        if np.any((i < 0) | ((i >= f) & ~square)):
            raise ParameterError(
                "These moments were summed up with outcomes named, and hold no products of two different outcomes, nor "
                "of other levels of an outcome. Sum up the table with other targets, or without."
            )
        return np.where(square, f, i), j

    def save(self, path: str | Path) -> None:
        """Save the exact moments to a **confidential** file that only its owner may read."""
        version = max(_WITH_OUTCOMES if self.targets else 1, self.domain.format_version)
        header = {"kind": "moments", "format_version": version, "note": NOTE, "domain": self.domain.to_dict()}
        header |= {"targets": list(self.targets)} if self.targets else {}
        with atomic_write(path, confidential=True) as file:
            file.write((NOTE + "\n").encode())
            np.savez_compressed(file, header=np.array(json.dumps(header)), high=self._high, low=self._low)

    @classmethod
    def load(cls, path: str | Path) -> Moments:
        """Load moments from a file that `save` wrote."""
        name, versions = Path(path).name, _VERSIONS
        refuse_special(path)
        with Path(path).open("rb") as file, reading(path):
            if file.readline(1000) != (NOTE + "\n").encode():
                raise FileFormatError(f"{name} is not a moments file of discreet.")
            with np.load(file, allow_pickle=False) as parts:
                header = json.loads(str(parts["header"]))
                high, low = parts["high"], parts["low"]
            version = header["format_version"]
            if type(version) is not int or version not in versions:
                raise FileFormatError(
                    f"{name} has format_version {checks.shown(version)}; this version of discreet reads "
                    f"{', '.join(map(str, versions))}."
                )
            domain = Domain.from_dict(header["domain"])
            targets = TEXTS.take(header["targets"]) if version >= _WITH_OUTCOMES and "targets" in header else ()
            shape = layout(domain, targets).shape
            if not high.shape == low.shape == shape or {high.dtype, low.dtype} != {np.dtype(np.int64)}:
                raise FileFormatError(f"{name} is damaged: its parts do not fit together.")
        return cls(domain, high, low, targets)

    def to_bytes(self) -> bytes:
        """Return the exact moments as **confidential** bytes, with a version and a digest, to be added elsewhere."""
        return packed("moments", _facts(self.domain, self.targets), [self._high, self._low])

    @classmethod
    def from_bytes(cls, content: bytes) -> Moments:
        """Rebuild from `to_bytes`.

        Examples
        --------
        >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1))
        >>> moments = Moments.from_source((np.ones((3, 1)), np.zeros(3)), domain)
        >>> Moments.from_bytes(moments.to_bytes()) == moments
        True
        """
        facts, arrays = unpacked("moments", content)
        domain, targets = Domain.from_dict(facts["domain"]), tuple(facts["targets"])
        if [array.shape for array in arrays] != [layout(domain, targets).shape] * 2:
            raise FileFormatError("These bytes are damaged: their parts do not fit together.")
        return cls(domain, arrays[0], arrays[1], targets)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        same = np.array_equal(self._high, other._high) and np.array_equal(self._low, other._low)
        return self.domain == other.domain and self.targets == other.targets and same

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        l = len(self.targets)  # noqa: E741
        outcomes = f"{l} outcome{'s' if l > 1 else ''}, " if l else ""
        return f"Moments({len(self.domain.columns)} columns, {outcomes}confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Moments are confidential and are not pickled. Use save() or to_bytes(), which mark them.")


def _facts(domain: Domain, targets: Sequence[str]) -> dict[str, Any]:
    return {"domain": domain.to_dict(), "targets": list(targets)}


def outcome_names(domain: Domain, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the coordinates of the outcomes; refuse an outcome that is named twice."""
    names = list(targets) if isinstance(targets, Iterable) and not isinstance(targets, str) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise ParameterError("targets must be a list with at least one column name, or None.")
    outcomes = tuple(domain.entries[domain.target(name)].name for name in names)
    if len(set(outcomes)) < len(outcomes):
        raise ParameterError("An outcome is named twice in targets.")
    return outcomes


def summed(table: Table, targets: Sequence[str] | None = None, sampler: Sampler | None = None) -> Moments:
    """Compute the moments of a table; a sampler restricts products within the features to sampled rows."""
    require_bounds(table.domain, "Summing up products of the columns")
    outcomes = () if targets is None else outcome_names(table.domain, targets)
    found = table.sums(MomentsPass(table.domain, outcomes, sampler=sampler))
    return Moments(table.domain, found.high, found.low, outcomes)


def counted(table: Table, column: str) -> tuple[Histogram, Moments]:
    """Compute the moments of a table and the counts of an outcome, over all rows that have one, in one reading."""
    require_bounds(table.domain, "A release in one stage")
    found = table.sums(MomentsPass(table.domain, column=column))
    return Histogram(table.domain, column, found.counts[0]), Moments(table.domain, found.high, found.low)
