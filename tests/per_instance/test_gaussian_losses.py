"""Losses under Gaussian releases: against refits, Monte Carlo likelihood ratios of the releases, and the promise."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_table import DOMAIN, people
from tables import unit_rows

from discreet import SSP, AdaSSP, ConstSSP, Domain, DPLinearRegression, Moments, release
from discreet.data.moments import counted
from discreet.data.reading import Table
from discreet.gate.statistics import exact_blocks
from discreet.per_instance import losses
from discreet.per_instance import result as results
from discreet.per_instance.curves import delta as curve_delta
from discreet.per_instance.curves import epsilon as curve_epsilon
from discreet.privacy import gdp
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.guarantee import Guarantee
from discreet.released.certificate import Certificate

BLOCKS = (
    Block("gram", ("(intercept)", "a", "g[u]", "g[v]"), (), 2.0),
    Block("gram", ("(intercept)", "a"), (), 3.0, "uniform"),
    Block("cross", ("(intercept)", "a", "b"), ("y", "b"), 1.5),
    Block("squares", (), ("y", "b"), 1.0),
    Block("eigenvalue", ("(intercept)", "a", "b"), (), 0.7),
    Block("sums", ("(intercept)", "a", "b"), (), 0.9),
    Block("diagonal", ("(intercept)", "a", "g[v]"), (), 1.1),
)
SMALL = Domain({"a": (0, 1), "b": (-1, 1), "g": ["u", "v"], "y": (0, 2)})


def small(rows, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.uniform(-0.1, 1.1, rows), "b": rng.uniform(-1, 1, rows)})
    return frame.assign(g=rng.choice(["u", "v"], rows), y=rng.uniform(0, 2, rows))


def certificate(blocks, domain=SMALL, neighbors="add-remove", declared=None):
    from discreet.privacy import sensitivity

    events = tuple(GaussianEvent(sensitivity.mu(part, domain, neighbors), tuple(part)) for part in blocks)
    promise = Guarantee(gdp.epsilon(gdp.compose(e.mu for e in events), 1e-6), 1e-6, neighbors, "verified")
    return Certificate(promise, "test", domain, events, declared=declared)


def statistics(frame, blocks, domain=SMALL):
    """Each released number over the sd of its noise, straight from the code of the release."""
    moments = Moments.from_source(frame, domain)
    numbers = []
    for block in blocks:
        for part, sd in zip(exact_blocks(moments, [block])[0], block.sds, strict=True):
            numbers += [float(value) / 2.0**40 / sd for value in part]
    return np.array(numbers)


def refitted(frame, blocks, **options):
    """mu of each row by leaving it out and computing everything again."""
    whole = statistics(frame, blocks, **options)
    return np.array(
        [np.linalg.norm(whole - statistics(frame.drop(index=i), blocks, **options)) for i in range(len(frame))]
    )


# -------------------------------------------------------------------- leave one out, by refitting


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.statistic} {block.layout}")
def test_each_block_against_leaving_rows_out(block):
    frame = small(60)
    found = losses(frame, certificate([[block]]))
    assert found.exact
    assert found.mu() == pytest.approx(refitted(frame, [block]), rel=1e-10, abs=1e-10)


def test_all_blocks_of_several_events_together():
    frame = small(60, seed=1)
    found = losses(frame, certificate([BLOCKS[:2], BLOCKS[2:]]))
    assert found.mu() == pytest.approx(refitted(frame, BLOCKS), rel=1e-10)
    assert sum(found.parts().values()) == pytest.approx(found.mu() ** 2)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.statistic} {block.layout}")
def test_targets_outside_against_adding_them(block):
    frame, targets = small(40), small(9, seed=5)
    found = losses(frame, certificate([[block]]), targets=targets)
    whole = statistics(frame, [block])
    added = [statistics(pd.concat([frame, targets.iloc[[i]]], ignore_index=True), [block]) for i in range(9)]
    assert found.mu() == pytest.approx([np.linalg.norm(one - whole) for one in added], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.statistic} {block.layout}")
def test_a_given_replacement_against_replacing(block):
    frame, other = small(30), small(1, seed=8)
    certified = certificate([[block]], neighbors="replace-one")
    found, worst = losses(frame, certified, replacement=other), losses(frame, certified)
    whole, moved = statistics(frame, [block]), []
    for i in range(len(frame)):
        changed = pd.concat([frame.drop(index=i), other], ignore_index=True)
        moved.append(np.linalg.norm(statistics(changed, [block]) - whole))
    assert found.mu() == pytest.approx(moved, rel=1e-9, abs=1e-9)
    assert found.exact
    assert not worst.exact
    assert (found.mu() <= worst.mu() * (1 + 1e-12) + 1e-12).all()
    assert (worst.mu() <= certified.events[0].mu).all()


def test_the_worst_replacement_is_a_bound_over_many():
    """Corners and random rows, for X'X and X'y together, whose worst rows differ."""
    frame = small(12, seed=3)
    blocks = [
        Block("gram", ("(intercept)", "a", "b"), (), 2.0),
        Block("cross", ("(intercept)", "a", "b"), ("y",), 1.0),
        Block("squares", (), ("y",), 3.0),
    ]
    certified = certificate([blocks], neighbors="replace-one")
    worst = losses(frame, certified).mu()
    reached = np.zeros(len(frame))
    for seed in range(60):
        other = small(1, seed=seed).assign(g="u")
        if seed < 16:
            bits = [(seed >> k) & 1 for k in range(3)]
            other = other.assign(a=float(bits[0]), b=2.0 * bits[1] - 1, y=2.0 * bits[2])
        reached = np.maximum(reached, losses(frame, certified, replacement=other).mu())
    assert (reached <= worst * (1 + 1e-12)).all()
    assert (reached >= 0.8 * worst).mean() > 0.5  # the bound is not idle


# -------------------------------------------------------------------- counts in declared bounds, then moments


def test_counts_and_moments_of_one_stage():
    frame = people(400)
    model = DPLinearRegression(epsilon=50, delta=1e-6, domain=DOMAIN, stages=1)
    model.fit(frame.drop(columns="income"), frame["income"])
    certified = model.certificate_
    assert certified.declared is not None  # the bounds were narrowed
    found = losses(frame, model)
    counts, moments = certified.events
    by_hand = refitted(frame, moments.blocks, domain=certified.domain) ** 2
    by_hand += 1 / counts.blocks[0].sd ** 2
    assert found.mu() ** 2 == pytest.approx(by_hand, rel=1e-10)
    assert list(found.parts()) == ["counts of y", "X'X", "X'y", "y'y"]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("stages", [2, 3])
def test_no_row_of_a_fit_in_stages_costs_more_than_was_promised(stages, neighbors):
    frame = people(400)
    model = DPLinearRegression(epsilon=5, delta=1e-6, domain=DOMAIN, neighbors=neighbors, stages=stages)
    model.fit(frame.drop(columns="income"), frame["income"])
    assert len(model.release_.stages) == stages
    mu = losses(frame, model).mu()
    most = gdp.compose([event.mu for event in model.certificate_.events])
    assert (mu <= most * (1 + 1e-12)).all()
    assert mu.max() > 0.3 * most


def test_row_norms_alone_cost_every_row_the_same():
    """A row is in one part, and a replaced one may stay in it."""
    frame = people(400)
    given = {"epsilon": 5, "delta": 1e-6, "domain": DOMAIN, "stages": 3, "random_state": 0}
    name, features = "counts of row norms of a stage", frame.drop(columns="income")
    model = DPLinearRegression(**given).fit(features, frame["income"])
    event = model.release_.norms.event
    assert event.of_norms
    assert losses(frame, model).parts()[name] == pytest.approx(np.full(400, event.mu**2))
    model = DPLinearRegression(**given, neighbors="replace-one").fit(features, frame["income"])
    event = model.release_.norms.event
    found = losses(frame, model, replacement=frame.iloc[[0]]).parts()[name]
    same = np.isclose(found, 0)
    assert same[0]
    assert 0 < same.mean() < 1
    assert found[~same] == pytest.approx(event.mu**2)
    assert losses(frame, model).parts()[event.name] == pytest.approx(np.full(400, event.mu**2))


def test_rows_that_were_dropped_cost_nothing_but_their_place_in_the_counts():
    domain = Domain({"a": (0, 1), "y": (0, 2)}, missing="drop")
    frame = small(50)[["a", "y"]]
    frame.loc[3, "a"], frame.loc[7, "y"] = np.nan, np.nan
    counts = Block("counts", (), ("y",), 2.0)
    certified = certificate([[counts], [Block("gram", ("(intercept)", "a", "y"), (), 2.0)]], domain)
    for source in (frame, pa.Table.from_pandas(frame), (frame[["a"]].to_numpy(), frame["y"].to_numpy())):
        found = losses(source, certified)
        assert found.mu()[3] == pytest.approx(1 / 2.0)  # its outcome was counted, for nothing else was read then
        assert found.mu()[7] == 0
        assert found.epsilon()[7] == 0
        assert (np.delete(found.mu(), [3, 7]) > 0.5).all()
        assert len(found.mu()) == 50
    histogram = counted(Table.of(frame, domain), "y")[0]
    assert histogram.integers().sum() == 49


def test_a_replaced_row_may_stay_in_its_bin():
    domain = Domain({"a": (0, 1), "y": (0, 16)})
    certified = certificate([[Block("counts", (), ("y",), 2.0)]], domain, "replace-one")
    frame = pd.DataFrame({"a": [0.5, 0.5, 0.5], "y": [0.1, 0.9, 1.1]})
    found = losses(frame, certified, replacement=frame.iloc[[0]])
    assert found.mu() == pytest.approx([0, 0, np.sqrt(2) / 2])


def test_counts_of_a_span_cost_only_rows_inside_it():
    frame = pd.DataFrame({"a": [0.5] * 4, "y": [0.1, 5.0, 5.2, 15.0]})
    for missing in ("error", "drop"):
        domain = Domain({"a": (0, 1), "y": (0, 16)}, missing=missing)
        block = Block("counts", (), ("y",), 2.0, span=(-0.5, 0.5))
        assert losses(frame, certificate([[block]], domain)).mu() == pytest.approx([0, 0.5, 0.5, 0])
        certified = certificate([[block]], domain, "replace-one")
        by_one = [losses(frame, certified, replacement=frame.iloc[[i]]).mu() for i in range(4)]
        assert by_one[0] == pytest.approx([0, 0.5, 0.5, 0])
        assert by_one[1] == pytest.approx([0.5, 0, 0, 0.5])
        assert losses(frame, certified).mu() == pytest.approx(np.full(4, np.sqrt(2) / 2))


# -------------------------------------------------------------------- Monte Carlo likelihood ratios


def monte_carlo(x, other, epsilon, draws, rng):
    """The hockey-stick divergence of N(x, I) from N(other, I), from draws and densities alone."""
    noise = rng.standard_normal((draws, len(x)))
    ratio = (((x + noise - other) ** 2).sum(axis=1) - (noise**2).sum(axis=1)) / 2
    share = np.maximum(0, -np.expm1(epsilon - ratio))
    return share.mean(), share.std() / np.sqrt(draws)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_losses_against_likelihood_ratios_both_ways(inside, epsilon):
    frame, rng = small(30, seed=2), np.random.default_rng(7)
    outside = small(30, seed=9)
    found = losses(frame, certificate([BLOCKS]), targets=None if inside else outside)
    here = statistics(frame, BLOCKS)
    for i in (0, 4, 11):
        changed = frame.drop(index=i) if inside else pd.concat([frame, outside.iloc[[i]]], ignore_index=True)
        there = statistics(changed, BLOCKS)
        for one, other in ((here, there), (there, here)):
            mean, error = monte_carlo(one, other, epsilon, 40_000, rng)
            assert abs(found.delta(epsilon)[i] - mean) < 4.5 * error + 1e-12


def test_the_curves_agree_with_exact_arithmetic():
    rng = np.random.default_rng(0)
    for delta in (1e-12, 1e-6, 1e-2):
        mu = np.geomspace(1e-7, 100, 9000)  # more than the solver takes without its table
        found = curve_epsilon(mu, delta)
        for i in rng.choice(9000, 40):
            assert found[i] == pytest.approx(gdp.epsilon(mu[i], delta), rel=1e-9, abs=1e-12)
        assert curve_epsilon(mu[::50], delta) == pytest.approx(found[::50], rel=1e-9, abs=1e-12)
        assert (np.diff(found) >= 0).all()
    mu = np.geomspace(1e-6, 30, 200)
    for epsilon in (0.0, 0.1, 3.0):
        exact = [gdp.delta(m, epsilon) for m in mu]
        assert curve_delta(mu, epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-300)


# -------------------------------------------------------------------- nobody loses more than was promised

METHODS = [
    (cls, neighbors)
    for cls in (DPLinearRegression, AdaSSP, SSP, ConstSSP)
    for neighbors in ("add-remove", "replace-one")
]
VALUES = st.one_of(st.sampled_from([-1e9, -1.0, 0.0, 1.0, 2.0, 1e9]), st.floats(-3, 3))


@pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")
@pytest.mark.parametrize(("cls", "neighbors"), METHODS)
@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=8),
    targets=st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=4),
    epsilon=st.sampled_from([0.1, 1.0, 8.0]),
    narrow_ball=st.booleans(),
)
def test_no_row_and_no_target_exceeds_the_certificate(cls, neighbors, rows, targets, epsilon, narrow_ball):
    A, T = np.array(rows), np.array(targets)
    bounds = {"data_norm": 1.0} if narrow_ball else {"bounds_X": (-1, 1)}
    model = cls(epsilon=epsilon, delta=1e-5, bounds_y=(-2, 2), neighbors=neighbors, n_jobs=1, **bounds)
    model.fit(A[:, :2], A[:, 2])
    certified = model.certificate_
    assert certified.guarantee.status == "verified"
    limit = certified.epsilon * (1 + 1e-9)
    own = (A[:, :2], A[:, 2])
    found = losses(own, model, n_jobs=1)
    assert found.epsilon().max() <= limit
    assert found.for_all() <= limit
    others = (T[:, :2], T[:, 2])
    if neighbors == "add-remove":
        assert losses(own, model, targets=others, n_jobs=1).epsilon().max() <= limit
    else:
        assert losses(own, model, replacement=(T[:1, :2], T[:1, 2]), n_jobs=1).epsilon().max() <= limit


def test_a_row_at_a_corner_reaches_the_certificate():
    """So the limit above is met with equality: the test could fail."""
    A = np.array([[1.0, -1.0, 2.0], [0.0, 0.0, 0.0]])
    model = SSP(epsilon=1, delta=1e-5, bounds_X=(-1, 1), bounds_y=(-2, 2)).fit(A[:, :2], A[:, 2])
    found = losses((A[:, :2], A[:, 2]), model).epsilon()
    assert found[0] == pytest.approx(model.certificate_.epsilon, rel=1e-9)
    assert found[1] < 0.5 * found[0]


@pytest.mark.parametrize("targets", [None, ["income"]])
def test_releases_of_moments(targets):
    frame = people(300)
    public = release(Moments.from_source(frame, DOMAIN), epsilon=1, delta=1e-6, targets=targets)
    found = losses(frame, public)
    assert found.epsilon().max() <= public.certificate.epsilon * (1 + 1e-9)
    z = unit_rows(DOMAIN, pa.Table.from_pandas(frame, preserve_index=False))
    if targets is None:
        assert found.mu() == pytest.approx((z**2).sum(axis=1) / public.blocks[0].sd, rel=1e-12)


def test_for_all_uses_the_gap_of_the_spectrum():
    """With a double least eigenvalue, nobody who joins can raise it."""
    X = np.repeat(np.array([[1.0, 0.0], [0.0, 1.0]]), 50, axis=0)
    domain = Domain.from_bounds(["p", "q"], bounds_X=(-1, 1), intercept=False)
    certified = certificate([[Block("eigenvalue", ("p", "q"), (), 1.0)]], domain)
    found = losses(X, certified)
    assert found.for_all(1e-3) == pytest.approx(found.epsilon(1e-3).max())
    assert losses(X, certified, targets=X[:1]).mu() == pytest.approx(0, abs=1e-9)
    assert found.mu() == pytest.approx(1)  # but anybody who leaves lowers it


def test_streams_and_queries_are_refused_with_advice():
    import duckdb
    import polars as pl

    frame = people(50)
    model = AdaSSP(epsilon=1, delta=1e-6, domain=DOMAIN).fit(frame.drop(columns="income"), frame["income"])
    reader = pa.RecordBatchReader.from_batches(
        (table := pa.Table.from_pandas(frame, preserve_index=False)).schema, table.to_batches()
    )
    with pytest.raises(ValueError, match="two passes"):
        losses(reader, model)
    for query in (pl.from_pandas(frame).lazy(), duckdb.from_arrow(table)):
        with pytest.raises(ValueError, match="no fixed order"):
            losses(query, model)


def test_every_source_gives_the_same_numbers(tmp_path):
    import polars as pl
    import pyarrow.parquet as pq

    frame = people(20_000)
    public = release(Moments.from_source(frame, DOMAIN), epsilon=1, delta=1e-6, targets=["income"])
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=777)
    frame.to_csv(tmp_path / "people.csv", index=False)
    whole = losses(frame, public).mu()
    for source in (table, pl.from_pandas(frame), tmp_path / "people.parquet", tmp_path / "people.csv"):
        for n_jobs in (1, 3):
            assert (losses(source, public, n_jobs=n_jobs).mu() == whole).all()


def test_moments_can_be_given_and_are_checked():
    frame = people(50)
    X, y = frame.drop(columns="income"), frame["income"]
    model = AdaSSP(epsilon=1, delta=1e-6, domain=DOMAIN).fit(X, y)
    moments = Moments.from_source(frame, model.certificate_.domain)
    assert (losses(frame, model, moments=moments).mu() == losses(frame, model).mu()).all()
    with pytest.raises(ValueError, match="same rows"):
        losses(frame, model, moments=Moments.from_source(X, DOMAIN.select(list(X.columns))))


def test_wrong_arguments_are_refused():
    frame = people(20)
    plain = release(Moments.from_source(frame, DOMAIN), epsilon=1, delta=1e-6)
    swapped = release(Moments.from_source(frame, DOMAIN), epsilon=1, delta=1e-6, neighbors="replace-one")
    with pytest.raises(ValueError, match="come or go"):
        losses(frame, plain, replacement=frame[:1])
    with pytest.raises(ValueError, match="are replaced"):
        losses(frame, swapped, targets=frame[:1])
    with pytest.raises(ValueError, match="one complete row"):
        losses(frame, swapped, replacement=frame[:2])
    with pytest.raises(ValueError, match="release must be"):
        losses(frame, frame)
    with pytest.raises(ValueError, match="delta"):
        losses(frame, plain).epsilon(2)
    with pytest.raises(ValueError, match="epsilon must be"):
        losses(frame, plain).delta(-1)
    with pytest.raises(ValueError, match="k must be"):
        losses(frame, plain).largest(0)
    assert results.NOTE.startswith("CONFIDENTIAL")
