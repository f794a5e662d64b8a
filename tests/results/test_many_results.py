"""Results for many outcomes: the numbers of single fits, adjusted p-values, tables, pictures, files."""

import json
import pickle

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import Domain, Moments, Results, ReuseCov, release
from discreet.core.placeholders import Unavailable
from discreet.errors import DiscreetWarning, FileFormatError, NotReleasedError, ParameterError
from discreet.released.equations import normal_equations
from discreet.results.marginal_inference import infer_many
from discreet.results.numbers import adjust

mpl.use("Agg")

N, L = 20_000, 12
RNG = np.random.default_rng(1)
TABLE = {
    "age": RNG.uniform(20, 60, N),
    "region": RNG.choice(["n", "s", "w"], N),
    "score": RNG.uniform(-1, 1, N),
}
EFFECT = RNG.uniform(-0.02, 0.02, L) * (np.arange(L) < 6)
TABLE |= {f"t{j}": np.clip(EFFECT[j] * (TABLE["age"] - 40) + 0.3 * RNG.standard_normal(N), -2, 2) for j in range(L)}
NAMES = [f"t{j}" for j in range(L)]
DOMAIN = Domain(
    {"age": (20, 60), "region": ["n", "s", "w"], "score": (-1, 1)} | {n: (-2, 2 + i) for i, n in enumerate(NAMES)}
)


@pytest.fixture(scope="module")
def public():
    import pyarrow as pa

    moments = Moments.from_source(pa.table(TABLE), DOMAIN, targets=NAMES)
    with pytest.warns(match="promises little"):
        return release(moments, epsilon=20, delta=1e-6, rows=N)


@pytest.fixture(scope="module")
def fitted(public):
    return public.fit_many()


def test_every_number_is_that_of_a_single_fit(public, fitted):
    """Categories make entries of X'X known, so the general formula is used."""
    pairs = fitted.conf_int(0.9)
    for j, name in enumerate(NAMES):
        one = public.fit(name)
        assert list(one.coefficients) == list(fitted.parameters)
        np.testing.assert_allclose(fitted.params[j], list(one.params), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(fitted.debiased[j], list(one.debiased), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(fitted.std_err[j], list(one.std_err), rtol=1e-8)
        np.testing.assert_allclose(fitted.privacy_noise[j], list(one.privacy_noise), rtol=1e-8)
        np.testing.assert_allclose(fitted.pvalues[j], list(one.pvalues), atol=2e-3)
        near = 0.02 * fitted.std_err[j][:, None]
        assert np.all(np.abs(pairs[j] - one.conf_int(0.9).to_numpy().tolist()) < near)
        assert fitted.inference.sigma[j] == pytest.approx(one.inference.sigma, rel=1e-9)


def test_intervals_hold_the_truth(fitted):
    low, high = fitted.conf_int(1 - 1e-10)[:, 1, :].T
    assert np.all((low <= EFFECT) & (high >= EFFECT))


def test_adjusted_p_values():
    p = np.random.default_rng(0).uniform(0, 1, 200) ** 3
    order = np.sort(p)
    holm = adjust(p, "holm")
    wanted = [min(1.0, max((200 - i) * order[i] for i in range(k + 1))) for k in range(200)]
    np.testing.assert_allclose(np.sort(holm), wanted)
    np.testing.assert_allclose(adjust(p, "fdr"), stats.false_discovery_control(p))
    assert np.all(holm >= adjust(p, "fdr"))
    assert np.all(adjust(p, "fdr") >= p)


def test_only_coefficients_are_tested(fitted):
    holm = fitted.adjusted()
    assert np.isnan(holm[:, 0]).all()
    np.testing.assert_allclose(holm[:, 1:].ravel(), adjust(fitted.pvalues[:, 1:].ravel(), "holm"))
    found = {fitted.targets[j] for j, i in np.argwhere(holm < 0.05)}
    assert found >= {NAMES[j] for j in range(L) if abs(EFFECT[j]) > 0.005}
    assert np.nanmin(holm[6:]) > 1e-9  # the chance that noise makes one smaller is at most that
    with pytest.raises(ParameterError, match="method"):
        fitted.adjusted("bonferroni")


def test_a_long_table(fitted):
    frame = fitted.to_frame(0.9)
    assert len(frame) == L * 5
    assert frame["outcome"].tolist() == [name for name in NAMES for _ in range(5)]
    row = frame[(frame["outcome"] == "t3") & (frame["name"] == "age")].iloc[0]
    assert row["estimate"] == fitted.params[3, 1] == fitted.debiased[3, 1]
    assert row["coef"] == fitted.coef[3, 0]
    assert row["low"] == fitted.conf_int(0.9)[3, 1, 0]
    assert row["p_holm"] == fitted.adjusted()[3, 1]
    assert frame[frame["name"] == "(intercept)"]["p_fdr"].isna().all()


def test_the_summary_says_what_many_tests_mean(fitted):
    text = str(fitted.summary(most=3))
    assert "12, on 4 regressors" in text
    assert "epsilon = 20" in text
    assert "about 2.4 of these 48 tests would still have P>|t| below 0.05." in " ".join(text.split())
    assert "20,000, declared" in text
    assert len(fitted.summary(most=3).rows) == 3
    strongest = fitted.summary(most=1).rows[0]
    assert strongest[1] == "age"
    assert "<table" in fitted._repr_html_()
    with pytest.raises(ParameterError, match="most"):
        fitted.summary(most=0)


@pytest.mark.parametrize("values", ["z", "estimate", "coef"])
def test_heat_maps(fitted, values):
    ax = fitted.heatmap(values)
    assert ax.get_images()[0].get_array().shape == (L, 4)
    assert [label.get_text() for label in ax.get_yticklabels()] == NAMES
    mpl.pyplot.close(ax.figure)
    with pytest.raises(ParameterError, match="values"):
        fitted.heatmap("p")


def test_matplotlib_is_imported_when_used():
    import subprocess
    import sys

    code = "import sys, discreet, discreet.results.outcomes; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_predictions(fitted):
    frame = {name: TABLE[name][:5].tolist() for name in ("age", "region", "score")}
    predicted = fitted.predict(frame)
    assert predicted.shape == (5, L)
    z = [TABLE["age"][0], TABLE["region"][0] == "s", TABLE["region"][0] == "w", TABLE["score"][0]]
    np.testing.assert_allclose(predicted[0], fitted.intercept + fitted.coef @ np.array(z, dtype=float))


def test_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "m.json")
    loaded = Results.load(tmp_path / "m.json")
    for part in ("coef", "intercept", "debiased", "std_err", "privacy_noise"):
        assert np.array_equal(getattr(loaded, part), getattr(fitted, part))
    assert (loaded.targets, loaded.names, loaded.certificate) == (fitted.targets, fitted.names, fitted.certificate)
    assert str(loaded) == str(fitted)
    facts = json.loads(json.dumps(loaded.to_dict()))
    assert facts["outcomes"]["t3"]["params"]["age"] == fitted.params[3, 1]
    assert facts["outcomes"]["t3"]["p_holm"]["(intercept)"] is None


@pytest.mark.parametrize("change", [{"targets": ["t0"]}, {"coef": [[1.0]]}, {"inference": {}}, {"rows": "many"}])
def test_damaged_files(fitted, change, tmp_path):
    from discreet.core.files import write_document

    path = tmp_path / "m.json"
    fitted.save(path)
    body = json.loads(path.read_text())
    body.pop("sha256")
    write_document(path, body | change)
    with pytest.raises(FileFormatError, match="do not fit"):
        Results.load(path)


def test_what_is_not_available_says_why():
    X = np.random.default_rng(0).uniform(0, 1, (200, 2))
    Y = X @ np.ones((2, 3))
    noisy = ReuseCov(epsilon=0.1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2), random_state=0).fit(X, Y).results_
    assert isinstance(noisy.std_err, Unavailable)
    assert isinstance(noisy.adjusted(), Unavailable)
    assert noisy.to_frame()["std_err"].isna().all()
    assert "not available" in str(noisy)
    assert noisy.to_dict()["outcomes"]["y0"]["std_err"].keys() == {"not available"}
    with pytest.raises(NotReleasedError, match="noise of X'X"):
        noisy.heatmap()


def test_outcomes_are_never_features(public):
    e = normal_equations(public, ["t0", "t1"])
    assert e.names == ("(intercept)", "age", "region[s]", "region[w]", "score")
    with pytest.raises(NotReleasedError, match="outcome and feature"):
        normal_equations(public, ["t0", "t1"], ["age", "t1"])
    with pytest.raises(ParameterError, match="list"):
        normal_equations(public, "t0")


def test_standard_errors_are_found_when_they_are_asked_for(public, monkeypatch):
    found = []
    monkeypatch.setattr("discreet.results.results.infer_many", lambda *given: found.append(1) or infer_many(*given))
    fitted = public.fit_many()
    assert not found
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.std_err, fitted.std_err)
    assert again.release == public.digest
    assert found == [1]


def test_one_class_holds_one_outcome_or_several(public, fitted):
    one, listed = public.fit("t3"), public.fit_many(["t3"])
    assert type(one) is type(fitted) is type(listed) is Results
    assert (one.several, listed.several, fitted.several) == (False, True, True)
    assert (one.coef.shape, listed.coef.shape, fitted.coef.shape) == ((4,), (1, 4), (L, 4))
    assert one.targets == listed.targets == ("t3",)
    assert set(dir(one)) == set(dir(fitted))
    assert fitted.coefficients["t3: age"] == fitted.params[3, 1]
    assert fitted.known("std_err")["t3: age"] == fitted.std_err[3, 1]
    assert one.adjusted().index.tolist() == list(one.coefficients)
    np.testing.assert_allclose(fitted.residual_sd, [public.fit(name).residual_sd for name in NAMES], rtol=1e-9)
    assert one.heatmap().get_images()[0].get_array().shape == (1, 4)
    mpl.pyplot.close()
    assert fitted.unit("t3", "age") == fitted.unit("t3: age") == one.unit("age")


def test_numbers_for_one_outcome_say_so_of_several(fitted, tmp_path):
    for number in (fitted.cov_params(), fitted.t_test("t3: age = 0"), fitted.rsquared, fitted.effects()):
        assert isinstance(number, Unavailable)
        assert "by itself" in number.reason
    for asked in (fitted.plot, fitted.plot_curves, lambda: fitted.save_report(tmp_path / "r.html")):
        with pytest.raises(ParameterError, match="by itself"):
            asked()
    with pytest.raises(ParameterError, match="two fitted models"):
        discreet.compare(fitted, fitted)


def test_the_old_name_leads_to_the_new_one():
    with pytest.warns(DiscreetWarning, match="now discreet.Results"):
        assert discreet.ManyResults is Results
