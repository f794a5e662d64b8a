"""Presentation of a fitted model: summary, frame, plots, report."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.files import atomic_write
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.errors import ParameterError
from discreet.families import FAMILIES, Family, Link
from discreet.privacy.events.coordinates import StageEvent
from discreet.released.means import ColumnMeans
from discreet.released.moments import ReleasedMoments
from discreet.released.units import column_of
from discreet.results.class_contrasts import odds_column
from discreet.results.coefficient_table import PREDICTIONS, about_words, interval_cell, second_column, visibly_moved
from discreet.results.combinations import Combinations, combinations
from discreet.results.contrasts import Contrasts
from discreet.results.criteria import Ends, Number, at, between, nested_test, of_explained, of_residuals
from discreet.results.export import excel_file
from discreet.results.inference import JointInference, Test
from discreet.results.margins import declared_effects, marginal_effects, prediction_at_means
from discreet.results.numbers import Numbers
from discreet.results.outcomes import outcomes_frame, outcomes_summary
from discreet.results.spread import OutcomeSpread
from discreet.results.summary import (
    Summarised,
    Summary,
    closing_notes,
    formula_title,
    number,
    promise,
    row_count,
    to_pandas,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.results.released_model import ReleasedModel


class Fitted(Numbers, Summarised):
    """Presentation of a fitted model; `Results` documents the attributes."""

    coef: Floats
    model: str
    release: str
    remarks: tuple[str, ...]
    link: Link
    classes: tuple[Any, ...] | None
    reference: int
    means: ColumnMeans | Unavailable

    @property
    def target(self) -> str:
        """The outcome, of a model that has one."""
        self._refuse_several()
        return self.targets[0]

    def _refuse_several(self) -> None:
        if self.several:
            raise ParameterError(
                "This model has several outcomes, and this is for one: fit it by itself, fit(outcome)."
            )

    @property
    def family(self) -> Family:
        """The family of its outcomes."""
        return FAMILIES[self.link]

    @property
    def contrasted(self) -> bool:
        """Whether the outcome has three or more classes that exclude each other, reported against one of them."""
        return self.family.joint and self.classes is not None

    @property
    def reference_class(self) -> Any:
        """The class that the others are compared with; None where coefficients are no contrasts of classes."""
        return (self.classes or ())[self.reference] if self.contrasted else None

    @property
    def kind(self) -> str:
        """The kind of model, in words."""
        return self.family.words.kind

    @property
    def estimand(self) -> str:
        """The population quantity that the coefficients estimate."""
        if not self.family.linear or any(event.minimises for event in self.certificate.events):
            fit = f"{self.kind} that fits the population best, with every column clipped to its bounds"
            if any(event.minimises for event in self.certificate.events) and isinstance(self.inference, Unavailable):
                return f"the penalised {fit}; the penalty draws coefficients towards zero"
            return f"the {fit}{self._weighed()}"
        domain, declared = self.certificate.domain, self.certificate.declared
        column = column_of(domain, self.target)
        text = "the best linear fit to the population with every column clipped to its bounds"
        if declared is not None and declared.columns[column] != domain.columns[column]:
            before, after = declared.columns[column].short(), domain.columns[column].short()
            text += f"; those of {column} were narrowed from {before} to {after}"
        return text + (self._weighed() if self.certificate.of(StageEvent) else "")

    def _weighed(self) -> str:
        """Say how far rows count in the fit that the intervals are about."""
        found = self.inference
        if not isinstance(found, Unavailable) and found.estimand == "declared":
            return "; what far rows and far residuals might add is charged to the intervals"
        cut = " and far residuals are cut" if self.family.linear else ""
        return f", where rows far from the others count less{cut}"

    @abstractmethod
    def unit(self, *name: str) -> str:
        """The unit of a coefficient, as far as the schema gives units."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""

    @abstractmethod
    def coordinate(self, name: str) -> str:
        """The regressor that a name in `coefficients` stands for."""

    @property
    @abstractmethod
    def dispersion(self) -> float | Unavailable:
        """Dispersion of counts: their variance over their mean."""

    @property
    @abstractmethod
    def outcome_ranges(self) -> Floats:
        """The declared range (low, high) of each outcome."""

    @abstractmethod
    def expected(self, eta: Floats, *, clip: bool = True) -> tuple[Floats, Floats]:
        """Expected outcomes at linear predictors, and their slopes."""

    # ---------------------------------------------------------------- effects

    def effects(self) -> Contrasts | Unavailable:
        """Change of the outcome as each variable crosses its declared range, with its squares, products and curves.

        The others are in the middle: of their declared ranges, and of the levels of categories. A category has an
        effect for each level but the first, which it is compared with.
        """
        return declared_effects(self)

    def marginal_effects(self, at: Any = None) -> Contrasts | Unavailable:
        """Change of the expected outcome for one unit more of each variable, with its squares, products and curves.

        For classes it is the probability of the second one, for counts the count.

        Parameters
        ----------
        at : mapping or frame, optional
            Where: values of some variables, ``{"age": 40, "sex": "F"}``, or rows of a public table, over which effects
            are averaged. Variables that are not named are in the middle of their declared ranges. ``"means"`` stands
            for the means of the release, `means`, whose noise is allowed for.
        """
        return marginal_effects(self, at)

    def prediction_at_means(self) -> Contrasts | Unavailable:
        """The expected outcome where all variables are at their means: a number, a probability, or a count."""
        return prediction_at_means(self)

    # ---------------------------------------------------------------- comparison of models

    @property
    def rsquared_adj(self) -> Number:
        """R^2 adjusted for the number of coefficients; of cut residuals, where they are cut."""
        return at(of_explained(self), self.rsquared)

    def rsquared_adj_interval(self, level: float = 0.95) -> Ends:
        """An interval for `rsquared_adj` of least squares of the table, privacy noise included, as `rsquared_interval`.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds it.
        """
        return between(of_explained(self), self.rsquared_interval(level))

    @property
    def aic(self) -> Number:
        """Akaike's criterion of a linear model with normal errors; of cut residuals, where they are cut."""
        return at(of_residuals(self, "aic"), self.residual_sd)

    def aic_interval(self, level: float = 0.95) -> Ends:
        """An interval for `aic` of least squares of the table, privacy noise included, as `residual_sd_interval`.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds it.
        """
        return between(of_residuals(self, "aic"), self.residual_sd_interval(level))

    @property
    def bic(self) -> Number:
        """Schwarz's criterion of a linear model with normal errors; of cut residuals, where they are cut."""
        return at(of_residuals(self, "bic"), self.residual_sd)

    def bic_interval(self, level: float = 0.95) -> Ends:
        """An interval for `bic` of least squares of the table, privacy noise included, as `residual_sd_interval`.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds it.
        """
        return between(of_residuals(self, "bic"), self.residual_sd_interval(level))

    @property
    def rmse(self) -> float | Floats | Unavailable:
        """`residual_sd`, by another name."""
        return self.residual_sd

    def compare_f_test(self, restricted: Fitted) -> Test | Unavailable:
        """Test whether the coefficients that a smaller model of the same release lacks are all zero.

        It is `wald_test` of these coefficients, with the covariance and the noise that they have together.

        Parameters
        ----------
        restricted : Results
            The smaller model.
        """
        self._refuse_several()
        return nested_test(self, restricted)

    def combinations(self, said: Any) -> Combinations | Unavailable:
        """Nonlinear combinations of coefficients, such as ratios and turning points, with intervals that hold.

        Parameters
        ----------
        said : str, list of str, or mapping
            ``"-age / (2*age^2)"``; a mapping names them, ``{"turning point": "-age / (2*age^2)"}``.
        """
        self._refuse_several()
        return combinations(self, said)

    # ---------------------------------------------------------------- tables, pictures, pages

    def summary(self, level: float = 0.95, most: int = 20) -> Summary:
        """A table of the coefficients with their standard errors and intervals, the guarantee on top.

        Parameters
        ----------
        level : float
            The level of the intervals.
        most : int
            For several outcomes: how many coefficients are shown, those that stand out most from their standard errors.
        """
        level = checks.fraction("level", level)
        return outcomes_summary(self, level, most) if self.several else _summary(self, level)

    def plot(self, level: float = 0.95) -> Figure:
        """Plot the coefficients and their intervals; see `discreet.results.plots`."""
        from discreet.results.plots.releases import coefficient_plot

        self._refuse_several()
        return coefficient_plot(self, level)

    def plot_curves(self, level: float = 0.95) -> Figure:
        """A picture of the features that stand in squares, products or curves; see `discreet.results.plots`."""
        from discreet.results.plots.responses import response_plot

        self._refuse_several()
        return response_plot(self, level)

    def heatmap(self, values: str = "z", ax: Any = None) -> Any:
        """Draw outcomes against regressors with matplotlib, and return the axes.

        Parameters
        ----------
        values : {"z", "estimate", "coef"}
            Estimates over their standard errors, estimates, or the coefficients that predict.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        from discreet.results.plots.releases import heatmap

        return heatmap(self, values, ax)

    def save_report(
        self,
        path: str | Path,
        released: ReleasedMoments | ReleasedModel | None = None,
        *,
        level: float = 0.95,
        date: Any = None,
    ) -> None:
        """Write a report of the model: one HTML page that needs no network; see `discreet.results.report`.

        Parameters
        ----------
        path : path
            The file.
        released : ReleasedMoments or ReleasedModel, optional
            The release that the model was fitted to, for the picture of noise against signal.
        level : float
            The level of the intervals.
        date : date or str, optional
            The date that the citation gives; without one the same model gives the same file.
        """
        from discreet.results.report import report

        self._refuse_several()
        text = report(self, released, level=level, date=date)
        with atomic_write(path) as file:
            file.write(text.encode())

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas frame with one row per outcome and coefficient; unavailable numbers are missing."""
        level = checks.fraction("level", level)
        return outcomes_frame(self, level) if self.several else _frame(self, level)

    def to_excel(self, path: str | Path, level: float = 0.95) -> None:
        """Write a workbook: the numbers of `to_frame`, and what the summary says; needs the extra ``excel``."""
        excel_file(path, self.to_frame(level), self.summary(level))

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)


_INFORMATIVE = 5.0
"""An upper end that is so many times the lower one tells nothing."""

_HIDDEN = 0.99
"""An upper end of R-squared above this says nothing."""

# ---------------------------------------------------------------- as a summary and as a frame


def _summary(fitted: Fitted, level: float) -> Summary:
    """The summary of a fitted model."""
    low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
    numbers, names = fitted.columns(level), fitted.labels
    keys = {"estimate": "estimate", "std err": "std_err", "privacy noise": "privacy_noise"}
    keys |= {"P>|t|": "p_value", low: "low", high: "high"}
    always = ("estimate", "std err")  # the latter to say that it is missing, once
    shown = [heading for heading, key in keys.items() if heading in always or not isinstance(numbers[key], Unavailable)]
    cells = {heading: _cells(heading, numbers[keys[heading]], len(names)) for heading in shown}
    cells |= second_column(fitted, numbers) | odds_column(fitted)
    units = [fitted.unit(name) for name in names]
    return Summary(
        title=formula_title(fitted.target, fitted.names, fitted.certificate.domain),
        facts=tuple(_facts(fitted, level).items()),
        columns=("", *cells, "unit"),
        rows=tuple(zip(names, *cells.values(), units, strict=True)),
        notes=tuple(_notes(fitted)),
    )


def _frame(fitted: Fitted, level: float) -> Any:
    """Make a frame with one row per coefficient."""
    names = fitted.labels
    none = [None] * len(names)
    numbers: dict[str, Any] = {
        key: none if isinstance(part, Unavailable) else part for key, part in fitted.columns(level).items()
    }
    return to_pandas({"name": names} | numbers | {"unit": [fitted.unit(name) for name in names]})


def _cells(heading: str, column: Floats | Unavailable, rows: int) -> list[str]:
    if isinstance(column, Unavailable):
        return [str(column)] * rows
    return [
        "withheld" if math.isnan(value) else f"{value:.3f}" if heading == "P>|t|" else number(value) for value in column
    ]


def _facts(fitted: Fitted, level: float) -> dict[str, str]:
    found, certificate = fitted.joint, fitted.certificate
    facts, unit = {"Method": fitted.model, "Guarantee": promise(certificate.guarantee)}, certificate.domain.unit
    facts |= {} if unit.plain else {"Protected": unit.short}
    if certificate.domain.deviates:
        facts["Absorbed"] = f"persons ({unit.person!r}): each column less its mean over a person's rows"
    facts |= {"Bounds": certificate.found} if certificate.searched is not None else {}
    if fitted.reference_class is not None:
        facts["Reference class"] = f"{fitted.reference_class}: coefficients are log odds against it"
    if fitted.rows is not None:
        facts["Rows"] = row_count(certificate, fitted.rows, fitted.rows_sd)
    if isinstance(found, JointInference):
        facts |= _spread_facts(fitted, found, level)
        plain = "robust: variances may be unequal" if found.robust else _assumed(fitted)
        clustered = f"clustered by {unit.person!r}: errors of a person may go together"
        facts["Standard errors"] = plain if unit.person is None else clustered
    return facts


def _assumed(fitted: Fitted) -> str:
    """Say which variances standard errors take for granted that are not robust."""
    return "for errors of equal variance" if fitted.family.linear else "for variances that the model implies"


def _spread_facts(fitted: Fitted, found: JointInference, level: float) -> dict[str, str]:
    """Return residual standard deviation and R-squared with their intervals, or the dispersion of counts."""
    spread, ratio, words = found.spread, fitted.dispersion, fitted.family.words
    if not fitted.family.linear:
        return {} if isinstance(ratio, Unavailable) else {"Dispersion": f"{number(ratio)}: {words.dispersion}"}
    if isinstance(spread, Unavailable):
        return {"Residual sd": str(spread), "R-squared": str(spread)}
    ends, unit = f"{100 * level:g} % interval", fitted.unit(CONSTANT)
    sd, share = f"{number(spread.sigma)} {unit}".strip(), f"{spread.explained:.3f}"
    if fitted.cut_at is not None:
        return _cut_facts(fitted, spread, level)
    (low, high), (least, most) = spread.table_sigma_interval(level), spread.table_explained_interval(level)
    return {
        "Residual sd": f"{sd} ({ends} {number(low)} to {number(high)})",
        "R-squared": f"{share} ({ends} {share_interval(least, most)})",
    }


def share_interval(least: float, most: float) -> str:
    """An interval for R-squared; one-sided where it may be nearly 1, since noise hides rows far out."""
    return f"at least {least:.3f}" if most > _HIDDEN else f"{least:.3f} to {most:.3f}"


def _cut_facts(fitted: Fitted, spread: OutcomeSpread, level: float) -> dict[str, str]:
    """Return residual sd, R-squared and mean of the table, each followed by that with far residuals cut."""
    unit, ends = fitted.unit(CONSTANT), f"{100 * level:g} % interval"
    (low, high), (least, most) = spread.table_sigma_interval(level), spread.table_explained_interval(level)
    mean, cut = fitted.mean_outcome_interval(level), f"{number(fitted.cut_at or 0.0)} {unit}".rstrip()
    own = f"{interval_cell(low, high)} {unit}".rstrip() + f" ({ends})"
    if high > _INFORMATIVE * low:
        own = f"at least {number(low)} {unit}".rstrip() + f" ({ends}), noise hides how much more"
    facts = {
        "Residual sd": f"{own}; {number(spread.sigma)} if residuals are cut at {cut}",
        "R-squared": f"{share_interval(least, most)} ({ends}); {spread.explained:.3f} if residuals are cut",
    }
    if spread.cut is None or spread.cut.mean is None or isinstance(mean, Unavailable):
        return facts
    told = f"{interval_cell(*mean)} {unit}".rstrip()
    return facts | {"Mean outcome of the table": f"{told} ({ends}); {number(spread.cut.mean)} if residuals are cut"}


def _notes(fitted: Fitted) -> list[str]:
    found, certificate = fitted.joint, fitted.certificate
    notes = [about_words(fitted)]
    if visibly_moved(fitted):
        notes.append(PREDICTIONS)
    if isinstance(found, Unavailable):
        notes.append(f"Standard errors and intervals are {found}: {found.reason}")
    elif isinstance(found.sampling, Unavailable):
        notes.append(f"Standard errors and intervals are {found.sampling}: {found.sampling.reason}")
    else:
        equal = "" if found.robust else f" ({_assumed(fitted)})"
        notes.append(
            f"std err joins sampling error{equal} and privacy noise, which is also shown alone. Privacy noise can make "
            "an interval longer on one side."
        )
        if found.withheld:
            notes.append(f"Where intervals are withheld: {found.withheld}")
    return notes + closing_notes(fitted.remarks, certificate)
