r"""IBM's diffprivlib in an environment of its own: ``python -m experiments.comparison.peers.diffprivlib --setup``.

It does not import with the scikit-learn of our environment, so a process with scikit-learn 1.7 does the fits, arrays
going to and fro as npz files. The environment is a folder in the user's cache, or that named by DISCREET_DIFFPRIVLIB.

**What it promises.** Pure epsilon by the functional mechanism: Laplace noise on y'y, X'y and the upper triangle of X'X,
epsilon/K for each of K = 1 + d + d(d+1)/2 entries. Faults of 0.6.6: no noise at all on the diagonal of X'X where the
lower bounds are 0; no clipping without an intercept; with one, (d+2)/(d+1) of the budget is spent. The protocol avoids
them: bounds are -1 and 1, all rows lie within, and there is no intercept.

**What it keeps here.** With l = epsilon/K the scales are 1/l for y'y and the diagonal, 2/l for the rest. A row with
|x| <= 1 and |y| <= 1 moves entry k by a_k scales, and with s = |x|_1 <= sqrt d

    sum a_k   = l (y^2 + s |y|/2 + |x|^2 + (s^2 - |x|^2)/4)                       <= l (2 + sqrt d/2 + (d - 1)/4),
    sum a_k^2 = l^2 (y^4 + |x|^2 y^2/4 + sum x_j^4 + sum_{i<j} x_i^2 x_j^2/4)     <= l^2 9/4,

the first attained by a row with equal entries, the second by a unit vector. The first is pure privacy. An entry that
moves by a scales is a-private, hence a^2/2 zero-concentrated; together 9 l^2/8, which gives (epsilon, delta) by the
conversion of Canonne, Kamath and Steinke. The larger l of the two is used: it is the best that we can prove for it, and
far more than epsilon/K. Folding noise at 0 is post-processing.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import math
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PACKAGES = ("diffprivlib==0.6.6", "scikit-learn>=1.7,<1.8")
SQUARES = 9 / 4
"""The largest sum of a_k^2 over l^2."""


def environment() -> Path:
    """The folder of the environment."""
    cached = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet" / "diffprivlib"
    return Path(os.environ.get("DISCREET_DIFFPRIVLIB", cached))


def python() -> Path:
    """Its interpreter."""
    return environment() / ("Scripts" if os.name == "nt" else "bin") / "python"


def available() -> bool:
    """Whether the environment was set up."""
    return python().exists()


def set_up() -> None:
    """Make the environment and install the packages."""
    subprocess.run([sys.executable, "-m", "venv", str(environment())], check=True)
    subprocess.run([str(python()), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)


def releases(d: int) -> float:
    """K: epsilon is split evenly over so many entries."""
    return 1 + d + d * (d + 1) / 2


def equal_epsilon(epsilon: float, delta: float, d: int) -> float:
    """What to state so that rows of norm 1 are kept (epsilon, delta)-private, by the better of two proofs."""
    pure = epsilon / (2 + math.sqrt(d) / 2 + (d - 1) / 4)
    concentrated = math.sqrt(2 * largest_rho(epsilon, delta) / SQUARES)
    return releases(d) * max(pure, concentrated)


@cache
def largest_rho(epsilon: float, delta: float) -> float:
    """The largest zero-concentrated cost that the conversion turns into (epsilon, delta)."""
    order = 1 + np.geomspace(1e-3, 1e6, 4000)

    def converted(rho: float) -> float:
        spare = np.log1p(-1 / order) - (math.log(delta) + np.log(order)) / (order - 1)
        return float(np.min(rho * order + spare))

    low, high = 0.0, epsilon
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if converted(middle) <= epsilon else (low, middle)
    return low


def fit(X: Floats, y: Floats, epsilons: list[float], seeds: list[int]) -> tuple[Floats, Floats]:
    """Coefficients, one row a fit, and seconds, for each stated epsilon and its seed."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, X=X, y=y, epsilons=np.array(epsilons), seeds=np.array(seeds))
        worker = _worker()
        print(source, target, "", sep="\t", file=worker.stdin, flush=True)
        if worker.stdout is None or worker.stdout.readline().strip() != "done":
            _worker.cache_clear()
            raise RuntimeError("diffprivlib's process ended: set its environment up again.")
        with np.load(target) as found:
            return found["coefs"], found["seconds"]


@cache
def _worker() -> subprocess.Popen[str]:
    """One process for all fits; -P keeps this folder, whose file has the package's name, off its path."""
    script = Path(__file__).with_name("diffprivlib_worker.py")
    command = [str(python()), "-P", str(script)]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(_end, worker)
    return worker


def _end(worker: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        worker.communicate(timeout=10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The environment that diffprivlib runs in.")
    parser.add_argument("--setup", action="store_true", help="make it")
    if parser.parse_args().setup:
        set_up()
    print(f"{environment()}: {'ready' if available() else 'absent; make it with --setup'}")
