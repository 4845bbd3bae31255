"""Run the fuzzers of all readers and the random worlds under new seeds, for some time.

``python -m benchmarks.soak MINUTES [FIRST_SEED]`` prints how many inputs and worlds were tried, and the
range of seeds. It stops at the first failure with the command that repeats it; status 1.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUITES = {
    "inputs of readers": "tests/**/test_*fuzz*.py",
    "inputs of segments": "tests/protocols/offsets_topic/segments/test_re*.py",
    "random worlds": "tests/emulator/brute_force/test_*.py",
    "worlds folded and exact": "tests/emulator/modes/test_folding*.py",
    "worlds with skipped periods": "tests/emulator/world/periods/test_period*.py",
}
"""What is tried, with the tests that try it; each has Hypothesis draw from the seed."""

TRIED = re.compile(r"- (\d+) passing, (\d+) failing")


def main(minutes: float, seed: int) -> int:
    """Try one suite after the other until the time is up; return the exit status."""
    until, tried, first = time.monotonic() + 60 * minutes, Counter[str](), seed
    while True:
        for name, file in _files():
            left_s = until - time.monotonic()
            if left_s <= 0:
                print(f"{_counted(tried)}; seeds {first} to {seed}: no failure")
                return 0
            output, failed = _run(file, seed, left_s)
            tried[name] += sum(int(found[1]) for found in TRIED.finditer(output))
            if failed:
                print(output[-6_000:], f"\nRepeat it with: {' '.join(command_of(file, seed))}")
                return 1
        print(f"seed {seed}: {_counted(tried)}", flush=True)
        seed += 1


def _files() -> list[tuple[str, str]]:
    """Return every file of tests with the name of its suite."""
    return [
        (name, path.relative_to(ROOT).as_posix())
        for name, pattern in SUITES.items()
        for path in sorted(ROOT.glob(pattern))
    ]


def command_of(file: str, seed: int) -> list[str]:
    """Return the command that runs a file of tests under a seed."""
    options = ["-q", "-x", "-m", "long or not long", "--hypothesis-show-statistics"]
    options.append(
        "--hypothesis-profile=exploring"
    )  # the other one draws the same inputs for any seed
    return [sys.executable, "-m", "pytest", file, *options, f"--hypothesis-seed={seed}"]


def _run(file: str, seed: int, limit_s: float) -> tuple[str, bool]:
    """Run a file of tests; return its output, and whether it failed before the time was up."""
    command = command_of(file, seed)
    with subprocess.Popen(  # noqa: S603  our own command
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        try:
            output, _ = running.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            running.terminate()
            return running.communicate()[0], False
    return output, running.returncode != 0


def _counted(tried: Counter[str]) -> str:
    return ", ".join(f"{tried[name]:,} {name}" for name in SUITES)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
