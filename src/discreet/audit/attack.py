"""An audit: fit two neighbouring tables many times, and measure how well the best statistic tells them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from discreet.audit.evidence import Evidence, Read
from discreet.audit.paths import Way, offered
from discreet.audit.promise import TradeOff
from discreet.audit.result import Audit
from discreet.audit.search import worst
from discreet.audit.statistics import AuditNoise, GuessCounts, best_threshold, counted, separation, trained
from discreet.audit.subjects import Subject
from discreet.audit.tables import Neighbours
from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.data.reading import Progress, as_progress
from discreet.errors import ParameterError
from discreet.released.certificate import Certificate

TRAINING = 0.15, 0.15
"""The shares of the fits that train a statistic, and that choose one and its threshold; the others are counted."""

_SEARCH = 0.2
"""The share of the progress bar for the search for neighbouring tables."""

_MOST_NUMBERS = 64

RATIO, TRAINED = "likelihood ratio", "trained"


def audit(
    subject: Subject,
    *,
    path: str | Way = "memory",
    fits: int = 2000,
    confidence: float = 0.95,
    pair: Neighbours | None = None,
    seed: int | None = None,
    progress: bool | Progress = False,
) -> Audit:
    """Attack an estimator: a lower bound on its epsilon, from many fits to two tables that differ in one person.

    Every fit uses the public interface, from the source of rows to the certificate. Random words come from seeds
    instead of the operating system, so that no budget is charged; everything else is the same.

    Parameters
    ----------
    subject : Subject
        The estimator that is attacked; see `subject_of` for the methods of the registry.
    path : str or callable
        The source of the rows: a name in `PATHS`, or a function from a table and an empty folder to a source.
    fits : int
        The number of fits, half of them for each table.
    confidence : float
        The confidence of the bound.
    pair : Neighbours, optional
        The neighbouring tables; by default the worst pair that a search finds.
    seed : int, optional
        The seed, to repeat an audit.
    progress : bool or callable
        Show a progress bar, or call this with the fraction done.

    Examples
    --------
    >>> from discreet.audit import audit, subject_of
    >>> found = audit(subject_of("SSP", 10.0, 1e-6), fits=200, seed=1)
    >>> 5 < found.epsilon < 10, found.broken
    (True, False)
    """
    if isinstance(fits, bool) or not isinstance(fits, int) or fits < 40:
        raise ParameterError(f"fits must be a whole number of at least 40, got {checks.shown(fits)}.")
    checks.fraction("confidence", confidence)
    rng = np.random.default_rng(seed)
    with as_progress(progress, "Fitting") as report:
        if pair is None:
            pair = worst_pair(subject, rng, lambda done: report(_SEARCH * done))
        found = _fits(subject, pair, path, fits, rng, lambda done: report(_SEARCH + (1 - _SEARCH) * done))
    return _judged(subject, pair, path if isinstance(path, str) else "given", found, confidence)


def worst_pair(subject: Subject, rng: np.random.Generator, report: Progress = lambda _: None) -> Neighbours:
    """Search for the pair of tables that is easiest to tell apart; see `search`."""
    return worst(subject, rng, partial(_separation, rng), report)


@dataclass(frozen=True, eq=False)
class Fits:
    """Numbers from the fits to each table, one row per fit: the likelihood ratio, a flag for refusals, and all others.

    `whole` says whether the ratio uses everything that is released, `noise` how large the noise is relative to its sds.
    """

    first: Floats
    second: Floats
    whole: bool
    noise: dict[str, AuditNoise]
    certificate: Certificate
    refused: int

    def divided(self) -> list[tuple[Floats, Floats]]:
        """Split the fits into those for training, for choosing, and for counting."""
        cuts = np.rint(np.cumsum(TRAINING) * len(self.first)).astype(int)
        return list(zip(np.split(self.first, cuts), np.split(self.second, cuts), strict=True))


def _fits(
    subject: Subject, pair: Neighbours, path: str | Way, fits: int, rng: np.random.Generator, report: Progress
) -> Fits:
    """Fit both tables in turn."""
    tables = pair.tables()
    evidence = Evidence(*tables, subject.quiet())
    certificates: list[Certificate] = []
    lines: tuple[list[Read | None], list[Read | None]] = ([], [])
    with offered(tables, path) as sources:
        for k in range(2 * (fits // 2)):
            one = subject.seen(sources[k % 2], rng)
            lines[k % 2].append(evidence.read(one, k % 2))
            certificates += [] if one.certificate is None else [one.certificate]
            if k % 8 == 0:
                report(k / fits)
    read = [own for side in lines for own in side if own is not None]
    if not read:
        raise ParameterError("Every fit was refused, so nothing can be attacked: try other parameters or tables.")
    width = min(_MOST_NUMBERS, *(len(own.numbers) for own in read))
    first, second = (np.array([_line(own, width) for own in side]) for side in lines)
    refused = len(first) + len(second) - len(read)
    whole = all(own.whole for own in read) and not refused
    names = dict.fromkeys(name for own in read for name in own.noise)
    noise = {name: AuditNoise.of([own.noise[name] for own in read if name in own.noise]) for name in names}
    return Fits(first, second, whole, noise, certificates[0], refused)


def _line(read: Read | None, width: int) -> Floats:
    if read is None:
        return np.array([0.0, 1.0, *[0.0] * width])
    return np.asarray(np.nan_to_num(np.array([read.ratio, 0.0, *read.numbers[:width]])))


def _separation(rng: np.random.Generator, subject: Subject, pair: Neighbours, fits: int) -> float:
    """The separation of two tables by this many fits to each; 0.5, that is none, if all fits are refused."""
    try:
        found = _fits(subject, pair, "memory", 2 * fits, rng, lambda _: None)
    except ParameterError:
        return 0.5
    return separation(found.first, found.second)


def _preferred(best: dict[str, GuessCounts]) -> str:
    """Choose the statistic: the likelihood ratio if the law is known, unless the trained one is clearly better."""
    if RATIO not in best:
        return TRAINED
    gain = best[TRAINED].right - best[RATIO].right
    return TRAINED if gain > 2 * math.sqrt(best[RATIO].guesses / 2) else RATIO


def _judged(subject: Subject, pair: Neighbours, path: str, fits: Fits, confidence: float) -> Audit:
    """Choose a statistic and a threshold on some fits, and count their errors on the others."""
    promise = TradeOff(fits.certificate)
    kind, delta = promise.kind, promise.guarantee.delta
    training, choosing, rest = fits.divided()
    statistics = {TRAINED: trained(*training)} | ({RATIO: lambda A: A[:, 0]} if fits.whole else {})
    best: dict[str, tuple[float, GuessCounts]] = {}
    for name, own in statistics.items():
        edges = np.zeros(1) if (name, kind) == (RATIO, "mu") else None
        best[name] = best_threshold(own(choosing[0]), own(choosing[1]), kind, delta, edges)
    name = _preferred({own: counts for own, (_, counts) in best.items()})
    first, second = (statistics[name](own) for own in rest)
    return Audit(
        subject=subject.name,
        status=subject.status,
        path=path,
        neighbors=subject.estimator.neighbors,
        unit=fits.certificate.domain.unit.short,
        tables=str(pair),
        statistic=name,
        kind=kind,
        counts=counted(first, second, best[name][0]),
        trained=sum(map(len, (*training, *choosing))),
        refused=fits.refused,
        confidence=confidence,
        promise=promise,
        scores=(first, second),
        noise=fits.noise,
    )
