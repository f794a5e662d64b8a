"""Run random trials that fixed tests do not cover, with new seeds each time, for as long as one likes.

    python -m tools.soak --minutes 30            all parts in turn, and one summary
    python -m tools.soak inputs --seed 5         repeats one seed of a part

Parts are fuzz of inputs, parameters, files and commands (tools/soak/parts.py), of units (tools/soak/units.py), tests
that draw their examples, with new seeds, and audits of the mechanisms. A failure prints the command that repeats it.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TRIALS = {"inputs": 40, "parameters": 60, "files": 100, "commands": 30, "units": 60, "expressions": 30}
"""Seeds that one process tries."""

LIMIT = 120
"""Seconds that one seed may take."""

DRAWN = (
    "tests/package/test_properties.py", "tests/domain/test_formula.py", "tests/core/test_rounding.py",
    "tests/domain/test_functions.py",
    "tests/domain/test_encoding.py", "tests/domain/test_derived.py", "tests/data/test_moments.py",
    "tests/domain/test_schema.py",
    "tests/contracts/test_files_and_queries.py", "tests/privacy/test_gdp.py", "tests/privacy/test_rows.py",
    "tests/per_instance/test_gaussian_losses.py", "tests/results/test_inference.py",
)  # fmt: skip
"""Tests whose examples hypothesis draws."""

MUTATIONS, FITS = 3000, 200
"""Of documents in one run of their tests, and of one audit."""


def tried(part: str, seed: int, trials: int) -> dict[str, Any]:
    """What came of some seeds, one after the other, in this process."""
    from tools.soak.parts import PARTS
    from tools.soak.watch import Marks, Watch

    found: dict[str, Any] = {"calls": 0, "done": 0, "refused": Counter(), "foreign": {}, "leaks": {}}
    here = Path.cwd()
    for own in range(seed, seed + trials):
        rng = random.Random(f"{part} {own}")
        watch = Watch(Marks.drawn(rng), own)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            print(f"{part} {own}", file=sys.stderr, flush=True)
            faulthandler.dump_traceback_later(LIMIT, exit=True)
            try:
                PARTS[part](rng, watch, Path(folder))
            finally:
                faulthandler.cancel_dump_traceback_later()
                os.chdir(here)
        found["calls"] += watch.calls
        found["done"] += watch.done
        found["refused"] += watch.refused
        for kind in ("foreign", "leaks"):
            if getattr(watch, kind):
                found[kind][own] = getattr(watch, kind)
    return found


class Summary:
    """What all parts came to."""

    def __init__(self) -> None:
        self.calls, self.done, self.refused = Counter[str](), Counter[str](), Counter[str]()
        self.failures: list[str] = []
        self.counts = Counter[str]()

    def add(self, part: str, seed: int, ran: subprocess.CompletedProcess[str]) -> None:
        """Count what a process printed, or that it died."""
        try:
            found = json.loads(ran.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            self.counts["processes that died"] += 1
            self.fail(f"{part}, exit code {ran.returncode}\n{ran.stderr[-3000:]}", part, seed, TRIALS[part])
            return
        self.calls[part] += found["calls"]
        self.done[part] += found["done"]
        self.refused += Counter(found["refused"])
        for kind, words in (("foreign", "foreign exceptions"), ("leaks", "leaks")):
            for own, texts in found[kind].items():
                self.counts[words] += len(texts)
                for text in texts:
                    self.fail(f"{words}: {text}", part, int(own), 1)

    def fail(self, text: str, part: str, seed: int, trials: int) -> None:
        """Keep a failure, and print it with the command that repeats it."""
        again = f"python -m tools.soak {part} --seed {seed}" + (f" --trials {trials}" if trials > 1 else "")
        self.failures.append(again)
        print(f"FAILED {text}\n  again: {again}\n", flush=True)

    def lines(self, seconds: float) -> list[str]:
        """The summary."""
        lines = [f"soak of {seconds / 60:.1f} minutes"]
        lines += [f"  {part:<12} {self.calls[part]:>8,} calls, {self.done[part]:>8,} answered" for part in self.calls]
        lines += ["  refused      " + ", ".join(f"{kind} {count:,}" for kind, count in self.refused.most_common())]
        for words in ("foreign exceptions", "leaks", "processes that died", "tests run", "tests failed", "audits"):
            lines.append(f"  {words:<22} {self.counts[words]:,}")
        lines += [f"  again: {again}" for again in dict.fromkeys(self.failures)]
        return lines


def fuzz(part: str, seed: int, summary: Summary) -> None:
    """Try some seeds in a process of their own."""
    command = [sys.executable, "-m", "tools.soak", part, "--seed", str(seed), "--trials", str(TRIALS[part]), "--json"]
    summary.add(part, seed, subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True))


def drawn(seed: int, summary: Summary) -> None:
    """Run a file of tests whose examples are drawn, or mutations of documents, with a new seed."""
    rng = random.Random(seed)
    file = rng.choice([*DRAWN, "tests/results/test_mutations.py"])
    own = {"HYPOTHESIS_PROFILE": "explore", "DISCREET_MUTATION_SEED": str(seed), "DISCREET_MUTATIONS": str(MUTATIONS)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}", file]
    ran = subprocess.run(command, cwd=ROOT, env=os.environ | own, check=False, capture_output=True, text=True)
    last = ran.stdout.strip().splitlines()[-1] if ran.stdout.strip() else ""
    counts = {word: int(number) for number, word in zip(last.split(), last.replace(",", "").split()[1:], strict=False)
              if number.isdecimal()}  # fmt: skip
    summary.counts["tests run"] += counts.get("passed", 0) + counts.get("failed", 0)
    if ran.returncode:
        summary.counts["tests failed"] += max(counts.get("failed", 0), 1)
        again = " ".join([*(f"{name}={value}" for name, value in own.items()), "python", *command[1:]])
        summary.failures.append(again)
        print(f"FAILED {file}\n{ran.stdout[-3000:]}\n  again: {again}\n", flush=True)


def attacked(seed: int) -> str | None:
    """What an audit of some method finds wrong with it, if anything."""
    from discreet.audit import audit, subject_of
    from discreet.mechanisms.registry import METHODS

    rng = random.Random(f"audits {seed}")
    name, epsilon = rng.choice(METHODS).name, rng.choice([0.5, 2.0, 8.0])
    found = audit(subject_of(name, epsilon, 1e-6), fits=FITS, seed=seed)
    return f"{name} promises {epsilon:g}, and {found.epsilon:.3g} was found" if found.broken else None


def audited(seed: int, summary: Summary) -> None:
    """Attack a method in a process of its own."""
    summary.counts["audits"] += 1
    command = [sys.executable, "-m", "tools.soak", "audits", "--seed", str(seed)]
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if ran.returncode:
        summary.fail(f"audit: {ran.stdout}{ran.stderr[-3000:]}", "audits", seed, 1)


def soak(minutes: float) -> int:
    """All parts in turn until the time is over."""
    start, summary = time.monotonic(), Summary()
    base, turn = secrets.randbelow(10**9), 0
    print(f"soak of {minutes:g} minutes, from seed {base}", flush=True)
    while time.monotonic() - start < 60 * minutes:
        seed = base + 1000 * turn
        for part in TRIALS:
            if time.monotonic() - start < 60 * minutes:
                fuzz(part, seed, summary)
        if time.monotonic() - start < 60 * minutes:
            drawn(seed, summary)
        if time.monotonic() - start < 60 * minutes:
            audited(seed, summary)
        turn += 1
    print("\n".join(summary.lines(time.monotonic() - start)))
    return 1 if summary.failures else 0


def main() -> None:
    """Run the soak, or one seed of a part again."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("part", nargs="?", choices=[*TRIALS, "audits"])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="for the soak itself")
    given = parser.parse_args()
    if given.part is None:
        sys.exit(soak(given.minutes))
    if given.part == "audits":
        sys.exit(attacked(given.seed))
    found = tried(given.part, given.seed, given.trials)
    if given.json:
        print(json.dumps(found))
    else:
        for kind in ("foreign", "leaks"):
            for own, texts in found[kind].items():
                print(f"seed {own}, {kind}:", *texts, sep="\n")
        print({name: found[name] for name in ("calls", "done", "refused")})
    sys.exit(1 if (found["foreign"] or found["leaks"]) and not given.json else 0)


if __name__ == "__main__":
    main()
