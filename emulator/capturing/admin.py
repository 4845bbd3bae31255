"""Orders to the cluster, and questions: topics, offsets, and who coordinates the group.

Plain requests only: the coordinator of a group is the leader of its offsets partition, so its
broker is known from the metadata, while there is no coordinator, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from emulator.capturing.toolchain import MachineError
from protocols.offsets_topic import partition_for

OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_CONFIG = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": "104857600",
}
"""What a broker gives the offsets topic when it creates it (``GroupCoordinatorService``)."""

OFFSETS_PARTITIONS = 50
REQUEST_S = 15.0
READY_S = 120.0
AGAIN_S = 0.1


@dataclass(slots=True)
class Admin:
    """An admin client of the cluster."""

    client: Any
    bootstrap: str

    @staticmethod
    def connect(bootstrap: str) -> Admin:
        """Return a client for the brokers at these addresses."""
        from confluent_kafka.admin import AdminClient

        return Admin(AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}), bootstrap)

    def wait_until_ready(self, brokers: int) -> None:
        """Wait for all brokers, and create the offsets topic."""
        self._wait(lambda: len(self.client.list_topics(timeout=REQUEST_S).brokers) >= brokers)
        if OFFSETS_TOPIC not in self.client.list_topics(timeout=REQUEST_S).topics:
            self.create_topic(OFFSETS_TOPIC, OFFSETS_PARTITIONS, min(3, brokers), OFFSETS_CONFIG)

    def _wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_S
        while not condition():
            if time.monotonic() > deadline:
                raise MachineError(f"the Kafka cluster was not ready within {READY_S:.0f} s")
            time.sleep(AGAIN_S)

    def coordinator(self, group: str) -> int:
        """Return the broker that leads a group's offsets partition, once there is one."""
        number, leader = partition_for(group, OFFSETS_PARTITIONS), 0
        deadline = time.monotonic() + READY_S
        while leader <= 0 and time.monotonic() < deadline:
            known = self.client.list_topics(OFFSETS_TOPIC, timeout=REQUEST_S)
            leader = known.topics[OFFSETS_TOPIC].partitions[number].leader
        return int(leader)

    def create_topic(
        self, name: str, partitions: int, replicas: int | None, config: dict[str, str] | None = None
    ) -> None:
        """Create a topic and wait until every partition has a leader."""
        from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

        copies = -1 if replicas is None else replicas
        new = NewTopic(
            name, num_partitions=partitions, replication_factor=copies, config=config or {}
        )
        self.client.create_topics([new], request_timeout=REQUEST_S)[name].result()
        self._wait(lambda: self._has_leaders(name, partitions))

    def add_partitions(self, topic: str, to: int) -> None:
        """Raise the number of partitions of a topic."""
        from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

        wanted = [NewPartitions(topic, to)]
        self.client.create_partitions(wanted, request_timeout=REQUEST_S)[topic].result()
        self._wait(lambda: self._has_leaders(topic, to))

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics."""
        for future in self.client.delete_topics(list(names), request_timeout=REQUEST_S).values():
            future.result()

    def _has_leaders(self, topic: str, partitions: int) -> bool:
        known = self.client.list_topics(topic, timeout=REQUEST_S).topics[topic].partitions
        return len(known) == partitions and all(each.leader > 0 for each in known.values())

    def ends(self, topic: str, partitions: int) -> list[int]:
        """Return the end offset of each partition."""
        with_client = self._reader("nobody")
        try:
            return [
                with_client.get_watermark_offsets(_partition(topic, p), timeout=REQUEST_S)[1]
                for p in range(partitions)
            ]
        finally:
            with_client.close()

    def committed(self, group: str, partitions: Iterable[str], prefix: str) -> dict[str, int]:
        """Return the committed offsets of a group; partitions without the prefix."""
        named = (name.rpartition("-") for name in partitions)
        asked = [_partition(prefix + topic, int(number)) for topic, _, number in named]
        reader = self._reader(group)
        try:
            found = reader.committed(asked, timeout=REQUEST_S)
        finally:
            reader.close()
        shown = {f"{tp.topic.removeprefix(prefix)}-{tp.partition}": tp.offset for tp in found}
        return {name: offset for name, offset in shown.items() if offset >= 0}

    def _reader(self, group: str) -> Any:
        """Return a consumer that belongs to no group; it only asks for offsets."""
        from confluent_kafka import Consumer

        settings = {"bootstrap.servers": self.bootstrap, "log_level": 0}
        return Consumer({**settings, "group.id": group, "enable.auto.commit": False})


def _partition(topic: str, number: int) -> Any:
    from confluent_kafka import TopicPartition

    return TopicPartition(topic, number)
