"""A formula whose value is NaN for one row alone was refused, unpaid, where that row was there, and the table closed.

Ranges of expressions are exact fractions and values are float64, so a value could overflow, vanish or be no number
although its range was accepted. Now a derived value is never refused: what lies beyond its range is moved to the
nearest end, NaN to the middle, and numpy says nothing of it, whatever the caller asked it to say.
"""

import importlib.util
import itertools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Domain, DPLinearRegression, DPLogisticRegression, Moments, Postgres, formula, release
from discreet.data import worker
from discreet.data.engines.base import Engine
from discreet.domain.encoding import ONE, Encoder
from discreet.errors import DiscreetError, DiscreetWarning, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")

AGE, WEALTH = 44.0, 71234.56
POINT = "1e-250*1e-250/(((age-44)^2 + (wealth-71234.56)^2 + 1e-300)*1e-200)"
"""In (0, 1] by its range; 0/0 in float64 where age is 44 and wealth 71234.56, and nowhere else."""

ATTACK = f"income ~ age + I({POINT})"
DOMAIN = Domain(
    {
        "age": (18, 90),
        "wealth": (0, 1e6),
        "day": ("2000-01-01", "2030-01-01"),
        "sex": ["F", "M"],
        "income": (0, 100),
    }
)
OTHERS = {
    "0/0": f"I({POINT})",
    "to the middle of a function": f"log(1 + {POINT})",
    "of a spline": f"bs({POINT}, knots=[0.3, 0.30000001, 0.5])",
    "of a natural spline": f"cr({POINT}, df=5)",
    "of polynomials": f"poly({POINT}, 9)",
    "times a category": f"sex:I({POINT})",
    "to a power": f"I({POINT})^2",
    "x/0": "I(1e-200*1e-100/((age-44)^2 + 1e-300))",
    "0 times infinity": "I((age-44)^2*(1e-200*1e-200/(((age-44)^2 + 1e-200)*1e-200)))",
    "a root of less than 0": "sqrt((age + 1e17) - 1e17 - 18)",
    "underflow": "I((age-44)*1e-200*1e-200*1e200*1e200)",
    "overflow": "I((wealth*1e200)/(1 + wealth*1e200))",
    "an exponential": "exp(1e-250*1e-250*wealth/(((age-44)^2 + 1e-300)*1e-200)/1e6)",
    "a date": "I(1e-250*1e-250/(((day - 14975)^2 + 1e-300)*1e-200))",
}


def people(rows=400, *, there):
    """Made-up people, one of whom may be the one that is asked for."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, rows), "wealth": rng.uniform(0, 1e6, rows)})
    frame["day"] = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 10_000, rows), unit="D")
    frame["sex"], frame["income"] = rng.choice(["F", "M"], rows), rng.uniform(0, 100, rows)
    if there:
        frame.loc[7, ["age", "wealth"]] = AGE, WEALTH
        frame.loc[7, "day"] = pd.Timestamp("2011-01-01")
    return frame


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def outcome(call):
    """What came of a call: the type of an error and its words, or that there is an answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DiscreetWarning)
        try:
            call()
        except Exception as error:
            return type(error).__name__, str(error)
    return "answered"


def fitted(text, source, method=DPLinearRegression, **options):
    return method(epsilon=1, delta=1e-6, domain=DOMAIN, random_state=0, **options).fit_formula(text, source)


# ---------------------------------------------------------------- the attack


def test_the_answer_does_not_tell_whether_the_row_is_there():
    assert outcome(lambda: fitted(ATTACK, people(there=True))) == "answered"
    assert outcome(lambda: fitted(ATTACK, people(there=False))) == "answered"


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_arithmetic_tells(name):
    text = f"income ~ age + {OTHERS[name]}"
    formula(text, DOMAIN)  # is accepted, so rows are read
    found = {outcome(lambda there=there: fitted(text, people(there=there))) for there in (True, False)}
    assert found == {"answered"}


def test_a_release_of_several_models_answers():
    def ask(there):
        return release(
            people(there=there), domain=DOMAIN, models=[ATTACK, "income ~ sex"], epsilon=1, delta=1e-6, random_state=0
        ).select(ATTACK)

    assert outcome(lambda: ask(True)) == outcome(lambda: ask(False)) == "answered"


def test_a_derived_outcome_answers():
    text = f"I({POINT}) ~ sex"
    assert {outcome(lambda there=there: fitted(text, people(there=there))) for there in (True, False)} == {"answered"}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_methods_that_keep_the_rows_answer(n_jobs):
    domain = Domain({**DOMAIN.columns, "ill": bool})

    def ask(there):
        frame = people(there=there).assign(ill=lambda own: own["age"] > 50)
        model = DPLogisticRegression(epsilon=1, delta=1e-6, domain=domain, random_state=0, stages=1, n_jobs=n_jobs)
        return model.fit_formula(f"ill ~ age + I({POINT})", frame)

    assert outcome(lambda: ask(True)) == outcome(lambda: ask(False)) == "answered"


@pytest.mark.parametrize("name", OTHERS)
def test_numpy_says_nothing_whatever_the_caller_asked_it_to_say(name):
    domain, frame = formula(f"income ~ age + {OTHERS[name]}", DOMAIN).domain, people(there=True)
    with np.errstate(all="raise"):
        assert outcome(lambda: Moments.from_source(frame, domain, n_jobs=2)) == "answered"


# ---------------------------------------------------------------- what the row becomes


def encoded(text, frame):
    """The lattice integers of some rows, with the caller's numpy at its strictest."""
    found = formula(text, DOMAIN).domain
    encoder = Encoder(found)
    days = (frame["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    values = {"age": frame["age"].to_numpy(), "wealth": frame["wealth"].to_numpy(), "day": days.to_numpy()}
    values |= {"sex": (frame["sex"] == "M").to_numpy().astype(np.int32), "income": frame["income"].to_numpy()}
    A = encoder.empty(len(frame))
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in found.columns:
            encoder.write(name, values, A)
        encoder.finish(A)
    return found, A


def test_the_row_gets_the_middle_of_the_range_and_sums_are_exact():
    frame = people(there=True)
    found, A = encoded(ATTACK, frame)
    (place,) = next(places for name, places in found.positions.items() if name.startswith("I("))
    assert A[7, place] == 0.0
    whole, rest = (Moments.from_source(own, found) for own in (frame, frame.drop(index=7)))
    z = A[7].astype(object).astype(int)
    every = np.arange(len(z))
    i, j = (grid.ravel() for grid in np.meshgrid(every, every, indexing="ij"))
    assert (whole.integers(i, j) - rest.integers(i, j) == [z[a] * z[b] for a, b in zip(i, j, strict=True)]).all()
    assert sum(int(q) ** 2 for q in A[7]) <= found.norm_squared_lattice(range(len(found.entries)))


NUMBERS = st.sampled_from(
    ["0", "1", "2", "0.1", "44", "71234.56", "1e-308", "1e-300", "1e-250", "1e-200", "1e-100", "1e100", "1e200",
     "1e250", "1e300", "5e-324", "14975"]
)  # fmt: skip
COLUMNS = st.sampled_from(["age", "wealth", "day", "(age - 44)", "(wealth - 71234.56)", "(day - 14975)"])


def joined(parts):
    pairs = st.tuples(parts, st.sampled_from("+-*/"), parts).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
    calls = st.tuples(
        st.sampled_from(["log({})", "log1p({})", "sqrt({})", "exp({})", "center({})", "scale({})", "poly({}, 3)[2]",
                         "bs({}, df=5)[2]", "cr({}, df=4)[3]", "({})^2", "({})^3"]), parts,
    ).map(lambda p: p[0].format(p[1]))  # fmt: skip
    return pairs | pairs | calls


TREES = st.recursive(NUMBERS | COLUMNS, joined, max_leaves=7)
CORNERS = pd.DataFrame(
    list(itertools.product([18.0, AGE, 54.0, 90.0], [0.0, WEALTH, 5e5, 1e6],
                           pd.to_datetime(["2000-01-01", "2011-01-01", "2030-01-01"]), ["F", "M"], [0.0, 100.0])),
    columns=["age", "wealth", "day", "sex", "income"],
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(TREES, st.sampled_from(["{}", "sex:{}", "age:{}", "{}^2"]))
def test_whatever_is_accepted_has_a_value_for_every_row(tree, shape):
    text = "income ~ " + shape.format(f"I({tree})")
    try:
        formula(text, DOMAIN)
    except DiscreetError:
        return  # from public facts alone
    found, A = encoded(text, CORNERS)
    assert np.isfinite(A).all()
    assert np.array_equal(np.rint(A), A)
    assert np.abs(A).max() <= ONE
    assert (np.einsum("ij,ij->i", A, A) <= found.norm_squared_lattice(range(len(found.entries)))).all()


# ---------------------------------------------------------------- every way in


class Here(Engine):
    """Workers of an engine, in this process."""

    def __init__(self, table):
        self._parts = [table.slice(0, 5), table.slice(5)]

    @property
    def schema(self):
        return self._parts[0].schema

    def answers(self, task, columns, report):
        return [worker.run(task, part.select(columns).to_batches()) for part in self._parts]


def offers(frame, folder):
    """The rows as everything that needs no server."""
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    table = arrow(frame.assign(day=frame["day"].dt.date))
    pq.write_table(table, folder / "people.parquet")
    frame.to_csv(folder / "people.csv", index=False)
    yield from (table, folder / "people.parquet", folder / "people.csv", polars.from_arrow(table))
    yield duckdb.connect().from_arrow(table)
    yield Here(table)
    dask = pytest.importorskip("dask.dataframe")
    yield dask.from_pandas(frame, npartitions=3, sort=False)


def test_every_container_and_engine_gives_the_same_answer(tmp_path):
    domain = formula(ATTACK, DOMAIN).domain
    frame = people(there=True)
    plain = Moments.from_source(frame, domain)
    i, j = np.triu_indices(len(domain.entries))
    for source in offers(frame, tmp_path):
        found = Moments.from_source(source, domain)
        assert (found.integers(i, j) == plain.integers(i, j)).all()


@pytest.mark.more
def test_postgres_streams_the_same_and_pushdown_reads_no_row(database_server):
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    domain = formula(ATTACK, DOMAIN).domain
    frame = people(there=True)
    with dbapi.connect(database_server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("the_point", arrow(frame), mode="create")
    plain, streamed = (Moments.from_source(own, domain) for own in (frame, Postgres(database_server, "the_point")))
    i, j = np.triu_indices(len(domain.entries))
    assert (streamed.integers(i, j) == plain.integers(i, j)).all()
    failing = "SELECT *, 1/(CASE WHEN age = 44 THEN 0 ELSE 1 END) AS bad FROM the_point"  # fails where rows are read
    for text in (ATTACK, "income ~ age:sex", f"I({POINT}) ~ sex"):
        with pytest.raises(ParameterError, match="does not make the derived column"):
            fitted(text, Postgres(database_server, failing, pushdown=True))


@pytest.mark.parametrize("there", [True, False])
def test_the_command_line_answers(run, tmp_path, there):
    people(there=there).drop(columns="day").to_csv(tmp_path / "people.csv", index=False)
    lines = ["[columns]", "age = { low = 18, high = 90 }", "wealth = { low = 0, high = 1000000 }"]
    lines += ['sex = { levels = ["F", "M"] }', "income = { low = 0, high = 100 }"]
    (tmp_path / "people.toml").write_text("\n".join(lines), encoding="utf-8")
    ran = run("fit", "people.csv", "--schema", "people.toml", "--epsilon", "1", "--delta", "1e-6", "--formula", ATTACK)
    assert ran.code == 0, ran.said
    assert "NaN" not in ran.said


# ---------------------------------------------------------------- the service


def service():
    path = Path(__file__).parents[1] / "service" / "conftest.py"
    spec = importlib.util.spec_from_file_location("service_of_attacks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("there", [True, False])
def test_the_service_answers_is_paid_and_stays_open(tmp_path, there):
    pytest.importorskip("fastapi")
    pytest.importorskip("sqlalchemy")
    own = service()
    config = own.set_up(tmp_path)
    lines = (tmp_path / "people.csv").read_text(encoding="utf-8").splitlines()
    lines[9] = "44,F,north,71234.56" if there else "44,F,north,71234.57"
    (tmp_path / "people.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    town = own.Town(config)
    text = "sex[M] ~ age + I(" + POINT.replace("wealth", "income") + ")"
    job = town.done(formula=text)
    assert job["state"] == "done"
    assert town.service.catalogue.is_open("people")
    assert sum(entry.facts["kind"] == "reserve" for entry in town.service.ledger.entries()) == 1


def test_a_bad_entry_beside_a_missing_one_does_not_wait_for_a_formula(tmp_path):
    """With missing="drop" a row that lacks its age was not looked at, until a formula left age out."""
    pytest.importorskip("fastapi")
    pytest.importorskip("sqlalchemy")
    own = service()
    config = own.set_up(tmp_path)
    (tmp_path / "people.toml").write_text('missing = "drop"\n' + own.SCHEMA, encoding="utf-8")
    lines = (tmp_path / "people.csv").read_text(encoding="utf-8").splitlines()
    lines[9] = ",F,Atlantis,20000"
    (tmp_path / "people.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    catalogue = own.Town(config).service.catalogue
    assert not catalogue.is_open("people")
    assert "Atlantis" not in catalogue.states()["people"]["problem"]
