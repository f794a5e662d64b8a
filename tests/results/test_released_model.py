"""The release of coefficients: one object for every estimator that has it, apart from the results."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from discreet import DiscreetWarning, DPLinearRegression, DPLogisticRegression, Results, compare
from discreet.errors import ParameterError
from discreet.results.report import report

X = np.random.default_rng(0).uniform(0, 1, (400, 2))
FACTS = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, 1), "random_state": 3}
CLASSES = {"classes": [False, True]}


@pytest.fixture(scope="module")
def model():
    return DPLogisticRegression(**FACTS, **CLASSES).fit(X, X[:, 0] > 0.5)


def test_the_results_that_a_release_was_in_0_2_0_are_found_with_a_warning(model):
    names = {name for name in dir(Results) if not name.startswith("_")} - set(dir(model.release_))
    assert {"params", "summary", "predict_proba", "std_err", "save_report"} <= names
    for name in ("params", "summary", "model", "targets"):
        with pytest.warns(DiscreetWarning, match=rf"release_\.{name} is called results_\.{name} now") as told:
            getattr(model.release_, name)
        assert [one.filename for one in told] == [__file__]
    with pytest.warns(DiscreetWarning, match="results_"):
        assert model.release_.predict_proba(X).tolist() == model.results_.predict_proba(X).tolist()
    with pytest.raises(AttributeError, match="'ReleasedModel' object has no attribute 'fit'"):
        _ = model.release_.fit


def test_nothing_is_said_of_what_a_release_has_itself(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (copy.deepcopy(model.release_), pickle.loads(pickle.dumps(model.release_))):
            assert same.digest == model.release_.digest
            assert same.coef.tolist() == model.coef_.tolist()


def test_two_releases_of_coefficients_are_compared_as_their_results_are(model):
    other = DPLogisticRegression(**FACTS | {"random_state": 4}, **CLASSES).fit(X, X[:, 0] > 0.5)
    assert str(compare(model.release_, other.release_)) == str(compare(model.results_, other.results_))


def test_a_report_takes_the_release_of_every_estimator(model):
    assert report(model.results_, model.release_) == report(model.results_)
    linear = DPLinearRegression(**FACTS, bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    assert "Noise against signal" in report(linear.results_, linear.release_)
    other = DPLogisticRegression(**FACTS | {"epsilon": 2}, **CLASSES).fit(X, X[:, 0] > 0.5)
    with pytest.raises(ParameterError, match="was not fitted to this release"):
        report(model.results_, other.release_)
    with pytest.raises(ParameterError, match="was not fitted to this release"):
        report(linear.results_, model.release_)
    with pytest.raises(ParameterError, match=r"released must be a release: model\.release_"):
        report(model.results_, model)
