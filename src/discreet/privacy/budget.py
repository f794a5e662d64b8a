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
from types import TracebackType
from typing import Any, Self

from discreet import checks
from discreet.checks import Neighbors
from discreet.errors import BudgetError
from discreet.privacy import gdp

_active: list[Budget] = []
_lock = threading.RLock()


class Budget:
    """One (epsilon, delta) promise for everything that is released inside its ``with`` block.

    Gaussian releases compose exactly: n equal releases cost sqrt(n) times as much as one, not n times.

    Parameters
    ----------
    epsilon, delta : float
        The promise for all releases together.
    neighbors : {"add-remove", "replace-one"}
        The relation that every release inside must use.

    Examples
    --------
    >>> with Budget(epsilon=1, delta=1e-6) as budget:
    ...     charge(0.1, "add-remove", "a release")
    >>> round(budget.epsilon_spent, 3), round(budget.epsilon_left, 3)
    (0.397, 0.9)
    """

    def __init__(self, epsilon: float, delta: float, *, neighbors: Neighbors = "add-remove") -> None:
        self.epsilon = checks.epsilon(epsilon)
        self.delta = checks.delta(delta)
        self.neighbors = checks.neighbors(neighbors)
        self._mu = gdp.mu(epsilon=self.epsilon, delta=self.delta)
        self._spent: list[tuple[str, float]] = []
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
        """The mu of all releases so far."""
        return gdp.compose(mu for _, mu in self._spent)

    @property
    def epsilon_spent(self) -> float:
        """The exact epsilon of all releases so far, at this budget's delta."""
        return gdp.epsilon(mu=self.mu_spent, delta=self.delta)

    @property
    def epsilon_left(self) -> float:
        """The epsilon that one more release could have, at this budget's delta."""
        left = (self._mu - self.mu_spent) * (self._mu + self.mu_spent)
        return gdp.epsilon(mu=math.sqrt(left), delta=self.delta) if left > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready account."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbors": self.neighbors,
            "releases": [{"method": method, "mu": mu} for method, mu in self._spent],
            "epsilon_spent": self.epsilon_spent,
        }

    def __repr__(self) -> str:
        spent = f"spent {self.epsilon_spent:.4g} in {len(self._spent)} releases"
        return f"Budget(epsilon={self.epsilon:g}, delta={self.delta:g}, {self.neighbors}; {spent})"

    def __reduce__(self) -> Any:
        raise TypeError("A Budget is not copied to other processes: each would spend it anew. Set one up in each.")

    def _check(self, mu: float, neighbors: Neighbors) -> None:
        if self._process != os.getpid():
            raise BudgetError(_WORKER)
        if neighbors != self.neighbors:
            raise BudgetError(
                f"The budget is about {self.neighbors} neighbours and the release about {neighbors} ones: "
                "their costs cannot be added. Use one relation for all."
            )
        together = gdp.compose([self.mu_spent, mu])
        if together > self._mu:
            raise BudgetError(
                f"This release would exceed the budget: {self.epsilon_spent:.4g} of {self.epsilon:g} is spent "
                f"at delta = {self.delta:g}, and a release of at most {self.epsilon_left:.4g} would still fit. "
                "Nothing was released."
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def charge(mu: float, neighbors: Neighbors, method: str) -> None:
    """Register a release with every active budget, before its noise is drawn; refuse it if one of them is exceeded."""
    with _lock:
        if not _active and _is_worker():
            raise BudgetError(_WORKER)
        for budget in _active:
            budget._check(mu, neighbors)
        for budget in _active:
            budget._spent.append((method, mu))


def _is_worker() -> bool:
    process = multiprocessing.current_process()
    return multiprocessing.parent_process() is not None or process.name.startswith("Loky")


_WORKER = (
    "This is a worker process, which cannot know what others have spent, so it releases nothing. Remedy: n_jobs=1; or "
    "set up a budget inside the worker, with discreet.Budget(...), and add up the workers' budgets yourself."
)
