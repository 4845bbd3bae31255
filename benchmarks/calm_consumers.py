"""Compare the CPU time of a group without failures under both protocols, in one process.

    python -m benchmarks.calm_consumers

Three members read twelve partitions of three brokers for ten minutes. The same run is played with
``group.protocol=classic`` and with ``consumer``, whose polls are computed by arithmetic too;
``--exact`` adds the run of the consumer protocol in which every poll is an event.
"""

from __future__ import annotations

import argparse
import time

from emulator.scenario.load import loads
from emulator.scenario.model import Scenario
from emulator.world.build import play

ROUNDS = 3
"""Runs of each protocol, in turns; the shortest time counts."""

RATES = ("2/s", "10/s", "100/s")
"""Records for each partition."""

TEXT = """
title = "calm"
run_for = "{run_for}"
[[topic]]
name = "t"
partitions = 12
rate = "{rate}"
[[group]]
id = "g"
topics = ["t"]
members = 3
work = "2ms"
[group.settings]
"group.protocol" = "{protocol}"
"auto.offset.reset" = "earliest"
"""


def scenario(protocol: str, rate: str, run_for: str) -> Scenario:
    """Return a group without faults."""
    return loads(TEXT.format(protocol=protocol, rate=rate, run_for=run_for))


def played(protocol: str, rate: str, run_for: str, *, folding: bool = True) -> tuple[float, str]:
    """Play one run; return its CPU seconds and its digest."""
    whole = scenario(protocol, rate, run_for)
    begin = time.process_time()
    outcome = play(whole, 0, (), folding=folding)
    return time.process_time() - begin, outcome.digest


def compare(rate: str, run_for: str, *, exact: bool) -> None:
    """Play both protocols and print the ratio."""
    classic, consumer = [], []
    for _ in range(ROUNDS):
        classic.append(played("classic", rate, run_for))
        consumer.append(played("consumer", rate, run_for))
    (classic_s, _), (consumer_s, digest) = min(classic), min(consumer)
    print(
        f"{rate:>6} a partition: classic {classic_s:.2f} s, consumer {consumer_s:.2f} s, "
        f"ratio {consumer_s / classic_s:.2f} (wanted: at most 3)"
    )
    if exact:
        exact_s, other = played("consumer", rate, run_for, folding=False)
        same = "the same events" if digest == other else "OTHER EVENTS"
        print(f"{'':>6} every poll an event: {exact_s / consumer_s:.1f} times as long, {same}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-for", default="10min", help="length of each run")
    parser.add_argument("--exact", action="store_true", help="also play every poll as an event")
    given = parser.parse_args()
    for rate in RATES:
        compare(rate, given.run_for, exact=given.exact)


if __name__ == "__main__":
    main()
