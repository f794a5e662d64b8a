"""Databases: one moment for all passes, types, edges of push-down, lost connections, Ctrl-C, and passwords."""

import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from offers import NUMBERS, PEOPLE, people
from tables import full_text

from discreet import Domain, DPLinearRegression, Moments, Postgres
from discreet.data import kept
from discreet.data.engines.derived import DerivedNumbers
from discreet.data.reading import Table
from discreet.data.stages import staged
from discreet.domain.coordinates import Coordinates
from discreet.domain.derived import number
from discreet.domain.encoding import refuse_non_finite
from discreet.domain.formula import formula
from discreet.errors import DataError, ParameterError
from discreet.privacy.events.coordinates import stage_block

from .conftest import ingested

pytestmark = pytest.mark.more

PASSWORD = "correct-horse"
FIT = {"epsilon": 1, "delta": 1e-6, "domain": PEOPLE, "random_state": 1}
both = pytest.mark.parametrize("pushdown", [False, True], ids=["streamed", "pushdown"])


@pytest.fixture
def execute(database):
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        yield lambda text: connection.execute(text)


@both
def test_all_passes_see_the_same_moment(pushdown, database, execute):
    table, done = people(3_000), []
    name = ingested(database, table)

    def meddle(fraction):
        if fraction == 1.0:
            execute(f"INSERT INTO {name} SELECT * FROM {name} LIMIT 500")
            done.append(fraction)

    there = DPLinearRegression(**FIT).fit_source(Postgres(database, name, pushdown=pushdown), "income", progress=meddle)
    here = DPLinearRegression(**FIT).fit_source(table, "income")
    assert len(done) >= 4
    assert np.array_equal(there.coef_, here.coef_)


@both
def test_types_of_a_database(pushdown, database, execute):
    execute("DROP TABLE IF EXISTS kinds; DROP TYPE IF EXISTS mood")
    execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    execute(
        """CREATE TABLE kinds (a numeric, b float4, c int2, d mood, e char(5), f varchar, g timestamp, h timestamptz,
           i numeric, j bool, "K ""k" float8)"""
    )
    execute(
        r"""INSERT INTO kinds VALUES
        (0.1, 0.1, 3, 'sad', 'ab', 'it''s \n', '2001-02-03 04:05:06.789', '2001-02-03 04:05:06+09', 2, true, 1),
        (1234567.891, -7, -3, 'ok', 'c', 'b', '1969-07-20', '1969-07-20+00', 1, false, 2)"""
    )
    bounds = ("1960-01-01", "2010-01-01")
    columns = {"a": (0, 2e6), "b": (-9, 9), "c": (-9, 9), "d": ["ok", "sad"], "e": ["ab", "c"], "f": ["b", "it's \\n"]}
    domain = Domain(columns | {"g": bounds, "h": bounds, "i": [1, 2], "j": (0, 1), 'K "k': (0, 4)})
    zone = dt.timezone(dt.timedelta(hours=9))
    table = pa.table(
        {
            "a": pa.array([Decimal("0.100"), Decimal("1234567.891")]),
            "b": pa.array([0.1, -7], pa.float32()),
            "c": [3, -3],
            "d": ["sad", "ok"],
            "e": ["ab", "c"],
            "f": ["it's \\n", "b"],
            "g": [dt.datetime(2001, 2, 3, 4, 5, 6, 789_000), dt.datetime(1969, 7, 20)],
            "h": [dt.datetime(2001, 2, 3, 4, 5, 6, tzinfo=zone), dt.datetime(1969, 7, 20, tzinfo=dt.UTC)],
            "i": [2, 1],
            "j": [True, False],
            'K "k': [1.0, 2.0],
        }
    )
    there = Moments.from_source(Postgres(database, "public.kinds", pushdown=pushdown), domain)
    assert there == Moments.from_source(table, domain)


@both
def test_ties_and_values_at_the_ends_of_float64(pushdown, database):
    """Ties are rounded to even; nothing overflows, nothing vanishes, and the bits are those of one machine."""
    unit = 2.0**-20
    ties = [(k + 0.5) * unit for k in range(-8, 8)]
    values = [*ties, 1e308, -1e308, 5e-324, -5e-324, 1e-200, 0.0, -0.0, 1.0, np.nextafter(1.0, 2), 1e-17]
    table = pa.table({"x": values, "y": values[::-1], "z": np.array(values[::-1]) * 1e-9})
    boxes = [
        Domain({"x": (-1, 1), "y": (-0.5, 3)}),
        Domain({"x": (-1e12, 1e12), "y": (-1e280, 1e280)}),
        Domain({"x": (0.25, 0.75), "y": (-1e-3, 1e-5)}),
    ]
    source = Postgres(database, ingested(database, table), pushdown=pushdown)
    for domain in boxes:
        assert Moments.from_source(source, domain) == Moments.from_source(table, domain)
    near = table.filter(pa.array(np.abs(values) < 1e99)).filter(
        pa.array(np.abs(values[::-1])[np.abs(values) < 1e99] < 1e99)
    )
    source = Postgres(database, ingested(database, near), pushdown=pushdown)
    ball = Domain.from_bounds(["x", "y"], ["z"], data_norm=0.7, bounds_y=(-1, 1))
    assert Moments.from_source(source, ball) == Moments.from_source(near, ball)


def test_what_pushdown_does_not_do_is_refused(database):
    table = pa.table({"x": [1e200, 1.0], "y": [1.0, 2.0]})
    source = Postgres(database, ingested(database, table), pushdown=True)
    with pytest.raises(DataError, match=r"'x' holds numbers beyond 1e100.*leave out pushdown"):
        Moments.from_source(source, Domain.from_bounds(["x"], ["y"], data_norm=1, bounds_y=(0, 3)))
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=UNMADE, random_state=1)
    for text, why in NOT_MADE.items():
        with pytest.raises(ParameterError, match=rf"does not make the derived column .*: {why}.*leave out pushdown"):
            model.fit_formula(text, source)
    assert not hasattr(model, "release_")


UNMADE = Domain({"x": (0.1, 2), "y": (0, 3), "far": (1, 1e250), "near": (1e-280, 1), "level": ["a", "b"]})
NOT_MADE = {
    "y ~ poly(x, 2)": "the database does not compute",
    "y ~ x:level": "it multiplies the levels of a category",
    "y ~ I(1 / near)": "it is divided by what may be too small",
    "y ~ log(near)": "its logarithm is that of what may be too small",
    "y ~ I(far * x * 1e30)": "its values may be too large",
    "y ~ exp(400 * x - 740)": "its exponential may be too large or too small",
}

DERIVED = [
    "log(x)", "log1p(y)", "sqrt(y)", "exp(x)", "I(x / 1000)", "I((x - 0.3)^3)", "x:y", "I(x * y / (1 + y))", "y^2",
    "I(x > 0.7)", "I((y <= x) * x + (y != 1))",
    "log(x + sqrt(y))", "I(1 / x)", "exp(y - 1)", "I(2 * tiny * tiny)", "I(tiny / 3)", "exp(tiny)", "log1p(tiny)",
]  # fmt: skip


def test_derived_numbers_have_the_same_bits(database, execute):
    """Also where products vanish, which PostgreSQL would refuse, and where values lie outside the bounds."""
    rng = np.random.default_rng(3)
    ends = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-200, -1e-160, 1e-310, 3e-162, 1e-17, 1.0, -1.0, 1e300, 2.0**-500])
    spread = 2.0 ** rng.uniform(-1074, 10, 300) * rng.choice([-1, 1], 300)
    tiny = np.concatenate([ends, spread, rng.uniform(-1, 1, 200)])
    n = len(tiny)
    x, y = np.concatenate([2.0 ** np.arange(-9, 9), rng.uniform(-1, 9, n - 18)]), rng.uniform(-1, 4, n)
    table = pa.table({"x": x, "y": np.where(rng.random(n) < 0.2, np.abs(tiny), y), "tiny": tiny})
    declared = Domain({"x": (0.1, 6), "y": (0, 3), "tiny": (-0.9, 1)})
    domain, name = formula("~ " + " + ".join(DERIVED), declared).domain, ingested(database, table)
    made = DerivedNumbers({"x": "x", "y": "y", "tiny": "tiny"})
    columns = {text: made.add(column) for text, column in domain.columns.items()}
    rows = made.rows(f"(SELECT *, row_number() OVER () AS place FROM {name} OFFSET 0) AS t")
    found = execute(f"SELECT {', '.join(columns.values())} FROM {rows} ORDER BY place").fetchall()
    values = {own: table[own].to_numpy() for own in ("x", "y", "tiny")}
    for text, there in zip(columns, np.array(found).T, strict=True):
        assert np.array_equal(there, number(domain.columns[text], values, refuse_non_finite, clip=True)), text
    source = Postgres(database, name, pushdown=True)
    assert Moments.from_source(source, domain) == Moments.from_source(table, domain)


@both
def test_derived_and_yes_no_outcomes_have_the_same_stages(pushdown, database, tmp_path):
    table = people(3_000)
    source = Postgres(database, ingested(database, table), pushdown=pushdown)
    for text in ("log1p(income) ~ age + sex", "sqrt(income) ~ age + log1p(age)", "sex ~ age + income"):
        model = DPLinearRegression(**FIT).fit_formula(text, source)
        assert len(model.release_.stages) > 1
        assert np.array_equal(model.coef_, DPLinearRegression(**FIT).fit_formula(text, table).coef_)


@both
def test_row_norms_alone_have_the_same_bits(pushdown, database):
    """A stage without outcomes, and without U'U."""
    table = people(3_000)
    source = Postgres(database, ingested(database, table), pushdown=pushdown)
    design = NUMBERS.design_names([name for name in NUMBERS.columns if name != "income"])
    q, edges = len(design), [0.3 * 2 ** (k / 4) for k in range(16)]
    P = np.triu(np.random.default_rng(0).normal(size=(q, q)))
    stage = Coordinates.rounded(design, [], P, np.empty((q, 0)), edges[0], [], edges)
    here, there = (staged(Table.of(own, NUMBERS, 1), stage, gram=False) for own in (table, source))
    assert here == there
    (counts,) = here.integers(stage_block(stage, "lengths"))
    assert sum(counts > 0) > 3
    assert sum(counts) == 3_000 << 40


@both
def test_three_stages_have_the_same_row_norms(pushdown, database):
    table = people(3_000)
    source = Postgres(database, ingested(database, table), pushdown=pushdown)
    here, there = (DPLinearRegression(**FIT, stages=3).fit_source(own, "income").release_ for own in (table, source))
    assert here.norms.event.of_norms
    assert here.norms == there.norms


@both
def test_a_lost_connection_is_told(pushdown, database, execute, monkeypatch):
    """Between two readings; so no row is kept in memory after the first, as those of so small a table would be."""
    monkeypatch.setattr(kept, "_MOST", 0)
    name, ended = ingested(database, people(3_000)), []

    def cut_off(fraction):
        if fraction == 1.0 and not ended:
            mine = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
            ended.append(execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {mine}"))

    model = DPLinearRegression(**FIT)
    with pytest.raises(DataError, match="Reading from postgresql://local/postgres failed") as caught:
        model.fit_source(Postgres(database, name, pushdown=pushdown), "income", progress=cut_off)
    assert ended
    assert not hasattr(model, "release_")
    assert "SELECT" not in full_text(caught.value).rpartition("DataError")[2]


@both
def test_control_c_cancels_the_query(pushdown, database, execute, interrupted):
    name = ingested(database, people(100))
    slow = f"SELECT *, pg_sleep(60 * age / age) IS NULL AS slow FROM {name}"
    query = f"SELECT age, score, count, income FROM ({slow}) AS s WHERE NOT slow"
    active = "pid <> pg_backend_pid() AND state = 'active' AND query LIKE '%pg_sleep%'"

    def running():
        return execute(f"SELECT count(*) FROM pg_stat_activity WHERE {active}").fetchone()[0] > 0

    source = Postgres(database, query, pushdown=pushdown)
    interrupted(running)
    with pytest.raises(KeyboardInterrupt):
        Moments.from_source(source, NUMBERS)
    assert not running()


@pytest.mark.parametrize(
    ("address", "rows", "why"),
    [
        (f"postgresql://analyst:{PASSWORD}@127.0.0.1:1/clinic", "visits", "cannot be reached"),
        ("{}", "no_such_table", "no such table"),
        ("{}", "SELECT nothing FROM pg_class", "column that is not there"),
        ("{}", "SELECT FROM WHERE", "not valid SQL"),
    ],
)
def test_errors_say_why_and_no_password(address, rows, why, database):
    with pytest.raises(DataError, match=why) as caught:
        Moments.from_source(Postgres(address.replace("{}", database), rows), NUMBERS)
    assert PASSWORD not in full_text(caught.value)


@pytest.mark.parametrize("pushdown", [False, True])
def test_a_statement_that_took_too_long_is_told_as_one(pushdown, database, execute):
    table = ingested(database, people(1_000))
    waiting = f"SELECT *, pg_sleep(0.01) IS NULL AS slow FROM {table}"
    slow = f"SELECT age, score, count, income FROM ({waiting}) AS s WHERE NOT slow"
    limited = f"{database}&options=-cstatement_timeout%3D60"
    with pytest.raises(DataError, match=r"took longer than the server's statement_timeout allows") as caught:
        Moments.from_source(Postgres(limited, slow, pushdown=pushdown), NUMBERS)
    assert "SELECT" not in str(caught.value)


def test_a_password_is_never_shown(database):
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE analyst LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    address = database.replace("discreet@", f"analyst:{PASSWORD}@")
    source = Postgres(address, ingested(database, people(2_000)))
    model = DPLinearRegression(**FIT).fit_source(source, "income")
    shown = f"{source!r} {model.certificate_.to_dict()} {model.results_.summary()} {vars(model)}"
    assert PASSWORD not in shown
    with pytest.raises(TypeError, match="password"):
        pickle.dumps(source)


def test_arguments():
    with pytest.raises(ParameterError, match="postgresql://"):
        Postgres("mysql://host/db", "t")
    with pytest.raises(ParameterError, match="name of a table"):
        Postgres("postgresql://host/db", " ")
    with pytest.raises(ParameterError, match="Name a table or a query"):
        Moments.from_source("postgresql://host/db", NUMBERS)
