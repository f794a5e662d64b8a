"""Per-instance losses as a result object: **confidential**, and hidden wherever they could be shown by accident."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.files import atomic_write
from discreet.errors import ParameterError
from discreet.per_instance import curves, search
from discreet.per_instance.distribution import Distribution
from discreet.per_instance.mechanisms.gaussian import SampledCurve
from discreet.per_instance.mechanisms.parts import Part
from discreet.privacy import accounting
from discreet.privacy.laws import Law, Point
from discreet.released.certificate import Certificate
from discreet.results.plots.style import BLUE, INK, ORANGE, canvas, legend, logarithmic, style

NOTE = "CONFIDENTIAL: per-instance privacy losses, computed from private data. Not a release; do not publish or share."
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)

_ROUND = 16  # where laws are convolved, mu is rounded up to the next 2^(k/16)


class Measured(NamedTuple):
    """One part of a release with its mu_i^2, its statistics, or the index of its law for every row."""

    part: Part
    values: Floats

    @property
    def gaussian(self) -> bool:
        """Whether the values are mu_i^2."""
        return not self.part.laws and self.part.curve is None

    def levelled(self) -> Measured:
        """Replace a curve by one of a few laws for each row, where it has some, because laws can be convolved."""
        if not isinstance(self.part.curve, SampledCurve):
            return self
        laws, places = self.part.curve.levels(self.values[0], float(self.part.everyone[0]))  # type: ignore[index]
        return Measured(replace(self.part, curve=None, laws=laws), places)

    def __repr__(self) -> str:
        return "Measured(confidential)"


@dataclass(frozen=True)
class _Bill:
    """The interface of an event that the accountant needs."""

    mu: float
    law: Law | None = None


class Losses:
    """The privacy losses of every person that a release was computed from: **confidential**.

    The numbers depend on all rows of the table, so they are themselves private, and so is every summary of them. They
    are meant for the curator: `save` marks its file, and nothing here is pickled or shown by its representation.

    Parameters
    ----------
    certificate : Certificate
        The certificate of the release.
    parts : sequence of Measured
        The cost of each of its parts to every row.
    about : str
        The neighbouring relation of the losses, in words.
    names : sequence of str, optional
        The names of the persons, where losses are those of persons and not of rows.
    """

    def __init__(
        self, certificate: Certificate, parts: Sequence[Measured], about: str, names: Sequence[str] | None = None
    ) -> None:
        self.certificate, self.about, self.names = certificate, about, names
        self.measured = list(parts)
        self._epsilons: dict[float, Floats] = {}
        if self._mixed():
            self.measured = [one.levelled() for one in self.measured]
        if self._mixed():
            raise ParameterError(
                "Only one of the releases may have a loss other than Gaussian: those of two do not add up in closed "
                "form. per_instance.composition.simple bounds them, from the epsilons and deltas of each."
            )

    @property
    def exact(self) -> bool:
        """Whether every part has a closed form; otherwise `notes` say what is a bound."""
        return not self.notes

    @property
    def notes(self) -> list[str]:
        """The reasons why some parts are bounds."""
        return [f"{part.name}: {part.note}" for part, _ in self.measured if part.note]

    @property
    def given(self) -> list[str]:
        """The parts whose loss is conditional on the noise scale that was used, and the release that fixed it."""
        return [f"{part.name}: {part.given}" for part, _ in self.measured if part.given]

    def mu(self) -> Floats:
        """Return mu_i of the Gaussian parts, composed over blocks and stages as the root of the sum of squares."""
        found = [one.values for one in self.measured if one.gaussian]
        return np.sqrt(np.sum(found, axis=0) if found else np.zeros(self.rows))

    def parts(self) -> dict[str, Floats]:
        """Return mu_i^2 of every row by Gaussian part."""
        found: dict[str, Floats] = {}
        for one in self.measured:
            if one.gaussian:
                found[one.part.name] = found.get(one.part.name, 0.0) + one.values
        return found

    def epsilon(self, delta: float | None = None) -> Floats:
        """Return epsilon_i(delta) of every row, in the order of the rows; at the certificate's delta by default."""
        delta = self._delta(delta)
        if delta not in self._epsilons:
            self._epsilons[delta] = self._asked(delta, search.epsilon, curves.epsilon, accounting.epsilon)
        return self._epsilons[delta].copy()

    def delta(self, epsilon: float) -> Floats:
        """Return delta_i(epsilon) of every row, in the order of the rows."""
        at = epsilon if self._curve is None else curves.checked(epsilon)
        return self._asked(at, search.delta, curves.delta, accounting.delta)

    def _asked(self, at: float, curved: Any, gaussian: Any, accounted: Any) -> Floats:
        """Return epsilon_i at delta, or delta_i at epsilon: by the curve of a part, in closed form, or by laws."""
        found: Floats
        if self._curve is not None:
            part, statistics = self._curve
            found = curved(part.curve, self.mu(), statistics, at)
            return np.minimum(found, accounted(self.certificate.events, at)) if part.note else found
        found = self._each(lambda bills: accounted(bills, at)) if self._laws() else gaussian(self.mu(), at)
        return found

    def distribution(self, delta: float | None = None) -> Distribution:
        """Return the distribution of epsilon_i over the rows, with its moments, quantiles and tails."""
        return Distribution(self.epsilon(delta))

    def quantiles(self, levels: Sequence[float] = _QUANTILES, delta: float | None = None) -> dict[float, float]:
        """Return quantiles of epsilon_i over the rows, by level."""
        found = self.distribution(delta).quantiles(levels)
        return dict(zip(map(float, levels), found.tolist(), strict=True))

    def largest(self, k: int = 10, delta: float | None = None) -> list[tuple[int | str, float]]:
        """Return the k rows with the largest epsilon_i: their numbers, from 0 in the order of the table, and losses.

        Persons are given by their names.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError(f"k must be a whole number of at least 1, got {k!r}.")
        losses = self.epsilon(delta)
        order = np.argsort(-losses, kind="stable")[:k]
        return [(int(row) if self.names is None else self.names[row], float(losses[row])) for row in order]

    def for_all(self, delta: float | None = None) -> float:
        """Bound epsilon for every row of the domain, in or out of the table, given this table (pDP for all)."""
        delta = self._delta(delta)
        mu = float(np.sqrt(sum(one.part.everyone for one in self.measured if one.gaussian)))  # type: ignore[misc]
        worst = float(curves.epsilon(mu, delta)) if mu else 0.0
        if self._curve is not None:
            worst = accounting.epsilon(self.certificate.events, delta)
            if (corner := self._curve.part.everyone) is not None:
                column = np.asarray(corner, dtype=np.float64)[:, None]
                own = search.epsilon(self._curve.part.curve, np.array([mu]), column, delta)  # type: ignore[arg-type]
                worst = min(worst, float(own[0]))
        elif self._laws():
            bills = [_Bill(mu), *(_Bill(0.0, one.part.laws[-1]) for one in self._laws())]
            worst = accounting.epsilon(bills, delta)  # type: ignore[arg-type]
        return max(worst, float(self.epsilon(delta).max()))

    def save(self, path: str | Path) -> None:
        """Write a Parquet file that only its owner may read, marked confidential; never over another file.

        Parameters
        ----------
        path : path
            Must end in ``.parquet``. Columns: the number of the row, or the person; epsilon at the certificate's delta,
            mu, and mu^2 by part.
        """
        path = place(path, ".parquet")
        who = {"row": np.arange(self.rows)} if self.names is None else {"person": list(self.names)}
        columns: dict[str, Any] = {**who, "epsilon": self.epsilon()}
        columns |= {"mu": self.mu()} | {f"mu^2 of {name}": values for name, values in self.parts().items()}
        facts: dict[str, Any] = {"note": NOTE, "about": self.about, "bounds": self.notes, "given": self.given}
        facts["delta"] = self.certificate.guarantee.delta
        metadata = {"discreet": json.dumps(facts), "confidential": "true"}
        table = pa.table(columns).replace_schema_metadata(metadata)
        with atomic_write(path, confidential=True) as file:
            pq.write_table(table, file)

    def plot(self, path: str | Path | None = None, delta: float | None = None) -> Any:
        """Draw the distribution of epsilon_i beside the DP epsilon and pDP for all; confidential as well.

        Parameters
        ----------
        path : path, optional
            A PNG or SVG file to write, which only its owner may read; otherwise the figure is returned.
        delta : float, optional
            The certificate's by default.
        """
        return _draw(self, path, self._delta(delta))

    def _delta(self, delta: float | None) -> float:
        promised = self.certificate.guarantee.delta
        if promised == 0 and not delta:
            return 0.0
        return checks.fraction("delta", promised if delta is None else delta)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.measured[0].values.shape[-1])

    def _laws(self) -> list[Measured]:
        return [one for one in self.measured if one.part.laws]

    def _mixed(self) -> bool:
        curved = sum(one.part.curve is not None for one in self.measured)
        return curved > 1 or bool(curved and self._laws())

    @property
    def _curve(self) -> Measured | None:
        return next((one for one in self.measured if one.part.curve is not None), None)

    def _each(self, price: Callable[[Any], float]) -> Floats:
        """Compute a price for every row, once for all rows that share their laws and, rounded up, their mu."""
        others = self._laws()
        with np.errstate(divide="ignore"):
            level = np.ceil(_ROUND * np.log2(self.mu()))
        keys = np.stack([np.maximum(level, -1e6), *(one.values for one in others)])
        unique, inverse = np.unique(keys, axis=1, return_inverse=True)
        top = float(self.mu().max())
        prices = []
        for key in unique.T:
            laws = [one.part.laws[int(place)] for one, place in zip(others, key[1:], strict=True)]
            mu = min(2.0 ** (key[0] / _ROUND), top) if key[0] > -1e6 else 0.0
            prices.append(price([_Bill(mu), *(_Bill(0.0, law) for law in laws if law != Point(0.0))]))
        return np.asarray(prices)[inverse.ravel()]

    def __repr__(self) -> str:
        return "Losses(confidential)"

    def _repr_html_(self) -> str:
        return "<p>Losses: confidential, not shown</p>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Losses are confidential and are not pickled. Use save(), which marks the file as such.")


def place(path: str | Path, *endings: str) -> Path:
    """Check that a confidential file may be written to a path: its ending is allowed and the file does not exist."""
    path = Path(path)
    if path.suffix.lower() not in endings:
        raise ParameterError(
            f"{path.name} cannot hold confidential losses: its name must end in {' or '.join(endings)}. They are no "
            "part of a report or of a release."
        )
    if path.exists():
        raise ParameterError(f"{path.name} exists already and is not replaced. Name another file.")
    if not path.parent.is_dir():
        raise ParameterError(f"Cannot write {path.name}: its folder does not exist.")
    return path


def _draw(losses: Losses, path: str | Path | None, delta: float) -> Any:
    """Draw the distribution of epsilon_i, the DP epsilon and pDP for all on one axis."""
    if path is not None:
        path = place(path, ".png", ".svg")
    with style():
        figure = _figure(losses, delta)
    if path is None:
        return figure
    kind = path.suffix.lower()[1:]
    buffer = BytesIO()
    metadata = {"Title": NOTE} if kind == "svg" else {"Title": "CONFIDENTIAL", "Description": NOTE}
    try:
        with style():
            figure.savefig(buffer, format=kind, metadata=metadata, dpi=150)
    except ValueError:
        raise ParameterError("The picture cannot be drawn: the losses are not finite.") from None
    with atomic_write(path, confidential=True) as file:
        file.write(buffer.getvalue())
    return None


def _figure(losses: Losses, delta: float) -> Any:
    values, promised = losses.epsilon(delta), losses.certificate.guarantee
    figure, axes = canvas(3.6)
    everyone = losses.for_all(delta)
    worst = max(everyone, promised.epsilon if delta == promised.delta else 0.0)
    bins = np.linspace(0, worst * 1.03 or 1.0, 80)
    if 0 < np.quantile(values, 0.99) < worst / 5:  # most losses are far below the worst: show the ratio
        bins = np.geomspace(max(float(values[values > 0].min()), worst * 1e-6), worst * 1.1, 80)
        logarithmic(axes.xaxis)
    axes.hist(np.maximum(values, bins[0]), bins=bins.tolist(), color=BLUE, label="rows of the table")
    axes.axvline(float(np.median(values)), color=INK, ls=":", lw=1.4, label="their median")
    if delta == promised.delta:
        axes.axvline(promised.epsilon, color=ORANGE, lw=5, alpha=0.6, label="promised to everybody")
    axes.axvline(everyone, color=INK, ls="--", lw=1.2, label="anybody, given this table (pDP for all)")
    axes.set_xlabel(f"epsilon of each row, at delta = {delta:g}")
    axes.set_ylabel("rows")
    axes.set_title("CONFIDENTIAL: per-instance privacy losses", color=ORANGE)
    legend(figure, axes)
    return figure
