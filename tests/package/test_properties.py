"""Over domains, shapes and epsilons: a clear error or a certificate that checks, and never a value of the data."""

import contextlib
import json
import math
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tables import full_text

from discreet import DiscreetWarning, Domain, Moments, PrivateMoments, formula, release
from discreet.domain.kinds.numeric import Numeric
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.mechanisms.registry import METHODS
from discreet.models.linear import MomentsRegressor
from discreet.released.certificate import Certificate

SHARE = 0.5772156649015329  # where in its bounds each number of the planted row lies
WORD = "zyxsecretzyx"
MOMENTS = [m.estimator for m in METHODS if issubclass(m.estimator, MomentsRegressor)]
each_method = pytest.mark.parametrize("method", MOMENTS, ids=[cls.__name__ for cls in MOMENTS])
few = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


# ---------------------------------------------------------------- made-up domains, tables and promises

sizes = st.floats(-6, 9).map(lambda power: 10.0**power)
bounds = st.tuples(st.floats(-3, 3), sizes).map(lambda t: (t[0] * t[1], t[0] * t[1] + t[1]))
levels = st.sampled_from([["u", "v"], ["u", "v", "w", ""], [3, 1, 2], bool])
specs = st.one_of(bounds, bounds, levels, st.just(("1950-01-01", "2005-12-31")))
epsilons = st.floats(-2, 2).map(lambda power: 10.0**power)
deltas = st.floats(-12, -2).map(lambda power: 10.0**power)


@st.composite
def domains(draw):
    columns = {f"x{i}": spec for i, spec in enumerate(draw(st.lists(specs, min_size=1, max_size=4)))}
    columns["y"] = draw(bounds)
    numbers = [name for name, spec in columns.items() if isinstance(spec, tuple) and isinstance(spec[0], float)]
    options = {"intercept": draw(st.booleans()), "missing": draw(st.sampled_from(["error", "drop"]))}
    if draw(st.integers(0, 4)) == 0 and numbers[:-1]:
        options |= {"data_norm": draw(sizes), "norm_columns": numbers[:-1]}
    return Domain(columns, **options)


@st.composite
def models(draw):
    """A domain with some products and powers in it."""
    domain = draw(domains())
    features = [name for name in domain.columns if name != "y"]
    terms = draw(st.lists(st.lists(st.sampled_from(features), min_size=1, max_size=2, unique=True), max_size=3))
    text = "y ~ " + " + ".join([*features, *(":".join(term) for term in terms), draw(st.sampled_from(["1", "x0^2"]))])
    try:
        return formula(text, domain).domain
    except DiscreetError:  # no intercept, a power of a category, products too large for floating point
        return domain


def table_of(domain, rows, seed):
    """Rows inside and outside the bounds, and one planted row among them."""
    rng, columns = np.random.default_rng(seed), {}
    for name, spec in domain.inputs.items():
        if isinstance(spec, Numeric):
            low, high = (spec.low, spec.high) if math.isfinite(spec.low) else (-1.0, 1.0)
            values = low + (high - low) * rng.normal(0.5, 0.6, rows)
            values[:1] = low + (high - low) * SHARE
            columns[name] = pa.array(values.astype("datetime64[D]")) if spec.date else values
        else:
            picked = rng.integers(len(spec.levels), size=rows)
            columns[name] = pa.array([spec.levels[i] for i in picked], pa.array(spec.levels).type)
    return pa.table(columns)


def planted(table):
    """The planted values as anyone might print them."""
    found = [WORD]
    for column in table.columns:
        if pa.types.is_floating(column.type) and len(column):
            value = column[0].as_py()
            found += [repr(value), f"{value:.9g}", f"{value:.10f}"] if value else []
    return re.compile("|".join(re.escape(text) for text in found if len(text.strip("-0.")) > 6))


def promises(epsilon=epsilons):
    neighbors = st.sampled_from(["add-remove", "replace-one"])
    rows = st.sampled_from([None, 10, 100_000])
    return st.fixed_dictionaries({"epsilon": epsilon, "delta": deltas, "neighbors": neighbors, "rows": rows})


shapes = st.sampled_from([1, 2, 7, 60])


# ---------------------------------------------------------------- what must hold


def assert_certified(released, tmp_path):
    certificate = released.certificate
    assert all(finding.ok for finding in certificate.check()), certificate.check()
    assert certificate.guarantee.status == "verified"
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate
    released.save(tmp_path / "release.json", overwrite=True)
    assert PrivateMoments.load(tmp_path / "release.json") == released


def fit(method, table, domain, promise):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        model = method(domain=domain, fit_intercept=domain.intercept, n_jobs=1, **promise)
        return model.fit_source(table, "y")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("releases")


@each_method
@few
@given(domain=models(), rows=shapes, promise=promises(), seed=st.integers(0, 2**32))
def test_every_method_certifies_and_tells_nothing(method, domain, rows, promise, seed, folder):
    table = table_of(domain, rows, seed)
    model = fit(method, table, domain, promise)
    assert_certified(model.release_, folder)
    assert np.isfinite(model.coef_).all()
    assert math.isfinite(model.intercept_)
    said = [
        str(model.results_.summary()),
        json.dumps(model.results_.to_dict()),
        model.certificate_.words(),
        repr(model),
    ]
    assert not planted(table).search("\n".join([*said, (folder / "release.json").read_text()]))
    assert model.predict(table).shape == (rows,)


@few
@given(domain=models(), rows=shapes, promise=promises(), seed=st.integers(0, 2**32), named=st.booleans())
def test_every_release_certifies_and_fits(domain, rows, promise, seed, named, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        released = release(
            Moments.from_source(table_of(domain, rows, seed), domain), targets=["y"] if named else None, **promise
        )
    assert_certified(released, folder)
    assert np.isfinite(list(released.fit("y").params)).all()


@each_method
@few
@given(
    domain=domains(),
    promise=promises(st.floats(-300, 300).map(lambda power: 10.0**power)),
    seed=st.integers(0, 2**32),
)
def test_extreme_epsilons_are_kept_or_refused(method, domain, promise, seed, folder):
    with contextlib.suppress(ParameterError):
        model = fit(method, table_of(domain, 7, seed), domain, promise)
        assert_certified(model.release_, folder)


def test_the_search_finds_what_is_planted():
    table = table_of(Domain({"x": (0, 7)}), 3, seed=0)
    for text in (str(table), f"{table['x'][0].as_py():.9g} EUR", WORD):
        assert planted(table).search(text)


# ---------------------------------------------------------------- bad data

BAD = st.sampled_from(["nan", "inf", "null", "level", "type", "column", "twice"])


def spoil(table, domain, kind, pick):
    """The table with one thing wrong, beside the planted row; None where its columns do not allow for it."""
    numbers = [n for n, spec in domain.inputs.items() if isinstance(spec, Numeric) and not spec.date]
    texts = [
        n for n, spec in domain.inputs.items() if not isinstance(spec, Numeric) and isinstance(spec.levels[0], str)
    ]
    name = {"level": texts, "column": list(domain.inputs), "twice": list(domain.inputs)}.get(kind, numbers)
    if not name:
        return None, None
    name = name[pick % len(name)]
    place, values = table.column_names.index(name), table[name].to_pylist()
    if kind == "column":
        return name, table.drop_columns([name])
    if kind == "twice":
        return name, table.append_column(name, table[name])
    values[1] = {"nan": math.nan, "inf": -math.inf, "null": None, "level": WORD, "type": 1.0}[kind]
    return name, table.set_column(place, name, pa.array(list(map(str, values)) if kind == "type" else values))


@each_method
@few
@given(domain=models(), kind=BAD, pick=st.integers(0, 9), promise=promises(), seed=st.integers(0, 2**32))
def test_bad_data_are_refused_by_name_only(method, domain, kind, pick, promise, seed):
    table = table_of(domain, 7, seed)
    name, bad = spoil(table, domain, kind, pick)
    if bad is None:
        return
    if domain.missing == "drop" and kind in ("nan", "null"):
        fit(method, bad, domain, promise)
        return
    with pytest.raises(DataError) as caught:
        fit(method, bad, domain, promise)
    assert f"{name!r}" in str(caught.value)
    assert not planted(table).search(full_text(caught.value))
