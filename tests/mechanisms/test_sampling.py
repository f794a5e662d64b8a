"""Posterior sampling and the other families as estimators: ways to fit, certificates, files, budgets, refusals."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from discreet import (
    OPS,
    AdaOPS,
    Budget,
    BudgetError,
    Domain,
    Moments,
    NoisyGradientDescent,
    NoisySGD,
    OutputPerturbation,
    Results,
    SubsampleAggregate,
)
from discreet.core.placeholders import Unavailable
from discreet.errors import DataError, FileFormatError, GuaranteeError, NotReleasedError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.mechanisms.gradient_descent import release as descent
from discreet.released.certificate import Certificate
from discreet.results.saved import load_certificate

ROWS = 1200
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": RNG.uniform(18, 90, ROWS), "region": RNG.choice(["north", "south", "west"], ROWS)})
FRAME["income"] = 100 * FRAME["age"] + 500 * (FRAME["region"] == "west") + RNG.normal(0, 100, ROWS)
DOMAIN = Domain({"age": (18, 90), "region": ["north", "south", "west"], "income": (0, 10_000)})
X, Y = FRAME[["age", "region"]], FRAME["income"]

FROM_MOMENTS = [OPS, AdaOPS, OutputPerturbation, NoisyGradientDescent]
ALL = [*FROM_MOMENTS, NoisySGD, SubsampleAggregate]
VARIANTS = [
    *((OPS, {"calibration": way}) for way in ("balanced", "diffuse", "concentrated", "conservative")),
    (OPS, {"calibration": "pure", "delta": None, "radius": 2.0}),
    (AdaOPS, {}),
    (AdaOPS, {"variant": "kappa"}),
    *((OutputPerturbation, {"shape": shape}) for shape in ("isotropic", "fisher", "democratic")),
    (NoisyGradientDescent, {}),
    (NoisySGD, {"steps": 10}),
    (SubsampleAggregate, {}),
]
NAMES = ["-".join([cls.__name__, *map(str, options.values())]) for cls, options in VARIANTS]
PUBLISHED = [
    (OPS, {"published": "wang2018"}, "E1"),
    (AdaOPS, {"published": "wang2018"}, "E5"),
    (AdaOPS, {"published": "wang2018-code"}, "E5"),
    (AdaOPS, {"published": "wang2017", "variant": "kappa"}, "E6"),
]


def model(cls, **options):
    return cls(**{"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "rows": 2000, "n_jobs": 1} | options)


@pytest.fixture(scope="module")
def fits():
    return {name: model(cls, **options).fit(X, Y) for name, (cls, options) in zip(NAMES, VARIANTS, strict=True)}


# -------------------------------------------------------------------- what is fitted


@pytest.mark.parametrize("cls", ALL)
def test_all_ways_to_fit_are_the_same_fit(cls, tmp_path):
    path = tmp_path / "people.parquet"
    FRAME.to_parquet(path)
    seeded = {"random_state": 3}
    direct = model(cls, **seeded).fit(X, Y)
    for other in (
        model(cls, **seeded).fit_source(path, "income"),
        model(cls, **seeded).fit_source(FRAME, "income", ["age", "region"]),
        model(cls, **seeded).fit_formula("income ~ age + region", path),
    ):
        assert np.array_equal(other.coef_, direct.coef_)
        assert other.certificate_ == direct.certificate_
        assert other.intercept_ == direct.intercept_
    if cls in FROM_MOMENTS:
        moments = Moments.from_source(FRAME, DOMAIN)
        assert np.array_equal(model(cls, **seeded).fit_moments(moments, "income").coef_, direct.coef_)
    else:
        assert not hasattr(direct, "fit_moments")


@pytest.mark.parametrize(("cls", "options"), VARIANTS, ids=NAMES)
def test_with_much_data_and_much_epsilon_mean_coefficients_are_those_of_least_squares(cls, options):
    rng = np.random.default_rng(1)
    Z = rng.uniform(-1, 1, (20_000, 2))
    y = Z @ [0.5, -0.25] + 0.25
    given = {"epsilon": 10, "delta": 1e-5, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "rows": 20_000}
    if cls is NoisySGD:
        options = {"steps": 64}
    fits = [cls(**given | options, random_state=seed).fit(Z, y) for seed in range(8)]
    errors = [np.r_[found.coef_ - [0.5, -0.25], found.intercept_ - 0.25] for found in fits]
    assert np.abs(np.mean(errors, axis=0)).max() < 0.12


@pytest.mark.parametrize("cls", FROM_MOMENTS[:3])
def test_without_noise_a_sample_is_the_ridge_fit(cls):
    fitted = model(cls, random_state=NO_NOISE).fit(X, Y)
    (event,) = fitted.certificate_.events
    Z = np.column_stack([np.ones(ROWS), (X["age"] - 54) / 36, X["region"] == "south", X["region"] == "west"])
    theta = np.linalg.solve(Z.T @ Z + event.penalty * np.eye(4), Z.T @ ((Y - 5000) / 5000))
    scale = 5000 / np.array([36, 1, 1])
    np.testing.assert_allclose(fitted.coef_, theta[1:] * scale, rtol=1e-3)


# -------------------------------------------------------------------- what is said


@pytest.mark.parametrize("name", NAMES)
def test_certificates_add_up_and_survive_files(name, fits, tmp_path):
    fitted = fits[name]
    certificate = fitted.certificate_
    assert certificate.guarantee.status == "verified"
    assert 0.97 < certificate.epsilon <= 1
    assert all(finding.ok for finding in certificate.check())
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate
    fitted.release_.save(tmp_path / "release.json")
    loaded = Results.load(tmp_path / "release.json")
    assert loaded.coefficients == fitted.release_.results().coefficients == fitted.results_.coefficients
    assert load_certificate(tmp_path / "release.json") == certificate
    assert certificate.events[0].name in certificate.words()
    assert ("In floating point" in certificate.words()) != certificate.events[0].exact
    fitted.results_.save(tmp_path / "results.json")
    assert Results.load(tmp_path / "results.json").inference == fitted.results_.inference


@pytest.mark.parametrize("name", NAMES)
def test_there_is_no_inference_and_a_reason_why(name, fits):
    results = fits[name].results_
    assert isinstance(results.std_err, Unavailable)
    assert "DPLinearRegression gives standard errors" in str(results.summary()).replace("\n", " ")
    with pytest.raises(NotReleasedError, match="DPLinearRegression"):
        float(results.conf_int())
    np.testing.assert_allclose(results.predict(X), fits[name].predict(X))


@pytest.mark.parametrize("name", NAMES)
def test_certificates_that_were_tampered_with_fail(name, fits):
    certificate = fits[name].certificate_
    (event,) = certificate.events
    for changed in (replace(event, norm=event.norm / 2), replace(event, neighbors="replace-one")):
        assert not all(f.ok for f in replace(certificate, events=(changed,)).check())
    factors = {"gamma": 2.0, "sd": 0.5, "step_mu": 2.0}
    noise = next(fact for fact in factors if hasattr(event, fact))
    less = replace(event, **{noise: factors[noise] * getattr(event, noise)})
    assert not all(f.ok for f in replace(certificate, events=(less,)).check())
    facts = certificate.to_dict()
    for wrong in ({noise: -1.0}, {noise: math.inf}, {"design": []}, {"neighbors": "some"}, {"target": "x"}):
        bad = facts | {"events": [facts["events"][0] | wrong]}
        with pytest.raises(FileFormatError):
            Certificate.from_dict(bad)


@pytest.mark.parametrize(("cls", "options", "erratum"), PUBLISHED)
def test_published_constants_are_claimed_with_their_erratum(cls, options, erratum):
    fitted = model(cls, **options).fit(X, Y)
    guarantee = fitted.certificate_.guarantee
    assert guarantee.status == "claimed"
    assert erratum in guarantee.reason
    assert fitted.certificate_.method.endswith(f"as published in {options['published']}")
    assert Certificate.from_dict(fitted.certificate_.to_dict()) == fitted.certificate_
    if cls is OPS:
        assert 0 < fitted.certificate_.epsilon < 1
    else:
        assert fitted.certificate_.epsilon == math.inf
        assert "does not bound epsilon" in fitted.certificate_.words()


@pytest.mark.parametrize(("cls", "options"), VARIANTS, ids=NAMES)
def test_replace_one_neighbours_need_more_noise(cls, options):
    fitted = model(cls, neighbors="replace-one", **options).fit(X, Y)
    assert all(finding.ok for finding in fitted.certificate_.check())
    assert 0.97 < fitted.certificate_.epsilon <= 1


# -------------------------------------------------------------------- budgets


def test_budgets_count_gaussian_methods_exactly_and_add_up_the_others():
    with Budget(epsilon=1, delta=1e-6) as budget:
        model(NoisyGradientDescent, epsilon=0.5).fit(X, Y)
        model(SubsampleAggregate, epsilon=0.5).fit(X, Y)
    assert 0.69 < budget.epsilon_spent < 0.75
    with Budget(epsilon=1, delta=1e-5) as budget:
        for cls in (OPS, AdaOPS, OutputPerturbation):
            model(cls, epsilon=0.3).fit(X, Y)
        with pytest.raises(BudgetError, match="exceed"):
            model(OPS, epsilon=0.3).fit(X, Y)
    assert budget.epsilon_spent == pytest.approx(0.9)
    with Budget(epsilon=10, delta=1e-3, adding=True), pytest.raises(BudgetError):
        model(AdaOPS, published="wang2018").fit(X, Y)


def test_a_simulation_is_not_saved(tmp_path):
    fitted = model(OPS, random_state=0).fit(X, Y)
    with pytest.raises(GuaranteeError):
        fitted.release_.save(tmp_path / "release.json")
    fitted.release_.save(tmp_path / "release.json", simulation=True)


# -------------------------------------------------------------------- what is refused

BAD = [
    (OPS, {"rows": None, "delta": 1e-6}, "needs rows="),
    (OPS, {"calibration": "exact"}, "calibration must be one of"),
    (OPS, {"calibration": "pure"}, "Leave delta out"),
    (OPS, {"calibration": "pure", "delta": None, "radius": -1.0}, "radius must be"),
    (OPS, {"calibration": "pure", "delta": None, "published": "wang2018"}, "no pure epsilon"),
    (OPS, {"calibration": "pure", "delta": None, "radius": 1e160}, "radius must lie"),
    (OPS, {"radius": 1.0}, "belongs to calibration='pure'"),
    (OPS, {"published": "wang2017"}, "published must be one of"),
    (OPS, {"published": "wang2018", "neighbors": "replace-one"}, "add-remove"),
    (AdaOPS, {"variant": "wang2017"}, "variant must be one of"),
    (AdaOPS, {"kappa": 2.0}, "variant="),
    (AdaOPS, {"variant": "kappa", "rows": None}, "needs rows="),
    (AdaOPS, {"variant": "kappa", "kappa": -1.0}, "kappa must be"),
    (AdaOPS, {"variant": "kappa", "kappa": 1e6}, "Take a smaller kappa"),
    (AdaOPS, {"published": "wang2017"}, "variant="),
    (AdaOPS, {"published": "wang2018-code", "rows": None}, "needs rows="),
    (OutputPerturbation, {"shape": "round"}, "shape must be one of"),
    (OutputPerturbation, {"rows": None}, "needs rows="),
    (NoisyGradientDescent, {"steps": 0}, "steps must be"),
    (NoisyGradientDescent, {"time": 0}, "time must be"),
    (NoisyGradientDescent, {"rows": None}, "needs rows="),
    (NoisySGD, {"rate": 2}, "rate must lie"),
    (NoisySGD, {"clip": 0}, "clip must be"),
    (NoisySGD, {"delta": 1e-13}, "delta must be at least"),
    (SubsampleAggregate, {"blocks": 0}, "blocks must be"),
    (SubsampleAggregate, {"rows": None}, "rows= or blocks="),
    (SubsampleAggregate, {"radius": 0}, "radius must be"),
]


@pytest.mark.parametrize(("cls", "options", "words"), BAD)
def test_bad_parameters_are_refused_before_anything_is_spent(cls, options, words):
    with Budget(epsilon=1, delta=1e-3) as budget, pytest.raises(ParameterError, match=words):
        model(cls, **options).fit(X, Y)
    assert budget.epsilon_spent == 0


def test_what_the_tables_say_is_refused_without_quoting_it():
    with pytest.raises(DataError, match="more rows than") as caught:
        model(OPS, rows=ROWS - 1).fit(X, Y)
    assert str(ROWS) not in str(caught.value)
    for cls in (NoisySGD, SubsampleAggregate):
        with pytest.raises(ParameterError, match="category"):
            model(cls).fit_source(FRAME, "region[west]")
    for cls in ALL:
        with pytest.raises(DataError, match="no row"):
            model(cls).fit(X.iloc[:0], Y.iloc[:0])


@pytest.mark.parametrize("radius", [2.0**-10, 1.0, 1000.0, 2.0**20])
def test_gradients_of_descent_are_exact(radius):
    rng = np.random.default_rng(4)
    d, most = 51, int(radius * 2**16) + 1
    S = rng.integers(-(2**40), 2**40, (d, d)).astype(object) * (1 << rng.integers(0, 40, (d, d)).astype(object))
    bits = descent.limb_bits(radius, d)
    limbs = descent._limbs(S, bits)
    for whole in (rng.integers(-most, most + 1, d), np.full(d, most), np.full(d, -most)):
        exact = [sum(int(a) * int(b) for a, b in zip(row, whole, strict=True)) for row in S]
        assert descent._product(limbs, bits, whole).tolist() == exact
        worst = sum(abs(int(a)) for a in whole) * 2**bits
        assert worst < 2**63
