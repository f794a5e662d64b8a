"""One table of fields: what it writes it reads again, what it describes it takes, and all else it refuses."""

import json
import math
from dataclasses import dataclass

import pytest
from distribution import schemas
from jsonschema import Draft202012Validator

from discreet.core import field_kinds as kinds
from discreet.core.fields import DEFINED, Fields, FileRecord, fixed
from discreet.errors import FileFormatError


@dataclass(frozen=True)
class Visit(FileRecord):
    """A toy of every kind of field."""

    place: str
    length: float
    notes: tuple[str, ...] = ()
    guide: str | None = None
    fee: int = 0
    paid: bool = True

    FIELDS = Fields(
        "toy_visit",
        "Somebody was somewhere.",
        "A visit lists a {name} that none has.",
        mechanism=fixed("on foot"),
        place=kinds.TEXT("Where."),
        length=kinds.ABOVE_0("How long."),
        shouted=kinds.TEXT(derived=True),
        notes=kinds.TEXTS(absent=()),
        guide=kinds.TEXT("Who.", absent=None, since=3),
        price=kinds.COUNT("What.", attribute="fee", absent=0, beside="guide"),
        paid=kinds.FLAG(absent=True, old=True),
    )

    @property
    def shouted(self):
        return self.place.upper()


PLAIN = Visit("Oslo", 2.0)
FULL = Visit("Rome", 0.5, ("hot",), "Ada", 7, paid=False)


@pytest.fixture(autouse=True, scope="module")
def _forgotten():
    yield
    for name in [name for name in DEFINED if name.startswith("toy_")]:
        del DEFINED[name]


def test_fields_are_written_in_their_order_and_those_that_are_absent_are_not():
    assert list(PLAIN.to_dict().items()) == [
        ("mechanism", "on foot"),
        ("place", "Oslo"),
        ("length", 2.0),
        ("shouted", "OSLO"),
        ("paid", True),
    ]
    assert list(FULL.to_dict()) == ["mechanism", "place", "length", "shouted", "notes", "guide", "price", "paid"]


@pytest.mark.parametrize("visit", [PLAIN, Visit("Bern", 1.0, guide="Ada"), FULL], ids=str)
def test_what_is_written_is_read_again(visit):
    assert Visit.from_dict(json.loads(json.dumps(visit.to_dict()))) == (visit if visit.guide else PLAIN)


def test_old_files_lack_what_later_ones_have():
    facts = {name: value for name, value in PLAIN.to_dict().items() if name not in ("paid", "shouted")}
    assert Visit.from_dict(facts) == PLAIN


def test_a_field_raises_the_version_of_the_files_that_have_it():
    assert [Visit.FIELDS.version(visit) for visit in (PLAIN, FULL)] == [1, 3]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("place", 1),
        ("place", None),
        ("length", 0),
        ("length", True),
        ("length", "2"),
        ("length", math.nan),
        ("length", math.inf),
        ("length", 10**400),
        ("notes", "hot"),
        ("notes", ["hot", 1]),
        ("notes", None),
        ("price", 1.0),
        ("price", -1),
        ("price", True),
        ("paid", 1),
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(name, value):
    with pytest.raises(FileFormatError, match=f"A visit lists a {name} that none has"):
        Visit.from_dict(FULL.to_dict() | {name: value})


def test_a_required_field_cannot_be_missing():
    with pytest.raises(KeyError):
        Visit.from_dict({"place": "Oslo"})


def test_a_table_within_another_describes_an_attribute():
    inside = Visit.FIELDS.inside("first")
    assert (inside["price"].attribute, inside["price"].beside) == ("first.fee", "first.guide")


# ---------------------------------------------------------------- the schema and the reader agree

VALUES = [
    *(None, True, False, 0, 1, -1, 2**60, 0.5, -0.5, 1e-300, "", "x", "add-remove", "a" * 64),
    *([], ["x"], [1], [1, 2.5], [[1.0], [2.0]], [["x"]], [None], [True], {}, {"x": 1}, {"x": "y"}),
]
KINDS = {
    "text": kinds.TEXT,
    "flag": kinds.FLAG,
    "whole": kinds.WHOLE,
    "count": kinds.COUNT,
    "number": kinds.NUMBER,
    "above 0": kinds.ABOVE_0,
    "from 0": kinds.FROM_0,
    "share": kinds.number(exclusiveMinimum=0, exclusiveMaximum=1),
    "at most 1": kinds.whole(0, maximum=1),
    "relation": kinds.NEIGHBORS,
    "names": kinds.NAMES,
    "pair": kinds.PAIR,
    "vector": kinds.VECTOR,
    "matrix": kinds.MATRIX,
    "number or none": kinds.maybe(kinds.NUMBER),
    "texts by name": kinds.by_name(kinds.TEXT),
    "object": kinds.OBJECT,
    "some texts": kinds.many(kinds.TEXT, minItems=1, maxItems=1),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_reader_takes_what_the_schema_describes(name):
    kind = KINDS[name]
    defs = {known: schemas.described(known) for known in ("neighbors", "names", "vector", "matrix")}
    described = Draft202012Validator({**kind.schema, "$defs": defs})
    empty = [[], [[]]] if name == "matrix" else []
    differing = [value for value in VALUES if value not in empty and kind.fits(value) != described.is_valid(value)]
    assert not differing


def test_the_schema_of_files_is_that_of_the_tables():
    assert schemas.FILE.read_text(encoding="utf-8") == schemas.page(), "write it again: make schemas"


def test_a_schema_refuses_what_later_versions_brought():
    refused = schemas._newer({"$ref": "#/$defs/toy_visit"}, 3, frozenset())
    assert refused == {"properties": {"guide": False}}
    assert schemas._newer({"items": {"$ref": "#/$defs/toy_visit"}}, 2, frozenset()) == {}
