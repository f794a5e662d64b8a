"""Nobody can spend more than the budget: not by clones, searches, threads, processes or errors."""

import copy
import multiprocessing
import os
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

from discreet import AdaSSP, Budget, BudgetError, Domain, DPLinearRegression, Moments, ReuseCov, release
from discreet.errors import DataError, ParameterError
from discreet.privacy import gdp

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 2))
Y = X[:, 0]
DOMAIN = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
MOMENTS = Moments.from_source((X, Y), DOMAIN)


def model(epsilon=0.5, cls=AdaSSP, **options):
    return cls(epsilon=epsilon, delta=1e-6, bounds_X=(-1, 1), bounds_y=(-1, 1), n_jobs=1, **options)


def spend(epsilon=0.5):
    return release(MOMENTS, epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("cls", [None, AdaSSP, DPLinearRegression])
def test_one_release_may_take_all_and_a_second_nothing(cls):
    with Budget(1, 1e-6) as budget:
        spend(1) if cls is None else model(1, cls).fit(X, Y)
        assert 1 - 1e-6 < budget.epsilon_spent <= 1
        with pytest.raises(BudgetError, match="Nothing was released"):
            spend(0.01)
    spend(1)


def test_releases_compose_exactly():
    with Budget(1, 1e-6) as budget:
        events = [spend(epsilon).certificate.events[0].mu for epsilon in (0.1, 0.2, 0.3)]
        assert budget.mu_spent == gdp.compose(events)
        assert budget.epsilon_spent == gdp.epsilon(mu=gdp.compose(events), delta=1e-6)
        spend(budget.epsilon_left)
        assert 1 - 1e-6 < budget.epsilon_spent <= 1


def test_noise_is_not_drawn_for_a_release_that_does_not_fit(monkeypatch):
    with Budget(0.1, 1e-6) as budget:
        monkeypatch.setattr("discreet.gate.statistics.add_normal_on_grid", lambda *a: pytest.fail("noise was drawn"))
        for cls in (AdaSSP, DPLinearRegression):
            with pytest.raises(BudgetError):
                model(0.5, cls).fit(X, Y)
        assert budget.epsilon_spent == 0


@pytest.mark.parametrize("cls", [AdaSSP, DPLinearRegression])
def test_a_table_without_rows_is_refused_before_anything_is_spent(cls):
    nothing = Moments.from_source((X[:0], Y[:0]), DOMAIN)
    assert nothing + MOMENTS == MOMENTS
    dropped = Domain(DOMAIN.columns, missing="drop")
    with Budget(1, 1e-6) as budget:
        for attempt in (
            lambda: release(nothing, epsilon=0.5, delta=1e-6),
            lambda: model(0.5, cls).fit(X[:0], Y[:0]),
            lambda: model(0.5, cls).fit_moments(nothing, "y"),
            lambda: cls(epsilon=0.5, delta=1e-6, domain=dropped).fit(X, np.full(len(Y), np.nan)),
        ):
            with pytest.raises(DataError, match="no row"):
                attempt()
        assert budget.mu_spent == 0


def test_a_failed_fit_keeps_what_it_registered(monkeypatch):
    with Budget(1, 1e-6) as budget:
        monkeypatch.setattr("discreet.mechanisms.sufficient_statistics.ada_ssp.ridge", lambda *a: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model(0.5).fit(X, Y)
        assert budget.epsilon_spent > 0.49


@pytest.mark.parametrize("copied", [clone, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_an_estimator_share_the_budget(copied):
    with Budget(1, 1e-6) as budget:
        first = model(0.9).fit(X, Y)
        with pytest.raises(BudgetError):
            copied(first).fit(X, Y)
        assert budget.epsilon_spent <= 0.9


def test_cross_validation_spends_once_a_fold():
    with Budget(1, 1e-6) as budget:
        cross_val_score(model(0.2), X, Y, cv=3)
        each = model(0.2).fit(X, Y).certificate_.events[0].mu
        assert budget.mu_spent == pytest.approx(each * 2, rel=1e-9)


def test_a_grid_search_that_does_not_fit_spends_no_more_than_the_budget():
    with Budget(0.5, 1e-6) as budget, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(model(0.3), {"rho": [0.01, 0.05, 0.1]}, cv=3, error_score=np.nan)
        with pytest.raises(BudgetError):
            search.fit(X, Y)
        assert 0.4 < budget.epsilon_spent <= 0.5


def test_a_grid_search_spends_for_each_fold_of_each_candidate_and_for_the_last_fit():
    with Budget(1, 1e-6) as budget:
        search = GridSearchCV(model(0.1), {"rho": [0.01, 0.1]}, cv=3, error_score="raise").fit(X, Y)
        assert len(budget.to_dict()["releases"]) == 2 * 3 + 1
        assert search.predict(X).shape == Y.shape


def test_threads_draw_on_the_same_budget():
    outcomes = []

    def work():
        try:
            spend(0.4)
            outcomes.append("released")
        except BudgetError:
            outcomes.append("refused")

    with Budget(1, 1e-6) as budget:
        threads = [threading.Thread(target=work) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert budget.epsilon_spent <= 1
    assert outcomes.count("released") == 5


def in_worker(queue):
    try:
        spend(0.1)
        queue.put("released")
    except BudgetError as error:
        queue.put(str(error))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("ambient", [True, False])
def test_worker_processes_refuse(method, ambient):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=in_worker, args=(queue,))
    if ambient:
        with Budget(1, 1e-6) as budget:
            process.start()
            said = queue.get(timeout=300)
            assert budget.epsilon_spent == 0
    else:
        process.start()
        said = queue.get(timeout=300)
    process.join()
    assert "worker process" in said


def test_joblib_processes_refuse():
    with Budget(1, 1e-6), pytest.raises(BudgetError, match="worker process"):
        Parallel(n_jobs=2, backend="loky")(delayed(spend)(0.1) for _ in range(2))


@pytest.mark.more
def test_cross_validation_in_processes_spends_nothing():
    with Budget(1, 1e-6) as budget:
        with pytest.raises(ValueError, match="worker process"):
            cross_validate(model(0.1), X, Y, cv=2, n_jobs=2)
        with pytest.raises(BudgetError, match="worker process"):
            cross_validate(model(0.1), X, Y, cv=2, n_jobs=2, error_score="raise")
        scores = [cross_val_score(model(5, random_state=0), X, Y, cv=2, n_jobs=n_jobs) for n_jobs in (1, 2)]
        assert np.array_equal(*scores)
        assert budget.mu_spent == 0
    with pytest.raises(BudgetError, match="worker process"):
        cross_validate(model(0.1), X, Y, cv=2, n_jobs=2, error_score="raise")


def own_budget(epsilon):
    with Budget(epsilon, 1e-6) as budget:
        spend(epsilon)
        return os.getpid(), budget.epsilon_spent


def test_a_worker_with_its_own_budget_may_release():
    (process, spent), *_ = Parallel(n_jobs=2, backend="loky")([delayed(own_budget)(0.1)])
    assert process != os.getpid()
    assert 0.09 < spent <= 0.1


def test_simulations_spend_nothing():
    with Budget(0.1, 1e-6) as budget:
        release(MOMENTS, epsilon=5, delta=1e-6, random_state=1)
        model(5, DPLinearRegression, random_state=1).fit(X, Y)
        assert budget.epsilon_spent == 0


def test_nested_budgets_both_count():
    with Budget(1, 1e-6) as outer:
        with Budget(0.2, 1e-6) as inner:
            spend(0.15)
            with pytest.raises(BudgetError):
                spend(0.15)
        assert outer.epsilon_spent == inner.epsilon_spent
        spend(0.15)
    assert outer.epsilon_spent > inner.epsilon_spent


def test_relations_are_not_mixed():
    with Budget(1, 1e-6), pytest.raises(BudgetError, match="Use one relation"):
        release(MOMENTS, epsilon=0.1, delta=1e-6, neighbors="replace-one")
    with Budget(1, 1e-6, neighbors="replace-one"):
        release(MOMENTS, epsilon=0.1, delta=1e-6, neighbors="replace-one")


# ---------------------------------------------------------------- outcomes that are public

OUTCOMES = pd.DataFrame({"u": X[:, 0], "v": -X[:, 1]})
REPLACE = {"neighbors": "replace-one"}
DECLARED = Domain.from_bounds(["a", "b"], ["u", "v"], bounds_X=(-1, 1), bounds_y=(-1, 1))
WHOLE_ROWS = Moments.from_source((X, OUTCOMES.to_numpy()), DECLARED, targets=["u", "v"])


def spend_public(outcomes=("u", "v"), epsilon=0.2, **options):
    Y = OUTCOMES[list(outcomes)]
    options = {"association": "projection"} | REPLACE | options
    frame = pd.DataFrame(X, columns=["a", "b"])
    return model(epsilon, ReuseCov, **options).fit(frame, Y if len(outcomes) > 1 else Y[outcomes[0]])


@pytest.mark.parametrize("outcomes", [("u", "v"), ("v",)])
@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}, {"published": "neel2023"}])
def test_a_budget_for_whole_rows_refuses_public_outcomes(outcomes, options, monkeypatch):
    """A release that protects the features only is not added to those that protect whole rows."""
    monkeypatch.setattr("discreet.drivers.run.noisy_blocks", lambda *_: pytest.fail("noise was drawn"))
    for budget in (Budget(1, 1e-6, **REPLACE), Budget(9, 0.009, adding=True, **REPLACE)):
        with budget, pytest.raises(BudgetError, match=r"'v' as public .* Nothing was released"):
            spend_public(outcomes, **options)
        assert budget.to_dict()["releases"] == []


def test_one_of_several_budgets_may_refuse_public_outcomes():
    with Budget(1, 1e-6, **REPLACE) as outer, Budget(1, 1e-6, public_outcomes=["u", "v"], **REPLACE) as inner:
        with pytest.raises(BudgetError, match="as public"):
            spend_public()
        release(WHOLE_ROWS, epsilon=0.1, delta=1e-6, **REPLACE)
    assert outer.mu_spent == inner.mu_spent > 0


def test_a_budget_for_features_holds_both_and_says_so():
    with Budget(1, 1e-6, public_outcomes=["u", "v"], **REPLACE) as budget:
        mus = [spend_public(["v"]).certificate_.events[0].mu, spend_public().certificate_.events[0].mu]
        mus += [release(WHOLE_ROWS, epsilon=0.2, delta=1e-6, **REPLACE).certificate.events[0].mu]
        assert budget.mu_spent == gdp.compose(mus)
    assert "not protecting 'u' and 'v'" in repr(budget)
    account = budget.to_dict()
    assert account["public_outcomes"] == ["u", "v"]
    assert [one.get("public_outcomes") for one in account["releases"]] == [["v"], ["u", "v"], None]


def test_every_public_outcome_must_be_named():
    """What is public in one release is private in another: together they would protect nothing."""
    with Budget(1, 1e-6, public_outcomes=["v"], **REPLACE) as budget:
        spend_public(["v"])
        with pytest.raises(BudgetError, match="takes 'u' as public"):
            spend_public()
        assert len(budget.to_dict()["releases"]) == 1


def test_a_level_of_a_category_is_charged_as_its_column():
    domain = Domain({"a": (-1, 1), "c": ["x", "y"]})
    rows = pd.DataFrame({"a": X[:, 0], "c": np.where(X[:, 1] > 0, "x", "y")})
    many = ReuseCov(epsilon=0.1, delta=1e-6, domain=domain, association="projection", **REPLACE)
    with Budget(1, 1e-6, public_outcomes=["c"], **REPLACE) as budget:
        many.fit_source(rows, ["c[y]"])
    assert budget.to_dict()["releases"][0]["public_outcomes"] == ["c"]
    with Budget(1, 1e-6, public_outcomes=["c[y]"], **REPLACE), pytest.raises(BudgetError, match="takes 'c' as"):
        many.fit_source(rows, ["c[y]"])


@pytest.mark.parametrize("given", ["u", 3, None, [1], {"public_outcomes": ["u"], "neighbors": "add-remove"}])
def test_bad_public_outcomes_are_refused(given):
    options = given if isinstance(given, dict) else {"public_outcomes": given} | REPLACE
    with pytest.raises(ParameterError, match="public_outcomes"):
        Budget(1, 1e-6, **options)


@pytest.mark.parametrize(
    ("given", "missing"), [({"epsilon": 1}, "delta"), ({"delta": 1e-6}, "epsilon"), ({}, "epsilon")]
)
def test_what_is_missing_of_a_promise_is_named(given, missing):
    with pytest.raises(ParameterError, match=f"{missing} is required") as caught:
        Budget(**given)
    assert "rows=" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0), ("epsilon", None), ("delta", 1), ("delta", None), ("neighbors", "twins")]
)
def test_bad_budgets_are_refused(name, value):
    with pytest.raises(ParameterError):
        Budget(**{"epsilon": 1, "delta": 1e-6} | {name: value})


def test_a_budget_is_not_copied_and_says_what_it_spent():
    budget = Budget(1, 1e-6)
    with pytest.raises(TypeError, match="not copied"):
        pickle.dumps(budget)
    assert copy.deepcopy(budget) is budget
    with budget:
        spend(0.5)
    assert budget.to_dict()["releases"][0]["method"] == "moments"
    assert "spent 0.5 in 1 releases" in repr(budget)
