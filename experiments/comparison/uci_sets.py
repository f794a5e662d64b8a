"""All methods at equal true (epsilon, delta) on the UCI sets: ``discreet reproduce comparison``.

Every verified method of linear regression, every published one, and the peers that run here, by wang2018's protocol
(whose preparation is not private, E18): test error over that of predicting 0.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments import uci
from experiments.comparison import page as comparison_page
from experiments.comparison import pictures as comparison_pictures
from experiments.comparison.contenders import CONTENDERS, DEFAULT, NON_PRIVATE, Contender, Task
from experiments.comparison.tallies import CAP, by_set, summary
from experiments.reproduction import Reproduction, Size
from experiments.study import Cell, Rows

EPSILONS = (1.0, 0.1, 10.0, 0.3, 3.0, 0.03)
"""In this order, so that a run cut short tells what matters most."""
QUICK_SETS, QUICK_EPSILONS = ("servo", "yacht"), (0.1, 1.0)
QUICK = (DEFAULT, "AdaSSP", "AdaSSP [wang2018]", "AdaSSP [wang2018], as printed", "SSP", "NoisyGradientDescent")
QUICK += ("Boosted AdaSSP, 10 rounds", "TukeyEM", NON_PRIVATE)
SPLITS: dict[Size, int] = {"quick": 1, "normal": 6, "full": 50}
TINY = ("autos", "breastcancer", "challenger", "concreteslump", "fertility", "machine", "servo")
"""Sets of fewer than 250 rows: a single fit says little there, so methods are fitted more often."""
LARGE = ("bike", "elevators", "keggdirected", "keggundirected", "kin40k", "pol", "protein", "tamielectric", *uci.LARGE)
"""Sets of more than 10,000 rows: fits differ little, and slow methods take long."""


def suite(which: str) -> tuple[str, list[Contender]]:
    """The contenders that can run here, and a name for them, so that cells change when they do."""
    chosen = [c for c in CONTENDERS if c.ready() and (which == "all" or c.name in QUICK)]
    return f"{which}-{zlib.crc32('|'.join(c.name for c in chosen).encode()):08x}", chosen


def cells(size: Size, folder: Path | None) -> list[Cell]:
    """One for each split, set and epsilon; all methods are inside, so that moments are made once."""
    quick = size == "quick"
    names = QUICK_SETS if quick else uci.available(folder) if folder else uci.NAMES
    chosen = suite("few" if quick else "all")[0]
    return [
        {"data": name, "epsilon": epsilon, "split": split, "suite": chosen}
        | {"draws": 6 if name in TINY else 2, "slow": 1 if split % _every(name) == 0 else 0}
        for split in range(SPLITS[size])
        for epsilon in (QUICK_EPSILONS if quick else EPSILONS)
        for name in names
    ]


def _every(name: str) -> int:
    """In which splits slow methods run: all, every second, every fifth."""
    return 1 if name in TINY else 5 if name in LARGE else 2


@cache
def prepared(name: str, folder: Path) -> tuple[uci.Floats, uci.Floats]:
    return uci.prepare(*uci.load(name, folder))


def work(cell: Cell, folder: Path | None) -> Rows:
    """Every method's test error, seconds and failures in one split."""
    name, chosen = suite(cell["suite"].split("-")[0])
    if name != cell["suite"] or folder is None:
        raise ValueError("The peers that can run here, or the data, are not those that the grid was made for.")
    X, y = prepared(cell["data"], folder)
    train, test = list(uci.splits(len(y), cell["split"] + 1))[-1]
    task = Task(X[train], y[train], cell["epsilon"], uci.delta(len(y)))
    most = CAP * float(np.mean(y**2))
    rows = []
    for contender in chosen:
        draws = 1 if contender.name == NON_PRIVATE else cell["slow"] if contender.slow else cell["draws"]
        if draws:
            rows.append(_one(contender, task, X[test], y[test], draws, most, cell))
    return rows


def _one(contender: Contender, task: Task, X: uci.Floats, y: uci.Floats, draws: int, most: float, cell: Cell) -> dict:
    """A failed fit predicts 0; an error is at most CAP times the trivial one."""
    key = f"{cell['data']} {contender.name} {cell['epsilon']} {cell['split']}".encode()
    rng = np.random.default_rng(zlib.crc32(key))
    errors, seconds, failed = [], [], 0
    for _ in range(draws):
        coef, took = contender.fit(task, rng)
        failed += coef is None
        with np.errstate(over="ignore", invalid="ignore"):
            error = float(np.mean((X @ (np.zeros(X.shape[1]) if coef is None else coef) - y) ** 2))
        errors.append(min(error, most) if np.isfinite(error) else most)
        seconds.append(took)
    found = {"method": contender.name, "fits": draws, "failed": failed, "trivial": float(np.mean(y**2))}
    return found | {
        "mse": float(np.mean(errors)),
        "sum_sq": float(np.sum(np.square(errors))),
        "seconds": float(np.mean(seconds)),
    }


def draw(ratios: pd.DataFrame) -> Mapping[str, Figure]:
    return {
        "comparison": comparison_pictures.by_epsilon(summary(ratios)),
        "comparison_sets": comparison_pictures.by_data(ratios),
    }


REPRODUCTION = Reproduction(
    name="comparison",
    title="All methods at equal true epsilon and delta",
    says="The default is the most accurate at every epsilon, and nowhere much worse than predicting 0.",
    cells=cells,
    work=work,
    condense=by_set,
    draw=draw,
    judge=comparison_page.judge,
    table=comparison_page.page,
    needs_data=True,
    note="The sets are prepared as in wang2018, which is not private (E18); the same for all methods.",
)
