"""What scikit-learn asks of every estimator here, beyond fit and predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.core import checks, citations
from discreet.data.inputs import as_features, as_numbers, as_weights, design_matrix, is_table
from discreet.data.sources.base import check_lengths
from discreet.domain import Domain
from discreet.errors import DataError, ParameterError, printable

Floats = NDArray[np.float64]

GOOD_SCORE = 100.0
"""The epsilon from which every method has R^2 > 0.5 on scikit-learn's 200 rows of 10 features, in tight bounds."""


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Tags, names of coefficients, the paper that is followed, and the check of what is to be predicted."""

    papers: ClassVar[tuple[str, ...]] = ()
    """The papers whose printed constants `published` can name."""

    @property
    def _paper(self) -> str | None:
        """The key of the paper that `published` names, by its key or by its shelf mark."""
        key: str | None = citations.key_of(getattr(self, "published", None))
        return key

    def _check_paper(self) -> None:
        """Refuse a paper that is not the method's, and say what an old key is called now."""
        checks.choice("published", self._paper, (None, *self.papers))
        citations.tell_old_key("published", getattr(self, "published", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parameters = self.get_params(deep=False)
        tags.non_deterministic = "random_state" in parameters and parameters["random_state"] is None
        return tags

    def _poor_score(self) -> bool:
        epsilon = self.get_params(deep=False).get("epsilon")
        return not (checks.is_real(epsilon) and epsilon >= GOOD_SCORE)

    def _html_repr(self) -> str:
        """Scikit-learn's page, which lists the names of the coefficients as they are."""
        return "\n".join(map(printable, super()._html_repr().split("\n")))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Names of the coefficients, in the order of `coef_`; a category has one for each level but the first.

        Parameters
        ----------
        input_features : sequence of str, optional
            The names of the columns of X, as a pipeline gives them: the same as in `fit`, where those had names.
        """
        check_is_fitted(self)
        own = np.array(self._coefficient_names(), dtype=object)
        if input_features is None:
            return own
        names = [str(name) for name in input_features]
        fitted = getattr(self, "feature_names_in_", None)
        if (fitted is None and len(names) != self.n_features_in_) or (fitted is not None and names != list(fitted)):
            raise ParameterError("input_features must name the columns of X in fit: as many, and in the same order.")
        return np.array(names, dtype=object) if fitted is None and len(names) == len(own) else own

    def _set_columns(self, features: Sequence[str], *, named: bool) -> None:
        """Note the columns of X, and their names where they have any of their own."""
        self._features = tuple(features)
        self.n_features_in_ = len(features)
        if named:
            self.feature_names_in_ = np.array(features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _coefficient_names(self) -> Sequence[str]:
        raise NotImplementedError

    def _to_predict(self, X: Any) -> Any:
        """X as a table or a matrix with as many columns as in fit; how many it has, if not, may be a number of rows."""
        check_is_fitted(self)
        X = as_features(X)
        if not is_table(X) and X.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has another number of features than in fit: {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input, and one row a person."
            )
        return X

    def _predictors(self, X: Any, coef: Floats, intercept: Any) -> Floats:
        """Linear predictors of the rows of X, which is not clipped to the bounds."""
        X = self._to_predict(X)
        design = np.zeros((X.shape[0], 0))
        if self._features:
            facts = self.certificate_.domain.select(self._features).to_dict()
            design = design_matrix(X, Domain.from_dict(facts | {"missing": "error"}))
        predicted: Floats = design @ coef.T + intercept
        return predicted


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """An estimator of a number."""

    many_outcomes: ClassVar[bool] = False
    """Whether y may have several columns."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the predictions; of several outcomes, the mean of theirs.

        It is computed from the rows that are given, without noise: on private rows it is **confidential**.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        y : array, series or table
            The outcome, or the outcomes in the order of the predictions' columns.
        sample_weight : array, optional
            Weights of the rows.
        """
        from sklearn.metrics import r2_score  # slow to import

        predicted, true = self.predict(X), as_numbers(y)
        predicted = predicted[:, None] if predicted.ndim == 1 else predicted
        check_lengths([len(predicted), len(true)])
        if true.shape != predicted.shape:
            raise DataError(f"y must have as many columns as there are predicted outcomes: {predicted.shape[1]}.")
        return float(r2_score(true, predicted, sample_weight=as_weights(sample_weight, len(true))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.many_outcomes
        tags.regressor_tags.poor_score = self._poor_score()
        return tags


class Classifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """An estimator of a class."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score()
        return tags
