"""Stages: what the gate releases, how files hold it, and which files are refused or found out."""

import copy
import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import staged as example
from replayed import listed
from small_table import DOMAIN, people
from tables import encode

from discreet import Domain, PrivateMoments
from discreet.core.files import digest
from discreet.data.reading import Table
from discreet.data.stages import score_products, staged
from discreet.domain.coordinates import CoordinateMap, Coordinates
from discreet.domain.encoding import ONE
from discreet.domain.unit import ROWS
from discreet.errors import FileFormatError, NotReleasedError, ParameterError
from discreet.gate.coordinates import release_stage
from discreet.gate.entropy import NO_NOISE, SeededEntropy
from discreet.gate.statistics import block_noise
from discreet.per_instance import household, losses
from discreet.privacy import gdp, sensitivity
from discreet.privacy.bounds import Bounds
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.kinds import event_from_dict
from discreet.recipes.noise import stage_blocks
from discreet.results.plots.releases import budget_shares
from discreet.results.report import facts
from discreet.results.saved import check_saved, load_saved

NEIGHBORS = ("add-remove", "replace-one")
both = pytest.mark.parametrize("neighbors", NEIGHBORS)


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    example.known_steps(monkeypatch)


def small_stage(m=1, k=1, q=3, row_norms=()):
    names = ["(intercept)", "age", "hours"]
    rng = np.random.default_rng(m)
    outcomes = ["income", "region[north]", "region[south]"][:m]
    widths = [np.geomspace(0.1, 2.0, k).tolist()] * m
    P, theta = rng.normal(size=(3, q)), rng.normal(size=(3, m)) / 4
    return Coordinates.rounded(names, outcomes, P, theta, 0.7, widths, row_norms)


ROW_NORMS = (0.7, 1.0, 1.5, 2.0)


# ---------------------------------------------------------------- calibration and accounting


@both
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("mu", [0.003, 0.1, 2.0])
def test_the_noise_of_a_stage_costs_what_it_may_and_hardly_less(mu, m, neighbors):
    stage = small_stage(m, k=4, row_norms=ROW_NORMS)
    some = [{"gram": 1.0}, {"gram": 0.5, "cross": 0.5}, {"counts": 0.2, "squares": 0.8}, {"lengths": 0.1, "gram": 0.9}]
    for shares in (example.SHARES, example.WITH_ROW_NORMS, example.WITH_ALL, {"meat": 1.0}, *some):
        blocks = stage_blocks(stage, shares, neighbors, mu)
        assert (1 - 1e-9) * mu <= sensitivity.mu(blocks, stage, neighbors) <= mu
        assert {block.statistic for block in blocks} == set(shares)
        for kind in ("counts", "meat"):
            assert sum(block.statistic == kind for block in blocks) == (m if kind in shares else 0)
        assert [block for block in blocks if block.statistic == "lengths" and (block.rows or block.columns)] == []
        block_noise(blocks, ROWS)


@both
def test_counts_of_row_norms_cost_their_share(neighbors):
    stage = small_stage(m=3, k=4, row_norms=ROW_NORMS)
    blocks = stage_blocks(stage, example.WITH_ROW_NORMS, neighbors, 0.5)
    assert [block.statistic for block in blocks] == ["counts"] * 3 + ["lengths", "gram", "cross", "squares"]
    cost = (sensitivity.sensitivity(blocks[3], stage, neighbors) / blocks[3].sd) ** 2
    least = 0.05 if neighbors == "add-remove" else 0.03
    assert least * (1 - 1e-9) <= cost / 0.25 <= 0.0501 * (2 if neighbors == "replace-one" else 1)
    with pytest.raises(ParameterError, match="edges"):
        stage_blocks(small_stage(), example.WITH_ROW_NORMS, neighbors, 0.5)


def test_the_noise_does_not_depend_on_the_matrices():
    """So that it can be checked before anything is charged."""
    one, two = small_stage(), small_stage()
    other = Coordinates.rounded(one.design, one.outcomes, 100 * one.P.floats, -one.theta.floats, 1e-9, [[3.0]])
    for neighbors in NEIGHBORS:
        first, second, third = (stage_blocks(stage, example.SHARES, neighbors, 0.1) for stage in (one, two, other))
        assert first == second == third


@both
def test_stages_cost_together_what_was_promised(neighbors):
    found = example.released(neighbors=neighbors)
    certificate = found.certificate
    assert all(finding.ok for finding in certificate.check())
    assert certificate.guarantee.status == "verified"
    mu = gdp.mu(epsilon=1.0, delta=1e-6)
    assert (1 - 1e-9) * mu <= gdp.compose(event.mu for event in certificate.events) <= mu
    assert listed(certificate.events) == example.LISTS[0]
    assert "counts of residuals, U'U, U'e, e'e of a stage" in certificate.words()
    assert (
        "counts of residuals, counts of row norms, U'U, U'e, e'e, score products of U'e of a stage"
        in certificate.words()
    )
    shares = budget_shares(certificate)
    assert sum(share for _, share in shares) == pytest.approx(1.0)
    assert shares[0] == ("counts of y", pytest.approx(0.1))
    names = {name for name, _ in shares}
    assert {
        "counts of residuals, stage 2",
        "counts of row norms, stage 2",
        "e'e, stage 1",
        "score products of U'e, stage 2",
    } <= names
    assert "counts of row norms, stage 1" not in names
    rows = facts.blocks(certificate)
    (row_norms,) = (row for row in rows if row[0] == "counts of row norms of a stage")
    assert row_norms[1].endswith("coordinates made of the regressors: 4")
    assert [row[0] for row in rows[1:5]] == [f"{n} of a stage" for n in ("counts of residuals", "U'U", "U'e", "e'e")]


# ---------------------------------------------------------------- what is released


@both
@pytest.mark.parametrize("m", [1, 3])
def test_without_noise_a_stage_is_its_exact_sums(m, neighbors):
    stage, frame = small_stage(m, k=3, row_norms=ROW_NORMS), people(500)
    blocks = stage_blocks(stage, example.WITH_ALL, neighbors, 1.0)
    chosen, table = [2, 0, 1][:m], Table.of(frame, DOMAIN)
    products = partial(score_products, table, stage)
    found = release_stage(
        staged(table, stage), blocks, neighbors, lambda counts: chosen, NO_NOISE, score_products=products
    )
    columns = {name: frame[name].to_numpy() for name in DOMAIN.columns}
    rotated = CoordinateMap(stage, DOMAIN, 500).rotate(encode(DOMAIN, columns))
    U, E = rotated.U / ONE, rotated.E[[3 * j + i for j, i in enumerate(chosen)]] / ONE
    grid = 2.0**-28 * max(block.sd for block in blocks)
    assert found.gram == pytest.approx(U @ U.T, abs=grid)
    assert found.cross == pytest.approx(U @ E.T, abs=grid)
    assert found.squares == pytest.approx((E**2).sum(axis=1), abs=grid)
    for j, name in enumerate(stage.outcomes):
        assert found.counts(name) == pytest.approx(CoordinateMap(stage, DOMAIN, 1).counts(rotated.V)[j], abs=grid)
    assert found.row_norms == pytest.approx(CoordinateMap(stage, DOMAIN, 1).row_norms(rotated.row_norms), abs=grid)
    assert found.row_norms.sum() == pytest.approx(500, abs=5 * grid)
    for name, e in zip(stage.outcomes, E, strict=True):
        S = np.rint(U * e * ONE) / ONE
        assert found.score_products(name) == pytest.approx(S @ S.T, abs=grid)
        assert found.score_products(name) == pytest.approx((U * e**2) @ U.T, abs=500 * 2.0**-20 + grid)
        assert np.array_equal(found.score_products(name), found.score_products(name).T)
        assert found.sd("meat", name) == found.sd("meat")
    with pytest.raises(ValueError, match="nothing sums them up"):
        release_stage(staged(table, stage), blocks, neighbors, lambda counts: chosen, NO_NOISE)
    assert found.event.widths == tuple(stage.widths[j][i] for j, i in enumerate(chosen))
    assert found.event.mu == sensitivity.mu(blocks, stage, neighbors)
    with pytest.raises(NotReleasedError):
        found.sd("eigenvalue")


def test_half_widths_are_chosen_by_noisy_counts_alone():
    """The rule sees the counts that are released, and nothing was drawn for the rest before it was asked."""
    stage, frame = small_stage(k=4, row_norms=ROW_NORMS), people(300)
    table, blocks = Table.of(frame, DOMAIN), stage_blocks(stage, example.WITH_ALL, "add-remove", 0.5)
    sums = staged(table, stage)
    source, seen = SeededEntropy(0), []
    drawn = []
    words = source.words
    source.words = lambda n: drawn.append(n) or words(n)

    def choose(counts):
        seen.append({name: own.tolist() for name, own in counts.items()})
        assert sum(drawn) == 5
        return [1]

    def products(chosen, radii):
        assert sum(drawn) == 5
        assert radii == ()
        assert chosen == (1,)
        return score_products(table, stage, chosen)

    found = release_stage(sums, blocks, "add-remove", choose, source, score_products=products)
    assert seen == [{"income": found.counts("income").tolist()}]
    assert sum(drawn) == 5 + 5 + 6 + 3 + 1 + 6
    exact = np.array([int(c) >> 40 for c in sums.integers(blocks[0])[0]])
    assert not np.allclose(found.counts("income"), exact)
    assert found.event.chosen == (1,)


def test_one_half_width_needs_no_rule():
    stage = small_stage()
    blocks = stage_blocks(stage, {"gram": 0.5, "cross": 0.5}, "add-remove", 1.0)
    found = release_stage(staged(Table.of(people(50), DOMAIN), stage), blocks, "add-remove", None, SeededEntropy(0))
    assert found.event.chosen == (0,)
    with pytest.raises(NotReleasedError):
        found.counts("income")
    with pytest.raises(NotReleasedError):
        found.sd("lengths")
    with pytest.raises(NotReleasedError):
        found.score_products("income")


def test_a_stage_of_features_alone():
    stage = Coordinates.rounded(["(intercept)", "age"], [], np.eye(2), np.empty((2, 0)), 1.0, [])
    blocks = stage_blocks(stage, {"gram": 1.0}, "add-remove", 1.0)
    found = release_stage(staged(Table.of(people(50), DOMAIN), stage), blocks, "add-remove", None, NO_NOISE)
    assert np.trace(found.gram) <= 50 * stage.norms[stage.axes]
    assert event_from_dict(json.loads(json.dumps(found.event.to_dict()))) == found.event


@both
def test_a_release_of_row_norms_alone(neighbors):
    """A stage without outcomes: exact without noise, its cost recomputed, and the same after it was saved."""
    frame, d = people(500), len(DOMAIN.design_names(["age", "region"]))
    P, none = np.diag(np.arange(1.0, d + 1)), np.empty((d, 0))
    stage = Coordinates.rounded(DOMAIN.design_names(["age", "region"]), [], P, none, 0.7, [], ROW_NORMS)
    blocks = stage_blocks(stage, {"lengths": 1.0}, neighbors, 0.5)
    sums = staged(Table.of(frame, DOMAIN), stage, gram=False)
    found = release_stage(sums, blocks, neighbors, None, NO_NOISE)
    assert found.event.of_norms
    assert found.event.chosen == found.event.radii == ()
    coordinate_map = CoordinateMap(stage, DOMAIN, 500)
    rotated = coordinate_map.rotate(encode(DOMAIN, {name: frame[name].to_numpy() for name in DOMAIN.columns}))
    exact = coordinate_map.row_norms(rotated.row_norms)
    assert np.count_nonzero(exact) > 2
    assert found.row_norms == pytest.approx(exact, abs=2.0**-28 * blocks[0].sd)
    ratio = found.event.mu * blocks[0].sd
    assert ratio == pytest.approx(1 if neighbors == "add-remove" else math.sqrt(2), rel=1e-9)
    again = event_from_dict(json.loads(json.dumps(found.event.to_dict())))
    assert again == found.event
    bounds = Bounds(DOMAIN, neighbors)
    assert again.examine(bounds).ok
    (block,) = again.blocks
    assert not replace(again, blocks=(replace(block, sd=0.999 * block.sd),)).examine(bounds).ok
    assert not replace(again, mu=0.999 * again.mu).examine(bounds).ok


RUNS = 2000


@both
def test_how_well_neighbours_can_be_told_apart_is_what_mu_says(neighbors):
    """The likelihood ratio of U'U and U'e of two tables, one row apart, over many releases of each.

    The rows are those that the proof says are the worst, so the mean ratio is attained.
    """
    domain = Domain({"a": (-1, 1), "b": (-1, 1), "y": (-1, 1)}, intercept=False)
    stage = Coordinates.rounded(["a", "b"], ["y"], np.eye(2), np.zeros((2, 1)), 1e-3, [[1e-6]])
    blocks = stage_blocks(stage, {"gram": 0.4, "cross": 0.6}, neighbors, 1.5)
    a, b = 2 / blocks[0].sd ** 2, 2 / blocks[1].sd ** 2
    c = min(1.0, b / (2 * a))  # the best angle, for replace-one
    rows = [(0.3, -0.4, 0.5), (1.0, 0.0, 1.0), (c, math.sqrt(1 - c * c), -1.0)]
    tables = [rows[:2], rows[:1] + (rows[2:] if neighbors == "replace-one" else [])]
    sums = [staged(Table.of(pd.DataFrame(t, columns=["a", "b", "y"]), domain, 1), stage) for t in tables]

    def statistics(sums, source):
        found = release_stage(sums, blocks, neighbors, None, source)
        G = found.gram
        return np.array([G[0, 0], G[1, 1], G[0, 1] * math.sqrt(2), *(found.cross[:, 0])])

    sds = np.array([blocks[0].sd] * 3 + [blocks[1].sd] * 2)
    means = [statistics(own, NO_NOISE) / sds for own in sums]
    direction = means[0] - means[1]
    assert np.linalg.norm(direction) == pytest.approx(1.5, rel=1e-4)
    source = SeededEntropy(5)
    drawn = [np.array([statistics(own, source) / sds for _ in range(RUNS)]) for own in sums]
    scores = [(own @ direction) / np.linalg.norm(direction) for own in drawn]
    assert scores[0].mean() - scores[1].mean() == pytest.approx(1.5, abs=4 * math.sqrt(2 / RUNS))
    spread = np.concatenate([own - own.mean() for own in scores]).std()
    assert spread == pytest.approx(1, abs=4 / math.sqrt(4 * RUNS))


# ---------------------------------------------------------------- files


@both
def test_a_release_in_stages_comes_back_from_its_file(neighbors, tmp_path):
    found = example.released(neighbors=neighbors)
    found.save(tmp_path / "release.json")
    loaded = PrivateMoments.load(tmp_path / "release.json")
    assert loaded.certificate == found.certificate
    assert loaded.values == found.values
    assert loaded.digest == found.digest
    for one, two in zip(loaded.stages, found.stages, strict=True):
        assert np.array_equal(one.gram, two.gram)
        assert np.array_equal(one.cross, two.cross)
        assert one.event == two.event
        assert one.event.coordinates.P.floats.tolist() == two.event.coordinates.P.floats.tolist()
    wrong = {finding.what for finding in check_saved(load_saved(tmp_path / "release.json")) if not finding.ok}
    assert not wrong
    assert np.array_equal(loaded.stages[-1].row_norms, found.stages[-1].row_norms)
    assert np.array_equal(loaded.stages[-1].score_products("income"), found.stages[-1].score_products("income"))
    assert loaded.stages[-1].event.coordinates.row_norms == found.stages[-1].event.coordinates.row_norms
    assert [block.statistic for block in loaded.blocks] == ["counts"]
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "release.json").read_bytes()


def test_a_block_without_a_span_is_written_as_it_always_was():
    body = example.released(random_state=0)._document()
    assert body["format_version"] == 3  # an older program would not know what a stage is
    assert set(body["certificate"]["events"][0]["blocks"][0]) == {
        "statistic", "rows", "columns", "sd", "layout", "exact",
    }  # fmt: skip


def test_edges_are_written_only_where_there_are_any():
    *_, first, second = example.released(random_state=0)._document()["certificate"]["events"]
    assert "lengths" not in first["coordinates"]
    assert second["coordinates"]["lengths"] == [second["coordinates"]["radius"] * edge for edge in example.ROW_NORMS]


@pytest.fixture(scope="module")
def honest():
    with pytest.MonkeyPatch.context() as patch:
        example.known_steps(patch)
        return example.released()._document()


def stage_in(body):
    return body["certificate"]["events"][-1]


def set_in(*path, to):
    def forge(body):
        *before, last = path
        inner = stage_in(body)
        for step in before:
            inner = inner[step]
        assert isinstance(inner, list) or last in inner
        inner[last] = to(inner[last]) if callable(to) else to

    return forge


def without(*path):
    def forge(body):
        inner = stage_in(body)
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]

    return forge


P, THETA = ("coordinates", "P"), ("coordinates", "theta")
MALFORMED = {
    "P of halves": set_in(*P, "integers", 0, 0, to=0.5),
    "P of whole floats": set_in(*P, "integers", 0, 0, to=1.0),
    "P of truth values": set_in(*P, "integers", 0, 0, to=True),
    "P of text": set_in(*P, "integers", 0, 0, to="1"),
    "P too large": set_in(*P, "integers", 0, 0, to=2**33 + 1),
    "P huge": set_in(*P, "integers", 0, 0, to=10**250),
    "P ragged": set_in(*P, "integers", 0, to=lambda own: own[:-1]),
    "P without a vector": set_in(*P, "integers", to=lambda own: own[:-1]),
    "P empty": set_in(*P, to={"integers": [], "exponents": []}),
    "P of other rows": set_in(*P, "integers", to=lambda own: [vector[:-1] for vector in own]),
    "P nothing": set_in(*P, to=None),
    "exponent too large": set_in(*P, "exponents", 0, to=257),
    "exponent a half": set_in(*P, "exponents", 0, to=0.5),
    "theta too large": set_in(*THETA, "integers", 0, 0, to=2**33),
    "theta exponent below 0": set_in(*THETA, "exponents", 0, to=-1),
    "theta exponent too large": set_in(*THETA, "exponents", 0, to=34),
    "theta of two outcomes": set_in(*THETA, "integers", to=lambda own: own * 2),
    "radius 0": set_in("coordinates", "radius", to=0.0),
    "radius below 0": set_in("coordinates", "radius", to=-1.0),
    "radius huge": set_in("coordinates", "radius", to=1e300),
    "radius of text": set_in("coordinates", "radius", to="1"),
    "radius true": set_in("coordinates", "radius", to=True),
    "width 0": set_in("coordinates", "widths", 0, 0, to=0.0),
    "width below 0": set_in("coordinates", "widths", 0, 0, to=-1.0),
    "width tiny": set_in("coordinates", "widths", 0, 0, to=1e-300),
    "widths fall": set_in("coordinates", "widths", 0, to=lambda own: own[::-1]),
    "no widths": set_in("coordinates", "widths", 0, to=[]),
    "widths of nobody": set_in("coordinates", "widths", to=[]),
    "edges fall": set_in("coordinates", "lengths", to=lambda own: own[::-1]),
    "edges empty": set_in("coordinates", "lengths", to=[]),
    "edges nothing": set_in("coordinates", "lengths", to=None),
    "edge of text": set_in("coordinates", "lengths", 0, to="1"),
    "edge true": set_in("coordinates", "lengths", 0, to=True),
    "edge huge": set_in("coordinates", "lengths", -1, to=1e300),
    "edge below the radius": set_in("coordinates", "lengths", 0, to=lambda edge: 0.99 * edge),
    "edge lost": set_in("coordinates", "lengths", to=lambda own: own[:-1]),
    "edge more": set_in("coordinates", "lengths", to=lambda own: [*own, 2 * own[-1]]),
    "too many edges": set_in("coordinates", "lengths", to=lambda own: [own[0] + i for i in range(65)]),
    "no edges": without("coordinates", "lengths"),
    "lengths of an outcome": set_in("blocks", 1, "columns", to=["income"]),
    "lengths for residuals": set_in("blocks", 0, "statistic", to="lengths"),
    "lengths of mapped columns": lambda body: body["certificate"]["events"][0]["blocks"][0].update(statistic="lengths"),
    "unknown design": set_in("coordinates", "design", 1, to="height"),
    "design twice": set_in("coordinates", "design", 1, to="(intercept)"),
    "design holds the outcome": set_in("coordinates", "design", 1, to="income"),
    "unknown outcome": set_in("coordinates", "outcomes", 0, to="height"),
    "outcome among the design": set_in("coordinates", "outcomes", 0, to="age"),
    "no coordinates": without("coordinates"),
    "no radius": without("coordinates", "radius"),
    "chosen too large": set_in("chosen", 0, to=3),
    "chosen below 0": set_in("chosen", 0, to=-1),
    "chosen true": set_in("chosen", 0, to=True),
    "chosen a half": set_in("chosen", 0, to=0.5),
    "chosen of two": set_in("chosen", to=[0, 0]),
    "chosen of none": set_in("chosen", to=[]),
    "unknown statistic": set_in("blocks", 0, "statistic", to="sums"),
    "eigenvalue": set_in("blocks", 2, "statistic", to="eigenvalue"),
    "statistic of no kind": set_in("blocks", 0, "statistic", to=["gram"]),
    "gram of an outcome": set_in("blocks", 2, "columns", to=["income"]),
    "cross of nobody": set_in("blocks", 3, "columns", to=[]),
    "cross of a feature": set_in("blocks", 3, "columns", to=["age"]),
    "score products of nobody": set_in("blocks", 5, "columns", to=[]),
    "score products of a feature": set_in("blocks", 5, "columns", to=["age"]),
    "score products of mapped columns": lambda body: body["certificate"]["events"][0]["blocks"][0].update(
        statistic="meat"
    ),
    "meat for U'U": set_in("blocks", 2, "statistic", to="meat"),
    "outcome twice": set_in("blocks", 3, "columns", to=["income", "income"]),
    "a block twice": set_in("blocks", to=lambda own: [*own, own[1]]),
    "sd 0": set_in("blocks", 1, "sd", to=0.0),
    "sd below 0": set_in("blocks", 1, "sd", to=-1.0),
    "sd off the grid": set_in("blocks", 1, "sd", to=lambda sd: 4 * sd),
    "sd too small": set_in("blocks", 1, "sd", to=1e-9),
    "mu 0": set_in("mu", to=0.0),
    "mu huge": set_in("mu", to=1e300),
    "mu of text": set_in("mu", to="1"),
    "a block lost": set_in("blocks", to=lambda own: own[:-1]),
    "another mechanism": set_in("mechanism", to="gaussian"),
    "values of another size": lambda body: body["values"][-6][0]["integers"].pop(),
    "lengths of another size": lambda body: body["values"][-5][0]["integers"].pop(),
    "score products of another size": lambda body: body["values"][-1][1]["integers"].pop(),
    "values lost": lambda body: body["values"].pop(),
}


@pytest.mark.parametrize("forge", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_stages_do_not_load(forge, honest, tmp_path):
    body = copy.deepcopy(honest)
    forge(body)
    (tmp_path / "malformed.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    with pytest.raises(FileFormatError, match="malformed"):
        PrivateMoments.load(tmp_path / "malformed.json")


def half_the_noise(body):
    """Values stay where they are: a grid holds for sds up to twice as large."""
    for block in stage_in(body)["blocks"]:
        block["sd"] = 2.0 ** math.floor(math.log2(block["sd"])) * 1.0000001


def less_noise_that_costs_more(body):
    half_the_noise(body)
    stage_in(body)["mu"] *= 3


def another_relation(body):
    body["certificate"]["guarantee"]["neighbors"] = "replace-one"


def lose_a_stage(body):
    body["certificate"]["events"].pop()
    del body["values"][-6:]


def lose_the_counts_of_residuals(body):
    stage_in(body)["blocks"].pop(0)
    del body["values"][-6]


def lose_the_counts_of_row_norms(body):
    stage_in(body)["blocks"].pop(1)
    del body["values"][-5]


def lose_the_score_products(body):
    stage_in(body)["blocks"].pop()
    body["values"].pop()


def less_noise_on_score_products(body):
    block = stage_in(body)["blocks"][5]
    exponents = [part["exponent"] for part in body["values"][-1]]
    least = max(2.0 ** (m - 10) for m in (exponents[0], exponents[1] + 0.5))  # of the same grids
    assert least < block["sd"]
    block["sd"] = least * 1.0000001


def less_noise_on_row_norms(body):
    block = stage_in(body)["blocks"][1]
    block["sd"] = 2.0 ** math.floor(math.log2(block["sd"])) * 1.0000001


def lose_all_blocks(body):
    stage_in(body)["blocks"] = []
    del body["values"][-6:]


FOUND = {
    half_the_noise: "noise on counts of residuals, counts of row norms, U'U, U'e, e'e, score products of U'e of a "
    "stage",
    less_noise_that_costs_more: "epsilon of all events",
    another_relation: "noise on counts of residuals",
    lose_a_stage: "the certificate lists counts of y; counts of residuals, U'U, U'e, e'e of a stage",
    lose_the_counts_of_residuals: "; counts of row norms, U'U, U'e, e'e, score products of U'e of a stage",
    lose_the_counts_of_row_norms: "; counts of residuals, U'U, U'e, e'e, score products of U'e of a stage",
    lose_the_score_products: "; counts of residuals, counts of row norms, U'U, U'e, e'e of a stage",
    less_noise_on_row_norms: "noise on counts of residuals, counts of row norms, U'U, U'e, e'e, score products of U'e "
    "of a stage",
    less_noise_on_score_products: "noise on counts of residuals, counts of row norms, U'U, U'e, e'e, score products of "
    "U'e of a stage",
    lose_all_blocks: "an event lists no statistic",
}


@pytest.mark.parametrize(("forge", "why"), FOUND.items(), ids=[forge.__name__ for forge in FOUND])
def test_a_forged_stage_is_found(forge, why, honest, tmp_path):
    body = copy.deepcopy(honest)
    forge(body)
    (tmp_path / "forged.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    wrong = [finding for finding in check_saved(load_saved(tmp_path / "forged.json")) if not finding.ok]
    assert any(why in f"{finding.what} {finding.detail}" for finding in wrong)


def test_a_span_is_read_back_and_nonsense_is_refused(honest, tmp_path):
    for span, good in (([-0.5, 0.5], True), ([0.5, -0.5], False), ([0.1, 0.9], False), ([1], False), ("x", False),
                       (None, False), ([-0.5, 1e308], False), ([True, 1], False)):  # fmt: skip
        body = copy.deepcopy(honest)
        body["certificate"]["events"][0]["blocks"][0]["span"] = span
        (tmp_path / "span.json").write_text(json.dumps(body | {"sha256": digest(body)}))
        if good:
            assert PrivateMoments.load(tmp_path / "span.json").blocks[0].span == (-0.5, 0.5)
            continue
        with pytest.raises(FileFormatError):
            PrivateMoments.load(tmp_path / "span.json")
    body = copy.deepcopy(honest)
    body["certificate"]["events"][0]["blocks"][0] |= {"statistic": "squares", "span": [-0.5, 0.5]}
    with pytest.raises(FileFormatError):
        event_from_dict(body["certificate"]["events"][0])


@pytest.mark.parametrize(
    ("block", "version"),
    [
        (Block("counts", (), ("income",), 1.0), 1),
        (Block("counts", (), ("income",), 1.0, span=(-0.5, 0.5)), 3),
        (Block("sums", ("age",), (), 1.0), 3),
        (Block("diagonal", ("age",), (), 1.0), 3),
    ],
)
def test_files_have_the_oldest_version_that_can_hold_them(block, version):
    """An older program that ignored a span would take the counts for those of the whole range."""
    certificate = example.released(random_state=0).certificate
    assert certificate.format_version == 3
    assert replace(certificate, events=(GaussianEvent(1.0, (block,)),)).format_version == version


def test_events_compare_by_what_they_hold():
    one, two = (StageEvent(0.1, small_stage(), (), (0,)) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    with pytest.raises(ParameterError):
        Coordinates.rounded(["a"], ["y"], [[1.0]], [[1.0]], 1.0, [])


# ---------------------------------------------------------------- what a stage costs each row


@both
@pytest.mark.parametrize("norms", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_the_loss_of_a_row_is_that_of_its_own_products(neighbors, norms):
    """Against exact sums with and without the row, or with another in its place; never more than for everybody."""
    frame, other = people(60), people(61)[-1:]
    found = example.released(frame, neighbors, random_state=3, norms=norms)
    certificate = found.certificate
    given = {"replacement": other} if neighbors == "replace-one" else {}
    measured = losses(frame, found, **given)
    for i in (0, 17, 59):
        rest = frame.drop(index=i)
        changed = pd.concat([rest, other], ignore_index=True) if given else rest
        cost = _cost(certificate, frame, changed)
        assert measured.mu()[i] == pytest.approx(math.sqrt(cost), rel=1e-6)
        assert cost <= sum(event.mu**2 for event in certificate.events) * (1 + 1e-9)
    if given:
        assert (losses(frame, found).mu() >= measured.mu() * (1 - 1e-9)).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("norms", [False, True])
def test_a_household_in_stages_is_exact(norms):
    frame = people(60)
    found, members = example.released(frame, random_state=3, norms=norms), [3, 8, 30]
    cost = _cost(found.certificate, frame, frame.drop(index=members))
    assert household(frame.loc[members], found) == pytest.approx(gdp.epsilon(math.sqrt(cost), 1e-6), rel=1e-6)


def _cost(certificate, one, two):
    """Squared change of all statistics in units of their noise."""
    total = 0.0
    for event in certificate.events:
        if not isinstance(event, StageEvent):
            counts = [_outcomes(frame) for frame in (one, two)]
            total += float(np.sum((counts[0] - counts[1]) ** 2)) / event.blocks[0].sd ** 2
            continue
        tables = [Table.of(frame, DOMAIN, 1) for frame in (one, two)]
        sums = [staged(table, event.coordinates) for table in tables]
        scored = any(block.statistic == "meat" for block in event.blocks)
        products = [score_products(table, event.coordinates, event.chosen) for table in tables] if scored else []
        for block in event.blocks:
            exact = [own.integers(block) for own in products] if block.statistic == "meat" else None
            exact = exact or [own.integers(block, event.chosen) for own in sums]
            parts = zip(*exact, block.sds, strict=True)
            total += sum(float(np.sum((np.array(a - b, dtype=float) * 2.0**-40 / sd) ** 2)) for a, b, sd in parts)
    return total


def _outcomes(frame):
    from discreet.data.counts import first_pass

    return first_pass(Table.of(frame, DOMAIN, 1), ["income"])[0][0].integers().astype(float)
