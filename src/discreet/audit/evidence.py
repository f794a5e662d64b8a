"""Numbers that an attacker reads off a release: the likelihood ratio of the two tables, and all other figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.audit.densities import AuditedModel, Density, Shown, Unlisted
from discreet.audit.laws import ReleaseDensity
from discreet.audit.subjects import Quiet, Seen
from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.families import family_of
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.privacy.values import GridValues
from discreet.released.certificate import Certificate
from discreet.released.moments import ReleasedMoments

Values = Sequence[Sequence[GridValues]]

SUMS, COEFFICIENTS = "sums", "coefficients"
"""The names of the two kinds of noise."""


@dataclass(frozen=True)
class Read:
    """The numbers that are read off one release."""

    ratio: float  # the logarithm of the likelihood ratio of the events whose law is known
    numbers: Floats  # all other figures of the release
    noise: dict[str, Floats]  # of sums and of coefficients, in units of its listed sd, from the table that was fitted
    whole: bool  # whether the law of all events is known, so that no statistic is better than the ratio


class Evidence:
    """A reader of releases, for deciding which of two tables they came from; `quiet` is a fit without noise."""

    def __init__(self, first: pa.Table, second: pa.Table, quiet: Quiet | None = None) -> None:
        self._laws = ReleaseDensity(first), ReleaseDensity(second)
        self._unlisted = Unlisted() if quiet is None else _unlisted(quiet)

    def read(self, one: Seen, fitted: int) -> Read | None:
        """Read a fit to the first table (0) or the second (1); None if it was refused."""
        if one.certificate is None or one.coefficients is None:
            return None
        models = _models(one)
        both = [self._density(law, one, models) for law in self._laws]
        first, second = (sum(part.logarithm for part in parts.values()) for parts, _ in both)
        noise = {name: part.noise for name, part in both[fitted][0].items() if part.noise is not None}
        return Read(second - first, _numbers(one.certificate, one.values, one.coefficients), noise, both[0][1])

    def _density(
        self, law: ReleaseDensity, one: Seen, models: list[AuditedModel | None]
    ) -> tuple[dict[str, Density], bool]:
        """The densities of sums and of coefficients, over events with a known law, and whether these are all events."""
        assert one.certificate is not None
        released = ReleasedMoments(one.certificate, tuple(map(tuple, one.values)))
        found, place, whole = {SUMS: Density(), COEFFICIENTS: Density()}, 0, _fits(one)
        for event, model in zip(one.certificate.events, models, strict=True):
            size = len(event.statistics)
            own, place = one.values[place : place + size], place + size
            name, seen = (COEFFICIENTS, model is not None) if event.coefficients else (SUMS, _fits(one))
            part = law.density(event, Shown(released, own, model, self._unlisted)) if seen else None
            whole = whole and part is not None and part.known
            found[name] = found[name] if part is None else found[name] + part
        return found, whole


def _fits(one: Seen) -> bool:
    """Whether there are as many released values as the certificate lists."""
    events = () if one.certificate is None else one.certificate.events
    return sum(len(event.statistics) for event in events) == len(one.values)


def _unlisted(quiet: Quiet) -> Unlisted:
    """The figures that a certificate does not list, from a fit without noise."""
    certificate = quiet.seen.certificate
    if certificate is None or (model := _models(quiet.seen)[-1]) is None:
        return Unlisted()
    released = ReleasedMoments(certificate, tuple(map(tuple, quiet.seen.values)))
    return ReleaseDensity(quiet.table).unlisted(certificate.events[-1], model, released)


def _models(one: Seen) -> list[AuditedModel | None]:
    """The coefficients that each event released; None if it released none, or if they are not shown.

    A pilot shows only the penalty weights that follow from it; the constant has the smallest of them.
    """
    assert one.certificate is not None
    events, thetas = one.certificate.events, _mapped(one)
    own = [k for k, event in enumerate(events) if event.coefficients]
    found: list[AuditedModel | None] = [None] * len(events)
    if len(own) != len(thetas) * (1 if one.weights is None else 2):
        return found
    for k, theta in enumerate(thetas):
        weights = None if one.weights is None else one.weights[k]
        if weights is not None and len(weights) < len(theta):
            weights = np.array([weights.min(), *weights])
        found[own[len(own) - len(thetas) + k]] = AuditedModel(theta, k if len(thetas) > 1 else 1, weights)
    return found


def _mapped(one: Seen) -> list[Floats]:
    """The coefficients of each model, the constant first, if their units are those of the mapped columns.

    The predictor of a class or of a count has its own unit.
    """
    assert one.certificate is not None
    assert one.coefficients is not None
    domain: Domain = one.certificate.domain
    own = [event.design for event in one.certificate.of(ObjectiveEvent) if not family_of(event.loss).linear]
    places = domain.indices(own[0]) if own else list(range(len(domain.entries)))
    count = len(one.intercepts)
    if not (np.all(domain.centre[places] == 0) and np.all(domain.half[places] == 1) and count):
        return []
    slopes = np.reshape(one.coefficients[: len(one.coefficients) - count], (count, -1))
    return list(np.column_stack([one.intercepts, slopes]) if domain.intercept else slopes)


def _numbers(certificate: Certificate, values: Values, coefficients: Floats) -> Floats:
    """Numbers of one release, equally many for each: coefficients, values of samples, and figures that events list."""
    found = [coefficients]
    if any(event.sampled_share < 1 for event in certificate.events):
        found += [part.floats() for parts in values for part in parts]
    return np.concatenate([*found, *(np.array(event.listed_numbers) for event in certificate.events)])
