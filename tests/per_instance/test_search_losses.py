"""The losses of rows and persons in a search for bounds, against the counts with and without them."""

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLinearRegression
from discreet.data.counts import first_pass
from discreet.data.reading import Table
from discreet.gate.statistics import exact_counts
from discreet.per_instance import losses
from discreet.privacy.sensitivity import sensitivity

UNIT = {"person": "who", "rows_per_person": 3, "weights": "w", "largest_weight": 2.0}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(0, 4, 900), "y": rng.lognormal(2, 1, 900)})
    frame.loc[0, "a"] = 1e300
    return frame.assign(who=np.sort(rng.integers(0, 300, 900)), w=rng.uniform(0.1, 2, 900))


def true_costs(people, released, without):
    """For each search block, mu^2 of some rows, from the exact counts with and without them."""
    certificate, more = released.certificate, 0 if released.domain.unit.plain else 20
    found = []
    domains = certificate.encodings(released.values)
    for event, domain in zip(certificate.events, domains, strict=False):
        for block in event.blocks:
            if block.statistic == "sums":
                continue
            counts = []
            for table in (people, people.drop(index=without)):
                (histogram,), _ = first_pass(Table.of(table, domain), block.columns)
                counts.append(np.array([float(n) for n in exact_counts(histogram, block)[0]]) / 2.0 ** (40 + more))
            found.append(np.sum((counts[0] - counts[1]) ** 2) / block.sd**2)
    return np.array(found)


def measured(people, released):
    found = losses(people, released)
    own = [(part, mu2) for part, mu2 in found.measured if "powers of two" in part.name or "equal parts" in part.name]
    assert len(own) == 4
    return found, own


def test_losses_of_rows_are_exact(people):
    model = DPLinearRegression(epsilon=2, delta=1e-6, domain=Domain({"a": "number", "y": {"low": 0}}), random_state=1)
    released = model.fit_source(people, "y").release_
    found, own = measured(people, released)
    assert found.exact
    for i in (0, 1, 17):
        assert [mu2[i] for _, mu2 in own] == pytest.approx(true_costs(people, released, [i]))


def test_losses_of_persons_are_bounds_and_say_so(people):
    domain = Domain({"a": "number", "y": {"low": 0}}, **UNIT)
    released = DPLinearRegression(epsilon=2, delta=1e-6, domain=domain, random_state=1).fit_source(people, "y").release_
    found, own = measured(people, released)
    assert any("a bound over the cells" in note for note in found.notes)
    blocks = [block for event in released.certificate.events[:2] for block in event.blocks if block.statistic != "sums"]
    for place in (0, 5, 100):
        rows = people.index[people["who"] == int(found.names[place])]
        costs = np.array([mu2[place] for _, mu2 in own])
        assert (costs >= true_costs(people, released, rows) * (1 - 1e-6)).all()
        assert (costs <= [(sensitivity(block, domain) / block.sd) ** 2 for block in blocks]).all()


def test_rows_that_are_replaced_have_bounds(people):
    model = DPLinearRegression(epsilon=2, delta=1e-6, domain=Domain({"a": "number", "y": {"low": 0}}), random_state=1)
    released = model.set_params(neighbors="replace-one").fit_source(people, "y").release_
    event = released.certificate.events[0]
    found = losses(people, released)
    costs = next(mu2 for part, mu2 in found.measured if "powers of two" in part.name)
    assert (costs <= event.mu**2 * (1 + 1e-12)).all()
    assert costs.max() == pytest.approx(event.mu**2)
