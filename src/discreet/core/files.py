"""Writing files so that nothing is ever half-written, and reading them with clear errors."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from discreet.errors import FileFormatError

KINDS = {
    "release": "a release",
    "model": "released coefficients",
    "results": "a fitted model",
    "many results": "several fitted models",
    "plan": "a plan",
}
"""What documents hold, by the kind that they say they are."""


@contextlib.contextmanager
def atomic_write(path: str | Path, *, confidential: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only once it is complete and on disk.

    When anything fails (a full disk, Ctrl-C) the partial file is removed and an older file of that name stays.
    """
    path = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _naming(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o600 if confidential else 0o644)
        Path(name).replace(path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _naming(path, error) from None
        raise


def _naming(path: Path, error: OSError) -> OSError:
    """The error with the name that the user knows instead of none, or of that of a partial file."""
    error.filename = str(path)
    return error


def canonical(body: Any) -> bytes:
    """One spelling of a JSON value, for digests."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest(body: dict[str, Any]) -> str:
    """SHA-256 of a document without its own digest."""
    return hashlib.sha256(canonical({k: v for k, v in body.items() if k != "sha256"})).hexdigest()


def write_document(path: str | Path, body: dict[str, Any]) -> None:
    """Write a JSON document with its digest."""
    body = body | {"sha256": digest(body)}
    with atomic_write(path) as file:
        file.write(json.dumps(body, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n")


def read_document(path: str | Path, kind: str, versions: tuple[int, ...]) -> dict[str, Any]:
    """Read a JSON document of a given kind and check its digest."""
    body = read_json(path)
    if not isinstance(body, dict) or body.get("kind") != kind:
        held = KINDS.get(str(body.get("kind"))) if isinstance(body, dict) else None
        told = f" It holds {held}." if held else ""
        raise FileFormatError(f"{Path(path).name} is not a {kind} file of discreet.{told}")
    if body.get("format_version") not in versions:
        raise FileFormatError(
            f"{Path(path).name} has format_version {body.get('format_version')!r}; this version of discreet reads "
            f"{', '.join(map(str, versions))}. A newer discreet can read it."
        )
    if not _is_whole(body):
        raise FileFormatError(
            f"{Path(path).name} was damaged or edited: its SHA-256 does not match its content. "
            "Ask whoever made it for a fresh copy."
        )
    return body


def _is_whole(body: dict[str, Any]) -> bool:
    try:
        return body.get("sha256") == digest(body)
    except ValueError:  # NaN and infinity, which JSON does not have
        return False


def refuse_special(path: str | Path) -> None:
    """Refuse a folder, a pipe, a socket or a device, before it is opened: that may never end."""
    if Path(path).exists() and not Path(path).is_file():
        what = "a folder" if Path(path).is_dir() else "a pipe, a socket or a device"
        raise FileFormatError(f"{Path(path).name} is {what}. Save its content as a file, and name that one.")


def read_json(path: str | Path) -> Any:
    """Read JSON text, with an error that names the file."""
    refuse_special(path)
    try:
        return json.loads(Path(path).read_bytes(), object_pairs_hook=_once)
    except FileFormatError as error:
        raise FileFormatError(f"{Path(path).name}: {error}") from None
    except (ValueError, RecursionError):
        raise FileFormatError(f"{Path(path).name} is not complete JSON: it is truncated or of another kind.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, each of whose names stands once."""
    body = dict(pairs)
    if len(body) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"the entry {twice!r} stands twice, so it is unclear which one is meant.")
    return body
