"""A worked example: a new statistic is one class, in a file of `statistics/`, and a question that asks for it.

Sums of absolute values stand for any statistic that products of columns do not hold. What the class does not tell has a
default: words in certificates, exact sums over rows anywhere, checks of files, the loss of each row, of each person.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tables import unit_rows

from discreet import Domain, per_instance
from discreet.data import worker
from discreet.data.engines.pushdown import PushdownSource
from discreet.data.passes.row_sums import RowSumsPass, Summed
from discreet.data.reading import Unread
from discreet.data.row_sums import row_sums
from discreet.domain import Numeric
from discreet.domain.encoding import ONE
from discreet.errors import FileFormatError, ParameterError
from discreet.gate.moments import Want, block_noise, calibrate, exact_blocks, noisy_blocks
from discreet.gate.session import Session, promised
from discreet.privacy import sensitivity, steps
from discreet.privacy.events.gaussian import Block, GaussianEvent
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


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """In the table of statistics, where a file of `statistics/` enters its own by `registered`."""
    monkeypatch.setitem(STATISTICS, AbsoluteSums.name, AbsoluteSums())
    monkeypatch.setitem(steps.STEPS, "AbsoluteSums", (AbsoluteSums.name,))


def question(names):
    """What a recipe asks for: the statistic by name, what it is about, and its share of the budget."""
    return [Want(AbsoluteSums.name, tuple(names), (), 1.0)]


def release(table, domain, names, neighbors="add-remove", random_state=None):
    """The way of every release: noise for a promise, exact sums, a charge, noise, a certificate."""
    session = Session(promised(1.0, 1e-6, None, neighbors), "AbsoluteSums", None, random_state)
    blocks = calibrate(question(names), domain, neighbors, session.mu)
    event = GaussianEvent(sensitivity.mu(blocks, domain, neighbors), tuple(blocks))
    certificate, noise = session.certify(domain, event), block_noise(blocks, domain.unit)
    exact = exact_blocks(row_sums(Unread.of(table, domain), blocks), blocks)
    entropy = session.charge(domain, mu=event.mu, epsilon=certificate.epsilon)
    return PrivateMoments(session.commit(certificate), noisy_blocks(exact, noise, entropy))


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
    released = release(table, DOMAIN, NAMES, neighbors)
    assert all(finding.ok for finding in released.certificate.check())
    assert "sums of |x|" in released.certificate.words()
    assert impossible(released) == []
    released.save(tmp_path / "toy.json")
    loaded = PrivateMoments.load(tmp_path / "toy.json")
    ((block, values),) = loaded.arrays.items()
    Z = unit_rows(DOMAIN, table)[:, DOMAIN.indices(NAMES)]
    assert loaded.certificate == released.certificate
    assert np.abs(values - np.abs(Z).sum(axis=0)).max() < 6 * block.sd
    assert block.kind.plausible(3000, block.kind.shape(block)).tolist() == [1500.0] * 3


def test_a_file_that_names_an_unknown_statistic_is_refused(monkeypatch):
    facts = Block(AbsoluteSums.name, NAMES, (), 1.0).to_dict()
    assert Block.from_dict(facts).name == "sums of |x|"
    monkeypatch.delitem(STATISTICS, AbsoluteSums.name)
    with pytest.raises(FileFormatError, match="unknown kind"):
        Block.from_dict(facts)


def test_values_that_no_table_has_are_found():
    released = release(people(), DOMAIN, NAMES)
    (part,) = released.values[0]
    negative = type(part)(part.exponent, tuple(-q for q in part.integers))
    (why,) = impossible(PrivateMoments(released.certificate, ((negative,),)))
    assert why.startswith("sums of |x|: a value that is never below 0")


# ---------------------------------------------------------------- exact sums, wherever the rows are


def exact(A, names, domain):
    """In Python's integers."""
    return [sum(abs(int(z)) for z in A[:, place]) << 20 for place in domain.indices(names)]


def test_its_sums_are_exact_here_and_on_workers():
    table, block = people(20_000), Block(AbsoluteSums.name, NAMES, (), 1.0)
    A = unit_rows(DOMAIN, table) * ONE
    ((values,),) = exact_blocks(row_sums(Unread.of(table, DOMAIN, 2), [block]), [block])
    assert values.tolist() == exact(A, NAMES, DOMAIN)
    what = RowSumsPass(DOMAIN, (Summed(block.statistic, block.rows, block.columns),))
    parts = pa.Table.from_pandas(table).to_batches(max_chunksize=7000)
    found = worker.sums(what, [worker.answer(worker.task(what), [part]) for part in parts])
    assert ((found.high << 32) + found.low)[0].tolist() == [20_000 << 40, *values.tolist()]


def test_its_weighted_sums_are_exact():
    domain = Domain({"a": (-1, 1), "b": (-3, 5)}).with_unit(weights="w", largest_weight=4.0)
    table = people(500).assign(w=np.random.default_rng(1).uniform(0, 4, 500))
    block = Block(AbsoluteSums.name, ("a", "b"), (), 1.0)
    sums = row_sums(Unread.of(table, domain), [block])
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
    released = release(table, DOMAIN, NAMES, random_state=1)
    (block,) = released.blocks
    lengths = np.linalg.norm(np.abs(unit_rows(DOMAIN, table))[:, DOMAIN.indices(NAMES)], axis=1)
    found = per_instance.losses(table, released)
    assert np.sqrt(found.measured[0].values) == pytest.approx(lengths / block.sd, rel=1e-9)


def test_a_row_that_is_replaced_loses_what_it_moves_and_no_more_than_everybody():
    table = people(50)
    released = release(table, DOMAIN, NAMES, "replace-one", random_state=1)
    (block,) = released.blocks
    Z = np.abs(unit_rows(DOMAIN, table))[:, DOMAIN.indices(NAMES)]
    given = per_instance.losses(table, released, replacement=table[:1])
    assert np.sqrt(given.measured[0].values) == pytest.approx(
        np.linalg.norm(Z - Z[0], axis=1) / block.sd, rel=1e-9, abs=1e-12
    )
    worst = per_instance.losses(table, released)
    assert np.allclose(worst.measured[0].values, released.certificate.events[0].mu ** 2)
