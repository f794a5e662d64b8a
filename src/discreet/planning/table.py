"""A simulated table: rows drawn from a pool of people, as the counts and exact moments that a real table would have."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.data.histogram import Histogram, bin_of
from discreet.data.moments import Moments
from discreet.data.summing import LIMB
from discreet.domain import Domain
from discreet.domain.encoding import ONE
from discreet.planning.population import Population, full
from discreet.privacy.events.gaussian import BINS

Floats = NDArray[np.float64]


class Table:
    """A table of n rows, each one drawn from the pool: so many copies of each person.

    Parameters
    ----------
    people : Population
        The pool.
    rows : int
        n.
    rng : Generator
        Where copies come from.
    """

    def __init__(self, people: Population, rows: int, rng: np.random.Generator) -> None:
        self.people, self.domain = people, people.facts.domain
        m = len(people.y)
        self._present: slice | NDArray[np.intp] = slice(None)
        if rows < m:
            self._present, copies = np.unique(rng.integers(m, size=rows), return_counts=True)
        else:
            copies = rng.multinomial(rows, np.full(m, 1 / m))
        self._copies: Floats = copies.astype(float)

    @property
    def _rows(self) -> Floats:
        return self.people.rows[self._present]

    @cached_property
    def _gram(self) -> Floats:
        gram: Floats = (self._rows * self._copies[:, None]).T @ self._rows
        return gram

    def moments(self, domain: Domain) -> Moments:
        """The moments of the table, clipped to bounds that may be tighter than the declared ones.

        Sums are in floating point: a simulation hides nobody, and their relative error is 1e-16.
        """
        gram = self._gram
        changed = [name for name, column in domain.columns.items() if column != self.domain.columns[name]]
        if changed:
            A, places = self._rows.copy(), [i for name in changed for i in domain.positions[name]]
            A[:, places] = self.people.encoded(domain.select(changed))[self._present, 1:]
            gram = gram.copy()
            gram[places] = (A[:, places] * self._copies[:, None]).T @ A
            gram[:, places] = gram[places].T
        exact = np.rint(gram)
        high = np.floor(np.ldexp(exact, -LIMB))
        low = exact - np.ldexp(high, LIMB)
        return Moments(domain, high.astype(np.int64), low.astype(np.int64))

    def histogram(self, domain: Domain) -> Histogram:
        """The counts of the outcome over its declared bounds."""
        target = self.people.facts.target
        bins = bin_of(self.people.encoded(domain.select([target]))[self._present, 1] / ONE)
        counts = np.bincount(bins, weights=self._copies, minlength=BINS)
        return Histogram(domain, target, np.rint(counts).astype(np.int64))

    @cached_property
    def least_squares(self) -> Floats:
        """Intercept and coefficients of the fit without privacy, in the user's units."""
        root = np.sqrt(self._copies)
        D, y = self.people.design[self._present], self.people.y[self._present]
        params: Floats = np.asarray(np.linalg.lstsq(D * root[:, None], y * root)[0], dtype=float)
        return full(self.people.facts, params)
