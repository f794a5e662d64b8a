"""Pipelines whose steps learn from the rows say so; those that read each row by itself do not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from discreet import AdaSSP, DPLinearRegression, DPLogisticRegression
from discreet.errors import DiscreetWarning

X = np.random.default_rng(0).random((200, 2))
Y = X.sum(axis=1)
GIVEN = {"epsilon": 1, "delta": 1e-6, "bounds_X": (-3, 3)}


class Centred(TransformerMixin, BaseEstimator):
    """Somebody's own step."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


def said(pipeline, y=Y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipeline.fit(X, y)
    return [str(one.message) for one in caught if issubclass(one.category, DiscreetWarning)]


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [FunctionTransformer(np.sqrt), PCA(2)],
        [SimpleImputer()],
        [Centred()],
        [make_pipeline(StandardScaler(), FunctionTransformer())],
        [ColumnTransformer([("scaled", StandardScaler(), [0]), ("rest", "passthrough", [1])])],
        [FeatureUnion([("scaled", StandardScaler())])],
    ],
    ids=lambda steps: type(steps[-1]).__name__,
)
def test_steps_that_learn(steps):
    (words,) = said(make_pipeline(*steps, DPLinearRegression(bounds_y=(0, 2), **GIVEN)))
    assert "learns from the rows" in words


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [FunctionTransformer(np.sqrt)],
        [PolynomialFeatures(2, include_bias=False)],
        [Normalizer()],
        ["passthrough"],
        [ColumnTransformer([("root", FunctionTransformer(np.sqrt), [0]), ("rest", "passthrough", [1])])],
    ],
    ids=lambda steps: type(steps[-1]).__name__ if steps else "none",
)
def test_steps_that_read_each_row_by_itself(steps):
    assert said(make_pipeline(*steps, DPLinearRegression(bounds_y=(0, 2), **GIVEN))) == []


def test_declared_categories_are_no_learning():
    frame = pd.DataFrame({"region": ["north", "south"] * 100})
    for categories, warned in (([["north", "south"]], 0), ("auto", 1)):
        encoder = OneHotEncoder(categories=categories, drop="first", sparse_output=False)
        pipeline = make_pipeline(encoder, DPLinearRegression(bounds_y=(0, 2), **GIVEN))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pipeline.fit(frame, Y)
        assert len([one for one in caught if issubclass(one.category, DiscreetWarning)]) == warned


def test_other_estimators_and_searches():
    assert said(make_pipeline(StandardScaler(), AdaSSP(bounds_y=(0, 2), **GIVEN)))
    classifier = DPLogisticRegression(classes=[False, True], **GIVEN)
    assert said(make_pipeline(StandardScaler(), classifier), Y > 1)
    pipeline = make_pipeline(StandardScaler(), DPLinearRegression(bounds_y=(0, 2), **GIVEN))
    assert said(GridSearchCV(pipeline, {"dplinearregression__epsilon": [1, 2]}, cv=2))
    assert said(DPLinearRegression(bounds_y=(0, 2), **GIVEN)) == []
