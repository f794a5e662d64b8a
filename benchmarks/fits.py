"""Seconds of default linear fits, beside an earlier revision: ``python -m benchmarks.fits --before REV``.

``DPLinearRegression`` at epsilon 1 on a pandas frame in memory, with one thread: the least processor time of 15 fits.
The larger epsilon times n is for the columns, the more stages a fit has.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np
import pandas as pd

from benchmarks.common import at_revision
from discreet import Domain, DPLinearRegression

SHAPES, FITS = ((2000, 5), (20_000, 10), (20_000, 40)), 15


def frame(n: int, d: int) -> tuple[pd.DataFrame, Domain]:
    """Correlated normal features, and an outcome that they explain half of."""
    rng = np.random.default_rng(0)
    X = np.clip(0.6 * rng.standard_normal((n, d)) + 0.3 * rng.standard_normal((n, 1)), -4, 4)
    y = np.clip(X @ rng.standard_normal(d) / np.sqrt(d) + rng.standard_normal(n), -8, 8)
    names = [f"x{i}" for i in range(d)]
    held = pd.DataFrame(X, columns=names).assign(y=y)
    return held, Domain(dict.fromkeys(names, (-4, 4)) | {"y": (-8, 8)})


def measured() -> dict[str, float]:
    """The seconds of a fit, by the shape of its table."""
    found = {}
    for n, d in SHAPES:
        table, domain = frame(n, d)
        seconds = []
        for seed in range(FITS):
            model = DPLinearRegression(epsilon=1, delta=1e-6, domain=domain, n_jobs=1, random_state=seed)
            start = time.process_time()
            model.fit_source(table, "y")
            seconds.append(time.process_time() - start)
        found[f"{n:,} x {d}"] = round(min(seconds), 5)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="REV", help="beside this revision")
    parser.add_argument("--print", action="store_true", help="print JSON")
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        now = measured()
    if asked.print:
        print(json.dumps(now))
        return
    before = at_revision(__file__, asked.before) if asked.before else {}
    for name, seconds in now.items():
        ratio = f"{seconds / before[name]:8.2f}" if name in before else ""
        print(f"{name:14} {before.get(name, ''):>10} {seconds:>10} {ratio}")


if __name__ == "__main__":
    main()
