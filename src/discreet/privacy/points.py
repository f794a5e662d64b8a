"""Iterates: points of the lattice 2^-16, and the text that files keep them in."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from numpy.typing import NDArray

from discreet.errors import FileFormatError

Floats = NDArray[np.float64]

POINT_BITS = 16
"""Iterates are multiples of 2^-16, so that their gradients are exact."""

MAX_POINTS = 10_000


def kept(theta: Floats, radius: float) -> Floats:
    """The lattice point near theta, or near its projection onto a ball.

    Examples
    --------
    >>> kept(np.array([3.0, 4.0]), 1.0) * 2**16
    array([39322., 52429.])
    """
    inside = theta * min(1.0, radius / max(float(np.linalg.norm(theta)), 1e-300))
    rounded: Floats = np.ldexp(np.rint(np.ldexp(inside, POINT_BITS)), -POINT_BITS)
    return rounded


def pack(points: tuple[float, ...], width: int) -> str:
    """Points of so many coordinates, one after the other, as text: base64 of zlib of 32-bit integers.

    The integers are the first point and the steps from each point to the next, in units of 2^-16, little-endian.

    Examples
    --------
    >>> unpack(pack((0.0, 0.0, 0.5, -0.25), 2), 2)
    [0.0, 0.0, 0.5, -0.25]
    """
    whole = np.ldexp(np.reshape(points, (-1, width)), POINT_BITS)
    steps = np.diff(whole, axis=0, prepend=0.0)
    return base64.b64encode(zlib.compress(steps.astype("<i4").tobytes(), 9)).decode("ascii")


def unpack(text: str, width: int) -> list[float]:
    """The points that `pack` made a text of."""
    try:
        unpacker, size = zlib.decompressobj(), 4 * max(width, 1)
        steps = unpacker.decompress(base64.b64decode(text, validate=True), size * MAX_POINTS)
        if not unpacker.eof or unpacker.unused_data or len(steps) % size:
            raise ValueError
    except (TypeError, ValueError, zlib.error):
        raise FileFormatError("An event of the release lists iterates that are damaged.") from None
    whole = np.cumsum(np.frombuffer(steps, dtype="<i4").reshape(-1, size // 4).astype(np.int64), axis=0)
    points: list[float] = np.ldexp(whole.astype(float), -POINT_BITS).ravel().tolist()
    return points
