"""A release that protects visits was counted like one that protects patients: epsilon 10.3 in a budget of 1 in 0.2.0.

The person column is a term of a Budget and of an account. A release that protects the persons of that very column is
charged as it says. One that protects rows, or the groups of any other column, is charged for all rows of a person by
group privacy, or refused. Here the true loss of a patient is worked out from what the patient adds to each statistic.
"""

import contextlib
import math

import numpy as np
import pandas as pd
import pytest

from discreet import Budget, BudgetError, Domain, Ledger, release
from discreet.privacy import gdp

ROWS = 8
DELTA = 1e-6
COLUMNS = {"x": (-1, 1), "y": (-1, 1)}
pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")


def table():
    """20 patients with 8 visits each, one row a visit; all rows are the worst that there are."""
    patient = np.repeat(np.arange(20), ROWS)
    return pd.DataFrame({"patient": patient, "visit": np.arange(len(patient)), "x": 1.0, "y": 1.0})


def statistics(frame, event, person, rows):
    """All that is released of a table before noise, in units of the noise: a row of n > m counts m/n."""
    weights = np.ones(len(frame))
    if person is not None:
        weights = np.minimum(1.0, rows / frame.groupby(person)["x"].transform("size").to_numpy())
    z, y = np.column_stack([np.ones(len(frame)), frame["x"]]), frame["y"].to_numpy()
    parts = []
    for block in event.blocks:
        if block.statistic == "gram":
            i, j = np.triu_indices(2)
            each = z[:, i] * z[:, j] * np.where(i == j, 1.0, math.sqrt(2) if block.layout == "weighted" else 1.0)
        else:
            each = z * y[:, None] if block.statistic == "cross" else (y**2)[:, None]
        parts.append(weights @ each / block.sd)
    return np.concatenate(parts)


def true_mu(frame, released, person, rows):
    """What the noise leaves of the difference that one patient makes: exact for Gaussian noise."""
    (event,) = released.certificate.events
    others = frame[frame["patient"] != 0]
    return float(np.linalg.norm(statistics(frame, event, person, rows) - statistics(others, event, person, rows)))


class Study:
    """Releases of the table that something counts, and what they cost a patient together."""

    def __init__(self):
        self.frame, self.mu2, self.made = table(), 0.0, 0

    def ask(self, epsilon, person=None, rows=1):
        unit = {} if person is None else {"person": person, "rows_per_person": rows}
        with contextlib.suppress(BudgetError):
            released = release(
                self.frame, domain=Domain(COLUMNS, **unit), epsilon=epsilon, delta=DELTA, targets=["y"], stages=1
            )
            self.mu2 += true_mu(self.frame, released, person, rows) ** 2
            self.made += 1

    @property
    def epsilon(self):
        """The true epsilon of a patient."""
        return gdp.epsilon(mu=math.sqrt(self.mu2), delta=DELTA) if self.mu2 else 0.0


def test_a_release_of_visits_does_not_pass_for_one_of_patients():
    study = Study()
    with Budget(epsilon=1, delta=DELTA, rows_per_person=ROWS):
        study.ask(1, "visit")
    assert study.epsilon <= 1


def test_the_first_release_does_not_open_the_door_for_others():
    study = Study()
    with Budget(epsilon=1, delta=DELTA) as budget:
        study.ask(0.5, "patient", ROWS)
        study.ask(0.5, "visit")
    assert study.made == 1
    assert study.epsilon <= 1
    assert "patient" in budget.unit


def test_many_small_releases_of_visits_add_up_for_a_patient():
    study = Study()
    with Budget(epsilon=1, delta=DELTA, rows_per_person=ROWS):
        for _ in range(20):
            study.ask(0.05, "visit")
            study.ask(0.02)
    assert study.made
    assert study.epsilon <= 1


@pytest.mark.parametrize("named", ["clinic", "clinic/visits"])
def test_an_account_of_people_with_many_rows_counts_visits_as_rows(tmp_path, named):
    """An account as version 0.2.0 opened it: it knows how many rows a person has, and no column."""
    study, ledger = Study(), Ledger.create(tmp_path / "people.ledger")
    ledger.open("clinic", epsilon=1, delta=DELTA, rows_per_person=ROWS)
    if named != "clinic":
        ledger.open(named, rows_per_person=ROWS)
    with ledger.account(named) as account:
        study.ask(1, "visit")
        for _ in range(20):
            study.ask(0.05, "visit")
    assert study.epsilon <= 1
    assert account.balance().mu_spent >= math.sqrt(study.mu2) * (1 - 1e-9)


@pytest.mark.parametrize("person", [None, "visit", "ward"])
def test_a_row_of_a_budget_of_rows_is_not_lost_in_a_group(person):
    """One row is one person here: a group that loses a row is another group, two steps away and not one."""
    frame = table().assign(ward=np.arange(160) % 5)
    unit = {} if person is None else {"person": person, "rows_per_person": 2}
    with Budget(epsilon=1, delta=DELTA) as budget:
        release(frame, domain=Domain(COLUMNS), epsilon=0.1, delta=DELTA, targets=["y"], stages=1)
        before = budget.balance.spent.mu2
        release(frame, domain=Domain(COLUMNS, **unit), epsilon=0.1, delta=DELTA, targets=["y"], stages=1)
        charged = math.sqrt(budget.balance.spent.mu2 - before) / math.sqrt(before)
    assert charged == pytest.approx(1 if person is None else 2, rel=1e-6)
