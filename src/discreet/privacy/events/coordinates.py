"""Gaussian noise on statistics of rows in the coordinates of a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet.core.field_kinds import ABOVE_0, COUNT, NAMES, many, number, one_of, record
from discreet.core.fields import Fields, fixed
from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates
from discreet.errors import FileFormatError, ParameterError
from discreet.families.coordinates import COORDINATES
from discreet.privacy import gdp
from discreet.privacy.events.base import Finding, StatisticsEvent, is_bound
from discreet.privacy.events.gaussian import Block
from discreet.statistics.base import STATISTICS, stage_statistics

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


_STAGE_BLOCK = Fields(
    "stage_block",
    "",
    "A block of a stage is of an unknown kind.",
    statistic=one_of(lambda: [kind.name for kind in stage_statistics()])(
        "U'U, that of the rows whose residuals are not clipped, U'E, sums of e^2, counts of residuals by half width, "
        "counts of rows by length, sums of e^2 u u', Fisher information, that of pairs of classes."
    ),
    columns=NAMES,
    sd=ABOVE_0("Standard deviation of the noise, in units of u and e."),
)


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

    FIELDS = Fields(
        "stage",
        "Statistics of rotated rows; since version 3.",
        "A stage of the release lists a {name} that no Gaussian noise has.",
        mechanism=fixed(mechanism),
        mu=number(exclusiveMinimum=0, maximum=gdp.LIMIT)("The cost, in Gaussian differential privacy."),
        coordinates=COORDINATES,
        blocks=many(record(_STAGE_BLOCK)),
        chosen=many(COUNT)("The index of the chosen half width of each outcome, from 0.", since=3),
        radii=many(ABOVE_0)("The bound on the norm of persons' scores, for each outcome.", absent=()),
    )

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild an event from `to_dict`; what the blocks are about follows from the coordinates."""
        given = cls.FIELDS.read(facts)
        coordinates, chosen, radii = given["coordinates"], given["chosen"], given["radii"]
        blocks = tuple(_block(coordinates, **block) for block in given["blocks"])
        fits = len(chosen) == len(coordinates.widths) and all(
            i < len(own) for i, own in zip(chosen, coordinates.widths, strict=True)
        )
        listed = [(block.statistic, name) for block in blocks for name in block.columns or ("",)]
        if not fits or len(radii) not in (0, len(chosen)) or len(set(listed)) < len(listed):
            raise FileFormatError("A stage of the release names a half width that it does not have, or a block twice.")
        return cls(**given | {"blocks": blocks})


def _block(coordinates: Coordinates, statistic: str, columns: tuple[str, ...], sd: float) -> Block:
    """One statistic of a stage from a file."""
    kind = STATISTICS[statistic]
    few = {"none": not columns, "one": len(columns) == 1, "all": len(columns) > 0}
    has = kind.stage_refusal(coordinates) is None and few[kind.outcomes]
    if not has or not set(columns) <= set(coordinates.outcomes) or len(set(columns)) < len(columns):
        raise FileFormatError("A block of a stage is of an unknown kind.")
    return stage_block(coordinates, statistic, columns, sd)
