"""Released moments: noisy sums on grids of integers with their certificate, saved and loaded, and found by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.field_kinds import record
from discreet.core.fields import DocumentFields
from discreet.core.files import Source, digest, load_document, write_document
from discreet.domain import Domain
from discreet.domain.sketch import SketchCoordinates
from discreet.drivers.replay import begun
from discreet.errors import NotReleasedError
from discreet.privacy.events.base import StatisticsEvent
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import VALUES, GridValues, ReleasedStage, statistic
from discreet.recipes.base import Spending, Steps
from discreet.recipes.geometry import StageGeometry
from discreet.recipes.glm import Glm, Scored
from discreet.recipes.linear import Linear
from discreet.recipes.search import after_search, whole
from discreet.recipes.wide import Wide, WideModel
from discreet.released.certificate import VERSIONS, Certificate
from discreet.released.equations import normal_equations
from discreet.solve.equations import NormalEquations
from discreet.solve.outcome import Unclip, unclip
from discreet.statistics.row_norms import RowNormCounts

_FIELDS = DocumentFields(
    "release", "Noisy statistics that models are fitted to.", VERSIONS, certificate=record(Certificate), values=VALUES
)


@dataclass(frozen=True, eq=False)
class BlockValues:
    """The values of a released block, found by name.

    `sds`: noise sds: of the diagonal of a Gram matrix and off it; of all values of another statistic.
    """

    block: Block
    array: Floats
    sds: tuple[float, ...]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Places of the rows."""
        return {name: i for i, name in enumerate(self.block.rows)}

    @cached_property
    def columns(self) -> dict[str, int]:
        """Places of the columns."""
        return {name: i for i, name in enumerate(self.block.columns)}

    def holds(self, rows: Sequence[str], columns: Sequence[str] = ()) -> bool:
        """Whether some products are among the values."""
        return all(name in self.rows for name in rows) and all(name in self.columns for name in columns)

    def pick(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        """Return the products of some coordinates."""
        if self.block.statistic == "squares":
            return self.array[[self.columns[name] for name in rows]][:, None]
        column = self.columns if self.block.statistic == "cross" else self.rows
        picked: Floats = self.array[np.ix_([self.rows[name] for name in rows], [column[name] for name in columns])]
        return picked


@dataclass(frozen=True)
class ReleasedMoments:
    """Noisy moments with their certificate; `discreet.PrivateMoments` adds the models that can be fitted to them.

    `values`: for each block of the certificate, those of its stages too: diagonal and upper triangle of a Gram matrix,
        or all values of another.
    """

    certificate: Certificate
    values: tuple[tuple[GridValues, ...], ...]

    @property
    def domain(self) -> Domain:
        """The public facts about the columns."""
        return self.certificate.domain

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The released blocks of the mapped columns."""
        return tuple(block for event, _ in self._held for block in event.blocks)

    @cached_property
    def stages(self) -> tuple[ReleasedStage, ...]:
        """The released stages, without counts of row norms alone."""
        return tuple(stage for stage in self._staged if not stage.event.of_norms)

    @cached_property
    def norms(self) -> ReleasedStage | None:
        """The stage that counted row norms for the last one, if any did."""
        counted = [stage for stage in self._staged if stage.holds(RowNormCounts.name)]
        return counted[-1] if counted else None

    @cached_property
    def _staged(self) -> tuple[ReleasedStage, ...]:
        return tuple(ReleasedStage(event, values) for event, values in self.parts if isinstance(event, StageEvent))

    @cached_property
    def parts(self) -> list[tuple[StatisticsEvent, tuple[tuple[GridValues, ...], ...]]]:
        """The values of each event that has any."""
        events = self.certificate.of(StatisticsEvent)
        ends = np.cumsum([0, *(len(event.blocks) for event in events)]).tolist()
        if ends[-1] != len(self.values):
            raise ValueError("another number of values than the certificate lists")
        return [(event, self.values[i:j]) for event, i, j in zip(events, ends, ends[1:], strict=False)]

    @cached_property
    def _held(self) -> list[tuple[StatisticsEvent, tuple[tuple[GridValues, ...], ...]]]:
        """The events on mapped columns with their values."""
        return [(event, values) for event, values in self.parts if event.rotated is None]

    @cached_property
    def arrays(self) -> dict[Block, Floats]:
        """The released statistics in units of the mapped columns."""
        return {
            block: event.scale * statistic(block, parts)
            for event, values in self._held
            for block, parts in zip(event.blocks, values, strict=True)
        }

    def value(self, statistic: str) -> Floats:
        """Return the released values of one kind of statistic."""
        for block, array in self.arrays.items():
            if block.statistic == statistic:
                return array
        raise NotReleasedError(
            f"This release holds no {statistic!r}. It holds: {', '.join(b.name for b in self.blocks)}."
        )

    def equations(self, target: str, features: Sequence[str] | None = None) -> NormalEquations:
        """Return the noisy normal equations of one outcome on some features.

        `target`: the outcome: a numeric column, or one level of a category.
        `features`: the regressors; all released columns but the outcome's by default.
        """
        return normal_equations(self, [target], features)

    def rows(self) -> float:
        """Return the number of rows: declared, or released with noise, or the least that the trace of X'X needs.

        With weights, it is the sum of the weights in units of the largest.
        """
        return self.rows_and_noise()[0]

    def rows_and_noise(self) -> tuple[float, float | None]:
        """Return the number of rows and the sd of its noise: 0 if it was declared, None if it is not known."""
        if (declared := self.certificate.counted_rows) is not None:
            return float(declared), 0.0
        told = [(block.kind.counted, block.kind.rows_told(block, array)) for block, array in self.arrays.items()]
        for counted in (False, True):  # counts have the noise of all bins
            if found := [own for kind, own in told if own is not None and kind == counted]:
                rows, sd = min(found, key=lambda own: own[1])
                return max(rows, 1.0), sd
        gram = self.value("gram")
        names = next(block.rows for block in self.blocks if block.statistic == "gram")
        return max(float(np.trace(gram)) / self.domain.norms[tuple(names)], 1.0), None

    def unclip(self, target: str) -> Unclip | None:
        """Return the correction for clipping, in units of the declared mapped outcome; None if it was not narrowed."""
        declared = self.certificate.declared
        counted = [b for b in self.blocks if (b.statistic, *b.columns, b.span) == ("counts", target, None)]
        if declared is None or not counted:
            return None
        bounds = self.domain.columns[target].bounds
        if bounds is None:
            return None
        c, h = declared.map(target)
        low, high = (bounds[0] - c) / h, (bounds[1] - c) / h
        return unclip(self.arrays[counted[0]], counted[0].sd, self.rows(), low, high, centred=self.domain.intercept)

    def save(self, path: str | Path, *, simulation: bool = False, overwrite: bool = False) -> None:
        """Save the release as JSON with a SHA-256 digest, which finds damage and careless edits, not forgery.

        Parameters
        ----------
        path : path
            The file.
        simulation : bool
            Must be True to save a release whose noise came from a seed.
        overwrite : bool
            Must be True to replace a file: another release may be all that is left of its budget.
        """
        if not simulation:
            self.certificate.refuse_simulation("release", "Release")
        write_document(path, self._document(), overwrite=overwrite)

    @classmethod
    def load(cls, path: Source) -> Self:
        """Load a release that `save` wrote, after checking that it is whole."""
        return load_document(path, "release", VERSIONS, cls._from_document)

    @classmethod
    def _from_document(cls, body: dict[str, Any]) -> Self:
        released = cls(**_FIELDS.read(body))
        released.check_values()
        return released

    def check_values(self) -> None:
        """Refuse values that do not fit the certificate's blocks, or are on another grid than that of their noise."""
        _ = self.arrays, [stage.arrays for stage in self._staged]
        held = [pair for event, values in self.parts for pair in zip(event.blocks, values, strict=True)]
        if any([part.exponent for part in parts] != [power for _, power in block.noise] for block, parts in held):
            raise ValueError("the grid does not fit the noise")

    @cached_property
    def digest(self) -> str:
        """The SHA-256 that a saved release carries: one name for one release, to cite it by."""
        return digest(self._document())

    def _document(self) -> dict[str, Any]:
        return _FIELDS.body(self, self.certificate.format_version)

    def __repr__(self) -> str:
        g = self.certificate.guarantee
        promise = f"epsilon={g.epsilon:g}, delta={g.delta:g}, {g.status}"
        return f"{type(self).__name__}({len(self.domain.columns)} columns, {promise})"

    @cached_property
    def tables(self) -> tuple[BlockValues, ...]:
        """The values of each block of the mapped columns."""
        sds = [block.sds for block in self.blocks]
        scaled = zip(self.arrays.items(), sds, self._scales, strict=True)
        return tuple(
            [BlockValues(*held, own if scale == 1 else self._sds(held[0], scale)) for held, own, scale in scaled]
        )

    def _sds(self, block: Block, scale: float) -> tuple[float, ...]:
        """Return the noise sds of a block of a sample, scaled to stand for all rows.

        A sample of the rows adds its own error to X'X (docs 9.3), at most this much on average over the entries.
        """
        d = len(block.rows)
        error = self.domain.norms[block.rows] * math.sqrt((scale - 1) * self.rows() / (d * (d + 1)))
        diagonal, upper = (scale * sd for sd in block.sds)
        return math.hypot(diagonal, math.sqrt(2) * error), math.hypot(upper, error)

    @cached_property
    def _scales(self) -> tuple[float, ...]:
        """The factor by which each block is multiplied to stand for all rows."""
        return tuple(event.scale for event, _ in self._held for _ in event.blocks)

    @property
    def sampled(self) -> bool:
        """Whether X'X is estimated from a sample of the rows."""
        return any(scale > 1 for scale in self._scales)

    @classmethod
    def of_run(cls, certificate: Certificate, values: tuple[tuple[GridValues, ...], ...], result: Any) -> Self:
        """Return a release that was just made; the geometry that its recipe ended with need not be computed again."""
        released = cls(certificate, values)
        if isinstance(result, StageGeometry):
            vars(released)["geometry"] = result
        return released

    @cached_property
    def geometry(self) -> StageGeometry:
        """The geometry of the stages, from the released values."""
        if not self.stages:
            raise NotReleasedError("This release has no stages.")
        recipe = Linear.listed(self.certificate.facts, self.certificate.events, self.certificate.recipe or {})
        if recipe is None:
            raise NotReleasedError("This release follows rules that this version of discreet does not know.")
        recipe = recipe.outlined(self.certificate.events)
        steps = after_search(recipe.facts, lambda own: replace(recipe, facts=own).start(Spending(own)))
        return begun(steps, self.certificate.events, self.values).geometry

    @cached_property
    def theta(self) -> Floats:
        """The coefficients (d, m) of the mapped columns, of a model that was released by steps."""
        if self.scored is not None:
            return self.scored.theta
        recipe = Wide.listed(self.certificate.facts, self.certificate.events, {})
        if recipe is None:
            raise NotReleasedError("This model was not released by steps.")
        model: WideModel = begun(whole(recipe), self.certificate.events, self.values)
        return model.theta

    @cached_property
    def scored(self) -> Scored | None:
        """The posterior of a model of classes or counts; None of other releases."""
        recipe = Glm.listed(self.certificate.facts, self.certificate.events, self.certificate.recipe or {})
        if recipe is None:
            return None
        steps: Steps[Scored] = whole(recipe.outlined(self.certificate.events))
        return begun(steps, self.certificate.events, self.values)

    @property
    def mean_alone(self) -> bool:
        """Whether the table, or epsilon, is too small for anything but the mean of the outcome."""
        return bool(self.stages) and len(self.stages[-1].event.coordinates.axes) < len(self.stages[-1].event.design)

    @cached_property
    def outcomes(self) -> tuple[str, ...]:
        """Coordinates that are outcomes only."""
        crossed = [name for block in self.blocks if block.statistic == "cross" for name in block.columns]
        stages = [stage.event.coordinates for stage in self.stages]
        staged = [name for own in stages if not isinstance(own, SketchCoordinates) for name in own.outcomes]
        return tuple(dict.fromkeys([*crossed, *staged]))

    @cached_property
    def regressors(self) -> tuple[str, ...]:
        """Columns that are not outcomes only."""
        column = {entry.name: entry.column for entry in self.domain.entries}
        outcomes = {column[name] for name in self.outcomes}
        released = {column[name] for block in self.blocks if block.statistic == "gram" for name in block.rows}
        released |= {column[name] for stage in self.stages for name in stage.event.design}
        return tuple(name for name in self.domain.columns if name in released and name not in outcomes)

    def features(self, outcomes: set[str]) -> list[str]:
        """Return the default regressors of some outcomes: columns that are neither outcomes nor derived from one."""
        return [name for name in self.regressors if not self.domain.made_of(name) & outcomes]

    def find(self, statistic: str, rows: Sequence[str], columns: Sequence[str] = ()) -> BlockValues:
        """Return the released block that holds some products."""
        for table in self.tables:
            if table.block.statistic == statistic and table.holds(rows, columns):
                return table
            if table.block.statistic == "gram" and table.holds([*rows, *columns]):
                return table
        grams = {name for block in self.blocks if block.statistic == "gram" for name in block.rows}
        what = list(columns) or [name for name in rows if name not in grams] or list(rows)
        raise NotReleasedError(
            f"The products with {', '.join(map(repr, what))} were not released. "
            f"Released: {'; '.join(map(_describe, self.blocks))}."
        )

    def squares(self, outcomes: Sequence[str]) -> tuple[Floats | None, float | None]:
        """Return y'y of each outcome and the sd of its noise; None where one of them was not released."""
        tables = [(name, table) for name in outcomes if (table := self._square(name)) is not None]
        if len(tables) < len(outcomes):
            return None, None
        return np.array([table.pick([name], [name])[0, 0] for name, table in tables]), tables[0][1].sds[0]

    def _square(self, name: str) -> BlockValues | None:
        """Return the released block that holds the square of a coordinate, if any does."""
        for table in self.tables:
            squares = table.block.statistic == "squares" and name in table.columns
            if squares or (table.block.statistic == "gram" and name in table.rows):
                return table
        return None


def _describe(block: Block) -> str:
    names = ", ".join(dict.fromkeys(block.rows[:6] + block.columns[:6]))
    return f"{block.name} of {names}{', ...' if len(block.rows) > 6 else ''}"
