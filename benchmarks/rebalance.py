"""Measure the CPU time of one rebalance per member, in a small group and in a large one.

``python -m benchmarks.rebalance`` closes one member of a stable group and adds up the CPU time
from the start of the rebalance to the last member's ``onPartitionsAssigned``: heartbeats, join
and sync rounds, commits, offset fetches, and polls in between. The topic has ten partitions, so
the assignor's part is small for every size of the group.
"""

from __future__ import annotations

import time

import emulator
from emulator.events import Event, ListenerCalled, RebalanceStarted
from emulator.scenario.model import Scenario

SIZES = (100, 5_000)
ROUNDS = 5


class Watch:
    """Records the CPU time at which the rebalances of a run begin and end."""

    def __init__(self) -> None:
        self.began_s = self.ended_s = 0.0
        self.rebalances = 0

    def feed(self, event: Event) -> None:
        """Process one event."""
        kind = type(event.what)
        if kind is RebalanceStarted:
            self.rebalances += 1
            self.began_s = time.process_time()
        elif kind is ListenerCalled:
            self.ended_s = time.process_time()


def scenario(members: int) -> Scenario:
    """Return a stable group that one member leaves."""
    return emulator.loads(
        f"""
        title = "one rebalance"
        run_for = "40s"
        lag_every = "40s"
        [[topic]]
        name = "t"
        partitions = 10
        rate = "1/s"
        [[group]]
        id = "g"
        topics = ["t"]
        members = {members}
        poll_timeout = "5s"
        work = "1ms"
        [group.settings]
        "partition.assignment.strategy" = "range"
        [[fault]]
        close = "g-1"
        at = "20s"
        """
    )


def per_member_us(members: int) -> float:
    """Return the CPU time of the second rebalance for each member, in microseconds."""
    watch = Watch()
    emulator.run(scenario(members), 0, keep_events=False, sink=watch.feed)
    assert watch.rebalances == 2, "a group forms, and one member leaves it"
    return (watch.ended_s - watch.began_s) * 1e6 / (members - 1)


def main() -> None:
    """Run the benchmark."""
    small = min(per_member_us(SIZES[0]) for _ in range(ROUNDS))
    large = min(per_member_us(SIZES[1]) for _ in range(ROUNDS - 3))
    print(f"one rebalance: {SIZES[0]:,} members {small:.0f} us a member")
    print(f"               {SIZES[1]:,} members {large:.0f} us a member")
    print(f"               ratio {large / small:.2f} (wanted: at most 1.3)")


if __name__ == "__main__":
    main()
