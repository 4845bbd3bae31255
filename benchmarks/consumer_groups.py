"""Measure the coordinator of a group of the consumer protocol by itself.

    python -m benchmarks.consumer_groups

Prints heartbeats per second of a stable group, the time of a join, and the memory of a large
group. No network, no log: requests go in, effects come out, every append is durable at once.
"""

from __future__ import annotations

import gc
import resource
from time import process_time

from protocols.coordinator.machine import GroupCoordinator
from protocols.machine import Append, Send
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    Envelope,
    Header,
    TopicDescription,
    TopicPartitions,
)
from protocols.settings import BrokerSettings

GROUP = "billing"
TOPIC_ID = "MqLAo9DuQMWcW0M5zgcNyw"
REPEATS = 5


class Bench:
    """A group of the given numbers of members and partitions, in a stable state."""

    def __init__(self, members: int, partitions: int) -> None:
        self.coordinator = GroupCoordinator(
            BrokerSettings(),
            new_id=str,
            epoch_ms=1_700_000_000_000,
            topics=[TopicDescription("orders", TOPIC_ID, (1,) * partitions)],
        )
        self.now_us = 0
        self.coordinator.loaded(0)
        self.headers = [Header(f"m{n:05}", n, f"m{n:05}") for n in range(members)]
        self.epochs: dict[str, int] = {}

    def beat(self, header: Header, epoch: int, **more: object) -> Send:
        """Send one heartbeat and return its response."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=header.client, member_epoch=epoch, **more
        )
        step = self.coordinator.handle(Envelope(header, request), self.now_us)
        effects = list(step.effects)
        if any(type(effect) is Append for effect in effects):
            offset = self.coordinator.next_log_offset
            effects += self.coordinator.durable(offset, self.now_us).effects
        return next(effect for effect in effects if type(effect) is Send)

    def join(self, header: Header) -> int:
        """Join a member; return its epoch."""
        answer = self.beat(
            header,
            0,
            rebalance_timeout_ms=300_000,
            subscribed_topic_names=("orders",),
            topic_partitions=(),
        )
        return answer.message.member_epoch

    def fill(self) -> None:
        """Join all members within one assignment interval, and assign their partitions."""
        for header in self.headers:
            self.epochs[header.client] = self.join(header)
        self.now_us += 1_000_000
        self.settle()

    def settle(self) -> None:
        """Send heartbeats of all members, with their owned partitions, until nothing changes."""
        for _ in range(3):
            for header in self.headers:
                answer = self.beat(header, self.epochs[header.client]).message
                if answer.assignment is not None:
                    owned = tuple(TopicPartitions(*each) for each in answer.assignment)
                    answer = self.beat(header, answer.member_epoch, topic_partitions=owned).message
                self.epochs[header.client] = answer.member_epoch

    def beats_a_second(self) -> float:
        """Return the heartbeats of the stable group that are answered per second."""
        handle, now_us = self.coordinator.handle, self.now_us
        envelopes = [
            Envelope(
                header,
                ConsumerGroupHeartbeatRequest(
                    group_id=GROUP,
                    member_id=header.client,
                    member_epoch=self.epochs[header.client],
                ),
            )
            for header in self.headers
        ]
        start = process_time()
        for envelope in envelopes:
            handle(envelope, now_us)
        return len(envelopes) / (process_time() - start)

    def join_s(self) -> float:
        """Return the time of a join that computes a new target."""
        self.now_us += 1_000_000
        newcomer = Header(f"new-{self.now_us}", 0, "new")
        start = process_time()
        self.join(newcomer)
        took = process_time() - start
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=newcomer.client, member_epoch=-1
        )
        self.coordinator.handle(Envelope(newcomer, request), self.now_us)
        self.coordinator.durable(self.coordinator.next_log_offset, self.now_us)
        self.now_us += 1_000_000
        self.settle()
        return took


def main() -> None:
    """Print the figures."""
    for members, partitions in ((1_000, 10_000), (10_000, 100_000)):
        bench = Bench(members, partitions)
        start = process_time()
        bench.fill()
        filled = process_time() - start
        gc.collect()
        gc.freeze()
        beats = max(bench.beats_a_second() for _ in range(REPEATS))
        joins = min(bench.join_s() for _ in range(3))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{members:>6,} members x {partitions:>7,} partitions: "
            f"{beats:>9,.0f} heartbeats/s, a join {1000 * joins:>6,.0f} ms, "
            f"filled in {filled:>5.1f} s, {memory:>4,.0f} MB at most"
        )


if __name__ == "__main__":
    main()
