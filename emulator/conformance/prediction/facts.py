"""The facts that a scenario takes from a capture; the rest of a run is predicted.

Plain values, times in microseconds since the run's first instant. If a capture has no record
of a fact, the docstring of the function says how it is inferred.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.client_logs import (
    first_answer,
    first_metadata,
    first_poll,
    joins,
    metadata_news,
    positions,
    times_of,
)
from emulator.conformance.captured.coordinator_log import topic_ids as known_ids
from emulator.conformance.captured.production import Addition, Former, Production
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
from protocols.consumer.clients import CommitClock, profile_of

METADATA_MAX_AGE_US = 300_000_000
"""Kafka's default of ``metadata.max.age.ms``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUp:
    """One incarnation's start until its first assignment; None for steps that it did not reach."""

    member: str
    incarnation: int
    started_us: int
    """The process ran its first line; the start of the JVM comes before."""

    subscribed_us: int | None
    polled_us: int | None
    """Its first poll, which makes it join; consumer protocol only."""

    metadata_us: int | None
    """It had its first metadata."""

    join_sent_us: int | None
    """Its first JoinGroup, or first heartbeat of the consumer protocol."""

    joined_us: int | None
    """The first successful response to that."""

    assigned_us: int | None
    """Its listener returned from its first ``assigned`` call, less what that call nominally takes."""


def members(capture: Capture) -> tuple[MemberSettings, ...]:
    """Return every member's settings, by name."""
    return tuple(member_settings(t) for t in capture.traces if t.incarnation == 1)


def kafka_settings(capture: Capture, member: MemberSettings) -> dict[str, object]:
    """Return the settings of a member as a scenario writes them."""
    settings = {name: _value(text) for name, text in member.kafka.items()}
    settings["client.id"] = member.member
    if member.client != "java":
        settings |= _own_assignor(capture, member)
    settings["group.protocol"] = member.protocol
    if member.instance_id is not None:
        settings["group.instance.id"] = member.instance_id
    return settings


def _own_assignor(capture: Capture, member: MemberSettings) -> dict[str, object]:
    """Return the assignor that the group's leader names in its log, if the settings name none."""
    name = "partition.assignment.strategy"
    used = assignors_used(capture)
    return {name: used[0]} if used and name not in member.kafka else {}


def _value(text: str) -> object:
    """Return a setting as a scenario writes it, from the text for a Java client."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isdecimal() else text


def partition_leaders(capture: Capture) -> dict[TopicPartition, int]:
    """Return the leader of each partition when a client first set a position in it."""
    leaders: dict[TopicPartition, int] = {}
    said = [p for log in capture.client_logs.values() for p in positions(log)]
    for position in sorted(said, key=lambda position: position.at_us):
        if position.leader is not None:
            leaders.setdefault(position.partition, position.leader)
    return dict(sorted(leaders.items()))


def group_leaders(capture: Capture) -> dict[int, str]:
    """Return the group leader of each generation whose leader received its JoinGroup response."""
    led: dict[int, str] = {}
    for trace in capture.traces:
        for answer in joins(capture.client_logs[trace.name]):
            if answer.leader_id == answer.member_id:
                led[answer.generation] = trace.member
    return dict(sorted(led.items()))


_USED = re.compile(r"Elected group leader -- performing partition assignments using (\w+)")


def assignors_used(capture: Capture) -> tuple[str, ...]:
    """Return the assignors that leaders of a client of its own log format name, in order of time."""
    said = [
        (line.at_us, match[1])
        for log in capture.client_logs.values()
        for line in log
        if (match := _USED.match(line.text))
    ]
    return tuple(name for _, name in sorted(said))


def topic_ids(capture: Capture) -> dict[str, str]:
    """Return the ids of topics, by real name, that the coordinator's log shows."""
    return known_ids(capture.coordinator_log, [p.topic for p in capture.productions])


def pattern_time_us(capture: Capture) -> int:
    """Return how long the coordinator first looked a pattern up; 0 if it never did."""
    asked = (at for at, text in _said(capture) if "updated its subscribed regex to" in text)
    found = (at for at, text in _said(capture) if "Received updated regular expressions" in text)
    first = next(asked, None)
    return 0 if first is None else max(0, next(found, first) - first)


def _said(capture: Capture) -> Iterator[tuple[int, str]]:
    return ((line.at_us, line.text) for line in capture.coordinator_log)


@lru_cache(maxsize=1)
def start_ups(capture: Capture) -> tuple[StartUp, ...]:
    """Return every incarnation's start-up, in order of time."""
    return tuple(
        sorted((_start_up(capture, t) for t in capture.traces), key=lambda up: up.started_us)
    )


def _start_up(capture: Capture, trace: Trace) -> StartUp:
    log = capture.client_logs[trace.name]
    calls = (entry for entry in trace.entries if isinstance(entry, Listened))
    assigned = next((call.at_us for call in calls if call.call == "assigned"), None)
    return StartUp(
        member=trace.member,
        incarnation=trace.incarnation,
        started_us=trace.started_us,
        subscribed_us=trace.marked_us("subscribed"),
        polled_us=first_poll(log),
        metadata_us=first_metadata(log),
        join_sent_us=_first_request(capture, trace),
        joined_us=_first_answer(capture, trace),
        assigned_us=None if assigned is None else assigned - member_settings(trace).listener_us,
    )


def _first_request(capture: Capture, trace: Trace) -> int | None:
    """Return the time of a member's first join; for KIP-848, from the coordinator's log."""
    if trace.protocol != "consumer":
        return next(iter(join_requests(capture, trace)), None)
    return next(iter(joined_epochs(capture, trace)), None)


def join_requests(capture: Capture, trace: Trace) -> tuple[int, ...]:
    """Return the times of a classic member's JoinGroup requests.

    Without a log of the client, those that the coordinator logs with the member's first id.
    """
    sent = times_of(capture.client_logs[trace.name], "Sending JoinGroup")
    if sent or not trace.member_ids:
        return sent
    first = trace.member_ids[0]
    return tuple(
        line.at_us
        for line in capture.coordinator_log
        if first in line.text and " joins group " in f" {line.text}"
    )


def got_an_id(capture: Capture, trace: Trace) -> bool:
    """Return whether a classic member's first JoinGroup was answered with a member id alone (KIP-394)."""
    log = capture.client_logs[trace.name]
    asked = times_of(log, "JoinGroup failed due to non-fatal error: MEMBER_ID_REQUIRED")
    sent = join_requests(capture, trace)
    return bool(asked) and len(sent) > 1 and asked[0] <= sent[1]


def joined_epochs(capture: Capture, trace: Trace) -> tuple[int, ...]:
    """Return each time at which the coordinator added a member of the consumer protocol."""
    return tuple(
        line.at_us
        for line in capture.coordinator_log
        if "joins the consumer group using the consumer protocol" in line.text
        and any(member_id in line.text for member_id in trace.member_ids)
    )


def _first_answer(capture: Capture, trace: Trace) -> int | None:
    log = capture.client_logs[trace.name]
    if trace.protocol != "consumer":
        answers = (answer.at_us for answer in joins(log))
        return next(answers, _stabilised(capture, trace))
    heard = first_answer(log)
    return None if heard is None else heard.at_us


def _stabilised(capture: Capture, trace: Trace) -> int | None:
    """Return when the first join phase ended that a client without a log took part in."""
    if "lib" not in trace.conf:
        return None
    sent = join_requests(capture, trace)
    ended = (line.at_us for line in capture.coordinator_log if line.text.startswith("Stabilized"))
    return next((at_us for at_us in ended if sent and at_us >= sent[0]), None)


@lru_cache(maxsize=1)
def service_times(capture: Capture) -> dict[tuple[TopicPartition, int], tuple[int, ...]]:
    """Return the durations of each record's processings, in order of their begins.

    A duration lasts to the beginning of the next record if one follows in the same batch, so it
    includes the application's time between two records. A hang is part of the record it affects.
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


def trace_at(capture: Capture, member: str, at_us: int) -> Trace | None:
    """Return the incarnation of a member that started last before or at a time."""
    started = [t for t in capture.traces if t.member == member and t.started_us <= at_us]
    return max(started, key=lambda trace: trace.started_us, default=None)


def last_metadata_refresh(capture: Capture, member: str, before_us: int) -> int | None:
    """Return when a member last refreshed its metadata before an instant; inferred.

    Logs do not show refreshes. If the member noticed a change after the instant, it did so at a
    refresh, and the one before was ``metadata.max.age.ms`` earlier (later refreshes are a few
    tens of milliseconds late each). Otherwise they are counted from its first metadata.
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
    """Return the maximum age of a member's metadata."""
    return milliseconds(trace, "c.metadata.max.age.ms") or METADATA_MAX_AGE_US


def commit_sync_times(capture: Capture) -> tuple[int, ...]:
    """Return the durations of all commitSync calls, sorted."""
    return tuple(
        sorted(
            entry.at_us - entry.began_us
            for trace in capture.traces
            for entry in trace.entries
            if isinstance(entry, SyncCommit)
        )
    )


def due_us(plan: Production | Former | Addition, partition: int, number: int) -> int:
    """Return when record *number* (from 0, without preloaded ones) of a partition is due."""
    if isinstance(plan, Addition):
        place = number * (plan.to - plan.first) + partition - plan.first
    else:
        place = number * plan.partitions + partition
    return plan.start_us + place * plan.tick_ns // 1000


LOOKUP_US = 1_500
"""From a consumer's start to its first metadata in the emulation, at its latencies."""


def start_us(capture: Capture, up: StartUp) -> int:
    """Return when an incarnation starts in the emulation: at its first metadata.

    One that commits by a timer starts with its process, since the timer counts from there; one of
    the consumer protocol that matches a pattern with its first poll, since a later poll matches.
    """
    member = next(m for m in members(capture) if m.member == up.member)
    by_timer = profile_of(member.client).commit_clock is not CommitClock.ASSIGNMENT
    if member.commit_every_us is not None or by_timer:
        return up.started_us
    if member.pattern is not None and member.pattern_by == "client" and up.polled_us is not None:
        return up.polled_us
    began = up.metadata_us or up.join_sent_us or up.subscribed_us or up.started_us
    if up.join_sent_us is not None:
        began = min(began, up.join_sent_us - LOOKUP_US)
    return max(0, began)
