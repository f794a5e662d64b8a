"""The one style of all pictures, and pictures as SVG text that does not change from run to run."""

from __future__ import annotations

import io
import re
import textwrap
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, PALE, INK = "#0072B2", "#D55E00", "#767676", "#EDEDED", "#222222"
"""Told apart by people who see colours differently, and by their darkness in print."""

WIDTH = 6.8
"""Inches: the text width of a page, so that letters keep their size on paper."""

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


def canvas(height: float) -> tuple[Any, Any]:
    """A figure with one set of axes; no window, and nothing that must be closed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.add_subplot()


def rows(axes: Any, labels: list[str], *, extra: float = 0.6) -> None:
    """One horizontal row a label, the first on top, with a faint line to lead the eye."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 1 + extra, -extra)
    axes.hlines(range(len(labels)), 0, 1, transform=axes.get_yaxis_transform(), color=PALE, lw=0.8, zorder=0)


def note(figure: Any, text: str) -> None:
    """A line or two below the picture."""
    figure.supxlabel("\n".join(textwrap.wrap(text, 115)), x=0.01, ha="left", fontsize=8, color=INK)


def short(text: str, length: int = 34) -> str:
    """A long name with its middle left out.

    Examples
    --------
    >>> short("age"), short("a very long name that never ends[level 12]", 20)
    ('age', 'a very lon…level 12]')
    """
    tail = (length - 1) // 2
    return text if len(text) <= length else f"{text[: length - 1 - tail]}…{text[-tail:]}"


def svg(figure: Figure, name: str, words: str) -> str:
    """A picture as SVG text for a page, with words for those who cannot see it.

    Parameters
    ----------
    figure : Figure
        The picture.
    name : str
        Letters that tell its identifiers apart from those of other pictures on the page.
    words : str
        What the picture shows.
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
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(words)}"', 1).strip()
