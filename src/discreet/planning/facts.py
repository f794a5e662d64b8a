"""The public facts that a plan starts from: bounds, rows, and guesses about the future table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.field_kinds import ANYTHING, COUNT, NUMBER, OBJECT, TEXT, TEXTS, maybe, record
from discreet.core.fields import Fields, Written
from discreet.data.tables import described_by, feature_names
from discreet.domain import CONSTANT, Domain
from discreet.domain.formula import is_formula
from discreet.domain.kinds.base import Column
from discreet.domain.kinds.numeric import Numeric
from discreet.errors import ParameterError
from discreet.planning.searched import guesses_by_column, point, real, with_ranges

SPREAD = 1 / 10
"""The default sd of a number, relative to half the width of its bounds; see docs/howto/plan.md."""

_TWO_POINTS = 0.97
"""The sd of a made-up yes or no, relative to the largest possible: its law is then almost two points."""

_ROUNDED = 1e-6
"""Shares add up to 1 but for this."""

R_SQUARED = 0.5
"""The default R^2."""

CORRELATION = 0.2
"""The default root mean square correlation of two features; see docs/howto/plan.md."""


@dataclass(frozen=True)
class Number:
    """A number's mean and sd, in the user's units."""

    mean: float
    sd: float


@dataclass(frozen=True)
class PlanFacts(Written):
    """Facts that are known or guessed before any data are touched."""

    domain: Domain  # the features and the outcome: bounds, guessed ones where none are declared, and levels
    target: str  # the outcome, a number
    features: tuple[str, ...]
    rows: int
    r_squared: float  # the share of `mean_square` that the features explain linearly
    correlation: float  # the root mean square correlation of two features
    correlations: tuple[tuple[float, ...], ...] | None  # of all `inputs`, if they were guessed one by one
    numbers: dict[str, Number | None]  # None for a number in the ball whose rows fill it
    shares: dict[str, tuple[float, ...]]  # the frequency of each level of a category
    assumed: tuple[str, ...] = ()  # the numbers whose sd was not guessed
    untold: tuple[str, ...] = ()  # all guesses that nobody made, as age.sd, ward.shares, correlation or r_squared
    searched: dict[str, Column] = field(default_factory=dict)  # the columns without bounds, as they were declared

    @property
    def declared(self) -> Domain:
        """The features and the outcome as they were declared, some perhaps without bounds."""
        found = self.domain
        for name, column in self.searched.items():
            found = found.with_column(name, column)
        return found

    @property
    def inputs(self) -> list[str]:
        """The columns that the features are made of."""
        return [name for name in self.domain.inputs if name != self.target]

    @property
    def names(self) -> list[str]:
        """The intercept and the coefficients; the intercept is 0 in models without one."""
        entries = [self.domain.entries[i].name for i in self.domain.design(self.features)]
        return [CONSTANT, *(name for name in entries if name != CONSTANT)]

    @property
    def outcome(self) -> Number:
        """The outcome's mean and sd."""
        number = self.numbers[self.target]
        assert number is not None
        return number

    @property
    def mean_square(self) -> float:
        """The denominator of R^2: the outcome's variance, or its mean square in models without an intercept."""
        return self.outcome.sd**2 + (0.0 if self.domain.intercept else self.outcome.mean**2)

    @property
    def about(self) -> dict[str, Any]:
        """The guesses about each column."""
        numbers = {name: {"mean": v.mean, "sd": v.sd} for name, v in self.numbers.items() if v is not None}
        return numbers | {name: {"shares": list(v)} for name, v in self.shares.items()}

    FIELDS = Fields(
        "plan_facts",
        "Declared and guessed facts.",
        domain=record(Domain)(attribute="declared"),
        target=TEXT,
        features=TEXTS,
        rows=COUNT,
        r_squared=NUMBER,
        correlation=maybe(NUMBER),
        correlations=ANYTHING,
        about=OBJECT,
        assumed=TEXTS,
        untold=TEXTS("Guesses that nobody made: age.sd, ward.shares, correlation, r_squared.", absent=()),
    )


def facts(
    domain: Any,
    target: Any,
    features: Sequence[str] | None,
    *,
    rows: Any,
    r_squared: Any,
    mean_square: Any,
    correlation: Any,
    about: Mapping[str, Mapping[str, Any]] | None,
) -> PlanFacts:
    """Check the user's facts and guesses, and fill in defaults.

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "sex": ["F", "M"], "stay": (0, 30)})
    >>> found = facts(domain, "stay", None, rows=1000, r_squared=0.3, mean_square=None, correlation=None, about=None)
    >>> found.outcome, found.shares["sex"]
    (Number(mean=15.0, sd=1.5), (0.5, 0.5))
    """
    if not isinstance(domain, Domain):
        raise ParameterError(
            "domain must be a Domain, the public bounds of the columns: Domain({'age': (18, 90)}), for example, or "
            "Domain.from_file('people.toml')."
        )
    if is_formula(target, domain):
        if features is not None:
            raise ParameterError("Give either a formula or features, not both.")
        domain, target, features = described_by(target, domain)
    outcome = domain.entries[domain.target(target)].column
    names = feature_names(domain, [outcome], features)
    made_of = domain.made_of(outcome)
    searched = {name: domain.columns[name] for name in domain.searched if name in {outcome, *names}}
    if searched:
        squared = None if mean_square is None else outcome
        domain, about = with_ranges(domain.select([*names, outcome]), about, squared)
    domain, target, about, yes_no = _as_number(domain, target, names, about)
    domain.design_names(names)
    guessed = _guesses(domain, target, made_of, about)
    numbers, shares = _laws(domain, target, guessed, mean_square, yes_no=yes_no)
    ball = [name for name in domain.norm_columns if name in numbers]
    if len({numbers[name] is None for name in ball}) > 1:
        raise ParameterError(f"Guess the sd of all of {', '.join(ball)}, which data_norm bounds together, or of none.")
    if (n := checks.rows(rows)) is None:
        raise ParameterError("rows is required: about how many rows the table will have, as publicly known.")
    inputs = [name for name in domain.inputs if name != target]
    told = {name for name in guessed if "sd" in guessed[name]} | ({target} if mean_square is not None else set())
    told |= {target} if yes_no else set()  # its sd follows from its mean
    assumed = tuple(name for name, value in numbers.items() if value is not None and name not in told)
    level = "mean" if yes_no else "sd"
    untold = _untold(domain, {target: level}, guessed, told, r_squared=r_squared, correlation=correlation)
    return PlanFacts(
        domain, target, tuple(names), n, R_SQUARED if r_squared is None else _below_one("r_squared", r_squared),
        *_correlation(correlation, inputs), numbers, shares, assumed, untold, searched,
    )  # fmt: skip


def _laws(
    domain: Domain, target: str, guessed: Mapping[str, Mapping[str, Any]], mean_square: Any, *, yes_no: bool
) -> tuple[dict[str, Number | None], dict[str, tuple[float, ...]]]:
    """Return the mean and sd of each number, and the shares of the levels of each category."""
    numbers: dict[str, Number | None] = {}
    shares: dict[str, tuple[float, ...]] = {}
    for name, column in domain.inputs.items():
        guess = guessed.get(name, {})
        if column.levels:
            shares[name] = level_shares(name, column, guess)
        elif name in domain.norm_columns:
            numbers[name] = _in_ball(name, guess) if guess else None
        else:
            own = name == target
            numbers[name] = _number(name, column, guess, mean_square if own else None, yes_no=own and yes_no)
    return numbers, shares


def _untold(
    domain: Domain, outcome: Mapping[str, str], guessed: Mapping[str, Mapping[str, Any]], sds: Set[str], **others: Any
) -> tuple[str, ...]:
    """Return the guesses that nobody made: by column, then the others that are None; `outcome` has what it needs."""
    found = []
    for name, column in domain.inputs.items():
        asked = ["shares"] if column.levels else [outcome[name]] if name in outcome else ["mean", "sd"]
        found += [f"{name}.{what}" for what in asked if what not in guessed.get(name, {})]
    given = {f"{name}.sd" for name in sds}
    return (*(what for what in found if what not in given), *(name for name, value in others.items() if value is None))


def _correlation(given: Any, inputs: list[str]) -> tuple[float, tuple[tuple[float, ...], ...] | None]:
    """Return the root mean square correlation, and the correlation matrix if one was given."""
    if given is None or checks.is_real(given):
        return CORRELATION if given is None else _below_one("correlation", given), None
    d = len(inputs)
    given = _of_pairs(given, inputs) if isinstance(given, Mapping) else given
    try:
        C = np.array(given, dtype=float)
    except (TypeError, ValueError):
        C = np.empty(0)
    valid = C.shape == (d, d) and bool(np.all(np.isfinite(C)))
    if not (valid and np.allclose(C, C.T) and np.allclose(np.diag(C), 1) and np.linalg.eigvalsh(C)[0] > -1e-9):
        raise ParameterError(
            f"correlation must be a number from 0 to below 1, or a {d} x {d} matrix for {', '.join(inputs)}: "
            "symmetric, with ones on the diagonal, and no eigenvalue below 0; or the correlations of pairs that can "
            "be together."
        )
    rms = math.sqrt(max(float(np.sum(C**2)) - d, 0.0) / max(d * (d - 1), 1))
    return rms, tuple(tuple(row) for row in C.tolist())


def _of_pairs(given: Mapping[Any, Any], inputs: list[str]) -> Floats:
    """Return the correlation matrix of pairs; columns that no pair names are not correlated."""
    C = np.eye(len(inputs))
    for pair, value in given.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or len({*pair} & {*inputs}) != 2:
            raise ParameterError(
                f"correlation names {pair!r}: give pairs of {', '.join(inputs)}, as {{('age', 'tenure'): 0.8}}."
            )
        i, j = (inputs.index(name) for name in pair)
        C[i, j] = C[j, i] = real(" and ".join(pair), "correlation", value)
    return C


def _as_number(domain: Domain, target: str, features: Sequence[str], about: Any) -> tuple[Domain, str, Any, bool]:
    """Return the domain with the outcome as a number over its own range, its name, guesses, and whether it is 0 or 1.

    Stages treat a derived number, and a level, which is 0 or 1, as they treat a declared number. Guesses about a
    derived outcome are in its own units; shares of the levels tell the mean of one of them.
    """
    entry = domain.entries[domain.target(target)]
    column = domain.columns[entry.column]
    if entry.column in domain.norm_columns:
        raise ParameterError(
            f"A plan needs an outcome with bounds of its own, and {target!r} is one of norm_columns, which share one."
        )
    kept = domain.select([*features, entry.column])
    if not column.factors and column.bounds:
        return kept, target, about, False
    low, high = (0.0, 1.0) if column.is_indicator else column.range
    columns = {name: kept.columns[name] for name in features}
    made = kept.with_columns(columns | {entry.name: Numeric(low, high, column.coordinate_unit)})
    if entry.level is not None and isinstance(about, Mapping) and isinstance(about.get(entry.column), Mapping):
        guesses = dict(about)
        shares = level_shares(entry.column, column, guesses.pop(entry.column))
        about = {entry.name: {"mean": shares[entry.level]}} | guesses
    return made, entry.name, about, column.is_indicator


def _below_one(name: str, value: Any) -> float:
    if not checks.is_real(value) or not 0 <= value < 1:
        raise ParameterError(f"{name} must be a number from 0 to below 1, got {value!r}.")
    return float(value)


def _guesses(domain: Domain, target: str, made_of: Set[str], about: Any) -> dict[str, Mapping[str, Any]]:
    """Check the guesses about columns of the model; what a derived outcome is `made_of` is not among them."""
    found = guesses_by_column(about)
    for name, guess in found.items():
        if name not in domain.inputs:
            hint = f" Tell the mean and sd of {target} itself." if name in made_of else ""
            used = ", ".join(domain.inputs)
            raise ParameterError(f"about names {name!r}, which this model does not use: {used}.{hint}")
        known = {"shares"} if domain.inputs[name].levels else {"mean", "sd"}
        unknown = sorted(set(guess) - known, key=str)
        if unknown:
            raise ParameterError(f"about has {unknown[0]!r} for column {name!r}; known are {', '.join(sorted(known))}.")
    return found


def _mean(name: str, column: Column, guess: Mapping[str, Any]) -> float:
    low, high = column.range
    given = guess.get("mean", low / 2 + high / 2)
    mean = point(name, "mean", column, given)
    if not low < mean < high:
        raise ParameterError(f"The mean of column {name!r} must lie within its bounds, got {given!r}.")
    return mean


def _in_ball(name: str, guess: Mapping[str, Any]) -> Number:
    return Number(real(name, "mean", guess.get("mean", 0.0)), checks.positive("sd", guess.get("sd")))


def _number(
    name: str, column: Column, guess: Mapping[str, Any], mean_square: Any = None, *, yes_no: bool = False
) -> Number:
    """Mean and sd as guessed, or by default; the variance within the bounds is at most (mean - low)(high - mean).

    That of a yes or no is the largest possible, but for what a law with a density needs.
    """
    mean, (low, high) = _mean(name, column, guess), column.range
    most = (mean - low) * (high - mean)
    if mean_square is None:
        usual = _TWO_POINTS * math.sqrt(most) if yes_no else SPREAD * min(high - mean, mean - low)
        sd = real(name, "sd", guess.get("sd", usual))
        if not 0 < sd < math.sqrt(most):
            raise ParameterError(
                f"No column {name!r} within its bounds {column.short()} has the mean {mean:g} and the sd {sd:g}: the "
                f"sd must lie between 0 and {math.sqrt(most):g}. Mend the guess, or the bounds."
            )
        return Number(mean, sd)
    if "sd" in guess:
        raise ParameterError(f"Give either mean_square= or the sd of {name!r}, not both.")
    variance = checks.positive("mean_square", mean_square) - mean**2
    if not 0 < variance < most:
        raise ParameterError(
            f"No outcome {name!r} within its bounds {column.short()} has the mean {mean:g} and the mean square "
            f"{float(mean_square):g}: it must lie between {mean**2:g} and {mean**2 + most:g}. Mend the guess, or give "
            f"the mean in about=."
        )
    return Number(mean, math.sqrt(variance))


def level_shares(name: str, column: Column, guess: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the guessed share of each level, equal ones by default; refuse those that do not add up to 1."""
    if "shares" not in guess:
        return (1 / len(column.levels),) * len(column.levels)
    given = guess["shares"]
    if (
        isinstance(given, str)
        or not isinstance(given, Sequence)
        or len(given) != len(column.levels)
        or not all(checks.is_real(share) and 0 < share < math.inf for share in given)
    ):
        raise ParameterError(
            f"The shares of column {name!r} must be {len(column.levels)} numbers above 0, one a level, in order."
        )
    total = math.fsum(given)
    if abs(total - 1) > _ROUNDED:
        raise ParameterError(
            f"The shares of column {name!r} add up to {total:.7g}, not to 1: mend them, or divide each of them by "
            "their sum."
        )
    return tuple(share / total for share in given)
