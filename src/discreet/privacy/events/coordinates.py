"""Gaussian noise on statistics of rows in the coordinates of a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from discreet.core.field_kinds import ABOVE_0, COUNT, NAMES, choice, many, number, record
from discreet.core.fields import Fields, FileRecord, fixed
from discreet.domain.coordinates import Coordinates
from discreet.domain.linked import COORDINATES, Linked
from discreet.errors import FileFormatError, ParameterError
from discreet.privacy import gdp
from discreet.privacy.events.gaussian import Block, Statistic

STATISTICS: tuple[Statistic, ...] = ("counts", "lengths", "gram", "inner", "information", "cross", "squares", "meat")
"""What a stage may release, in this order: counts of weighted residuals, counts of |z|, U'U, or that of the rows whose
residuals are not clipped, or at a generalised linear model its Fisher information A'A, U'E, E'E, meat S'S."""


def stage_block(coordinates: Coordinates, statistic: Statistic, columns: Sequence[str] = (), sd: float = 1.0) -> Block:
    """A statistic of a stage, in units of u and e.

    Parameters
    ----------
    coordinates : Coordinates
        The stage.
    statistic : {"counts", "lengths", "gram", "inner", "information", "cross", "squares", "meat"}
        Which one.
    columns : sequence of str
        The outcomes; one for counts, inner, information and meat, none for counts of lengths and U'U.
    sd : float
        Of the noise.

    Examples
    --------
    >>> stage = Coordinates.rounded(["(intercept)", "x"], ["y"], [[1, 0], [0, 1]], [[0.5], [0.0]], 1.0, [[0.25]])
    >>> stage_block(stage, "cross", ["y"], 3.0)
    Block(statistic='cross', rows=('u1', 'u2'), columns=('y',), sd=3.0, layout='weighted', span=None)
    """
    if statistic == "lengths" and not coordinates.lengths:
        raise ParameterError("A stage without edges between lengths has no counts of them.")
    if (statistic == "information" and not isinstance(coordinates, Linked)) or (
        statistic == "gram" and isinstance(coordinates, Linked)
    ):
        raise ParameterError("A stage at a generalised linear model has its Fisher information, another one has U'U.")
    return Block(statistic, coordinates.axes if statistic in _WITH_AXES else (), tuple(columns), sd)


WITHOUT_OUTCOMES: tuple[Statistic, ...] = ("lengths", "gram")
"""Statistics of the rows' coordinates alone."""

OF_ONE_OUTCOME: tuple[Statistic, ...] = ("counts", "inner", "information", "meat")
"""Statistics of which each outcome has its own."""

_WITH_AXES: tuple[Statistic, ...] = ("gram", "inner", "information", "cross", "meat")

_NAMES: dict[str, str] = {
    "counts": "counts of residuals",
    "lengths": "counts of lengths",
    "gram": "U'U",
    "inner": "inner U'U",
    "information": "Fisher information",
    "cross": "U'e",
    "squares": "e'e",
    "meat": "meat of U'e",
}


def stage_name(block: Block) -> str:
    """How people write a statistic of a stage."""
    return _NAMES[block.statistic]


_STAGE_BLOCK = Fields(
    "stage_block",
    "",
    "A block of a stage is of an unknown kind.",
    statistic=choice(*STATISTICS)(
        "U'U, that of the rows whose residuals are not clipped, U'E, sums of e^2, counts of residuals by half width, "
        "counts of rows by length, sums of e^2 u u', Fisher information."
    ),
    columns=NAMES,
    sd=ABOVE_0("Of the noise, in units of u and e."),
)


@dataclass(frozen=True)
class StageEvent(FileRecord):
    """Gaussian noise on statistics of u and e, the coordinates and residuals of one stage.

    Parameters
    ----------
    mu : float
        What it costs.
    coordinates : Coordinates
        What u and e are; a function of what was released before.
    blocks : tuple of Block
        The statistics, in units of u and e; see `stage_block`.
    chosen : tuple of int
        For each outcome, which of its half widths inner U'U, U'E, E'E and S'S are for: a function of the counts and of
        what came before.
    radii : tuple of float
        Where the meat is that of persons, or of weighted rows: for each outcome the length that their scores are
        shortened to, a function of what was released before. The meat is in units of its square.
    """

    mu: float
    coordinates: Coordinates
    blocks: tuple[Block, ...]
    chosen: tuple[int, ...]
    radii: tuple[float, ...] = ()

    mechanism = "gaussian, private coordinates"
    law = None
    exact = True
    target = None

    @property
    def design(self) -> tuple[str, ...]:
        """The coordinates that rows consist of before they are turned."""
        return self.coordinates.design

    @property
    def name(self) -> str:
        """How people call it."""
        return f"{', '.join(map(stage_name, self.blocks))} of a stage"

    @property
    def widths(self) -> tuple[float, ...]:
        """The half widths that were chosen."""
        return tuple(own[i] for own, i in zip(self.coordinates.widths, self.chosen, strict=True))

    FIELDS = Fields(
        "stage",
        "Statistics of turned rows; since version 3.",
        "A stage of the release lists a {name} that no Gaussian noise has.",
        mechanism=fixed(mechanism),
        mu=number(exclusiveMinimum=0, maximum=gdp.LIMIT)("Its cost."),
        coordinates=COORDINATES,
        blocks=many(record(_STAGE_BLOCK)),
        chosen=many(COUNT)("Which of its half widths each outcome was clipped to, counted from 0.", since=3),
        radii=many(ABOVE_0)("Of persons' scores, for each outcome.", absent=()),
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


def _block(coordinates: Coordinates, statistic: Statistic, columns: tuple[str, ...], sd: float) -> Block:
    """One statistic of a stage from a file."""
    known = statistic != ("gram" if isinstance(coordinates, Linked) else "information")
    few = dict.fromkeys(OF_ONE_OUTCOME, len(columns) == 1) | dict.fromkeys(WITHOUT_OUTCOMES, not columns)
    known = known and few.get(statistic, len(columns) > 0) and (statistic != "lengths" or bool(coordinates.lengths))
    if not known or not set(columns) <= set(coordinates.outcomes) or len(set(columns)) < len(columns):
        raise FileFormatError("A block of a stage is of an unknown kind.")
    return stage_block(coordinates, statistic, columns, sd)
