r"""What a perturbed minimiser costs each row (``docs/mathematics.md``, 10.5).

*Any loss.* A row moves the objective by its own gradient and Hessian alone, so the event's bound at the row's own norm
holds for it.

*Squared loss, quadratic penalty.* Where no prediction reaches the linear part of the loss the minimiser is normal, and
the loss of a row has the closed form of `squared_objective`. Let A be the minimisers with |x_j'theta| < limit for all
rows j, the one in question included. On A the true densities are those of the normals, so

    HS(P, Q) <= HS(normals) + P(outside A),      P(outside A) <= sum_j P(|x_j'theta| >= limit), normal tails.

With u_j = H^-1 x_j and m_j = x_j'u_j, leaving out a row i moves x_j'theta_hat by x_j'u_i r_i/(1 - m_i) and u_j by
u_i x_j'u_i/(1 - m_i), where |x_j'u_i| <= sqrt(m_j m_i); adding one has 1 + m_i in the place of 1 - m_i. So tails with

    |x_j'theta_hat| + sqrt(m_j) max_i sqrt(m_i) |r_i|/(1 - m_i)   as the mean,
    sigma (|u_j| + sqrt(m_j) max_i sqrt(m_i) |u_i|/(1 - m_i))     as the standard deviation

cover all tables at once. Where their sum is small beside delta, the closed form plus the sum is used, otherwise the
bound from the norm. Often the largest tail that the norm of a row allows, times their number, is small enough already,
and the rows need not be read for it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.per_instance.parts import Facts, Part, own_curve, parts_of, span
from discreet.per_instance.quadratic_loss import ROUNDED
from discreet.per_instance.squared_objective import SquaredCurve, statistics
from discreet.per_instance.stream import Rows
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.privacy.laws import Law, Point
from discreet.privacy.losses import Squared

Floats = NDArray[np.float64]

LEVELS = 48
"""Norms of rows are rounded up to this many levels."""

SHARE = 1e-3
"""Of delta: what the predictions beyond the limit may add to it, for the closed form to be used."""


def _closed(event: ObjectiveEvent) -> bool:
    """Whether a closed form may exist."""
    plain = event.declared is None and event.noise == "gaussian" and event.neighbors == "add-remove"
    return plain and isinstance(event.loss, Squared) and event.target is not None


@parts_of(ObjectiveEvent, moments=_closed)
def objective(event: ObjectiveEvent, facts: Facts) -> list[Part]:
    """The closed form where there is one, else the event's bound at the row's own norm."""
    if facts.replaces or event.declared is not None:
        return own_curve(event, facts)
    full = "in full for everybody, for it hides where the solver stopped"
    hiding = Part("noise on the minimiser", lambda rows: event.mu**2 * rows.present, event.mu**2, given=full)
    failure = beyond(event, facts) if _closed(event) else 1.0
    if failure > SHARE * facts.certificate.guarantee.delta:
        note = "a bound from the norm of the row"
        return [_by_norm(event, facts, note), *([replace(hiding, note=note, given="")] if event.mu else [])]
    return [_exactly(event, facts, failure), hiding]


def _by_norm(event: ObjectiveEvent, facts: Facts, note: str) -> Part:
    X, norms = facts.domain.indices(event.design), event.norm * np.arange(1, LEVELS + 1) / LEVELS
    laws: tuple[Law, ...] = (Point(0.0), *(replace(event, norm=float(norm)).law for norm in norms))

    def level(rows: Rows) -> Floats:
        places = np.searchsorted(norms, np.sqrt(rows.norm2(X)) * (1 - 2.0**-40)) + 1.0
        return np.where(rows.norm2(X) > 0, np.minimum(places, LEVELS), 0.0)

    return Part(event.name, level, note=note, laws=laws)


def _exactly(event: ObjectiveEvent, facts: Facts, failure: float) -> Part:
    target = str(event.target)

    def cost(rows: Rows) -> Floats:
        return statistics(facts.leave_one_out(rows, event.design, target, event.modulus))

    given = f"up to a probability below {max(failure, 1e-300):.1g} that a prediction leaves the bounds of the loss"
    given = f"{given}; {ROUNDED}"
    return Part(event.name, cost, None, given=given, curve=SquaredCurve(event.scale, failure))


def beyond(event: ObjectiveEvent, facts: Facts) -> float:
    """A bound on the probability that some prediction reaches the linear part of the loss; 1 where none is known."""
    fit = facts.ridge(event.design, str(event.target), event.modulus)
    X, y = span(facts.domain.indices(event.design)), facts.domain.indices([str(event.target)])[0]
    B, h = event.norm, float(fit.values[0]) + event.modulus
    reach = B * float(np.linalg.norm(fit.theta))
    anybody = np.array([[reach], [B**2 / h], [B / h], [1 + reach]])
    rough = (facts.moments.count + 1) * float(_tails(event, anybody, anybody, facts.adding)[0])
    if rough <= SHARE * facts.certificate.guarantee.delta:
        return rough

    def look(rows: Rows) -> Floats:
        x = rows.Z[:, X]
        u, eta = x @ fit.inverse, x @ fit.theta
        m, norm = np.einsum("ij,ij->i", u, x), np.sqrt(np.einsum("ij,ij->i", u, u))
        return np.stack([eta, np.maximum(m, 0.0), norm, rows.Z[:, y] - eta])

    table = facts.survey(look)
    if not facts.adding:
        return float(_tails(event, table, table, adding=False).sum())
    changed = facts.survey_targets(look)
    return float(_tails(event, table, changed, adding=True).sum() + _tails(event, changed, changed, adding=True).max())


def _tails(event: ObjectiveEvent, known: Floats, changed: Floats, adding: bool) -> Floats:
    """The tail of each prediction, over all tables where one of the changed rows comes or goes.

    Rows are given by x'theta_hat, m, |H^-1 x| and the residual.
    """
    _, m, norm, r = changed
    grown = 1 + m if adding else 1 - m
    if not np.all(grown > 0):
        return np.ones(known.shape[1])
    pull = np.sqrt(m) / grown
    shift, spread = float((pull * np.abs(r)).max()), float((pull * norm).max())
    eta, m, norm, _ = known
    room = event.loss.slope - 1.0 - np.abs(eta) - np.sqrt(m) * shift
    sd = np.maximum(event.scale * (norm + np.sqrt(m) * spread), 1e-300)
    return np.where(room > 0, 2 * ndtr(-room / sd), 1.0)
