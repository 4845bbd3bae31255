"""Move the position of a consumer where its application seeks."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator.events import EpochOpened, PositionSource
from emulator.world.consumer.interfaces import ConsumerProcess


def seek(
    process: ConsumerProcess,
    tp: TopicPartition,
    offset: int,
    source: PositionSource,
    cause: int | None,
) -> None:
    """Move the position of a partition, and begin an ownership epoch there."""
    process.client.consumer.positions.seek(tp, offset)
    opened = EpochOpened(
        consumer=process.blueprint.name,
        group=process.blueprint.group.id,
        generation=process.client.state.generation.id,
        partition=tp,
        offset=offset,
        source=source,
    )
    process.progress.open(opened, cause)
