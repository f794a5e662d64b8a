"""Under a collation that ignores case a row had one for each of 44 spellings of its level: epsilon 15.1, promised 1.

With pushdown, levels are now compared byte by byte, and one CASE yields the one place that a row has among the levels,
so that no comparison, however it is defined, can put a row at two. Nothing depends on search paths or settings. The
sums are those of one machine, to the last bit, and so are those of streamed rows.
"""

import contextlib
import itertools
import unicodedata
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, DPLinearRegression, Moments, Postgres
from discreet.data.reading import Table
from discreet.errors import DiscreetError

pytest.importorskip("adbc_driver_postgresql", reason="no driver: pip install 'discreet[postgres]'")

_NUMBERS = itertools.count()
SPELLINGS = ["".join(letters) for letters in itertools.product("aAàÀ", "bB", "cC", "dD", "eE")][:44]
both = pytest.mark.parametrize("pushdown", [True, False], ids=["pushdown", "streamed"])


@pytest.fixture(scope="module")
def server(database_server):
    """An address, and a function that runs SQL there; in a database of its own, with odd collations."""
    import psycopg

    with psycopg.connect(database_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE collations TEMPLATE template0 ENCODING 'UTF8'")
    address = database_server.replace("/postgres?", "/collations?")
    with contextlib.closing(psycopg.connect(address, autocommit=True)) as connection:
        for name, level in (("letters", 1), ("accents", 2)):
            options = f"provider = icu, locale = 'und-u-ks-level{level}', deterministic = false"
            connection.execute(f"CREATE COLLATION {name} ({options})")
        connection.execute("CREATE DOMAIN spelling AS text COLLATE letters")
        connection.execute("CREATE DOMAIN spelling_of_spelling AS spelling")
        connection.execute("CREATE TYPE mood AS ENUM ('Ab', 'aB', 'it''s \\ E')")
        connection.execute("CREATE SCHEMA odd; CREATE TYPE odd.float8 AS (a int)")
        connection.execute("CREATE FUNCTION odd.same(text, text) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT true'")
        connection.execute("CREATE OPERATOR odd.= (FUNCTION = odd.same, LEFTARG = text, RIGHTARG = text)")
        wild = "odd.round(double precision) RETURNS double precision LANGUAGE sql AS 'SELECT 1e6::double precision'"
        connection.execute(f"CREATE FUNCTION {wild}")
        yield address, connection.execute


def made(execute, columns, rows):
    """The name of a new table with these rows."""
    name = f"people{next(_NUMBERS)}"
    execute(f"CREATE TABLE {name} ({columns})")
    for row in rows:
        execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)
    return name


def ones(moments, column):
    """How many ones of the levels of a column there are, in all rows."""
    places = moments.domain.positions[column]
    return sum(moments.integers(places, places).tolist()) / 2**40


# ---------------------------------------------------------------- levels


@both
@pytest.mark.parametrize("collation", ["letters", "accents"])
def test_a_row_has_one_level_whatever_the_collation(collation, pushdown, server):
    address, execute = server
    name = made(execute, f"g text COLLATE {collation}, y float8", [("ABCDE", 0.5), ("abcde", 0.25), ("àbcde", 1)])
    domain = Domain({"g": SPELLINGS, "y": (0, 1)})
    here = pa.table({"g": ["ABCDE", "abcde", "àbcde"], "y": [0.5, 0.25, 1.0]})
    there = Moments.from_source(Postgres(address, name, pushdown=pushdown), domain)
    assert ones(there, "g") == 3
    assert there == Moments.from_source(here, domain)


@both
def test_a_level_in_another_spelling_is_not_declared(pushdown, server):
    address, execute = server
    name = made(execute, "g text COLLATE letters, y float8", [("Yes", 0.5), ("no", 0.5)])
    with pytest.raises(DiscreetError, match="category that is not declared") as caught:
        Moments.from_source(Postgres(address, name, pushdown=pushdown), Domain({"g": ["yes", "no"], "y": (0, 1)}))
    assert "Yes" not in str(caught.value)


@both
def test_a_fit_has_the_bits_of_one_machine(pushdown, server):
    address, execute = server
    rng = np.random.default_rng(0)
    levels = rng.choice(["a", "A", "à", "b"], 400).tolist()
    y = (rng.normal(0, 0.1, 400) + [{"a": 0.2, "A": 0.4, "à": 0.6, "b": 0.8}[level] for level in levels]).tolist()
    name = made(execute, "g text COLLATE letters, y float8", list(zip(levels, y, strict=True)))
    domain = Domain({"g": ["a", "A", "à", "b"], "y": (0, 1)})
    model = DPLinearRegression(epsilon=3, delta=1e-6, domain=domain, random_state=1)
    there = model.fit_source(Postgres(address, name, pushdown=pushdown), "y").coef_
    assert np.array_equal(there, model.fit_source(pa.table({"g": levels, "y": y}), "y").coef_)


TEXTS = {
    "text": "text COLLATE letters",
    "varchar": "varchar(40) COLLATE letters",
    "char": "char(12) COLLATE letters",
    "name": "name COLLATE letters",
    "domain": "spelling",
    "domain over a domain": "spelling_of_spelling",
    "enum": "mood",
}


@both
@pytest.mark.parametrize("kind", TEXTS)
def test_types_of_text(kind, pushdown, server):
    address, execute = server
    values = ["Ab", "aB", "it's \\ E"]
    name = made(execute, f"g {TEXTS[kind]}, y float8", list(zip(values, (0.1, 0.2, 0.3), strict=True)))
    domain = Domain({"g": [*values, "AB", "ab", "NA", 'a"b'], "y": (0, 1)})
    there = Moments.from_source(Postgres(address, name, pushdown=pushdown), domain)
    assert there == Moments.from_source(pa.table({"g": values, "y": [0.1, 0.2, 0.3]}), domain)
    assert ones(there, "g") == 3


@both
def test_citext_compares_byte_by_byte_here(pushdown, server):
    address, execute = server
    if not execute("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'").fetchone():
        pytest.skip("this server has no citext: apt-get install postgresql-contrib")
    execute("CREATE EXTENSION IF NOT EXISTS citext")
    name = made(execute, "g citext, y float8", [("Ab", 0.5), ("ab", 0.25)])
    domain = Domain({"g": ["ab", "Ab", "AB"], "y": (0, 1)})
    there = Moments.from_source(Postgres(address, name, pushdown=pushdown), domain)
    assert there == Moments.from_source(pa.table({"g": ["Ab", "ab"], "y": [0.5, 0.25]}), domain)


@both
def test_normal_forms_and_spaces_are_letters_as_they_stand(pushdown, server):
    address, execute = server
    values = [unicodedata.normalize(form, "é") for form in ("NFC", "NFD")] + ["e", "e ", " e", "e\u200d"]
    name = made(execute, "g text COLLATE letters, y float8", [(value, 0.5) for value in values])
    domain = Domain({"g": [*values, "e\0"], "y": (0, 1)})
    there = Moments.from_source(Postgres(address, name, pushdown=pushdown), domain)
    assert there == Moments.from_source(pa.table({"g": values, "y": [0.5] * len(values)}), domain)
    assert ones(there, "g") == len(values)


@both
def test_words_that_files_take_for_missing_are_levels_as_they_stand(pushdown, server):
    address, execute = server
    values = ["NA", "na", "null", "NULL", ""]
    name = made(execute, "g text COLLATE letters, y float8", [(value, 0.5) for value in values] + [(None, 0.5)])
    domain = Domain({"g": values, "y": (0, 1)}, missing="drop")
    there = Moments.from_source(Postgres(address, name, pushdown=pushdown), domain)
    assert there == Moments.from_source(pa.table({"g": [*values, None], "y": [0.5] * 6}), domain)
    assert ones(there, "g") == 5


@pytest.mark.parametrize(("kind", "level", "value"), [("float8", 2**53 + 1, 2.0**53), ("float4", 2**24 + 1, 2.0**24)])
def test_numbers_that_a_database_takes_for_equal(kind, level, value, server):
    """2^53 and 2^53 + 1 are the same float8, and a row was at both levels."""
    address, execute = server
    name = made(execute, f"g {kind}, y float8", [(value, 0.5)])
    domain = Domain({"g": [int(value), level], "y": (0, 1)})
    there = Moments.from_source(Postgres(address, name, pushdown=True), domain)
    assert ones(there, "g") == 1
    assert there == Moments.from_source(pa.table({"g": [value], "y": [0.5]}), domain)


@both
def test_levels_of_numeric_columns_are_those_of_float8(pushdown, server):
    address, execute = server
    name = made(execute, "g numeric, y float8", [("1.000000000000000000001", 0.5), ("2.00", 0.5)])
    domain = Domain({"g": [1, 2], "y": (0, 1)})
    there = Moments.from_source(Postgres(address, name, pushdown=pushdown), domain)
    assert there == Moments.from_source(pa.table({"g": [1.0, 2.0], "y": [0.5, 0.5]}), domain)


# ---------------------------------------------------------------- persons, dates and other types of text


def test_persons_are_told_apart_letter_by_letter(server):
    """Streamed rows: the database compares no person with another, and its collation does not matter."""
    address, execute = server
    values = ["ann", "Ann", "ANN ", "änn", "ann", "bob"]
    name = made(execute, "id text COLLATE letters, y float8", [(value, 0.5) for value in values])
    domain = Domain({"y": (0, 1)}, person="id", rows_per_person=1)
    there = Moments.from_source(Postgres(address, name), domain)
    assert there == Moments.from_source(pa.table({"id": values, "y": [0.5] * 6}), domain)
    assert there.integers([0], [0])[0] == 5 << 60
    with pytest.raises(DiscreetError, match="leave out pushdown"):
        Moments.from_source(Postgres(address, name, pushdown=True), domain)


@both
@pytest.mark.parametrize("declared", [("1920-01-01", "2010-12-31"), bool, [1, 2], (0, 9)], ids=str)
def test_text_is_never_read_as_something_else(declared, pushdown, server):
    address, execute = server
    name = made(execute, "g text COLLATE letters, y float8", [("2001-02-03", 0.5), ("TRUE", 0.5)])
    domain = Domain({"g": declared, "y": (0, 1)})
    words = []
    for source in (Postgres(address, name, pushdown=pushdown), pa.table({"g": ["2001-02-03"], "y": [0.5]})):
        with pytest.raises(DiscreetError, match="but the data hold category") as caught:
            Moments.from_source(source, domain)
        words.append(str(caught.value))
    assert words[0] == words[1]


# ---------------------------------------------------------------- operators, search paths and settings


def optioned(address, **settings):
    """The address with settings of the session."""
    return f"{address}&options={quote(' '.join(f'-c {name}={value}' for name, value in settings.items()), safe='')}"


@both
def test_an_operator_of_somebody_elses_is_not_used(pushdown, server):
    """A schema before pg_catalog in the search path, where everything equals everything and floats are text."""
    address, execute = server
    name = made(execute, "g text, y float8", [("a", 0.5), ("b", 0.25)])
    domain = Domain({"g": ["a", "b", "c"], "y": (0, 1)})
    source = Postgres(optioned(address, search_path="odd,pg_catalog,public"), name, pushdown=pushdown)
    there = Moments.from_source(source, domain)
    assert ones(there, "g") == 2
    assert there == Moments.from_source(pa.table({"g": ["a", "b"], "y": [0.5, 0.25]}), domain)


@both
def test_settings_of_a_session_change_nothing(pushdown, server):
    address, execute = server
    values = ["é\\n", "it's", "\\"]
    columns = "g text, y float8, d date, t timestamptz, n numeric, b bool"
    rows = [(value, 1 / 3, "2001-02-03", "2001-02-03 04:05:06.789+09", "0.1", True) for value in values]
    name = made(execute, columns, rows)
    dates = ("1990-01-01", "2010-01-01")
    domain = Domain({"g": values, "y": (0, 1), "d": dates, "t": dates, "n": (0, 1), "b": bool})
    settings = {
        "DateStyle": "German",
        "IntervalStyle": "sql_standard",
        "TimeZone": "Asia/Tokyo",
        "extra_float_digits": -15,
        "standard_conforming_strings": "off",
        "backslash_quote": "off",
        "bytea_output": "escape",
        "lc_numeric": "C",
        "client_encoding": "LATIN1",
        "transform_null_equals": "on",
        "search_path": "public",
    }
    plain, odd = (
        Moments.from_source(Postgres(own, name, pushdown=pushdown), domain)
        for own in (address, optioned(address, **settings))
    )
    assert plain == odd
    assert ones(odd, "g") == 3


@both
def test_a_database_whose_own_collation_ignores_case(pushdown, database_server):
    import psycopg

    with psycopg.connect(database_server, autocommit=True) as connection:
        if connection.info.server_version < 150000:
            pytest.skip("databases have had collations of ICU since PostgreSQL 15")
        own = f"ignoring{next(_NUMBERS)}"
        locale = "LOCALE_PROVIDER icu ICU_LOCALE 'und-u-ks-level1' LOCALE 'C.UTF-8' ENCODING 'UTF8'"
        connection.execute(f"CREATE DATABASE {own} TEMPLATE template0 {locale}")
    address = database_server.replace("/postgres?", f"/{own}?")
    with psycopg.connect(address, autocommit=True) as connection:
        name = made(connection.execute, "g text, y float8", [("Ab", 0.5), ("ab", 0.25)])
    domain = Domain({"g": ["ab", "Ab", "AB"], "y": (0, 1)})
    there = Moments.from_source(Postgres(address, name, pushdown=pushdown), domain)
    assert there == Moments.from_source(pa.table({"g": ["Ab", "ab"], "y": [0.5, 0.25]}), domain)


def test_bad_rows_are_found_under_any_collation(server):
    """A missing level is told as such, beside one that is not declared."""
    address, execute = server
    name = made(execute, "g text COLLATE letters, y float8", [(None, 0.5), ("Q", 0.5), ("a", float("nan"))])
    with pytest.raises(DiscreetError) as caught:
        Table.of(Postgres(address, name, pushdown=True), Domain({"g": ["a", "b"], "y": (0, 1)})).sums(_light())
    assert "'g' has missing values" in str(caught.value)
    assert "'g' holds a category that is not declared" in str(caught.value)


def _light():
    from discreet.data.passes.first_pass import FirstPass

    return FirstPass(Domain({"g": ["a", "b"], "y": (0, 1)}), ())
