"""Measure the cost of groups whose members crash, by size: one run of each case.

    python -m benchmarks.disturbed            all cases
    python -m benchmarks.disturbed 3 100      those with so many members

Prints CPU seconds of one core and the largest memory of the process so far. Members restart 10 s after
they crashed; the group waits until the session of the dead one expires.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from typing import NamedTuple

import emulator
from benchmarks.exact_mode import SECOND, scenario


class Case(NamedTuple):
    """One run: 10 records/s in each partition, automatic commits."""

    members: int
    partitions: int
    seconds: int
    crashes: int


CASES = (
    Case(3, 6, 3_600, 10),
    Case(100, 1_000, 3_600, 20),
    Case(1_000, 10_000, 300, 1),
    Case(10_000, 100_000, 12, 0),
)


def measure(case: Case) -> None:
    """Run a case and print what it cost."""
    times = [case.seconds * SECOND * k // (case.crashes + 1) for k in range(1, case.crashes + 1)]
    whole = scenario(case.members, case.partitions, case.seconds, times)
    begin = time.process_time()
    result = emulator.run(whole, 0, keep_events=False)
    taken_s = time.process_time() - begin
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_024
    print(
        f"{case.members:,} x {case.partitions:,}, {case.seconds:,} s, {case.crashes} crashes: "
        f"{taken_s:.2f} CPU s, {peak_mb} MB ({result.ledger.reprocessed} duplicates)",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("members", type=int, nargs="*", help="sizes to measure; none: all")
    wanted = parser.parse_args(arguments).members
    for case in CASES:
        if not wanted or case.members in wanted:
            measure(case)


if __name__ == "__main__":
    main()
