"""A person with many rows, and weights: exact sums, and sensitivities by brute force."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain, Moments, release
from discreet.data import persons
from discreet.data.counts import first_pass
from discreet.data.reading import Table
from discreet.data.stages import score_products, staged
from discreet.domain.coordinates import Coordinates, Directions
from discreet.errors import DataError, DomainError, ParameterError
from discreet.privacy import gdp, sensitivity
from discreet.privacy.events.coordinates import stage_block
from discreet.privacy.events.gaussian import Block

NEIGHBORS = ("add-remove", "replace-one")
COLUMNS = {"x": (-1, 1), "c": ["a", "b", "d"], "y": (-1, 1)}
M, LARGEST = 3, 4.0
UNIT = {"person": "id", "rows_per_person": M}
WEIGHTED = {"weights": "w", "largest_weight": LARGEST}
DOMAIN = Domain(COLUMNS, **UNIT, **WEIGHTED)
LIGHT = {"sums": ("x", "c[a]", "c[b]", "c[d]"), "diagonal": ("x", "c[a]", "c[b]", "c[d]")}
DESIGN = ("(intercept)", "x", "c[a]", "c[b]", "c[d]")
STAGE = Coordinates.rounded(DESIGN, ["y"], np.eye(5), np.full((5, 1), 0.2), 1.1, [[0.3, 0.9]], [1.2, 1.4], most=M)
OF_NORMS = replace(STAGE, outcomes=(), theta=Directions((), ()), widths=())


def table(rng, rows, people, *, missing=False):
    frame = pd.DataFrame(
        {
            "id": rng.integers(0, people, rows),
            "x": rng.uniform(-1.2, 1.2, rows),
            "c": rng.choice(["a", "b", "d"], rows),
            "y": rng.uniform(-1.2, 1.2, rows),
            "w": rng.uniform(0, 5, rows),
        }
    )
    if missing:
        frame.loc[rng.random(rows) < 0.2, "x"] = np.nan
        frame.loc[rng.random(rows) < 0.1, "w"] = np.nan
    return frame


def counting(frame, domain):
    """What each row counts, in exact fractions, from the words of the documentation."""
    unit, n = domain.unit, frame.groupby("id")["id"].transform("size")
    weights = frame["w"].fillna(0).clip(0, unit.largest_weight) if unit.weights else np.ones(len(frame))
    own = [math.floor(w / unit.largest_weight * 2**20) if unit.weights else 2**20 for w in weights]
    m = unit.rows_per_person if unit.person else None
    shares = [q if m is None or k <= m else math.floor(Fraction(q * m, int(k))) for q, k in zip(own, n, strict=True)]
    return np.array(shares, dtype=object)


def rows_of(frame, domain):
    """The encoded rows, one a line, in lattice units."""
    plain = domain.of_rows()
    found = [Moments.from_source(frame.iloc[[i]].drop(columns="id"), plain) for i in range(len(frame))]
    d = len(plain.entries)
    return [moments.integers(np.zeros(d, int), np.arange(d)).astype(object) // 2**20 for moments in found]


# ---------------------------------------------------------------- sums


@pytest.mark.parametrize("unit", [UNIT, WEIGHTED, UNIT | WEIGHTED])
def test_sums_are_those_of_weighted_rows_exactly(unit):
    domain = Domain(COLUMNS, **unit)
    frame = table(np.random.default_rng(1), 60, 12)
    if unit is WEIGHTED:
        frame["id"] = np.arange(60)
    q, Z = counting(frame, domain), rows_of(frame, domain)
    frame = frame.drop(columns="id") if unit is WEIGHTED else frame
    wanted = sum(w * np.outer(z, z) for w, z in zip(q, Z, strict=True))
    d = len(domain.entries)
    found = Moments.from_source(frame, domain)
    assert (found.integers(*np.indices((d, d))) == wanted).all()
    (histogram,), margins = first_pass(Table.of(frame, domain), ["y"])
    assert (margins.integers(np.zeros(d, int), np.arange(d)) == wanted[0]).all()
    assert (margins.integers(np.arange(d), np.arange(d)) == np.diag(wanted)).all()
    assert histogram.integers().sum() == q.sum()
    some = Moments.from_source(frame, domain, targets=["y"])
    assert some.integers([0, 5], [0, 5]).tolist() == [wanted[0, 0], wanted[5, 5]]


def test_a_person_never_counts_for_more_than_m_rows():
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 4, 7, 100, 9999):
        frame = table(rng, n, 1).assign(w=LARGEST)
        total = Moments.from_source(frame, DOMAIN).integers([0], [0])[0]
        assert total <= M << 60
        assert total >= min(n, M) * ((1 << 60) - (n << 40))


def test_rows_that_are_dropped_count_for_nothing_and_take_nothing_from_others():
    domain = Domain(COLUMNS, **UNIT, **WEIGHTED, missing="drop")
    frame = table(np.random.default_rng(3), 80, 9, missing=True)
    q, kept = counting(frame, domain), frame.notna().all(axis=1).to_numpy()
    found = Moments.from_source(frame, domain)
    assert found.integers([0], [0])[0] == q[kept].sum() << 40
    (histogram,), margins = first_pass(Table.of(frame, domain), ["y"])
    assert margins.integers([0], [0])[0] == q[kept].sum() << 40
    assert histogram.integers().sum() == q.sum()


def test_other_people_change_nothing():
    rng = np.random.default_rng(4)
    frame, more = table(rng, 90, 10), table(rng, 40, 5).assign(id=lambda t: t["id"] + 100)
    both = pd.concat([frame, more]).sample(frac=1, random_state=0)
    at = np.indices((6, 6))
    apart = [Moments.from_source(t, DOMAIN) for t in (frame, more)]
    assert (Moments.from_source(both, DOMAIN).integers(*at) == sum(part.integers(*at) for part in apart)).all()
    with pytest.raises(ParameterError, match="count twice"):
        apart[0] + apart[1]
    one, two = (staged(Table.of(t, DOMAIN), STAGE) for t in (frame, more))
    assert staged(Table.of(both, DOMAIN), STAGE) == one + two
    scores = [score_products(Table.of(t, DOMAIN), STAGE, [0], [0.4]) for t in (frame, more, both)]
    assert scores[0] + scores[1] == scores[2]


# ---------------------------------------------------------------- any container, any order, any engine


def test_any_container_and_any_order_give_the_same_sums(tmp_path):
    frame = table(np.random.default_rng(5), 500, 60)
    wanted, arrow = Moments.from_source(frame, DOMAIN), pa.Table.from_pandas(frame)
    shuffled = frame.sample(frac=1, random_state=1)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for i, part in enumerate(np.array_split(np.arange(500), 3)):
        (tmp_path / "parts").mkdir(exist_ok=True)
        pq.write_table(
            pa.Table.from_pandas(shuffled.iloc[part]), tmp_path / "parts" / f"{i}.parquet", row_group_size=50
        )
    text = frame.assign(id=[f"P{i}" for i in frame["id"]])
    coded = arrow.set_column(0, "id", arrow["id"].cast(pa.string()).dictionary_encode())
    for source in (
        shuffled,
        arrow,
        coded,
        text,
        text.assign(id=text["id"].astype("category")),
        frame.astype({"id": object}),
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        duckdb.from_arrow(arrow),
        pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(7)),
        tmp_path / "rows.csv",
        tmp_path / "parts",
    ):
        assert Moments.from_source(source, DOMAIN) == wanted


def test_an_engine_on_disk_gives_the_same_as_memory_and_leaves_nothing(tmp_path, monkeypatch):
    frame = table(np.random.default_rng(6), 5000, 700, missing=True)
    domain = Domain(COLUMNS, **UNIT, **WEIGHTED, missing="drop")
    wanted = Moments.from_source(frame, domain), score_products(Table.of(frame, domain), STAGE, [1], [0.4])
    monkeypatch.setattr(persons, "IN_MEMORY", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened = Table.of(frame, domain)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert score_products(opened, STAGE, [1], [0.4]) == wanted[1]
    del opened
    assert Moments.from_source(frame, domain) == wanted[0]
    bad = frame.assign(c=frame["c"].where(frame.index < 4999, "secret"))
    with pytest.raises(DataError, match="category that is not declared") as caught:
        Moments.from_source(bad, domain)
    assert "secret" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_rows_that_an_engine_left_apart_are_refused(monkeypatch):
    frame = table(np.random.default_rng(14), 3000, 400)
    monkeypatch.setattr(persons, "IN_MEMORY", 1000)
    right = persons.sort_to_file

    def shuffled(rows, folder, more=()):
        right(rows, folder, more)
        found = pq.read_table(folder / "rows.parquet")
        order = np.arange(found.num_rows)
        order[[5, -5]] = order[[-5, 5]]
        pq.write_table(found.take(pa.array(order)), folder / "rows.parquet")

    monkeypatch.setattr(persons, "sort_to_file", shuffled)
    with pytest.raises(DataError, match="not put in the order of persons"):
        Moments.from_source(frame, DOMAIN)


def test_persons_and_weights_may_not_be_missing_unless_their_rows_are_dropped():
    frame = table(np.random.default_rng(7), 30, 5).astype({"id": "Int64"})
    frame.loc[3, "id"], frame.loc[4, "w"] = pd.NA, np.nan
    with pytest.raises(DataError, match="'id' has missing values"):
        Moments.from_source(frame.fillna({"w": 1.0}), DOMAIN)
    with pytest.raises(DataError, match="'w' has missing values"):
        Moments.from_source(frame.dropna(subset=["id"]), DOMAIN)
    dropping = Domain(COLUMNS, **UNIT, **WEIGHTED, missing="drop")
    left = frame.drop(index=[3])
    assert Moments.from_source(frame, dropping) == Moments.from_source(left, dropping)
    with pytest.raises(DataError, match="whole numbers or text"):
        Moments.from_source(frame.drop(index=[3, 4]).astype({"id": float}), DOMAIN)


# ---------------------------------------------------------------- sensitivities


def vectors(block, Z, names):
    """What each row adds to a statistic, as a vector whose length is that of the noise layout."""
    place = {name: i for i, name in enumerate(names)}
    X, Y = Z[:, [place[n] for n in block.rows]], Z[:, [place[n] for n in block.columns]]
    if block.statistic == "gram":
        i, j = np.triu_indices(X.shape[1])
        return X[:, i] * X[:, j] * np.where(i == j, 1.0, math.sqrt(2) if block.layout == "weighted" else 1.0)
    if block.statistic == "cross":
        return np.einsum("ni,nj->nij", X, Y).reshape(len(Z), -1)
    if block.statistic == "squares":
        return Y**2
    if block.statistic == "sums":
        return X
    if block.statistic == "diagonal":
        return X**2
    return np.eye(16)[np.minimum(((Y[:, 0] + 1) * 8).astype(int), 15)]


def corners():
    """All rows at the ends of the bounds, and some inside."""
    rng = np.random.default_rng(8)
    ends = [
        np.concatenate([[1.0, x], np.eye(3)[c], [y]]) for x, c, y in itertools.product((-1, 0, 1), range(3), (-1, 0, 1))
    ]
    inside = [np.concatenate([[1.0, rng.uniform(-1, 1)], np.eye(3)[rng.integers(3)], [rng.uniform(-1, 1)]])]
    return np.array(ends + inside * 9)


BLOCKS = [
    [Block("gram", DESIGN, (), 1.0)],
    [Block("gram", DESIGN, (), 1.0, layout="uniform")],
    [Block("cross", DESIGN, ("y",), 1.0)],
    [Block("squares", (), ("y",), 1.0)],
    [Block("counts", (), ("y",), 1.0)],
    [Block("sums", LIGHT["sums"], (), 1.0)],
    [Block("sums", ("(intercept)",), (), 1.0)],
    [Block("diagonal", LIGHT["diagonal"], (), 1.0)],
    [Block("gram", DESIGN, (), 2.0), Block("cross", DESIGN, ("y",), 1.0), Block("squares", (), ("y",), 3.0)],
]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("blocks", BLOCKS, ids=lambda blocks: ",".join(b.statistic + b.layout[:1] for b in blocks))
def test_no_person_moves_statistics_by_more_than_is_claimed(blocks, neighbors):
    """Persons are weighted sums of rows: single rows m times over, mixtures, and nobody."""
    rng, Z = np.random.default_rng(9), corners()
    names = [entry.name for entry in DOMAIN.entries]
    V = np.hstack([vectors(block, Z, names) / block.sd for block in blocks])
    people = [np.zeros(V.shape[1]), *(M * V)]
    for _ in range(300):
        rows = rng.integers(0, len(Z), rng.integers(1, 9))
        weights = rng.uniform(0, 1, len(rows))
        people.append(weights / max(1.0, weights.sum() / M) @ V[rows])
    P = np.array(people)
    claimed = sensitivity.mu(blocks, DOMAIN, neighbors)
    row_norms = np.linalg.norm(P, axis=1)
    largest = row_norms.max()
    if neighbors == "replace-one":
        largest = np.sqrt(np.maximum(row_norms[:, None] ** 2 + row_norms**2 - 2 * P @ P.T, 0)).max()
    assert largest <= claimed * (1 + 1e-12)
    assert claimed <= 1.5 * largest
    rows = sensitivity.mu(blocks, DOMAIN.of_rows(), neighbors)
    assert claimed == pytest.approx(M * max(rows, sensitivity.mu(blocks, DOMAIN.of_rows(), "add-remove")), rel=1e-9)


@pytest.mark.parametrize("kind", ["gram", "cross", "squares", "counts", "lengths", "lengths alone", "meat"])
def test_the_exact_sums_of_one_person_keep_to_the_claims_rounding_included(kind):
    rng = np.random.default_rng(10)
    alone = kind.endswith("alone")
    stage, kind = OF_NORMS if alone else STAGE, kind.removesuffix(" alone")
    columns = () if kind in ("gram", "lengths") else ("y",)
    block = stage_block(stage, kind, columns)
    claimed = {n: sensitivity.sensitivity(block, stage, n) for n in NEIGHBORS}
    found = []
    for n in (1, 2, 3, 4, 17, 1000):
        for _ in range(6):
            frame = table(rng, n, 1).assign(w=rng.choice([LARGEST, 2.0]))
            frame = pd.concat([frame.iloc[[0]]] * n) if rng.random() < 0.5 else frame
            frame[["x", "y"]] = np.sign(frame[["x", "y"]]) if rng.random() < 0.5 else frame[["x", "y"]]
            opened = Table.of(frame, DOMAIN)
            parts = (
                score_products(opened, stage, [0], [0.05]).integers(block)
                if kind == "meat"
                else staged(opened, stage, gram=not alone).integers(block, [0])
            )
            flat = [np.ldexp(part.astype(float), -60) for part in parts]
            found.append(np.concatenate([flat[0], *(math.sqrt(2) * part for part in flat[1:])]))
    P = np.array([np.zeros_like(found[0]), *found])
    assert np.linalg.norm(P, axis=1).max() <= claimed["add-remove"]
    apart = np.linalg.norm(P[:, None] - P, axis=2).max()
    assert apart <= claimed["replace-one"]
    assert np.linalg.norm(P, axis=1).max() >= 0.3 * claimed["add-remove"]
    if kind == "lengths":
        assert claimed == pytest.approx({"add-remove": M, "replace-one": math.sqrt(2) * M}, rel=1e-9)


def test_the_least_eigenvalue_of_a_person():
    block = Block("eigenvalue", ("(intercept)", "x"), (), 1.0)
    plain = sensitivity.sensitivity(block, DOMAIN.of_rows())
    assert 2 * M < sensitivity.sensitivity(block, DOMAIN) <= M * plain
    rng = np.random.default_rng(11)
    frame = table(rng, 200, 40)
    least = [
        np.linalg.eigvalsh(Moments.from_source(t, DOMAIN).floats([0, 1]))[0] for t in (frame, frame[frame["id"] != 5])
    ]
    assert 0 <= least[0] - least[1] <= 2 * M


# ---------------------------------------------------------------- declarations


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"person": "id"}, "go together"),
        ({"rows_per_person": 2}, "go together"),
        ({"person": "id", "rows_per_person": 0}, "whole number from 1"),
        ({"person": "id", "rows_per_person": True}, "whole number from 1"),
        ({"person": "x", "rows_per_person": 2}, "declared with bounds"),
        ({"weights": "w"}, "go together"),
        ({"weights": "w", "largest_weight": 0}, "above 0"),
        ({"weights": "w", "largest_weight": math.inf}, "above 0"),
        ({"weights": "id", "largest_weight": 1, "person": "id", "rows_per_person": 1}, "at once"),
        ({"weights": 5, "largest_weight": 1}, "name of a column"),
    ],
)
def test_wrong_declarations_are_refused(facts, words):
    with pytest.raises(DomainError, match=words):
        Domain(COLUMNS, **facts)


def test_a_domain_keeps_its_unit():
    assert Domain.from_dict(DOMAIN.to_dict()) == DOMAIN
    assert DOMAIN.select(["x", "y"]).unit == DOMAIN.unit != Domain(COLUMNS).unit
    assert DOMAIN != Domain(COLUMNS) == DOMAIN.of_rows()
    assert DOMAIN.with_unit(rows_per_person=5).unit == replace(DOMAIN.unit, rows_per_person=5)
    assert DOMAIN.format_version == 5
    assert Domain(COLUMNS).format_version == 1


def test_noise_is_m_times_that_of_rows():
    """With the same promise: what a person costs is what a row costs, times m."""
    mu = gdp.mu(epsilon=1.0, delta=1e-6)
    block = Block("gram", DESIGN, (), 7.0)
    assert sensitivity.mu([block], DOMAIN, "add-remove") == pytest.approx(
        M * sensitivity.mu([block], DOMAIN.of_rows(), "add-remove"), rel=1e-12
    )
    frame = table(np.random.default_rng(13), 300, 60)
    found = release(frame, domain=DOMAIN, epsilon=1.0, delta=1e-6, targets=["y"], stages=1, random_state=0)
    assert sensitivity.mu(found.certificate.blocks, DOMAIN, "add-remove") == pytest.approx(mu, rel=1e-6)
