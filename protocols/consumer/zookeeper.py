"""ZooKeeper as the offset store of consumer groups, as before Kafka 0.9: znodes and a queue of writes.

The machine has no clock and is changed in place. The ensemble orders all writes and takes one every
``1 / rate``; the latency of a write, until a quorum has it, begins when it is taken. Each write sets
one znode. Kafka 0.8.2 writes without a condition (version -1, ``ZkUtils.updatePersistentPath``): a
consumer that no longer owns the partition is not refused. A write with a version fails if the znode has
another one (``ZkUtils.conditionalUpdatePersistentPath``, which Kafka used for brokers only).
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.types import TopicPartition
from protocols.consumer.store_history import NOTHING_STORED
from protocols.consumer.write_queue import WriteQueue

NO_VERSION = -1


def znode_of(group: str, partition: TopicPartition) -> str:
    """Return the path of the znode of an offset (``ZKGroupTopicDirs.consumerOffsetDir``).

    >>> znode_of("billing", TopicPartition("orders", 3))
    '/consumers/billing/offsets/orders/3'
    """
    return f"/consumers/{group}/offsets/{partition.topic}/{partition.partition}"


class Ensemble:
    """The znodes, and the queue of writes to them."""

    __slots__ = ("_versions", "queue", "znodes")

    def __init__(self, writes_per_s: float) -> None:
        """*writes_per_s*: the highest rate of writes."""
        self.znodes: dict[str, int] = {}
        self._versions: dict[str, int] = {}
        self.queue = WriteQueue(writes_per_s, in_order=True)

    def write(self, path: str, offset: int, version: int | None = None) -> bool:
        """Set a znode, or create it; return False if its version is not the given one (BadVersion)."""
        if version is not None and version != self.version(path):
            return False
        self.znodes[path] = offset
        self._versions[path] = self.version(path) + 1
        return True

    def version(self, path: str) -> int:
        """Return the version of a znode, which each write raises; ``NO_VERSION`` if there is none."""
        return self._versions.get(path, NO_VERSION)

    def restore(self, znodes: Mapping[str, int]) -> None:
        """Replace all znodes by those of a backup; no version that was read before is theirs."""
        self._versions = {path: version + 1 for path, version in self._versions.items()}
        self.znodes = dict(znodes)

    def read(self, path: str) -> int:
        """Return the offset in a znode, ``NOTHING_STORED`` if there is none."""
        return self.znodes.get(path, NOTHING_STORED)
