"""Every statistic as an object: general formulas against its own, and exact sums against those of products."""

import copy
import pickle

import numpy as np
import pytest
from small_table import DOMAIN, people
from tables import unit_rows

from discreet import Moments
from discreet.data.reading import Table
from discreet.data.row_sums import row_sums
from discreet.domain.coordinates import Coordinates
from discreet.errors import ParameterError
from discreet.gate.statistics import exact_blocks
from discreet.per_instance.stream import EncodedRows
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import stage_block
from discreet.privacy.events.gaussian import Block
from discreet.statistics.base import STATISTICS, Statistic, stage_statistics

X, Y = ("(intercept)", "age", "region[south]", "hours"), ("income",)
STAGE = Coordinates.rounded(
    ["(intercept)", "age"], ["income"], np.eye(2), np.zeros((2, 1)), 1.0, [[0.1, 0.5]], [1.0, 2.0]
)
OF_COLUMNS = sorted(kind.name for kind in STATISTICS.values() if kind.words)
PRODUCTS = [name for name in OF_COLUMNS if STATISTICS[name].of_products and STATISTICS[name].exact]


def block_of(name, layout="weighted"):
    kind = STATISTICS[name]
    return Block(name, X if kind.has_rows else (), () if kind.outcomes == "none" else Y, 1.0, layout)


def blocks():
    return [*map(block_of, PRODUCTS), block_of("gram", "uniform")]


def test_each_has_a_name_and_words_and_a_stage_releases_them_in_order():
    assert all(kind.name == name and (kind.words or kind.stage_words) for name, kind in STATISTICS.items())
    names = ["counts", "lengths", "gram", "inner", "information", "pair information", "cross", "squares", "meat"]
    assert [kind.name for kind in stage_statistics()] == names


@pytest.mark.parametrize("unit", [{}, {"weights": "w", "largest_weight": 3.0}], ids=["rows", "weights"])
def test_sums_over_rows_are_those_of_products(unit):
    frame = people(9000).assign(w=np.random.default_rng(0).uniform(0, 3, 9000))
    domain = DOMAIN.with_unit(**unit) if unit else DOMAIN
    own = list(map(block_of, PRODUCTS))
    moments, sums = Moments.from_source(frame, domain), row_sums(Table.of(frame, domain), own)
    assert sums.count == moments.count
    for block, parts, others in zip(own, exact_blocks(moments, own), exact_blocks(sums, own), strict=True):
        assert [part.tolist() for part in parts] == [part.tolist() for part in others], block


@pytest.mark.parametrize("block", blocks(), ids=lambda block: f"{block.statistic}-{block.layout}")
def test_losses_of_rows_are_those_of_the_vectors_that_they_add(block):
    kind, rows = block.kind, EncodedRows(unit_rows(DOMAIN, people(60)))
    w = rows.Z[7]
    for method, given in (("change", (rows,)), ("swap", (w, rows))):
        own, general = getattr(kind, method), getattr(Statistic, method)
        assert own(block, DOMAIN, *given) == pytest.approx(general(kind, block, DOMAIN, *given), abs=1e-12)
    assert (kind.swap(block, DOMAIN, w, rows) <= kind.most(block, DOMAIN, rows) + 1e-12).all()
    together = Statistic.group_change(kind, block, DOMAIN, rows.Z)
    assert kind.group_change(block, DOMAIN, rows.Z) == pytest.approx(together, rel=1e-12)
    assert kind.change(block, DOMAIN, rows).max() <= sensitivity.sensitivity(block, DOMAIN) ** 2
    assert kind.most(block, DOMAIN, rows).shape == (60,)


@pytest.mark.parametrize("kind", [k for k in stage_statistics() if not k.of_slopes], ids=lambda kind: kind.name)
def test_made_up_values_are_those_of_some_table(kind):
    block = stage_block(STAGE, kind.name, () if kind.outcomes == "none" else ("income",))
    shape = kind.shape(block, kind.bins(block, STAGE))
    values = kind.plausible(1000.0, shape, block.rows)
    assert values.shape == shape
    told = kind.rows_told(block, values)
    assert told is None or told[0] == 1000
    if kind.symmetric:
        assert np.linalg.eigvalsh(values)[0] > 0
    parts = [np.diag(values), values[np.triu_indices(len(values), 1)]] if kind.symmetric else [np.ravel(values)]
    assert kind.array(block, parts, kind.bins(block, STAGE)).tolist() == values.tolist()


@pytest.mark.parametrize("name", OF_COLUMNS)
def test_made_up_values_of_columns_tell_the_number_of_rows(name):
    block = block_of(name)
    values = block.kind.plausible(1000.0, block.kind.shape(block), block.rows)
    told = block.kind.rows_told(block, values)
    assert values.shape == block.kind.shape(block)
    assert told is None or told == (1000, 4.0 if block.kind.counted else 1.0)


def test_a_stage_refuses_statistics_that_it_does_not_have():
    plain = Coordinates.rounded(["(intercept)"], ["y"], [[1.0]], [[0.0]], 1.0, [[0.25]])
    with pytest.raises(ParameterError, match="without edges"):
        stage_block(plain, "lengths")
    with pytest.raises(ParameterError, match="Fisher information"):
        stage_block(plain, "information", ["y"])
    with pytest.raises(ParameterError, match="pairs of classes"):
        stage_block(plain, "pair information", ["y"])
    for name in ("meat", "inner", "lengths", "information", "pair information"):
        with pytest.raises(ValueError, match="only a stage"):
            sensitivity.sensitivity(Block(name, X, Y, 1.0), DOMAIN)


@pytest.mark.parametrize("name", sorted(STATISTICS))
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])
def test_a_copied_block_is_of_the_same_statistic(name, copied):
    block = block_of(name)
    assert block.kind is STATISTICS[name]  # looked up before it is copied
    assert copied(block).kind is STATISTICS[name]
