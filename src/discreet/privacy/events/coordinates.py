"""Gaussian noise on statistics of rows in the coordinates of a stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.core.files import number, texts
from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates
from discreet.errors import FileFormatError, ParameterError
from discreet.families.coordinates import coordinates_from_dict
from discreet.privacy import gdp
from discreet.privacy.events.base import Finding, StatisticsEvent, is_bound
from discreet.privacy.events.gaussian import Block
from discreet.statistics.base import STATISTICS, known

if TYPE_CHECKING:
    from discreet.privacy.bounds import Bounds


def stage_block(coordinates: Coordinates, statistic: str, columns: Sequence[str] = (), sd: float = 1.0) -> Block:
    """A statistic of a stage, in units of u and e.

    Parameters
    ----------
    coordinates : Coordinates
        The stage.
    statistic : str
        Name of a `Statistic` that a stage has.
    columns : sequence of str
        The outcomes that it is about; see `Statistic.outcomes`.
    sd : float
        The standard deviation of the noise.

    Examples
    --------
    >>> stage = Coordinates.rounded(["(intercept)", "x"], ["y"], [[1, 0], [0, 1]], [[0.5], [0.0]], 1.0, [[0.25]])
    >>> stage_block(stage, "cross", ["y"], 3.0)
    Block(statistic='cross', rows=('u1', 'u2'), columns=('y',), sd=3.0, layout='weighted', span=None)
    """
    kind = STATISTICS[statistic]
    if (why := kind.stage_refusal(coordinates)) is not None:
        raise ParameterError(why)
    return Block(statistic, coordinates.axes if kind.has_rows else (), tuple(columns), sd)


def stage_name(block: Block) -> str:
    """The symbol of a statistic of a stage."""
    return block.kind.stage_words


@dataclass(frozen=True)
class StageEvent(StatisticsEvent):
    """Gaussian noise on statistics of u and e, the coordinates and residuals of one stage.

    Parameters
    ----------
    mu : float
        The cost.
    coordinates : Coordinates
        The coordinates u and residuals e; a function of what was released before.
    blocks : tuple of Block
        The statistics, in units of u and e; see `stage_block`.
    chosen : tuple of int
        For each outcome, which of its half widths inner U'U, U'E, E'E and S'S are for: a function of the counts and of
        what came before.
    radii : tuple of float
        For score products of persons, or of weighted rows: for each outcome the norm to which their scores are
        clipped, a function of what was released before. The score products are in units of its square.
    """

    mu: float
    coordinates: Coordinates
    blocks: tuple[Block, ...]
    chosen: tuple[int, ...]
    radii: tuple[float, ...] = ()

    mechanism: ClassVar[str] = "gaussian, private coordinates"
    gaussian_sums: ClassVar[bool] = True
    law = None

    @property
    def design(self) -> tuple[str, ...]:
        """The coordinates of rows before they are rotated."""
        return self.coordinates.design

    @property
    def name(self) -> str:
        """The name for people."""
        return f"{', '.join(map(stage_name, self.blocks))} of a stage"

    @property
    def widths(self) -> tuple[float, ...]:
        """The chosen half widths."""
        return tuple(own[i] for own, i in zip(self.coordinates.widths, self.chosen, strict=True))

    @property
    def rotated(self) -> Coordinates:
        """The coordinates of the stage."""
        return self.coordinates

    @property
    def regressors(self) -> tuple[str, ...]:
        """The coordinates of rows before they are rotated."""
        return self.coordinates.design

    @property
    def format_version(self) -> int:
        """The oldest version of files that can hold it."""
        return 3

    def symbol(self, block: Block) -> str:
        """The symbol of one of its statistics, such as U'U."""
        return stage_name(block)

    def title(self, block: Block) -> str:
        """The title of one of its statistics."""
        return f"{stage_name(block)} of a stage"

    def about(self, block: Block) -> str:
        """The outcomes of one of its statistics, or the number of coordinates."""
        return ", ".join(block.columns) or f"coordinates made of the regressors: {len(self.coordinates.axes)}"

    def finding(self, bounds: Bounds) -> Finding:
        """Compare the listed mu with that of the listed noise: a stage that lists a larger one leaves something out."""
        self.check_columns(bounds.domain)
        scored = any(block.kind.per_person for block in self.blocks)
        if scored and bool(self.radii) == bounds.domain.unit.plain:
            return Finding(f"noise on {self.name}", False, "scores of persons have a radius, and others have none")
        mu = bounds.mu(self.blocks, self.coordinates)
        return Finding(f"noise on {self.name}", is_bound(self.mu, mu), f"mu {mu:.6g}, listed {self.mu:.6g}")

    def check_columns(self, domain: Domain) -> None:
        """Raise a KeyError where it names columns that a domain does not have."""
        self.coordinates.check(domain)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description; what the blocks are about follows from the coordinates."""
        blocks = [{"statistic": b.statistic, "columns": list(b.columns), "sd": b.sd} for b in self.blocks]
        return {
            "mechanism": self.mechanism,
            "mu": self.mu,
            "coordinates": self.coordinates.to_dict(),
            "blocks": blocks,
            "chosen": list(self.chosen),
        } | ({"radii": list(self.radii)} if self.radii else {})

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> StageEvent:
        """Rebuild an event from `to_dict`."""
        mu, coordinates = number(facts["mu"]), coordinates_from_dict(facts["coordinates"])
        blocks, chosen = tuple(_block(coordinates, block) for block in facts["blocks"]), tuple(facts["chosen"])
        if not 0 < mu <= gdp.LIMIT:
            raise FileFormatError("A stage of the release lists a mu that no Gaussian noise has.")
        fits = len(chosen) == len(coordinates.widths) and all(
            type(i) is int and 0 <= i < len(own) for i, own in zip(chosen, coordinates.widths, strict=True)
        )
        radii = tuple(map(number, facts.get("radii", ())))
        fits = fits and (not radii or (len(radii) == len(chosen) and all(0 < radius < math.inf for radius in radii)))
        listed = [(block.statistic, name) for block in blocks for name in block.columns or ("",)]
        if not fits or len(set(listed)) < len(listed):
            raise FileFormatError("A stage of the release names a half width that it does not have, or a block twice.")
        return cls(mu, coordinates, blocks, chosen, radii)


def _block(coordinates: Coordinates, facts: dict[str, Any]) -> Block:
    """One statistic of a stage from a file."""
    statistic, columns, sd = facts["statistic"], texts(facts["columns"]), number(facts["sd"])
    kind = known(statistic)
    has = kind is not None and bool(kind.stage_words) and kind.stage_refusal(coordinates) is None and sd > 0
    few = {"none": not columns, "one": len(columns) == 1, "all": len(columns) > 0}
    has = has and kind is not None and few[kind.outcomes]
    if not has or not set(columns) <= set(coordinates.outcomes) or len(set(columns)) < len(columns):
        raise FileFormatError("A block of a stage is of an unknown kind.")
    return stage_block(coordinates, statistic, columns, sd)
