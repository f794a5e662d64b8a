"""One model per loss: with a fixed penalty and a verified guarantee, or NAPP-ERM as published."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.data.rows import Rows
from discreet.domain import CONSTANT, Domain
from discreet.errors import ParameterError
from discreet.families import Loss, Outcome, Poisson, QuadraticHinge, Squared
from discreet.mechanisms.napp.algorithm import LossSum, NAPPPlan, NAPPRun, SquaredLosses, recycle
from discreet.mechanisms.napp.augmented import Part, Regularizer
from discreet.mechanisms.napp.event import NappEvent, least_modulus, noise_scale
from discreet.mechanisms.napp.options import NappAugmentation, NappConstants, NappRecycling
from discreet.mechanisms.napp.release import NAPPDraws, Recycled, release_napp
from discreet.mechanisms.objective_perturbation.estimator import ObjectivePerturbation
from discreet.models.glm import DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.models.perturbed import PerturbedModel
from discreet.privacy import sensitivity
from discreet.privacy.guarantee import Guarantee
from discreet.released.certificate import Certificate

_LEAST_RATE = 8.0
"""The least limit of Poisson rates: augmented rows have rates near 1, where the loss must not be cut off."""


@dataclass(frozen=True)
class NAPPOptions:
    """The options of `NAPP` that belong to the published method; see there."""

    loss: str
    regularizer: Regularizer
    constants: NappConstants
    augmentation: NappAugmentation
    recycling: NappRecycling

    def check(self) -> None:
        """Refuse invalid options."""
        r, given = self.regularizer, vars(self.constants) | vars(self.augmentation) | vars(self.recycling)
        _from_zero("alpha", r.strength)
        if not checks.is_real(r.gamma) or not 0 <= r.gamma < 2:
            raise ParameterError(f"gamma must be from 0 and below 2, got {r.gamma!r}.")
        _from_zero("kappa", r.kappa)
        checks.positive("knot", r.knot)
        for name in ("modulus", "slope", "tol"):
            if given[name] is not None:
                checks.positive(name, given[name])
        checks.fraction("share", given["share"])
        checks.choice("retrieval", given["retrieval"], (None, "return", "recycle"))
        if given["zero"] is not None:
            _from_zero("zero", given["zero"])
        for name in ("moor", "keep_trace"):
            checks.choice(name, given[name], (True, False))
        for name in ("iterations", "rounds"):
            _whole(name, given[name], 1)
        n_e, selection = given["n_e"], given["selection"]
        if n_e is not None and _whole("n_e", n_e, 2) % 2:
            raise ParameterError(f"n_e must be even, for augmented rows come in pairs; got {n_e}.")
        number = checks.is_real(selection) and -math.inf < selection <= 0
        if not number and selection not in (None, "VS", "VS+"):
            raise ParameterError(
                'selection must be None, "VS", "VS+" or a number c <= 0 that all noise is to exceed; '
                f"got {selection!r}."
            )

    @property
    def word(self) -> str:
        """The name of the noise term in certificates."""
        selection = self.augmentation.selection
        if checks.is_real(selection):
            return "c" if selection else "VS+"
        return selection or "none"

    @property
    def truncation(self) -> float | None:
        """The threshold c, where `selection` is a number."""
        return float(self.augmentation.selection) if self.word == "c" else None

    @property
    def reason(self) -> str:
        """The reason why the guarantee is claimed only."""
        return " ".join(text for text, applies in self._errata() if applies) + " Nothing is recomputed."

    def _errata(self) -> list[tuple[str, bool]]:
        word, adaptive = self.word, self.regularizer.adaptive
        return [
            (
                "erratum E10: the proof holds the weights fixed, but they follow the coefficients, and with them the "
                "data.",
                adaptive,
            ),
            (
                "the proof neglects what a finite number of augmented rows adds, and the constants are the printed "
                "ones.",
                not adaptive,
            ),
            ("E11: truncated noise has another support with a row than without it.", word in ("VS+", "c")),
            ("E12: the noise term b'|theta| lets the data decide signs.", word == "VS"),
            ("E13: a budget that is retrieved depends on the data.", self.recycling.retrieval is not None),
            ("No gradient bound holds for squared losses and coefficients without bounds.", self.loss == "linear"),
        ]


def _from_zero(name: str, value: Any) -> float:
    """Check that a number is finite and at least 0."""
    if not checks.is_real(value) or not 0 <= value < math.inf:
        raise ParameterError(f"{name} must be a finite number of at least 0, got {value!r}.")
    return float(value)


def _whole(name: str, value: Any, least: int) -> int:
    """Check that a number is whole and at least so large."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


@dataclass(kw_only=True, eq=False, repr=False)
class NAPPModel(PerturbedModel):
    """A model with a fixed penalty, or NAPP-ERM as published where `asked` is given."""

    asked: NAPPOptions | None = None

    def _check(self) -> Guarantee:
        promise = super()._check()
        if self.asked is None:
            return promise
        self.asked.check()
        if promise.neighbors != "add-remove":
            raise ParameterError('published="li2021" follows a paper that is about add-remove neighbours.')
        if self.noise == "gaussian" and not promise.delta > 0:
            raise ParameterError("Gaussian noise needs a delta above 0.")
        if self.noise == "laplace" and promise.delta > 0:
            raise ParameterError('noise="laplace" is for epsilon alone in li2021: leave delta=None.')
        if self.asked.augmentation.keep_trace and self.random_state is None:
            raise ParameterError(
                "keep_trace=True is for simulations, with a random_state: two iterates tell the noise that they share."
            )
        return replace(promise, status="claimed", reason=self.asked.reason)

    @property
    def _method(self) -> str:
        return "NAPP with a fixed penalty" if self.asked is None else "NAPP as published in li2021"

    def _minimisers(
        self, read: Callable[[], Rows], domain: Domain, design: tuple[str, ...], outcome: Outcome, promise: Guarantee
    ) -> tuple[Certificate, list[Floats]]:
        if self.asked is None:
            return super()._minimisers(read, domain, design, outcome, promise)
        labels = self.family.labels(domain, outcome)
        if len(labels) > 1:
            raise ParameterError(
                "Only binary classification is supported by li2021, that is, two classes: give an outcome with two "
                "levels, or name one level."
            )
        n_e, retrieval = self.asked.augmentation.n_e, self.asked.recycling.retrieval
        if n_e is not None and n_e < 2 * len(design) + 2:
            raise ParameterError("n_e is too small: there must be more pairs of augmented rows than coefficients.")
        if retrieval == "return" and CONSTANT in design:
            raise ParameterError(
                'retrieval="return" needs a model without an intercept: the intercept keeps the weight Lambda_0, so '
                "that, by the paper's own proof, there is nothing to return. Say fit_intercept=False, or "
                'retrieval="recycle", where the weight of the intercept rises with the others\'.'
            )
        norm = sensitivity.norm(design, domain)
        loss = self._loss(domain, outcome, norm)
        plan, event = self._plan(loss, norm, domain, design, outcome, promise)
        plain = isinstance(loss, Squared)
        augmented = Poisson(max(loss.limit, _LEAST_RATE)) if isinstance(loss, Poisson) else loss
        losses, label = None if plain else (loss, augmented), labels[0]

        def algorithm(rows: Rows, draws: NAPPDraws) -> Recycled[NAPPRun]:
            return recycle(_data(rows, losses and losses[0], label), losses and losses[1], plan, draws)

        certificate, found = release_napp(read(), algorithm, event, retrieval, self._session(promise))
        if retrieval is not None:
            self.retrieved_ = found.retrieved
        if self.asked.augmentation.keep_trace:
            self.trace_: dict[str, Any] = {"theta": np.array(found.run.thetas), "loss": np.array(found.run.losses)}
        return certificate, [found.run.coefficients(plan)]

    def _plan(
        self, loss: Loss, norm: float, domain: Domain, design: tuple[str, ...], outcome: Outcome, promise: Guarantee
    ) -> tuple[NAPPPlan, NappEvent]:
        """The parameters of algorithm 1, and the event that the certificate lists."""
        assert self.asked is not None
        a, constants, augmented = self.asked, self.asked.constants, self.asked.augmentation
        L = norm * (loss.slope if constants.slope is None else constants.slope)
        least = least_modulus(norm**2 * loss.curvature, promise.epsilon, constants.share)
        modulus = least if constants.modulus is None else constants.modulus
        slopes = np.array([name != CONSTANT for name in design])
        how = (augmented.moor, a.word != "none", augmented.n_e, augmented.iterations, augmented.tol, augmented.zero)
        plan = NAPPPlan(a.loss, a.regularizer, modulus, slopes, *how)
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
            scale=noise_scale(L, constants.share * promise.epsilon, promise.delta),
            share=constants.share,
            strength=a.regularizer.strength,
            modulus=2 * modulus,
            moor=int(augmented.moor),
            iterations=augmented.iterations,
            rounds=a.recycling.rounds if a.recycling.retrieval == "recycle" else 0,
            augmented=augmented.n_e,
            truncation=a.truncation,
            retrieved=0.0,
        )
        return plan, event


def _data(rows: Rows, loss: Loss | None, label: Callable[[Floats], Floats]) -> Part:
    """The sum of the rows' losses; squared losses where no loss is named."""
    if loss is None:
        sums = rows.each(lambda X, y: (X.T @ X, X.T @ label(y), float(label(y) @ label(y))))
        S, v, s = (sum(part) for part in zip(*sums, strict=True))
        return SquaredLosses(S, v, s)
    X, y = zip(*rows.each(lambda X, y: (X, label(y))), strict=True)
    return LossSum(np.concatenate(X), np.concatenate(y), loss)


@dataclass(kw_only=True, eq=False, repr=False)
class LinearModel(NAPPModel, ObjectivePerturbation):
    """Least squares."""


@dataclass(kw_only=True, eq=False, repr=False)
class PoissonModel(NAPPModel, DPPoissonRegression):
    """Poisson regression."""


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticModel(NAPPModel, DPLogisticRegression):
    """Logistic regression."""


@dataclass(kw_only=True, eq=False, repr=False)
class HingeModel(NAPPModel, DPLinearSVC):
    """Classification by the smoothed hinge of section 6."""

    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        return QuadraticHinge()


MODELS: dict[str, type[NAPPModel]] = {
    "linear": LinearModel,
    "poisson": PoissonModel,
    "logistic": LogisticModel,
    "hinge": HingeModel,
}
CLASSIFIERS = ("logistic", "hinge")
