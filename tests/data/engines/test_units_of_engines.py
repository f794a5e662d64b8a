"""Persons and weights in every engine, by names and by formula: the sums of one machine, or a refusal beforehand."""

import pyarrow as pa
import pytest
from panel import OTHERS, PANEL, PROMISE, SHORT, check_slope, panel

from discreet import Budget, DPLinearRegression, Moments, release
from discreet.domain.formula import formula
from discreet.errors import DiscreetError
from discreet.gate.entropy import NO_NOISE

pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]
WAYS = {
    "fit_source": lambda source: DPLinearRegression(**PROMISE, domain=PANEL, random_state=NO_NOISE).fit_source(
        source, "y", ["x", "z"]
    ).results_,
    "fit_formula": lambda source: DPLinearRegression(**PROMISE, domain=PANEL, random_state=NO_NOISE).fit_formula(
        "y ~ x + z", source
    ).results_,
    "release": lambda source: release(
        source, domain=PANEL, targets=["y"], **PROMISE, random_state=NO_NOISE
    ).fit("y ~ x + z"),
    "release for models": lambda source: release(
        source, domain=PANEL, models=["y ~ x + z"], **PROMISE, random_state=NO_NOISE
    ).fit("y ~ x + z"),
}  # fmt: skip

REFUSING = ("pushdown", "processes", "delayed")
"""Engines that cannot bring the rows of a person together."""


@pytest.fixture(scope="module")
def table():
    return pa.Table.from_pandas(panel(), preserve_index=False)


@pytest.mark.parametrize("way", WAYS)
def test_engines_count_weighted_persons_or_refuse_them(engine, table, way):
    source = engine(table)
    if engine.name in REFUSING:
        with Budget(epsilon=200, delta=1e-3) as budget, pytest.raises(DiscreetError, match="person"):
            WAYS[way](source)
        assert budget.epsilon_spent == 0
        return
    fitted = WAYS[way](source)
    check_slope(fitted.coef[0])
    assert fitted.certificate.domain.unit.short == SHORT
    assert min(abs(fitted.coef[0] - other) for other in OTHERS.values()) > 0.5


def test_sums_of_a_formula_are_those_of_one_machine(engine, table):
    if engine.name in REFUSING:
        pytest.skip("it has no persons")
    domain = formula("y ~ x + z:g + exp(x)", PANEL).domain
    assert Moments.from_source(engine(table), domain) == Moments.from_source(table, domain)
