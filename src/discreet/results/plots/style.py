"""The style of all plots, and reproducible SVG text."""

from __future__ import annotations

import io
import math
import re
import textwrap
from html import escape
from typing import TYPE_CHECKING, Any

from discreet.errors import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, PALE, INK = "#0072B2", "#D55E00", "#767676", "#EDEDED", "#222222"
"""Colours for colour-blind readers, which also differ in brightness."""

LOOKS: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "ls": "-", "marker": "o"},
    {"color": ORANGE, "ls": (0, (5, 1.5)), "marker": "s"},
    {"color": "#009E73", "ls": (0, (1.2, 1.2)), "marker": "^"},
    {"color": "#CC79A7", "ls": (0, (6, 1.5, 1.2, 1.5)), "marker": "D"},
    {"color": INK, "ls": (0, (8, 2)), "marker": "v"},
    {"color": "#56B4E9", "ls": (0, (3, 1.5)), "marker": "P"},
    {"color": "#E69F00", "ls": (0, (2, 1, 1, 1)), "marker": "X"},
    {"color": GREY, "ls": "-", "marker": "*"},
)
"""Colour, dashes and marker of each curve of a chart."""

WIDTH = 6.8
"""Inches: the text width of a page, so that letters keep their size on paper."""

NARROW = 4.6
"""Inches: a chart, whose letters can be read when it is printed at half the width of a page."""

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.labelsize": 9,
    "ytick.major.size": 0,
    "svg.fonttype": "path",  # letters as outlines: the same on every screen and printer, and no font to fetch
    "svg.hashsalt": "discreet",
}


def style() -> Any:
    """A context in which pictures are drawn and written in our style."""
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def canvas(height: float, width: float = WIDTH) -> tuple[Any, Any]:
    """A figure with one set of axes; no window, and nothing that must be closed."""
    from discreet.results.plots.picture import Picture

    figure = Picture(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def chart(height: float = 3.3) -> tuple[Any, Any]:
    """A canvas for curves: narrow, with a faint grid."""
    figure, axes = canvas(height, NARROW)
    axes.grid(color=PALE, lw=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def logarithmic(*axes: Any) -> None:
    """A logarithmic scale whose ticks are few and plain: 0.01, 1, 100, and 10⁻⁶ or 10⁸ further out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    class Few(LogLocator):
        """Powers of ten; multiples of these as well, or plain steps, where there would be fewer than three ticks."""

        def tick_values(self, vmin: float, vmax: float) -> Any:
            low, high = sorted((vmin, vmax))  # an axis may be inverted
            for subs in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
                self.set_params(subs=subs)
                ticks = super().tick_values(vmin, vmax)
                if sum(low <= tick <= high for tick in ticks) >= 3:
                    return ticks
            return [step for step in MaxNLocator(5).tick_values(low, high) if step > 0]

    for axis in axes:
        getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
        axis.set_major_locator(Few(numticks=7))
        axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
        axis.set_minor_locator(NullLocator())


def power(value: float) -> str:
    """A number on a logarithmic scale."""
    exponent = math.log10(value)
    if abs(exponent - round(exponent)) < 1e-9 and not -4 < exponent < 5:
        return "10" + str(round(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value:,g}"


def legend(figure: Any, axes: Any, columns: int = 2) -> None:
    """Legend of the curves above the chart, where it covers none of them."""
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside upper left", ncols=columns, columnspacing=1.2, handlelength=2.6
    )


def rows(axes: Any, labels: list[str], *, extra: float = 0.6) -> None:
    """One horizontal row a label, the first on top, with a faint line to lead the eye."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 1 + extra, -extra)
    axes.hlines(range(len(labels)), 0, 1, transform=axes.get_yaxis_transform(), color=PALE, lw=0.8, zorder=0)


def note(figure: Any, text: str) -> None:
    """A line or two below the picture."""
    figure.supxlabel("\n".join(textwrap.wrap(printable(text), 115)), x=0.01, ha="left", fontsize=8, color=INK)


def short(text: str, length: int = 34) -> str:
    """Return a name for a plot: escaped, and shortened in the middle if it is long."""
    text = printable(text)
    tail = (length - 1) // 2
    return text if len(text) <= length else f"{text[: length - 1 - tail]}…{text[-tail:]}"


def svg(figure: Figure, name: str, words: str) -> str:
    """Return a figure as SVG text, with an alternative text.

    `name`: letters that tell its identifiers apart from those of other pictures on the page.
    """
    file = io.BytesIO()
    with style():
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True, dpi=200)
    text = file.getvalue().decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' (xmlns:\w+|xmlns|version)="[^"]*"', "", text)
    text = text.replace("xlink:href", "href")
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(printable(words))}"', 1).strip()
