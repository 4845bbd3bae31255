"""The offset stores of a run outside Kafka, by group."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator.world.cluster.shards import OffsetsTopic
from emulator.world.run import Run


def add_stores(run: Run, offsets_topic: OffsetsTopic) -> None:
    """Add the stores of the groups that keep their offsets outside Kafka; import only these."""
    groups: dict[str, list[str]] = {}
    for group in run.scenario.group:
        groups.setdefault(group.offsets, []).append(group.id)
    if "zookeeper" in groups:
        from emulator.world.zookeeper import EnsembleHost  # noqa: PLC0415

        def in_kafka(group: str) -> dict[TopicPartition, int]:
            return offsets_topic.shard_of(group).committed(group)

        ensemble = EnsembleHost(run.kernel, run.scenario.zookeeper, run.seed, in_kafka)
        run.stores.update(dict.fromkeys(groups["zookeeper"], ensemble))
    if "database" in groups:
        from emulator.world.database import DatabaseHost  # noqa: PLC0415

        database = DatabaseHost(run.kernel, run.scenario.database, run.seed)
        run.stores.update(dict.fromkeys(groups["database"], database))
