"""li2021, figure 4: variable selection on the simulation of table 4."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.li2021 import simulation
from experiments.li2021.panels import areas, by_n_and_epsilon, listed, look, means
from experiments.reproduction import Finding

BY = ["loss", "n", "epsilon"]


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    table = means(frame, [*BY, "method", "Lambda"], ["true", "false"])
    figures = {}
    for loss, data in table.groupby("loss", sort=False):

        def line(axes, method, found):  # type: ignore[no-untyped-def]
            found = found.sort_values("Lambda", ascending=False)
            axes.plot([*found["false"], 1], [*found["true"], 1], **look(method))
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))

        words = ("false positives", "true positives", "")
        figures[loss] = by_n_and_epsilon(data, line, words)
    return figures


def judge(frame: pd.DataFrame) -> list[Finding]:
    table, findings = areas(frame, BY), []
    large = table[table["epsilon"] == table["epsilon"].max()]
    for loss, data in large.groupby("loss", sort=False):
        a = data[data["n"] == data["n"].max()].set_index("method")["area"].round(3)
        first = a["NAPP-VS+, MOOR"] > a["NAPP-VS, MOOR"] > max(a["NAPP-ERM, MOOR"], a["DP-ERM"])
        claim = "Where n and epsilon are large: VS+ better than VS, and VS better than NAPP-ERM and DP-ERM"
        findings.append(Finding(claim, f"{loss}: {listed(a)}", bool(first)))
    last = frame[frame["Lambda"] == frame.groupby("loss")["Lambda"].transform("max")]
    none = last.groupby("method")["none"].mean()
    others = [m for m in simulation.METHODS if "VS+" not in m]
    plus = float(none[[m for m in simulation.METHODS if "VS+" in m]].min())
    words = f"share of fits without any variable at the largest Lambda: VS+ {plus:.2f}, {listed(none[others].round(2))}"
    agrees = plus > 0.95 and float(none[others].max()) < 0.05
    why = "" if agrees else "The noise is fixed: once Lambda exceeds it, every lasso sets all coefficients to 0."
    findings.append(Finding("Only VS+ sets all coefficients to 0, however large Lambda is", words, agrees, why))
    both = [(m, m.removesuffix(", MOOR") if "VS" in m else "DP-ERM") for m in simulation.METHODS if "MOOR" in m]
    wide = table.pivot_table(index=BY, columns="method", values="area")
    gap = float(np.mean([np.abs(wide[a] - wide[b]).mean() for a, b in both]))
    findings.append(
        Finding("Little difference with and without MOOR", f"mean difference of areas {gap:.3f}", gap < 0.03)
    )
    return findings


REPRODUCTION = simulation.reproduction(
    name="li2021-fig4",
    title="ROC curves of variable selection by varying Lambda",
    says="NAPP-VS+ performs better than NAPP-VS, which is better than NAPP-ERM and DP-ERM, when n and epsilon are "
    "large. NAPP-VS+ alone goes through the origin. MOOR makes little difference.",
    draw=draw,
    judge=judge,
    note="delta = 1e-4 as in the text.",
)
