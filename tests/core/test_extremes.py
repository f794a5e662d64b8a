"""Numbers that no float holds, texts that no parser likes: a clear error, from Python and the command line."""

import numpy as np
import pytest
from small_table import people

from discreet import Domain, DPLinearRegression, DPLogisticRegression, Moments, release
from discreet.core import checks
from discreet.core.files import read_json
from discreet.domain.kinds.numeric import Numeric
from discreet.errors import DomainError, FileFormatError, ParameterError

HUGE = [10**400, 10**5000, -(10**400)]
X, Y = np.zeros((20, 1)), np.zeros(20)


@pytest.mark.parametrize("huge", HUGE, ids=["10^400", "10^5000", "-10^400"])
@pytest.mark.parametrize("name", ["epsilon", "delta", "rows", "n_jobs", "data_norm"])
def test_parameters(name, huge):
    given = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, 1), "bounds_y": (0, 1)} | {name: huge}
    with pytest.raises((ParameterError, DomainError), match=name) as caught:
        DPLinearRegression(**given).fit(X, Y)
    assert len(str(caught.value)) < 500
    with pytest.raises((ParameterError, DomainError), match=name):
        DPLogisticRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), classes=[0, 1]).set_params(**{name: huge}).fit(
            X, Y
        )


@pytest.mark.parametrize("huge", HUGE[:2], ids=["10^400", "10^5000"])
def test_bounds(huge):
    for make in (
        lambda: Domain({"a": (0, huge)}),
        lambda: Domain({"a": {"low": 0, "high": huge}}),
        lambda: Domain.from_bounds(["a"], bounds_X=(0, huge)),
        lambda: Numeric(0, huge),
        lambda: Domain({"a": [0, huge]}),
        lambda: Domain({"a": Numeric(0, 1e300, date=True)}),
    ):
        with pytest.raises(DomainError):
            make()


def test_a_thousand_million_threads():
    moments = Moments.from_source((X, Y), Domain.from_bounds(["a"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1)), n_jobs=2)
    with pytest.raises(ParameterError, match="n_jobs"):
        Moments.from_source((X, Y), moments.domain, n_jobs=10**9)
    with pytest.raises(ParameterError, match="rows"):
        release(moments, epsilon=1, rows=2**53 + 1)


SCHEMAS = {
    "10^400": f"[columns]\na = {{ low = 0, high = {10**400} }}",
    "5,000 digits": f"[columns]\na = {{ low = 0, high = {'1' * 5000} }}",
    "nested": "[columns]\na = " + "[" * 5000 + "]" * 5000,
    "nested tables": "[columns]\na = " + "{a = " * 5000 + "1" + "}" * 5000,
    "no such date": "[columns]\na = { low = 2024-02-30, high = 2025-01-01 }",
}
JSON = {
    "10^400": f'{{"columns": {{"a": {{"low": 0, "high": {10**400}}}}}}}',
    "5,000 digits": f'{{"columns": {{"a": {{"low": 0, "high": {"1" * 5000}}}}}}}',
    "nested": '{"columns": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "nested objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "1e999": '{"columns": {"a": {"low": 0, "high": 1e999}}}',
}
FILES = [("s.toml", name, text) for name, text in SCHEMAS.items()] + [("s.json", name, t) for name, t in JSON.items()]


@pytest.mark.parametrize(("file", "text"), [(f, t) for f, _, t in FILES], ids=[f"{n} in {f}" for f, n, _ in FILES])
def test_schemas(file, text, run, tmp_path):
    (tmp_path / file).write_text(text)
    with pytest.raises((FileFormatError, DomainError)):
        Domain.from_file(tmp_path / file)
    ran = run("schema", "check", file)
    assert (ran.code, "internal error" in ran.said) == (2, False)
    assert run("check", file).code == 2


@pytest.mark.parametrize("value", ["1e400", "1" * 5000, "-2", "nan", "9" * 400])
@pytest.mark.parametrize("option", ["--epsilon", "--delta", "--rows", "--n-jobs"])
def test_options(option, value, run, tmp_path):
    people(50).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.toml").write_text("[columns]\nage = { low = 18, high = 90 }\nincome = { low = 0, high = 9 }")
    given = {"--epsilon": "1", "--delta": "1e-6", "--schema": "t.toml", "--target": "income"} | {option: value}
    ran = run("fit", "t.csv", *(text for pair in given.items() for text in pair))
    assert (ran.code, "internal error" in ran.said) == (2, False)


@pytest.mark.parametrize(
    "value", ["[" * 3000, "-" * 3900 + "1", "1" * 3999, str(10**400), "(" * 150 + ")" * 150, "x" * 9999]
)
def test_settings(value, run, tmp_path):
    people(50).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.toml").write_text("[columns]\nage = { low = 18, high = 90 }\nincome = { low = 0, high = 9 }")
    promise = ["--schema", "t.toml", "--target", "income", "--epsilon", 1, "--delta", 1e-6]
    ran = run("fit", "t.csv", *promise, "--method", "DPRidge", "--set", f"penalty={value}")
    assert (ran.code, "internal error" in ran.said) == (2, False)


def test_repeated_names_are_found_in_no_time(tmp_path):
    """100,000 names once took minutes: each was counted among all of them."""
    names = [f"a{i}" for i in range(100_000)]
    assert checks.repeated(names) is None
    assert checks.repeated([*names, "a99999"]) == "a99999"
    body = "{" + ",".join(f'"{name}": 1' for name in [*names, "a99999"]) + "}"
    (tmp_path / "x.json").write_text(body)
    with pytest.raises(FileFormatError, match=r"x\.json: the entry 'a99999' stands twice"):
        read_json(tmp_path / "x.json")
