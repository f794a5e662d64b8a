"""Private coordinates at a generalised linear model: its residuals, and the weights of its Fisher information.

With x the design's coordinates of an encoded row and y an outcome in the user's unit, u and w those of
`domain.coordinates`, a stage has

    eta = theta'x             m = h(eta)                          the expected outcome, at most Y
    v   = w (y - m)           e = clip(v, -b, b)/b                |e| <= 1
    k   = sqrt(h'(eta)/c)     a = k u                             |a| <= |u| <= 1

with c the largest slope of h: the score of a row is b u e, and its Fisher information c a a'. Classes that exclude each
other have k = 2 sqrt(p_j p_k) for each pair of them instead. theta'x is exact, and all else is done element by element
by operations that IEEE 754 defines to the last bit, so e and a are functions of the row alone. Proofs in
``docs/mathematics``, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.field_kinds import ABOVE_0, TEXT, one_of, record
from discreet.core.fields import Fields
from discreet.domain.coordinates import CoordinateMap, Coordinates, RotatedBatch, into_ball, squared_norms
from discreet.domain.domain import LATTICE_BITS, Domain, rounded_ball
from discreet.domain.elementary import log
from discreet.domain.encoding import ONE
from discreet.domain.sketch import SketchCoordinates, SketchMap
from discreet.errors import DomainError, ParameterError
from discreet.families import FAMILIES, Family, Link


def _staged() -> list[Link]:
    return [link for link, family in FAMILIES.items() if not family.linear]


@dataclass(frozen=True)
class ModelCoordinates(Coordinates):
    """Public coordinates of a stage at a generalised linear model theta.

    Parameters
    ----------
    design, outcomes, P, theta, radius, widths, row_norms
        As in `Coordinates`; widths are in units of the outcomes.
    link : {"logit", "log"}
        The link of a family that has such stages: of outcomes that are 0 or 1, or of counts.
    largest : float
        Y, the bound at which rates are clipped; 1 for probabilities.
    exposure : str, optional
        For counts, a column whose logarithm is added to the predictor.
    width : float, optional
        For classes by their sign, the width of the corner of the hinge.

    Examples
    --------
    >>> plain = Coordinates.rounded(["(intercept)", "x"], [], np.eye(2), np.zeros((2, 0)), 1.0, [])
    >>> stage = ModelCoordinates.at(plain, ["y"], [[0.5], [1.0]], [[1.0]], "logit")
    >>> stage.largest_slope, stage.mean(np.array([0.0]))
    (0.25, array([0.5]))
    """

    link: Link = "logit"
    largest: float = 1.0
    exposure: str | None = None
    width: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        known = FAMILIES.get(self.link) if isinstance(self.link, str) else None
        plain = checks.is_real(self.largest) and 0 < self.largest < math.inf
        if known is None or known.linear or not plain:
            raise ParameterError("A stage at a model needs a known link, and a largest outcome above 0.")
        if known.largest is not None and self.largest != known.largest:
            raise ParameterError("Probabilities are at most 1.")
        if self.exposure is not None and not known.exposed:
            raise ParameterError("Only counts have an exposure.")
        cornered = checks.is_real(self.width) and 0 < self.width < math.inf
        if (
            self.shrinkage is not None
            and known.joint
            and (set(map(len, self.widths)) != {1} or len(set(self.widths)) > 1)
        ):
            raise ParameterError("Classes of a wide table have one half width.")
        if cornered != known.cornered or (self.width is not None and not cornered):
            raise ParameterError("A hinge has the width of its corner, and other losses have none.")

    @property
    def family(self) -> Family:
        """The family of its link."""
        return FAMILIES[self.link]

    @classmethod
    def at(
        cls,
        plain: Coordinates,
        outcomes: Sequence[str],
        theta: ArrayLike,
        widths: Sequence[Sequence[float]],
        link: Link,
        most: float = 1.0,
        exposure: str | None = None,
        width: float | None = None,
    ) -> ModelCoordinates:
        """Take axes and radius from other coordinates, at a model that is rounded so that products are exact."""
        held = plain.of_model(outcomes, theta, widths)
        own = (
            held.design,
            held.outcomes,
            plain.P,
            held.theta,
            plain.radius,
            held.widths,
            (),
            plain.most,
            plain.shrinkage,
        )
        return cls(*own, link, float(most), exposure, width)

    def _norm_squared(self, names: tuple[str, ...]) -> float:
        """The largest squared norm of u, or of e; with classes that exclude each other it is below 1 + 1/b.

        |e| is at most 1 for the class of the row, and p/b for another one, whose squares add up to 1/b at most. In a
        wide table the whole of e is scaled to norm 1.
        """
        own = super()._norm_squared(names)
        if not self.family.joint or names == self.axes:
            return own
        if self.shrinkage is not None:
            return math.ldexp(float(rounded_ball(len(self.outcomes))), -2 * LATTICE_BITS)
        least = min(1.0, *(widths[0] for widths in self.widths))
        return min(own, 1 + 1 / least + len(names) * 2.0**-LATTICE_BITS)

    def check(self, domain: Domain) -> None:
        """Check the columns; refuse an exposure whose bounds are not above 0, and classes that may be 1 together."""
        super().check(domain)
        check_exposure(self.exposure, domain)
        columns = {domain.column_of[name] for name in self.outcomes}
        if self.family.joint and not (len(columns) == 1 and domain.columns[columns.pop()].is_indicator):
            raise DomainError("Classes that exclude each other are levels of one category.")

    @property
    def slopes(self) -> int:
        """The number of k of a row: one for each outcome, or for each pair of classes that exclude each other."""
        m = len(self.outcomes)
        return m * (m - 1) // 2 if self.family.joint else m

    @property
    def largest_slope(self) -> float:
        """The largest slope c of h."""
        return self.family.loss(self.largest).curvature

    def mean(self, eta: Floats) -> Floats:
        """The expected outcome h(eta)."""
        return self.family.mean(eta, self.largest)

    def residual(self, eta: Floats, y: Floats) -> Floats:
        """The score of a row, y - h(eta) or that of the hinge."""
        return self.family.residual(eta, y, self.largest, self.width)

    def root(self, eta: Floats) -> Floats:
        """The root k = sqrt(h'(eta)/c)."""
        return self.family.root(eta, self.largest)

    FIELDS = Fields(
        Coordinates.FIELDS.name,
        Coordinates.FIELDS.words,
        **Coordinates.FIELDS.rows,
        link=one_of(_staged)("The link of a model of classes or counts.", absent=None),
        largest=ABOVE_0("The largest mean of its outcome.", absent=None),
        exposure=TEXT("Its exposure column.", absent=None),
        width=ABOVE_0("The width of the corner of its hinge.", absent=None),
    )


def check_exposure(name: str | None, domain: Domain) -> None:
    """Refuse an exposure that is not a declared number between 1e-6 and 1e6."""
    if name is None:
        return
    column = domain.columns.get(name)
    bounds = None if column is None or column.factors else column.bounds
    if bounds is None or not 1e-6 <= bounds[0] < bounds[1] <= 1e6:
        raise DomainError(f"The exposure {name!r} must be a number with declared bounds between 1e-6 and 1e6.")


def coordinates_from_dict(facts: Mapping[str, Any]) -> Coordinates:
    """Read coordinates of any kind from a file."""
    kind = ModelCoordinates if "link" in facts else SketchCoordinates if "reach" in facts else Coordinates
    return kind.from_dict(facts)


_EVERY_KIND = Fields(
    Coordinates.FIELDS.name,
    Coordinates.FIELDS.words,
    **SketchCoordinates.FIELDS.rows | ModelCoordinates.FIELDS.rows,
)
"""One description of coordinates of all kinds: each lacks the fields of others."""

COORDINATES = replace(record(Coordinates), read=coordinates_from_dict)


class ModelCoordinateMap(CoordinateMap):
    """Transform batches of encoded rows of one domain into the coordinates of a stage at a model.

    The rows of `RotatedBatch.both` are e, u, and then k of each outcome, or of each pair of classes.

    Parameters
    ----------
    coordinates : ModelCoordinates
        The stage.
    domain : Domain
        The domain by which rows were encoded.
    rows : int
        The largest number of rows in a batch.
    information : bool
        Whether k is computed.

    Examples
    --------
    >>> plain = Coordinates.rounded(["(intercept)"], [], [[1.0]], np.zeros((1, 0)), 1.0, [])
    >>> stage = ModelCoordinates.at(plain, ["y"], [[0.0]], [[1.0]], "logit")
    >>> rotated = ModelCoordinateMap(stage, Domain({"y": (0, 1)}), 1).rotate(np.array([[ONE, ONE]]))
    >>> (rotated.both / ONE).tolist()  # e = 1 - 1/2, u = 1, k = 1
    [[0.5], [1.0], [1.0]]
    """

    _of_outcome = 0.0

    def __init__(self, coordinates: ModelCoordinates, domain: Domain, rows: int, *, information: bool = True) -> None:
        super().__init__(coordinates, domain, rows)
        self._model, places, self._informed = coordinates, domain.indices(coordinates.outcomes), information
        self._outcomes = [(place, float(domain.centre[place]), float(domain.half[place])) for place in places]
        self._k, exposure = np.empty((coordinates.slopes, 0)), coordinates.exposure
        self._exposure = None if exposure is None else domain.indices([exposure])[0]
        if self._exposure is not None:
            self._units = float(domain.centre[self._exposure]), float(domain.half[self._exposure])

    def rotate(self, A: Floats) -> RotatedBatch:
        """Transform a batch of encoded rows."""
        found = super().rotate(A)
        return found._replace(both=np.vstack([found.both, self._k])) if self._informed else found

    def _weigh(self, V: Floats, w: Floats, A: Floats) -> None:
        eta = V / -ONE
        if self._exposure is not None:
            eta += log(self._units[0] + self._units[1] * (A[:, self._exposure] / ONE))
        y = np.stack([centre + half * (A[:, place] / ONE) for place, centre, half in self._outcomes])
        if self._informed:
            self._k = np.rint(np.minimum(self._model.root(eta), 1.0) * ONE)
        np.multiply(self._model.residual(eta, y), w, out=V)
        V *= ONE

    def _clip(self, V: Floats, E: Floats) -> None:
        """Clip residuals; those of classes that exclude each other are scaled to norm b in a wide table."""
        if self._shrinkage is None or not self._model.family.joint:
            super()._clip(V, E)
            return
        E[:] = V
        length = np.maximum(np.sqrt(squared_norms(V, np.empty_like(V))), self._model.widths[0][0] * ONE)
        into_ball(E, length, float(rounded_ball(len(E))))


def map_of(coordinates: Coordinates, domain: Domain, rows: int, *, information: bool = False) -> CoordinateMap:
    """The transformation of rows into coordinates of any kind, with k of a model's rows if they are needed."""
    if isinstance(coordinates, ModelCoordinates):
        return ModelCoordinateMap(coordinates, domain, rows, information=information)
    if isinstance(coordinates, SketchCoordinates):
        return SketchMap(coordinates, domain, rows)
    return CoordinateMap(coordinates, domain, rows)
