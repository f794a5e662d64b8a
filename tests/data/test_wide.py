"""Wide tables: many levels are summed up by level to the same bits, and what cannot be done is refused at once."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet import Domain, DPLinearRegression, Moments, formula
from discreet.core import memory
from discreet.drivers.release import WIDE, stages_suit
from discreet.errors import DiscreetWarning, ParameterError
from discreet.models.size import check_size

LEVELS = [f"l{i}" for i in range(40)]
PLACES = [f"p{i}" for i in range(17)]


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "who": rng.integers(0, n // 3, n),
            "w": rng.uniform(0, 2, n),
            "x": rng.normal(size=n),
            "g": rng.choice(LEVELS, n),
            "z": rng.uniform(-1, 1, n),
            "place": rng.choice(PLACES, n),
            "sex": rng.choice(["F", "M"], n),
            "y": rng.uniform(0, 1, n),
        }
    )


COLUMNS = {"x": (-2, 2), "g": LEVELS, "z": (-1, 1), "place": PLACES, "sex": ["F", "M"], "y": (0, 1)}
FACTS = {
    "rows alike": {},
    "weights": {"weights": "w", "largest_weight": 2.0},
    "persons": {"person": "who", "rows_per_person": 2},
}


def summed(monkeypatch, many, domain, **options):
    monkeypatch.setattr("discreet.data.passes.moments.MANY", many)
    return Moments.from_source(table(), domain, **options)


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("targets", [None, ["y"], ["y", "x"], ["place[p3]", "y"]])
def test_sums_by_level_are_the_same_to_the_last_bit(monkeypatch, facts, targets):
    domain = Domain(COLUMNS, **FACTS[facts])
    by_level, by_product = (summed(monkeypatch, many, domain, targets=targets) for many in (10, 10**9))
    assert by_level.to_bytes() == by_product.to_bytes()


@pytest.mark.parametrize("facts", FACTS)
def test_so_are_those_of_levels_times_numbers_and_levels_times_levels(monkeypatch, facts):
    domain = formula("y ~ g:z + place:sex + x", Domain(COLUMNS, **FACTS[facts])).domain
    by_level, by_product = (summed(monkeypatch, many, domain) for many in (10, 10**9))
    assert by_level.to_bytes() == by_product.to_bytes()


# -------------------------------------------------------------------- memory and time, before anything is read


def numbers(d):
    return Domain({f"x{i}": (0, 1) for i in range(d)} | {"y": (0, 1)})


@pytest.fixture
def unread(monkeypatch):
    """Reading fails."""
    monkeypatch.setattr("discreet.data.reading.Table.read", lambda *_, **__: pytest.fail("rows were read"))


@pytest.mark.parametrize("stages", ["auto", 1, 2])
def test_more_memory_than_there_is_is_refused_before_rows_are_read(monkeypatch, unread, stages):
    monkeypatch.setattr("discreet.core.memory.available", lambda: 10**6)
    domain = numbers(200)
    frame = pd.DataFrame({name: np.zeros(3) for name in domain.columns})
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=domain, stages=stages)
    with pytest.raises(ParameterError, match=r"202 coordinates.* MB") as refused:
        model.fit_source(frame, "y")
    assert "1.0 MB are free" in str(refused.value)
    assert "help" in str(refused.value)
    assert ("stages=1" in str(refused.value)) == (stages != 1)


def test_sums_that_do_not_fit_are_refused_with_less_threads_as_a_remedy(monkeypatch, unread):
    monkeypatch.setattr("discreet.core.memory.available", lambda: 10**6)
    frame = pd.DataFrame({name: np.zeros(3) for name in numbers(200).columns})
    with pytest.raises(ParameterError, match=r"Summing up 202 coordinates .* n_jobs=1"):
        Moments.from_source(frame, numbers(200))


def test_what_a_container_may_have_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert memory.available() == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() != 600


def test_models_that_take_minutes_say_so():
    with pytest.warns(DiscreetWarning, match=r"5,000 coordinates, levels included, takes about \d+ minutes"):
        check_size(5000, staged=False)


def test_wide_tables_have_one_stage_unless_more_are_asked_for():
    for d, asked, staged in ((100, False, True), (WIDE, False, False), (WIDE, True, True)):
        assert stages_suit(numbers(d), ["y"], once=False, asked=asked) == staged
