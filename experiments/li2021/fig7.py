"""li2021, figure 7: which portion of the Jacobian's budget is retrieved."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.results.plots.style import logarithmic
from experiments.li2021 import simulation
from experiments.li2021.panels import by_n_and_epsilon, listed, look, means
from experiments.reproduction import Finding

BY = ["loss", "n", "epsilon"]
MORE = (
    "The portion is 1 - Lambda_0/min_j w_j, and Lambda_0 falls with epsilon. VS+ has the smallest coefficients and so "
    "the largest weights: it has the most to gain, until nearly all is retrieved."
)
PAIRS = (("NAPP-VS+, MOOR", "NAPP-VS+"), ("NAPP-VS, MOOR", "NAPP-VS"), ("NAPP-ERM, MOOR", "DP-ERM"))


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    table = means(frame.dropna(subset=["retrieved"]), [*BY, "method", "Lambda"], ["retrieved"])
    figures = {}
    for loss, data in table.groupby("loss", sort=False):

        def line(axes, method, found):  # type: ignore[no-untyped-def]
            axes.plot(found["Lambda"], found["retrieved"], **look(method))
            logarithmic(axes.xaxis)
            axes.set_ylim(-0.03, 1.03)

        words = ("Lambda", "retrieved portion", "")
        figures[loss] = by_n_and_epsilon(data, line, words)
    return figures


def judge(frame: pd.DataFrame) -> list[Finding]:
    frame = frame.dropna(subset=["retrieved"])
    table = means(frame, [*BY, "method", "Lambda"], ["retrieved", "printed"])
    ordered = table.sort_values("Lambda").groupby([*BY, "method"])["retrieved"]
    steps = ordered.apply(lambda values: float(np.diff(values).min()))
    last = ordered.last().groupby("method").mean()
    words = f"never falls by more than {max(0.0, -float(steps.min())):.2f}; at the largest Lambda: {listed(last)}"
    findings = [Finding("The portion grows with Lambda, and is near 100 % in some cases", words,
                        bool(steps.min() > -0.05 and ordered.last().max() > 0.95))]  # fmt: skip
    wide = table.pivot_table(index=[*BY, "Lambda"], columns="method", values="retrieved")
    more = float(np.mean([(wide[b] >= wide[a] - 1e-9).mean() for a, b in PAIRS]))
    findings.append(Finding("More is retrieved without MOOR", f"in {100 * more:.0f} % of the cells", more > 0.95))
    plus = wide[["NAPP-VS+, MOOR", "NAPP-VS, MOOR", "NAPP-ERM, MOOR"]].mean()
    first = bool(plus.iloc[0] > plus.iloc[1:].max())
    findings.append(Finding("VS+ retrieves more than VS and NAPP-ERM", f"means: {listed(plus)}", first))
    apart = np.abs(wide["NAPP-VS, MOOR"] - wide["NAPP-ERM, MOOR"])
    near = float((apart < 0.05).mean())
    words = f"differs by less than 0.05 in {100 * near:.0f} % of the cells, by {apart.max():.2f} at most"
    findings.append(Finding("VS is similar to NAPP-ERM in most cases", words, near > 0.8))
    by = table.groupby(["method", "epsilon"])["retrieved"].mean().unstack()
    grown = by.iloc[:, -1] - by.iloc[:, 0]
    slower = bool(grown["NAPP-VS+, MOOR"] < grown[["NAPP-VS, MOOR", "NAPP-ERM, MOOR"]].min())
    claim = "The portion grows with epsilon, more for VS and NAPP-ERM than for VS+"
    if by.shape[1] > 1:
        agrees = bool(slower and grown.min() > 0)
        hint = "With a quarter of the noise it is as claimed (li2021-quarter)."
        why = simulation.explained(agrees, MORE, hint, frame)
        findings.append(Finding(claim, f"growth: {listed(grown)}", agrees, why))
    low = table[table["Lambda"] == table.groupby("loss")["Lambda"].transform("min")]
    findings.append(
        Finding(
            "Eq. (13)",
            f"at the smallest Lambda, with MOOR: as printed (max for min) "
            f"{low[low['method'] == 'NAPP-ERM, MOOR']['printed'].mean():.2f}, as meant "
            f"{low[low['method'] == 'NAPP-ERM, MOOR']['retrieved'].mean():.2f}",
            None,
            "V already carries the factor 2 (E13), so half would be retrieved where there is nothing.",
        )
    )
    return findings


REPRODUCTION = simulation.reproduction(
    name="li2021-fig7",
    title="Portion of (1 - r) epsilon that is retrieved",
    says="The portion grows with Lambda to a plateau, near 100 % in some cases; it grows with epsilon, more for "
    "NAPP-VS and NAPP-ERM than for NAPP-VS+; more is retrieved without MOOR; NAPP-VS+ retrieves "
    "most; NAPP-VS is similar to NAPP-ERM.",
    draw=draw,
    judge=judge,
    note="Eq. (13) as it must be meant, see E13: a budget retrieved like this depends on the data and is no guarantee.",
)
