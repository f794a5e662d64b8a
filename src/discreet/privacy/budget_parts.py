"""The two parts of a budget for many releases, with limits that are fixed before the first release.

Gaussian releases draw on one part: the sum of their mu^2 is at most its mu^2. All others draw on the other part: their
epsilons and their deltas add up to at most its (epsilon, delta). Releases may be chosen one after another by what came
out before, of either kind, and together they keep the promise

    (epsilon_A + epsilon_B, delta_A + delta_B),      where the Gaussian part, mu, is (epsilon_A, delta_A)-DP

(docs/mathematics, 3.1). All sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.field_kinds import NUMBER, PAIR, TEXT, TEXTS, kept, maybe
from discreet.core.fields import FieldKind, Fields, FileRecord
from discreet.core.rounding import up
from discreet.errors import BudgetError, FileFormatError, ParameterError
from discreet.privacy import gdp

_LARGE = 100.0
"""Beyond this epsilon, a positive delta counts as 1."""

PUBLIC = FieldKind(TEXTS.schema, TEXTS.fits, frozenset, sorted)
_EXACT = FieldKind(TEXT.schema, TEXT.fits, Fraction, str)


@dataclass(frozen=True)
class Cost(FileRecord):
    """The cost of one release: its promise, its mu if it is Gaussian, and whom and which columns it protects.

    Columns that it takes as public are not protected. It protects all rows of a person where a column identifies
    persons, else single rows.
    """

    epsilon: float
    delta: float
    mu: float | None = None
    public_outcomes: frozenset[str] = frozenset()
    person: str | None = None

    def __post_init__(self) -> None:
        known = self.epsilon >= 0 and 0 <= self.delta <= 1 and (self.mu is None or 0 <= self.mu < math.inf)
        if not known:  # NaN is none of these
            raise ParameterError("A cost has an epsilon and a mu of at least 0, and a delta from 0 to 1.")

    FIELDS = Fields(
        "cost",
        "",
        mu=maybe(kept(NUMBER)),
        epsilon=FieldKind(
            maybe(NUMBER).schema,
            maybe(NUMBER).fits,
            lambda value: math.inf if value is None else value,
            lambda value: value if math.isfinite(value) else None,
        ),
        delta=kept(NUMBER),
        public_outcomes=PUBLIC,
        person=TEXT(absent=None),
    )

    def to_people(self, steps: int) -> Cost:
        """The cost to a person, if so many steps from neighbour to neighbour lead from one table to the other.

        That is k mu for Gaussian releases; (k epsilon, (1 + e^epsilon + ... + e^((k - 1) epsilon)) delta) for others.
        The number of steps depends on whom the release protects (`ledger.terms.Terms.steps`).

        Examples
        --------
        >>> round(Cost(0.5, 1e-6, mu=0.1).to_people(4).mu, 9), round(Cost(0.5, 1e-6).to_people(2).delta, 9)
        (0.4, 2.649e-06)
        """
        if steps == 1:
            return self
        mu = None if self.mu is None else _above(steps * Fraction(self.mu))
        if math.isinf(self.epsilon):
            return Cost(math.inf, self.delta, mu, self.public_outcomes)
        epsilon = _above(steps * Fraction(self.epsilon))
        if self.delta and epsilon > _LARGE:
            return Cost(epsilon, 1.0, mu, self.public_outcomes)
        times = math.fsum(math.exp(i * self.epsilon) for i in range(steps)) if self.delta else 0.0
        return Cost(epsilon, min(1.0, up(self.delta * times)), mu, self.public_outcomes)


@dataclass(frozen=True)
class Spent(FileRecord):
    """The amounts drawn from the two parts of the budget, exactly: sums of mu^2, of epsilons and of deltas."""

    mu2: Fraction = Fraction(0)
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.mu2 + other.mu2, self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.mu2 - other.mu2, self.epsilon - other.epsilon, self.delta - other.delta)

    FIELDS = Fields("spent", "Exact fractions, as 1/3.", mu2=_EXACT, epsilon=_EXACT, delta=_EXACT)


@dataclass(frozen=True)
class Limits(FileRecord):
    """The promise for all releases together, and what of it is set aside for those that are not Gaussian.

    Parameters
    ----------
    epsilon, delta : float
        The promise.
    others : (float, float)
        The part for releases that are not Gaussian: an epsilon and a delta, parts of the promise. The remainder is
        the part for Gaussian releases. Where nothing remains, Gaussian releases are added up like all others.

    Examples
    --------
    >>> round(Limits(1, 1e-6).mu, 4), round(Limits(1, 1e-6, others=(0.5, 5e-7)).mu, 4)
    (0.2367, 0.1198)
    >>> Limits(1, 1e-6, others=(1, 1e-6)).adding
    True
    """

    epsilon: float
    delta: float
    others: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        given = (
            isinstance(self.others, tuple | list) and len(self.others) == 2 and all(map(checks.is_real, self.others))
        )
        if not given or not (0 <= self.others[0] <= self.epsilon and 0 <= self.others[1] <= self.delta):
            raise ParameterError(
                "others= is the part of the promise for releases that are not Gaussian: an epsilon and a delta, each "
                f"from 0 to that of the promise, got {checks.shown(self.others)}. For example others=(0.5, 5e-7) of "
                "epsilon=1, delta=1e-6."
            )
        object.__setattr__(self, "others", (float(self.others[0]), float(self.others[1])))

    @cached_property
    def gaussian(self) -> tuple[float, float]:
        """The part of the promise for Gaussian releases, an epsilon and a delta."""
        epsilon, delta = self.others
        return _below(Fraction(self.epsilon) - Fraction(epsilon)), _below(Fraction(self.delta) - Fraction(delta))

    @cached_property
    def mu(self) -> float:
        """The mu of the part for Gaussian releases; 0 where nothing is left for them."""
        epsilon, delta = self.gaussian
        return gdp.mu(epsilon=epsilon, delta=delta) if epsilon > 0 and delta > 0 else 0.0

    @property
    def adding(self) -> bool:
        """Whether the epsilons and deltas of all releases are added up, Gaussian ones included."""
        return self.mu == 0

    def due(self, cost: Cost) -> Spent:
        """The amounts that a release takes from the budget; refuse one whose cost is unknown."""
        if cost.mu is not None and not self.adding:
            return Spent(mu2=Fraction(cost.mu) ** 2)
        if math.isinf(cost.epsilon):
            raise BudgetError(
                "Nothing bounds what this release costs, so it cannot be counted together with others. "
                "Nothing was released."
            )
        return Spent(epsilon=Fraction(cost.epsilon), delta=Fraction(cost.delta))

    def hold(self, spent: Spent) -> bool:
        """Whether the amounts are within the limits."""
        epsilon, delta = map(Fraction, self.others)
        return spent.mu2 <= Fraction(self.mu) ** 2 and spent.epsilon <= epsilon and spent.delta <= delta

    FIELDS = Fields("limits", "", epsilon=kept(NUMBER), delta=kept(NUMBER), others=PAIR, mu=kept(NUMBER)(derived=True))

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild limits from `to_dict`; the Gaussian part must be the one that follows from the rest."""
        limits = super().from_dict(facts)
        if facts["mu"] != limits.mu:
            raise FileFormatError("A limit is not the one that follows from its promise.")
        return limits


@dataclass(frozen=True)
class Balance:
    """Limits, and the amounts spent of them.

    Examples
    --------
    >>> limits = Limits(1, 1e-6, others=(0.5, 0))
    >>> one = Balance(limits, limits.due(Cost(0.2, 1e-7, mu=0.05)) + limits.due(Cost(0.3, 0)))
    >>> round(one.epsilon_left, 3), one.others_left
    (0.455, (0.2, 0.0))
    """

    limits: Limits
    spent: Spent = Spent()

    @property
    def mu_spent(self) -> float:
        """The mu of all Gaussian releases so far, rounded up; 0 where they are added up like others."""
        return gdp.root(self.spent.mu2)

    @property
    def epsilon_spent(self) -> float:
        """The epsilon of all releases so far, rounded up: of the Gaussian ones at their delta, plus the others'."""
        gaussian = gdp.epsilon(mu=self.mu_spent, delta=self.limits.gaussian[1]) if self.spent.mu2 else 0.0
        return _above(Fraction(gaussian) + self.spent.epsilon)

    @property
    def delta_spent(self) -> float:
        """The delta of the Gaussian part, fixed for its whole curve, plus the sum of the other releases' deltas."""
        first = 0.0 if self.limits.adding else self.limits.gaussian[1]
        return _above(Fraction(first) + self.spent.delta)

    @property
    def mu_left(self) -> float:
        """The mu that one more Gaussian release could have, rounded down."""
        left = Fraction(self.limits.mu) ** 2 - self.spent.mu2
        root = gdp.root(left) if left > 0 else 0.0
        return root if Fraction(root) ** 2 <= left else math.nextafter(root, 0)

    @property
    def epsilon_left(self) -> float:
        """The epsilon that one more release could have: a Gaussian one at its part's delta, if there is one."""
        if self.limits.adding:
            return self.others_left[0]
        return gdp.epsilon(mu=self.mu_left, delta=self.limits.gaussian[1]) if self.mu_left else 0.0

    @property
    def others_left(self) -> tuple[float, float]:
        """The epsilon and delta left for releases whose costs are added up."""
        epsilon, delta = map(Fraction, self.limits.others)
        return _below(epsilon - self.spent.epsilon), _below(delta - self.spent.delta)

    @property
    def shares(self) -> tuple[float | None, float | None]:
        """The spent shares of the two parts: of mu^2; and of epsilon or delta, whichever is more. None without one."""
        gaussian = None if self.limits.adding else float(self.spent.mu2 / Fraction(self.limits.mu) ** 2)
        pairs = zip((self.spent.epsilon, self.spent.delta), self.limits.others, strict=True)
        others = [float(spent / Fraction(limit)) for spent, limit in pairs if limit]
        return gaussian, max(others) if others else None

    def after(self, cost: Cost, who: str, times: int = 1) -> Spent:
        """The amounts spent once this release is paid for; refuse one that exceeds the limits, in the name of `who`.

        The cost is that to a person, for whom the release counts so many `times`.
        """
        if cost.mu is None and self.limits.others[0] == 0:
            raise BudgetError(
                f"This release is not Gaussian, and {who} has nothing set aside for such releases. That is decided "
                "when it is set up, by others=(epsilon, delta), on the command line --others. Choose a Gaussian "
                "method, such as a linear model. Nothing was released."
            )
        after = self.spent + self.limits.due(cost)
        if self.limits.hold(after):
            return after
        added = cost.mu is None or self.limits.adding
        fits = f"epsilon = {self.others_left[0]:.4g}, delta = {self.others_left[1]:.4g}"
        left = f"one of {fits}" if added else f"a Gaussian one of epsilon = {self.epsilon_left:.4g}"
        counts, once = ("", "") if times == 1 else (f" counts {times} times for a person, and", " that counts once")
        raise BudgetError(
            f"This release{counts} would exceed {who}: {self.epsilon_spent:.4g} of {self.limits.epsilon:g} is spent at "
            f"delta = {self.limits.delta:g}, and {left}{once} would still fit. Nothing was released."
        )


def refuse_relation(own: Neighbors, asked: Neighbors, who: str) -> None:
    """Refuse a release with another relation between neighbours."""
    if own != asked:
        raise BudgetError(
            f"{who[:1].upper()}{who[1:]} is about {own} neighbours and the release about {asked} ones: "
            "their costs cannot be added. Use one relation for all."
        )


def refuse_public(own: frozenset[str], cost: Cost, who: str) -> None:
    """Refuse a release that takes columns as public which are to be protected."""
    if uncovered := cost.public_outcomes - own:
        raise BudgetError(
            f"This release takes {listed(uncovered)} as public and protects the others only, but {who} "
            "protects these columns too: one figure for both would say too much. Remedy: a Budget or an account of its "
            "own for releases with public outcomes; or name them all in Budget(..., public_outcomes=[...]), "
            "whose promise is then about the other columns only. Nothing was released."
        )


def check_public(public: frozenset[str], neighbors: Neighbors) -> None:
    """Refuse public columns unless the relation is replace-one."""
    if public and neighbors != "replace-one":
        raise ParameterError('public_outcomes= needs neighbors="replace-one": no other release has public outcomes.')


def columns(names: Any) -> frozenset[str]:
    """The columns of `public_outcomes=`."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ParameterError(f"public_outcomes must be a list of column names, got {names!r}.")
    found = list(names)
    if not all(isinstance(name, str) for name in found):
        raise ParameterError(f"public_outcomes must be a list of column names, got {names!r}.")
    return frozenset(found)


def listed(columns: Collection[str]) -> str:
    """Some columns by name, for a sentence.

    Examples
    --------
    >>> listed({"b", "a"}), listed({"a", "b", "c", "d", "e"})
    ("'a' and 'b'", "'a', 'b', 'c' and 2 more columns")
    """
    names = [repr(name) for name in sorted(columns)]
    if len(names) > 4:
        names[3:] = [f"{len(names) - 3} more columns"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _above(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _below(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
