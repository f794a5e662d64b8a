"""Losses of models of classes and counts that are fitted in steps: against leaving rows out, and persons."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit
from typer.testing import CliRunner

from discreet import Domain, DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.audit.laws import ReleaseDensity
from discreet.cli import app
from discreet.domain import LATTICE_BITS
from discreet.domain.unit import WEIGHT_BITS
from discreet.families.coordinates import ModelCoordinates
from discreet.per_instance import curves, household, losses
from discreet.privacy.events.coordinates import StageEvent

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
PROMISE = {"epsilon": 2.0, "delta": 1e-5, "random_state": 3}
MODELS = {
    "logistic": (DPLogisticRegression, [0, 1]),
    "hinge": (DPLinearSVC, [0, 1]),
    "counts": (DPPoissonRegression, (0, 8)),
    "three classes": (DPLogisticRegression, [0, 1, 2]),
}
SANDWICH = {"cross", "information", "meat"}
AT_MODEL = {"logistic": SANDWICH, "counts": SANDWICH, "three classes": {"cross", "pair information"}}
FEW = 8


def table(rng, column, n=600):
    frame = pd.DataFrame({"x": rng.uniform(-1.1, 1.1, n), "g": rng.choice(["a", "b"], n)})
    eta = 1.2 * frame["x"] - 0.4 * (frame["g"] == "a")
    if isinstance(column, tuple):
        frame["y"] = rng.poisson(np.exp(eta)).clip(0, 9)
    else:
        frame["y"] = (rng.random(n) < expit(eta)) + (len(column) > 2) * (rng.random(n) < 0.3)
    return frame


def fitted(name, unit=None, **options):
    cls, column = MODELS[name]
    domain = Domain({"x": (-1, 1), "g": ["a", "b"], "y": column}, **unit or {})
    return domain, cls(**PROMISE | options, domain=domain)


def change(certificate, one, other):
    """The squared change of all released statistics between two tables, in units of their noise."""
    total, bits = 0.0, 2 * LATTICE_BITS + (0 if certificate.domain.unit.plain else WEIGHT_BITS)
    for event in certificate.events:
        both = []
        for frame in (one, other):
            law = ReleaseDensity(pa.Table.from_pandas(frame, preserve_index=False))
            staged = isinstance(event, StageEvent)
            both.append(law.stage_sums(event, certificate.domain) if staged else law.sums(event, certificate))
        for block, a, b in zip(event.blocks, *both, strict=True):
            for p, q, sd in zip(a, b, block.sds, strict=True):
                moved = np.ldexp((np.ravel(p) - np.ravel(q)).astype(float), -bits) / sd
                total += float(moved @ moved)
    return total


def stages_at_models(certificate):
    return [event for event in certificate.of(StageEvent) if isinstance(event.coordinates, ModelCoordinates)]


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_losses_of_rows_are_those_of_leaving_them_out(name, stages):
    rng = np.random.default_rng(0)
    frame = table(rng, MODELS[name][1])
    _, model = fitted(name, stages=stages)
    certificate = model.fit_source(frame, "y").certificate_
    kinds = {block.statistic for event in stages_at_models(certificate) for block in event.blocks}
    assert kinds >= AT_MODEL.get(name, {"cross"})
    found = losses(frame, model)
    assert found.exact
    costs = sum(one.values for one in found.measured)
    for i in rng.integers(0, len(frame), FEW):
        assert costs[i] == pytest.approx(change(certificate, frame, frame.drop(index=i)), rel=1e-9)
    assert found.epsilon().max() <= PROMISE["epsilon"]
    target = table(rng, MODELS[name][1], 3)
    added = sum(one.values for one in losses(frame, model, targets=target).measured)
    for i in range(3):
        more = pd.concat([frame, target.iloc[[i]]])
        assert added[i] == pytest.approx(change(certificate, more, frame), rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_replaced_rows(name):
    rng = np.random.default_rng(1)
    frame = table(rng, MODELS[name][1], 300)
    _, model = fitted(name, neighbors="replace-one", rows=300)
    certificate = model.fit_source(frame, "y").certificate_
    other = table(rng, MODELS[name][1], 1)
    given = sum(one.values for one in losses(frame, model, replacement=other).measured)
    worst = sum(one.values for one in losses(frame, model).measured)
    for i in range(FEW):
        exact = change(certificate, frame, pd.concat([frame.drop(index=i), other]))
        assert given[i] == pytest.approx(exact, rel=1e-9)
        assert worst[i] >= exact * (1 - 1e-9)


@pytest.mark.parametrize("name", ["logistic", "counts"])
def test_rows_that_were_dropped_cost_nothing_but_their_place_in_the_counts(name):
    rng = np.random.default_rng(2)
    frame = table(rng, MODELS[name][1])
    frame.loc[5, "x"] = np.nan
    _, model = fitted(name, {"missing": "drop"})
    certificate = model.fit_source(frame, "y").certificate_
    costs = sum(one.values for one in losses(frame, model).measured)
    assert (costs[5] == 0) == (name == "logistic")
    for i in (4, 5):
        assert costs[i] == pytest.approx(change(certificate, frame, frame.drop(index=i)), rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_losses_of_groups(name):
    frame = table(np.random.default_rng(3), MODELS[name][1])
    _, model = fitted(name)
    certificate = model.fit_source(frame, "y").certificate_
    alone = losses(frame, model)
    members = frame.iloc[:3]
    together = household(members, model)
    assert together >= alone.epsilon()[:3].max() * (1 - 1e-9)
    exact = curves.epsilon(np.sqrt(change(certificate, frame, frame.iloc[3:])), certificate.guarantee.delta)
    assert together == pytest.approx(float(exact), rel=1e-6)


def test_the_command_line_tells_losses_of_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(np.random.default_rng(5), [0, 1]).assign(id=np.arange(600) // 2).to_parquet("t.parquet")
    (tmp_path / "s.toml").write_text("[columns]\nx = { low = -1, high = 1 }\ny = { levels = [0, 1] }\n")
    (tmp_path / "p.toml").write_text('person = "id"\nrows_per_person = 2\n' + (tmp_path / "s.toml").read_text())
    for schema, rows in (("s.toml", 600), ("p.toml", 300)):
        promise = ["--schema", schema, "--epsilon", "2", "--delta", "1e-5", "--target", "y"]
        options = ["--method", "DPLogisticRegression", "-o", f"{schema}.json"]
        for asked in (
            ["fit", "t.parquet", *promise, *options],
            ["pdp", "t.parquet", "--release", f"{schema}.json", "-o", f"{schema}.parquet"],
        ):
            done = CliRunner().invoke(app, asked)
            assert done.exit_code == 0, done.output
        found = pd.read_parquet(f"{schema}.parquet")
        assert len(found) == rows


UNITS = {
    "persons": {"person": "id", "rows_per_person": 3},
    "weights": {"weights": "w", "largest_weight": 4.0},
    "both": {"person": "id", "rows_per_person": 3, "weights": "w", "largest_weight": 4.0},
}


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", ["logistic", "hinge", "counts"])
def test_losses_of_persons_and_of_weighted_rows(name, unit, missing):
    rng = np.random.default_rng(4)
    frame = table(rng, MODELS[name][1]).assign(w=rng.uniform(0, 5, 600), id=rng.integers(0, 250, 600))
    frame = frame.drop(columns=[column for column in ("id", "w") if column not in UNITS[unit].values()])
    if missing == "drop":
        frame.loc[::7, "x"] = np.nan
    _, model = fitted(name, UNITS[unit] | {"missing": missing})
    certificate = model.fit_source(frame, "y").certificate_
    found = losses(frame, model)
    assert found.exact
    costs = sum(one.values for one in found.measured)
    who = frame["id"].astype(str) if "id" in frame else pd.Series(map(str, range(600)))
    for i, one in enumerate(found.names[:FEW] if found.names else map(str, range(FEW))):
        assert costs[i] == pytest.approx(change(certificate, frame, frame[who != one]), rel=1e-6, abs=1e-12)
    assert found.epsilon().max() <= PROMISE["epsilon"]
