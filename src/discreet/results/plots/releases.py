"""Pictures of released objects: coefficients on one scale, the budget, and noise against signal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.old_keywords import tell_renamed
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT, Domain
from discreet.domain.derived import bounded
from discreet.errors import printable
from discreet.privacy.events.base import StatisticsEvent
from discreet.privacy.events.coordinates import stage_name
from discreet.privacy.events.gaussian import Block
from discreet.privacy.sensitivity import costs
from discreet.released.certificate import Certificate
from discreet.released.moments import ReleasedMoments
from discreet.released.units import column_of
from discreet.results.effects import Effects, Variables, effects
from discreet.results.plots.style import BLUE, GREY, INK, ORANGE, PALE, canvas, note, rows, short, style
from discreet.results.summary import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.results.comparison import Comparison
    from discreet.results.fitted import Fitted


_LINE = 32
"""Letters in a line of a label."""

HIDDEN = 2.0
"""A released number below this many sds of its noise could well be noise alone."""

_LABELS = 60
"""A heat map with more outcomes or regressors than this has no labels on that side."""


# ---------------------------------------------------------------- coefficients on one scale


def reach(domain: Domain, name: str) -> tuple[float, str]:
    """Return the declared range of a regressor, as a number and in words."""
    if name == CONSTANT:
        return 1.0, ""
    column = column_of(domain, name)
    radius = domain.data_norm if column in domain.norm_columns else None
    return bounded(domain.columns[column], radius).span(number)


def _raw(results: Fitted, found: Effects, i: int) -> str:
    """The coefficient that makes an effect, with its interval, in its own unit; or the effect itself."""
    own = found.own[i]
    name, width = (CONSTANT, 1.0) if own is None else own
    text = brief(found.estimate[i] / width)
    if not isinstance(found.ends, Unavailable) and not np.isnan(found.ends[i]).any():
        low, high = found.ends[i] / width
        text += f" [{brief(low)}, {brief(high)}]"
    return f"{text} {short(results.unit(name), 16)}".strip()


def brief(value: float) -> str:
    """Four significant digits; all of them before the point.

    Examples
    --------
    >>> brief(220.8123), brief(17086.4), brief(0.0018231), brief(12.0)
    ('220.8', '17,086', '0.001823', '12')
    """
    return number(float(f"{value:.4g}")) if abs(value) < 1e4 else number(value)


# ---------------------------------------------------------------- pictures


def coefficient_plot(results: Fitted, level: float = 0.95) -> Figure:
    """The effect of each variable over its declared range, with its interval, and how much of that is privacy noise.

    Coefficients have different units, and one alone says little where a variable stands in several. So each variable
    moves from one end of its declared range to the other, with everything that moves along, the others in the middle
    (`discreet.results.effects`); levels of a category are compared with its first. On the right stands the coefficient
    itself, where one makes the effect.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import DPLinearRegression
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1)).fit(X, X[:, 0])
    >>> coefficient_plot(model.results_).get_axes()[0].get_xlabel()
    'effect on y over the declared range'
    """
    found = effects(results, checks.fraction("level", level))
    with style():
        figure, axes = canvas(1.35 + _step(found) * len(found.names))
        places = np.arange(float(len(found.names)))
        axes.axvline(0, color=GREY, lw=1, zorder=1)
        _intervals(axes, found, places, level)
        axes.plot(found.estimate, places, "o", color=INK, ms=4.5, zorder=5, label="estimate")
        _finish(figure, axes, found, results)
        if isinstance(why := found.ends, Unavailable):
            note(figure, f"Intervals are {why}: {why.reason}")
    return figure  # type: ignore[no-any-return]


def _intervals(axes: Any, found: Effects, places: Floats, level: float) -> None:
    size = 5 if len(places) > 15 else 7
    if not isinstance(found.ends, Unavailable):
        axes.errorbar(
            found.estimate, places, xerr=np.abs(found.ends.T - found.estimate), fmt="none", ecolor=BLUE,
             elinewidth=1.6, capsize=3.2, capthick=1.6,
            zorder=3, label=f"{100 * level:g} % interval",
        )  # fmt: skip
    if not isinstance(found.privacy, Unavailable):
        ends = found.estimate - found.privacy, found.estimate + found.privacy
        axes.hlines(places, *ends, color=ORANGE, alpha=0.55, lw=size, zorder=2, label="privacy noise alone")


def _finish(figure: Any, axes: Any, found: Effects, results: Fitted) -> None:
    rows(axes, [_label(*pair) for pair in zip(found.names, found.ranges, strict=True)])
    right = axes.twinx()
    right.set_ylim(axes.get_ylim())
    texts = [_raw(results, found, i) for i in range(len(found.names))]
    right.set_yticks(range(len(texts)), texts, fontsize=8, color=INK)
    right.tick_params(length=0)
    axes.set_xlabel(_effect_axis(results))
    _few_ticks(axes)
    _legend(figure, axes)


def _few_ticks(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.margins(x=0.06)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(round(value, 12))))


def _effect_axis(results: Fitted) -> str:
    what = "predicted" if results.names == () else "effect on"
    unit = results.unit(CONSTANT)
    over = "" if results.names == () else " over the declared range"
    return f"{what} {short(results.target)}{f' ({short(unit, 20)})' if unit else ''}{over}"


def _legend(figure: Any, axes: Any) -> None:
    found = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    order = sorted(found, key=lambda label: [word in label for word in ("estimate", "interval", "noise")], reverse=True)
    figure.legend([found[label] for label in order], order, loc="outside upper left", ncols=4, columnspacing=1.4)


def _label(name: str, words: str) -> str:
    """A name in one line or two, with the range where there is room."""
    name = printable(name)
    if len(name) <= _LINE:
        return f"{name} ({words})" if words and len(name) + len(words) < _LINE else name
    name = short(name, 2 * _LINE)
    return f"{name[:_LINE]}\n{name[_LINE:]}"


def _step(found: Effects) -> float:
    """Inches a row."""
    long = any(len(printable(name)) > _LINE for name in found.names)
    return 0.36 if len(found.names) <= 8 or long else 0.28 if len(found.names) <= 16 else 0.205


def budget_plot(certificate: Certificate) -> Figure:
    """The share of mu^2 that each released statistic takes; mu^2 is what adds up over releases."""
    shares = budget_shares(certificate)
    with style():
        figure, axes = canvas(0.75 + 0.34 * max(len(shares), 1))
        rows(axes, [short(name) for name, _ in shares])
        axes.barh(range(len(shares)), [100 * share for _, share in shares], height=0.55, color=BLUE, zorder=2)
        for i, (_, share) in enumerate(shares):
            axes.annotate(f"{100 * share:.3g} %", (100 * share, i), (4, 0), textcoords="offset points", va="center")
        axes.set_xlim(0, 112)
        axes.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
        axes.set_xlabel("share of the privacy budget (mu²)")
    return figure  # type: ignore[no-any-return]


def budget_shares(certificate: Certificate) -> list[tuple[str, float]]:
    """The share of mu^2 of each statistic, by name; none where some of the noise is not Gaussian."""
    neighbors = certificate.guarantee.neighbors
    if not all(event.gaussian_sums for event in certificate.events):
        return []
    parts, stage = [], 0
    for event in certificate.of(StatisticsEvent):
        space = certificate.domain if event.rotated is None else event.rotated
        stage += event.rotated is not None and not event.of_norms
        place = "" if event.rotated is None else f", before stage {stage + 1}" if event.of_norms else f", stage {stage}"
        for blocks, cost in costs(event.blocks, space, neighbors):
            parts.append((" and ".join(map(event.symbol, blocks)) + place, cost))
    total = math.fsum(cost for _, cost in parts)
    return [(name, cost / total) for name, cost in parts]


def noise_plot(released: ReleasedMoments) -> Figure:
    """The size of each released number in sds of its noise; what lies left of the line could be noise alone."""
    sizes = signal_to_noise(released)
    with style():
        figure, axes = canvas(1.0 + 0.5 * max(len(sizes), 1))
        low, high = 0.05, max([10.0, *(1.6 * values.max() for _, _, values in sizes)])
        axes.axvspan(low, HIDDEN, color=PALE, zorder=0, lw=0)
        axes.axvline(HIDDEN, color=INK, lw=1, ls=(0, (4, 3)), zorder=1)
        for i, (_, _, values) in enumerate(sizes):
            shift = 0.3 * (np.arange(len(values)) % 7 - 3) / 3 if len(values) > 1 else np.zeros(1)
            seen = np.maximum(values, low * 1.15)
            clear = values >= HIDDEN
            many = len(values) > 200
            mark = {"ms": 2.5 if many else 4.5, "zorder": 3, "rasterized": many}
            axes.plot(seen[clear], i + shift[clear], "o", color=BLUE, alpha=0.75, mew=0, **mark)
            axes.plot(seen[~clear], i + shift[~clear], "x", color=ORANGE, mew=0.6 if many else 1.2, **mark)
        rows(axes, [f"{short(name)}\nnoise sd {number(sd)}" for name, sd, _ in sizes])
        right = axes.twinx()
        right.set_ylim(axes.get_ylim())
        right.set_yticks(range(len(sizes)), [_hidden(values) for *_, values in sizes], fontsize=8)
        right.tick_params(length=0)
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.xaxis.set_minor_formatter("")
        axes.set_xlabel("size of each released number, in standard deviations of its noise (log scale)")
        axes.annotate(
            "may be noise alone", (HIDDEN, 1), (-5, 3), textcoords="offset points", ha="right",
            xycoords=axes.get_xaxis_transform(), fontsize=8,
        )  # fmt: skip
    return figure  # type: ignore[no-any-return]


def signal_to_noise(released: ReleasedMoments) -> list[tuple[str, float, Floats]]:
    """Name, noise sd and |value|/sd of each released statistic; of several stages, the last one's.

    Products that are zero by definition are left out.
    """
    found = []
    for block, array in released.arrays.items():
        ratios = _ratios(block, array)
        if block.kind.symmetric:
            known = released.domain.exclusive(released.domain.indices(block.rows))
            ratios = ratios[~known[np.triu_indices(len(known))]]
        found.append((block.name, block.sd, ratios))
    for block, array in released.stages[-1].arrays.items() if released.stages else ():
        found.append((f"{stage_name(block)}, stage {len(released.stages)}", block.sd, _ratios(block, array)))
    return found


def _ratios(block: Block, array: Floats) -> Floats:
    at = np.triu_indices(len(block.rows))
    symmetric = block.kind.symmetric
    values, sds = (array[..., *at], np.where(at[0] == at[1], *block.sds)) if symmetric else (array, block.sd)
    ratios: Floats = np.ravel(np.abs(values) / sds)
    return ratios


def _hidden(values: Floats) -> str:
    hidden = int(np.sum(values < HIDDEN))
    return f"{hidden} of {len(values)} hidden" if len(values) > 1 else "hidden" if hidden else "clear"


def comparison_plot(comparison: Comparison, level: float = 0.95) -> Figure:
    """Two models' coefficients with their intervals, each times one declared range for both."""
    level = checks.fraction("level", level)
    ranges = _common_ranges(comparison)
    pair = [effects(fitted, level, ranges) for _, fitted in comparison.models]
    names = list(dict.fromkeys(name for found in pair for name in found.names))
    words = {name: words for found in reversed(pair) for name, words in zip(found.names, found.ranges, strict=True)}
    looks = [("o", BLUE, BLUE, -0.16), ("s", ORANGE, "white", 0.16)]
    with style():
        figure, axes = canvas(1.25 + max(_step(found) for found in pair) * 1.25 * len(names))
        axes.axvline(0, color=GREY, lw=1, zorder=1)
        for (label, _), found, (mark, colour, fill, shift) in zip(comparison.models, pair, looks, strict=True):
            places = np.array([names.index(name) for name in found.names]) + shift
            arms = None if isinstance(found.ends, Unavailable) else np.abs(found.ends.T - found.estimate)
            axes.errorbar(
                found.estimate, places, xerr=arms, fmt=mark, color=colour, mfc=fill, mew=1.3, ms=5,
                elinewidth=1.5, capsize=2.5, zorder=3, label=short(label),
            )  # fmt: skip
        rows(axes, [_label(name, words[name]) for name in names])
        alike = comparison.a.target == comparison.b.target
        axes.set_xlabel(_effect_axis(comparison.a) if alike else "effect on each outcome over the declared range")
        _few_ticks(axes)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
        found_ends = zip(comparison.names, (found.ends for found in pair), strict=True)
        if missing := [short(label) for label, ends in found_ends if isinstance(ends, Unavailable)]:
            note(figure, f"No intervals for {' and '.join(missing)}: the summary says why.")
    return figure  # type: ignore[no-any-return]


def _common_ranges(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """One range for each number of the two models: that of the first that has it."""
    found: dict[str, tuple[float, float]] = {}
    for _, fitted in reversed(comparison.models):
        specs = Variables(fitted.certificate.domain, fitted.names).specs
        found |= {name: spec.bounds for name, spec in specs.items() if spec.bounds}
    return found


def heatmap(fitted: Fitted, values: str, ax: Any) -> Any:
    """Outcomes against regressors, colours symmetric around zero."""
    from matplotlib import pyplot as plt

    if values == "debiased":
        tell_renamed({"values='debiased'": "values='estimate'"})
        values = "estimate"
    checks.choice("values", values, ("z", "estimate", "coef"))
    shift = len(fitted.parameters) - len(fitted.names)
    estimate = fitted.table("coef" if values == "coef" else "estimate")
    scale = fitted.table("std_err") if values == "z" else 1.0
    for part in (estimate, scale):
        if isinstance(part, Unavailable):
            part.refuse()
    Z = (np.asarray(estimate) / np.asarray(scale))[:, shift:]
    largest = float(np.quantile(np.abs(Z), 0.995)) or 1.0
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 6), layout="constrained")
    image = ax.imshow(Z, aspect="auto", cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
    titles = {"z": "estimate / standard error", "estimate": "estimate", "coef": "coefficient that predicts"}
    ax.figure.colorbar(image, ax=ax, label=titles[values])
    for names, place in ((fitted.names, ax.xaxis), (fitted.targets, ax.yaxis)):
        if len(names) <= _LABELS:
            place.set_ticks(range(len(names)), [printable(name) for name in names])
    ax.tick_params(axis="x", rotation=90)
    ax.set_xlabel("regressor")
    ax.set_ylabel("outcome")
    return ax
