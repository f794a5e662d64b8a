"""A private PostgreSQL server in a folder, for tests and benchmarks: Debian's binaries, no network, no password."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def binaries() -> Path | None:
    """Where the server's programs are, if they are anywhere."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    path = str(found[-1]) if found else shutil.which("initdb")
    return Path(path).parent if path else None


@contextlib.contextmanager
def server(*, durable: bool = False) -> Iterator[str]:
    """The address of a server that ends with the block; `durable` waits for the disk."""
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    own, programs = _own(folder), binaries()
    assert programs is not None
    options = f"-k {folder} -h '' -c fsync={'on' if durable else 'off'} -c max_connections=300"

    def call(program: str, *options: str) -> None:
        command = [str(programs / program), "-D", str(folder / "data"), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **own)

    try:
        call("initdb", "-A", "trust", "-U", "discreet", "--no-sync")
        call("pg_ctl", "-o", options, "-w", "-l", str(folder / "log"), "start")
        try:
            yield f"postgresql://discreet@/postgres?host={folder}"
        finally:
            call("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def schema(address: str, name: str) -> str:
    """The address of a new schema."""
    import psycopg

    with contextlib.closing(psycopg.connect(address, autocommit=True)) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{address}&options=-csearch_path%3D{name}"


def _own(folder: Path) -> dict[str, str]:
    """The server refuses to be root, so it is the package's own user then."""
    if os.getuid() != 0:
        return {"cwd": str(folder)}
    shutil.chown(folder, "postgres")
    return {"cwd": str(folder), "user": "postgres"}
