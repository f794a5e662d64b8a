"""Reproducible builds of the wheel and the source archive, and their bill of materials.

The archives are dated by `date-released` of CITATION.cff, so the same bytes are built everywhere.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def epoch() -> str:
    """The day of the release, as SOURCE_DATE_EPOCH has it."""
    (day,) = re.findall(r"^date-released: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    return str(int(dt.datetime.fromisoformat(day).replace(tzinfo=dt.UTC).timestamp()))


def build(out: Path, root: Path = ROOT) -> list[Path]:
    """The source archive of a checkout, and the wheel that is made from that archive."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(root)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"SOURCE_DATE_EPOCH": epoch()})
    return sorted([*out.glob("discreet-*.whl"), *out.glob("discreet-*.tar.gz")])


def build_again(archive: Path, out: Path) -> list[Path]:
    """The same from an unpacked source archive, in another folder and with other times and rights of files."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder, filter="data")
        (root,) = Path(folder).iterdir()
        for path in root.rglob("*"):
            path.chmod(path.stat().st_mode & 0o700)
            os.utime(path, (1e9, 1e9))
        return build(out, root)


def digests(paths: list[Path]) -> dict[str, str]:
    """SHA-256 of files, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def install(wheel: Path, place: Path) -> Path:
    """A fresh environment with the wheel and what it needs, nothing else; its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", str(wheel)]
    subprocess.run(pip, check=True)
    return python


def bill_of_materials(python: Path, out: Path) -> None:
    """What an environment holds, as CycloneDX JSON."""
    given = ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library"]
    given += ["--output-reproducible", "--of", "JSON", "-o", str(out)]
    command = [sys.executable, "-m", "cyclonedx_py", "environment", *given, str(python)]
    subprocess.run(command, check=True, capture_output=True)


def licences(bill: Path, out: Path) -> None:
    """The packages of a bill of materials with their licences, as text; an error where one has none."""
    listed = {one["name"]: (one["version"], licence(one)) for one in json.loads(bill.read_text())["components"]}
    if missing := [name for name, (_, words) in listed.items() if not words]:
        raise SystemExit(f"No licence is known of: {', '.join(missing)}.")
    lines = [f"{name} {version}: {words}" for name, (version, words) in sorted(listed.items())]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def licence(component: dict[str, Any]) -> str:
    """The licences of a component in a few words: expressions and identifiers, else the first line of a text.

    Examples
    --------
    >>> licence({"licenses": [{"license": {"id": "MIT"}}, {"license": {"name": "License :: OSI :: BSD License"}}]})
    'MIT; BSD License'
    """
    found = component.get("licenses", [])
    words = [one.get("expression") or one["license"].get("id") or one["license"].get("name", "") for one in found]
    return "; ".join(
        dict.fromkeys(each.strip().split("\n")[0].split(" :: ")[-1][:80] for each in words if each.strip())
    )
