"""The last radius of three or more stages: from noisy counts of row norms, and from nothing else."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from replayed import by_rules, listed, mismatch, staged

from discreet import Domain, DPLinearRegression, PrivateMoments
from discreet.errors import NotReleasedError
from discreet.privacy import sensitivity
from discreet.privacy.values import GridValues, ReleasedStage
from discreet.recipes.budget import MOST_STAGES
from discreet.recipes.geometry import quiet_place
from discreet.recipes.rules import NEWEST, RULES
from discreet.results.saved import check_saved, load_saved

DOMAIN = Domain({"a": (-8, 8), "b": (-8, 8), "c": ["k", "l", "m"], "y": (-40, 40)})
EDGES = {1: 2.0 ** np.arange(0, 4.1, 0.25), 2: 0.7 * 2.0 ** np.r_[np.arange(0, 2.5, 0.25), np.arange(2.5, 9.6, 0.5)]}
EDGES[3] = EDGES[4] = EDGES[2]
BEYOND = {1: (20, 0.3), 2: (10, 0.08), 3: (10, 0.08), 4: (10, 0.08)}
FARTHEST, NOISE = {1: 1.0, 2: 0.3, 3: 0.3, 4: 0.3}, {1: 2.0, 2: 3.0, 3: 3.0, 4: 3.0}
VERSIONS = sorted(RULES)


def table(n=20_000, seed=0, tail=False):
    """Rows of nearly one length, or a few that are far longer than the others."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    if tail:
        a[: n // 10] = 8 * np.sign(a[: n // 10])
    c = rng.choice(["k", "l", "m"], n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": 2 * a - b + (c == "k") + rng.normal(size=n)})


def fitted(frame, stages="auto", random_state=None, epsilon=1.0, rules=NEWEST, **given):
    model = DPLinearRegression(
        epsilon=epsilon, delta=1e-6, domain=DOMAIN, stages=stages, random_state=random_state, **given
    )
    with by_rules(rules):
        return model.fit_source(frame, "y")


def test_these_are_all_rules():
    assert VERSIONS == list(EDGES) == list(BEYOND)
    for version, edges in EDGES.items():
        assert RULES[version].edges == pytest.approx(edges)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("stages", range(2, MOST_STAGES + 1))
@pytest.mark.parametrize("rules", VERSIONS)
def test_certificates_list_row_norms_before_the_last_of_three_or_four(stages, neighbors, rules, tmp_path):
    """In the stage before it by the rules of version 1, else in a release of their own, in its axes."""
    model = fitted(table(4000), stages, neighbors=neighbors, rules=rules)
    certificate, released = model.certificate_, model.release_
    assert all(finding.ok for finding in certificate.check())
    one, measured = "stage: counts, gram, cross, squares", "stage: counts, lengths, gram, cross, squares"
    before = [measured if stages > 2 else one] if rules == 1 else [one, *["stage: lengths"] * (stages > 2)]
    expected = [*[one] * (stages - 2), *before, f"{one}, meat".replace("gram", "inner")]
    assert listed(certificate.events).endswith("; ".join(["sums, diagonal", *expected]))
    assert [len(stage.event.coordinates.row_norms) for stage in staged(released)] == [
        len(EDGES[rules]) if "lengths" in words else 0 for words in expected
    ]
    assert len(released.stages) == stages
    assert (released.norms is None) == (stages == 2)
    released.save(tmp_path / "release.json")
    loaded = PrivateMoments.load(tmp_path / "release.json")
    assert mismatch(loaded) is None
    assert all(finding.ok for finding in check_saved(load_saved(tmp_path / "release.json")))


def test_row_norms_cost_three_hundredths_of_what_is_left():
    released = fitted(table(), 3).release_
    norms, left = released.norms.event, [stage.event.mu**2 for stage in staged(released)[2:]]
    assert norms.mu**2 == pytest.approx(0.03 * sum(left), rel=1e-6)
    assert norms.mu == pytest.approx(1 / norms.blocks[0].sd, rel=1e-12)  # a row is in one bin


def test_row_norms_cost_a_tenth_of_their_stage_by_the_first_rules():
    event = fitted(table(), 3, rules=1).release_.stages[1].event
    held = {
        blocks[0].statistic: cost for blocks, cost in sensitivity.costs(event.blocks, event.coordinates, "add-remove")
    }
    shares = {"counts": 0.09, "lengths": 0.1, "gram": 0.315, "cross": 0.45, "squares": 0.045}
    assert {kind: cost / event.mu**2 for kind, cost in held.items()} == pytest.approx(shares, rel=1e-6)


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("stages", [3, 4])
@pytest.mark.parametrize("rules", VERSIONS)
def test_the_last_radius_follows_from_counts_of_row_norms(stages, tail, rules):
    released = fitted(table(tail=tail), stages, random_state=1, rules=rules).release_
    course, counted, last = released.geometry, released.norms, released.stages[-1]
    first, own, edges = counted.event.coordinates, last.event.coordinates, EDGES[rules]
    assert np.array(first.row_norms) / first.radius == pytest.approx(edges / (0.25 if rules == 1 else edges[0]))
    q, n_mu, (beyond, root) = len(own.axes), course.rows * last.event.mu, BEYOND[rules]
    most = max(beyond * q / n_mu, root / math.sqrt(course.rows))
    place = quiet_place(counted.row_norms, min(0.5, most), counted.sd("lengths"), NOISE[rules])
    farthest = math.sqrt(FARTHEST[rules] * n_mu / q**1.5)
    reach = max(0.25, min(farthest, edges[place]))
    assert own.radius == pytest.approx(reach * typical(course, released.stages[:-1]))
    assert reach == edges[place] < farthest
    if rules == 1:
        assert (reach >= 2.8) == tail
    else:  # counted in the very axes of the last stage, in which a tail is no longer long
        assert first.P == own.P
        assert reach < 2.8


@pytest.mark.parametrize("stages", [2, 3])
def test_the_radius_of_the_stages_before_grows_with_the_table(stages):
    """Up to eight typical lengths; by the first rules it is a quarter of one."""
    for n, epsilon, expected in ((300, 0.1, 0.25), (20_000, 1.0, None), (20_000, 400.0, 8.0)):
        released = fitted(table(n), stages, random_state=0, epsilon=epsilon).release_
        course, one = released.geometry, released.stages[0]
        n_mu = course.rows * one.event.mu / 6**1.5
        reach = math.sqrt(0.05 * n_mu) if stages == 2 else 0.4 * n_mu**0.4
        assert one.event.coordinates.radius == pytest.approx((expected or reach) * typical(course, []))
        assert expected or 0.25 < reach < 8
        first = fitted(table(n), stages, random_state=0, epsilon=epsilon, rules=1).release_
        assert first.stages[0].event.coordinates.radius == pytest.approx(0.25 * typical(first.geometry, []))


def typical(course, done):
    return math.sqrt(course._axes(done).known + course.constant)


@pytest.mark.filterwarnings("ignore:epsilon=30")
def test_row_norms_are_counted_as_they_are():
    """With little noise, the shares of rows within the edges are those of the table."""
    frame = table(tail=True)
    stage = fitted(frame, 3, random_state=0, epsilon=30.0).release_.norms
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
    bins = len(stage.event.coordinates.row_norms) + 1
    held = GridValues(0, tuple(int(c) << 40 for c in [*counts, *[0] * (bins - len(counts))]))
    values = list(stage.values)
    values[place] = (held,)
    return ReleasedStage(stage.event, tuple(values))


@pytest.fixture(scope="module", params=VERSIONS)
def course(request):
    """The geometry of a release, its edges, and the radius of its last stage in typical lengths, given counts."""
    released = fitted(table(), 3, random_state=2, rules=request.param).release_
    return Course(released, request.param)


class Course:
    def __init__(self, released, rules):
        self.geometry, self.edges, self.beyond = released.geometry, EDGES[rules], BEYOND[rules]
        self.farthest = FARTHEST[rules]
        self._before, self._norms = released.stages[:-1], released.norms
        self.rows, self.mu = released.geometry.rows, released.stages[-1].event.mu

    def last(self, counts, mu):
        return self.geometry.coordinates(self._before, mu, 3, with_row_norms(self._norms, counts))

    def reach(self, counts, mu):
        return self.last(counts, mu).radius / typical(self.geometry, self._before)


@pytest.mark.parametrize(
    ("counts", "place"),
    [
        ([20_000], 0),
        ([0, 20_000], 1),
        ([0, 19_950, 40, 10], 1),
        ([0, 18_000, 1_950, 50], 2),
        ([-30, 20_000, 20, -50, 40, -10, 30, *[-20] * 3], 1),
        ([0] * 10 + [20_000], 10),
        ([0] * 16 + [20_000], 16),
        ([0] * 17 + [20_000], 17),
        ([-100] * 18, 0),
    ],
)
def test_the_least_edge_that_leaves_out_few_rows(counts, place, course):
    own, most = course.last(counts, course.mu), math.sqrt(course.farthest * course.rows * course.mu / 6**1.5)
    expected = min(course.edges[min(place, len(course.edges) - 1)], most)
    assert course.edges[10] < most
    assert course.reach(counts, course.mu) == pytest.approx(expected)
    assert own.row_norms == ()
    weight = min(1.0, expected)
    least = course.geometry.rules.narrowest * weight
    assert math.sqrt(2) * weight < own.widths[0][-1] <= 2 * weight
    assert np.diff(np.log2(own.widths[0])) == pytest.approx(0.5)
    assert 0.7 * least < own.widths[0][0] / course.geometry.locations[0].spread <= least


def test_the_last_edge_where_all_leave_out_too_many(course):
    far = [0] * len(course.edges) + [20_000]
    assert course.reach(far, 1e5 * course.mu) == pytest.approx(course.edges[-1])


def test_many_rows_may_be_left_out_where_noise_is_large(course):
    """But never more than half of them, and the radius stays at a quarter of the typical length."""
    mu = 6 * course.beyond[0] / course.rows
    assert course.reach([10_100, 9_000, 900], mu) == pytest.approx(course.edges[0])
    assert course.reach([9_000, 9_000, 2_000], mu) == pytest.approx(course.edges[1])
    assert course.reach([9_000, 9_000, 2_000], 1e-3 / course.rows) == pytest.approx(0.25)


@pytest.mark.parametrize("rules", VERSIONS)
def test_other_radii_edges_and_counts_are_found(rules):
    released = fitted(table(), 3, random_state=2, rules=rules).release_
    *before, norms, last = staged(released)
    assert norms.holds("lengths")
    assert mismatch(released, [*before, norms, last]) is None
    wider = replace(last.event.coordinates, radius=1.01 * last.event.coordinates.radius)
    assert "stage 3" in mismatch(released, [*before, norms, changed(last, wider)])
    counts = with_row_norms(norms, [0] * 10 + [20_000])
    assert "stage 3" in mismatch(released, [*before, counts, last])
    own, name = norms.event.coordinates, "stage 2" if rules == 1 else "the release of row norms"
    for row_norms in (own.row_norms[1:], tuple(1.01 * edge for edge in own.row_norms)):
        assert name in mismatch(released, [*before, changed(norms, replace(own, row_norms=row_norms)), last])
    assert mismatch(released, [*before, norms]).endswith("of a stage is missing")
    assert "the recipe asks for" in mismatch(released, [*before, last])


def test_another_version_of_the_rules_is_found():
    for rules, said in ((1, 2), (2, 1), (2, 5), (2, 0), (2, -1), (2, "2"), (2, True), (2, None), (2, 2.0)):
        released = fitted(table(4000), 3, rules=rules).release_
        certificate = released.certificate
        assert certificate.recipe.get("rules", 1) == rules
        forged = replace(certificate, recipe=certificate.recipe | {"rules": said})
        assert forged.mismatch(released.values) is not None
        assert forged.mismatch() is not None


def test_two_stages_of_another_version_of_the_rules_are_found():
    """They list the same statistics, and their first radius differs."""
    for rules, said in ((1, {"rules": 2}), (2, {})):
        released = fitted(table(), 2, rules=rules).release_
        recipe = {key: own for key, own in released.certificate.recipe.items() if key != "rules"} | said
        forged = replace(released.certificate, recipe=recipe)
        assert "the coordinates of stage 1 do not follow" in forged.mismatch(released.values).why


def test_a_release_by_the_first_rules_is_one_of_an_older_file(tmp_path):
    """Of the version that an older program reads, and fitted and checked as ever."""
    for rules, version in ((1, 3), (2, 6), (3, 6), (4, 6)):
        released = fitted(table(), 3, rules=rules).release_
        released.save(tmp_path / f"{rules}.json")
        loaded = PrivateMoments.load(tmp_path / f"{rules}.json")
        assert json.loads((tmp_path / f"{rules}.json").read_text())["format_version"] == version
        assert ("rules" in loaded.certificate.recipe) == (rules > 1)
        assert loaded.fit("y").coef.tobytes() == released.fit("y").coef.tobytes()
        assert all(finding.ok for finding in check_saved(load_saved(tmp_path / f"{rules}.json")))


@pytest.mark.parametrize("rules", [5, 0])
def test_a_release_by_rules_to_come_is_not_fitted(rules):
    released = fitted(table(), 3).release_
    unknown = replace(released.certificate, recipe=released.certificate.recipe | {"rules": rules})
    with pytest.raises(NotReleasedError, match="rules that this version of discreet does not know"):
        PrivateMoments(unknown, released.values).fit("y")


def changed(stage, coordinates):
    return ReleasedStage(replace(stage.event, coordinates=coordinates), stage.values)
