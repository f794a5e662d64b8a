"""The last radius of three or more stages: from noisy counts of row norms, and from nothing else."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from replayed import listed, mismatch

from discreet import Domain, DPLinearRegression, PrivateMoments
from discreet.privacy import sensitivity
from discreet.privacy.values import GridValues, ReleasedStage
from discreet.recipes.budget import MOST_STAGES
from discreet.recipes.geometry import quiet_place
from discreet.results.saved import check_saved, load_saved

DOMAIN = Domain({"a": (-8, 8), "b": (-8, 8), "c": ["k", "l", "m"], "y": (-40, 40)})
EDGES = 2.0 ** np.arange(0, 4.1, 0.25)


def table(n=20_000, seed=0, tail=False):
    """Rows of nearly one length, or a few that are far longer than the others."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    if tail:
        a[: n // 10] = 8 * np.sign(a[: n // 10])
    c = rng.choice(["k", "l", "m"], n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": 2 * a - b + (c == "k") + rng.normal(size=n)})


def fitted(frame, stages="auto", random_state=None, epsilon=1.0, **given):
    model = DPLinearRegression(
        epsilon=epsilon, delta=1e-6, domain=DOMAIN, stages=stages, random_state=random_state, **given
    )
    return model.fit_source(frame, "y")


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("stages", range(2, MOST_STAGES + 1))
def test_certificates_list_row_norms_before_the_last_of_three_or_four(stages, neighbors, tmp_path):
    model = fitted(table(4000), stages, neighbors=neighbors)
    certificate, released = model.certificate_, model.release_
    assert all(finding.ok for finding in certificate.check())
    one, measured = "stage: counts, gram, cross, squares", "stage: counts, lengths, gram, cross, squares"
    expected = [*[one] * (stages - 2), measured if stages > 2 else one, f"{one}, meat".replace("gram", "inner")]
    assert listed(certificate.events).endswith("; ".join(["sums, diagonal", *expected]))
    assert [len(stage.event.coordinates.row_norms) for stage in released.stages] == [
        len(EDGES) if words == measured else 0 for words in expected
    ]
    released.save(tmp_path / "release.json")
    loaded = PrivateMoments.load(tmp_path / "release.json")
    assert mismatch(loaded) is None
    assert all(finding.ok for finding in check_saved(load_saved(tmp_path / "release.json")))


def test_row_norms_cost_a_tenth_of_their_stage():
    event = fitted(table(), 3).release_.stages[1].event
    held = {
        blocks[0].statistic: cost for blocks, cost in sensitivity.costs(event.blocks, event.coordinates, "add-remove")
    }
    shares = {"counts": 0.09, "lengths": 0.1, "gram": 0.315, "cross": 0.45, "squares": 0.045}
    assert {kind: cost / event.mu**2 for kind, cost in held.items()} == pytest.approx(shares, rel=1e-6)


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("stages", [3, 4])
def test_the_last_radius_follows_from_counts_of_row_norms(stages, tail):
    released = fitted(table(tail=tail), stages, random_state=1).release_
    course, (*_, before, last) = released.geometry, released.stages
    first, own = before.event.coordinates, last.event.coordinates
    assert np.array(first.row_norms) / first.radius == pytest.approx(EDGES / 0.25)
    q, n_mu = len(own.axes), course.rows * last.event.mu
    most = max(20 * q / n_mu, 0.3 / math.sqrt(course.rows))
    place = quiet_place(before.row_norms, min(0.5, most), before.sd("lengths"))
    reach = max(0.25, min(math.sqrt(n_mu / q**1.5), EDGES[place]))
    assert own.radius == pytest.approx(reach * typical(course, released.stages[:-1]))
    assert reach == EDGES[place] < math.sqrt(n_mu / q**1.5)
    assert (reach >= 2.8) == tail


def typical(course, done):
    return math.sqrt(course._axes(done).known + course.constant)


@pytest.mark.filterwarnings("ignore:epsilon=30")
def test_row_norms_are_counted_as_they_are():
    """With little noise, the shares of rows within the edges are those of the table."""
    frame = table(tail=True)
    stage = fitted(frame, 3, random_state=0, epsilon=30.0).release_.stages[1]
    own = stage.event.coordinates
    levels = [frame["c"] == level for level in "klm"]
    X = np.column_stack([np.ones(len(frame)), frame["a"] / 8, frame["b"] / 8, *levels])
    sizes = np.linalg.norm(X @ own.P.floats, axis=1)
    exact = np.histogram(sizes, [0, *own.row_norms, np.inf])[0]
    assert stage.row_norms == pytest.approx(exact, abs=5 * stage.sd("lengths"))
    assert stage.sd("lengths") < 10


def test_two_stages_have_the_radius_that_they_had():
    released = fitted(table(), 2, random_state=0).release_
    course, (one, two) = released.geometry, released.stages
    own, q = two.event.coordinates, 6
    expected = max(0.25, math.sqrt(0.1 * course.rows * two.event.mu / q**1.5)) * typical(course, [one])
    assert own.radius == pytest.approx(expected)


@pytest.mark.parametrize(("n", "stages"), [(12, 2), (12, 3), (40, "auto")])
def test_no_table_is_too_small_for_a_radius(n, stages):
    """Without a constant, noise may leave no direction known; the charge was made by then."""
    X = np.random.default_rng(0).uniform(-1, 1, (n, 1))
    for seed in range(20):
        given = {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "fit_intercept": False, "stages": stages}
        model = DPLinearRegression(epsilon=1, delta=1e-4, random_state=seed, **given).fit(X, X[:, 0])
        assert np.isfinite(model.coef_).all()


# ---------------------------------------------------------------- the rule by itself


def with_row_norms(stage, counts):
    """A stage whose noisy counts of row norms are others; 0 where none are given."""
    place = [block.statistic for block in stage.event.blocks].index("lengths")
    held = GridValues(0, tuple(int(c) << 40 for c in [*counts, *[0] * (len(EDGES) + 1 - len(counts))]))
    values = list(stage.values)
    values[place] = (held,)
    return ReleasedStage(stage.event, tuple(values))


@pytest.fixture(scope="module")
def course_and_stages():
    released = fitted(table(), 3, random_state=2).release_
    return released.geometry, released.stages


@pytest.mark.parametrize(
    ("counts", "reach"),
    [
        ([20_000], 1.0),
        ([0, 20_000], EDGES[1]),
        ([0, 19_950, 40, 10], EDGES[1]),
        ([0, 18_000, 1_950, 50], EDGES[2]),
        ([-30, 20_000, 20, -50, 40, -10, 30, *[-20] * 3], EDGES[1]),
        ([0] * 10 + [20_000], EDGES[10]),
        ([0] * 16 + [20_000], None),
        ([0] * 17 + [20_000], None),
        ([-100] * 18, 1.0),
    ],
)
def test_the_least_edge_that_leaves_out_few_rows(counts, reach, course_and_stages):
    course, (one, two, last) = course_and_stages
    mu = last.event.mu
    own = course.coordinates([one, with_row_norms(two, counts)], mu, 3)
    most = math.sqrt(course.rows * mu / 6**1.5)
    expected = min(EDGES[-1] if reach is None else reach, most)
    assert EDGES[10] < most
    assert own.radius == pytest.approx(expected * typical(course, [one, two]))
    assert own.row_norms == ()
    assert own.widths[0][-1] == 2.0
    assert np.diff(np.log2(own.widths[0])) == pytest.approx(0.5)
    assert 0.2 < own.widths[0][0] / course.locations[0].spread <= 0.4


def test_the_last_edge_where_all_leave_out_too_many(course_and_stages):
    course, (one, two, last) = course_and_stages
    far = with_row_norms(two, [0] * 17 + [20_000])
    own = course.coordinates([one, far], 10 * last.event.mu, 3)
    assert own.radius == pytest.approx(EDGES[-1] * typical(course, [one, two]))


def test_many_rows_may_be_left_out_where_noise_is_large(course_and_stages):
    """But never more than half of them, and the radius stays at a quarter of the typical length."""
    course, (one, two, _) = course_and_stages
    unit, mu = typical(course, [one, two]), 60 / course.rows
    counts = with_row_norms(two, [10_100, 9_000, 900])
    assert course.coordinates([one, counts], mu, 3).radius == pytest.approx(unit)
    counts = with_row_norms(two, [9_000, 9_000, 2_000])
    assert course.coordinates([one, counts], mu, 3).radius == pytest.approx(EDGES[1] * unit)
    assert course.coordinates([one, counts], 1e-3 / course.rows, 3).radius == pytest.approx(0.25 * unit)


def test_other_radii_edges_and_counts_are_found():
    released = fitted(table(), 3, random_state=2).release_
    one, two, last = released.stages
    assert mismatch(released, [one, two, last]) is None
    wider = replace(last.event.coordinates, radius=1.01 * last.event.coordinates.radius)
    assert "stage 3" in mismatch(released, [one, two, changed(last, wider)])
    counts = with_row_norms(two, [0] * 10 + [20_000])
    assert "stage 3" in mismatch(released, [one, counts, last])
    own = two.event.coordinates
    for row_norms in (own.row_norms[1:], tuple(1.01 * edge for edge in own.row_norms)):
        assert "stage 2" in mismatch(released, [one, changed(two, replace(own, row_norms=row_norms)), last])
    assert mismatch(released, [one, two]).endswith("of a stage is missing")


def changed(stage, coordinates):
    return ReleasedStage(replace(stage.event, coordinates=coordinates), stage.values)
