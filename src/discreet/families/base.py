"""Families of outcomes: a loss with the facts that privacy needs, a mean, labels, a simulator, and words for people.

A `Loss` is convex in eta = x'theta, with bounded slope and curvature. Its bounds on one row are per unit of
the row's norm: `slope`, the largest |f'|; `span`, the length of the interval of f' for one row; `curvature`, the
largest f''. `one_signed`: f' never changes its sign, for any row. `bell`: with s = |f'|/slope, f'' is at most
4 curvature s (1 - s); so it vanishes where the slope is largest. `share`: how much of epsilon may go to curvature where
no penalty is given; accuracy decides that, not privacy.

A `Family` holds all that differs between models of numbers, classes and counts. Its `link` names it in files, and is
the key of its shares of the budget. `discreet.families` has the table of all families.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from discreet.core.arrays import Floats, Ints
from discreet.domain import Domain

Link = str
"""The name of a link function, which identifies its family in files: "identity", "logit", "log", "sign"."""

ScoreMean = Callable[[Floats], tuple[Floats, Floats]]
"""Maps linear predictors, a column each, to means, and to their derivatives by each predictor."""

Label = Callable[[Floats], Floats]
"""Converts an encoded outcome column to the y of a loss."""


@dataclass(frozen=True)
class Loss(ABC):
    """A convex loss f(eta, y)."""

    name: ClassVar[str]
    one_signed: ClassVar[bool]
    bell: ClassVar[bool]
    share: ClassVar[float] = 0.1

    @property
    @abstractmethod
    def slope(self) -> float:
        """The largest |f'|."""

    @property
    def span(self) -> float:
        """The length of the interval in which f' of one row lies."""
        return self.slope

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The largest f''."""

    @abstractmethod
    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """The values f, f' and f'' of every row."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {"name": self.name} | asdict(self)


@dataclass(frozen=True)
class Outcome:
    """The outcome's column, and its classes if any: public facts, never read from the data.

    Parameters
    ----------
    name, column : str
        The user's name of the outcome, and the column that holds it.
    classes : tuple, optional
        The classes, in order.
    level : int, optional
        The level that is modelled against all others of a category.
    """

    name: str
    column: str
    classes: tuple[Any, ...] | None = None
    level: int | None = None


class FamilyWords(NamedTuple):
    """Words for models of a family.

    Parameters
    ----------
    kind : str
        The kind of model.
    measure : str
        The unit of effects.
    unit : str
        The unit of the linear predictor; "" for that of the outcome.
    ratio : str
        The meaning of e^coefficient; "" where it has none.
    dispersion : str
        The meaning of a dispersion; "" where there is none.
    """

    kind: str
    measure: str
    unit: str = ""
    ratio: str = ""
    dispersion: str = ""


class Family(ABC):
    """A family of outcomes that a generalised linear model is fitted to.

    Attributes
    ----------
    name, link : str
        Its name, and its link function, which identifies it in files and tables of shares.
    words : FamilyWords
        Words for people.
    losses : tuple of type
        The losses that models of the family are fitted by.
    example : object
        A declared column of such outcomes, for made-up tables.
    linear : bool
        Whether the linear predictor is the predicted outcome, and losses take outcomes mapped to [-1, 1].
    classes : bool
        Whether outcomes are classes; more than two of them have a linear predictor each.
    largest : float, optional
        The largest mean that any outcome has; None where the bounds of the outcome decide.
    staged : bool
        Whether statistics at a fitted model are released: its Fisher information and score products.
    sized : bool
        Whether the size of outcomes is released before the model, and noise is in units of it.
    exposed : bool
        Whether the logarithm of an exposure may be added to the predictor.
    cornered : bool
        Whether its loss has a corner of a given width.
    joint : bool
        Whether the score of a class depends on the predictors of all classes, which exclude each other.
    """

    name: ClassVar[str]
    link: ClassVar[Link]
    words: ClassVar[FamilyWords]
    losses: ClassVar[tuple[type[Loss], ...]]
    example: ClassVar[Any] = (-1, 1)
    linear: ClassVar[bool] = False
    classes: ClassVar[bool] = False
    largest: ClassVar[float | None] = None
    staged: ClassVar[bool] = False
    sized: ClassVar[bool] = False
    exposed: ClassVar[bool] = False
    cornered: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"<{self.name} family>"

    # ---------------------------------------------------------------- the loss of a row

    @abstractmethod
    def loss(self, most: float = 1.0) -> Loss:
        """The loss of a row, for outcomes of at most `most` in the unit of `label`."""

    def most(self, domain: Domain, column: str) -> float:
        """The largest outcome that a column can have, in the unit of `label`."""
        return 1.0

    def covers(self, loss: Loss, most: float) -> bool:
        """Whether a loss covers all outcomes up to `most`."""
        return True

    # ---------------------------------------------------------------- outcomes

    def outcome(self, domain: Domain, target: str, method: str) -> Outcome:
        """The outcome of a model; refuse one that is not of this family, naming `method`."""
        column = domain.entries[domain.target(target)].column
        domain.columns[column].as_number(column, method)
        return Outcome(target, column)

    @abstractmethod
    def label(self, domain: Domain, column: str, place: int = 1) -> Label:
        """The map from encoded outcomes to the y of the loss; for classes, 1 for that at `place`, else 0."""

    def labels(self, domain: Domain, outcome: Outcome) -> list[Label]:
        """The label of each linear predictor."""
        return [self.label(domain, outcome.column)]

    def coordinates(self, domain: Domain, outcome: Outcome) -> tuple[str, ...]:
        """The coordinate of the residuals of each linear predictor."""
        return (outcome.column,)

    # ---------------------------------------------------------------- the mean

    def mean(self, eta: Floats, most: float) -> Floats:
        """The expected outcome at linear predictors, at most `most`; bitwise the same at any place of an array."""
        return eta

    def slope(self, eta: Floats, most: float) -> Floats:
        """The derivative of the mean; where `most` bounds the mean, that from the left."""
        return np.ones_like(eta)

    def root(self, eta: Floats, most: float) -> Floats:
        """The weight sqrt(f''/c) of a row in the Fisher information, with c the largest curvature f'' of the loss."""
        return np.ones_like(eta)

    def residual(self, eta: Floats, y: Floats, most: float, width: float | None) -> Floats:
        """The score -f'(eta, y) of rows, a line for each predictor; bitwise the same at any place of an array."""
        return y - self.mean(eta, most)

    def field(self, most: float, shift: float, shares: Floats, width: float | None) -> ScoreMean:
        """The expected f' at linear predictors, up to a term that does not depend on them, and its derivative.

        Parameters
        ----------
        most, width : float, and float or None
            The largest mean, and the width of the corner of a hinge.
        shift : float
            The logarithm of a typical exposure.
        shares : array
            The share of the class of each predictor.
        """

        def mean(eta: Floats) -> tuple[Floats, Floats]:
            shifted = eta + shift
            return self.mean(shifted, most), self.slope(shifted, most)[:, :, None] * np.eye(eta.shape[1])

        return mean

    def probabilities(self, eta: Floats) -> Floats | None:
        """The probability of each class from predictors, one column each; None where the family has none."""
        return None

    # ---------------------------------------------------------------- made-up outcomes

    @property
    def law(self) -> Family:
        """The family whose law made-up outcomes follow."""
        return self

    @abstractmethod
    def predictor_sd(self, r_squared: float, mean: float) -> float:
        """The standard deviation of a predictor that explains this share of the variance of outcomes of this mean."""

    @abstractmethod
    def simulate(self, means: Floats, rng: np.random.Generator) -> Floats:
        """Made-up outcomes with these means."""

    @abstractmethod
    def expected_loss(self, means: Floats, truth: Floats) -> float:
        """The mean loss of predicted means where outcomes have the means `truth`: log loss, or half the deviance.

        Terms that do not depend on the predictions are left out.
        """


class ClassFamily(Family):
    """A family of classes: a category, or one level of it against the others."""

    example: ClassVar[Any] = [0, 1]
    classes = True

    def outcome(self, domain: Domain, target: str, method: str) -> Outcome:
        """The outcome: a category, or one level of one."""
        return category(domain, target)

    def coordinates(self, domain: Domain, outcome: Outcome) -> tuple[str, ...]:
        """The coordinates that are 1 for the second of two classes, for the chosen level, or for each of several."""
        if domain.columns[outcome.column].bounds:
            return (outcome.column,)
        names = [domain.entries[place].name for place in domain.positions[outcome.column]]
        if outcome.level is not None:
            return (names[outcome.level],)
        return (names[1],) if len(names) == 2 else tuple(names)

    def label(self, domain: Domain, column: str, place: int = 1) -> Label:
        """The function that gives 1 for the class at `place`, 0 for the others."""
        c, h = domain.map(column)
        number = domain.columns[column].bounds is not None
        return lambda y: ((np.rint(c + h * y) if number else y) == place).astype(float)

    def labels(self, domain: Domain, outcome: Outcome) -> list[Label]:
        """The second of two classes, or the chosen level; each of several classes against the others."""
        if outcome.level is not None:
            return [self.label(domain, outcome.column, outcome.level)]
        places = range(len(outcome.classes or ()))
        return [self.label(domain, outcome.column, k) for k in ([1] if len(places) == 2 else places)]


def category(domain: Domain, target: str) -> Outcome:
    """The outcome of a classifier: a category, or one level of one."""
    if target in domain.columns:
        return Outcome(target, target, domain.columns[target].as_classes(target))
    entry = domain.entries[domain.target(target)]
    return Outcome(target, entry.column, (False, True), entry.level)


def places(eta: Floats) -> Ints:
    """The index of each row's class: the second of two where the predictor is above 0, the largest of several."""
    found: Ints = (eta[:, 0] > 0).astype(int) if eta.shape[1] == 1 else eta.argmax(axis=1)
    return found
