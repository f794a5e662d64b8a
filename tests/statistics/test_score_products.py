"""Meat of the last stage, which robust standard errors are made of: who gets it, what it costs, and what it says."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from replayed import listed

from discreet import Domain, DPLinearRegression, DPRidge, Moments, PrivateMoments, release
from discreet.core.files import digest
from discreet.data.reading import Table
from discreet.data.stages import score_products
from discreet.errors import NotReleasedError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.privacy import gdp, sensitivity
from discreet.recipes.budget import MOST_STAGES
from discreet.released.certificate import Certificate
from discreet.results.saved import check_saved, load_saved

pytestmark = pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")

DOMAIN = Domain({"a": (-2, 2), "b": (-2, 2), "y": (-8, 8), "z": (-8, 8)})
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "domain": DOMAIN, "n_jobs": 1}
BALL = {"epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "bounds_y": (-8, 8), "fit_intercept": False}
FEATURES = ["a", "b"]


def table(n=4000, seed=0):
    """Residuals of y are larger where a is far from 0."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, n))
    y = a - b + (0.1 + a**2) * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "y": y, "z": b + rng.normal(size=n)})


FRAME = table()


def fitted(estimator=DPLinearRegression, target="y", **given):
    return estimator(**PROMISE | given).fit_source(FRAME, target, FEATURES)


# ---------------------------------------------------------------- who gets it


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("target", ["y", ["y", "z"]])
@pytest.mark.parametrize("stages", range(2, MOST_STAGES + 1))
def test_the_last_stage_has_one_score_products_for_each_outcome(stages, target, neighbors, tmp_path):
    model = fitted(stages=stages, target=target, neighbors=neighbors)
    *before, last = model.release_.stages
    names = [target] if isinstance(target, str) else target
    assert [block.columns for block in last.event.blocks if block.statistic == "meat"] == [(name,) for name in names]
    for name in names:
        assert last.score_products(name).shape == (3, 3)
    for stage in before:
        with pytest.raises(NotReleasedError):
            stage.score_products("y")
    assert listed(model.certificate_.events).count("meat") == 1
    assert gdp.compose(event.mu for event in model.certificate_.events) <= gdp.mu(epsilon=1.0, delta=1e-6)
    model.release_.save(tmp_path / "release.json")
    loaded = PrivateMoments.load(tmp_path / "release.json")
    assert np.array_equal(loaded.stages[-1].score_products("y"), last.score_products("y"))
    assert all(finding.ok for finding in check_saved(load_saved(tmp_path / "release.json")))


@pytest.mark.parametrize(("target", "m"), [("y", 1), (["y", "z"], 2)])
def test_its_share_of_the_last_stage_is_taken_from_all_others_alike(target, m):
    """log10(n mu^2/q) - 1 tenths of it."""
    releases = [fitted(target=target, covariance=own).release_ for own in ("robust", "classical")]
    robust, classical = (released.stages[-1] for released in releases)
    costs = [
        {
            (block.statistic, block.columns): (sensitivity.sensitivity(block, own.event.coordinates) / block.sd) ** 2
            for block in own.event.blocks
        }
        for own in (robust, classical)
    ]
    shares = [{key: cost / sum(own.values()) for key, cost in own.items()} for own in costs]
    held = {key: share for key, share in shares[0].items() if key[0] == "meat"}
    whole = sum(held.values())
    assert list(held.values()) == pytest.approx([whole / m] * m)
    signal = releases[0].geometry.rows * robust.event.mu**2 / len(robust.event.coordinates.axes)
    assert whole == pytest.approx((np.log10(signal) - 1) / 10, rel=1e-4)
    rest = {key: share / (1 - whole) for key, share in shares[0].items() if key not in held}
    if m == 1:
        rest["gram", ()] = rest.pop(("inner", ("y",)))
    assert rest == pytest.approx(shares[1])


def test_classical_leaves_it_out(tmp_path):
    """As files did that are older than it."""
    for model in (fitted(covariance="classical"), fitted(DPRidge, covariance="classical")):
        assert "meat" not in listed(model.certificate_.events)
        with pytest.raises(NotReleasedError):
            model.release_.stages[-1].score_products("y")
        model.release_.save(tmp_path / "release.json", overwrite=True)
        assert all(finding.ok for finding in check_saved(load_saved(tmp_path / "release.json")))


def test_a_mean_has_none():
    few = DPLinearRegression(**PROMISE, rows=30).fit_source(FRAME[:30], "y", FEATURES)
    assert few.release_.mean_alone
    assert "meat" not in listed(few.certificate_.events)


def test_a_release_for_later_models_has_it_too():
    given = {"domain": DOMAIN, "epsilon": 1.0, "delta": 1e-6, "targets": ["y"]}
    for covariance, held in (("auto", True), ("robust", True), ("classical", False)):
        assert ("meat" in listed(release(FRAME, **given, covariance=covariance).certificate.events)) == held


ALONE = {
    "one stage": lambda: fitted(covariance="robust", stages=1),
    "as declared": lambda: fitted(covariance="robust", narrow=False),
    "a stream": lambda: DPLinearRegression(**PROMISE, covariance="robust").fit_source(
        pa.Table.from_pandas(FRAME).to_reader(), "y", FEATURES
    ),
    "moments": lambda: DPLinearRegression(**PROMISE, covariance="robust").fit_moments(
        Moments.from_source(FRAME, DOMAIN), "y", FEATURES
    ),
    "a ball": lambda: DPLinearRegression(**BALL, covariance="robust").fit(FRAME[FEATURES] / 2, FRAME["y"]),
    "a release in one stage": lambda: release(FRAME, **PROMISE, targets=["y"], stages=1, covariance="robust"),
    "a release of all": lambda: release(FRAME, **PROMISE, covariance="robust"),
    "released moments": lambda: release(
        Moments.from_source(FRAME, DOMAIN), epsilon=1.0, delta=1e-6, covariance="robust"
    ),
}


@pytest.mark.parametrize("attempt", ALONE.values(), ids=ALONE)
def test_robust_without_stages_is_refused_before_noise_is_drawn(attempt, no_noise_yet):
    with pytest.raises(ParameterError, match="covariance='classical'"):
        attempt()


@pytest.mark.parametrize("wrong", ["HC3", None, True])
def test_other_covariances_are_refused(wrong, no_noise_yet):
    for attempt in (lambda: fitted(covariance=wrong), lambda: release(FRAME, **PROMISE, covariance=wrong)):
        with pytest.raises(ParameterError, match="covariance"):
            attempt()


def test_rows_in_a_ball_have_it_where_stages_are_asked_for():
    model = DPLinearRegression(**BALL, covariance="robust", stages=2).fit(FRAME[FEATURES] / 2, FRAME["y"])
    assert model.release_.stages[-1].score_products("y").shape == (2, 2)


# ---------------------------------------------------------------- what it says


@pytest.mark.parametrize("target", ["y", ["y", "z"]])
def test_without_noise_it_is_the_sum_over_the_rows(target):
    stage = fitted(target=target, random_state=NO_NOISE, rows=len(FRAME)).release_.stages[-1]
    own, grid = stage.event.coordinates, 2.0**-28 * stage.sd("meat")
    x = np.column_stack([np.ones(len(FRAME)), FRAME["a"] / 2, FRAME["b"] / 2])
    z = x @ own.P.floats
    w = np.minimum(1, own.radius / np.linalg.norm(z, axis=1))[:, None]
    for j, name in enumerate(own.outcomes):
        b = stage.event.widths[j]
        e = np.clip(w * (FRAME[[name]].to_numpy() / 8 - x @ own.theta.floats[:, [j]]), -b, b) / b
        S = w * z / own.radius * e
        assert stage.score_products(name) == pytest.approx(S.T @ S, abs=len(FRAME) * 2.0**-17 + grid)
        assert stage.squares[j] == pytest.approx(float(np.sum(e**2)), rel=1e-4)


def test_it_tells_unequal_variances():
    """The slope of a is uncertain by more than equal variances would have it; the truth is 1.9 times as much."""
    frame = table(100_000)
    model = DPLinearRegression(**PROMISE | {"epsilon": 5.0}, random_state=1).fit_source(frame, "y", FEATURES)
    stage = model.release_.stages[-1]
    P = stage.event.coordinates.P.floats
    inverse = np.linalg.inv(stage.gram)
    sandwich = P @ inverse @ stage.score_products("y") @ inverse @ P.T
    plain = P @ inverse @ P.T * stage.squares[0] / 100_000
    residuals = (frame["y"] - frame["a"] + frame["b"]).to_numpy()
    X = np.column_stack([np.ones(len(frame)), frame[FEATURES]])
    bread = np.linalg.inv(X.T @ X)
    exact = bread @ (X.T * residuals**2) @ X @ bread / (bread * np.mean(residuals**2))
    assert np.diag(sandwich / plain) == pytest.approx(np.diag(exact), rel=0.15)
    assert exact[1, 1] > 1.5


# ---------------------------------------------------------------- forgeries


def lost(body):
    """The score products was never released, it says, and the rest cost as much as it did."""
    stage = body["certificate"]["events"][-1]
    stage["blocks"].pop()
    body["values"].pop()
    return stage


def lost_with_its_cost(body):
    stage = lost(body)
    event = Certificate.from_dict(body["certificate"]).events[-1]
    stage["mu"] = sensitivity.mu(event.blocks, event.coordinates, "add-remove")


def of_an_earlier_stage(body):
    """The second stage has it as well, it says."""
    *_, second, norms, last = body["certificate"]["events"]
    second["blocks"].append(last["blocks"][-1])
    body["values"].insert(-len(last["blocks"]) - len(norms["blocks"]), body["values"][-1])


FORGERIES = {
    lost: "noise on counts of residuals",
    lost_with_its_cost: "the certificate lists counts of residuals, inner U'U, U'e, e'e of a stage",
    of_an_earlier_stage: "noise on counts of residuals",
}


@pytest.fixture(scope="module")
def honest():
    return fitted(stages=3).release_._document()


@pytest.mark.parametrize(("forge", "why"), FORGERIES.items(), ids=[forge.__name__ for forge in FORGERIES])
def test_a_forgery_is_found(forge, why, honest, tmp_path):
    body = json.loads(json.dumps(honest))
    forge(body)
    (tmp_path / "forged.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    wrong = [finding for finding in check_saved(load_saved(tmp_path / "forged.json")) if not finding.ok]
    assert any(why in f"{finding.what} {finding.detail}" for finding in wrong)


def test_sums_of_scores_are_confidential():
    stage = fitted(random_state=0).release_.stages[-1].event
    sums = score_products(Table.of(FRAME, DOMAIN), stage.coordinates, stage.chosen)
    assert repr(sums) == "ScoreProductSums(3 coordinates, 1 outcomes, confidential)"
