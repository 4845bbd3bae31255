"""Move the positions of a running consumer, as its application does with ``KafkaConsumer.seek``."""

from __future__ import annotations

from emulator.events import EpochOpened, PositionSource
from emulator.scenario.model import Seek
from emulator.world.cluster.partition_log import PartitionLog
from emulator.world.cluster.topics import Topics
from emulator.world.consumer.process import Process


def seek(process: Process, act: Seek, topics: Topics, cause: int) -> None:
    """Seek on each partition that an act names and the consumer owns; a new epoch begins there.

    The look-up of an offset by time takes no time of its own.
    """
    positions, now = process.client.consumer.positions, process.run.kernel.now
    for tp in process.progress.owned:
        log = topics.find(tp)
        if log is None or act.topic not in (None, tp.topic):
            continue
        if act.partitions and tp.partition not in act.partitions:
            continue
        offset = _target(act, log, positions.readings[tp].position, now)
        positions.seek(tp, offset)
        opened = EpochOpened(
            consumer=process.blueprint.name,
            group=process.blueprint.group.id,
            generation=process.client.state.generation.id,
            partition=tp,
            offset=offset,
            source=PositionSource.SEEK,
        )
        process.progress.open(opened, cause)


def _target(act: Seek, log: PartitionLog, position: int, now: int) -> int:
    """Return the offset to seek to; one that is given may be outside of the log."""
    start, end = log.start, log.high_watermark(now)
    if act.shift_by is not None:
        return min(max(position + act.shift_by, start), end)
    if isinstance(act.to, int):
        return act.to
    if act.to is not None:
        return start if act.to == "earliest" else end
    instant = now - act.by_duration if act.by_duration is not None else act.to_datetime or 0
    found = log.first_at_or_after(max(instant, 0), now)
    return end if found < 0 else found
