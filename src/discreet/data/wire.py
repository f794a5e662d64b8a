"""Serialisation of exact sums: bytes marked as confidential, with a kind, a version and a digest."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Ints
from discreet.errors import FileFormatError

NOTE = "CONFIDENTIAL: exact statistics of private data. Not a release; do not publish or share."

_VERSIONS = (1,)
_BEGINNING = (NOTE + "\n").encode()
_DIGEST = hashlib.sha256().digest_size


def packed(kind: str, facts: Mapping[str, Any], arrays: Sequence[Ints]) -> bytes:
    """Pack JSON-ready facts and arrays of 64-bit integers into bytes.

    Examples
    --------
    >>> unpacked("example", packed("example", {"column": "y"}, [np.arange(3)]))
    ({'column': 'y'}, [array([0, 1, 2])])
    """
    header = {"kind": kind, "format_version": _VERSIONS[-1], "facts": facts, "shapes": [a.shape for a in arrays]}
    parts = [json.dumps(header).encode(), b"\n", *(a.astype("<i8").tobytes() for a in arrays)]
    body = zlib.compress(b"".join(parts), level=1)
    return _BEGINNING + hashlib.sha256(body).digest() + body


def unpacked(kind: str, content: bytes) -> tuple[dict[str, Any], list[Ints]]:
    """Unpack the bytes of `packed`; refuse damaged ones, and those of another kind or a later version."""
    body = content[len(_BEGINNING) + _DIGEST :]
    if not content.startswith(_BEGINNING):
        raise FileFormatError(f"These bytes are not {kind} of discreet.")
    if content[len(_BEGINNING) :][:_DIGEST] != hashlib.sha256(body).digest():
        raise FileFormatError("These bytes are damaged: their SHA-256 does not match. Ask for a fresh copy.")
    text, _, numbers = zlib.decompress(body).partition(b"\n")
    header = json.loads(text)
    if header["kind"] != kind:
        raise FileFormatError(f"These bytes are not {kind} of discreet, but {checks.shown(header['kind'])}.")
    if header["format_version"] not in _VERSIONS:
        raise FileFormatError(
            f"These bytes have format_version {checks.shown(header['format_version'])}; this version of discreet reads "
            f"{', '.join(map(str, _VERSIONS))}."
        )
    shapes = [tuple(shape) for shape in header["shapes"]]
    sizes = [int(np.prod(shape)) for shape in shapes]
    flat = np.split(np.frombuffer(numbers, "<i8").astype(np.int64), np.cumsum(sizes)[:-1])
    return header["facts"], [own.reshape(shape) for own, shape in zip(flat, shapes, strict=True)] if shapes else []
