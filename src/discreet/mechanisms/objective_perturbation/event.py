"""Objective perturbation: the cost of the minimiser of a noisy objective, and the noise that a promise needs.

theta minimises sum_i f(x_i'theta, y_i) + r(theta) + b'theta, with |x_i| <= B, r convex with modulus lambda, and b
Gaussian of sd sigma in every coordinate, or spherical Laplace (density proportional to e^(-|b|/sigma)). Write
L = B slope, b = B^2 curvature, mu = L/sigma, J = log(1 + b/lambda) and Q_v(m) = P(N(v^2/2, v^2) > m). The bounds on
the tail of the privacy loss below are proven in ``docs/mathematics``, section 7; all losses share them.

The released minimiser is exact up to a gradient of norm `tolerance`; Gaussian noise (or spherical Laplace noise)
of size `output` on top hides that difference, which is at most tolerance/lambda.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import ndtr

from discreet.core.arrays import Floats
from discreet.core.chance import length
from discreet.core.checks import LARGEST_ROWS, Neighbors
from discreet.core.field_kinds import ABOVE_0, FLAG, NAMES, NEIGHBORS, NUMBER, PAIR, TEXT, choice, maybe, record
from discreet.core.fields import Fields, fixed
from discreet.core.rounding import up
from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates
from discreet.errors import FileFormatError, ParameterError
from discreet.families import LOSS, Loss
from discreet.privacy import accounting
from discreet.privacy.events.base import Event, Finding, is_bound
from discreet.privacy.laws import Law, Point, Tail, together

if TYPE_CHECKING:
    from discreet.privacy.bounds import Bounds

Noise = Literal["gaussian", "laplace"]

_OUTPUT_SHARE = 0.1
"""The noise on the result costs a tenth of the mu (a fiftieth of the epsilon) of that in the objective."""

_SIZE = 32.0
"""The tolerance covers rounding errors at coefficients of this norm at least, in units of the mapped columns."""

ROTATED_SIZE = 1024.0
"""The bound `_SIZE` in units of u, whose coefficients are those of z times the radius."""

_UNIT = 2.0**-53


@dataclass(frozen=True)
class ObjectiveEvent(Event):
    """The released minimiser of a perturbed objective: everything that its privacy depends on.

    `norm` is B, `modulus` lambda, and `scale` sigma, meant for `neighbors`. The solver stops at a gradient of norm
    `tolerance`, which noise of scale `output` hides. A stage that was calibrated after an earlier output was seen has
    a promise, `declared` beforehand as (epsilon, delta). The `target`, the outcome's coordinate, is listed where the
    penalty is lambda |theta|^2/2 alone and theta is not constrained: then the loss of a row under squared loss has a
    closed form; the promise does not depend on it. Where rows are rotated, into `coordinates`, theta is that of u,
    whose norm is at most B, and the loss of a row is w^2 f(u'theta/w) with its weight w <= 1 (``docs/mathematics``,
    7.11).
    """

    loss: Loss
    design: tuple[str, ...]
    norm: float
    modulus: float
    scale: float
    tolerance: float
    output: float
    neighbors: Neighbors = "add-remove"
    noise: Noise = "gaussian"
    declared: tuple[float, float] | None = None
    target: str | None = None
    coordinates: Coordinates | None = None

    mechanism: ClassVar[str] = "objective perturbation"
    name: ClassVar[str] = "perturbed minimiser"
    exact: ClassVar[bool] = False
    coefficients: ClassVar[bool] = True
    minimises: ClassVar[bool] = True

    @property
    def rotated(self) -> Coordinates | None:
        """The coordinates of the stage that rows were rotated into, if any."""
        return self.coordinates

    @property
    def regressors(self) -> tuple[str, ...]:
        """The coordinates of the regressors."""
        return self.design

    @property
    def response(self) -> str | None:
        """The coordinate of the outcome, where it is listed."""
        return self.target

    @property
    def gradient(self) -> float:
        """The bound L on the norm of one row's gradient."""
        return up(self.norm * self.loss.slope)

    @property
    def smoothness(self) -> float:
        """The bound b on the largest eigenvalue of one row's Hessian."""
        return up(self.norm**2 * self.loss.curvature)

    @property
    def mu(self) -> float:
        """The Gaussian part of the cost: the noise on the result, which hides the error of the solver."""
        return 0.0 if self.declared or self.noise == "laplace" else self._output_cost

    @property
    def law(self) -> Law:
        """The part of the cost that is not Gaussian: as declared beforehand, or as it follows from the noise."""
        if self.declared:
            return Point(*self.declared)
        return Point(up(_pure(self) + self._output_cost)) if self.noise == "laplace" else Tail(_tail(self))

    def largest(self, rows: float, quadratic: float) -> float:
        """The norm of theta up to which rounding errors of at most so many rows are within 5/8 of the tolerance.

        `quadratic` is the largest coefficient of the penalty.
        """
        facts = (self.loss, len(self.design), self.norm, rows)
        still = gradient_error(*facts, 0.0)
        return (self.tolerance * 0.625 - still) / (gradient_error(*facts, 1.0) - still + 2.0**-48 * quadratic)

    def keeps_declared(self) -> bool:
        """Whether the noise keeps the declared promise."""
        if not self.declared:
            return True
        own = replace(self, declared=None)
        return together([own.law], own.mu)(self.declared[0]) <= self.declared[1]

    def finding(self, bounds: Bounds) -> Finding:
        """Compare the listed norm with that of the domain, and check that the noise keeps the declared promise."""
        norm = self._norm(bounds)
        ok = is_bound(self.norm, norm) and self.neighbors == bounds.neighbors and self.keeps_declared()
        stage = "" if self.declared is None else f", held to epsilon {self.declared[0]:.6g} declared beforehand"
        detail = f"norm of a row {norm:.6g}, listed {self.norm:.6g}{stage}"
        return Finding(f"noise in the {self.loss.name} objective", ok, detail)

    def _norm(self, bounds: Bounds) -> float:
        """The largest norm of a row, in columns or in the coordinates of a stage."""
        rotated = self.coordinates
        if rotated is None:
            return bounds.norm(self.design)
        rotated.check(bounds.domain)
        if rotated.design != self.design or len(rotated.axes) != len(self.design):
            raise ValueError("the coordinates of an objective are of other columns than its own")
        return bounds.norm(rotated.axes, rotated)

    def check_columns(self, domain: Domain) -> None:
        """Raise a KeyError where it names columns that a domain does not have."""
        domain.indices([*self.design, *([] if self.target is None else [self.target])])
        if self.coordinates is not None:
            self.coordinates.check(domain)

    def contradictions(self, rows: int | None) -> Iterator[tuple[str, str]]:
        """Yield (what, why) for regressors and noise that no perturbed objective has."""
        yield from super().contradictions(rows)
        if not self.is_calibrated(rows):
            why = "its scale, the tolerance of the solver and the noise on the result do not fit"
            yield f"noise of {self.name}", why

    def is_calibrated(self, rows: int | None) -> bool:
        """Whether tolerance and output are those that scale and modulus require, for so many declared rows."""
        facts = self.loss, self.design, self.norm, 1.0, 0.5, self.neighbors, self.noise, rows
        sizes = _SIZE, ROTATED_SIZE
        again = [Calibration(*facts, size).event(self.modulus, self.scale) for size in sizes]
        return any(_is_near(self.tolerance, one.tolerance) and _is_near(self.output, one.output) for one in again)

    def reach(self, rows: int | None) -> float:
        """A bound on the norm of the released theta, from the largest gradient at 0 of all rows and the noise.

        The objective is strongly convex with modulus lambda, and its penalty is least at 0.
        """
        d, n = len(self.design), LARGEST_ROWS if rows is None else most_rows(rows)
        normal = self.noise == "gaussian"
        noise, hidden = (length(d, s) if normal else s * (2 * d + 600) for s in (self.scale, self.output))
        return (n * self.gradient + noise + self.tolerance) / self.modulus + hidden

    @property
    def _output_cost(self) -> float:
        return up(2 * self.tolerance / self.modulus / self.output)

    FIELDS = Fields(
        "objective_perturbation",
        "The minimiser of an objective with noise in it.",
        "A perturbed objective of the release is of an unknown kind.",
        mechanism=fixed(mechanism),
        loss=LOSS,
        design=NAMES,
        norm=ABOVE_0("B: the largest norm of a row."),
        gradient=NUMBER("The largest norm of one row's gradient.", derived=True),
        smoothness=NUMBER("The largest second derivative of the loss of one row.", derived=True),
        one_signed=FLAG(attribute="loss.one_signed", derived=True),
        modulus=ABOVE_0("The strong convexity of the penalty."),
        noise=choice(Noise),
        scale=ABOVE_0("The scale of the noise in the objective."),
        tolerance=ABOVE_0("The tolerance of the solver."),
        output=ABOVE_0("Sd of the noise on the result."),
        neighbors=NEIGHBORS,
        declared=maybe(PAIR)("Epsilon and delta that a later stage was held to."),
        target=maybe(TEXT),
        exact=fixed(False),
        coordinates=record(Coordinates)(absent=None),
    )

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild an event from `to_dict`."""
        event = super().from_dict(facts)
        if event.declared is not None and not (event.declared[0] > 0 and 0 <= event.declared[1] < 1):
            raise FileFormatError("A perturbed objective of the release declares what no stage can keep.")
        if not event.design:
            raise FileFormatError("A perturbed objective of the release is of an unknown kind.")
        return event


def _is_near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6)


def _tail(event: ObjectiveEvent) -> Callable[[Floats], Floats]:
    """The bound on P(privacy loss > m), for Gaussian noise."""
    J = up(math.log1p(event.smoothness / event.modulus))
    mu, span = event.gradient / event.scale, up(event.norm * event.loss.span / event.scale)
    replace, one_signed = event.neighbors == "replace-one", event.loss.one_signed

    def plain(m: Floats) -> Floats:
        at = np.maximum(m - J, 0.0)
        if replace:
            corners = [2 * mu, mu, mu] if one_signed else [2 * mu] * 4
            p = sum(_q(v, at) for v in corners)
            if not one_signed:
                fewer = _q(2 * mu, at) + 2 * _q(span, at) + _q(2 * (span - mu), at)
                p = np.where(at >= 2 * mu * math.sqrt(2 + mu**2), fewer, p)
        else:
            p = _q(mu, at) * (1 if one_signed else 2)
            if not one_signed:
                fewer = _q(mu, at) + _q(span - mu, at)
                p = np.where(at >= mu * math.sqrt(2 + mu**2 / 4), fewer, p)
        return np.where(m < J, 1.0, np.minimum(p, 1.0))

    if not event.loss.bell or replace:
        return plain
    kappa = 4 * event.smoothness / event.modulus - mu**2 / 2
    return lambda m: np.minimum(plain(m), _bell(mu, kappa, m))


def _bell(mu: float, kappa: float, m: Floats) -> Floats:
    """The bound for losses whose curvature vanishes where their slope is largest: no J at all where m >= kappa."""
    if kappa <= 0:
        return _q(mu, m)
    least = (kappa + mu**2 / 2) ** 2 / (4 * kappa) if mu**2 / 2 < kappa else mu**2 / 2
    p = _q(mu, np.where(m < kappa, 2 * np.sqrt(kappa * m) - kappa, m))
    return np.where(m < least, 1.0, p)


def _q(v: float, m: Floats) -> Floats:
    """The probability P(N(v^2/2, v^2) > m)."""
    if v <= 0:
        return np.where(m < 0, 1.0, 0.0)
    p: Floats = ndtr(v / 2 - m / v)
    return p


def _pure(event: ObjectiveEvent) -> float:
    """The largest privacy loss with spherical Laplace noise."""
    E, J = event.gradient / event.scale, math.log1p(event.smoothness / event.modulus)
    other = E if event.neighbors == "replace-one" else 0.0
    c = 4 * event.smoothness / event.modulus
    if not event.loss.bell:
        return other + E + J
    return other + (E if c <= E else min((c + E) ** 2 / (4 * c), E + J))


@dataclass(frozen=True)
class Calibration:
    """The public facts from which noise is calibrated.

    The tolerance covers rounding errors of so many `rows`, at coefficients of a norm of at least `size`.
    """

    loss: Loss
    design: tuple[str, ...]
    norm: float
    epsilon: float
    delta: float
    neighbors: Neighbors = "add-remove"
    noise: Noise = "gaussian"
    rows: int | None = None
    size: float = _SIZE

    def event(self, modulus: float, scale: float, declared: tuple[float, float] | None = None) -> ObjectiveEvent:
        """The event of a minimiser with this noise, its tolerance and the noise on the result that hides it."""
        L = self.norm * self.loss.slope
        needed = 1.6 * gradient_error(self.loss, len(self.design), self.norm, most_rows(self.rows), self.size)
        tolerance = max(2.0**-24 * scale, needed, 2.0**-36 * modulus)
        share = _OUTPUT_SHARE if self.noise == "gaussian" else _OUTPUT_SHARE / 5
        output = 2 * tolerance / modulus / (share * L / scale)
        facts = (self.loss, self.design, self.norm, modulus, scale, tolerance, output, self.neighbors, self.noise)
        return ObjectiveEvent(*facts, declared)

    def calibrate(self, modulus: float, count: int = 1, others: Sequence[Event] = ()) -> ObjectiveEvent:
        """The event with the least noise such that `count` of them keep the promise together, with others."""
        scale = _scale(self, modulus, count, tuple(others))
        if scale is None:
            raise ParameterError(
                f"No noise keeps epsilon = {self.epsilon:g} with a penalty of {modulus:g}: its quadratic part must be "
                f"larger. Leave alpha=None to have it chosen, or choose {2 * self.least_modulus(count):.3g} or more."
            )
        return self.event(modulus, scale)

    def stage(self, modulus: float) -> ObjectiveEvent:
        """The event with the least noise that keeps this promise by itself, declared beforehand."""
        return replace(self.calibrate(modulus), declared=(self.epsilon, self.delta))

    def least_modulus(self, count: int = 1) -> float:
        """The modulus from which curvature costs little, so that nearly all of the budget goes to noise.

        Where curvature vanishes at the largest slopes it costs nothing from 4b/epsilon on (docs/mathematics, 7.3), for
        add-remove neighbours; elsewhere J = log(1 + b/lambda) is to be at most the loss's share of epsilon: a tenth,
        and a quarter for Poisson regression (docs/howto/glm.md).
        """
        b, each = self.norm**2 * self.loss.curvature, self.epsilon / math.sqrt(count)
        free = self.loss.bell and self.neighbors == "add-remove"
        return 4 * b / each if free else b / math.expm1(min(each * self.loss.share, 500.0))


@lru_cache(maxsize=256)
def _scale(facts: Calibration, modulus: float, count: int, others: tuple[Event, ...]) -> float | None:
    """The scale of the least noise, if any keeps the promise; cached, for repeated fits."""

    def holds(scale: float) -> bool:
        events = [*others, *[facts.event(modulus, scale)] * count]
        if facts.noise == "laplace":  # pure, whatever delta is
            return accounting.epsilon(events, facts.delta) <= facts.epsilon
        return accounting.delta(events, facts.epsilon) <= facts.delta

    return _least_scale(holds, facts.norm * facts.loss.slope / facts.epsilon)


def _least_scale(holds: Callable[[float], bool], start: float) -> float | None:
    """The least scale, up to a relative 1e-6, that keeps a promise; None where none up to 2^20 starts does."""
    low, high = start / 2, start
    while holds(low):
        low, high = low / 2, low
        if high < start * 2.0**-60:
            return high
    while not holds(high):
        low, high = high, high * 2
        if high > start * 2.0**20:
            return None
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def most_rows(rows: float | None) -> float:
    """The largest table that the promise of a perturbed objective covers: twice a rounded number of rows, or 2^20.

    Examples
    --------
    >>> most_rows(1000)
    2000
    """
    return 2 * rows if rows else 1 << 20


def gradient_error(loss: Loss, d: int, B: float, rows: float, size: float) -> float:
    """The error of the norm of a computed sum of so many gradients, at a theta of this norm.

    A row's eta errs by at most (d + 1) u |x| |theta|, its slope by the curvature times that and a few units in the last
    place; the split of `rows.Rows.sums` adds 8,192 u 2^-13 of the largest slope, twice. Twice their sum is taken.
    """
    eta = (d + 2) * _UNIT * B * size
    return 2 * rows * B * (loss.curvature * eta + (16 + 2) * _UNIT * loss.slope)
