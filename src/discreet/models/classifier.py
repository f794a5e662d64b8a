"""What classifiers by objective perturbation share: classes, decision functions, labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.inputs import as_outcome, as_weights, check_pair, is_table
from discreet.data.sources.base import check_lengths
from discreet.domain import Categorical, Domain
from discreet.models.contract import Classifier
from discreet.models.outcome import Outcome, category, codes, declared_classes
from discreet.models.perturbed import PerturbedModel

Floats = NDArray[np.float64]

CLASSES = """classes : sequence, optional
        The classes of a y that comes with arrays, for example [0, 1]: a public fact. ``"public"`` declares that the
        set of labels in y is public knowledge, and takes it from y. With a domain its levels count."""


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedClassifier(Classifier, PerturbedModel):
    """A classifier whose linear predictors minimise perturbed objectives; more than two classes have one each."""

    facts: ClassVar[str] = "bounds_X, classes"

    classes: Sequence[Any] | str | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls.__doc__ = (cls.__doc__ or "").replace("{classes}", CLASSES)
        super().__init_subclass__(**kwargs)

    def _outcome(self, domain: Domain, target: str) -> Outcome:
        return category(domain, target)

    def _prepared(self, X: Any, y: Any, name: str | None) -> tuple[Any, Domain, Outcome]:
        if self.domain is not None:
            domain, target = self._declared(X, name, {})
            outcome = category(domain, target)
            if is_table(X):
                return (X, y), domain, outcome
            classes = outcome.classes or ()
        else:
            classes = declared_classes(self.classes, y)
            domain, target = self._declared(X, name, {"bounds_y": (0, len(classes) - 1)})
        if isinstance(domain.columns[target], Categorical):
            facts = domain.to_dict()
            facts["columns"][target] = {"low": 0, "high": len(classes) - 1}
            domain = Domain.from_dict(facts)
        check_pair(X, y if is_table(X) else np.zeros(len(y)))
        return (X, codes(y, classes)), domain, Outcome(target, target, tuple(classes))

    def _set(self, *args: Any, **options: Any) -> None:
        super()._set(*args, **options)
        self.coef_, self.intercept_ = self.results_.coef, self.results_.intercept
        self.classes_ = np.array(self.results_.classes)

    def decision_function(self, X: Any) -> Floats:
        """The linear predictor; above 0 for the second of two classes, largest for the class of several."""
        eta = self._predictor(X)
        return eta[:, 0] if len(self.classes_) == 2 else eta

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row; X is not clipped to the bounds."""
        eta = self.decision_function(X)
        places = (eta > 0).astype(int) if eta.ndim == 1 else eta.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted rightly.

        It is computed from the rows that are given, without noise: on private rows it is **confidential**.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        y : array or series
            The class of each row, one of the declared ones.
        sample_weight : array, optional
            Weights of the rows.
        """
        classes = self.classes_.tolist() if hasattr(self, "classes_") else ()
        predicted, true = codes(self.predict(X), classes), codes(as_outcome(y), classes)
        check_lengths([len(predicted), len(true)])
        return float(np.average(predicted == true, weights=as_weights(sample_weight, len(true))))
