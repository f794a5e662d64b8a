"""The lock file of CI: ``python -m distribution.lock`` writes distribution/ci.lock.

It names every package that tests, checks, pages and archives are made with, by its version and the hashes of its files,
for each Python and system. ``make LOCKED=1`` installs these and no others.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "distribution" / "ci.lock"
EXTRAS = ("dev", "dist")


def main() -> None:
    """Write it, with the newest versions that fit together; the old file's are kept if they still do."""
    extras = [part for name in EXTRAS for part in ("--extra", name)]
    options = [
        "--quiet",
        "--universal",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--python-version",
        "3.11",
    ]
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", *options, *extras]
    subprocess.run([*command, *sys.argv[1:], "--output-file", str(FILE)], check=True, cwd=ROOT)
    print(FILE)


if __name__ == "__main__":
    main()
