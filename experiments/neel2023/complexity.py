"""neel2023's complexity claims (theorem 4.4, section 4.4): how the time of each step grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet import Domain, Moments, ReuseCov
from discreet.results.plots.style import BLUE, GREY, WIDTH, logarithmic
from discreet.solve.projection import OutcomeSpectrum, project
from discreet.solve.ridge import ridge
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows

SWEEPS: dict[str, tuple[str, dict[str, int], list[int], float, str]] = {
    "X'X by n": ("moments", {"d": 100, "l": 1}, [20_000, 40_000, 80_000, 160_000], 1, "n d^2"),
    "X'X by d": ("moments", {"n": 20_000, "l": 1}, [100, 200, 400, 800], 2, "n d^2"),
    "X'Y by l": ("moments", {"n": 10_000, "d": 100}, [500, 1000, 2000, 4000], 1, "n l d"),
    "solve by l": ("solve", {"d": 300}, [1000, 2000, 4000, 8000], 1, "d^3 + l d^2"),
    "solve by d": ("solve", {"l": 300}, [200, 400, 800, 1600], 3, "d^3 + l d^2"),
    "project by l, l < n": ("project", {"d": 50, "n": 100_000}, [200, 400, 800, 1600], 3, "n l^2 (Y'Y), then l^3"),
    "project by d": ("project", {"l": 400, "n": 100_000}, [100, 200, 400, 800], 1, "n l d"),
    "project by l, l > n": ("project", {"d": 50, "n": 300}, [1000, 2000, 4000, 8000], 1, "n^2 l"),
    "fit by s": ("sample", {"n": 30_000, "d": 1200}, [3000, 7500, 15_000, 30_000], 1, "s d^2"),
}
"""The step, what is fixed, what varies, the claimed exponent, and the claim."""


def cells(size: Size, folder: Path | None) -> list[Cell]:
    shrink, repeats = (10, 1) if size == "quick" else (1, 5)
    return [{"sweep": name, "shrink": shrink, "repeats": repeats} for name in SWEEPS]


def work(cell: Cell, folder: Path | None) -> Rows:
    step, fixed, values, *_ = SWEEPS[cell["sweep"]]
    varied = cell["sweep"].split(",")[0][-1]
    rows: Rows = []
    for value in values:
        sizes = {name: max(2, size // cell["shrink"]) for name, size in (fixed | {varied: value}).items()}
        call = STEPS[step](**sizes)
        rows.append({"size": sizes[varied], "seconds": max(1e-6, least(call, cell["repeats"]))})
    return rows


def least(call: Callable[[], object], repeats: int) -> float:
    """The least processor time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def moments(n: int, d: int, l: int) -> Callable[[], object]:  # noqa: E741
    X, Y, domain, targets = _table(n, d, l)
    return lambda: Moments.from_source((X, Y), domain, targets=targets, n_jobs=1)


def solve(d: int, l: int) -> Callable[[], object]:  # noqa: E741
    rng = np.random.default_rng(0)
    X, V = rng.standard_normal((2 * d, d)), rng.standard_normal((d, l))
    S = X.T @ X
    return lambda: ridge(S, V, 1.0)


def projection(n: int, d: int, l: int) -> Callable[[], object]:  # noqa: E741
    """From Y'Y where l < n, which one pass over the outcomes makes, else from the rows."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((d, l))
    Y = rng.standard_normal((min(n, 2 * l), l))
    YY = Y.T @ Y if l < n else None
    return lambda: project(G, OutcomeSpectrum.of_rows(Y) if YY is None else OutcomeSpectrum.of_gram(YY), float(n), 1.0)


def sample(n: int, d: int, s: int) -> Callable[[], object]:
    """A whole fit with X'X of s rows; of all rows where s = n."""
    X, Y, domain, _ = _table(n, d, 2)
    given = {"epsilon": 1.0, "delta": 1e-6, "rows": n, "neighbors": "replace-one", "solve": "ridge"}
    given["subsample"] = s / n if s < n else None
    return lambda: ReuseCov(domain=domain, n_jobs=1, random_state=0, **given).fit(X, Y)


STEPS: dict[str, Callable[..., Callable[[], object]]] = {
    "moments": moments,
    "solve": solve,
    "project": projection,
    "sample": sample,
}


def _table(n: int, d: int, l: int) -> tuple[np.ndarray, np.ndarray, Domain, list[str]]:  # noqa: E741
    rng = np.random.default_rng(0)
    targets = [f"y{j}" for j in range(l)]
    domain = Domain.from_bounds([f"x{i}" for i in range(d)], targets, bounds_X=(-1, 1), bounds_y=(-1, 1))
    return rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, (n, l)), domain, targets


def exponent(own: pd.DataFrame) -> float:
    """Slope of log time against log size, over the larger half."""
    part = own.sort_values("size").iloc[len(own) // 2 - 1 :]
    return float(np.polyfit(np.log(part["size"]), np.log(part["seconds"].clip(lower=1e-6)), 1)[0])


def judge(rows: pd.DataFrame) -> list[Finding]:
    found = []
    for name, (_, _, _, claimed, claim) in SWEEPS.items():
        own = rows[rows["sweep"] == name]
        power = exponent(own)
        apart = abs(power - claimed) >= ROOM
        words = f"power {power:.2f}; {own['seconds'].max():.2g} s at {own['size'].max():,}"
        found.append(Finding(f"{name}: {claim}, a power of {claimed:g}", words, not apart, WHY.get(name, "") * apart))
    fits = rows[rows["sweep"] == "fit by s"].sort_values("size")["seconds"]
    words = f"a fit with a tenth of 30,000 rows takes {fits.iloc[0] / fits.iloc[-1]:.2f} of the time, d = 1200"
    return [*found, Finding("A sample of the rows saves time", words, bool(fits.iloc[0] < 0.8 * fits.iloc[-1]))]


ROOM = 0.3
"""How far a measured power may be from the claimed one, either way."""
WHY = {
    "X'X by d": "reading and rounding the rows, n d, still matters: the claim is an upper bound",
    "solve by d": "l d^2 is the larger part up to d = l, and the d^3 of Cholesky's factor has a small constant: the "
    "claim is an upper bound",
    "project by l, l < n": "parts of smaller order still matter: the claim is an upper bound",
    "project by d": "the decomposition of Y'Y, l^3, does not depend on d: the claim is an upper bound",
    "project by l, l > n": "the decomposition, n^3, does not depend on l: the claim is an upper bound",
    "fit by s": "a fit also reads all n rows for X'Y, draws d^2 noises and solves, d^3, whatever s is",
}
"""Why a power comes out smaller than claimed, where it does."""


def draw(rows: pd.DataFrame) -> dict[str, Figure]:
    figure = Figure(figsize=(WIDTH, 5.4), layout="constrained")
    for ax, (name, (_, _, _, claimed, claim)) in zip(figure.subplots(3, 3).flatten(), SWEEPS.items(), strict=True):
        own = rows[rows["sweep"] == name].sort_values("size")
        last = own.iloc[-1]
        ax.plot(own["size"], last["seconds"] * (own["size"] / last["size"]) ** claimed, color=GREY, lw=0.9)
        ax.plot(own["size"], own["seconds"], "o-", color=BLUE, ms=3)
        logarithmic(ax.xaxis, ax.yaxis)
        ax.set(title=f"{name}\n{claim}")
        ax.set_xticks(own["size"], [f"{s:,}" for s in own["size"]])
        ax.title.set_fontsize(8.5)
        ax.tick_params(labelsize=7.5)
    figure.supylabel("seconds of one core (grey: the claimed power)", fontsize=8.5)
    return {"times": figure}


REPRODUCTION = Reproduction(
    name="neel2023-complexity",
    title="How the time of each step grows",
    says="Algorithm 3 takes O(max(min(n l^2, n^2 l), n l d, n d^2, l d^2, d^3)): X'X n d^2, solving for all outcomes "
    "d^3 + l d^2, the projection n l min(n, l) + n l d by the SVD of Y; a sample of s rows makes X'X cost s d^2.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    note="Processor time of one core, the least of five; powers over the larger half of each sweep; they agree within "
    "0.3, either way. For l < n we start "
    "the projection from Y'Y, which the pass over the data makes, and diagonalise l x l. The last sweep times "
    "`ReuseCov.fit` as a whole, the pass over all rows for X'Y included, at a d where a sample pays. The paper's "
    "l-fold alternative, solving each outcome anew, is l d^3.",
)
