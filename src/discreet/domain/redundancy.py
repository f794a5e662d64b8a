"""Collinear terms of a model: ``age + center(age)``, ``poly(x, 1) + bs(x, df=3)``.

They are found without data: over points that fill the declared bounds evenly, a term is told from the others or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import SILENT, Floats
from discreet.domain.domain import Domain
from discreet.domain.encoding import Encoder

_LARGEST = 300
_SMALL = 1e-9


def redundant(domain: Domain, features: Sequence[str]) -> list[str]:
    """Return the coordinates of a model that are linear combinations of those before them.

    Examples
    --------
    >>> from discreet import formula
    >>> model = formula("~ x + log(x) + I(2*x)", Domain({"x": (1, 2), "y": (0, 1)}))
    >>> redundant(model.domain, model.features)
    ['I(2 * x)']
    """
    made = [name for name in features if any(f.expression is not None for f in domain.columns[name].factors)]
    places = domain.design(features)
    if not made or len(places) > _LARGEST:
        return []
    encoder, values = Encoder(domain), _points(domain, 3 * len(places) + 100)
    A = encoder.empty(len(next(iter(values.values()))))
    for name in features:
        encoder.write(name, values, A)
    with np.errstate(**SILENT):
        X: Floats = (A / encoder.unit / np.where(encoder.unit == 1.0, encoder.half, 1.0))[:, places]
        sizes = np.sqrt(np.sum(X * X, axis=0))
        R = np.linalg.qr(X / np.where(sizes > 0, sizes, 1.0), mode="r")
    return [domain.entries[i].name for i, r in zip(places, np.abs(np.diag(R)), strict=True) if r < _SMALL]


def _points(domain: Domain, rows: int) -> dict[str, NDArray[Any]]:
    """Return points that fill the bounds evenly: fractional parts of multiples of roots of primes."""
    found: dict[str, NDArray[Any]] = {}
    for (name, spec), step in zip(domain.inputs.items(), _steps(len(domain.inputs)), strict=True):
        found[name] = spec.at_shares(np.arange(1, rows + 1) * step % 1.0)
    return found


def _steps(count: int) -> list[float]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return [math.sqrt(prime) % 1.0 for prime in found]
