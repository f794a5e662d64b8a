"""One model a loss: with a fixed penalty and a verified guarantee, or by NAPP-ERM as published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.rows import Rows
from discreet.domain import CONSTANT, Domain
from discreet.errors import ParameterError
from discreet.gate.napp import Draws, release_napp
from discreet.models.glm import DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.models.outcome import Outcome
from discreet.models.perturbed import PerturbedModel
from discreet.papers.napp.algorithm import Losses, Plan, Recycled, Squares, recycle
from discreet.papers.napp.asked import Asked
from discreet.papers.napp.augmented import Part
from discreet.papers.objective_perturbation import ObjectivePerturbation
from discreet.privacy import sensitivity
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.napp import NappEvent, least_modulus, noise_scale
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.losses import Loss, Poisson, QuadraticHinge, Squared

Floats = NDArray[np.float64]

_LEAST_RATE = 8.0
"""Augmented rows of Poisson regression have rates near 1: their loss must not end there."""


@dataclass(kw_only=True, eq=False, repr=False)
class NAPPModel(PerturbedModel):
    """A model with a fixed penalty, or, where something is `asked` of the paper, NAPP-ERM as published."""

    asked: Asked | None = None

    def _check(self) -> Guarantee:
        promise = super()._check()
        if self.asked is None:
            return promise
        self.asked.check()
        if promise.neighbors != "add-remove":
            raise ParameterError('published="002" follows a paper that is about add-remove neighbours.')
        if self.noise == "gaussian" and not promise.delta > 0:
            raise ParameterError("Gaussian noise needs a delta above 0.")
        if self.noise == "laplace" and promise.delta > 0:
            raise ParameterError('noise="laplace" is for epsilon alone in paper 002: leave delta=None.')
        if self.asked.keep_trace and self.random_state is None:
            raise ParameterError(
                "keep_trace=True is for simulations, with a random_state: two iterates tell the noise that they share."
            )
        return replace(promise, status="claimed", reason=self.asked.reason)

    @property
    def _method(self) -> str:
        return "NAPP with a fixed penalty" if self.asked is None else "NAPP as published in 002"

    def _minimisers(
        self, read: Callable[[], Rows], domain: Domain, design: tuple[str, ...], outcome: Outcome, promise: Guarantee
    ) -> tuple[Certificate, list[Floats]]:
        if self.asked is None:
            return super()._minimisers(read, domain, design, outcome, promise)
        labels = outcome.labels(domain)
        if len(labels) > 1:
            raise ParameterError(
                "Only binary classification is supported by paper 002, that is, two classes: give an outcome with two "
                "levels, or name one level."
            )
        if self.asked.n_e is not None and self.asked.n_e < 2 * len(design) + 2:
            raise ParameterError("n_e is too small: there must be more pairs of augmented rows than coefficients.")
        norm = sensitivity.norm(design, domain)
        loss = self._loss(domain, outcome, norm)
        plan, event = self._plan(loss, norm, domain, design, outcome, promise)
        plain = isinstance(loss, Squared)
        augmented = Poisson(max(loss.limit, _LEAST_RATE)) if isinstance(loss, Poisson) else loss
        losses, label, retrieval = None if plain else (loss, augmented), labels[0], self.asked.retrieval

        def algorithm(rows: Rows, draws: Draws) -> Recycled:
            return recycle(_data(rows, losses and losses[0], label), losses and losses[1], plan, draws)

        certificate, found = release_napp(read(), algorithm, event, retrieval, self._session(promise))
        if self.asked.retrieval is not None:
            self.retrieved_ = found.retrieved
        if self.asked.keep_trace:
            self.trace_: dict[str, Any] = {"theta": np.array(found.run.thetas), "loss": np.array(found.run.losses)}
        return certificate, [found.run.coefficients(plan)]

    def _plan(
        self, loss: Loss, norm: float, domain: Domain, design: tuple[str, ...], outcome: Outcome, promise: Guarantee
    ) -> tuple[Plan, NappEvent]:
        """What algorithm 1 is given, and what the certificate lists."""
        a = self.asked
        assert a is not None
        L = norm * (loss.slope if a.slope is None else a.slope)
        least = least_modulus(norm**2 * loss.curvature, promise.epsilon, a.share)
        modulus = least if a.modulus is None else a.modulus
        slopes = np.array([name != CONSTANT for name in design])
        plan = Plan(
            a.loss, a.regularizer, modulus, slopes, a.moor, a.word != "none", a.n_e, a.iterations, a.tol, a.zero
        )
        target = domain.entries[domain.positions[outcome.column][-1]].name
        event = NappEvent(
            design=design,
            target=target,
            norm=norm,
            outcome=sensitivity.norm((target,), domain),
            neighbors=promise.neighbors,
            loss=a.loss,
            regularizer=a.regularizer.kind,
            noise=self.noise,
            selection=a.word,
            gradient=L,
            scale=noise_scale(L, a.share * promise.epsilon, promise.delta),
            share=a.share,
            strength=a.regularizer.strength,
            modulus=2 * modulus,
            moor=int(a.moor),
            iterations=a.iterations,
            rounds=a.rounds if a.retrieval == "recycle" else 0,
            augmented=a.n_e,
            truncation=a.truncation,
            retrieved=0.0,
        )
        return plan, event


def _data(rows: Rows, loss: Loss | None, label: Callable[[Floats], Floats]) -> Part:
    """The sum of the rows' losses; of squares where no loss is named."""
    if loss is None:
        sums = rows.each(lambda X, y: (X.T @ X, X.T @ label(y), float(label(y) @ label(y))))
        S, v, s = (sum(part) for part in zip(*sums, strict=True))
        return Squares(S, v, s)
    X, y = zip(*rows.each(lambda X, y: (X, label(y))), strict=True)
    return Losses(np.concatenate(X), np.concatenate(y), loss)


@dataclass(kw_only=True, eq=False, repr=False)
class LinearModel(NAPPModel, ObjectivePerturbation):
    """Least squares."""


@dataclass(kw_only=True, eq=False, repr=False)
class PoissonModel(NAPPModel, DPPoissonRegression):
    """Counts."""


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticModel(NAPPModel, DPLogisticRegression):
    """Classes, by logistic regression."""


@dataclass(kw_only=True, eq=False, repr=False)
class HingeModel(NAPPModel, DPLinearSVC):
    """Classes, by the smoothed hinge of section 6."""

    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        return QuadraticHinge()


MODELS: dict[str, type[NAPPModel]] = {
    "linear": LinearModel,
    "poisson": PoissonModel,
    "logistic": LogisticModel,
    "hinge": HingeModel,
}
CLASSIFIERS = ("logistic", "hinge")
