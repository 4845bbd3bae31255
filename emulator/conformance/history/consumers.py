"""Return a trace as events: its start and end, listener calls, epochs and records.

The position at which an epoch starts comes from the client's log; the trace alone does not show
it for a partition from which no record was polled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import field
from operator import itemgetter

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.client_logs import PositionSet
from emulator.conformance.captured.traces import (
    Entry,
    GenerationSeen,
    Listened,
    Mark,
    Polled,
    Raised,
    SyncCommit,
    Trace,
    Worked,
    reset_policy,
)
from emulator.events import (
    ConsumerStarted,
    ConsumerStopped,
    EpochClosed,
    EpochOpened,
    ListenerCalled,
    PartlyProcessed,
    What,
)

LOG_TICK_US = 1000
"""Logs write whole milliseconds, rounded down."""

Moment = tuple[int, What]
"""The time of an event, and the event."""


@dataclass(frozen=True, slots=True)
class Work:
    """One processed record, with its generation and its poll."""

    at_us: int
    began_us: int
    consumer: str
    generation: int
    partition: TopicPartition
    offset: int
    poll: int


@dataclass(slots=True)
class Epoch:
    """The ownership of a partition by one process, from its assignment on."""

    assigned_us: int
    offset: int | None = None
    """Position at which it began to read; None before that."""

    processed: int = 0
    position: int = 0


@dataclass(frozen=True, slots=True)
class ConsumerHistory:
    """The events of one incarnation."""

    moments: tuple[Moment, ...]
    work: tuple[Work, ...]
    open: tuple[tuple[TopicPartition, int], ...]
    """Partitions owned at the end of the run, and the end of what poll had returned."""


@dataclass(slots=True, kw_only=True)
class _Life:
    trace: Trace
    group: str
    positions: dict[TopicPartition, deque[PositionSet]]
    generation: int = -1
    epochs: dict[TopicPartition, Epoch] = field(default_factory=dict)
    hand: deque[tuple[TopicPartition, int]] = field(default_factory=deque)
    polls: int = 0
    free_us: int = 0
    """Since when the application has been idle except for the next polled record."""

    waits_for_commit: bool = False
    moments: list[Moment] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)


def consumer_history(
    trace: Trace,
    positions: Sequence[PositionSet],
    *,
    group: str,
    crashed_us: int | None,
    end_us: int,
) -> ConsumerHistory:
    """Return the events of an incarnation up to its kill, if any, or the run's end."""
    by_partition: dict[TopicPartition, deque[PositionSet]] = {}
    for position in positions:
        by_partition.setdefault(position.partition, deque()).append(position)
    life = _Life(trace=trace, group=group, positions=by_partition)
    life.moments.append((trace.started_us, _started(trace, group)))
    for entry in trace.entries:
        if entry.at_us <= end_us:
            _live(life, entry)
    if crashed_us is not None:
        _crash(life, max(crashed_us, life.moments[-1][0], life.free_us))
    still_open = _still_open(life, end_us)
    return ConsumerHistory(tuple(life.moments), tuple(life.work), still_open)


def _still_open(life: _Life, end_us: int) -> tuple[tuple[TopicPartition, int], ...]:
    for partition, epoch in sorted(life.epochs.items(), key=itemgetter(0)):
        if epoch.offset is None:
            _open(life, partition, epoch, end_us, None)
    return tuple(
        (partition, epoch.position)
        for partition, epoch in sorted(life.epochs.items(), key=itemgetter(0))
        if epoch.offset is not None
    )


def _started(trace: Trace, group: str) -> ConsumerStarted:
    return ConsumerStarted(
        consumer=trace.member,
        group=group,
        incarnation=trace.incarnation,
        instance_id=trace.conf.get("c.group.instance.id"),
    )


def _live(life: _Life, entry: Entry) -> None:
    match entry:
        case GenerationSeen(generation=generation):
            life.generation = generation
        case Listened():
            _listen(life, entry)
        case Polled():
            _poll(life, entry)
        case Worked():
            _finish(life, entry)
        case SyncCommit(at_us=at_us):
            life.waits_for_commit, life.free_us = False, at_us
        case Mark(kind="closed"):
            _stop(life, entry.at_us, "closed")
        case Raised(text=text):
            _stop(life, entry.at_us, "failed", text)
        case _:
            pass


def _listen(life: _Life, entry: Listened) -> None:
    closing_us = life.trace.marked_us("closing")
    closing = closing_us is not None and entry.began_us >= closing_us
    if entry.call == "assigned":
        for partition in entry.partitions:
            life.epochs[partition] = Epoch(entry.at_us)
    else:
        for partition in entry.partitions:
            _close(life, partition, entry.at_us, "closed" if closing else entry.call)
    call = ListenerCalled(
        consumer=life.trace.member,
        group=life.group,
        generation=life.generation,
        call=entry.call,
        partitions=entry.partitions,
        began_us=entry.began_us,
    )
    life.moments.append((entry.at_us, call))


def _poll(life: _Life, entry: Polled) -> None:
    life.polls += 1
    life.hand.clear()
    for partition, first, last in entry.ranges:
        epoch = life.epochs.setdefault(partition, Epoch(entry.at_us))
        _open(life, partition, epoch, entry.at_us, first)
        epoch.position = last + 1
        life.hand.extend((partition, offset) for offset in range(first, last + 1))
    life.free_us = entry.at_us
    life.waits_for_commit = life.trace.conf.get("mode") == "sync-before"


def _open(
    life: _Life, partition: TopicPartition, epoch: Epoch, until_us: int, first: int | None
) -> None:
    """Open an epoch at the position in the client's log, or else at the *first* polled record."""
    said = life.positions.get(partition, deque())
    position = None
    while said and said[0].at_us <= until_us:
        position = said.popleft()
        if position.at_us < epoch.assigned_us - LOG_TICK_US:
            position = None
    if position is None and (epoch.offset is not None or first is None):
        return
    at_us = until_us if position is None else max(position.at_us, epoch.assigned_us)
    at_us = min(at_us, until_us)
    if epoch.offset is not None:
        _write_close(life, partition, epoch, at_us, "reopened")
    epoch.offset = first if position is None else position.offset
    assert epoch.offset is not None, "the position comes from the log or from a poll"
    epoch.processed = epoch.position = epoch.offset
    source = "committed" if position is None else position.source
    opened = EpochOpened(
        consumer=life.trace.member,
        group=life.group,
        generation=life.generation,
        partition=partition,
        offset=epoch.offset,
        source=reset_policy(life.trace.conf) if source == "reset policy" else source,
        why="no offset" if source == "reset policy" else "",
    )
    life.moments.append((at_us, opened))


def _finish(life: _Life, entry: Worked) -> None:
    if life.hand:
        life.hand.popleft()
    if epoch := life.epochs.get(entry.partition):
        epoch.processed = entry.offset + 1
    life.free_us = entry.at_us
    life.waits_for_commit = life.trace.conf.get("mode", "").endswith("-per-record")
    life.work.append(
        Work(
            entry.at_us,
            entry.began_us,
            life.trace.member,
            life.generation,
            entry.partition,
            entry.offset,
            life.polls,
        )
    )


def _close(life: _Life, partition: TopicPartition, at_us: int, why: str) -> None:
    epoch = life.epochs.pop(partition, None)
    if epoch is None:
        return
    if epoch.offset is None:
        _open(life, partition, epoch, at_us, None)
    if epoch.offset is not None:
        _write_close(life, partition, epoch, at_us, why)


def _write_close(
    life: _Life, partition: TopicPartition, epoch: Epoch, at_us: int, why: str
) -> None:
    closed = EpochClosed(
        consumer=life.trace.member,
        group=life.group,
        generation=life.generation,
        partition=partition,
        processed=epoch.processed,
        position=epoch.position,
        why=why,
    )
    life.moments.append((at_us, closed))


def _crash(life: _Life, at_us: int) -> None:
    if life.hand and not life.waits_for_commit:
        partition, offset = life.hand[0]
        partial = PartlyProcessed(
            consumer=life.trace.member,
            group=life.group,
            partition=partition,
            offset=offset,
            began_us=life.free_us,
        )
        life.moments.append((at_us, partial))
    _stop(life, at_us, "crashed")


def _stop(life: _Life, at_us: int, how: str, reason: str = "") -> None:
    for partition in sorted(life.epochs):
        _close(life, partition, at_us, how)
    stopped = ConsumerStopped(consumer=life.trace.member, group=life.group, how=how, reason=reason)
    life.moments.append((at_us, stopped))
