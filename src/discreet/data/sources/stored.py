"""Files in object storage, named by addresses such as ``s3://bucket/people``, through pyarrow's file systems.

Schemes that pyarrow does not know are left to fsspec. Addresses may hold keys, so errors name files only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.fs

from discreet.data.sources.base import missing_package
from discreet.errors import DataError, FileFormatError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_FAILURES = (pa.ArrowException, OSError, ValueError, TypeError, KeyError)


@dataclass(frozen=True, repr=False)
class StoredFile:
    """A file in object storage.

    Parameters
    ----------
    system : pyarrow.fs.FileSystem
        The file system that opens it.
    path : str
        Its path there.
    size : int
        Bytes.
    """

    system: pa.fs.FileSystem
    path: str
    size: int

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePosixPath(self.path).name

    def open(self) -> pa.NativeFile:
        """Open the file for random access."""
        try:
            return self.system.open_input_file(self.path)
        except _FAILURES:
            raise FileFormatError(f"{self.name} cannot be opened in its storage.") from None

    def __repr__(self) -> str:
        return f"StoredFile({self.name!r})"


class Stamps:
    """The sizes and modification times of files, to detect files that are replaced.

    Parts of a file are read one after the other, and if it is replaced meanwhile, a row may be in two of them.
    """

    def __init__(self, files: Sequence[Path | StoredFile]) -> None:
        self._files = list(files)
        self._stamps = _stamps(self._files)

    def check(self) -> None:
        """Refuse files that changed."""
        for file, before, now in zip(self._files, self._stamps, _stamps(self._files), strict=True):
            if before != now:
                raise FileFormatError(f"{file.name} has changed since it was opened.")


def _stamps(files: Sequence[Path | StoredFile]) -> list[Any]:
    local = {file: _stamp(file) for file in files if isinstance(file, Path)}
    by_system: dict[int, list[StoredFile]] = {}
    for file in files:
        if isinstance(file, StoredFile):
            by_system.setdefault(id(file.system), []).append(file)
    stored: dict[str, Any] = {}
    for own in by_system.values():
        try:
            infos = own[0].system.get_file_info([file.path for file in own])
        except _FAILURES:
            raise FileFormatError(f"{own[0].name} cannot be opened in its storage.") from None
        stored |= {file.path: (info.size, info.mtime_ns) for file, info in zip(own, infos, strict=True)}
    return [local[file] if isinstance(file, Path) else stored[file.path] for file in files]


def _stamp(file: Path) -> Any:
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def is_stored(path: Any) -> bool:
    """Whether a path is an address of object storage, or of files elsewhere.

    Examples
    --------
    >>> is_stored("s3://bucket/people.parquet"), is_stored("people.parquet"), is_stored("C:/people.parquet")
    (True, False, False)
    """
    return isinstance(path, str) and bool(_ADDRESS.match(path))


def stored_files(address: str) -> list[StoredFile]:
    """Return the Parquet files that an address names: itself, or those in a folder and below, sorted by name."""
    name = PurePosixPath(re.sub(r"[?#].*", "", address)).name
    try:
        system, path = _system(address)
        found = system.get_file_info(path)
        below = system.get_file_info(pa.fs.FileSelector(path, recursive=True)) if _is_folder(found) else [found]
    except _FAILURES:
        raise DataError(f"The storage of {name} cannot be reached, or refuses these credentials.") from None
    files = [StoredFile(system, info.path, info.size or 0) for info in below if info.type == pa.fs.FileType.File]
    files = [file for file in files if not file.name.startswith(("_", "."))]
    if not files:
        raise DataError(f"There is no file {name}, or nothing in it.")
    other = next((file for file in files if not file.name.lower().endswith(".parquet")), None)
    if other is not None:
        raise DataError(f"{other.name} is no .parquet file, and only those are read from storage.")
    return sorted(files, key=lambda file: file.path)


def _is_folder(info: Any) -> bool:
    return bool(info.type == pa.fs.FileType.Directory)


def _system(address: str) -> tuple[pa.fs.FileSystem, str]:
    try:
        return pa.fs.FileSystem.from_uri(address)  # type: ignore[no-any-return]
    except pa.ArrowInvalid:
        pass
    try:
        import fsspec
    except ImportError:
        raise missing_package("fsspec", "dask") from None
    system, path = fsspec.core.url_to_fs(address)
    return pa.fs.PyFileSystem(pa.fs.FSSpecHandler(system)), path
