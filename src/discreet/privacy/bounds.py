"""The bounds of a certificate, against which events check their listed noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.core.checks import Neighbors
from discreet.domain import Domain
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block
from discreet.statistics.space import Space


@dataclass(frozen=True)
class Bounds:
    """The public bounds of the columns, and the relation between neighbouring tables.

    Examples
    --------
    >>> bounds = Bounds(Domain({"x": (0, 1), "y": (0, 1)}), "add-remove")
    >>> round(bounds.norm(("x", "y")), 4)
    1.4142
    """

    domain: Domain
    neighbors: Neighbors

    def mu(self, blocks: Sequence[Block], space: Space | None = None) -> float:
        """The mu of statistics with their noise, in mapped columns or in the coordinates of a stage."""
        return sensitivity.mu(blocks, self.domain if space is None else space, self.neighbors)

    def mu_of_before(self, blocks: Sequence[Block]) -> float:
        """The largest mu that files list for these statistics; versions up to 0.2.0 listed a larger one."""
        return sensitivity.mu_of_before(blocks, self.domain, self.neighbors)

    def norm(self, names: Sequence[str], space: Space | None = None) -> float:
        """The largest norm of these coordinates of a row."""
        return sensitivity.norm(names, self.domain if space is None else space)
