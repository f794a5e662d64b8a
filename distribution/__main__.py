"""Build everything that is published: ``make dist``, or ``python -m distribution``.

The wheel and the source archive are built twice, the second time from the unpacked source archive, and must be the same
bytes. The wheel is then installed in a fresh environment, which the bill of materials and
the list of licences describe.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from discreet import __version__
from distribution import archives


def main() -> None:
    """Build, compare, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m distribution", description=__doc__)
    parser.add_argument("--out", type=Path, default=archives.ROOT / "dist", help="folder; dist by default")
    given = parser.parse_args()
    for old in given.out.glob("discreet-*"):
        old.unlink()
    source, wheel = sorted(archives.build(given.out), key=lambda path: path.suffix)
    with tempfile.TemporaryDirectory() as folder:
        found = archives.digests([source, wheel])
        if archives.digests(archives.build_again(source, Path(folder) / "dist")) != found:
            raise SystemExit("The archives are not reproducible: two builds differ.")
        bill = given.out / f"discreet-{__version__}.cdx.json"
        archives.bill_of_materials(archives.install(wheel, Path(folder) / "environment"), bill)
        licences = bill.with_name(f"discreet-{__version__}.licences.txt")
        archives.licences(bill, licences)
    for name, digest in (found | archives.digests([bill, licences])).items():
        print(digest, "", name)


if __name__ == "__main__":
    main()
