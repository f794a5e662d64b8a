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
from discreet.core.old_keywords import accepts_old_keywords
from discreet.data.reading import Table
from discreet.data.tables import InputTable, Outcomes
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms.napp.augmented import Regularizer
from discreet.mechanisms.napp.models import CLASSIFIERS, MODELS, NAPPModel, NAPPOptions
from discreet.mechanisms.napp.options import NappAugmentation, NappConstants, NappRecycling, NappShape
from discreet.mechanisms.objective_perturbation.event import Noise
from discreet.models.base import PrivateEstimator, ReleasesModel
from discreet.models.spec import FitSpec as Fit
from discreet.privacy.guarantee import Guarantee

PENALTIES = {"l1": "lasso", "l2": "ridge", "elasticnet": "elasticnet", "bridge": "bridge", "scad": "scad", "l0": "l0"}
"""The kinds of penalties, with the names of the regularisers in certificates."""

SOUND = ("l1", "l2", "elasticnet")
OWN = ("constants", "augmentation", "recycling")
"""Groups of options that only the published method has."""


def _has(name: str) -> Callable[[NAPP], bool]:
    return lambda model: hasattr(MODELS.get(model.loss, MODELS["linear"]), name)


@accepts_old_keywords
@dataclass(kw_only=True, eq=False, repr=False)
class NAPP(ReleasesModel, PrivateEstimator):
    """Regression by objective perturbation with weights that realise a target regulariser (li2021, NAPP-ERM).

    ``published="li2021"`` is the paper's method: the rows and augmented rows go to a solver without penalty, and
    the noise of the augmented rows has variances that follow the last coefficients, over iterations. Its guarantee
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
        The loss of a row; the hinge is that of the paper's section 6.
    penalty : {"l1", "l2", "elasticnet", "bridge", "scad", "l0"}
        The kind of the target R(theta), beside the *sum* of the losses, for columns (and the outcome, where it is
        linear) mapped to [-1, 1].
    alpha : float, optional
        Its strength, Lambda. Needed by the published method; by default a rule chooses it from public facts.
    shape : NappShape, optional
        ``NappShape(gamma=, kappa=, knot=)``: |theta|^(2 - gamma) of the bridge; |theta| + kappa theta^2 of the elastic
        net; where SCAD begins to bend.
    noise : {"gaussian", "laplace"}
        The law of b; spherical Laplace noise needs no delta.
    constants : NappConstants, optional
        For the published method: ``NappConstants(modulus=, slope=, share=)``, Lambda_0, zeta_2 and r.
    augmentation : NappAugmentation, optional
        For the published method: ``NappAugmentation(n_e=, moor=, selection=, iterations=, tol=, zero=, keep_trace=)``.
    recycling : NappRecycling, optional
        For the published method: ``NappRecycling(retrieval=, rounds=)``, algorithm 2.
    published : {None, "li2021"}
        The paper's method, with a guarantee that is `claimed`.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    n_jobs : int, optional
        Threads; all cores by default.
    device : {None, "auto", "cpu", "cuda"}, optional
        As in `DPLinearRegression`; this method reads rows itself, without exact sums.
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
    >>> published = NAPP(**facts, augmentation=NappAugmentation(selection="VS+"), published="li2021").fit(X, y)
    >>> published.certificate_.guarantee.status
    'claimed'
    """

    papers: ClassVar[tuple[str, ...]] = ("li2021",)
    renamed: ClassVar[dict[str, str]] = {"regularizer": "penalty"}
    renamed_values: ClassVar[dict[str, dict[str, str]]] = {"regularizer": {"lasso": "l1", "ridge": "l2"}}
    groups: ClassVar[dict[str, type]] = {
        "shape": NappShape,
        "constants": NappConstants,
        "augmentation": NappAugmentation,
        "recycling": NappRecycling,
    }

    bounds_y: Any = None
    classes: Sequence[Any] | str | None = None
    loss: str = "linear"
    penalty: str = "l1"
    alpha: float | None = None
    shape: NappShape | None = None
    noise: Noise = "gaussian"
    constants: NappConstants | None = None
    augmentation: NappAugmentation | None = None
    recycling: NappRecycling | None = None
    published: str | None = None

    def predict(self, X: Any, *, clip: bool = True) -> NDArray[Any]:
        """The expected outcome, or the class, of each row; `clip` is as for the other estimators."""
        predicted: NDArray[Any] = self._done().predict(X, clip=clip)
        return predicted

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, *, clip: bool = True) -> Floats:
        """The linear predictor of a classifier; above 0 for the second of two classes."""
        eta: Floats = self._done().decision_function(X, clip=clip)
        return eta

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, clip: bool = True) -> Floats:
        """The probability of each class."""
        p: Floats = self._done().predict_proba(X, clip=clip)
        return p

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """The R^2, or the share of rows whose class is predicted correctly."""
        return float(self._done().score(X, y, sample_weight))

    # ---------------------------------------------------------------- wiring

    def _check(self) -> Guarantee:
        self._check_paper()
        return self._model()._check()

    def _ask(self, X: InputTable, y: Outcomes, promise: Guarantee) -> tuple[InputTable, Domain, Fit]:
        return self._model()._ask(X, y, promise)

    def _outcome_columns(self, domain: Domain, targets: Sequence[str], *, several: bool = False) -> list[str]:
        return self._model()._outcome_columns(domain, targets, several=several)

    def _fit_rows(self, table: Table, spec: Fit) -> Self:
        model = self._model()
        model._fit_rows(table, spec)
        for name in ("retrieved_", "trace_", "classes_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        for name, value in vars(model).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self._fitted = model
        return self

    def _model(self) -> NAPPModel:
        """Build a model of the loss with the given options."""
        checks.choice("loss", self.loss, tuple(MODELS))
        classifier = self.loss in CLASSIFIERS
        if (self.bounds_y if classifier else self.classes) is not None:
            needed = "classes=, not bounds_y=" if classifier else "bounds_y=, not classes="
            raise ParameterError(f"loss={self.loss!r} takes {needed}.")
        own = {"classes": self.classes} if classifier else {"bounds_y": self.bounds_y}
        shared = ("epsilon", "delta", "domain", "bounds_X", "data_norm", "fit_intercept", "rows", "noise", "neighbors")
        given = own | {name: getattr(self, name) for name in (*shared, "n_jobs", "device", "random_state")}
        how = self._fixed() if self._paper is None else {"penalty": "l1", "asked": self._asked()}
        return MODELS[self.loss](**given, **how)

    def _asked(self) -> NAPPOptions:
        if self.alpha is None:
            raise ParameterError(
                'published="li2021" needs alpha=, the Lambda of the paper: a public choice, not read off the data.'
            )
        kind = PENALTIES[checks.choice("penalty", self.penalty, tuple(PENALTIES))]
        target = Regularizer(kind, self.alpha, **vars(self._group("shape")))
        return NAPPOptions(self.loss, target, *map(self._group, OWN))

    def _group(self, name: str) -> Any:
        """The options of a group; by default those of its class."""
        kind, given = self.groups[name], getattr(self, name)
        if not isinstance(given, kind | None):
            raise ParameterError(f"{name} must be a {kind.__name__}, got {type(given).__name__}.")
        return kind() if given is None else given

    def _fixed(self) -> dict[str, Any]:
        """The penalty Lambda R(theta) of the sound variant, as parameters of the other models."""
        checks.choice("penalty", self.penalty, tuple(PENALTIES))
        changed = [name for group in OWN for name, value in vars(self._group(group)).items()
                   if value != getattr(self.groups[group](), name)]  # fmt: skip
        if changed or self.penalty not in SOUND:
            what = f"penalty={self.penalty!r}" if not changed else f"{changed[0]}="
            raise ParameterError(
                f"{what} belongs to the published method, whose guarantee is claimed only (errata E10 to E13): say "
                'published="li2021" to use it. Without, the penalty is fixed and the guarantee is verified: l1, l2 or '
                "elasticnet."
            )
        if self.alpha is not None:
            checks.positive("alpha", self.alpha)
        kappa = checks.positive("kappa", self._group("shape").kappa)
        times = {"l1": 1, "l2": 2, "elasticnet": 1 + 2 * kappa}[self.penalty]
        ratio = {"l1_ratio": 1 / times} if self.penalty == "elasticnet" else {}
        return {"penalty": self.penalty, "alpha": None if self.alpha is None else self.alpha * times, **ratio}

    def _done(self) -> Any:
        check_is_fitted(self)
        return self._fitted

    def __sklearn_tags__(self) -> Any:
        model = MODELS.get(self.loss, MODELS["linear"])
        tags = model(epsilon=self.epsilon, random_state=self.random_state).__sklearn_tags__()
        if tags.classifier_tags is not None and self._paper is not None:
            tags.classifier_tags.multi_class = False
        return tags
