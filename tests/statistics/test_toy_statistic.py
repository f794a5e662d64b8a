"""A worked example: a new statistic is one class, in a file of `statistics/`, and a recipe that asks for it.

Sums of absolute values stand for any statistic that products of columns do not hold. What the class does not tell has a
default: words in certificates, exact sums over rows anywhere, checks of files, the loss of each row.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tables import unit_rows

from discreet import Domain, Moments, per_instance
from discreet.data import worker
from discreet.data.engines.pushdown import PushdownSource
from discreet.data.passes.row_sums import RowSumsPass, Summed
from discreet.data.reading import Table
from discreet.data.row_sums import row_sums
from discreet.data.stages import Readings
from discreet.domain import Numeric
from discreet.domain.encoding import ONE
from discreet.drivers.run import run
from discreet.drivers.simulate import MadeUpSource, simulate
from discreet.drivers.sources import StagedSource
from discreet.errors import FileFormatError, ParameterError
from discreet.gate.session import Session, promised
from discreet.gate.statistics import exact_blocks
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block
from discreet.recipes import methods
from discreet.recipes.base import Facts, Recipe, Spending
from discreet.recipes.noise import StatisticRequest
from discreet.released.possible import impossible
from discreet.results.private_moments import PrivateMoments
from discreet.statistics import space as spaces
from discreet.statistics.base import STATISTICS, Statistic

NEIGHBORS = ("add-remove", "replace-one")


class AbsoluteSums(Statistic):
    """Sums of |x_j| over rows."""

    name = "absolute sums"
    words = "sums of |x|"

    def sensitivity(self, block, space, neighbors):
        """|x| has the norm of x; for replace-one both vectors are not negative, and no entry exceeds 1."""
        R2 = spaces.norm_squared(block.rows, space)
        return math.sqrt(R2 if neighbors == "add-remove" else max(R2, min(len(block.rows), 2 * R2)))

    def factors(self, A, X, Y):
        """|x| times the constant."""
        return [(np.abs(A[:, X]), np.repeat(A[:, :1], len(X), axis=1))]

    def plausible(self, n, shape, names=()):
        """Half of the range."""
        return np.full(shape, n / 2)


@dataclass(frozen=True)
class PositiveParts(Recipe):
    """Sums of x, and then of |x|: half of both together are the sums of what is above 0."""

    columns: tuple[str, ...]

    name = "positive parts"

    def steps(self):
        """Two questions; all of mu^2 that the first one leaves is for the second."""
        spending = Spending(self.facts)
        signed, absolute = (StatisticRequest(name, self.columns, (), 1.0) for name in ("sums", AbsoluteSums.name))
        _, (sums,) = yield from spending.statistics([signed], spending.share(0.5))
        _, (sizes,) = yield from spending.statistics([absolute], spending.left())
        return (sums + sizes) / 2

    @property
    def options(self):
        """The columns."""
        return {"columns": list(self.columns)}

    @classmethod
    def listed(cls, facts, events, options):
        """By its options."""
        return cls(facts, tuple(options["columns"]))


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """In the tables of statistics and of methods, as a file of `statistics/` and one of `recipes/` would be."""
    monkeypatch.setitem(STATISTICS, AbsoluteSums.name, AbsoluteSums())
    monkeypatch.setitem(methods.METHODS, "PositiveParts", (PositiveParts.listed,))


def release(table, domain, names, neighbors="add-remove", random_state=None):
    """By the driver of every release."""
    session = Session(promised(1.0, 1e-6, None, neighbors), "PositiveParts", None, random_state)
    recipe = PositiveParts(Facts(domain, session.promise), tuple(names))
    found = run(recipe, StagedSource(Readings.of(Table.of(table, domain))), session)
    return PrivateMoments(found.certificate, found.values), found.result


DOMAIN = Domain({"a": (-1, 1), "b": (-3, 5), "c": ["x", "y"]})
NAMES = ("a", "b", "c[y]")


def people(rows=3000):
    draw = np.random.default_rng(3)
    return pd.DataFrame(
        {"a": draw.uniform(-1, 1, rows), "b": draw.normal(1, 3, rows), "c": draw.choice(["x", "y"], rows)}
    )


# ---------------------------------------------------------------- sensitivity by brute force


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    "domain",
    [DOMAIN, Domain({"a": (-2, 1), "b": (0, 9)}), Domain({"a": (-9, 9), "b": (-9, 9)}, data_norm=2.0)],
    ids=["category", "numbers", "ball"],
)
def test_no_neighbours_move_it_further_than_its_sensitivity(domain, neighbors):
    names = tuple(entry.name for entry in domain.entries[1:])
    block, draw = Block(AbsoluteSums.name, names, (), 1.0), np.random.default_rng(0)
    ends = [
        [column.low, (column.low + column.high) / 2, column.high, *draw.uniform(column.low, column.high, 6)]
        if isinstance(column, Numeric)
        else list(column.levels)
        for column in domain.columns.values()
    ]
    values = dict(zip(domain.columns, zip(*itertools.product(*ends), strict=True), strict=True))
    Z = np.abs(unit_rows(domain, {name: np.array(own) for name, own in values.items()}))[:, domain.indices(names)]
    claimed = sensitivity.sensitivity(block, domain, neighbors)
    moved = np.linalg.norm(Z, axis=1)
    if neighbors == "replace-one":
        moved = np.linalg.norm(Z[:, None] - Z, axis=2)
    assert 0.6 * claimed < moved.max() <= claimed


# ---------------------------------------------------------------- a release of it


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_its_release_has_a_certificate_that_checks_and_comes_back_from_its_file(neighbors, tmp_path):
    table = people()
    released, positive = release(table, DOMAIN, NAMES, neighbors)
    assert all(finding.ok for finding in released.certificate.check())
    assert "sums of |x|" in released.certificate.words()
    assert impossible(released) == []
    released.save(tmp_path / "toy.json")
    loaded = PrivateMoments.load(tmp_path / "toy.json")
    _, (block, values) = loaded.arrays.items()
    Z = unit_rows(DOMAIN, table)[:, DOMAIN.indices(NAMES)]
    assert loaded.certificate == released.certificate
    assert np.abs(values - np.abs(Z).sum(axis=0)).max() < 6 * block.sd
    assert positive == pytest.approx(Z.clip(0).sum(axis=0), abs=6 * block.sd)


def test_a_list_of_events_that_leaves_one_out_is_found():
    certificate = release(people(), DOMAIN, NAMES)[0].certificate
    left = replace(certificate, events=certificate.events[1:])
    assert not all(finding.ok for finding in left.check())


def test_made_up_people_have_it_too():
    A = unit_rows(DOMAIN, people(400)) * ONE
    people_ = MadeUpSource(DOMAIN, lambda domain: A, np.ones(400), lambda domain: Moments.from_batch(A, domain))
    session = Session(promised(1.0, 1e-6, None, "add-remove"), "PositiveParts", None, 1)
    found = simulate(PositiveParts(Facts(DOMAIN, session.promise), NAMES), people_, session)
    expected = (A / ONE)[:, DOMAIN.indices(NAMES)].clip(0).sum(axis=0)
    assert found.result == pytest.approx(expected, abs=6 * found.certificate.events[1].blocks[0].sd)


def test_a_file_that_names_an_unknown_statistic_is_refused(monkeypatch):
    facts = Block(AbsoluteSums.name, NAMES, (), 1.0).to_dict()
    assert Block.from_dict(facts).name == "sums of |x|"
    monkeypatch.delitem(STATISTICS, AbsoluteSums.name)
    with pytest.raises(FileFormatError, match="unknown kind"):
        Block.from_dict(facts)


def test_values_that_no_table_has_are_found():
    released, _ = release(people(), DOMAIN, NAMES)
    rows, (part,) = released.values
    negative = replace(part, integers=tuple(-q for q in part.integers))
    (why,) = impossible(PrivateMoments(released.certificate, (rows, (negative,))))
    assert why.startswith("sums of |x|: a value that is never below 0")


# ---------------------------------------------------------------- exact sums, wherever the rows are


def exact(A, names, domain):
    """In Python's integers."""
    return [sum(abs(int(z)) for z in A[:, place]) << 20 for place in domain.indices(names)]


def test_its_sums_are_exact_here_and_on_workers():
    table, block = people(20_000), Block(AbsoluteSums.name, NAMES, (), 1.0)
    A = unit_rows(DOMAIN, table) * ONE
    ((values,),) = exact_blocks(row_sums(Table.of(table, DOMAIN, 2), [block]), [block])
    assert values.tolist() == exact(A, NAMES, DOMAIN)
    what = RowSumsPass(DOMAIN, (Summed(block.statistic, block.rows, block.columns),))
    parts = pa.Table.from_pandas(table).to_batches(max_chunksize=7000)
    found = worker.sums(what, [worker.run(worker.task(what), [part]) for part in parts])
    assert ((found.high << 32) + found.low)[0].tolist() == [20_000 << 40, *values.tolist()]


def test_its_weighted_sums_are_exact():
    domain = Domain({"a": (-1, 1), "b": (-3, 5)}).with_unit(weights="w", largest_weight=4.0)
    table = people(500).assign(w=np.random.default_rng(1).uniform(0, 4, 500))
    block = Block(AbsoluteSums.name, ("a", "b"), (), 1.0)
    sums = row_sums(Table.of(table, domain), [block])
    (values,) = sums.integers(block)
    Z = np.abs(unit_rows(domain, table))[:, 1:]
    assert values.astype(float) / 2**60 == pytest.approx(Z.T @ (table.w / 4), rel=1e-5)
    assert sums.count == math.ceil(table.w.sum() / 4)


def test_a_database_that_sums_up_refuses_it():
    source = object.__new__(PushdownSource)
    source._checked, source._transaction, source.domain = True, None, DOMAIN
    with pytest.raises(ParameterError, match="leave out pushdown"):
        source.sums(RowSumsPass(DOMAIN, (Summed(AbsoluteSums.name, NAMES, ()),)), lambda done: None)


# ---------------------------------------------------------------- losses of rows, groups and persons


def test_each_row_loses_what_it_adds():
    table = people(200)
    released, _ = release(table, DOMAIN, NAMES, random_state=1)
    _, block = released.blocks
    row_norms = np.linalg.norm(np.abs(unit_rows(DOMAIN, table))[:, DOMAIN.indices(NAMES)], axis=1)
    found = per_instance.losses(table, released)
    assert np.sqrt(found.measured[1].values) == pytest.approx(row_norms / block.sd, rel=1e-9)


def test_a_row_that_is_replaced_loses_what_it_moves_and_no_more_than_everybody():
    table = people(50)
    released, _ = release(table, DOMAIN, NAMES, "replace-one", random_state=1)
    _, block = released.blocks
    Z = np.abs(unit_rows(DOMAIN, table))[:, DOMAIN.indices(NAMES)]
    given = per_instance.losses(table, released, replacement=table[:1])
    assert np.sqrt(given.measured[1].values) == pytest.approx(
        np.linalg.norm(Z - Z[0], axis=1) / block.sd, rel=1e-9, abs=1e-12
    )
    worst = per_instance.losses(table, released)
    assert np.allclose(worst.measured[1].values, released.certificate.events[1].mu ** 2)
