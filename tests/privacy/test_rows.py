"""A row is a row: whatever stands beside it, and whatever holds it, a row is encoded by its own values alone."""

import contextlib
import datetime as dt
import gzip
import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from types import NoneType

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tables import full_text

from discreet import NAPP, Domain, DPLinearRegression, Moments
from discreet.data.reading import Table
from discreet.data.stages import staged
from discreet.data.tables import as_features, as_outcomes, open_source
from discreet.domain.coordinates import Coordinates
from discreet.domain.encoding import Encoder
from discreet.domain.value_types import decimals
from discreet.errors import DataError, DiscreetError
from discreet.mechanisms import registry
from discreet.models.outcome import codes, declared_classes

pytestmark = pytest.mark.filterwarnings("ignore")
steady = settings(
    max_examples=100,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

REFUSED, MISSING = "refused", "missing"
HALF = 2.0**60
LARGE = 2**53
LEVELS = [0, 1, LARGE, LARGE + 1, -(2**63)]
SPECS = {  # bounds around zero, so that x - c is x
    "number": (-HALF, HALF),
    "date": ("1900-01-01", "2040-01-01"),
    "whole": LEVELS,
    "text": ["a", "b", "", "1"],
    "truth": bool,
}
DAY = 86_400_000_000
EPOCH = dt.datetime(1970, 1, 1)


# ---------------------------------------------------------------- entries, each with what it must become


def nearest(value):
    """The float64 nearest to a number, by exact fractions."""
    try:
        ratio = value.as_integer_ratio() if hasattr(value, "as_integer_ratio") else (int(value), 1)
        return float(Fraction(*map(int, ratio)))
    except OverflowError:
        return REFUSED


NOTHING = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"), Decimal("sNaN")]
nothing = st.sampled_from([(value, MISSING) for value in NOTHING])
ALIENS = [b"1", "zyx", [1], 1 + 0j, np.complex64(1), dt.time(5), np.timedelta64(5, "s"), {}, object()]
aliens = st.sampled_from([(value, REFUSED) for value in ALIENS])

whole_numbers = st.one_of(
    st.integers(-9, 9), st.integers(LARGE - 3, LARGE + 3), st.integers(-(2**70), 2**70), st.just(10**400)
)
plain_numbers = st.one_of(
    whole_numbers,
    st.floats(-1e300, 1e300, allow_nan=False),
    st.booleans(),
    st.decimals(-(10**6), 10**6, places=2),
    st.decimals(-(10**20), 10**20, allow_nan=False, places=17),
    st.fractions(),
)
SCALARS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_]
SCALARS += [np.float16, np.float32, np.float64, np.longdouble]
numpy_numbers = st.builds(
    lambda kind, value: kind(value / 7) if issubclass(kind, np.floating) else kind(value),
    st.sampled_from(SCALARS),
    st.integers(0, 127),
) | st.sampled_from([np.uint64(2**64 - 1), np.int64(LARGE + 1), np.longdouble(LARGE) + 1, np.longdouble(1) / 3])
numbers = st.one_of(plain_numbers.map(lambda v: (v, nearest(v))), numpy_numbers.map(lambda v: (v, nearest(v))))

UNITS = {"W": 7 * DAY, "D": DAY, "h": DAY // 24, "m": 60_000_000, "s": 10**6, "ms": 1000, "us": 1}


def in_unit(micro, unit):
    ticks = micro // UNITS[unit]
    return np.datetime64(ticks, unit), ticks * UNITS[unit] / DAY


def finer(micro, nano, unit, factor):
    return np.datetime64((micro * 1000 + nano) * factor, unit), micro / DAY


moments = st.integers(-2_000_000_000_000_000, 2_200_000_000_000_000)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
dates = st.one_of(
    moments.map(lambda m: (EPOCH + dt.timedelta(microseconds=m), m / DAY)),
    moments.map(lambda m: ((EPOCH + dt.timedelta(microseconds=m)).date(), float(m // DAY))),
    st.builds(lambda m, z: ((EPOCH + dt.timedelta(microseconds=m)).replace(tzinfo=dt.UTC).astimezone(z), m / DAY),
              moments, zones),
    st.builds(in_unit, moments, st.sampled_from(list(UNITS))),
    st.builds(finer, moments, st.integers(0, 999), st.just("ns"), st.just(1)),
    st.builds(finer, st.integers(-10**9, 10**9), st.integers(0, 999), st.just("ps"), st.just(1000)),
    st.builds(lambda m, n: (pd.Timestamp(m * 1000 + n), m / DAY), moments, st.integers(0, 999)),
    st.builds(lambda m: (pd.Timestamp(m, unit="us", tz="Asia/Tokyo"), m / DAY), moments),
    st.just((np.datetime64("1999"), 10592.0)),
    st.just((np.datetime64("1999-02"), 10623.0)),
    st.sampled_from([(np.datetime64(2**40, "Y"), REFUSED), (np.datetime64(2**60, "D"), REFUSED), (5, REFUSED)]),
)  # fmt: skip


def whole(value):
    """A level by exact equality; a truth value is none."""
    if isinstance(value, (bool, np.bool_)):
        return REFUSED
    try:
        exact = Fraction(*map(int, value.as_integer_ratio() if hasattr(value, "as_integer_ratio") else (value, 1)))
    except (OverflowError, ValueError):
        return REFUSED
    return float(LEVELS.index(exact)) if exact in LEVELS else REFUSED


wholes = st.one_of(
    st.sampled_from([
        *LEVELS, 1.0, 2.0**53, np.float32(1), np.int8(1), np.int64(LARGE + 1), np.uint64(LARGE + 1), Decimal("1.000"),
        Decimal(LARGE + 1), Fraction(LARGE + 1), np.longdouble(LARGE) + 1, True, np.False_, 1.5, Decimal("1.5"), 2**63,
        10**400, 7, math.inf,
    ]).map(lambda v: (v, whole(v))),
    st.sampled_from(LEVELS).map(lambda v: (v, whole(v))),
)  # fmt: skip
TEXT = [("a", 0.0), (np.str_("b"), 1.0), ("", 2.0), ("1", 3.0), ("zyx", REFUSED), (1, REFUSED), (b"a", REFUSED)]
TRUTH = [(True, 1.0), (False, 0.0), (np.True_, 1.0), (1, REFUSED), ("True", REFUSED), (0.0, REFUSED)]
ENTRIES = {
    "number": numbers,
    "date": dates,
    "whole": wholes,
    "text": st.sampled_from(TEXT),
    "truth": st.sampled_from(TRUTH),
}


def column_of(kind):
    """Entries of a column: mostly ones of its kind, some missing, few of another kind."""
    one = ENTRIES[kind]
    return st.lists(st.one_of(one, one, one, one, nothing), min_size=1, max_size=5).flatmap(
        lambda entries: st.one_of(one, one, one, nothing, aliens).map(lambda row: (entries, row))
    )


# ---------------------------------------------------------------- what holds objects


def as_object_array(values):
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def as_masked(values):
    """What is missing is hidden by a mask, with something else beneath."""
    hidden = [value is None for value in values]
    return np.ma.MaskedArray(
        as_object_array(["beneath" if h else v for h, v in zip(hidden, values, strict=True)]), hidden
    )


def as_series(values, **options):
    return pd.Series(as_object_array(values), dtype=object, **options)


def as_categorical(values):
    """A pandas categorical whose categories are these objects; None where pandas has no such thing."""
    categories = []
    for value in values:
        if not any(same(value, other) for other in categories) and not any(value is other for other in NOTHING):
            categories.append(value)
    places = [next((i for i, other in enumerate(categories) if same(value, other)), -1) for value in values]
    try:
        index = pd.Index(as_object_array(categories), dtype=object)
        return pd.Series(pd.Categorical.from_codes(places, categories=index))
    except (ValueError, TypeError, ArithmeticError):
        return None


def same(a, b):
    return type(a) is type(b) and repr(a) == repr(b)


def ones(values):
    return np.ones(len(values))


def nested(values):
    return [[0.5, value] for value in values]


OUTCOMES = {
    "list": list,
    "tuple": tuple,
    "object array": as_object_array,
    "column of objects": lambda v: as_object_array(v)[:, None],
    "list of lists": lambda v: [[value] for value in v],
    "masked objects": as_masked,
    "series": as_series,
    "named series": lambda v: as_series(v, name="v"),
    "categorical": as_categorical,
    "frame": lambda v: pd.DataFrame({"v": as_series(v)}),
}
FEATURES = {
    "pandas": lambda v: pd.DataFrame({"w": ones(v)}),
    "Arrow": lambda v: pa.table({"w": ones(v)}),
    "polars": lambda v: pl.DataFrame({"w": ones(v)}),
}
FRAMES = {
    "frame": lambda v: pd.DataFrame({"w": ones(v), "v": as_series(v)}),
    "frame of categories": lambda v: pd.DataFrame({"w": ones(v), "v": as_categorical(v)}),
}
MATRICES = {
    "lists": lambda v: (ones(v)[:, None].tolist(), list(v)),
    "lists of lists": lambda v: (ones(v)[:, None], [[value] for value in v]),
    "object array": lambda v: np.column_stack([as_object_array(ones(v)), as_object_array(v)]),
    "array and series": lambda v: (ones(v)[:, None], as_series(v)),
    "masked": lambda v: (ones(v)[:, None], as_masked(v)),
}


def pair(features, outcome):
    return lambda values: (features(values), outcome(values))


def fitted(features, outcome):
    """The pair that fit(X, y) reads."""
    return lambda values: as_features(features(values)).beside(as_outcomes(outcome(values)))


def many(features, shape):
    def offer(values):
        return as_features(features(values)).beside(as_outcomes(shape(values), several=True), ["u", "v"])

    return offer


PAIRS = {f"{x}, {y}": pair(X, Y) for x, X in FEATURES.items() for y, Y in OUTCOMES.items()}
FITTED = {f"fit {x}, {y}": fitted(X, Y) for x, X in FEATURES.items() for y, Y in OUTCOMES.items()}
NAMED = FRAMES | PAIRS | FITTED
CATEGORIES = [offer for name, offer in NAMED.items() if "categor" in name]
SHAPES = {"lists": nested, "tuples": lambda v: tuple(map(tuple, nested(v)))}
SHAPES["objects"] = lambda v: np.column_stack([as_object_array([0.5] * len(v)), as_object_array(v)])
MANY = {f"many {x}, {y}": many(X, Y) for x, X in FEATURES.items() for y, Y in SHAPES.items()}


# ---------------------------------------------------------------- reading rows before they are rounded


def read(offer, values, domain):
    """x - c of every row that is kept, or that the source is refused, with no word of its values."""
    try:
        opened, encoder, rows = open_source(offer(values), domain), Encoder(domain), []
        for part in opened.parts(4):
            for batch in part:
                A = encoder.empty(opened.size(batch), columnar=opened.columnar)
                A = A[: opened.fill(batch, A, encoder)]
                rows += A.tolist()
                encoder.finish(A.copy())
    except DiscreetError as error:
        text = full_text(error)
        assert not [words for words in ("zyx", "During handling", "direct cause") if words in text]
        return REFUSED
    return rows


def expected(entries, domain, places):
    """The rows that entries stand for."""
    rows, width = [], len(domain.entries)
    for _, value in entries:
        if value == REFUSED:
            return REFUSED
        if value == MISSING:
            continue
        row = [2.0**20, *[0.0] * (width - 1)]
        for name, x in places.items():
            row[domain.positions[name][0]] = x
        v = domain.positions["v"]
        if len(v) == 1:
            row[v[0]] = value
        else:
            row[v[int(value)]] = 2.0**20
        rows.append(row)
    return rows


def check(offer, entries, row, domain, places):
    """The table with the row is the table and the row, in rows and in exact sums."""
    tables = [entries, [*entries, row], [row]]
    values = [[value for value, _ in table] for table in tables]
    if offer in CATEGORIES and any(as_categorical(column) is None for column in values):
        return
    found = [read(offer, column, domain) for column in values]
    assert found == [expected(table, domain, places) for table in tables]
    if REFUSED not in found and len(entries) < 3:
        before, after, own = (Moments.from_source(offer(column), domain, n_jobs=1) for column in values)
        assert after == before + own
        before, after, own = (staged(Table.of(offer(column), domain, 1), rotated(domain)) for column in values)
        assert after == before + own


@cache
def rotated(domain):
    """Coordinates of all columns of a domain, shortened and not."""
    names = [entry.name for entry in domain.entries]
    P = np.random.default_rng(len(names)).normal(size=(len(names), len(names)))
    return Coordinates.rounded(names, [], P, np.empty((len(names), 0)), 1.5, [])


def drawn(data, kind, offers):
    """Entries, a row, and what holds them."""
    entries, row = data.draw(column_of(kind))
    return offers[data.draw(st.sampled_from(list(offers)))], entries, row


@pytest.mark.parametrize("kind", SPECS)
@steady
@given(st.data())
def test_objects_in_named_columns(kind, data):
    domain = Domain({"w": (-1, 1), "v": SPECS[kind]}, missing="drop")
    check(*drawn(data, kind, NAMED), domain, {"w": 1.0})


@steady
@given(st.data())
def test_objects_in_matrices(data):
    check(*drawn(data, "number", MATRICES), Domain({"w": (-1, 1), "v": SPECS["number"]}, missing="drop"), {"w": 1.0})


@steady
@given(column_of("number"))
def test_lists_of_features(table):
    domain = Domain({"v": SPECS["number"], "w": (-1, 1)}, missing="drop")
    check(lambda v: ([[value] for value in v], ones(v).tolist()), *table, domain, {"w": 1.0})


@pytest.mark.parametrize("kind", SPECS)
@steady
@given(st.data())
def test_objects_in_one_of_several_outcomes(kind, data):
    domain = Domain({"w": (-1, 1), "u": (-1, 1), "v": SPECS[kind]}, missing="drop")
    check(*drawn(data, kind, MANY), domain, {"w": 1.0, "u": 0.5})


# ---------------------------------------------------------------- what has a type of its own

FINE = pa.array([Decimal("0.10"), Decimal("-7.35"), None, Decimal("12345678.91")], pa.decimal128(12, 2))
TYPED = {
    "number": [
        *(pa.array([3, 1, None, 100], kind) for kind in (pa.int8(), pa.uint16(), pa.int32())),
        pa.array([LARGE + 1, -(2**63), None, LARGE + 3], pa.int64()),
        pa.array([LARGE + 1, 2**64 - 1, None, 1], pa.uint64()),
        pa.array([0.1, 1e300, None, -0.5]),
        pa.array([0.1, 7, None, -0.5], pa.float32()),
        FINE,
        FINE.dictionary_encode(),
        *(pa.array(FINE.to_pylist(), kind) for kind in (pa.decimal64(15, 4), pa.decimal256(60, 30))),
        pa.array([12300, None, -700], pa.decimal128(9, -2)),
        pa.array([Decimal(LARGE + 1) / 1000, None, Decimal(10) ** 20], pa.decimal128(38, 3)),
    ],
    "date": [
        *(pa.array([10**9 + 7, -(10**9) - 7, None, 5], pa.timestamp(unit)) for unit in ("s",)),
        *(
            pa.array([10**9 + 7, -(10**9) - 7, None, 5], pa.timestamp(unit, "Asia/Tokyo"))
            for unit in ("ms", "us", "ns")
        ),
        pa.array([5, None, -5], pa.date32()),
        pa.array([DAY // 1000, None, -DAY // 1000], pa.date64()),
        pa.array([5, None, -5], pa.date32()).dictionary_encode(),
    ],
    "whole": [
        pa.array([LARGE, LARGE + 1, None, 1], pa.int64()),
        pa.array([LARGE, LARGE + 1, None, 1], pa.uint64()).dictionary_encode(),
        pa.array([2.0**53, 1.0, None, 0.0]),
        pa.array([Decimal(LARGE), None, Decimal(LARGE + 1)], pa.decimal128(20, 1)),
        pa.array([Decimal(LARGE), None, Decimal(LARGE + 1)], pa.decimal256(50, 3)).dictionary_encode(),
    ],
    "text": [
        *(pa.array(["a", "b", None, ""], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
        pa.array(["a", "b", None, ""]).dictionary_encode(),
    ],
    "truth": [pa.array([True, None, False])],
}


def as_entries(array, kind):
    """The entries of an Arrow array, each with what it must become, by Python's own arithmetic."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kind == "date":
        unit = {"date32[day]": DAY, "date64[ms]": 1000}.get(str(array.type)) or UNITS.get(array.type.unit)
        ticks = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64()).to_pylist()
        become = lambda tick: (tick * unit if unit else tick // 1000) / DAY  # noqa: E731
    else:
        ticks = array.to_pylist()
        lists = {"text": SPECS["text"], "truth": [False, True]}
        known = {"number": nearest, "whole": whole}
        become = known.get(kind) or (lambda value: float(lists[kind].index(value)))
    return [(value, MISSING if value is None else become(value)) for value in ticks]


def same_type(series):
    """A pandas series with the type of an Arrow array, nullable."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([series])))


def both(array):
    return pa.table({"w": np.ones(len(array)), "v": array})


def to_parquet(array, folder):
    pq.write_table(both(array), folder / "table.parquet")
    return folder / "table.parquet"


HOLDERS = {
    "Arrow": lambda a, _: both(a),
    "Arrow in chunks": lambda a, _: pa.concat_tables([both(a[:1]), both(a[1:])]),
    "pandas of Arrow": lambda a, _: pd.DataFrame({"w": np.ones(len(a)), "v": same_type(a)}),
    "Arrow and array": lambda a, _: (both(a).select(["w"]), a),
    "pandas and Arrow": lambda a, _: (pd.DataFrame({"w": np.ones(len(a))}), pa.chunked_array([a])),
    "Arrow and series": lambda a, _: (both(a).select(["w"]), same_type(a)),
    "pandas and table": lambda a, _: (pd.DataFrame({"w": np.ones(len(a))}), both(a).select(["v"])),
    "polars": lambda a, _: pl.from_arrow(both(a)),
    "lazy": lambda a, _: pl.from_arrow(both(a)).lazy(),
    "polars and series": lambda a, _: (pl.DataFrame({"w": np.ones(len(a))}), pl.from_arrow(both(a))["v"]),
    "pandas and polars": lambda a, _: (pd.DataFrame({"w": np.ones(len(a))}), pl.from_arrow(both(a))["v"]),
    "stream": lambda a, _: both(a).to_reader(),
    "Parquet": to_parquet,
    "DuckDB": lambda a, _: duckdb.from_arrow(both(a)),
}
TYPES = [(kind, array) for kind, arrays in TYPED.items() for array in arrays]
ABSENT = {"decimal256": ("polars", "lazy", "DuckDB"), "decimal128(9, -2)": ("polars", "lazy", "DuckDB", "Parquet")}
ABSENT |= {"string_view": ("pandas",)}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(("kind", "array"), TYPES, ids=[f"{kind} {array.type}" for kind, array in TYPES])
def test_typed_columns(kind, array, holder, tmp_path):
    """One row more, missing or not, leaves the others what they are, and all are what Python makes of them."""
    domain = Domain({"w": (-1, 1), "v": SPECS[kind]}, missing="drop")
    absent = [word for name, words in ABSENT.items() if name in str(array.type) for word in words]
    if any(word in holder for word in absent):
        pytest.skip("this package has no such type")
    for part in (array, array[:1], array[1:2], array[-1:]):
        found = read(lambda part: HOLDERS[holder](part, tmp_path), part, domain)
        assert found == expected(as_entries(part, kind), domain, {"w": 1.0})


NUMPY = [
    *(("number", np.array([0.1, 3, 7], dtype)) for dtype in ("f2", "f4", "f8", "g", ">f8", "i1", "u8", ">i4")),
    *(("date", np.array([5, -5, 400], f"M8[{unit}]")) for unit in ("D", "h", "m", "s", "ms", "us", "ns", "10ms")),
    ("whole", np.array([LARGE + 1, LARGE])),
    ("whole", np.array([1.0, 2.0**53])),
    ("text", np.array(["a", "b"])),
]


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(("kind", "array"), NUMPY, ids=[f"{kind} {array.dtype}" for kind, array in NUMPY])
def test_typed_arrays(kind, array, features):
    """An array means what its entries mean one by one; what a mask hides is missing."""
    domain = Domain({"w": (-1, 1), "v": SPECS[kind]}, missing="drop")
    offer = lambda y: (FEATURES[features](y), y)  # noqa: E731
    rows = read(offer, array, domain)
    assert rows != REFUSED
    assert rows == read(offer, list(array), domain)
    hidden = np.ma.MaskedArray(array, [True, *[False] * (len(array) - 1)])
    assert read(offer, hidden, domain) == rows[1:]
    assert read(offer, hidden[:, None], domain) == rows[1:]


def test_csv(tmp_path):
    """Whatever the number of digits or the detail of dates, each field is read by itself."""
    domain = Domain({"w": (-1, 1), "v": SPECS["number"], "d": SPECS["date"], "g": LEVELS}, missing="drop")
    lines = ["1,0.1,2001-09-09 05:00:00,9007199254740993", "1,9007199254740993,2001-09-09,1", "1,,2001-09-09,0"]
    lines += ["1,1.50000000000000000000000001,2001-09-09 05:00:00.000007,9007199254740992"]
    path = tmp_path / "table.csv"

    def rows(chosen):
        path.write_text("\n".join(["w,v,d,g", *chosen]) + "\n")
        return read(lambda _: path, None, domain)

    assert rows(lines) == [row for line in lines for row in rows([line])]
    assert len(rows(lines)) == 3


# ---------------------------------------------------------------- decimals


@pytest.mark.parametrize("scale", [-5, -1, 0, 1, 2, 8, 18, 22, 23, 30])
def test_decimals_become_the_nearest_float(scale):
    rng = np.random.default_rng(scale + 9)
    high, low, power = rng.integers(-(10**9), 10**9, 3000), rng.integers(0, 10**9, 3000), rng.integers(0, 20, 3000)
    wide = [a * 10**k + b for a, b, k in zip(high.tolist(), low.tolist(), power.tolist(), strict=True)]
    edges = [0, 1, -1, LARGE, LARGE + 1, -LARGE, -LARGE - 1, LARGE - 1, 2**63, -(2**63), 2**64 + 5, 10**37]
    for digits, kind in ((9, pa.decimal32), (18, pa.decimal64), (38, pa.decimal128), (70, pa.decimal256)):
        if kind in (pa.decimal32, pa.decimal64) and not 0 <= scale <= digits:
            continue
        most = 10 ** min(digits, 38) - 1
        integers = [m for m in [*wide, *edges] if abs(m) <= most]
        plain = pa.array(list(map(Decimal, integers)), kind(digits, 0))
        array = pa.Array.from_buffers(kind(digits, scale), len(plain), plain.buffers())
        exact = [Decimal(m).scaleb(-scale, Context(prec=80)) for m in integers]
        assert decimals(array).tolist() == [float(value) for value in exact]
        assert decimals(array[7:-3]).tolist() == [float(value) for value in exact[7:-3]]
        assert decimals(array[:0]).tolist() == []


# ---------------------------------------------------------------- labels

CLASSES = [[LARGE, LARGE + 1], [0, 1], ["a", "b"], [False, True], [0.1, 0.2], [1, "a"]]
LABELS = [0, 1, LARGE, LARGE + 1, True, np.False_, 0.1, 0.2, 1.0, 2.0**53, np.float32(0.1), np.int64(LARGE + 1), "a"]
LABELS += [np.str_("b"), Decimal(1), Fraction(LARGE + 1), None, math.nan, b"a", [1]]


def place(label, classes):
    """Where a label stands among classes, by exact equality."""
    for k, known in enumerate(classes):
        text = isinstance(label, str), isinstance(known, str)
        if all(text) and label == known:
            return float(k)
        odd = any(text) or isinstance(label, (bytes, list, NoneType)) or label is math.nan
        if not odd and Fraction(*map(int, ratio(label))) == Fraction(*ratio(known)):
            return float(k)
    return None


def ratio(value):
    return value.as_integer_ratio() if hasattr(value, "as_integer_ratio") else (int(value), 1)


@pytest.mark.parametrize("classes", CLASSES, ids=str)
@steady
@given(st.data())
def test_labels(classes, data):
    outcome = data.draw(st.sampled_from(list(OUTCOMES)))
    known = [label for label in LABELS if place(label, classes) is not None]
    labels = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=5))
    row = data.draw(st.sampled_from(known) | st.sampled_from(LABELS))
    for values in (labels, [*labels, row]):
        if outcome == "categorical" and as_categorical(values) is None:
            return
        wanted = [place(label, classes) for label in values]
        y = as_outcomes(OUTCOMES[outcome](values)).columns()[0] if [1] not in values else as_object_array(values)
        if None in wanted:
            with pytest.raises(DataError) as caught:
                codes(y, classes)
            assert "During handling" not in full_text(caught.value)
        else:
            assert codes(y, classes).tolist() == wanted


# ---------------------------------------------------------------- every estimator


class Seen(Exception):  # noqa: N818
    """Rows were read, and that is all that is wanted of a fit."""


@pytest.fixture
def rows_read(monkeypatch):
    """The last column that a fit reads first, before it is rounded."""

    def fit(model, X, y):
        found = []

        def stop(_, A):
            found.append(A[:, -1].tolist())
            raise Seen

        with monkeypatch.context() as patch:
            patch.setattr(Encoder, "finish", stop)
            with pytest.raises(Seen):
                model.fit(X, y)
        return found[0]

    return fit


NUMBERS = [1, 0.1, Decimal("0.1"), Fraction(1, 3), np.float32(0.1), np.int8(3), True, LARGE + 1, 2**70]
CLASSIFIERS = ("DPLogisticRegression", "DPLinearSVC")
X_KINDS = FEATURES | {"array": lambda v: ones(v)[:, None], "lists": lambda v: ones(v)[:, None].tolist()}
Y_KINDS = {name: OUTCOMES[name] for name in ("list", "object array", "series", "masked objects", "tuple")}


@pytest.mark.parametrize("method", registry.METHODS, ids=lambda method: method.name)
def test_every_estimator_reads_each_outcome_by_itself(method, rows_read):
    given = {"epsilon": 1, "delta": 1e-6, "bounds_X": (-1, 1)}
    options = given | {"bounds_y": (-HALF, HALF), "rows": 500}
    if method.name == "DPPoissonRegression":
        options["bounds_y"] = (0, 2 * HALF)
    centre = sum(options["bounds_y"]) / 2
    labels, classes = [LARGE, LARGE + 1, 2.0**53, np.int64(LARGE + 1), Fraction(LARGE + 1)], [LARGE, LARGE + 1]
    for x, y in zip(X_KINDS.values(), Y_KINDS.values(), strict=True):
        if method.name in CLASSIFIERS:
            model = method.estimator(**given, classes=classes)
            assert rows_read(model, x(labels), y(labels)) == [place(label, classes) - 0.5 for label in labels]
        else:
            found = rows_read(method.estimator(**options), x(NUMBERS), y(NUMBERS))
            assert found == [nearest(value) - centre for value in NUMBERS]


@pytest.mark.parametrize("estimator", [DPLinearRegression, registry.find("ReuseCov").estimator])
@pytest.mark.parametrize("association", ["gaussian", "projection"])
def test_several_outcomes_are_read_each_by_itself(estimator, association, rows_read):
    options = {"epsilon": 1, "delta": 1e-6, "bounds_X": (-1, 1), "bounds_y": (-HALF, HALF)}
    if association == "projection":
        if estimator is DPLinearRegression:
            return
        options |= {"association": association, "neighbors": "replace-one"}
    shapes = [*SHAPES.values(), lambda v: pd.DataFrame({"a": ones(v), "b": as_series(v)})]
    for x in X_KINDS.values():
        for shape in shapes:
            assert rows_read(estimator(**options), x(NUMBERS), shape(NUMBERS)) == list(map(nearest, NUMBERS))
        Y = pa.table({"a": pa.array([1.5, None]), "b": pa.array([LARGE + 1, 3], pa.int64())})
        drop = Domain({"w": (-1, 1), "a": (-1, 1), "b": (-HALF, HALF)}, missing="drop")
        if x in FEATURES.values() and association == "gaussian":
            model = estimator(epsilon=1, delta=1e-6, domain=drop)
            assert rows_read(model, x([0, 0]), Y) == [nearest(LARGE + 1)]


def test_napp_reads_labels_exactly(rows_read):
    model = NAPP(epsilon=1, delta=1e-6, bounds_X=(-1, 1), loss="logistic", alpha=0.1, classes=[LARGE, LARGE + 1])
    assert rows_read(model, np.ones((3, 1)), [LARGE, LARGE + 1, 2.0**53]) == [-0.5, 0.5, -0.5]


# ---------------------------------------------------------------- what once went wrong

NOON, EVENING = dt.datetime(2001, 9, 9, 12), dt.datetime(2001, 9, 9, 18)


def own_share(build, values, row, spec, **options):
    """Whether the exact sums of a table with one row more are those without it, and that row's own."""
    domain = Domain({"w": (-1, 1), "v": spec}, **options)
    with_row, without, alone = (Moments.from_source(build(v), domain) for v in ([*values, row], values, [row]))
    return with_row == without + alone


@pytest.mark.parametrize("features", ["Arrow", "polars"])
@pytest.mark.parametrize("outcome", ["list", "object array"])
def test_a_date_does_not_take_the_time_of_day_from_others(features, outcome):
    offer = pair(FEATURES[features], OUTCOMES[outcome])
    assert own_share(offer, [NOON, EVENING], dt.date(2001, 9, 9), ("2001-09-09", "2001-09-10"))


@pytest.mark.parametrize("row", [dt.date(2001, 9, 9), dt.datetime(2001, 9, 9, 7)])
def test_categories_of_pandas_that_are_dates(row):
    values = [dt.date(2001, 9, 9), NOON] if isinstance(row, dt.datetime) else [NOON, EVENING]
    assert own_share(FRAMES["frame of categories"], values, row, ("2001-09-09", "2001-09-10"))


def test_a_unit_of_one_row_does_not_wrap_the_years_of_others():
    values = [np.datetime64("1500-01-01", "s"), np.datetime64("2001-09-09", "s")]
    offer = pair(FEATURES["pandas"], OUTCOMES["list"])
    assert own_share(offer, values, np.datetime64("2001-09-09", "ns"), ("1400-01-01", "2100-01-01"))


@pytest.mark.parametrize("features", ["pandas", "Arrow", "polars"])
def test_a_missing_level_does_not_merge_large_levels_of_others(features):
    offer = pair(FEATURES[features], lambda v: pl.Series(v, dtype=pl.Int64))
    assert own_share(offer, [LARGE, LARGE + 1], None, [LARGE, LARGE + 1], missing="drop")
    domain = Domain({"w": (-1, 1), "u": (-1, 1), "v": [LARGE, LARGE + 1]}, missing="drop")

    def joined(values):
        X = as_features(FEATURES[features](values))
        Y = pa.table({"u": ones(values), "v": pa.array(values, pa.int64())})
        return Moments.from_source(X.beside(as_outcomes(Y, several=True)), domain)

    assert joined([LARGE, LARGE + 1, None]) == joined([LARGE, LARGE + 1])


@pytest.mark.parametrize(
    ("classes", "labels", "row"),
    [
        ([LARGE, LARGE + 1], [LARGE, LARGE + 1], 2.0**53),
        ([float(np.float32(0.1)), 0.1], [np.float32(0.1)] * 2, np.float64(0.1)),
        ([2.0, LARGE, LARGE + 1], [LARGE, LARGE + 1], 2.0),
    ],
)
def test_a_label_does_not_change_the_classes_of_others(classes, labels, row):
    with_row, without = (codes(as_outcomes(y).columns()[0], classes).tolist() for y in ([*labels, row], labels))
    assert with_row[:-1] == without
    public = declared_classes("public", as_outcomes([LARGE, LARGE + 1, 2.0]).columns()[0])
    assert public == (2.0, LARGE, LARGE + 1)


@pytest.mark.parametrize("features", ["pandas", "Arrow", "polars"])
def test_a_decimal_does_not_change_the_scale_of_others(features):
    offer = pair(FEATURES[features], OUTCOMES["object array"])
    domain = Domain({"w": (-1, 1), "v": (-HALF, HALF)})
    values = [Decimal(m) / 100 for m in range(1, 2000)]
    more = read(offer, [*values, Decimal("0.123456789012345678")], domain)
    assert [row[2] for row in more[:-1]] == [float(value) for value in values]
    table = pa.table({"w": ones(values), "v": pa.array(values, pa.decimal128(12, 2))})
    assert read(lambda _: table, None, domain) == more[:-1]


@pytest.mark.parametrize(
    "holder", [lambda v: pd.array(v, dtype=object), lambda v: pd.arrays.SparseArray(v, dtype=object)]
)
def test_objects_in_arrays_of_pandas_have_no_type_of_their_own(holder):
    """Such an array has no way of its own to Arrow, which would find a type from its first entries."""

    def offer(values):
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        return pd.DataFrame({"w": ones(values)}), {"v": holder(objects)}

    spec, domain = ("2001-09-09", "2001-09-10"), Domain({"w": (-1, 1), "v": ("2001-09-09", "2001-09-10")})
    assert own_share(offer, [NOON, EVENING], dt.date(2001, 9, 9), spec)
    first, without = (Moments.from_source(offer(v), domain) for v in ([dt.date(2001, 9, 9), NOON], [NOON]))
    assert first == without + Moments.from_source(offer([dt.date(2001, 9, 9)]), domain)


@pytest.mark.parametrize("names", [("a.csv", "b.csv.gz"), ("a.csv.gz", "b.csv.gz"), ("a.CSV.GZ", "b.csv")])
def test_a_packed_copy_of_a_file_is_a_copy(names, tmp_path):
    text = b"w,v\n1,2\n1,3\n"
    for i, name in enumerate(names):
        packed = gzip.compress(text, compresslevel=1 + 8 * i, mtime=i) if name.lower().endswith("gz") else text
        (tmp_path / name).write_bytes(packed)
    domain = Domain({"w": (-1, 1), "v": (0, 4)})
    with pytest.raises(DataError, match="copies of each other"):
        Moments.from_source(tmp_path, domain)
    (tmp_path / names[1]).unlink()
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(text + b"1,4\n"))
    assert Moments.from_source(tmp_path, domain).count == 5


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "?"])
def test_labels_of_typed_arrays_are_those_of_their_entries(dtype):
    """Classes are looked for one at a time in an array of numbers, and found as if each entry were looked up."""
    rng = np.random.default_rng(0)
    labels = [0, 1, -1, 2, 0.5, 0.1, 2**53, 2**53 + 1, 2**62, 2**63, 2**64 - 1, 3.0, 1e300, float(np.float32(0.1)), "a"]
    held = []
    for label in labels[:-1]:
        with contextlib.suppress(OverflowError), np.errstate(over="ignore"):
            held.append(np.array([label], dtype=dtype)[0])
    for _ in range(300):
        classes = [labels[i] for i in rng.permutation(len(labels))[:4]]
        y = np.array([held[i] for i in rng.integers(0, len(held), 2)], dtype=dtype)
        known = {label: float(k) for k, label in enumerate(classes)}
        places = [known.get(label) for label in y.tolist()]
        if None in places:
            with pytest.raises(DataError, match="declared classes"):
                codes(y, classes)
        else:
            assert codes(y, classes).tolist() == places
