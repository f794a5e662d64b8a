"""Keys with thousands of parts, a.a.a..., made a schema of 50 kB take 2.4 GB in 0.2.0; now they are refused first."""

import subprocess
import sys

import pytest

from discreet import Domain
from discreet.errors import FileFormatError

PARTS = 20
READ = """
import resource, sys
from discreet import Domain
from discreet.errors import FileFormatError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    Domain.from_file(sys.argv[1])
except FileFormatError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
KEYS = {
    "bare": "a" + ".a" * 25_000 + " = 1",
    "quoted": "'a'" + '."a"' * 12_000 + " = 1",
    "blanks": "a" + " .\ta" * 12_000 + " = 1",
    "inline": "x = { a" + ".a" * 25_000 + " = 1 }",
    "table": "[columns.a" + ".a" * 25_000 + "]",
    "after a string": 'x = """\n.\n"""\na' + ".a" * 25_000 + " = 1",
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_a_key_of_many_parts_takes_no_memory(keys, tmp_path):
    path = tmp_path / "people.toml"
    path.write_text(keys, encoding="utf-8")
    assert path.stat().st_size < 52_000
    ran = subprocess.run([sys.executable, "-c", READ, path], check=True, capture_output=True, text=True, timeout=60)
    said, megabytes = ran.stdout.strip().splitlines()
    assert said == "people.toml: its entries are nested too deeply."
    assert float(megabytes) < 20


def test_what_only_looks_like_a_key_of_many_parts_is_read(tmp_path):
    dots, path = ".a" * 2 * PARTS, tmp_path / "people.toml"
    levels = f"levels = ['a{dots}', \"b{dots}\", '''\nc{dots}''']"
    lines = [
        f"# {dots}",
        "[columns]",
        f"x = {{ {levels} }}",
        "y = { low = 0.1, high = 1.25 }",
        "z.low = 0.5",
        "z.high = 1.5",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert list(Domain.from_file(path).columns) == ["x", "y", "z"]


def test_many_short_keys_are_read(tmp_path):
    path = tmp_path / "people.toml"
    path.write_text("[columns]\n" + "".join(f"x{i}.low = 0.5\nx{i}.high = 1.5\n" for i in range(300)), encoding="utf-8")
    assert len(Domain.from_file(path).columns) == 300
    path.write_text(".".join("a" * (PARTS + 1)) + " = 1", encoding="utf-8")
    with pytest.raises(FileFormatError, match="nested too deeply"):
        Domain.from_file(path)
