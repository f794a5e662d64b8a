"""A budget for several releases: whatever happens inside, the sum of what is spent keeps one promise.

The budget is ambient: it belongs to the process and not to an estimator, so clones, grid searches, cross-validation
and threads all draw on the same one. Processes cannot share it, so a worker process refuses to release anything
unless it has set up a budget of its own.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Any, Self

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.errors import BudgetError, ParameterError
from discreet.privacy import gdp

_active: list[Budget] = []
_lock = threading.RLock()


@dataclass(frozen=True)
class Cost:
    """What one release is charged with: its promise, its mu if it is Gaussian, and the columns it takes as public."""

    epsilon: float
    delta: float
    mu: float | None = None
    public_outcomes: frozenset[str] = frozenset()

    def to_dict(self, *, adding: bool) -> dict[str, Any]:
        """The part of it that counts."""
        public = {"public_outcomes": sorted(self.public_outcomes)} if self.public_outcomes else {}
        if adding or self.mu is None:
            return {"epsilon": self.epsilon, "delta": self.delta} | public
        return {"mu": self.mu} | public


class Budget:
    """One (epsilon, delta) promise for everything that is released inside its ``with`` block.

    Gaussian releases compose exactly: n equal releases cost sqrt(n) times as much as one, not n times. Other releases,
    such as the minimisers of `DPLogisticRegression`, are charged with their own promise, and promises are added up. The
    two ways cannot be mixed once a result has been seen, because choosing between them by what was released would cost
    more than either says. So the first release decides, unless `adding` does.

    Parameters
    ----------
    epsilon, delta : float
        The promise for all releases together.
    neighbors : {"add-remove", "replace-one"}
        The relation that every release inside must use.
    adding : bool, optional
        True: add up the promises of all releases, Gaussian ones too. False: Gaussian releases only, exactly composed.
        By default the first release decides.
    public_outcomes : sequence of str, optional
        Columns that are declared **public**, with ``neighbors="replace-one"``. The promise is then about the other
        columns of a row only, and releases that take these columns as public outcomes may stand beside ordinary ones.
        By default the promise is about whole rows, and releases with public outcomes are refused.

    Examples
    --------
    >>> with Budget(epsilon=1, delta=1e-6) as budget:
    ...     charge(0.1, "add-remove", "a release")
    >>> round(budget.epsilon_spent, 3), round(budget.epsilon_left, 3)
    (0.397, 0.9)
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        neighbors: Neighbors = "add-remove",
        adding: bool | None = None,
        public_outcomes: Sequence[str] = (),
    ) -> None:
        self.epsilon = checks.epsilon(epsilon)
        if delta is None:
            raise ParameterError(
                "delta is required: a budget is one (epsilon, delta) promise for all releases together. Choose it well "
                "below one over the number of people, e.g. Budget(epsilon=1, delta=1e-6)."
            )
        self.delta = checks.delta(delta)
        self.neighbors = checks.neighbors(neighbors)
        self.public_outcomes = _columns(public_outcomes)
        if self.public_outcomes and self.neighbors != "replace-one":
            raise ParameterError(
                'public_outcomes= needs neighbors="replace-one": no other release has public outcomes.'
            )
        self._mu = gdp.mu(epsilon=self.epsilon, delta=self.delta)
        self.adding: bool | None = checks.choice("adding", adding, (None, True, False))
        self._spent: list[tuple[str, Cost]] = []
        self._process: int | None = None

    def __enter__(self) -> Self:
        with _lock:
            self._process = os.getpid()
            _active.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _lock:
            _active.remove(self)

    @property
    def mu_spent(self) -> float:
        """The mu of all Gaussian releases so far."""
        return gdp.compose(cost.mu for _, cost in self._spent if cost.mu is not None)

    @property
    def epsilon_spent(self) -> float:
        """The epsilon of all releases so far, at this budget's delta; exact where all are Gaussian."""
        if self.adding:
            return math.fsum(cost.epsilon for _, cost in self._spent)
        return gdp.epsilon(mu=self.mu_spent, delta=self.delta)

    @property
    def delta_spent(self) -> float:
        """The sum of the deltas of all releases so far, where promises are added up; this budget's delta otherwise."""
        return math.fsum(cost.delta for _, cost in self._spent) if self.adding else self.delta

    @property
    def epsilon_left(self) -> float:
        """The epsilon that one more release could have, at the delta that is left."""
        if self.adding:
            return max(0.0, self.epsilon - self.epsilon_spent)
        left = (self._mu - self.mu_spent) * (self._mu + self.mu_spent)
        return gdp.epsilon(mu=math.sqrt(left), delta=self.delta) if left > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready account."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbors": self.neighbors,
            "public_outcomes": sorted(self.public_outcomes),
            "releases": [{"method": method} | cost.to_dict(adding=bool(self.adding)) for method, cost in self._spent],
            "epsilon_spent": self.epsilon_spent,
        }

    def __repr__(self) -> str:
        spent = f"spent {self.epsilon_spent:.4g} in {len(self._spent)} releases"
        public = f", not protecting {_listed(self.public_outcomes)}" if self.public_outcomes else ""
        return f"Budget(epsilon={self.epsilon:g}, delta={self.delta:g}, {self.neighbors}{public}; {spent})"

    def __reduce__(self) -> Any:
        raise TypeError("A Budget is not copied to other processes: each would spend it anew. Set one up in each.")

    def _check(self, cost: Cost, neighbors: Neighbors) -> None:
        if self._process != os.getpid():
            raise BudgetError(_WORKER)
        if neighbors != self.neighbors:
            raise BudgetError(
                f"The budget is about {self.neighbors} neighbours and the release about {neighbors} ones: "
                "their costs cannot be added. Use one relation for all."
            )
        if uncovered := cost.public_outcomes - self.public_outcomes:
            raise BudgetError(
                f"This release takes {_listed(uncovered)} as public and protects the others only, but the budget "
                "protects these columns too: one figure for both would say too much. Remedy: a Budget of its "
                "own for releases with public outcomes; or name them all in Budget(..., public_outcomes=[...]), "
                "whose promise is then about the other columns only. Nothing was released."
            )
        adding = cost.mu is None if self.adding is None else self.adding
        if cost.mu is None and not adding:
            raise BudgetError(
                "This release is not Gaussian, and the budget is exact for Gaussian releases only, as its first one "
                "was. Set up the budget with adding=True: it then adds up the promises of all. Nothing was released."
            )
        if not self._holds(cost, adding=adding):
            raise BudgetError(
                f"This release would exceed the budget: {self.epsilon_spent:.4g} of {self.epsilon:g} is spent "
                f"at delta = {self.delta:g}, and a release of at most {self.epsilon_left:.4g} would still fit"
                f"{', if its delta does too' if adding else ''}. Nothing was released."
            )

    def _holds(self, cost: Cost, *, adding: bool) -> bool:
        if not adding:
            return gdp.compose([self.mu_spent, cost.mu or 0.0]) <= self._mu
        if math.isinf(cost.epsilon):
            return False
        epsilons, deltas = zip(*((c.epsilon, c.delta) for c in [*(c for _, c in self._spent), cost]), strict=True)
        return sum(map(Fraction, epsilons)) <= Fraction(self.epsilon) and sum(map(Fraction, deltas)) <= Fraction(
            self.delta
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def charge(cost: float | Cost, neighbors: Neighbors, method: str) -> None:
    """Register a release with every active budget, before its noise is drawn; refuse it if one of them is exceeded."""
    with _lock:
        if not _active and _is_worker():
            raise BudgetError(_WORKER)
        if not isinstance(cost, Cost):
            cost = Cost(math.inf, 0.0, cost)
        for budget in _active:
            budget._check(cost, neighbors)
        for budget in _active:
            if budget.adding is None:
                budget.adding = cost.mu is None
            budget._spent.append((method, cost))


def _columns(names: Any) -> frozenset[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ParameterError(f"public_outcomes must be a list of column names, got {names!r}.")
    columns = list(names)
    if not all(isinstance(name, str) for name in columns):
        raise ParameterError(f"public_outcomes must be a list of column names, got {names!r}.")
    return frozenset(columns)


def _listed(columns: Collection[str]) -> str:
    """Some columns by name, for a sentence.

    Examples
    --------
    >>> _listed({"b", "a"}), _listed({"a", "b", "c", "d", "e"})
    ("'a' and 'b'", "'a', 'b', 'c' and 2 more columns")
    """
    names = [repr(name) for name in sorted(columns)]
    if len(names) > 4:
        names[3:] = [f"{len(names) - 3} more columns"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _is_worker() -> bool:
    process = multiprocessing.current_process()
    return multiprocessing.parent_process() is not None or process.name.startswith("Loky")


_WORKER = (
    "This is a worker process, which cannot know what others have spent, so it releases nothing. Remedy: n_jobs=1; or "
    "set up a budget inside the worker, with discreet.Budget(...), and add up the workers' budgets yourself."
)
