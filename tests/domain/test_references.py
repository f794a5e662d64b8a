"""A released category compared with another level than its first: the same line, in other coefficients."""

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLinearRegression, Moments, Results, compare, formula, release
from discreet.domain.levels import recoding
from discreet.errors import NotReleasedError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.results.effects import Setting, Variables
from discreet.results.saved import check_saved

SPECS = {"n": (0, 4), "m": (-1, 2), "a": ["x", "y"], "b": ["u", "v", "w"], "c": [1, 2, 3, 4], "y": (-10, 10)}
DOMAIN = Domain(SPECS)

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")


def table(rows=3000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.uniform(0, 4, rows), "m": rng.uniform(-1, 2, rows)})
    for name in "abc":
        frame[name] = rng.choice(SPECS[name], rows)
    line = frame.n + (frame.b == "v") - 2 * (frame.b == "w") * frame.n + (frame.a == "y") * (frame.b == "u")
    return frame.assign(y=line + rng.normal(0, 1, rows))


def places(domain, names, rows=200):
    """Random places of all variables, a row each."""
    rng, found = np.random.default_rng(1), Variables(domain, tuple(names))
    numbers = {k: rng.uniform(s.low, s.high, rows) for k, s in found.specs.items() if s.bounds}
    codes = {k: s.levels for k, s in found.specs.items() if s.levels}
    drawn = {k: rng.choice([str(level) for level in sorted(levels, key=str)], rows) for k, levels in codes.items()}
    shares = {k: np.array([[x == str(level) for level in codes[k]] for x in drawn[k]], dtype=float) for k in codes}
    return found.regressors(Setting(numbers | shares))


@pytest.mark.parametrize(
    ("plain", "recoded"),
    [
        ("y ~ b", 'y ~ C(b, Treatment("w"))'),
        ("y ~ n + b + c", 'y ~ n + C(b, Treatment("v")) + C(c, Treatment("3"))'),
        ("y ~ n*b", 'y ~ n*C(b, Treatment("w"))'),
        ("y ~ n:b + m^2:b", 'y ~ n:C(b, Treatment("w")) + m^2:b'),
        ("y ~ a*b*n", 'y ~ C(a, Treatment("y"))*C(b, Treatment("w"))*n'),
        ("y ~ a:b + log1p(n):b", 'y ~ a:C(b, Treatment("v")) + log1p(n):b'),
        ("y ~ a:b:c", 'y ~ C(a, Treatment("y")):b:C(c, Treatment("4"))'),
    ],
)
def test_both_codings_are_one_line(plain, recoded):
    old, new = formula(plain, DOMAIN), formula(recoded, DOMAIN)
    x, x_new = old.domain.design_names(old.features), new.domain.design_names(new.features)
    R = recoding(old.domain, new.domain, old.features)
    assert R.shape == (len(x), len(x))
    A, B = places(old.domain, x[1:]), places(new.domain, x_new[1:])
    np.testing.assert_allclose(A, B @ R.T, atol=1e-9)


def exact(text, frame, domain=DOMAIN, fit=None, model="ols"):
    asked = formula(text, domain)
    moments = Moments.from_source(frame, asked.domain)
    promise = {"epsilon": 1e5, "delta": 1e-6, "random_state": NO_NOISE, "rows": len(frame)}
    return release(moments, targets=[asked.target], **promise).fit(fit or text, model=model)


def test_a_release_is_refitted_against_another_level():
    frame = table()
    recoded = 'y ~ n*C(b, Treatment("w")) + a'
    again = exact("y ~ n*b + a", frame, fit=recoded)
    own = exact(recoded, frame)
    assert list(again.coefficients) == list(own.coefficients)
    np.testing.assert_allclose(again.params, own.params, atol=1e-2)
    np.testing.assert_allclose(again.conf_int(), own.conf_int(), atol=1e-2)
    rows = frame.drop(columns="y").head(5)
    np.testing.assert_allclose(again.predict(rows), exact("y ~ n*b + a", frame).predict(rows), rtol=1e-9)
    assert [name for name in again.effects().names if name.startswith("b")] == ["b[u]", "b[v]"]
    plain = exact("y ~ n*b + a", frame)
    assert again.wald_test("b").statistic == pytest.approx(plain.wald_test("b").statistic, rel=1e-4)


def test_stages_and_saved_models(tmp_path):
    model = DPLinearRegression(epsilon=2, delta=1e-6, domain=DOMAIN).fit_formula("y ~ n + b", table())
    recoded = model.release_.fit('y ~ n + C(b, Treatment("v"))')
    plain = model.release_.fit("y ~ n + b")
    assert list(recoded.coefficients) == ["(intercept)", "n", "b[u]", "b[w]"]
    assert recoded.debiased["b[u]"] == pytest.approx(-plain.debiased["b[v]"])
    assert sorted(-recoded.conf_int().loc["b[u]"]) == pytest.approx(list(plain.conf_int().loc["b[v]"]), rel=1e-5)
    difference = plain.t_test("b[w] - b[v]")
    np.testing.assert_allclose(recoded.conf_int().loc["b[w]"], difference.conf_int().iloc[0], rtol=1e-6)
    recoded.save(tmp_path / "m.json")
    loaded = Results.load(tmp_path / "m.json")
    assert loaded.coefficients == recoded.coefficients
    assert all(finding.ok for finding in check_saved(loaded))
    assert compare(plain, recoded).shared == ("(intercept)", "n")
    assert recoded.effects().names[1:] == ("b[u]", "b[w]")


def test_what_cannot_be_rotated_is_refused():
    frame = table(500)
    recoded = 'y ~ n + C(b, Treatment("v"))'
    with pytest.raises(ParameterError, match="Fit it anew"):
        exact("y ~ n + b", frame, fit="y ~ n + b", model="lasso").against(formula(recoded, Domain(SPECS)))
    bare = Domain(SPECS, intercept=False)
    with pytest.raises(NotReleasedError, match="Without an intercept"):
        exact("y ~ n + b", frame, bare, fit=recoded)
