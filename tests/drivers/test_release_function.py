"""`release` of a table, or of moments: what it takes."""

import numpy as np
import pytest

from discreet import Budget, Domain, Moments, release
from discreet.errors import ParameterError

TABLE = np.linspace(0, 1, 60).reshape(30, 2)
DOMAIN = Domain({"x": (0, 1), "y": (0, 1)})


@pytest.mark.parametrize(
    ("table", "domain", "words"),
    [
        (TABLE, None, "A table needs domain="),
        ("people.csv", None, "A table needs domain="),
        (TABLE, {"x": (0, 1), "y": (0, 1)}, "A table needs domain=.*: a Domain, for example"),
        (Moments.from_source(TABLE, DOMAIN), DOMAIN, "Moments have a domain of their own: leave out domain="),
    ],
)
def test_what_is_wrong_with_a_table_and_its_domain_is_said_and_nothing_is_spent(table, domain, words):
    with Budget(epsilon=1, delta=1e-6) as budget:
        with pytest.raises(ParameterError, match=words):
            release(table, domain=domain, epsilon=1, delta=1e-6)
        assert "spent 0 in 0 releases" in repr(budget)
