"""The main entry: per-instance privacy losses of all rows of a table under a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.data.moments import Moments
from discreet.data.reading import Progress, as_progress
from discreet.errors import ParameterError
from discreet.per_instance.mechanisms.parts import LossFacts, Pair, needs_moments, parts
from discreet.per_instance.persons import person_losses
from discreet.per_instance.result import Losses, Measured
from discreet.per_instance.stream import EncodedRows, each_row, one_row, open_ordered
from discreet.released.certificate import Certificate
from discreet.results.saved import load_certificate


def losses(
    source: Any,
    release: Any,
    *,
    targets: Any = None,
    replacement: Any = None,
    moments: Moments | None = None,
    n_jobs: int | None = None,
    progress: bool | Progress = False,
) -> Losses:
    """Compute the per-instance privacy losses of a release: epsilon_i(delta) of every row; **confidential**.

    The loss of a row compares the release with the one that would have been drawn without the row. Rows are clipped and
    rounded exactly as for the release, so Gaussian parts are exact. Where the release protects persons with many rows,
    the losses are those of persons, and `Losses.names` names them; weighted rows count with their weights. The data are
    read once more; twice where the loss of a row depends on the others, as for coefficients, and `moments` are not
    given.

    Parameters
    ----------
    source : path, list of paths, frame, Arrow table, array, or pair (X, y)
        The private rows that the release was computed from.
    release : PrivateMoments, fitted estimator, Certificate, or path of a release or model file
        The release.
    targets : like `source`, optional
        People who are not in the table; their losses, if each were added to it, are computed instead.
    replacement : like `source`, with one row, optional
        For replace-one releases: the row that takes each row's place. Without it the loss is a bound over every
        possible one.
    moments : Moments, optional
        Exact moments of the same rows in the domain of the release, where they are known already.
    n_jobs : int, optional
        Threads; all cores by default.
    progress : bool or callable
        Show a progress bar, or call this with the fraction done.

    Examples
    --------
    >>> from discreet import DPLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (1000, 2))
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> found = losses((X, X.sum(axis=1)), model)
    >>> found, found.exact, bool(found.epsilon().max() <= 1)
    (Losses(confidential), True, True)
    """
    certificate = certificate_of(release)
    _check(certificate, targets, replacement)
    if not certificate.domain.unit.plain:
        return _of_persons(source if targets is None else targets, certificate, replacement, moments, progress)
    facts = _facts(source, certificate, targets, replacement, moments, n_jobs)
    with as_progress(progress) as report:
        measured = _measure(source if targets is None else targets, facts, n_jobs, report)
    return Losses(certificate, measured, _about(facts, targets))


def _facts(
    source: Any, certificate: Certificate, targets: Any, replacement: Any, moments: Moments | None, n_jobs: int | None
) -> LossFacts:
    if needs_moments(certificate):
        for rows in (source,) if targets is None else (source, targets):
            _refuse_stream(rows, certificate)
    return LossFacts(
        certificate,
        lambda: _moments(source, moments, certificate, n_jobs),
        lambda work: each_row(source, certificate.domain, work, n_jobs=n_jobs),
        lambda work: each_row(targets, certificate.domain, work, n_jobs=n_jobs),
        adding=targets is not None,
        pair=None if replacement is None else _pair(replacement, certificate),
    )


def _of_persons(
    rows: Any, certificate: Certificate, replacement: Any, moments: Any, progress: bool | Progress
) -> Losses:
    if replacement is not None or moments is not None:
        raise ParameterError("replacement= and moments= are for rows that count alike: leave them out here.")
    with as_progress(progress) as report:
        return person_losses(rows, certificate, report)


def _measure(rows: Any, facts: LossFacts, n_jobs: int | None, report: Progress) -> list[Measured]:
    """Compute all parts that share a domain in one pass: the domain of the release, or that of a counted column."""
    wanted = parts(facts)
    values: dict[int, Floats] = {}
    declared = facts.certificate.declared or facts.domain
    for column in dict.fromkeys(part.column for part in wanted):
        chosen = [i for i, part in enumerate(wanted) if part.column == column]
        domain = facts.domain if column is None else declared

        def work(batch: EncodedRows, chosen: list[int] = chosen) -> Floats:
            return np.concatenate([np.atleast_2d(wanted[i].cost(batch)) for i in chosen])

        found = each_row(rows, domain, work, only=column, n_jobs=n_jobs, progress=report)
        ends = np.cumsum([1 if (curve := wanted[i].curve) is None else curve.width for i in chosen])
        values |= dict(zip(chosen, np.split(found, ends[:-1]), strict=True))
    return [Measured(part, values[i] if part.curve else values[i][0]) for i, part in enumerate(wanted)]


def certificate_of(release: Any) -> Certificate:
    """Find the certificate of a release, a fitted estimator or a file, or return the one given."""
    if isinstance(release, Certificate):
        found = release
    elif isinstance(release, (str, Path)):
        found = load_certificate(release)
    else:
        found = getattr(release, "certificate", None) or getattr(release, "certificate_", None)  # type: ignore[assignment]
    if not isinstance(found, Certificate):
        raise ParameterError("release must be a PrivateMoments, a fitted estimator, a Certificate or a release file.")
    if not found.events:
        raise ParameterError("This release was computed from no data, so it costs nobody anything.")
    return found


def _check(certificate: Certificate, targets: Any, replacement: Any) -> None:
    replaces = certificate.guarantee.neighbors == "replace-one"
    if replaces and targets is not None:
        raise ParameterError("targets= are added to the table, but this release is about rows that are replaced.")
    if not replaces and replacement is not None:
        raise ParameterError("replacement= is for replace-one releases; this one is about rows that come or go.")


def _moments(source: Any, given: Moments | None, certificate: Certificate, n_jobs: int | None) -> Moments:
    if given is None:
        return Moments.from_source(source, certificate.domain, n_jobs=n_jobs)
    if not isinstance(given, Moments) or given.domain != certificate.domain:
        raise ParameterError("moments must be those of the same rows, in the domain of the release.")
    return given


def _refuse_stream(source: Any, certificate: Certificate) -> None:
    opened = open_ordered(source, certificate.domain)
    opened.close()
    if opened.once:
        raise ParameterError("A stream can be read only once, and this release needs two passes. Give a table or file.")


def _pair(replacement: Any, certificate: Certificate) -> Pair:
    declared = certificate.declared or certificate.domain
    columns = {block.kind.column(block) for block in certificate.blocks}
    used = one_row(replacement, certificate.domain, "replacement")
    return Pair(used, {c: one_row(replacement, declared, "replacement", only=c) for c in columns if c is not None})


def _about(facts: LossFacts, targets: Any) -> str:
    if facts.replaces:
        return "each row replaced by another" + (", the worst" if facts.pair is None else " that was given")
    return "each row of the table, with and without it" if targets is None else "each target, added to the table"
