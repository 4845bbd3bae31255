"""Stalled partitions: those whose readers get no new records because of failed brokers.

A topic's partition is stalled while its high watermark does not move: it has no leader, or a
replica in sync does not fetch. A partition of the offsets topic is also stalled while no
coordinator serves its groups, or its leader can write nothing: then nothing can be committed.
"""

from __future__ import annotations

from emulator.events import PartitionResumed, PartitionStalled
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.replicas import Peer
from emulator.world.cluster.shards import OffsetsTopic, Shard
from emulator.world.cluster.topics import Topics
from emulator.world.run import Run


class Stalls:
    """Writes when a partition stalls, and when it resumes."""

    def __init__(
        self, run: Run, brokers: Brokers, topics: Topics, offsets_topic: OffsetsTopic
    ) -> None:
        self._run = run
        self._brokers = brokers
        self._topics = topics
        self._offsets_topic = offsets_topic
        self._stalled: set[Peer] = set()

    def reevaluate(self, cause: int | None) -> None:
        """Write which partitions stalled or resumed by a change of brokers or replicas."""
        for _, log in self._topics.partitions():
            self._update(log, cause, stalled=log.is_stalled)
        for shard in self._offsets_topic:
            self._update_shard(shard, cause)

    def update_shard(self, number: int, cause: int | None) -> None:
        """Write whether one offsets partition has stalled: its coordinator came or went."""
        self._update_shard(self._offsets_topic.partition(number), cause)

    def _update_shard(self, shard: Shard, cause: int | None) -> None:
        """Write whether one offsets partition stalled or resumed: its coordinator came or went."""
        leader = shard.leader
        log = shard.led.get(leader)
        is_stalled = log is None or log.is_stalled
        full = self._brokers.disk_is_full(leader)
        self._update(shard, cause, stalled=is_stalled or full or not shard.serves(leader))

    def _update(self, peer: Peer, cause: int | None, *, stalled: bool) -> None:
        if stalled is (peer in self._stalled):
            return
        partition, leader = peer.replicas.partition, peer.replicas.leader
        if stalled:
            self._stalled.add(peer)
            what: PartitionStalled | PartitionResumed = PartitionStalled(
                partition=partition, broker=leader
            )
        else:
            self._stalled.discard(peer)
            what = PartitionResumed(partition=partition, broker=leader)
        self._run.recorder.write(what, cause)
