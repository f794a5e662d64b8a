"""300 files of ledgers, damaged in every way that a disk or a careless copy damages files, and all that can be done.

Whatever is done ends, or is refused by an error of ours; and nothing that is charged afterwards is more than is left.
"""

import random
import shutil
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.ledger import Ledger, audit, copies, picture
from discreet.privacy.budget_parts import Cost

WHAT = {"method": "x", "columns": [], "formula": None}
OLD = Path(__file__).parents[1] / "files" / "ledger.0.2.0.zip"
SEEDS, AT_ONCE = 300, 30
PAID, LIMIT = 12, 16


def pay(place):
    paid = Ledger(place).account("clinic").reserve(Cost(0.25, 0.0), "add-remove", WHAT)
    paid.draw()
    paid.commit("c" * 64)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A ledger with its head, and one of 0.2.0 with its log."""
    folder = tmp_path_factory.mktemp("whole")
    Ledger.create(folder / "new").open("clinic", epsilon=4, delta=1e-6, others=(4.0, 1e-6))
    for _ in range(PAID):
        pay(folder / "new")
    with zipfile.ZipFile(OLD) as archive:
        for name in ("people.ledger", "people.ledger-wal"):
            (folder / name.replace("people.ledger", "old")).write_bytes(archive.read(name))
    return {name: (folder / name).read_bytes() for name in ("new", "new-head", "old", "old-wal")}


def damage(rng, content):
    """A file that was cut, filled with zeros or noise in one place, or has a changed byte."""
    content, at = bytearray(content), rng.randrange(len(content))
    size = rng.choice([1, 16, 512, 4096])
    how = rng.randrange(5)
    if how == 0:
        return bytes(content[:at])
    if how == 1:
        content[at : at + size] = bytes(len(content[at : at + size]))
    elif how == 2:
        content[at : at + size] = rng.randbytes(len(content[at : at + size]))
    elif how == 3:
        other = rng.randrange(len(content))
        content[at : at + size] = content[other : other + len(content[at : at + size])]
    else:
        content[at] ^= 1 << rng.randrange(8)
    return bytes(content)


def used(place, folder):
    """Everything that can be done with a ledger; the kinds of errors that are none of ours."""
    foreign = []
    for work in (
        pay,
        lambda place: Ledger(place).accounts(),
        lambda place: list(picture.stories(Ledger(place).scan())),
        lambda place: list(picture.releases(Ledger(place).scan)),
        lambda place: picture.history(Ledger(place).scan()),
        lambda place: audit.flaws(Ledger(place)),
        lambda place: copies.migrate(place),
        lambda place: copies.backup(place, folder / "copy"),
        lambda place: copies.restore(place, folder / "new.ledger"),
    ):
        try:
            work(place)
        except DiscreetError:
            pass
        except Exception as error:
            foreign.append(error)
    return foreign


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.more) for first in range(AT_ONCE, SEEDS, AT_ONCE))]
)
def test_no_damage_brings_an_error_that_is_none_of_ours(files, first, tmp_path):
    for seed in range(first, first + AT_ONCE):
        rng, here = random.Random(seed), tmp_path / str(seed)
        here.mkdir()
        name = rng.choice(["new", "new", "new-head", "old", "old-wal"])
        ledger = name.partition("-")[0]
        for one in files:
            if one.startswith(ledger):
                (here / one).write_bytes(damage(rng, files[one]) if one == name else files[one])
        assert used(here / ledger, here) == [], seed
        if ledger == "new":
            drawn(here / "new")
        shutil.rmtree(here)


def drawn(place):
    """Draw until it is refused: never more than is left."""
    count = 0
    try:
        while count <= LIMIT:
            pay(place)
            count += 1
        spent = Ledger(place).account("clinic").balance().spent.epsilon
    except DiscreetError:
        spent = Fraction(0)
    assert count <= LIMIT - PAID
    assert spent <= LIMIT * Fraction(1, 4)
