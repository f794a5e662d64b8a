"""A private classifier of pictures: ten classes, 3,969 fixed features, 60,000 rows: ``python -m experiments.fashion``.

Fashion-MNIST (Debian's package ``dataset-fashion-mnist``) in features that nothing is learnt for: wavelet scattering
(``pip install kymatio torch``; without torch it takes longer), normalised within each picture in 27 groups of channels
and scaled to length 1. `DPLogisticRegression` with its defaults is fitted at each epsilon with several seeds; the
accuracy on the 10,000 test pictures stands beside that of ridge without privacy and of a published linear model on such
features. Nothing is tuned on the labels.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import DPLogisticRegression
from experiments.record import report

Floats = NDArray[np.float32]

FOLDER = Path("/usr/share/datasets/fashion-mnist")
EPSILONS, DELTA, SEEDS = (3.0, 1.0), 1e-5, 5
CLASSES, SIDE, GROUPS = 10, 28, 27
PUBLISHED = {3.0: 89.7}
"""Tramer and Boneh 2021, a linear model on ScatterNet features by DP-SGD at (3, 1e-5)."""

_BATCH, _PENALTY = 1000, 1e-3
HERE = Path(__file__).parent / "results"


def pictures(part: str, folder: Path = FOLDER) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Pictures and classes of one part, ``"train"`` or ``"t10k"``."""
    read = (
        gzip.decompress((folder / f"{part}-{name}-ubyte.gz").read_bytes()) for name in ("images-idx3", "labels-idx1")
    )
    images, labels = (
        np.frombuffer(content, np.uint8, offset=start) for content, start in zip(read, (16, 8), strict=True)
    )
    return images.reshape(-1, SIDE, SIDE), labels


def scattering() -> Any:
    """Wavelet scattering of pictures, with J = 2 scales and L = 8 angles: 81 channels of 7 x 7."""
    try:
        import torch
        from kymatio.scattering2d.frontend.torch_frontend import ScatteringTorch2D
    except ImportError:
        from kymatio.scattering2d.frontend.numpy_frontend import ScatteringNumPy2D

        return ScatteringNumPy2D(J=2, shape=(SIDE, SIDE), L=8)
    transform = ScatteringTorch2D(J=2, shape=(SIDE, SIDE), L=8)
    return lambda batch: transform(torch.tensor(batch)).numpy()


def features(images: NDArray[np.uint8], transform: Any) -> Floats:
    """Features of each picture by itself, of length 1."""
    found = np.empty((len(images), 81 * 49), np.float32)
    for i in range(0, len(images), _BATCH):
        own = transform(images[i : i + _BATCH].astype(np.float32) / 255)
        grouped = own.reshape(len(own), GROUPS, -1)
        grouped = grouped - grouped.mean(axis=2, keepdims=True)
        grouped /= np.sqrt(grouped.var(axis=2, keepdims=True) + 1e-5)
        found[i : i + _BATCH] = grouped.reshape(len(own), -1)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def accuracy(predicted: NDArray[Any], truth: NDArray[Any]) -> float:
    """The percentage of pictures whose class is predicted."""
    return 100 * float(np.mean(predicted == truth))


def ridge(X: Floats, y: NDArray[Any], X_test: Floats) -> NDArray[Any]:
    """Classes predicted by ridge regression of the classes' indicators, without privacy."""
    mean, Y = X.mean(axis=0), np.eye(CLASSES, dtype=np.float32)[y]
    Z = X - mean
    gram = (Z.T @ Z).astype(np.float64)
    gram[np.diag_indices(len(gram))] += _PENALTY * len(X) / len(gram)
    weights = np.linalg.solve(gram, (Z.T @ (Y - Y.mean(axis=0))).astype(np.float64))
    return np.argmax((X_test - mean) @ weights.astype(np.float32) + Y.mean(axis=0), axis=1)


def private(
    X: Floats, y: NDArray[Any], X_test: Floats, truth: NDArray[Any], epsilon: float, seed: int, **options: Any
) -> dict[str, Any]:
    """One simulated fit."""
    start = time.perf_counter()
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "rows": len(X), "random_state": seed}
    model = DPLogisticRegression(data_norm=1.0, classes=list(range(CLASSES)), **promise, **options).fit(X, y)
    seconds = time.perf_counter() - start
    found = {"epsilon": epsilon, "seed": seed, "accuracy": round(accuracy(model.predict(X_test), truth), 2)}
    steps = {} if options else {"steps": len(model.certificate_.events) - 4}
    return found | options | steps | {"seconds": round(seconds, 1)}


def _row(method: str, epsilon: float, fits: list[dict[str, Any]]) -> dict[str, Any]:
    found = np.array([fit["accuracy"] for fit in fits])
    return {
        "method": method,
        "epsilon": epsilon,
        "accuracy": round(float(found.mean()), 2),
        "sd": round(float(found.std(ddof=1)), 2) if len(found) > 1 else None,
        "seconds": round(float(np.median([fit["seconds"] for fit in fits])), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, default=FOLDER, help="the folder of Fashion-MNIST's four files")
    parser.add_argument("--epsilon", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--one-stage", type=int, default=0, help="seeds in one stage: 15 minutes a fit")
    parser.add_argument("--rows", type=int, help="only so many pictures for training: for a quick look")
    parser.add_argument("--out", type=Path, default=HERE / "fashion.json")
    given = parser.parse_args()
    start, transform = time.perf_counter(), scattering()
    (train, y), (test, truth) = (pictures(part, given.pictures) for part in ("train", "t10k"))
    X, X_test = (features(images, transform) for images in (train[: given.rows], test))
    y = y[: given.rows]
    made = time.perf_counter() - start
    fits = [private(X, y, X_test, truth, epsilon, seed) for epsilon in given.epsilon for seed in range(given.seeds)]
    for epsilon in given.epsilon:
        fits += [private(X, y, X_test, truth, epsilon, seed, stages=1) for seed in range(given.one_stage)]
    rows = []
    for epsilon in given.epsilon:
        for method, stages in (("DPLogisticRegression", None), ("one stage", 1)):
            own = [fit for fit in fits if fit["epsilon"] == epsilon and fit.get("stages") == stages]
            rows += [_row(method, epsilon, own)] if own else []
        if epsilon in PUBLISHED:
            rows.append({"method": "DP-SGD, published", "epsilon": epsilon, "accuracy": PUBLISHED[epsilon]})
    rows.append({"method": "ridge without privacy", "accuracy": round(accuracy(ridge(X, y, X_test), truth), 2)})
    whole = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows.append({"method": "features, and everything", "seconds": round(made, 1), "all_seconds": round(whole, 1)})
    rows[-1]["peak_GB"] = round(peak, 1)
    title = f"Fashion-MNIST, {len(X):,} pictures, {X.shape[1]:,} features, delta {DELTA:g}: accuracy in per cent"
    report(title, ["method", "epsilon", "accuracy", "sd", "seconds", "all_seconds", "peak_GB"], rows, given.out, fits)


if __name__ == "__main__":
    main()
