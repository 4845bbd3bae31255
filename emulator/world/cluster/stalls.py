"""Which partitions give nobody anything new, and since when: what brokers that fail do to readers.

A topic's partition is stalled while its high watermark stands: nobody leads it, or a replica in
sync does not fetch (real-kafka 2.8). One of the offsets topic is also stalled while no
coordinator serves its groups, or its leader can write nothing: then nothing can be committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.events import PartitionResumed, PartitionStalled

if TYPE_CHECKING:
    from emulator.world.cluster.replication import Peer
    from emulator.world.cluster.shards import Shard
    from emulator.world.run import Run


class Stalls:
    """Tells when a partition stalls, and when it goes on."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stalled: set[Peer] = set()

    def reevaluate(self, cause: int | None) -> None:
        """Something has happened to brokers or replicas: tell what that changed."""
        for _, log in self._run.topics.partitions():
            self._tell(log, cause, stalled=log.is_stalled)
        for shard in self._run.shards:
            self.update_shard(shard, cause)

    def update_shard(self, shard: Shard, cause: int | None) -> None:
        """Tell of one offsets partition: its coordinator may have come or gone."""
        leader = shard.leader
        log = shard.led.get(leader)
        is_stalled = log is None or log.is_stalled
        full = self._run.brokers.disk_is_full(leader)
        self._tell(shard, cause, stalled=is_stalled or full or not shard.serves(leader))

    def _tell(self, peer: Peer, cause: int | None, *, stalled: bool) -> None:
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
