"""A picture of confidential losses."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.files import atomic_write

if TYPE_CHECKING:
    from discreet.per_instance.result import Losses


def draw(losses: Losses, path: str | Path | None, delta: float) -> Any:
    """The distribution of epsilon_i, the DP epsilon and pDP for all, on one axis."""
    from matplotlib.figure import Figure

    from discreet.per_instance.result import NOTE, place

    if path is not None:
        path = place(path, ".png", ".svg")
    values, promised = losses.epsilon(delta), losses.certificate.guarantee
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    everyone = losses.for_all(delta)
    worst = max(everyone, promised.epsilon if delta == promised.delta else 0.0)
    bins = np.linspace(0, worst * 1.03 or 1.0, 80)
    if 0 < np.quantile(values, 0.99) < worst / 5:  # most lose far less than the worst: show by how many times
        bins = np.geomspace(max(float(values[values > 0].min()), worst * 1e-6), worst * 1.1, 80)
        axes.set_xscale("log")
    axes.hist(np.maximum(values, bins[0]), bins=bins.tolist(), color="#88aacc")
    axes.axvline(float(np.median(values)), color="#222222", linestyle="--", label="median of the table")
    if delta == promised.delta:  # broad, so that pDP for all is seen on top of it
        axes.axvline(promised.epsilon, color="#ee9988", linewidth=5, label="DP, as promised")
    axes.axvline(everyone, color="#222222", linestyle=":", linewidth=2, label="pDP for all")
    axes.set_xlabel(f"epsilon of each row, at delta = {delta:g}")
    axes.set_ylabel("rows")
    axes.set_title("CONFIDENTIAL: per-instance privacy losses", color="#cc3311")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    if path is None:
        return figure
    kind = path.suffix.lower()[1:]
    buffer = BytesIO()
    metadata = {"Title": NOTE} if kind == "svg" else {"Title": "CONFIDENTIAL", "Description": NOTE}
    try:
        figure.savefig(buffer, format=kind, metadata=metadata, dpi=150)
    except ValueError:
        raise ParameterError("The picture cannot be drawn: the losses are not finite.") from None
    with atomic_write(path, confidential=True) as file:
        file.write(buffer.getvalue())
    return None
