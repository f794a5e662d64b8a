"""Simulate a recipe: answer its questions from made-up people, with noise from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from discreet.core.arrays import Floats, Ints
from discreet.data.counts import Histogram, Margins
from discreet.data.moments import Moments
from discreet.data.passes.row_sums import RowSumsLayout
from discreet.data.row_sums import RowSums, asked_of
from discreet.data.stages import Readings, ScoreProductSums, StageSums, at_widths
from discreet.data.sums import LIMB
from discreet.domain import Domain
from discreet.domain.cells import CELLS
from discreet.domain.coordinates import Coordinates, scores
from discreet.domain.encoding import ONE
from discreet.drivers.run import Run, run
from discreet.drivers.sources import StagedSource
from discreet.errors import GuaranteeError
from discreet.families.coordinates import map_of
from discreet.gate.entropy import Entropy
from discreet.gate.session import Session
from discreet.gate.statistics import Integers, exact_blocks
from discreet.privacy.events.gaussian import Block
from discreet.recipes.base import Recipe
from discreet.statistics.histogram import cell_of


def simulate(recipe: Recipe, people: MadeUpSource, session: Session) -> Run:
    """Release a made-up table by a recipe.

    Parameters
    ----------
    recipe : Recipe
        The questions.
    people : MadeUpSource
        The made-up table.
    session : Session
        A simulation: its noise comes from a seed, and nothing is charged.
    """
    if not session.simulation:
        raise GuaranteeError("Made-up people are simulated with a seed. This is a defect of discreet.")
    return run(recipe, people, session)


class MadeUpSource(StagedSource):
    """A made-up table: the encoded rows of a pool, each with a number of copies.

    Sums are in floating point: a simulation hides nobody, and their relative error is 1e-16.

    Parameters
    ----------
    domain : Domain
        The encoding of rows.
    rows : callable
        The encoded rows of the pool for bounds that may be tighter.
    copies : array
        The number of copies of each row in the table.
    moments : callable
        The moments of the table for bounds that may be tighter.
    """

    def __init__(
        self, domain: Domain, rows: Callable[[Domain], Floats], copies: Floats, moments: Callable[[Domain], Moments]
    ) -> None:
        self._rows, self._copies, self._moments = rows, copies, moments
        super().__init__(self._readings(domain))

    def _readings(self, domain: Domain) -> Readings:
        """Return the readings by some bounds."""
        held = domain, self._rows(domain), self._copies
        stages = partial(_staged, *held), partial(_score_products, *held)
        return Readings(domain, partial(_first_pass, *held), *stages, partial(_row_sums, *held), self._readings)

    def prepare(self, recipe: Recipe, session: Session) -> None:
        """Count outcomes and sum columns, where they are asked for."""
        if recipe.histograms or recipe.facts.domain.searched:
            super().prepare(recipe, session)

    def exact(self, blocks: Sequence[Block], domain: Domain, entropy: Entropy) -> list[list[Integers]]:
        """Return products from the moments for these bounds, and all else as for other tables."""
        first = blocks[0].kind
        read = first.first_reading and self._margins is not None
        if read or not first.of_products:
            return super().exact(blocks, domain, entropy)
        return exact_blocks(self._moments(domain), blocks)


def limbs(sums: Floats) -> tuple[Ints, Ints]:
    """Return sums in floating point as high and low limbs."""
    exact = np.rint(sums)
    high = np.floor(np.ldexp(exact, -LIMB))
    return high.astype(np.int64), (exact - np.ldexp(high, LIMB)).astype(np.int64)


def _first_pass(
    domain: Domain, A: Floats, copies: Floats, columns: Sequence[str]
) -> tuple[tuple[Histogram, ...], Margins]:
    """Count outcomes, and sum all columns and their squares."""
    weighted = A * copies[:, None]
    sums = np.array([weighted.T @ A[:, 0], np.einsum("ij,ij->j", weighted, A)])
    return tuple(_histogram(domain, A, copies, name) for name in columns), Margins(domain, *limbs(sums))


def _histogram(domain: Domain, A: Floats, copies: Floats, column: str) -> Histogram:
    cells = cell_of(A[:, domain.indices([column])[0]] / ONE)
    counts = np.bincount(cells, weights=copies, minlength=CELLS)
    return Histogram(domain, column, np.rint(counts).astype(np.int64))


def _staged(domain: Domain, A: Floats, copies: Floats, coordinates: Coordinates, *, gram: bool = True) -> StageSums:
    """Compute the sums of a stage over encoded rows with copies."""
    rotated = map_of(coordinates, domain, len(A)).rotate(A)
    weighted, k = rotated.U * copies, len(rotated.E)
    lines = rotated.both if gram else rotated.E
    sums = np.zeros((len(lines), len(rotated.U) + 1))
    np.matmul(lines, weighted.T, out=sums[:, :-1])
    sums[:k, -1] = np.einsum("ij,ij,j->i", rotated.E, rotated.E, copies)
    counts = [_between(v, own, copies) for v, own in zip(np.abs(rotated.V), coordinates.widths, strict=True)]
    edges = coordinates.row_norms
    row_norms = _between(rotated.row_norms, edges, copies) if edges else np.zeros(0, dtype=np.int64)
    return StageSums(domain, coordinates, *limbs(sums), counts, row_norms, round(float(copies.sum())))


def _score_products(
    domain: Domain,
    A: Floats,
    copies: Floats,
    coordinates: Coordinates,
    chosen: Sequence[int],
    radii: Sequence[float] = (),
) -> ScoreProductSums:
    """Compute the sums of scores and of inner rows over encoded rows with copies."""
    own = at_widths(coordinates, chosen)
    rotated = map_of(own, domain, len(A)).rotate(A)
    products = [scores(rotated.U, e) for e in rotated.E]
    if len(products) == 1:
        products.append(rotated.U * (np.abs(rotated.E[0]) < ONE))
    return ScoreProductSums(domain, own, *limbs(np.concatenate([(S * copies) @ S.T for S in products])))


def _row_sums(domain: Domain, A: Floats, copies: Floats, blocks: Sequence[Block]) -> RowSums:
    """Compute the sums of other statistics over encoded rows with copies."""
    asked = asked_of(blocks)
    layout = RowSumsLayout(domain, asked)
    sums = np.zeros(layout.shape)
    layout.add(A, sums, np.empty(layout.shape), None, lambda Z: Z * copies[:, None])
    return RowSums(domain, asked, *limbs(sums))


def _between(values: Floats, edges: Sequence[float], copies: Floats) -> Ints:
    """Count the rows whose value, in lattice units, lies in each part between the edges."""
    places = np.searchsorted(np.array(edges) * ONE, values)
    return np.rint(np.bincount(places, weights=copies, minlength=len(edges) + 1)).astype(np.int64)
