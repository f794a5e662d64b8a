"""A figure that notebooks display."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    r"""A matplotlib figure without a window, which a notebook shows where it ends a cell.

    Examples
    --------
    >>> Picture()._repr_png_()[:4]
    b'\x89PNG'
    """

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110, metadata={"Software": None})
        return file.getvalue()
