"""Find a member's contacts with the coordinator before the fault, and its heartbeats' delays.

The classic Java client logs its heartbeats, aiokafka and kafka-python those that tell of a rebalance. A
client of the consumer protocol logs only those that acknowledge an assignment; each further one follows
an interval later. The expiry of the session shows when the coordinator received the last of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from assignors.values import dataclass
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.client_logs import (
    LogLine,
    first_answer,
    heartbeats_sent,
    times_of,
)
from emulator.conformance.captured.coordinator_log import offset_lines
from emulator.conformance.captured.traces import (
    Listened,
    Mark,
    Trace,
    member_settings,
    milliseconds,
)
from emulator.conformance.prediction.facts import trace_at
from protocols.consumer.clients import FirstHeartbeat, profile_of

HEARTBEAT_INTERVAL_US = 3_000_000
"""Kafka's default of ``heartbeat.interval.ms``."""

SESSION_US = 45_000_000
"""Kafka's default of ``session.timeout.ms``."""

LATE_EVICTION_US = 130_000
"""How late an eviction was at most in the captures."""

CONSUMER_INTERVAL_US = 1_000_000
"""``group.consumer.heartbeat.interval.ms``, which the coordinator sends to each member."""

LATEST_HEARTBEAT_US = 300_000
"""A gap between heartbeats that is longer than its interval and this is no late heartbeat."""

SHORT_WORK_US = 20_000
"""After so long at most, an application that works on a record polls again."""

_REBALANCING = re.compile(
    r"Heartbeat failed for group .* because it is rebalancing|Group .* is rebalancing; rejoining"
)

HEARTBEAT = "Heartbeat"
CONSUMER_HEARTBEAT = "ConsumerGroupHeartbeat"


@dataclass(frozen=True, slots=True)
class Contact:
    """The last event that restarted a member's session; ``by``: the kind of request."""

    at_us: int
    by: str


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """A member's last heartbeat before the fault, and the time from which it is counted."""

    enabled_us: int
    last_us: int
    interval_us: int

    @property
    def number(self) -> int:
        """The number of intervals between the two, each with one heartbeat at its end."""
        return round((self.last_us - self.enabled_us) / self.interval_us)


def heartbeat_interval_us(capture: Capture, trace: Trace) -> int:
    """Return a member's heartbeat interval."""
    if trace.protocol == "consumer":
        answer = first_answer(capture.client_logs[trace.name])
        return CONSUMER_INTERVAL_US if answer is None else answer.interval_us
    return milliseconds(trace, "c.heartbeat.interval.ms") or HEARTBEAT_INTERVAL_US


def last_contact(capture: Capture, member: str, before_us: int) -> Contact | None:
    """Return the last refresh of a member's session before a time, as the broker saw it.

    For classic members, heartbeats and joins count when the client sent them, commits when the
    coordinator accepted them. An eviction follows the session timeout after the last one was taken,
    up to 0.13 s after it was sent in the captures. For members of the consumer protocol, only an
    eviction shows it.
    """
    trace = trace_at(capture, member, before_us)
    if trace is None:
        return None
    contacts = _contacts_by_expiry if trace.protocol == "consumer" else _contacts_of_client
    if "lib" in trace.conf and trace.protocol != "consumer":
        contacts = _contacts_without_log
    earlier = [each for each in contacts(capture, trace) if each.at_us <= before_us]
    if not earlier:
        return None
    last = max(earlier, key=lambda contact: contact.at_us)
    return _as_received(capture, trace, last, before_us)


def _contacts_of_client(capture: Capture, trace: Trace) -> list[Contact]:
    log = capture.client_logs[trace.name]
    topics = [produced.topic for produced in capture.productions]
    taken, _ = offset_lines(capture.coordinator_log, topics)
    return [
        *(Contact(at_us, HEARTBEAT) for at_us in heartbeats_sent(log)),
        *(Contact(at_us, "JoinGroup") for at_us in times_of(log, "Sending JoinGroup")),
        *(Contact(at_us, "SyncGroup") for at_us in times_of(log, "Sending leader SyncGroup")),
        *(Contact(at_us, "SyncGroup") for at_us in times_of(log, "Sending follower SyncGroup")),
        *(
            Contact(line.at_us, "OffsetCommit")
            for line in taken
            if line.member_id in trace.member_ids
        ),
    ]


def _as_received(capture: Capture, trace: Trace, last: Contact, before_us: int) -> Contact:
    """Return the last contact at the time when the coordinator took it, if an eviction shows that."""
    received = (
        begun_us
        for begun_us in _sessions_begun(capture, trace)
        if 0 <= begun_us - last.at_us <= LATE_EVICTION_US
    )
    return Contact(min(next(received, last.at_us), before_us), last.by)


def _sessions_begun(capture: Capture, trace: Trace) -> Iterator[int]:
    """Yield when the sessions of a classic member began that ended in its eviction."""
    session_us = milliseconds(trace, "c.session.timeout.ms") or SESSION_US
    evicted = (line for line in capture.coordinator_log if "has failed, removing it" in line.text)
    for line in evicted:
        if any(member_id in line.text for member_id in trace.member_ids):
            yield line.at_us - session_us


def _contacts_without_log(capture: Capture, trace: Trace) -> list[Contact]:
    """Return the contacts of a classic client without a log: its commits, and from its eviction.

    An eviction follows the session timeout after the last contact; if that was no commit, it was a
    heartbeat.
    """
    commits = _contacts_of_client(capture, trace)
    last = next(_sessions_begun(capture, trace), None)
    if last is None or any(abs(last - contact.at_us) <= LATE_EVICTION_US for contact in commits):
        return commits
    return [*commits, Contact(last, HEARTBEAT)]


def _contacts_by_expiry(capture: Capture, trace: Trace) -> list[Contact]:
    ids = trace.member_ids
    return [
        Contact(line.at_us - capture.consumer_session_us, CONSUMER_HEARTBEAT)
        for line in capture.coordinator_log
        if "session expired" in line.text and any(member_id in line.text for member_id in ids)
    ]


def heartbeats(capture: Capture, member: str) -> Heartbeats | None:
    """Return the known heartbeats of a member before the fault; None if too little is known."""
    trace = trace_at(capture, member, capture.fault_us)
    if trace is None:
        return None
    log = capture.client_logs[trace.name]
    if trace.protocol == "consumer" or "lib" in trace.conf:
        contact = last_contact(capture, member, capture.fault_us)
        by_heartbeat = contact is not None and contact.by in (HEARTBEAT, CONSUMER_HEARTBEAT)
        sent = [contact.at_us] if contact is not None and by_heartbeat else []
        begun = _begun(capture, trace)
    else:
        sent = [at_us for at_us in heartbeats_sent(log) if at_us <= capture.fault_us]
        begun = times_of(log, "Received successful JoinGroup response")
    enabled = [at_us for at_us in begun if sent and at_us <= sent[-1]]
    if not enabled:
        return None
    return Heartbeats(enabled[-1], sent[-1], heartbeat_interval_us(capture, trace))


def _begun(capture: Capture, trace: Trace) -> tuple[int, ...]:
    """Return when a member that does not log its heartbeats restarted their interval.

    The call of the assigned listener follows the answer to SyncGroup at once.
    """
    if "lib" not in trace.conf:
        return _acknowledged(capture.client_logs[trace.name])
    assigned = [e for e in trace.entries if isinstance(e, Listened) and e.call == "assigned"]
    if trace.protocol == "consumer":
        return tuple(each.at_us for each in assigned)
    match profile_of(member_settings(trace).client).first_heartbeat:
        case FirstHeartbeat.OWN_CLOCK:
            return _stabilised(capture)
        case FirstHeartbeat.SYNCED:
            return tuple(each.began_us for each in assigned)
        case _:
            return tuple(each.at_us for each in assigned)


def _stabilised(capture: Capture) -> tuple[int, ...]:
    """Return when join phases ended: from then on members send heartbeats."""
    return tuple(
        line.at_us for line in capture.coordinator_log if line.text.startswith("Stabilized")
    )


def _acknowledged(lines: Sequence[LogLine]) -> tuple[int, ...]:
    """Return when a KIP-848 client reported its partitions; each report restarts the interval."""
    return tuple(
        line.at_us
        for line in lines
        if line.text.endswith("transitioned from ACKNOWLEDGING to STABLE.")
    )


def counted_heartbeats(capture: Capture) -> list[Heartbeats]:
    """Return from where to where the heartbeats of members of the consumer protocol can be counted.

    Both ends are known: the heartbeat that acknowledges an assignment, and a later one by which the
    coordinator moves the member, or its last one before its session expires. Nothing was done to the
    member or to a broker in between.
    """
    return [
        counted
        for trace in capture.traces
        if trace.protocol == "consumer"
        for last_us in (*steps_us(capture, trace), *_expired_us(capture, trace))
        for counted in _counted_to(capture, trace, last_us)
    ]


def heartbeats_to_rebalances(capture: Capture) -> list[Heartbeats]:
    """Return from where to where the heartbeats of clients other than Java's classic one can be counted.

    The last of them told its member of a rebalance. They are counted from the assignment before it, if
    nothing was done to the member or to a broker in between.
    """
    return [
        counted
        for trace in capture.traces
        if trace.protocol != "consumer" and "lib" in trace.conf
        for told_us in _told_of_rebalances(capture, trace)
        for counted in _counted_to(capture, trace, told_us)
    ]


def _counted_to(capture: Capture, trace: Trace, last_us: int) -> Iterator[Heartbeats]:
    """Yield the heartbeats up to a known one, if they can be counted."""
    if before := _undisturbed(capture, trace, last_us):
        yield Heartbeats(before[-1], last_us, heartbeat_interval_us(capture, trace))


def _told_of_rebalances(capture: Capture, trace: Trace) -> list[int]:
    """Return when a heartbeat told a member of a rebalance.

    A client without a log, as librdkafka, calls the listener in the application's next poll, which
    follows soon if a record takes little time.
    """
    log = capture.client_logs[trace.name]
    if log:
        return [line.at_us for line in log if _REBALANCING.match(line.text)]
    if member_settings(trace).work_us > SHORT_WORK_US:
        return []
    closing = [e.at_us for e in trace.entries if isinstance(e, Mark) and e.kind == "closing"]
    revoked = [e for e in trace.entries if isinstance(e, Listened) and e.call == "revoked"]
    return [e.began_us for e in revoked if e.began_us < min(closing, default=e.at_us)]


def _undisturbed(capture: Capture, trace: Trace, until_us: int) -> list[int]:
    """Return when a member's interval began again, up to a heartbeat that is not the next one."""
    half_us = heartbeat_interval_us(capture, trace) // 2
    said = [at_us for at_us in _begun(capture, trace) if at_us <= until_us]
    acts = [
        action.at_us
        for action in capture.actions
        if action.member in (None, trace.member) and action.at_us <= until_us
    ]
    if not said or until_us - said[-1] < half_us or max(acts, default=-1) >= said[-1]:
        return []
    return said


def heartbeat_lateness(capture: Capture) -> Callable[[str, int], int | None]:
    """Return how late a heartbeat was, by classic process and the time at which it is due.

    A heartbeat that is due in the emulation is the one that was sent next to that time; None if there
    is none near it, and after the fault: those are predicted.
    """
    sent = {
        trace.name: [us for us in _logged_heartbeats(capture, trace) if us < capture.fault_us]
        for trace in capture.traces
    }

    def late_us(process: str, due_us: int) -> int | None:
        near = [us for us in sent.get(process, ()) if abs(us - due_us) <= LATEST_HEARTBEAT_US]
        if not near:
            return None
        return max(0, min(near, key=lambda us: abs(us - due_us)) - due_us)

    return late_us


def _logged_heartbeats(capture: Capture, trace: Trace) -> tuple[int, ...]:
    """Return when a classic client sent heartbeats; none if it does not log them."""
    if trace.protocol == "consumer" or "lib" in trace.conf:
        return ()
    return heartbeats_sent(capture.client_logs[trace.name])


def logged_lateness(capture: Capture) -> list[int]:
    """Return how late each logged heartbeat of classic members was, counted from the one before.

    A gap of another length than the interval contains a rebalance, a pause, or a broker that failed.
    """
    late = []
    for trace in capture.traces:
        interval_us = heartbeat_interval_us(capture, trace)
        sent = _logged_heartbeats(capture, trace)
        late += [after - before - interval_us for before, after in pairwise(sent)]
    return [each for each in late if abs(each) <= LATEST_HEARTBEAT_US]


def steps_us(capture: Capture, trace: Trace) -> list[int]:
    """Return when the coordinator moved a member of the consumer protocol."""
    return [
        line.at_us
        for line in capture.coordinator_log
        if " new assignment state" in line.text
        and any(member_id in line.text for member_id in trace.member_ids)
    ]


def _expired_us(capture: Capture, trace: Trace) -> list[int]:
    return [contact.at_us for contact in _contacts_by_expiry(capture, trace)]
