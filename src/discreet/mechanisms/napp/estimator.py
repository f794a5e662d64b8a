"""NAPP: noise-augmented, privacy-preserving empirical risk minimisation (li2021)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.data.reading import Unread
from discreet.data.tables import Outcomes, Table
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms.napp.augmented import Regularizer
from discreet.mechanisms.napp.models import CLASSIFIERS, MODELS, Asked, NAPPModel
from discreet.mechanisms.objective_perturbation.event import Noise
from discreet.models.base import Asked as Fit
from discreet.models.base import PrivateEstimator, ReleasesModel
from discreet.privacy.guarantee import Guarantee

SOUND = ("ridge", "lasso", "elasticnet")
OWN = ("modulus", "slope", "share", "moor", "selection", "n_e", "iterations", "tol", "zero", "retrieval", "rounds",
       "keep_trace")  # fmt: skip
"""Options that only the published method has."""


def _has(name: str) -> Callable[[NAPP], bool]:
    return lambda model: hasattr(MODELS.get(model.loss, MODELS["linear"]), name)


@dataclass(kw_only=True, eq=False, repr=False)
class NAPP(ReleasesModel, PrivateEstimator):
    """Regression by objective perturbation with weights that realise a target regulariser (li2021, NAPP-ERM).

    ``published="li2021"`` is the paper's method: the rows and `n_e` augmented rows go to a solver without penalty, and
    the noise of the augmented rows has variances that follow the last coefficients, over `iterations`. Its guarantee
    is `claimed`: see errata E9 to E14. Without `published` the penalty is fixed, as its sound part is: ridge, lasso or
    elastic net, whose quadratic part counts towards what privacy needs, with an exact minimiser and a `verified`
    guarantee.

    Parameters
    ----------
    epsilon, delta : float
        The promise. `epsilon` is required; `delta` is required, or 1/rows^2 when `rows` is given, or 0 with
        ``noise="laplace"``.
    domain : Domain, optional
        Public bounds and levels of the columns, for frames; or give
    bounds_X, bounds_y, classes : optional
        public facts about arrays: bounds, and the classes of y for ``loss="logistic"`` and ``"hinge"``, and
    data_norm : float, optional
        a public bound on the Euclidean norm of a row of X: zeta_1.
    fit_intercept : bool
        Whether the model has an intercept; its weight is Lambda_0, and it is not selected.
    rows : int, optional
        The public, rounded number of rows, declared by you.
    loss : {"linear", "poisson", "logistic", "hinge"}
        Of a row; the hinge is that of the paper's section 6.
    regularizer : {"ridge", "bridge", "lasso", "elasticnet", "scad", "l0"}
        The target R(theta), beside the *sum* of the losses, for columns (and the outcome, where it is linear) mapped to
        [-1, 1].
    alpha : float, optional
        Lambda. Needed by the published method; by default a rule chooses it from public facts.
    gamma, kappa, knot : float
        |theta|^(2 - gamma) of the bridge; |theta| + kappa theta^2 of the elastic net; where SCAD begins to bend.
    noise : {"gaussian", "laplace"}
        The law of b; spherical Laplace noise needs no delta.
    modulus : float, optional
        Lambda_0, from which the paper has privacy; zeta_3/(2 (1 - share) epsilon) by default.
    slope : float, optional
        zeta_2, the largest derivative of the loss by x'theta; by default what the bounds give, for |x'theta| <= 1
        where the loss is linear regression's.
    share : float
        r, the share of epsilon for the noise; the rest is for the Jacobian.
    moor : bool
        Whether weights are the maximum of the target's and Lambda_0 (the paper's proposal) or their sum.
    selection : {None, "VS", "VS+"} or float
        The noise term: b'theta; b'|theta|; the same with b > 0; or with b > c for a number c <= 0.
    n_e : int, optional
        The number of augmented rows; None for their limit (proposition 1).
    iterations : int
        T.
    tol : float, optional
        Stop where the loss on the augmented data changes by less than this share; by default never.
    zero : float, optional
        Coefficients are means of the last ten iterates (of the last half, if that is fewer). Those up to this size are
        set to 0, as are those whose sign changed within them; with None nothing is set to 0.
    retrieval : {None, "return", "recycle"}
        Algorithm 2: state a smaller epsilon, or use less noise and go on, `rounds` times at most. `retrieved_` then
        lists the budget that was retrieved in all, after each round. The intercept does not count; "return" needs a
        model without one.
    rounds : int
        Of recycling.
    keep_trace : bool
        In simulations only: keep the iterates (of the mapped columns) and the losses of the last run in `trace_`.
    published : {None, "li2021"}
        The paper's method, with a guarantee that is `claimed`.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    n_jobs : int, optional
        Threads; all cores by default.
    random_state : None
        For simulation only: a release made with a seed promises nothing.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 3))
    >>> y = np.clip(X[:, 0], -1, 1)
    >>> facts = {"epsilon": 1, "delta": 1e-6, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "alpha": 20}
    >>> NAPP(**facts).fit(X, y).certificate_.guarantee.status
    'verified'
    >>> NAPP(**facts, selection="VS+", published="li2021").fit(X, y).certificate_.guarantee.status
    'claimed'
    """

    papers: ClassVar[tuple[str, ...]] = ("li2021",)

    bounds_y: Any = None
    classes: Sequence[Any] | str | None = None
    loss: str = "linear"
    regularizer: str = "lasso"
    alpha: float | None = None
    gamma: float = 0.5
    kappa: float = 0.5
    knot: float = 1.0
    noise: Noise = "gaussian"
    modulus: float | None = None
    slope: float | None = None
    share: float = 0.5
    moor: bool = True
    selection: Any = None
    n_e: int | None = 10_000
    iterations: int = 80
    tol: float | None = None
    zero: float | None = 1e-3
    retrieval: str | None = None
    rounds: int = 1
    keep_trace: bool = False
    published: str | None = None

    def predict(self, X: Any) -> NDArray[Any]:
        """The expected outcome, or the class, of each row; X is not clipped to the bounds."""
        predicted: NDArray[Any] = self._done().predict(X)
        return predicted

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """The linear predictor of a classifier; above 0 for the second of two classes."""
        eta: Floats = self._done().decision_function(X)
        return eta

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        p: Floats = self._done().predict_proba(X)
        return p

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """R^2, or the share of rows whose class is predicted rightly."""
        return float(self._done().score(X, y, sample_weight))

    # ---------------------------------------------------------------- wiring

    def _check(self) -> Guarantee:
        self._check_paper()
        return self._model()._check()

    def _ask(self, X: Table, y: Outcomes, promise: Guarantee) -> tuple[Table, Domain, Fit]:
        return self._model()._ask(X, y, promise)

    def _outcome_columns(self, domain: Domain, targets: Sequence[str], *, several: bool = False) -> list[str]:
        return self._model()._outcome_columns(domain, targets, several=several)

    def _fit_rows(self, table: Unread, asked: Fit) -> Self:
        model = self._model()
        model._fit_rows(table, asked)
        for name in ("retrieved_", "trace_", "classes_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        for name, value in vars(model).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self._fitted = model
        return self

    def _model(self) -> NAPPModel:
        """A model of the loss, with what was asked for."""
        checks.choice("loss", self.loss, tuple(MODELS))
        classifier = self.loss in CLASSIFIERS
        if (self.bounds_y if classifier else self.classes) is not None:
            needed = "classes=, not bounds_y=" if classifier else "bounds_y=, not classes="
            raise ParameterError(f"loss={self.loss!r} takes {needed}.")
        own = {"classes": self.classes} if classifier else {"bounds_y": self.bounds_y}
        shared = ("epsilon", "delta", "domain", "bounds_X", "data_norm", "fit_intercept", "rows", "noise", "neighbors")
        given = own | {name: getattr(self, name) for name in (*shared, "n_jobs", "random_state")}
        how = self._fixed() if self._paper is None else {"penalty": "l1", "asked": self._asked()}
        return MODELS[self.loss](**given, **how)

    def _asked(self) -> Asked:
        if self.alpha is None:
            raise ParameterError(
                'published="li2021" needs alpha=, the Lambda of the paper: a public choice, not read off the data.'
            )
        target = Regularizer(self.regularizer, self.alpha, self.gamma, self.kappa, self.knot)
        return Asked(self.loss, target, **{name: getattr(self, name) for name in OWN})

    def _fixed(self) -> dict[str, Any]:
        """The penalty Lambda R(theta) of the sound variant, in the words of the other models."""
        fields = type(self).__dataclass_fields__
        changed = [name for name in OWN if getattr(self, name) != fields[name].default]
        if changed or self.regularizer not in SOUND:
            what = f"regularizer={self.regularizer!r}" if not changed else f"{changed[0]}="
            raise ParameterError(
                f"{what} belongs to the published method, whose guarantee is claimed only (errata E10 to E13): say "
                'published="li2021" to use it. Without, the penalty is fixed and the guarantee is verified: ridge, '
                "lasso or elasticnet."
            )
        if self.alpha is not None:
            checks.positive("alpha", self.alpha)
        checks.positive("kappa", self.kappa)
        if self.regularizer != "elasticnet":
            ridge = self.regularizer == "ridge"
            alpha = self.alpha if self.alpha is None or not ridge else 2 * self.alpha
            return {"penalty": "l2" if ridge else "l1", "alpha": alpha}
        times = 1 + 2 * self.kappa
        return {
            "penalty": "elasticnet",
            "alpha": None if self.alpha is None else self.alpha * times,
            "l1_ratio": 1 / times,
        }

    def _done(self) -> Any:
        check_is_fitted(self)
        return self._fitted

    def __sklearn_tags__(self) -> Any:
        model = MODELS.get(self.loss, MODELS["linear"])
        tags = model(epsilon=self.epsilon, random_state=self.random_state).__sklearn_tags__()
        if tags.classifier_tags is not None and self._paper is not None:
            tags.classifier_tags.multi_class = False
        return tags
