"""A budget for several releases of one process, which together keep one promise.

It is an account like those of a ledger, except that its entries are in memory and end with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Self

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.errors import ParameterError
from discreet.ledger.accounts import Account, Ledger, Reservation, person_column, rows_of_a_person
from discreet.ledger.blocks import Counter
from discreet.ledger.storage import Memory
from discreet.ledger.terms import Terms
from discreet.privacy import budget_parts
from discreet.privacy.budget_parts import Balance, Cost, Limits


class Budget(Counter):
    """One (epsilon, delta) promise for everything that is released inside its ``with`` block.

    Gaussian releases compose exactly: n equal releases cost sqrt(n) times as much as one, not n times. Other releases,
    such as the minimisers of `DPLogisticRegression`, are charged with their own promise, and promises are added up. A
    budget for both has two parts, fixed in advance: `others` is reserved for releases that are not Gaussian. Without
    it, the first release decides which kind of composition is used, before any noise is drawn. In the same way, the
    first release decides whom the promise protects, if neither `person` nor `rows_per_person` says so.

    Parameters
    ----------
    epsilon, delta : float
        The promise for all releases together.
    neighbors : {"add-remove", "replace-one"}
        The relation that every release inside must use.
    others : (float, float), optional
        The part of the promise for releases that are not Gaussian, an epsilon and a delta; Gaussian ones have the rest.
    adding : bool, optional
        True: add up the promises of all releases, Gaussian ones too. False: Gaussian releases only, exactly composed.
        By default, and without `others`, the first release decides.
    public_outcomes : sequence of str, optional
        Columns that are declared **public**, with ``neighbors="replace-one"``. The promise is then about the other
        columns of a row only, and releases that take these columns as public outcomes may stand beside ordinary ones.
        By default the promise is about whole rows, and releases with public outcomes are refused.
    person : str, optional
        The column that identifies persons. A release that protects the persons of this column, by ``person=`` of its
        domain, is charged its own cost; one that protects rows, or the groups of another column, the cost for all rows
        of a person.
    rows_per_person : int, optional
        The maximum number of rows of one person in the tables. Without it, releases that protect something other than
        the persons of `person` are refused. Without `person`, every release is charged for this many rows.

    Examples
    --------
    >>> from discreet.ledger.charging import charge
    >>> with Budget(epsilon=1, delta=1e-6, others=(0.4, 0)) as budget:
    ...     for cost in (Cost(0.4, 1e-6, mu=0.1), Cost(0.3, 0.0)):
    ...         charge(cost, "add-remove", "a release").draw()
    >>> round(budget.epsilon_spent, 3), round(budget.epsilon_left, 3), round(budget.others_left[0], 3)
    (0.697, 0.431, 0.1)
    """

    shared = False

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        neighbors: Neighbors = "add-remove",
        others: tuple[float, float] | None = None,
        adding: bool | None = None,
        public_outcomes: Sequence[str] = (),
        person: str | None = None,
        rows_per_person: int | None = None,
    ) -> None:
        super().__init__()
        self.epsilon = checks.epsilon(epsilon)
        if delta is None:
            raise ParameterError(
                "delta is required: a budget is one (epsilon, delta) promise for all releases together. Choose it well "
                "below one over the number of people, e.g. Budget(epsilon=1, delta=1e-6)."
            )
        self.delta = checks.delta(delta)
        self.neighbors = checks.neighbors(neighbors)
        self.public_outcomes = budget_parts.columns(public_outcomes)
        budget_parts.check_public(self.public_outcomes, self.neighbors)
        self.person, self.rows_per_person = person_column(person), rows_of_a_person(rows_per_person)
        checks.choice("adding", adding, (None, True, False))
        if others is not None and adding is not None:
            raise ParameterError("Give either others= or adding=: both say which releases are added up.")
        self._lock = threading.RLock()
        self._account: Account | None = None
        self._limits: Limits | None = None
        if others is not None or adding is not None:
            aside = others if others is not None else (self.epsilon, self.delta) if adding else (0.0, 0.0)
            self._limits = Limits(self.epsilon, self.delta, aside)

    def _terms(self, cost: Cost) -> Terms:
        """The terms of the account; the first release decides what was not fixed."""
        aside = (self.epsilon, self.delta) if cost.mu is None else (0.0, 0.0)
        limits = self._limits or Limits(self.epsilon, self.delta, aside)
        person, rows = self.person, self.rows_per_person
        if person is None and rows is None:
            person, rows = cost.person, 1 if cost.person is None else None
        return Terms(limits, self.neighbors, self.public_outcomes, rows, person)

    def reserve(self, cost: Cost, neighbors: Neighbors, what: dict[str, Any]) -> Reservation:
        """Pay for a release before its noise is drawn; the first one decides what was not fixed."""
        with self._lock:
            account = self._account or Ledger.of(Memory()).define("budget", self._terms(cost))
            reservation = account.reserve(cost, neighbors, what)
            self._account = account
            return reservation

    @property
    def subject(self) -> int:
        """The identity of the budget."""
        return id(self)

    @property
    def adding(self) -> bool | None:
        """Whether the promises of all releases are added up; None until this is decided."""
        return None if self._account is None and self._limits is None else self.balance.limits.adding

    @property
    def balance(self) -> Balance:
        """The parts of the budget, and what is spent of them."""
        if self._account is None:
            return Balance(self._limits or Limits(self.epsilon, self.delta))
        return self._account.balance()

    @property
    def mu_spent(self) -> float:
        """The mu of all Gaussian releases so far that were not added up."""
        return self.balance.mu_spent

    @property
    def epsilon_spent(self) -> float:
        """The epsilon of all releases so far, at this budget's delta; exact where all are Gaussian."""
        return self.balance.epsilon_spent

    @property
    def delta_spent(self) -> float:
        """The delta of the Gaussian part plus the sum of the deltas that were added up."""
        return self.balance.delta_spent

    @property
    def epsilon_left(self) -> float:
        """The epsilon that one more release could have: a Gaussian one, unless all are added up."""
        return self.balance.epsilon_left

    @property
    def others_left(self) -> tuple[float, float]:
        """The epsilon and the delta that are left for releases that are added up."""
        return self.balance.others_left

    @property
    def unit(self) -> str:
        """A description of whom the releases together protect."""
        if self._account is not None:
            return self._account.terms().words
        if self.person is None and self.rows_per_person is None:
            return "whom the first release protects"
        return Terms(None, self.neighbors, self.public_outcomes, self.rows_per_person, self.person).words

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "others": list(self.balance.limits.others),
            "neighbors": self.neighbors,
            "public_outcomes": sorted(self.public_outcomes),
            "unit": self.unit,
            "releases": self._releases(),
            "epsilon_spent": self.epsilon_spent,
        }

    def _releases(self) -> list[dict[str, Any]]:
        """The releases that were paid for, with the cost charged for each."""
        entries = [] if self._account is None else [entry.facts for entry in self._account.ledger.entries()]
        cancelled = {facts["settles"] for facts in entries if facts["kind"] == "cancel"}
        return [
            {"method": facts["method"]} | _counted(facts, adding=bool(self.adding))
            for facts in entries
            if facts["kind"] == "reserve" and facts["number"] not in cancelled
        ]

    def __repr__(self) -> str:
        spent = f"spent {self.epsilon_spent:.4g} in {len(self._releases())} releases"
        others = self.balance.limits.others
        apart = f", {others[0]:g} of it for releases that are not Gaussian" if 0 < others[0] < self.epsilon else ""
        public = f", not protecting {budget_parts.listed(self.public_outcomes)}" if self.public_outcomes else ""
        promise = f"epsilon={self.epsilon:g}, delta={self.delta:g}{apart}"
        return f"Budget({promise}, {self.neighbors}{public}, {self.unit}; {spent})"

    def __reduce__(self) -> Any:
        raise TypeError("A Budget is not copied to other processes: each would spend it anew. Set one up in each.")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _counted(facts: dict[str, Any], *, adding: bool) -> dict[str, Any]:
    """The part of a cost that is charged, and the number of times if it is more than one."""
    cost, times = facts["cost"], {"times": facts["times"]} if facts["times"] > 1 else {}
    public = {name: cost[name] for name in ("public_outcomes", "person") if cost.get(name)}
    if adding or cost["mu"] is None:
        return {"epsilon": cost["epsilon"], "delta": cost["delta"]} | public | times
    return {"mu": cost["mu"]} | public | times
