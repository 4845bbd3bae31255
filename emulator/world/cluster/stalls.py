"""Which partitions give nobody anything new, and since when: what brokers that fail do to readers.

A topic's partition is stalled while its high watermark stands: nobody leads it, or a replica in
sync does not fetch (real-kafka 2.8). One of the offsets topic is also stalled while no
coordinator serves its groups, or its leader can write nothing: then nothing can be committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.events import PartitionResumed, PartitionStalled

if TYPE_CHECKING:
    from emulator.world.cluster.replication import Place
    from emulator.world.cluster.shards import Shard
    from emulator.world.services import Services


class Stalls:
    """Tells when a partition stalls, and when it goes on."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stalled: set[Place] = set()

    def look_again(self, cause: int | None) -> None:
        """Something has happened to brokers or replicas: tell what that changed."""
        for _, log in self._services.topics.partitions():
            self._tell(log, cause, stalled=log.stands)
        for shard in self._services.shards:
            self.look_at_shard(shard, cause)

    def look_at_shard(self, shard: Shard, cause: int | None) -> None:
        """Tell of one offsets partition: its coordinator may have come or gone."""
        leader = shard.leader
        log = shard.led.get(leader)
        stands = log is None or log.stands
        full = self._services.brokers.disk_is_full(leader)
        self._tell(shard, cause, stalled=stands or full or not shard.serves(leader))

    def _tell(self, place: Place, cause: int | None, *, stalled: bool) -> None:
        if stalled is (place in self._stalled):
            return
        partition, leader = place.replicas.partition, place.replicas.leader
        if stalled:
            self._stalled.add(place)
            what: PartitionStalled | PartitionResumed = PartitionStalled(
                partition=partition, broker=leader
            )
        else:
            self._stalled.discard(place)
            what = PartitionResumed(partition=partition, broker=leader)
        self._services.recorder.write(what, cause)
