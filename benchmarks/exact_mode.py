"""Compare the exact mode with a minimal SimPy model, in one process, as ratios of CPU time.

``python -m benchmarks.exact_mode`` runs two sizes; ``--quick`` a tenth of the second size.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import emulator
from benchmarks import plain_simpy
from emulator.scenario.model import Scenario

SECOND = 1_000_000
ROUNDS = 3
"""Runs of each model, in turns; the shortest time counts."""


def scenario(members: int, partitions: int, seconds: int, crashes: list[int]) -> Scenario:
    """Return the scenario that ``plain_simpy`` simulates."""
    faults = "\n".join(
        f'[[fault]]\ncrash = "m-{number % members}"\nat = "{at // SECOND}s"\nrestart_after = "10s"'
        for number, at in enumerate(crashes)
    )
    return emulator.loads(
        f"""
        title = "exact mode"
        run_for = "{seconds}s"
        lag_every = "{seconds}s"
        [[topic]]
        name = "t"
        partitions = {partitions}
        rate = "10/s"
        [[group]]
        id = "m"
        topics = ["t"]
        members = {members}
        work = "2ms"
        [group.settings]
        "partition.assignment.strategy" = "range"
        "auto.offset.reset" = "earliest"
        {faults}
        """
    )


def cpu(action: Callable[[], object]) -> tuple[float, object]:
    """Return the CPU seconds of an action, and its result."""
    begin = time.process_time()
    result = action()
    return time.process_time() - begin, result


def compare(name: str, members: int, partitions: int, seconds: int, crashes: list[int]) -> None:
    """Run both models and print the ratio."""
    settings = plain_simpy.Settings(partitions=partitions, members=members, rate=10, work=2_000)
    whole = scenario(members, partitions, seconds, crashes)
    taken = []
    for _ in range(ROUNDS):
        plain_s, group = cpu(lambda: plain_simpy.simulate(settings, seconds * SECOND, crashes))
        ours_s, run = cpu(lambda: emulator.run(whole, 0, keep_events=False))
        taken.append((plain_s, ours_s))
    plain_s, ours_s = (min(column) for column in zip(*taken, strict=True))
    print(f"{name}: plain {plain_s:.2f} s ({group.polls:,} polls, {group.duplicates} duplicates)")
    print(f"{'':{len(name)}}  ours  {ours_s:.2f} s ({run.ledger.reprocessed} duplicates)")
    print(f"{'':{len(name)}}  ratio {ours_s / plain_s:.2f} (wanted: at most 3)")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of each run")
    quick = parser.parse_args().quick
    crashes = [3600 * SECOND * k // 11 for k in range(1, 11)]
    compare("3 members x 6 partitions, 1 h, 10 crashes", 3, 6, 3600, crashes)
    compare("100 members x 1,000 partitions, 5 min", 100, 1000, 30 if quick else 300, [])


if __name__ == "__main__":
    main()
