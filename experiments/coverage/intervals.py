"""Tables of one stage that are encoded once, for tests of inference and of plans on populations with known fits.

* Routes: `DPLinearRegression(stages=1)`, which narrows the outcome's bounds privately; and `release(targets=["y"])`
  with `fit`, which does not. All noise is seeded, and otherwise that of a real release.
* Truth: the best linear fit to the population clipped to the bounds that the release used (`certificate.domain`).
* Naive: S^-1 v with standard errors from sigma^2 S^-1, as if the released moments were exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet import DPLinearRegression, Moments, Results, release
from discreet.core.placeholders import Unavailable
from discreet.data.counts import Histogram
from discreet.data.moments import counted
from discreet.data.reading import Table
from discreet.domain import Domain
from discreet.domain.encoding import Encoder
from discreet.models import linear
from discreet.privacy import gdp
from discreet.released.units import user_units
from discreet.results.private_moments import PrivateMoments
from discreet.solve.equations import NormalEquations
from experiments.coverage.populations import Population
from experiments.uci import Floats

Ints = NDArray[np.int64]

ROUTES = ("DPLinearRegression", "release")
EPSILONS = (0.3, 1.0, 3.0, 10.0)
DELTA, LEVEL = 1e-6, 0.95
NEW_ROWS = 20
MU = cache(gdp.mu)
_EXACT_ROWS = 8192


class EncodedTable:
    """A simulated table that is encoded once: other bounds of y change only the products with y.

    Its moments are those of `Moments.from_source`, which ``tests/experiments/test_coverage.py`` checks.
    """

    def __init__(self, X: Floats, y: Floats, domain: Domain) -> None:
        self.X, self.y, self.domain = X, y, domain
        encoder = Encoder(domain)
        self._A = encoder.empty(len(y))
        self._A[:, 1:-1] = X
        self._A[:, -1] = y
        self._A[:, 1:] -= encoder.centre[1:]
        encoder.finish(self._A)
        self._found: dict[tuple[float, float], Moments] = {}

    def moments(self, domain: Domain) -> Moments:
        """The moments for some bounds of y."""
        key = domain.columns["y"].low, domain.columns["y"].high
        if key not in self._found:
            gram = self._gram if domain == self.domain else self._with_bounds(domain)
            self._found[key] = Moments(domain, gram >> 32, gram & (2**32 - 1))
        return self._found[key]

    def _with_bounds(self, domain: Domain) -> Ints:
        encoder = Encoder(domain.select(["y"]))
        B = encoder.empty(len(self.y))
        B[:, 1] = self.y - encoder.centre[1]
        encoder.finish(B)
        gram = self._gram.copy()
        gram[-1, :-1] = gram[:-1, -1] = _exact(self._A[:, :-1], B[:, 1:])[:, 0]
        gram[-1, -1] = _exact(B[:, 1:], B[:, 1:])[0, 0]
        return gram

    @cached_property
    def _gram(self) -> Ints:
        return _exact(self._A, self._A)

    @cached_property
    def _histogram(self) -> Histogram:
        return counted(Table.of((self.X, self.y), self.domain), "y")[0]

    def fit(self, epsilon: float, rng: np.random.Generator) -> tuple[PrivateMoments, Results]:
        """`DPLinearRegression` on this table, in one stage."""
        bounds = {name: (c.low, c.high) for name, c in self.domain.columns.items()}
        given = {"bounds_X": bounds["x0"], "bounds_y": bounds["y"], "n_jobs": 1, "random_state": rng, "stages": 1}
        model = DPLinearRegression(epsilon=epsilon, delta=DELTA, **given)
        with (
            mock.patch.object(linear, "counted", return_value=(self._histogram, self.moments(self.domain))),
            mock.patch.object(linear, "summed", lambda table: self.moments(table.domain)),
        ):
            model.fit(self.X, self.y)
        return model.release_, model.results_


def _exact(A: Floats, B: Floats) -> Ints:
    """A'B of lattice integers; at most 2^57 for 100,000 rows."""
    parts = (slice(i, i + _EXACT_ROWS) for i in range(0, len(A), _EXACT_ROWS))
    return sum((A[part].T @ B[part]).astype(np.int64) for part in parts)


def fits(table: EncodedTable, seed: list[int]) -> Iterator[tuple[float, str, PrivateMoments, Results]]:
    """Both routes at every epsilon. Intervals do not depend on the model, so the cheapest stands for `fit`."""
    for i, epsilon in enumerate(EPSILONS):
        rng = np.random.default_rng([*seed, i])
        yield epsilon, "DPLinearRegression", *table.fit(epsilon, rng)
        released = release(table.moments(table.domain), epsilon=epsilon, delta=DELTA, targets=["y"], random_state=rng)
        yield epsilon, "release", released, released.fit("y", model="ols")


def least_squares(released: PrivateMoments, e: NormalEquations, p: int) -> tuple[Floats, Floats]:
    """Intercept and coefficients with the half-widths of their intervals, as if S, v and y'y were exact."""
    theta = np.linalg.solve(e.S, e.v)
    df = max(e.n - p, 1.0)
    sigma2 = max((e.yy - e.v @ theta) / df, 0.0)
    units = user_units(released, e, unclip=False)
    coef, intercept = units.params(theta)
    variances = np.diag(units.covariance(sigma2 * np.linalg.inv(e.S)))
    half = stats.t.ppf((1 + LEVEL) / 2, df) * np.sqrt(np.maximum(variances, 0.0))
    return np.concatenate([[intercept], coef]), half


def without_noise(table: EncodedTable) -> Floats:
    """Half-widths of the non-private intervals."""
    gram = table.moments(table.domain).floats(list(range(len(table.domain.entries))))
    S, v, n = gram[:-1, :-1], gram[:-1, -1], gram[0, 0]
    sigma2 = (gram[-1, -1] - v @ np.linalg.solve(S, v)) / (n - len(v))
    encoder = Encoder(table.domain)
    c, h = encoder.centre, encoder.half
    T = np.diag(h[-1] / h[:-1])
    T[0, 1:] = -c[1:-1] * h[-1] / h[1:-1]
    return stats.t.ppf((1 + LEVEL) / 2, n - len(v)) * np.sqrt(np.diag(T @ (sigma2 * np.linalg.inv(S)) @ T.T))


class Tally:
    """What one route did at one epsilon in some simulations."""

    def __init__(self, p: int) -> None:
        self.simulations = self.available = self.narrowed = self.new = self.new_clipped = 0
        self.covered, self.naive, self.naive_all = np.zeros((3, p), dtype=int)
        self.z, self.z2 = np.zeros((2, p))
        self.noise: list[float] = []
        self.ratio: list[float] = []
        self.width: list[float] = []

    def add(
        self,
        people: Population,
        released: PrivateMoments,
        results: Results,
        plain: Floats,
        new: tuple[Floats, Floats],
    ) -> None:
        """Count one fit; `plain` are the non-private half-widths, `new` people who are not in the table."""
        e, y = released.equations("y"), released.domain.columns["y"]
        truth = people.truth(y.low, y.high)
        b, half = least_squares(released, e, len(truth))
        naive = np.abs(b - truth) <= half
        self.simulations += 1
        self.naive_all += naive
        self.narrowed += released.certificate.declared is not None
        found = results.inference
        if isinstance(found, Unavailable) or not found.given.all():
            return
        low, high = found.interval(LEVEL).T
        self.available += 1
        self.covered += (low <= truth) & (truth <= high)
        self.naive += naive
        z = (found.estimate - truth) / found.std_err
        self.z += z
        self.z2 += z**2
        self.noise.append(float(found.noise.max()))
        self.ratio.append(float(np.median(found.privacy_noise / found.std_err)))
        self.width.append(float(np.mean((high - low) / 2 / plain)))
        below, above = results.predict_interval(new[0], LEVEL)
        clipped = np.clip(new[1], y.low, y.high)
        self.new += int(np.sum((below <= new[1]) & (new[1] <= above)))
        self.new_clipped += int(np.sum((below <= clipped) & (clipped <= above)))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}
