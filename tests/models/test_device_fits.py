"""Whole fits on a device: release files are those of numpy, byte for byte; a missing device is told first."""

import sys

import numpy as np
import pytest
from sklearn.base import clone
from small_table import DOMAIN, SCHEMA, people

import discreet
from discreet import (
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    DPRidge,
    Moments,
    release,
)
from discreet.data.device import device as devices
from discreet.errors import ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9000, 3))
ETA = X[:, 0] - X[:, 1]
Y = ETA + RNG.normal(size=len(X))
CLASS, CLASSES = (Y > 0).astype(int), np.digitize(Y, [-1.0, 0.0, 1.0])
COUNTS = np.minimum(RNG.poisson(np.exp(ETA / 2)), 20)
PROMISE = {"epsilon": 3, "delta": 1e-6, "bounds_X": (-3, 3), "random_state": 1}
OUTCOME = {"bounds_y": (-10, 10)}
FITS = {
    "linear": (DPLinearRegression, Y, OUTCOME),
    "linear, one stage": (DPLinearRegression, Y, OUTCOME | {"stages": 1}),
    "linear, three stages": (DPLinearRegression, Y, OUTCOME | {"stages": 3}),
    "linear, two outcomes": (DPLinearRegression, np.column_stack([Y, -Y]), OUTCOME),
    "ridge": (DPRidge, Y, OUTCOME),
    "lasso": (DPLasso, Y, OUTCOME),
    "logistic": (DPLogisticRegression, CLASS, {"classes": [0, 1]}),
    "multinomial": (DPLogisticRegression, CLASSES, {"classes": [0, 1, 2, 3]}),
    "hinge": (DPLinearSVC, CLASS, {"classes": [0, 1]}),
    "counts": (DPPoissonRegression, COUNTS, {"bounds_y": (0, 20)}),
    "one stage of classes": (DPLogisticRegression, CLASS, {"classes": [0, 1], "stages": 1}),
}


def saved(released, folder):
    path = folder / "release.json"
    released.save(path, simulation=True, overwrite=True)
    return path.read_bytes()


@pytest.mark.parametrize("name", FITS)
def test_a_release_has_the_same_bytes(name, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed: fits on a device are not tried")
    from discreet.data.device.arrays import DeviceArray

    estimator, y, options = FITS[name]
    here = estimator(**PROMISE, **options).fit(X, y)
    expected = saved(here.release_, tmp_path)
    held = DeviceArray(torch.tensor(X)), DeviceArray(torch.tensor(y))
    for device, rows in (("cpu", (X, y)), ("cpu", tuple(map(torch.tensor, (X, y)))), ("cpu", held), (None, held)):
        there = clone(estimator(**PROMISE, **options, device=device)).fit(*rows)
        assert saved(there.release_, tmp_path) == expected
        assert there.certificate_ == here.certificate_
        assert np.array_equal(there.predict(rows[0]), here.predict(X))
        assert there.score(*rows) == here.score(X, y)


@pytest.mark.filterwarnings("ignore::discreet.errors.NoIntervalWarning")
@pytest.mark.parametrize("name", ["linear", "multinomial"])
def test_a_wide_table(name, tmp_path):
    """Its steps keep rows here, and read them again on a device."""
    torch = pytest.importorskip("torch", reason="torch is not installed: fits on a device are not tried")
    from discreet.data.device.arrays import DeviceArray

    estimator, y, options = FITS[name]
    wide = np.random.default_rng(1).normal(size=(1200, 600)).astype(np.float32)
    expected = saved(estimator(**PROMISE, **options).fit(wide, y[:1200]).release_, tmp_path)
    there = estimator(**PROMISE, **options, device="cpu").fit(DeviceArray(torch.tensor(wide)), y[:1200])
    assert saved(there.release_, tmp_path) == expected


@pytest.mark.parametrize("unit", ["sample_weight", "person"])
def test_persons_and_weights_of_tensors(unit, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed: fits on a device are not tried")
    from discreet.data.device.arrays import DeviceArray

    given = {"sample_weight": np.linspace(0, 1, len(X)), "person": np.arange(len(X)) // 2}[unit]
    bound = {"sample_weight": {"largest_weight": 1.0}, "person": {"rows_per_person": 2}}[unit]
    options = PROMISE | OUTCOME | bound
    expected = saved(DPLinearRegression(**options).fit(X, Y, **{unit: given}).release_, tmp_path)
    for offer in (torch.tensor, lambda own: DeviceArray(torch.tensor(own))):
        model = DPLinearRegression(**options, device="cpu").fit(offer(X), offer(Y), **{unit: offer(given)})
        assert saved(model.release_, tmp_path) == expected


def test_an_outcome_that_is_a_tensor_beside_a_frame(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed: fits on a device are not tried")
    from discreet.data.device.arrays import DeviceArray

    frame, options = people(900), {"epsilon": 3, "delta": 1e-6, "domain": DOMAIN, "random_state": 1}
    features, y = frame.drop(columns="income"), frame["income"].to_numpy()
    expected = saved(DPLinearRegression(**options).fit(features, y).release_, tmp_path)
    for outcome in (torch.tensor(y), DeviceArray(torch.tensor(y))):
        assert saved(DPLinearRegression(**options, device="cpu").fit(features, outcome).release_, tmp_path) == expected


def test_sources_and_formulas(tmp_path, run):
    pytest.importorskip("torch", reason="torch is not installed: fits on a device are not tried")
    frame = people(9000)
    frame.to_parquet(tmp_path / "people.parquet")
    options = {"epsilon": 3, "delta": 1e-6, "domain": DOMAIN, "random_state": 1}
    asked = "income ~ log(age) + C(region):hours", tmp_path / "people.parquet"
    expected = saved(DPLinearRegression(**options).fit_formula(*asked).release_, tmp_path)
    assert saved(DPLinearRegression(**options, device="cpu").fit_formula(*asked).release_, tmp_path) == expected
    for more in ({"targets": ["income"]}, {}, {"targets": ["income"], "stages": 1}):
        expected = saved(release(frame, **options, **more), tmp_path)
        assert saved(release(frame, **options, **more, device="cpu"), tmp_path) == expected
    (tmp_path / "people.toml").write_text(SCHEMA)
    where = "--schema", "people.toml", "--epsilon", 1, "--delta", 1e-6, "--device", "cpu"
    assert run("fit", "people.parquet", *where, "--target", "income").code == 0
    assert run("release", "people.parquet", *where).code == 0


# ---------------------------------------------------------------- with or without torch


def test_a_missing_package_is_told_before_anything_is_read(monkeypatch, tmp_path, no_noise_yet):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "discreet.data.device.arrays", raising=False)
    monkeypatch.delattr("discreet.data.device.arrays", raising=False)
    budget = discreet.Budget(epsilon=1, delta=1e-6)
    for device in ("cpu", "cuda"):
        for fit in (
            lambda device=device: DPLinearRegression(**PROMISE, **OUTCOME, device=device).fit(X, Y),
            lambda device=device: release((X, Y), domain=DOMAIN, epsilon=1, delta=1e-6, device=device),
            lambda device=device: Moments.from_source(tmp_path / "absent.parquet", DOMAIN, device=device),
        ):
            with budget, pytest.raises(ParameterError, match=r"needs the package torch.*Remedy.*discreet\[gpu\]"):
                fit()
    assert budget.mu_spent == budget.epsilon_spent == 0
    assert devices.as_device("auto") is None


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cpu:0", 0, "mps", ["cuda"]])
def test_unknown_devices_are_refused(device):
    with pytest.raises(ParameterError, match="device must be None, 'auto', 'cpu', 'cuda' or 'cuda:1'"):
        DPLinearRegression(**PROMISE, **OUTCOME, device=device).fit(X, Y)
