"""Runs in diffprivlib's own environment: a line with the paths of an npz to read and of one to write, then the next.

In: X, y, epsilons, seeds. Out: for each fit a row of coefficients, NaN where it broke off, and the processor's seconds.
"""

from __future__ import annotations

import contextlib
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LinearRegression


def answer(source: str, target: str) -> None:
    with np.load(source) as given:
        X, y, epsilons, seeds = (given[name] for name in ("X", "y", "epsilons", "seeds"))
    coefs, seconds = np.full((len(seeds), X.shape[1]), np.nan), np.zeros(len(seeds))
    for i, (epsilon, seed) in enumerate(zip(epsilons, seeds, strict=True)):
        model = LinearRegression(
            epsilon=float(epsilon), bounds_X=(-1, 1), bounds_y=(-1, 1), fit_intercept=False, random_state=int(seed)
        )
        start = time.process_time()
        with contextlib.suppress(ArithmeticError, ValueError, np.linalg.LinAlgError):
            coefs[i] = model.fit(X, y).coef_
        seconds[i] = time.process_time() - start
    np.savez(target, coefs=coefs, seconds=seconds)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for line in sys.stdin:
        answer(*line.split("\t")[:2])
        print("done", flush=True)
