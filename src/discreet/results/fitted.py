"""What every fitted model offers: numbers by name, a summary, a frame, a picture, a report; and how it reads tables."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.files import atomic_write
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT, Domain
from discreet.domain.encoding import Encoder
from discreet.domain.values import check_type, predicting, read_column
from discreet.errors import DataError
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.coordinates import StageEvent
from discreet.released.moments import ReleasedMoments
from discreet.released.units import column_of
from discreet.results.inference import Inference
from discreet.results.summary import SIMULATION, Summary, number, promise, row_count, to_pandas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Fitted(ABC):
    """A fitted model. Holds released values only.

    Subclasses have `target`, `names` (of the regressors), `model` (the method), `certificate`, `inference`, `rows` (the
    number of rows as far as it is known) and `release` (the digest by which the release is cited).
    """

    target: str
    names: tuple[str, ...]
    model: str
    certificate: Certificate
    inference: Inference | Unavailable
    rows: float | None
    release: str

    @property
    def kind(self) -> str:
        """What kind of model it is, in words."""
        return "linear regression"

    @property
    def estimand(self) -> str:
        """What the coefficients are about."""
        domain, declared = self.certificate.domain, self.certificate.declared
        column = column_of(domain, self.target)
        text = "the best linear fit to the population with every column clipped to its bounds"
        if declared is not None and declared.columns[column] != domain.columns[column]:
            before, after = declared.columns[column].short(), domain.columns[column].short()
            text += f"; those of {column} were narrowed from {before} to {after}"
        if any(isinstance(event, StageEvent) for event in self.certificate.events):
            text += ", where rows far from the others count less and far residuals are cut"
        return text

    @property
    @abstractmethod
    def params(self) -> dict[str, float]:
        """All coefficients by name, the intercept first."""

    @abstractmethod
    def unit(self, name: str) -> str:
        """The unit of a coefficient, as far as the schema gives units."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""

    @property
    def slopes(self) -> tuple[str, ...]:
        """Names in `params` other than the intercept's."""
        return self.names

    def coordinate(self, name: str) -> str:
        """The regressor that a name in `params` stands for."""
        return name

    def _named(self, values: Floats) -> dict[str, Any]:
        """Values of (intercept, coef) by name; without an intercept the first is left out."""
        names = [CONSTANT, *self.names] if self.certificate.domain.intercept else list(self.names)
        return dict(zip(names, values[-len(names) :].tolist() if names else [], strict=True))

    @property
    def debiased(self) -> dict[str, float] | Unavailable:
        """The coefficients without the shrinkage that helps a model to predict: what the intervals are around."""
        found = self.inference
        return found if isinstance(found, Unavailable) else self._named(found.estimate)

    @property
    def std_err(self) -> dict[str, float] | Unavailable:
        """Standard errors of the debiased coefficients: sampling error and privacy noise."""
        return self._named_or_why("std_err")

    @property
    def privacy_noise(self) -> dict[str, float] | Unavailable:
        """What the standard errors would be if privacy noise were all there is."""
        return self._named_or_why("privacy_noise")

    @property
    def pvalues(self) -> dict[str, float] | Unavailable:
        """p-values of the tests that each coefficient is zero."""
        return self._named_or_why("p_values")

    def conf_int(self, level: float = 0.95) -> dict[str, tuple[float, float]] | Unavailable:
        """Confidence intervals (low, high) by name.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds the true coefficient.
        """
        level = checks.fraction("level", level)
        found = self.inference
        pairs = found if isinstance(found, Unavailable) else found.interval(level)
        if isinstance(pairs, Unavailable):
            return pairs
        return {name: (low, high) for name, (low, high) in self._named(pairs).items()}

    def _named_or_why(self, what: str) -> dict[str, float] | Unavailable:
        if isinstance(self.inference, Unavailable):
            return self.inference
        values = getattr(self.inference, what)
        return values if isinstance(values, Unavailable) else self._named(values)

    # ---------------------------------------------------------------- tables, pictures, pages

    def summary(self, level: float = 0.95) -> Summary:
        """A table of the coefficients with their standard errors and intervals, the guarantee on top."""
        return _summary(self, checks.fraction("level", level))

    def plot(self, level: float = 0.95) -> Figure:
        """A picture of the coefficients and their intervals; see `discreet.results.plots`."""
        from discreet.results.plots.releases import coefficient_plot

        return coefficient_plot(self, level)

    def save_report(
        self, path: str | Path, released: ReleasedMoments | None = None, *, level: float = 0.95, date: Any = None
    ) -> None:
        """Write a report of the model: one HTML page that needs no network; see `discreet.results.report`.

        Parameters
        ----------
        path : path
            The file.
        released : ReleasedMoments, optional
            The release that the model was fitted to, for the picture of noise against signal.
        level : float
            Of the intervals.
        date : date or str, optional
            The date that the citation gives; without one the same model gives the same file.
        """
        from discreet.results.report import report

        text = report(self, released, level=level, date=date)
        with atomic_write(path) as file:
            file.write(text.encode())

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas frame: one row a coefficient; what is not available is missing."""
        return _frame(self, checks.fraction("level", level))

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return str(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


# ---------------------------------------------------------------- as a summary and as a frame


def _summary(fitted: Fitted, level: float) -> Summary:
    """The summary of a fitted model."""
    low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
    numbers = _numbers(fitted, level)
    moved = _moved(fitted)
    keys = {"coef": "coef", "debiased": "debiased", "std err": "std_err", "privacy noise": "privacy_noise"}
    keys |= {"P>|t|": "p_value", low: "low", high: "high"}
    always = ("coef", "std err")  # the latter to say that it is missing, once
    there = [heading for heading, key in keys.items() if heading in always or not isinstance(numbers[key], Unavailable)]
    headings = [heading for heading in there if moved or heading != "debiased"]
    cells = [_cells(heading, numbers[keys[heading]], len(fitted.params)) for heading in headings]
    units = [fitted.unit(name) for name in fitted.params]
    return Summary(
        title=f"{fitted.target} ~ {' + '.join(fitted.names) or '1'}",
        facts=tuple(_facts(fitted).items()),
        columns=("", *headings, "unit"),
        rows=tuple(zip(fitted.params, *cells, units, strict=True)),
        notes=tuple(_notes(fitted, moved)),
    )


def _frame(fitted: Fitted, level: float) -> Any:
    """One row a coefficient."""
    numbers = _numbers(fitted, level)
    none = [None] * len(fitted.params)
    table: dict[str, list[Any]] = {"name": list(fitted.params)} | {
        key: none if isinstance(column, Unavailable) else column for key, column in numbers.items()
    }
    table["unit"] = [fitted.unit(name) for name in fitted.params]
    return to_pandas(table)


def _numbers(fitted: Fitted, level: float) -> dict[str, list[float] | Unavailable]:
    """Columns of the table, in the order of `params`."""
    found: dict[str, Any] = {
        "coef": fitted.params,
        "debiased": fitted.debiased,
        "std_err": fitted.std_err,
        "privacy_noise": fitted.privacy_noise,
        "p_value": fitted.pvalues,
    }
    numbers = {key: v if isinstance(v, Unavailable) else list(v.values()) for key, v in found.items()}
    pairs = fitted.conf_int(level)
    for i, side in enumerate(("low", "high")):
        numbers[side] = pairs if isinstance(pairs, Unavailable) else [pair[i] for pair in pairs.values()]
    return numbers


def _cells(heading: str, column: list[float] | Unavailable, rows: int) -> list[str]:
    if isinstance(column, Unavailable):
        return [str(column)] * rows
    return [f"{value:.3f}" if heading == "P>|t|" else number(value) for value in column]


def _moved(fitted: Fitted) -> bool:
    """Whether the model's coefficients are others than the debiased ones, by what a reader could see."""
    found = fitted.inference
    if isinstance(found, Unavailable):
        return False
    debiased = fitted.debiased
    noise = fitted.std_err if fitted.std_err else fitted.privacy_noise
    return any(abs(fitted.params[name] - debiased[name]) > 0.01 * noise[name] for name in fitted.params)


def _facts(fitted: Fitted) -> dict[str, str]:
    found, certificate = fitted.inference, fitted.certificate
    facts = {"Method": fitted.model, "Guarantee": promise(certificate.guarantee)}
    if fitted.rows is not None:
        facts["Rows"] = row_count(certificate, fitted.rows)
    if isinstance(found, Inference):
        sigma, explained, unit = found.sigma, found.explained, fitted.unit(CONSTANT)
        facts["Residual sd"] = str(sigma) if isinstance(sigma, Unavailable) else f"{number(sigma)} {unit}".strip()
        facts["R-squared"] = str(explained) if isinstance(explained, Unavailable) else f"{explained:.3f}"
        facts["Noise in X'X"] = f"{found.noise:.2g} of the least variation of the features"
    return facts


def _notes(fitted: Fitted, moved: bool) -> list[str]:
    found, certificate = fitted.inference, fitted.certificate
    notes = [f"Estimand: {fitted.estimand}."]
    if moved:
        notes.append(
            "coef is for predictions: drawn towards zero where noise is large, stretched where clipping took variation "
            "away. debiased is neither; std err, P>|t| and the interval belong to it."
        )
    if isinstance(found, Unavailable):
        notes.append(f"Standard errors and intervals are {found}: {found.reason}")
    elif isinstance(found.sampling, Unavailable):
        notes.append(f"Standard errors and intervals are {found.sampling}: {found.sampling.reason}")
    else:
        notes.append(
            "std err joins sampling error (for errors of equal variance) and privacy noise, which is also shown alone. "
            "Noise in X'X may make an interval longer on one side."
        )
    if certificate.simulation:
        notes.append(SIMULATION)
    return notes


# ---------------------------------------------------------------- people's tables, for predictions


def design_matrix(X: Any, domain: Domain, names: Sequence[str]) -> Floats:
    """One column for each regressor, in the user's units.

    Parameters
    ----------
    X : frame, Arrow table, mapping of columns, or matrix
        The features by name; or a matrix, or a table, that has one column for each of `names` already.
    domain : Domain
        The public facts about the columns.
    names : sequence of str
        The regressors: numbers, and levels of categories.

    Examples
    --------
    >>> design_matrix({"sex": ["M", "F"], "age": [30, 40]}, Domain({"age": (18, 90), "sex": ["F", "M"]}), ["sex[M]"])
    array([[1.],
           [0.]])
    """
    table = _table(X)
    if table is not None and names and list(names) == table.column_names:
        X, table = np.column_stack([table.column(name).to_numpy() for name in names]), None
    with predicting():
        matrix = _matrix(X, names) if table is None else _encoded(table, domain, names)
    if not np.isfinite(matrix).all():
        raise DataError("X holds missing (NaN) or infinite values. Fill them, or leave out those rows.")
    return matrix


def _table(X: Any) -> pa.Table | None:
    """X as an Arrow table if its columns have names."""
    try:
        if isinstance(X, Mapping):
            return pa.table(dict(X))
        return pa.table(X) if hasattr(X, "__arrow_c_stream__") else None
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DataError("X cannot be read: a column holds entries of several kinds, or is of another length.") from None


def _encoded(table: pa.Table, domain: Domain, names: Sequence[str]) -> Floats:
    places = domain.indices(names)
    used = domain.select(dict.fromkeys(domain.entries[i].column for i in places)) if places else None
    if used is None:
        return np.empty((table.num_rows, 0))
    values = {}
    for name, column in used.inputs.items():
        if table.column_names.count(name) != 1:
            raise DataError(f"X must have a column {name!r}, once. The model uses: {', '.join(used.inputs)}.")
        check_type(name, column, table.schema.field(name).type)
        values[name] = read_column(table.column(name).combine_chunks(), name, column)
    encoder = Encoder(used, clip=False)
    A = encoder.empty(table.num_rows)
    for name in used.columns:
        encoder.write(name, values, A)
    here = used.indices(names)
    return A[:, here] / encoder.unit[here] + encoder.centre[here]


def _matrix(X: Any, names: Sequence[str]) -> Floats:
    try:
        matrix = np.asarray(X, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DataError("X cannot be read as a matrix of numbers.") from None
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise DataError(f"X must be a matrix with {len(names)} columns: {', '.join(names)}.")
    return matrix
