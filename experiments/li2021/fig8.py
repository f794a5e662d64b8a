"""li2021, figure 8: linear regression with one round of recycled budget, and without."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.mechanisms.napp.event import printed_retrievable, retrievable
from discreet.results.plots.style import logarithmic
from experiments.li2021 import simulation
from experiments.li2021.panels import areas, by_n_and_epsilon, look, means
from experiments.reproduction import Finding, Size
from experiments.study import Cell, Rows

BY = ["loss", "n", "epsilon"]
METHODS = {name: how for name, how in simulation.METHODS.items() if how["moor"]}


NOTHING = (
    "Budget is retrieved at large Lambda only, where hardly anything is selected; where NAPP-ERM selects well the "
    "least weight is Lambda_0, and there is nothing to retrieve."
)
SPARED = (
    "Less noise helps most those who have most of it in their coefficients, NAPP-ERM; VS+ has set most of them to 0 "
    "already. So it is with eq. (13) as printed too (li2021-quarter), only that errors fall more."
)
LITTLE = "Errors hardly change: too little is retrieved at the Lambdas that predict well."
RULES = {"meant": retrievable, "printed": printed_retrievable}
"""Eq. (13)."""


def cells(size: Size, folder: Path | None) -> list[Cell]:
    return grid(size, "printed", chunks=15)


def grid(size: Size, reading: str, rule: str = "meant", delta: float = 1e-4, chunks: int = 6) -> list[Cell]:
    """The cells of a reading of the simulation and of eq. (13)."""
    facts: dict[str, Any] = {"losses": ("linear",), "epsilons": simulation.EPSILONS, "delta": delta, "chunks": chunks}
    return [cell | {"rounds": 1, "rule": rule} for cell in simulation.cells(size, reading, **facts)]


def work(cell: Cell, folder: Path | None) -> Rows:
    """As the simulation's, with the same noise for both."""
    setting, fits, rule = simulation.SETTINGS["linear"], defaultdict(list), RULES[cell["rule"]]
    for repeat in range(cell["repeats"]):
        rng = np.random.default_rng([cell["seed"], repeat, cell["n"], round(100 * cell["epsilon"])])
        data = setting.data(*setting.sample(cell["n"], rng))
        b = simulation.unit_noise(cell, rng)
        for Lambda in cell["Lambdas"]:
            for method, how in METHODS.items():
                for rounds in (0, cell["rounds"]):
                    name = f"{method.removesuffix(', MOOR')}, {'recycled' if rounds else 'plain'}"
                    fits[name, Lambda].append(simulation.private(cell, data, b, Lambda, how, rng, rounds, rule))
    return [{"method": m, "Lambda": L} | simulation.summary(found, setting, "linear") for (m, L), found in fits.items()]


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    table = means(frame, [*BY, "method", "Lambda"], ["true", "false", "error"])

    def styled(method: str) -> dict[str, Any]:
        return look(method) | {"ls": "-" if "recycled" in method else "--"}

    def curve(axes, method, data):  # type: ignore[no-untyped-def]
        data = data.sort_values("Lambda", ascending=False)
        axes.plot([*data["false"], 1], [*data["true"], 1], **styled(method))

    def errors(axes, method, data):  # type: ignore[no-untyped-def]
        axes.plot(data["Lambda"], data["error"], **styled(method))
        logarithmic(axes.xaxis)

    return {
        "selection": by_n_and_epsilon(table, curve, ("false positives", "true positives", "")),
        "error": by_n_and_epsilon(table, errors, ("Lambda", "mean squared error", "")),
    }


def judge(frame: pd.DataFrame) -> list[Finding]:
    wide = areas(frame, BY).pivot_table(index=BY, columns="method", values="area")
    error = means(frame, [*BY, "method", "Lambda"], ["error"]).groupby([*BY, "method"])["error"].mean().unstack()
    kinds = ("NAPP-VS+", "NAPP-VS", "NAPP-ERM")
    gain = {kind: float((wide[f"{kind}, recycled"] - wide[f"{kind}, plain"]).mean()) for kind in kinds}
    less = {kind: float((error[f"{kind}, recycled"] / error[f"{kind}, plain"]).mean()) for kind in kinds}
    largest = wide.loc[wide.index[-1]]
    words = ", ".join(f"{kind} {value:+.3f}" for kind, value in gain.items())
    more = min(gain["NAPP-VS"], gain["NAPP-ERM"]) > max(gain["NAPP-VS+"], 0.0)
    tells = max(map(abs, gain.values())) > 0.02
    reach = [largest[f"{kind}, recycled"] for kind in kinds[1:]]
    return [
        Finding(
            "Recycling improves selection, more for NAPP-ERM and VS than for VS+",
            f"areas: {words}",
            bool(more) if tells else None,
            "" if tells else "Differences below 0.02 are less than these repeats can tell.",
        ),
        Finding(
            "NAPP-ERM and VS with recycling select about as well as VS+ without, where n and epsilon are large",
            f"areas {reach[1]:.3f}, {reach[0]:.3f} against {largest['NAPP-VS+, plain']:.3f}",
            near := bool(min(reach) > largest["NAPP-VS+, plain"] - 0.05),
            simulation.explained(
                near,
                NOTHING,
                "With a quarter of the noise, and eq. (13) as printed, it comes out (li2021-quarter).",
                frame,
            ),
        ),
        Finding(
            "The error falls with recycling, more for VS+",
            "recycled over plain: " + ", ".join(f"{kind} {value:.3f}" for kind, value in less.items()),
            falls := bool(max(less.values()) < 1 and less["NAPP-VS+"] == min(less.values())),
            "" if falls else SPARED if min(less.values()) < 0.99 else LITTLE,
        ),
    ]


REPRODUCTION = simulation.reproduction(
    name="li2021-fig8",
    title="Selection and errors of linear regression with one round of recycled budget",
    says="Recycling improves selection for NAPP-ERM and NAPP-VS, hardly for NAPP-VS+, with which they then are about "
    "level; the error falls more for NAPP-VS+.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
)
