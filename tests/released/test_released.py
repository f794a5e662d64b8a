"""Released moments: saved and loaded without loss, damage found, any model fitted for free."""

import copy
import errno
import itertools
import json
import os
import pickle
import resource
import signal

import numpy as np
import pandas as pd
import pytest
from small_table import DOMAIN, REGIONS, people, people_moments

from discreet import AdaSSP, PrivateMoments, release
from discreet.core.files import digest
from discreet.errors import DataError, DomainError, FileFormatError, GuaranteeError, NotReleasedError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.released.certificate import VERSIONS
from discreet.results.summary import number

FRAME = people()
MOMENTS = people_moments()
PUBLIC = {
    "every column": release(MOMENTS, epsilon=1, delta=1e-6),
    "one outcome": release(MOMENTS, epsilon=1, delta=1e-6, targets=["income"], neighbors="replace-one"),
    "two outcomes": release(MOMENTS, epsilon=0.01, rows=500, targets=["hours", "region[south]"], shares={"squares": 0}),
    "AdaSSP": AdaSSP(epsilon=1, delta=1e-6, published="piazza2021").fit_moments(MOMENTS, "income").release_,
}


@pytest.fixture(params=PUBLIC.values(), ids=PUBLIC)
def public(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.release.json"


def leaves(value, at=()):
    """Paths of all fields of a JSON value, containers included."""
    yield at
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*at, key))


def edited(body, at, change):
    """A copy in which the field at a path was changed, or removed when `change` returns None."""
    body = copy.deepcopy(body)
    holder = body
    for key in at[:-1]:
        holder = holder[key]
    new = change(holder[at[-1]])
    if new is None:
        del holder[at[-1]]
    else:
        holder[at[-1]] = new
    return body


def another(value):
    """A value of the same kind that differs a little."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return float(np.nextafter(value, np.inf))
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("1" if value.endswith("0") else "0")
    return {"list": [*(value or []), 0], "dict": {"more": 1}, "NoneType": 12}[type(value).__name__]


def forge(path, body):
    """Write a document with a digest that fits, as a forger would."""
    path.write_text(json.dumps(body | {"sha256": digest(body)}))


# -------------------------------------------------------------------- round trips


def test_a_saved_release_comes_back_bit_by_bit(public, path):
    public.save(path)
    loaded = PrivateMoments.load(path)
    assert loaded == public
    assert hash(loaded) == hash(public)
    assert all(np.array_equal(loaded.arrays[block], values) for block, values in public.arrays.items())
    again = path.with_name("again.json")
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("model", ["noise-aware", "ridge", "lasso", "elastic-net", "ols"])
@pytest.mark.parametrize(
    ("name", "target"), [("every column", "income"), ("two outcomes", "hours"), ("AdaSSP", "income")]
)
def test_fits_of_a_loaded_release_are_the_same(name, target, model, path):
    PUBLIC[name].save(path)
    here, there = (public.fit(target, model=model) for public in (PUBLIC[name], PrivateMoments.load(path)))
    assert np.array_equal(here.coef, there.coef)
    assert here.intercept == there.intercept
    assert here.summary() == there.summary()
    assert str(here) == repr(there) == str(there.summary())
    assert here.to_dict() == there.to_dict()


def test_the_file_is_plain_json_with_exact_integers(public, path):
    public.save(path)
    body = json.loads(path.read_text())
    assert (body["kind"], body["format_version"]) == ("release", 1)
    parts = [part for block in body["values"] for part in block]
    assert all(isinstance(q, str) and str(int(q)) == q for part in parts for q in part["integers"])
    assert all(isinstance(part["exponent"], int) for part in parts)
    kept = [q for block in public.values for part in block for q in part.integers]
    assert [int(q) for part in parts for q in part["integers"]] == kept
    assert body["certificate"]["unit"] == "one row is one person"


def test_pickles_and_copies_are_equal(public):
    assert pickle.loads(pickle.dumps(public)) == public == copy.deepcopy(public)
    assert repr(public).startswith(f"PrivateMoments({len(public.domain.columns)} columns, epsilon=")


# -------------------------------------------------------------------- damage


def saved_body(public, path):
    public.save(path)
    return json.loads(path.read_text())


@pytest.mark.parametrize("change", [another, lambda value: None], ids=["changed", "removed"])
def test_every_edit_of_a_field_is_found(change, path):
    body = saved_body(PUBLIC["one outcome"], path)
    places = [at for at in leaves(body) if at]
    assert len(places) > 100
    for at in places:
        path.write_text(json.dumps(edited(body, at, change)))
        with pytest.raises(FileFormatError):
            PrivateMoments.load(path)
    path.write_text(json.dumps(body))
    assert PrivateMoments.load(path) == PUBLIC["one outcome"]


def test_a_truncated_file_is_found(public, path):
    public.save(path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole) - 2, max(1, len(whole) // 40)), len(whole) - 2]:
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="truncated"):
            PrivateMoments.load(path)


FOREIGN = {
    "empty": b"",
    "binary": bytes(range(256)),
    "text": b"age,income\n1,2\n",
    "a list": b"[1, 2]",
    "a number": b"17",
    "another document": b'{"kind": "moments", "format_version": 1}',
    "no digest": b'{"kind": "release", "format_version": 1}',
    "digest is null": b'{"kind": "release", "format_version": 1, "sha256": null, "x": NaN}',
    "not a number": b'{"kind": "release", "format_version": 1, "x": NaN}',
    "infinite": b'{"kind": "release", "format_version": 1, "x": 1e999}',
    "deep": b"[" * 100_000,
    "a huge number": b'{"kind": "release", "x": 1' + b"0" * 5000 + b"}",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_foreign_files_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=path.name):
        PrivateMoments.load(path)


@pytest.mark.parametrize("version", [VERSIONS[-1] + 1, 99, "1", None])
def test_files_of_the_future_are_refused(version, path):
    forge(path, saved_body(PUBLIC["one outcome"], path) | {"format_version": version})
    with pytest.raises(FileFormatError, match="newer discreet"):
        PrivateMoments.load(path)


VALUES, CERTIFICATE = ("values",), ("certificate",)
BLOCK = (*CERTIFICATE, "events", 0, "blocks", 0)
CONTRADICTIONS = [
    (VALUES, lambda v: None),
    (VALUES, lambda v: v[:-1]),
    (VALUES, lambda v: [*v, v[0]]),
    (VALUES, lambda v: "none"),
    ((*VALUES, 0), lambda v: v[:1]),
    ((*VALUES, 0, 0, "integers"), lambda v: v[:-1]),
    ((*VALUES, 0, 0, "integers"), lambda v: [*v, "1"]),
    ((*VALUES, 0, 1, "integers"), lambda v: v[:1]),
    ((*VALUES, 0, 1, "integers"), lambda v: [*v, "1"]),
    ((*VALUES, 1, 0, "integers"), lambda v: v[:-1]),
    ((*VALUES, 0, 0, "integers", 0), lambda v: "1.5"),
    ((*VALUES, 0, 0, "integers", 0), lambda v: "9" * 400),
    ((*VALUES, 0, 0, "exponent"), lambda v: 10**6),
    ((*VALUES, 0, 0, "exponent"), lambda v: v + 1),
    ((*BLOCK, "sd"), lambda v: 2 * v),
    (CERTIFICATE, lambda v: None),
    (CERTIFICATE, lambda v: [1]),
    ((*CERTIFICATE, "domain"), lambda v: None),
    ((*CERTIFICATE, "domain"), lambda v: "everything"),
    ((*CERTIFICATE, "domain", "columns", "age"), lambda v: None),
    ((*CERTIFICATE, "domain", "columns", "age", "low"), lambda v: 100.0),
    ((*CERTIFICATE, "domain", "missing"), lambda v: "maybe"),
    ((*CERTIFICATE, "events"), lambda v: []),
    ((*CERTIFICATE, "events"), lambda v: v + v),
    ((*CERTIFICATE, "events", 0, "mechanism"), lambda v: "laplace"),
    ((*CERTIFICATE, "events", 0, "mu"), lambda v: -1.0),
    ((*CERTIFICATE, "events", 0, "mu"), lambda v: 1e300),
    ((*CERTIFICATE, "events", 0, "mu"), lambda v: "small"),
    ((*BLOCK, "statistic"), lambda v: "mean"),
    ((*BLOCK, "layout"), lambda v: "loose"),
    ((*BLOCK, "sd"), lambda v: 0.0),
    ((*BLOCK, "sd"), lambda v: "1"),
    ((*BLOCK, "rows"), lambda v: []),
    ((*BLOCK, "rows", 0), lambda v: "nobody"),
    ((*BLOCK, "rows", 1), lambda v: "(intercept)"),
    ((*CERTIFICATE, "guarantee", "epsilon"), lambda v: "1"),
    ((*CERTIFICATE, "guarantee", "epsilon"), lambda v: -1.0),
    ((*CERTIFICATE, "guarantee", "delta"), lambda v: 0.0),
    ((*CERTIFICATE, "guarantee", "delta"), lambda v: 1.5),
    ((*CERTIFICATE, "guarantee", "neighbors"), lambda v: "twins"),
    ((*CERTIFICATE, "guarantee", "status"), lambda v: "certain"),
    ((*CERTIFICATE, "guarantee", "status"), lambda v: "simulation"),
    ((*CERTIFICATE, "guarantee"), lambda v: v | {"more": 1}),
    ((*CERTIFICATE, "simulation"), lambda v: True),
    ((*CERTIFICATE, "rows"), lambda v: -5),
    ((*CERTIFICATE, "software"), lambda v: None),
]


@pytest.mark.parametrize(
    ("at", "change"), CONTRADICTIONS, ids=[f"{i}: {at[-1]}" for i, (at, _) in enumerate(CONTRADICTIONS)]
)
def test_contradictions_are_refused_even_with_a_fitting_digest(at, change, path):
    body = saved_body(PUBLIC["one outcome"], path)
    forge(path, edited(body, at, change))
    with pytest.raises(FileFormatError):
        PrivateMoments.load(path)
    forge(path, body)
    assert PrivateMoments.load(path) == PUBLIC["one outcome"]


def test_an_eigenvalue_of_nothing_is_refused(path):
    """It would cost nothing, and one number would still fit it."""
    body = saved_body(PUBLIC["AdaSSP"], path)
    assert body["certificate"]["events"][0]["blocks"][0]["statistic"] == "eigenvalue"
    forge(path, edited(body, (*BLOCK, "rows"), lambda v: []))
    with pytest.raises(FileFormatError, match="unknown kind"):
        PrivateMoments.load(path)


# -------------------------------------------------------------------- saving


def test_a_simulation_is_saved_only_on_demand(path):
    public = release(MOMENTS, epsilon=1, delta=1e-6, random_state=0)
    with pytest.raises(GuaranteeError, match="simulation=True"):
        public.save(path)
    assert not path.exists()
    public.save(path, simulation=True)
    loaded = PrivateMoments.load(path)
    assert loaded == public
    assert loaded.certificate.simulation
    with pytest.raises(GuaranteeError):
        loaded.save(path)


def fails_to_sync(monkeypatch, error):
    def fsync(handle):
        raise error

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("older", [b"", b"an older release"])
def test_a_failed_save_leaves_what_was_there(older, error, path, monkeypatch):
    if older:
        path.write_bytes(older)
    fails_to_sync(monkeypatch, error)
    with pytest.raises(type(error)):
        PUBLIC["one outcome"].save(path, overwrite=True)
    assert list(path.parent.iterdir()) == ([path] if older else [])
    if older:
        assert path.read_bytes() == older


def test_a_disk_that_fills_up_half_way_leaves_what_was_there(path):
    """The operating system refuses bytes past a limit, so that a part of the file has been written."""
    PUBLIC["one outcome"].save(path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            PUBLIC["every column"].save(path, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# -------------------------------------------------------------------- models


def dummies(frame, features):
    """Regressors as people write them: numbers, and levels without the first."""
    columns = {}
    for name in features:
        levels = {f"region[{level}]": frame["region"] == level for level in REGIONS[1:]}
        columns |= levels if name == "region" else {name: frame[name]}
    return pd.DataFrame(columns, index=frame.index).astype(float)


OUTCOMES = {name: FRAME[name] for name in ("age", "hours", "income")}
OUTCOMES |= {f"region[{level}]": (FRAME["region"] == level).astype(float) for level in REGIONS}
NOISELESS = release(MOMENTS, epsilon=1, delta=1e-6, random_state=NO_NOISE)


@pytest.mark.parametrize("target", OUTCOMES)
def test_any_outcome_on_any_features(target):
    others = [name for name in DOMAIN.columns if not target.startswith(name)]
    subsets = [list(s) for k in range(len(others) + 1) for s in itertools.permutations(others, k)]
    assert len(subsets) == 16
    y = OUTCOMES[target].to_numpy()
    for features in subsets:
        fitted = NOISELESS.fit(target, features, model="ols")
        X = dummies(FRAME, features)
        assert list(fitted.names) == list(X.columns)
        assert list(fitted.coefficients) == ["(intercept)", *X.columns]
        design = np.column_stack([np.ones(len(X)), X])
        wanted = design @ np.linalg.lstsq(design, y)[0]
        np.testing.assert_allclose(fitted.predict(X, clip=False), wanted, rtol=0, atol=2e-5 * np.ptp(y))
    assert NOISELESS.fit(target, model="ols").names == NOISELESS.fit(target, others, model="ols").names


def test_a_two_level_category_can_be_an_outcome():
    public = release(people_moments(), epsilon=1, delta=1e-6, targets=["region[west]"], random_state=NO_NOISE)
    fitted = public.fit("region[west]", model="ols")
    assert fitted.names == ("age", "hours", "income")
    wanted = NOISELESS.fit("region[west]", ["age", "hours", "income"], model="ols")
    np.testing.assert_allclose(fitted.coef, wanted.coef, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("given", [0.001, 40.0])
def test_a_ridge_penalty_is_used_as_given(given):
    """Per row, on the slopes of the mapped columns only; exact moments need no repair."""
    e = NOISELESS.equations("income", ["age", "hours"])
    theta = np.linalg.solve(e.S + e.n * given * np.diag([0, 1, 1]), e.v)
    fitted = NOISELESS.fit("income", ["age", "hours"], model="ridge", alpha=given)
    assert fitted.coef == pytest.approx(100_000 * theta[1:] / [36, 40], rel=1e-9)
    assert (fitted.alpha, fitted.chosen) == (given, False)


def test_products_of_different_levels_are_known_to_be_zero():
    public = PUBLIC["every column"]
    e = public.equations("income", ["region", "age"])
    assert e.names == ("(intercept)", "region[south]", "region[west]", "age")
    released, names = public.value("gram"), public.blocks[0].rows
    place = [names.index(name) for name in (*e.names, "region[north]")]
    Z, levels = released[np.ix_(place, place)].copy(), [1, 2, 4]
    for i, j in itertools.permutations(levels, 2):
        assert Z[i, j] != 0
        assert e.variances[i, j] == 0
        Z[i, j] = 0
    assert np.count_nonzero(e.variances) == 25 - 6
    fit = np.linalg.pinv(e.L)
    assert pytest.approx(fit @ Z @ fit.T, rel=1e-9, abs=1e-9) == e.S
    assert np.array_equal(e.S, e.S.T)
    assert e.v == pytest.approx(fit @ released[place, names.index("income")], rel=1e-9)
    assert e.yy == released[names.index("income"), names.index("income")]


def test_what_is_released_once_is_taken_as_it_is():
    public = PUBLIC["every column"]
    e = public.equations("income", ["age", "hours"])
    released, names = public.value("gram"), public.blocks[0].rows
    place = [names.index(name) for name in e.names]
    assert e.L is None
    assert np.array_equal(e.S, released[np.ix_(place, place)])
    assert np.array_equal(e.v, released[place, names.index("income")])


def test_equations_state_their_noise():
    whole = PUBLIC["every column"].equations("income")
    sd = PUBLIC["every column"].blocks[0].sd
    assert (whole.s_xx, whole.s_yy) == (sd, sd)
    assert whole.n == PUBLIC["every column"].value("gram")[0, 0]
    assert whole.s_xy == pytest.approx(sd / np.sqrt(2), rel=1e-15)
    gram, cross, squares = PUBLIC["one outcome"].blocks
    split = PUBLIC["one outcome"].equations("income")
    assert (split.s_xx, split.s_xy, split.s_yy) == (gram.sd, cross.sd, squares.sd)
    third = PUBLIC["two outcomes"].equations("hours")
    assert (third.yy, third.s_yy, third.n) == (None, None, 500)
    published = PUBLIC["AdaSSP"].equations("income")
    assert published.s_xx == PUBLIC["AdaSSP"].blocks[1].sd
    assert published.s_xy == PUBLIC["AdaSSP"].blocks[2].sd


@pytest.mark.parametrize(
    ("name", "target", "features", "error", "words"),
    [
        ("every column", "wealth", None, NotReleasedError, "'wealth' is not declared"),
        ("every column", "(intercept)", None, NotReleasedError, "not declared"),
        ("every column", "income", ["wealth"], DomainError, "'wealth' is not declared"),
        ("every column", "income", ["age", "age"], DomainError, "'age' is named twice"),
        ("every column", "income", ["age", "income"], NotReleasedError, "'income' cannot be outcome and feature"),
        ("every column", "region[south]", ["region"], NotReleasedError, "'region' cannot be outcome and feature"),
        ("every column", "region", None, ParameterError, "name one level"),
        ("every column", "income", "age", ParameterError, r"\['age'\]"),
        ("one outcome", "hours", ["age", "income"], NotReleasedError, "'income' were not.*Released: .*X'y of .*income"),
        (
            "two outcomes",
            "hours",
            ["region"],
            NotReleasedError,
            r"'region\[south\]', 'region\[west\]' were not released",
        ),
        ("two outcomes", "region[west]", None, NotReleasedError, r"'region\[west\]' were not released"),
        ("AdaSSP", "region[north]", None, NotReleasedError, r"'region\[north\]' were not released"),
    ],
)
def test_what_was_not_released_is_named(name, target, features, error, words):
    with pytest.raises(error, match=words):
        PUBLIC[name].fit(target, features)


@pytest.mark.parametrize(("target", "features"), [("age", ["hours", "region"]), ("region[south]", ["age"])])
def test_features_of_a_release_may_be_outcomes_of_each_other(target, features):
    """X'X holds their products."""
    assert PUBLIC["AdaSSP"].fit(target, features).target == target


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "forest"}, "model must be one of 'noise-aware', 'ridge', 'lasso', 'elastic-net', 'ols'"),
        ({"model": "ols", "alpha": 1.0}, "alpha= of a penalty, and model='ols' has none: say which penalty"),
        ({"model": "ols", "penalty": "l1"}, "leave out model='ols'"),
        ({"penalty": "lasso"}, "penalty must be one of 'l1', 'l2', 'elasticnet'"),
        ({"alpha": 1.0, "l1_ratio": 0.3}, "alpha= and l1_ratio= of a penalty.*as penalty='l1', 'l2' or 'elasticnet'"),
        ({"model": "ridge", "alpha": 0}, "alpha must be"),
        ({"model": "lasso", "l1_ratio": 0.5}, "l1_ratio= is of penalty='elasticnet', and model='lasso' has none"),
        ({"model": "elastic-net", "l1_ratio": 1.5}, "l1_ratio must lie between"),
        ({"model": "ridge", "alpha": float("nan")}, "alpha must be"),
    ],
)
def test_wrong_options_of_a_model_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        PUBLIC["every column"].fit("income", **options)


def test_a_statistic_that_is_not_there_is_named():
    assert PUBLIC["AdaSSP"].value("eigenvalue").shape == ()
    with pytest.raises(NotReleasedError, match=r"no 'eigenvalue'\. It holds: X'X\."):
        PUBLIC["every column"].value("eigenvalue")


@pytest.mark.parametrize("X", [[[1.0]], [1.0, 2.0], [["secret", 1.0]], [[1.0, 2.0], [1.0]], np.ones((2, 2, 2))])
def test_results_predict_from_matrices_of_numbers(X):
    fitted = PUBLIC["every column"].fit("income", ["age", "hours"])
    assert fitted.predict([[50, 40]]) == pytest.approx(fitted.intercept + fitted.coef @ [50, 40])
    with pytest.raises(DataError) as caught:
        fitted.predict(X)
    assert "secret" not in str(caught.value)


def test_the_summary_shows_every_coefficient_and_the_promise():
    fitted = PUBLIC["every column"].fit("income", ["age", "region"])
    assert len({fitted, fitted, PUBLIC["every column"].fit("income", ["age", "region"])}) == 2
    table = str(fitted)
    for name, value in fitted.params.items():
        assert f"{name} " in table
        assert number(value) in table
    assert "epsilon = 1, delta = 1e-06, add-remove neighbours, verified" in table
