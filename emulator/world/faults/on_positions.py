"""Move the positions of a running consumer, and pause its partitions, as its application does.

Source: ``KafkaConsumer.seek``, ``pause``, ``resume``; ``SubscriptionState``.
"""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator.events import ActRefused, PositionSource
from emulator.scenario.model import PausePartitions, Seek
from emulator.world.cluster.partitions.shown_log import ShownLog
from emulator.world.cluster.topics import Topics
from emulator.world.consumer import seeking
from emulator.world.consumer.process import Process
from protocols.consumer.positions import UNSET


def seek(process: Process, act: Seek, topics: Topics, cause: int) -> None:
    """Seek on each partition that an act names and the consumer owns; a new epoch begins there.

    What is not possible is reported with ``ActRefused``: ``SubscriptionState.seek`` throws
    IllegalStateException for a partition that is not assigned, and ``position()`` returns nothing to
    shift by while a position is being reset. The look-up of an offset by time takes no time of its own.
    """
    readings, now = process.client.consumer.positions.readings, process.run.kernel.now
    found = [tp for tp in process.progress.owned if tp in readings and _is_named(act, tp)]
    without = [tp for tp in found if act.shift_by is not None and readings[tp].position == UNSET]
    _refuse_others(process, act, found, cause)
    for tp in without:
        _refuse(process, act, f"{act.member} had no position of {tp} to shift", cause)
    for tp in found:
        log = None if tp in without else _shown_to(process, tp, topics)
        if log is not None:
            offset = _target(act, log, readings[tp].position, now)
            seeking.seek(process, tp, offset, PositionSource.SEEK, cause)


def pause(process: Process, act: PausePartitions, cause: int) -> None:
    """Pause the partitions that an act names and the consumer owns.

    What is fetched of them stays buffered. ``SubscriptionState.pause`` throws IllegalStateException
    for a partition that is not assigned: ``ActRefused``.
    """
    fetcher = process.client.consumer.fetcher
    found = [tp for tp in sorted(fetcher.positions.readings) if _is_named(act, tp)]
    _refuse_others(process, act, found, cause)
    fetcher.pause(fetcher.paused.union(found))


def resume(process: Process, act: PausePartitions) -> None:
    """Resume those of them that are still paused."""
    fetcher = process.client.consumer.fetcher
    fetcher.pause(tp for tp in fetcher.paused if not _is_named(act, tp))


def _is_named(act: Seek | PausePartitions, tp: TopicPartition) -> bool:
    return act.topic in (None, tp.topic) and (not act.partitions or tp.partition in act.partitions)


def _refuse_others(
    process: Process, act: Seek | PausePartitions, found: list[TopicPartition], cause: int
) -> None:
    """Report the partitions that an act names and the consumer does not own."""
    if not found:
        _refuse(process, act, f"{act.member} owned none of these partitions", cause)
        return
    owned = {tp.partition for tp in found}
    others = [f"{act.topic}-{number}" for number in act.partitions if number not in owned]
    if others:
        _refuse(process, act, f"{act.member} did not own {', '.join(others)}", cause)


def _refuse(process: Process, act: Seek | PausePartitions, why: str, cause: int) -> None:
    refused = ActRefused(
        fault=act.id,
        verb=act.verb,
        target=act.member,
        group=process.blueprint.group.id,
        error="",
        why=why,
    )
    process.run.recorder.write(refused, cause)


def _shown_to(process: Process, tp: TopicPartition, topics: Topics) -> ShownLog | None:
    """Return a partition as ListOffsets shows it at the consumer's ``isolation.level``."""
    log = topics.find(tp)
    if log is None:
        return None
    committed = process.blueprint.reads_committed
    return topics.shown_by(log.replicas.leader, tp, committed=committed)


def _target(act: Seek, log: ShownLog, position: int, now: int) -> int:
    """Return the offset to seek to; one that is given may be outside of the log.

    ``log`` ends for a reader of committed records at the last stable offset, as for
    ``KafkaConsumer.seekToEnd``.
    """
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
