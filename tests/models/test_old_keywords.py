"""Old keywords: each warns once, of the name that it has now, and gives the same bits."""

import inspect
import json
import re
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import discreet
from discreet import (
    NAPP,
    DiscreetWarning,
    Domain,
    DPElasticNet,
    DPLasso,
    DPLogisticRegression,
    DPRidge,
    Moments,
    NappAugmentation,
    NappConstants,
    NappRecycling,
    NappShape,
    ReuseCov,
    release,
)
from discreet.errors import ParameterError
from discreet.mechanisms.registry import METHODS
from discreet.per_instance.leverage import leave_one_out

X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
Y = np.clip(X @ [0.6, -0.2], -1, 1)
FACTS = {"epsilon": 2, "delta": 1e-6, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "random_state": 3}
LI2021 = {"published": "li2021", "alpha": 2.0, "fit_intercept": False}
DOMAIN = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
MOMENTS = Moments.from_source((X, Y), DOMAIN)

RENAMED = [
    (DPRidge, {}, {"penalty": 0.1}, {"alpha": 0.1}),
    (DPLasso, {}, {"penalty": 0.02}, {"alpha": 0.02}),
    (DPElasticNet, {}, {"penalty": 0.02}, {"alpha": 0.02}),
    (ReuseCov, {"solve": "ridge"}, {"penalty": 3.0}, {"alpha": 3.0}),
    (ReuseCov, {"solve": "cg"}, {"penalty": 3.0}, {"alpha": 3.0}),
    (NAPP, {"alpha": 2.0}, {"regularizer": "ridge"}, {"penalty": "l2"}),
    (NAPP, {"alpha": 2.0}, {"regularizer": "lasso"}, {"penalty": "l1"}),
    (NAPP, {"alpha": 2.0}, {"regularizer": "elasticnet"}, {"penalty": "elasticnet"}),
    (NAPP, LI2021, {"regularizer": "scad"}, {"penalty": "scad"}),
    (NAPP, {"penalty": "elasticnet", "alpha": 2.0}, {"kappa": 0.2}, {"shape": NappShape(kappa=0.2)}),
    (NAPP, LI2021 | {"penalty": "bridge"}, {"gamma": 0.7}, {"shape": NappShape(gamma=0.7)}),
    (NAPP, LI2021 | {"penalty": "scad"}, {"knot": 0.3}, {"shape": NappShape(knot=0.3)}),
    (NAPP, LI2021, {"modulus": 30.0}, {"constants": NappConstants(modulus=30.0)}),
    (NAPP, LI2021, {"slope": 1.5}, {"constants": NappConstants(slope=1.5)}),
    (NAPP, LI2021, {"share": 0.3}, {"constants": NappConstants(share=0.3)}),
    (NAPP, LI2021, {"n_e": None}, {"augmentation": NappAugmentation(n_e=None)}),
    (NAPP, LI2021, {"moor": False}, {"augmentation": NappAugmentation(moor=False)}),
    (NAPP, LI2021, {"selection": "VS+"}, {"augmentation": NappAugmentation(selection="VS+")}),
    (NAPP, LI2021, {"iterations": 7}, {"augmentation": NappAugmentation(iterations=7)}),
    (NAPP, LI2021, {"tol": 0.5}, {"augmentation": NappAugmentation(tol=0.5)}),
    (NAPP, LI2021, {"zero": None}, {"augmentation": NappAugmentation(zero=None)}),
    (NAPP, LI2021, {"keep_trace": True}, {"augmentation": NappAugmentation(keep_trace=True)}),
    (NAPP, LI2021, {"retrieval": "recycle"}, {"recycling": NappRecycling(retrieval="recycle")}),
    (NAPP, LI2021 | {"recycling": NappRecycling(retrieval="recycle")}, {"rounds": 2},
     {"recycling": NappRecycling(retrieval="recycle", rounds=2)}),
]  # fmt: skip


def told_by(action):
    """What an action gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = action()
    return found, [one for one in told if issubclass(one.category, DiscreetWarning) and "now." in str(one.message)]


def bits(model):
    return model.fit(X, Y).coef_.tobytes(), json.dumps(model.certificate_.to_dict())


@pytest.mark.parametrize(("cls", "given", "old", "new"), RENAMED)
def test_an_old_keyword_of_an_estimator(cls, given, old, new):
    (name,), (current,) = old, new
    model, told = told_by(lambda: cls(**FACTS | given, **old))
    assert len(told) == 1
    assert re.match(rf"{name}=\S* is called {current}=", str(told[0].message))
    assert told[0].filename == __file__
    other, silent = told_by(lambda: bits(cls(**FACTS | {**given, **new})))
    assert silent == []
    assert told_by(lambda: bits(model)) == (other, [])
    assert told_by(lambda: bits(clone(model))) == (other, [])
    changed, told = told_by(lambda: cls(**FACTS | given).set_params(**old))
    assert len(told) == 1
    assert bits(changed) == other


@pytest.mark.parametrize(("cls", "given", "old", "new"), RENAMED)
def test_an_old_attribute_of_an_estimator(cls, given, old, new):
    ((name, value),) = old.items()
    model = cls(**FACTS | given)
    _, told = told_by(lambda: setattr(model, name, value))
    assert len(told) == 1
    found, told = told_by(lambda: getattr(model, name))
    assert len(told) == 1
    assert found == value
    assert bits(model) == bits(cls(**FACTS | {**given, **new}))


def test_all_old_keywords_of_a_call_are_in_one_warning_with_what_to_write():
    old = {"regularizer": "lasso", "n_e": None, "iterations": 5, "share": 0.4}
    model, told = told_by(lambda: NAPP(**FACTS, **LI2021, **old))
    assert [str(one.message) for one in told] == [
        "regularizer='lasso' is called penalty='l1' now; share= is called constants=NappConstants(share=...) now; "
        "n_e=, iterations= are called augmentation=NappAugmentation(n_e=..., iterations=...) now. The old names still "
        "work in this version: use the new ones."
    ]
    groups = {"constants": NappConstants(share=0.4), "augmentation": NappAugmentation(n_e=None, iterations=5)}
    assert bits(model) == bits(NAPP(**FACTS, **LI2021, penalty="l1", **groups))


def test_a_renamed_value_is_told_of_and_read_by_its_old_name():
    model = NAPP(penalty="l2")
    found, told = told_by(lambda: model.regularizer)
    assert found == "ridge"
    assert str(told[0].message).startswith(".regularizer='ridge' is called .penalty='l2' now")


def test_signatures_have_new_names_alone():
    for cls in {cls for cls, *_ in RENAMED}:
        names = set(inspect.signature(cls).parameters)
        assert names == set(cls._get_param_names())
        assert not names & {*cls.renamed, *cls.members()}
    assert len(inspect.signature(NAPP).parameters) == 24


def test_every_old_keyword_is_tried():
    tried = {(cls, name) for cls, _, old, _ in RENAMED for name in old}
    kinds = [method.estimator for method in METHODS]
    assert tried == {(cls, name) for cls in kinds for name in (*cls.renamed, *cls.members())}


def test_penalty_is_a_kind_and_alpha_a_strength_in_every_estimator():
    for method in METHODS:
        fields = method.estimator.__dataclass_fields__
        if "penalty" in fields:
            assert fields["penalty"].default in ("l1", "l2", "elasticnet", None)
        if "alpha" in fields:
            assert fields["alpha"].default is None
        assert not {"regularizer", "regularization", "lam", "lambda_", "C"} & fields.keys()


def test_members_of_groups_are_parameters_to_scikit_learn():
    model = NAPP(**FACTS, **LI2021, augmentation=NappAugmentation(n_e=None))
    assert model.get_params()["augmentation__n_e"] is None
    search = GridSearchCV(model, {"augmentation__iterations": [3, 5], "alpha": [1.0, 2.0]}, cv=2).fit(X, Y)
    assert set(search.best_params_) == {"augmentation__iterations", "alpha"}
    assert model.augmentation.iterations == 80
    copied = clone(model)
    assert copied.augmentation is not model.augmentation
    assert copied.get_params()["augmentation__n_e"] is None


def test_members_of_a_group_that_was_not_given_can_be_set():
    model = NAPP(**FACTS, **LI2021).set_params(augmentation__iterations=5, constants__share=0.4)
    groups = {"constants": NappConstants(share=0.4), "augmentation": NappAugmentation(iterations=5)}
    assert bits(model) == bits(NAPP(**FACTS, **LI2021, **groups))
    search = GridSearchCV(NAPP(**FACTS, **LI2021), {"augmentation__iterations": [3, 5]}, cv=2).fit(X, Y)
    assert search.best_estimator_.augmentation.iterations in (3, 5)
    with pytest.raises(ValueError, match="Invalid parameter 'lam'"):
        NAPP().set_params(augmentation__lam=1)


def test_a_member_and_its_group_must_agree():
    with pytest.raises(ParameterError, match="n_e= is given alone and in augmentation=, with another value"):
        NAPP(n_e=3, augmentation=NappAugmentation(n_e=4))
    with pytest.raises(ParameterError, match="augmentation must be a NappAugmentation, got dict"):
        NAPP(n_e=3, augmentation={"n_e": 3})


@pytest.mark.parametrize("cls", [DPRidge, DPLasso, DPElasticNet, ReuseCov])
def test_a_kind_of_penalty_is_refused_where_there_is_one_kind(cls):
    for action in (lambda: cls(penalty="l2"), lambda: cls().set_params(penalty="l2")):
        with pytest.raises(ParameterError, match=rf"{cls.__name__} has one kind.*leave out penalty='l2'.*alpha="):
            action()


@pytest.mark.parametrize("kind", ["lasso", None, 0.5, ["l1"]])
def test_an_unknown_kind_of_penalty_is_told_the_known_ones(kind):
    with pytest.raises(ParameterError, match="penalty must be one of 'l1', 'l2', 'elasticnet'"):
        NAPP(**FACTS, penalty=kind).fit(X, Y)


def test_no_penalty_at_all_is_refused_with_the_reason():
    facts = {name: value for name, value in FACTS.items() if name != "bounds_y"}
    with pytest.raises(ParameterError, match=r"penalty=None is not possible.*needs a quadratic penalty.*small alpha="):
        DPLogisticRegression(**facts, classes=[0, 1], penalty=None).fit(X, Y > 0)


def test_both_names_at_once_are_refused():
    with pytest.raises(ParameterError, match="penalty= is the old name of alpha="):
        DPRidge(penalty=0.1, alpha=0.1)
    with pytest.raises(ParameterError, match="alpha="):
        release(MOMENTS, epsilon=1, delta=1e-6).fit("y", model="ridge", penalty=0.1, alpha=0.1)
    with pytest.raises(TypeError, match="unexpected"):
        DPRidge(lam=0.1)


def test_old_attributes_of_results():
    model = DPRidge(**FACTS, alpha=0.25).fit(X, Y)
    for own, name in ((model, "penalty_"), (model.results_, "penalty")):
        found, told = told_by(lambda own=own, name=name: getattr(own, name))
        assert (found, len(told)) == (0.25, 1)
    assert not hasattr(DPRidge(), "penalty_")


@pytest.mark.parametrize("kind", ["ridge", "lasso", "elastic-net"])
def test_a_strength_for_the_penalty_of_a_model_of_a_release(kind):
    public = release(MOMENTS, epsilon=1, delta=1e-6, random_state=1)
    old, told = told_by(lambda: public.fit("y", model=kind, penalty=0.05))
    assert len(told) == 1
    assert "alpha=" in str(told[0].message)
    new, silent = told_by(lambda: public.fit("y", model=kind, alpha=0.05))
    assert silent == []
    named = public.fit("y", penalty={"ridge": "l2", "lasso": "l1", "elastic-net": "elasticnet"}[kind], alpha=0.05)
    assert old.params.to_dict() == new.params.to_dict() == named.params.to_dict()
    assert old.summary() == new.summary() == named.summary()


def test_old_keywords_of_functions():
    public = ReuseCov(**FACTS).fit(X, np.column_stack([Y, Y])).release_
    pairs = [
        lambda **given: release(**given, epsilon=1, delta=1e-6, random_state=1).fit("y").params.to_dict(),
        lambda **given: public.fit_many(solve="ridge", **given).coef.tolist(),
        lambda **given: leave_one_out((X, Y), MOMENTS, "y", **given).residual.tolist(),
    ]
    names = [("moments", "table", MOMENTS), ("penalty", "alpha", 2.0), ("penalty", "alpha", 2.0)]
    for function, (name, current, value) in zip(pairs, names, strict=True):
        old, told = told_by(lambda f=function, given={name: value}: f(**given))
        assert [str(one.message).split(" now")[0] for one in told] == [f"{name}= is called {current}="]
        assert (old, []) == told_by(lambda f=function, given={current: value}: f(**given))


# -------------------------------------------------------------------- the command line


@pytest.fixture
def folder(tmp_path):
    pa.csv.write_csv(pa.table({"a": X[:, 0], "b": X[:, 1], "y": Y}), tmp_path / "t.csv")
    (tmp_path / "t.toml").write_text("[columns]\n" + "".join(f"{name} = {{ low = -1, high = 1 }}\n" for name in "aby"))
    release(MOMENTS, epsilon=1, delta=1e-6).save(tmp_path / "r.json")
    return tmp_path


FIT = ["fit", "t.csv", "--schema", "t.toml", "--target", "y", "--epsilon", 1, "--delta", 1e-6, "--force", "--json"]


def test_an_old_option_of_model(run, folder):
    ask = ["model", "r.json", "--target", "y", "--json"]
    old = run(*ask, "--model", "lasso", "--penalty", 0.1)
    assert "is called alpha= now" in old.said
    ways = [["--model", "lasso", "--alpha", 0.1], ["--penalty", "l1", "--alpha", 0.1]]
    for new in (run(*ask, *more) for more in ways):
        assert "now" not in new.err
        assert json.loads(new.out) == json.loads(old.out)
    refused = run(*ask, "--model", "ols", "--penalty", "l1")
    assert refused.code == 2
    assert "leave out model='ols'" in refused.said


@pytest.mark.parametrize(
    ("method", "old", "new"),
    [
        ("DPRidge", ["penalty=0.1"], ["alpha=0.1"]),
        ("NAPP", ["regularizer=ridge", "alpha=2"], ["penalty=l2", "alpha=2"]),
    ],
)
def test_old_settings_of_fit(method, old, new, run, folder):
    def fit(settings):
        return run(*FIT, "--method", method, *(word for text in settings for word in ("--set", text)))

    ran = fit(old)
    assert ran.code == 0
    assert re.search(rf"{old[0].split('=')[0]}=\S* is called {new[0].split('=')[0]}=\S* now", ran.said)
    ran = fit(new)
    assert ran.code == 0
    assert "is called" not in ran.said


def test_members_of_groups_are_set_by_their_own_names(run, folder):
    settings = ["--set", "alpha=2", "--set", "selection=VS+", "--set", "n_e=None", "--set", "iterations=5"]
    ran = run(*FIT, "--method", "NAPP", "--published", "li2021", *settings)
    assert ran.code == 0
    assert "is called" not in ran.said
    (event,) = json.loads(ran.out)["certificate"]["events"]
    assert (event["selection"], event["iterations"], event["augmented"]) == ("VS+", 5, None)


def test_stages_of_fit(run, folder):
    for given, number in (("1", 0), ("2", 2)):
        ran = run(*FIT, "--stages", given, "--out", "m.json")
        assert ran.code == 0
        assert len(discreet.load(folder / "m.json").stages) == number
    for more, words in (
        (["--stages", "9"], "stages must be one of"),
        (["--stages", "2", "--method", "SSP"], "SSP has no stages"),
        (["--stages", "2", "--set", "stages=2"], "either --stages or --set"),
    ):
        refused = run(*FIT, *more)
        assert refused.code == 2
        assert words in refused.said
