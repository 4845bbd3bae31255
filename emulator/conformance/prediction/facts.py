"""What a scenario may take from a capture; all the rest of a run is to be predicted.

Plain values, times in microseconds since the run's first instant. Where the capture does not
say a thing itself, the function's words say from what it is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from assignors.types import TopicPartition
from emulator.conformance.captured.capture import Addition, Capture, Production
from emulator.conformance.captured.client_logs import (
    first_answer,
    first_metadata,
    joins,
    metadata_news,
    positions,
    times_of,
)
from emulator.conformance.captured.coordinator_log import topic_ids as known_ids
from emulator.conformance.captured.traces import (
    Listened,
    MemberSettings,
    Polled,
    SyncCommit,
    Trace,
    Worked,
    member_settings,
    milliseconds,
)

METADATA_MAX_AGE_US = 300_000_000
"""Kafka's default of ``metadata.max.age.ms``."""


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
    """Its first JoinGroup, or first heartbeat of the consumer protocol."""

    joined_us: int | None
    """Its first successful answer to that."""

    assigned_us: int | None
    """Its listener had returned from its first ``assigned`` call."""


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


def topic_ids(capture: Capture) -> dict[str, str]:
    """Return the ids of topics, by real name, as far as the coordinator's log tells them."""
    return known_ids(capture.coordinator_log, [p.topic for p in capture.productions])


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
        join_sent_us=_first_request(capture, trace),
        joined_us=_first_answer(capture, trace),
        assigned_us=next((call.at_us for call in calls if call.call == "assigned"), None),
    )


def _first_request(capture: Capture, trace: Trace) -> int | None:
    """Return when a member asked to join; of the consumer protocol only the coordinator tells."""
    if trace.protocol != "consumer":
        sent = times_of(capture.client_logs[trace.name], "Sending JoinGroup")
        return next(iter(sent), None)
    return next(iter(joined_epochs(capture, trace)), None)


def joined_epochs(capture: Capture, trace: Trace) -> tuple[int, ...]:
    """Return when the coordinator let a member of the consumer protocol join, each time."""
    return tuple(
        line.at_us
        for line in capture.coordinator_log
        if "joins the consumer group using the consumer protocol" in line.text
        and any(member_id in line.text for member_id in trace.member_ids())
    )


def _first_answer(capture: Capture, trace: Trace) -> int | None:
    log = capture.client_logs[trace.name]
    if trace.protocol != "consumer":
        return next((answer.at_us for answer in joins(log)), None)
    heard = first_answer(log)
    return None if heard is None else heard.at_us


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


LOOKUP_US = 1_500
"""From a consumer's start to its first metadata in the emulated world, at its latencies."""


def start_us(capture: Capture, up: StartUp) -> int:
    """Return when an incarnation starts in the emulated world: at its first metadata.

    One that commits by a clock starts with its process: the clock counts from there.
    """
    member = next(m for m in members(capture) if m.member == up.member)
    if member.commit_every_us is not None:
        return up.started_us
    began = up.metadata_us or up.join_sent_us or up.subscribed_us or up.started_us
    if up.join_sent_us is not None:
        began = min(began, up.join_sent_us - LOOKUP_US)
    return max(0, began)
