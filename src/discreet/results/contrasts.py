"""Weighted sums of coefficients: estimates, standard errors, and tests of hypothesised values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import checks
from discreet.core.placeholders import Unavailable
from discreet.results.series import ends, series
from discreet.results.summary import Summarised, Summary, number
from discreet.results.uncertainty import Estimate

if TYPE_CHECKING:
    from discreet.results.series import DataFrame, Series


@dataclass(frozen=True, eq=False, repr=False)
class Contrasts(Summarised):
    """Named estimates. Unknown numbers are missing; `reason` says why.

    `values`: the value that each is tested against.
    `units`: the unit of each; empty where it has none.
    """

    title: str
    names: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    values: tuple[float, ...]
    units: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def effect(self) -> Series:
        """The estimates."""
        return self._series("effect", lambda found, _: found.value)

    @property
    def sd(self) -> Series:
        """Their standard errors: sampling error and privacy noise."""
        return self._series("sd", lambda found, _: found.std_err)

    @property
    def privacy_noise(self) -> Series:
        """Standard errors from privacy noise alone."""
        return self._series("privacy_noise", lambda found, _: found.privacy_noise)

    @property
    def tvalue(self) -> Series:
        """Distances from the values tested, in standard errors."""
        return self._series("tvalue", lambda found, value: found.t_value_at(value))

    @property
    def pvalue(self) -> Series:
        """p-values of the tests that each has its value."""
        return self._series("pvalue", lambda found, value: found.p_value_at(value))

    def conf_int(self, level: float = 0.95) -> DataFrame:
        """Confidence intervals: a row for each, with columns 0 and 1 for the ends."""
        level = checks.fraction("level", level)
        pairs = [found.interval(level) for found in self.estimates]
        return ends(self.names, [(np.nan, np.nan) if isinstance(pair, Unavailable) else pair for pair in pairs])

    @property
    def reason(self) -> Unavailable | None:
        """The reasons why numbers are missing."""
        parts = [part for found in self.estimates for part in (found.std_err, found.p_value)]
        return next((part for part in parts if isinstance(part, Unavailable)), None)

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """A pandas frame: one row for each."""
        parts = {"effect": self.effect, "sd": self.sd, "privacy_noise": self.privacy_noise}
        pairs = self.conf_int(level)
        frame = pairs.rename(columns={0: "low", 1: "high"}).assign(unit=list(self.units))
        for place, (name, part) in enumerate({**parts, "tvalue": self.tvalue, "pvalue": self.pvalue}.items()):
            frame.insert(place, name, part)
        return frame

    def summary(self, level: float = 0.95) -> Summary:
        """A table of them."""
        low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
        frame = self.to_frame(level)
        shown = ["effect", "sd", "privacy_noise", "tvalue", "pvalue", "low", "high"]
        cells = [[_cell(name, value) for value in frame[name]] for name in shown]
        headings = ("", "effect", "std err", "privacy noise", "t", "P>|t|", low, high, "unit")
        reason = self.reason
        why = () if reason is None else (f"What is missing is {reason}: {reason.reason}",)
        rows = tuple(zip(self.names, *cells, self.units, strict=True))
        return Summary(self.title, (), headings, rows, (*self.notes, *why))

    def _series(self, name: str, pick: Callable[[Estimate, float], Any]) -> Series:
        found = [pick(one, value) for one, value in zip(self.estimates, self.values, strict=True)]
        numbers = [np.nan if isinstance(value, Unavailable) else value for value in found]
        return series(name, self.names, numbers)


def _cell(name: str, value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.3f}" if name == "pvalue" else number(value)
