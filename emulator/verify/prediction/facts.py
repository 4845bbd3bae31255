"""What a scenario may take from a capture; all the rest of a run is to be predicted.

Plain values, times in microseconds since the run's first instant. Where the capture does not
say a thing itself, the function's words say from what it is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from assignors.types import TopicPartition
from emulator.verify.captured.capture import Addition, Capture, Production
from emulator.verify.captured.client_logs import (
    first_metadata,
    heartbeats_sent,
    joins,
    metadata_news,
    positions,
    times_of,
)
from emulator.verify.captured.coordinator_log import offset_lines
from emulator.verify.captured.settings import MemberSettings, member_settings, milliseconds
from emulator.verify.captured.traces import Listened, Polled, SyncCommit, Trace, Worked

METADATA_MAX_AGE_US = 300_000_000
"""Kafka's default of ``metadata.max.age.ms``."""

HEARTBEAT_INTERVAL_US = 3_000_000
"""Kafka's default of ``heartbeat.interval.ms``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUp:
    """One incarnation's way to its first assignment; None where it did not come so far."""

    member: str
    incarnation: int
    started_us: int
    """The process ran its first line; starting a JVM comes before."""

    subscribed_us: int | None
    metadata_us: int | None
    """It had its first metadata."""

    coordinator_us: int | None
    """It knew its coordinator."""

    join_sent_us: int | None
    """Its first JoinGroup."""

    joined_us: int | None
    """Its first successful answer to JoinGroup."""

    assigned_us: int | None
    """Its listener had returned from its first ``assigned`` call."""


@dataclass(frozen=True, slots=True)
class Contact:
    """What last made the coordinator restart a member's session; ``by``: the request's kind."""

    at_us: int
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """What the application and the client take beside the work, each in order of time."""

    before_first_us: tuple[int, ...]
    """From poll's return to the begin of the first record."""

    between_records_us: tuple[int, ...]
    """Within a batch, from the end of a record to the begin of the next."""

    to_next_poll_us: tuple[int, ...]
    """From the end of a batch to the return of the next poll that found records: waiting for
    data or for commitSync is in it, so only the smallest tell what the client itself takes."""


def members(capture: Capture) -> tuple[MemberSettings, ...]:
    """Return every member's set-up, by name."""
    return tuple(member_settings(t) for t in capture.traces if t.incarnation == 1)


def partition_leaders(capture: Capture) -> dict[TopicPartition, int]:
    """Return the broker that led each partition when a client first set a position in it."""
    leaders: dict[TopicPartition, int] = {}
    said = [p for log in capture.client_logs.values() for p in positions(log)]
    for position in sorted(said, key=lambda position: position.at_us):
        if position.leader is not None:
            leaders.setdefault(position.partition, position.leader)
    return dict(sorted(leaders.items()))


def group_leaders(capture: Capture) -> dict[int, str]:
    """Return the member that led the group in each generation whose leader lived to know it."""
    led: dict[int, str] = {}
    for trace in capture.traces:
        for answer in joins(capture.client_logs[trace.name]):
            if answer.leader_id == answer.member_id:
                led[answer.generation] = trace.member
    return dict(sorted(led.items()))


def start_ups(capture: Capture) -> tuple[StartUp, ...]:
    """Return every incarnation's start, in order of time."""
    return tuple(
        sorted((_start_up(capture, t) for t in capture.traces), key=lambda up: up.started_us)
    )


def _start_up(capture: Capture, trace: Trace) -> StartUp:
    log = capture.client_logs[trace.name]
    calls = (entry for entry in trace.entries if isinstance(entry, Listened))
    return StartUp(
        member=trace.member,
        incarnation=trace.incarnation,
        started_us=trace.started_us,
        subscribed_us=trace.marked_us("subscribed"),
        metadata_us=first_metadata(log),
        coordinator_us=next(iter(times_of(log, "Discovered group coordinator")), None),
        join_sent_us=next(iter(times_of(log, "Sending JoinGroup")), None),
        joined_us=next((answer.at_us for answer in joins(log)), None),
        assigned_us=next((call.at_us for call in calls if call.call == "assigned"), None),
    )


def service_times(capture: Capture) -> dict[tuple[TopicPartition, int], tuple[int, ...]]:
    """Return how long each record took, each time it was done, in order of their begins.

    It counts to the begin of the next record where one followed in the same batch, so it holds
    what the application spends between two. A hang is part of the record it fell on.
    """
    taken: dict[tuple[TopicPartition, int], list[tuple[int, int]]] = {}
    for trace in capture.traces:
        relevant = [e for e in trace.entries if isinstance(e, Polled | Worked | Listened)]
        for record, after in pairwise([*relevant, None]):
            if isinstance(record, Worked):
                until = after.began_us if isinstance(after, Worked) else record.at_us
                key = (record.partition, record.offset)
                taken.setdefault(key, []).append((record.began_us, until - record.began_us))
    return {key: tuple(time for _, time in sorted(times)) for key, times in taken.items()}


def gaps(capture: Capture) -> Gaps:
    """Return what lay between records and between batches, in the run's members together."""
    first: list[int] = []
    between: list[int] = []
    to_next: list[int] = []
    for trace in capture.traces:
        relevant = [e for e in trace.entries if isinstance(e, Polled | Worked | Listened)]
        for before, after in pairwise(relevant):
            match before, after:
                case Polled(at_us=at_us), Worked(began_us=began_us):
                    first.append(began_us - at_us)
                case Worked(at_us=at_us), Worked(began_us=began_us):
                    between.append(began_us - at_us)
                case Worked(at_us=at_us), Polled(at_us=next_us):
                    to_next.append(next_us - at_us)
                case _:
                    pass
    return Gaps(
        before_first_us=tuple(first),
        between_records_us=tuple(between),
        to_next_poll_us=tuple(to_next),
    )


def trace_at(capture: Capture, member: str, at_us: int) -> Trace | None:
    """Return the incarnation of a member that had started last by an instant."""
    started = [t for t in capture.traces if t.member == member and t.started_us <= at_us]
    return max(started, key=lambda trace: trace.started_us, default=None)


def last_contact(capture: Capture, member: str, before_us: int) -> Contact | None:
    """Return what last refreshed a member's session before an instant, as the broker saw it.

    Heartbeats and joins count when the client sent them, commits when the coordinator took them.
    In the captures an eviction follows at this time plus the session timeout, within 0.13 s.
    """
    trace = trace_at(capture, member, before_us)
    if trace is None:
        return None
    log = capture.client_logs[trace.name]
    topics = [produced.topic for produced in capture.productions]
    taken, _ = offset_lines(capture.coordinator_log, topics)
    contacts = [
        *(Contact(at_us, "Heartbeat") for at_us in heartbeats_sent(log)),
        *(Contact(at_us, "JoinGroup") for at_us in times_of(log, "Sending JoinGroup")),
        *(Contact(at_us, "SyncGroup") for at_us in times_of(log, "Sending leader SyncGroup")),
        *(Contact(at_us, "SyncGroup") for at_us in times_of(log, "Sending follower SyncGroup")),
        *(
            Contact(line.at_us, "OffsetCommit")
            for line in taken
            if line.member_id in trace.member_ids()
        ),
    ]
    earlier = [contact for contact in contacts if contact.at_us <= before_us]
    return max(earlier, key=lambda contact: contact.at_us, default=None)


def last_metadata_refresh(capture: Capture, member: str, before_us: int) -> int | None:
    """Return when a member last refreshed its metadata before an instant; inferred.

    Logs do not tell refreshes. If the member noticed a change after the instant, it did so at a
    refresh, and the one before lay ``metadata.max.age.ms`` earlier (later refreshes come a few
    tens of ms late each). Otherwise they are counted from the first metadata it had.
    """
    trace = trace_at(capture, member, before_us)
    if trace is None:
        return None
    log = capture.client_logs[trace.name]
    age_us = metadata_max_age_us(trace)
    noticed = next((at_us for at_us in metadata_news(log) if at_us > before_us), None)
    if noticed is not None:
        return noticed - age_us
    first_us = first_metadata(log)
    if first_us is None or first_us > before_us:
        return None
    return before_us - (before_us - first_us) % age_us


def metadata_max_age_us(trace: Trace) -> int:
    """Return how old a member's metadata may get."""
    return milliseconds(trace, "c.metadata.max.age.ms") or METADATA_MAX_AGE_US


def heartbeat_interval_us(trace: Trace) -> int:
    """Return how often a member sends heartbeats."""
    return milliseconds(trace, "c.heartbeat.interval.ms") or HEARTBEAT_INTERVAL_US


def commit_sync_times(capture: Capture) -> tuple[int, ...]:
    """Return how long all calls of commitSync took, sorted."""
    return tuple(
        sorted(
            entry.at_us - entry.began_us
            for trace in capture.traces
            for entry in trace.entries
            if isinstance(entry, SyncCommit)
        )
    )


def due_us(plan: Production | Addition, partition: int, number: int) -> int:
    """Return when record *number* (from 0, preloaded ones not counted) of a partition is due."""
    if isinstance(plan, Production):
        place = number * plan.partitions + partition
    else:
        place = number * (plan.to - plan.first) + partition - plan.first
    return plan.start_us + place * plan.tick_ns // 1000


def arrivals(capture: Capture) -> Iterator[tuple[TopicPartition, int, int, int]]:
    """Yield partition, offset, when it was due and when a poll returned it, of produced records.

    Only the last record of a poll's range counts, at its first time. The smallest differences
    tell how long a record takes from being due until a waiting consumer has it.
    """
    first: dict[tuple[TopicPartition, int], int] = {}
    for trace in capture.traces:
        for entry in trace.entries:
            for partition, _, last in entry.ranges if isinstance(entry, Polled) else ():
                key = (partition, last)
                first[key] = min(entry.at_us, first.get(key, entry.at_us))
    for (partition, offset), polled_us in sorted(first.items()):
        due = _due_of(capture, partition, offset)
        if due is not None:
            yield partition, offset, due, polled_us


def _due_of(capture: Capture, partition: TopicPartition, offset: int) -> int | None:
    for added in capture.additions:
        if added.topic == partition.topic and added.first <= partition.partition < added.to:
            return due_us(added, partition.partition, offset)
    for produced in capture.productions:
        if produced.topic == partition.topic and offset >= produced.preload:
            return due_us(produced, partition.partition, offset - produced.preload)
    return None
