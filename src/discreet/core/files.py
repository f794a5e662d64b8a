"""Atomic writing of files, and reading them with clear errors.

Every saved document is read and written here. Its kind, version, digest and numbers are checked, and any other error
inside it is reported with the file's name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import secrets
import tempfile
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from discreet.core import checks
from discreet.errors import DiscreetError, FileFormatError, MissingPackageError, ParameterError

T = TypeVar("T")

KINDS = {
    "release": "a release",
    "model": "released coefficients",
    "results": "a fitted model",
    "many results": "several fitted models",
    "plan": "a plan",
    "signature": "a signature",
    "ledger": "an exported ledger",
    "ledger head": "the head of a ledger",
}
"""Descriptions of the kinds of documents."""

_HANDLES = Path("/proc/self/fd")
"""The folder where Linux shows open files, including those without a name."""

DIGITS = 300
"""The most digits of a whole number: longer ones exceed floats, and Python may refuse to read them."""


@contextlib.contextmanager
def atomic_write(path: str | Path, *, confidential: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only once it is complete and on disk.

    When anything fails (a full disk, Ctrl-C) the partial file is removed and an older file of that name stays. Where
    the system has files without a name, a kill leaves nothing either.
    """
    path, mode = Path(path), 0o600 if confidential else 0o644
    try:
        handle, name = _begun(path)
    except OSError as error:
        raise _naming(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(handle)
            name = _linked(handle, path, mode) if name is None else name
        if name != path:
            name.chmod(mode)
            name.replace(path)
    except BaseException as error:
        if name not in (None, path):
            name.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _naming(path, error) from None
        raise


def _begun(path: Path) -> tuple[int, Path | None]:
    """Create a file beside another: without a name where the system has such files, else with a hidden name."""
    if hasattr(os, "O_TMPFILE") and _HANDLES.is_dir():
        with contextlib.suppress(OSError):
            return os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o600), None
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    return handle, Path(name)


def _linked(handle: int, path: Path, mode: int) -> Path:
    """Link a file without a name to its path, or to a hidden name if the path is taken."""
    os.fchmod(handle, mode)
    for name in (path, path.with_name(f".{path.name}.{secrets.token_hex(4)}")):
        with contextlib.suppress(FileExistsError):
            os.link(_HANDLES / str(handle), name, src_dir_fd=0)  # so that Python follows the link
            return name
    raise FileExistsError(f"{path} cannot be written.")


def _naming(path: Path, error: OSError) -> OSError:
    """Set the file name of an error to the one that the user knows, not that of the partial file."""
    error.filename = str(path)
    return error


def canonical(body: Any) -> bytes:
    """Return the canonical bytes of a JSON value, for digests."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest(body: dict[str, Any]) -> str:
    """Return the SHA-256 of a document without its own digest."""
    return hashlib.sha256(canonical({k: v for k, v in body.items() if k != "sha256"})).hexdigest()


def write_document(path: str | Path, body: dict[str, Any], *, overwrite: bool = True) -> None:
    """Write a JSON document with its digest; replace an existing file only if that is allowed."""
    if not overwrite and Path(path).exists():
        raise ParameterError(f"{path} exists already. Name another file, or replace it with overwrite=True.")
    body = body | {"sha256": digest(body)}
    with atomic_write(path) as file:
        file.write(json.dumps(body, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n")


@dataclass(frozen=True)
class Document:
    """A JSON file that was read once, so that its content and its signature are checked on the same bytes."""

    path: Path
    body: Any

    @classmethod
    def read(cls, path: str | Path, *, pipes: bool = False) -> Document:
        """Read a file; pipes, such as standard input, only if `pipes` is true."""
        path = Path(path)
        if not (pipes and path.is_fifo()):
            refuse_special(path)
        return cls(path, _parsed(path, path.read_bytes()))

    @classmethod
    def of(cls, source: Source) -> Document:
        """Return a document unchanged, or read the one at a path."""
        return source if isinstance(source, Document) else cls.read(source)

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    @property
    def kind(self) -> str | None:
        """The kind that the document declares, or None."""
        kind = self.body.get("kind") if isinstance(self.body, dict) else None
        return kind if isinstance(kind, str) else None


Source = str | Path | Document
"""The path of a document, or the document itself."""


def load_document(source: Source, kind: str, versions: tuple[int, ...], build: Callable[[dict[str, Any]], T]) -> T:
    """Read and check a document and build an object from its body; errors name the file."""
    document = Document.of(source)
    body = read_document(document, kind, versions)
    with reading(document.path):
        return build(body)


@contextlib.contextmanager
def reading(path: str | Path, *, kept: tuple[type[DiscreetError], ...] = ()) -> Iterator[None]:
    """Convert the errors of malformed content to a `FileFormatError` that names the file.

    Building objects from malformed content may raise any exception, so all are converted except those in `kept`, which
    people can act on, and that of a package that is not installed, for which the file is not to blame.
    """
    name = Path(path).name
    try:
        yield
    except MissingPackageError:
        raise
    except kept:
        raise
    except FileFormatError as error:
        raise FileFormatError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None
    except Exception:
        raise FileFormatError(f"{name} is damaged: its parts do not fit together.") from None


def read_document(source: Source, kind: str, versions: tuple[int, ...]) -> dict[str, Any]:
    """Return the body of a JSON document of a given kind, after checks of its version and digest."""
    document = Document.of(source)
    name, found, body = document.name, document.kind, document.body
    if found != kind:
        told = f" It holds {KINDS[found]}." if found in KINDS else ""
        raise FileFormatError(f"{name} is not a {kind} file of discreet.{told}")
    version = body.get("format_version")
    if type(version) is not int or version not in versions:
        raise FileFormatError(
            f"{name} has format_version {checks.shown(version)}; this version of discreet reads "
            f"{', '.join(map(str, versions))}. A newer discreet can read it."
        )
    if not _is_whole(body):
        raise FileFormatError(
            f"{name} was damaged or edited: its SHA-256 does not match its content. "
            "Ask whoever made it for a fresh copy."
        )
    whole: dict[str, Any] = body
    return whole


def _is_whole(body: dict[str, Any]) -> bool:
    try:
        return bool(body.get("sha256") == digest(body))
    except (ValueError, RecursionError):  # NaN and infinity, which JSON does not have
        return False


def refuse_special(path: str | Path) -> None:
    """Refuse a folder, pipe, socket or device before it is opened, since reading it may never end."""
    if Path(path).exists() and not Path(path).is_file():
        what = "a folder" if Path(path).is_dir() else "a pipe, a socket or a device"
        raise FileFormatError(f"{Path(path).name} is {what}. Save its content as a file, and name that one.")


def read_json(path: str | Path) -> Any:
    """Read a JSON file, with errors that name it; refuse repeated entries and whole numbers that exceed a float."""
    return Document.read(path).body


def _parsed(path: Path, content: bytes) -> Any:
    with reading(path):
        try:
            return json.loads(content, object_pairs_hook=_once, parse_int=_integer)
        except FileFormatError:
            raise
        except RecursionError:
            raise FileFormatError("its entries are nested too deeply.") from None
        except ValueError:
            name = path.name
            raise FileFormatError(f"{name} is not complete JSON: it is truncated or of another kind.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; refuse repeated names."""
    body = dict(pairs)
    if len(body) < len(pairs):
        twice = checks.repeated([name for name, _ in pairs])
        raise FileFormatError(f"the entry {checks.shown(twice)} stands twice, so it is unclear which one is meant.")
    return body


def _integer(text: str) -> int:
    if len(text) > DIGITS:
        raise FileFormatError(f"it holds a number of more than {DIGITS} digits, which nothing here can have.")
    return int(text)


# ---------------------------------------------------------------- comparison of a document with its recomputed body

MOST_TOLD = 20
"""The most differences that are listed; further ones are only counted."""


def differences(listed: Any, found: Any, *, missing: Container[str] = ()) -> list[str]:
    """Describe where a document differs from its recomputed body; numbers may differ by rounding errors.

    Parameters
    ----------
    listed, found : object
        The body of the document, and the body that would be written from the objects built from it.
    missing : container of str
        Entries that older programs did not write.

    Examples
    --------
    >>> differences({"unit": "a row", "exact": True, "more": 1}, {"unit": "a person", "exact": True, "sd": 2.0})
    ["unit is 'a row', and follows from the rest as 'a person'", 'sd is missing', 'more is unknown here']
    """
    told = list(_differing(listed, found, "", missing))
    return told if len(told) <= MOST_TOLD else [*told[:MOST_TOLD], f"and {len(told) - MOST_TOLD} more"]


def _differing(listed: Any, found: Any, place: str, missing: Container[str]) -> Iterator[str]:
    if isinstance(listed, dict) and isinstance(found, dict):
        for name, inner in found.items():
            at = f"{place}.{name}" if place else name
            if name in listed:
                yield from _differing(listed[name], inner, at, missing)
            elif at not in missing:
                yield f"{at} is missing"
        yield from (f"{place}.{name}"[not place :] + " is unknown here" for name in listed if name not in found)
    elif isinstance(listed, list) and isinstance(found, list | tuple) and len(listed) == len(found):
        for i, pair in enumerate(zip(listed, found, strict=True)):
            yield from _differing(*pair, f"{place}[{i}]", missing)
    elif not _is_same(listed, found):
        yield f"{place} is {checks.shown(listed)}, and follows from the rest as {checks.shown(found)}"


def _is_same(listed: Any, found: Any) -> bool:
    if type(listed) is type(found) and bool(listed == found):
        return True
    return checks.is_real(listed) and checks.is_real(found) and math.isclose(listed, found, rel_tol=1e-9)
