"""Whether every text of a picture can be read."""

import itertools

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg


def drawn(figure):
    FigureCanvasAgg(figure)
    figure.canvas.draw()
    return figure


def texts(figure):
    """Every text that is seen, with its place; ticks outside the axes are not drawn."""
    outside = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        far = [tick for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()] if not low <= tick.get_loc() <= high]
        outside |= {label for tick in far for label in (tick.label1, tick.label2)}
    every = figure.findobj(mpl.text.Text)
    seen = [t for t in every if t.get_visible() and t.get_text().strip() and t not in outside]
    return [(t, t.get_window_extent()) for t in seen]


def assert_legible(figure):
    drawn(figure)
    page = figure.bbox
    places = texts(figure)
    assert places
    for text, box in places:
        inside = page.x0 - 1 <= box.x0 and box.x1 <= page.x1 + 1 and page.y0 - 1 <= box.y0 and box.y1 <= page.y1 + 1
        assert inside, f"{text.get_text()!r} is clipped"
        assert text.get_fontsize() >= 8
    for (one, a), (other, b) in itertools.combinations(places, 2):
        apart = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1 or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
        assert apart, f"{one.get_text()!r} overlaps {other.get_text()!r}"
    axes = figure.axes[0].get_window_extent()
    assert axes.width > 0.2 * page.width
    assert figure.get_figwidth() <= 7
