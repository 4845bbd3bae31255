"""The delays that a real machine adds to the protocol's own times, for replays of its runs.

The figures come from all captures: the one-way latency of a message from half a quick round trip,
the lateness of threads from how much the heartbeat period exceeds its interval, the slow first
steps of a Java process from its first rebalance. The slower the members of a busy run received
their first assignment, the longer these delays are. The heartbeats that clients log show how late
their threads were in the run; without such a log, a heartbeat that is known does, which adds up the lateness
of all heartbeats before it: the one that told of a rebalance, or the faulted member's last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from statistics import median

from assignors.values import dataclass
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.traces import Trace, member_settings
from emulator.conformance.prediction import facts
from emulator.conformance.prediction.contacts import (
    Heartbeats,
    counted_heartbeats,
    heartbeats,
    heartbeats_to_rebalances,
    logged_lateness,
)
from emulator.scenario.model import Lognormal, LognormalShape
from emulator.world.draws import draw, sampler, stream_key
from protocols.consumer.clients import profile_of

MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The delays of one machine, in microseconds."""

    way: int
    """The one-way latency of a message: median, 99th percentile and mean (of the usual run)."""

    way_p99: int
    way_mean: int
    late: int
    """The lateness of a thread's wake-up: median, 99th percentile and mean."""

    late_p99: int
    late_mean: int
    wake_up: int
    """Median time until one thread of a consumer runs after the other one wakes it."""

    first_sync: int
    """From a new process's first JoinGroup response to its SyncGroup: median, 99th percentile."""

    first_sync_p99: int


QUIET = Noise(
    way=500,
    way_p99=4 * MS,
    way_mean=750,
    late=3 * MS,
    late_p99=66 * MS,
    late_mean=6 * MS,
    wake_up=500,
    first_sync=10 * MS,
    first_sync_p99=25 * MS,
)
BUSY = Noise(
    way=2 * MS,
    way_p99=60 * MS,
    way_mean=6 * MS,
    late=7 * MS,
    late_p99=184 * MS,
    late_mean=15 * MS,
    wake_up=1_400,
    first_sync=14 * MS,
    first_sync_p99=80 * MS,
)
QUIET_BACKGROUND = replace(QUIET, late=200, late_p99=8 * MS, late_mean=700)
"""The same where the members have a background thread, which is woken by each event and response:
0.6 ms on average in some 500 heartbeats on a quiet machine, more than 8 ms in six of them."""

EVENT_LOOP = replace(QUIET, late=450, late_p99=10 * MS, late_mean=1_300)
"""How late polls of kafka-python end, on quiet and busy machines: in 61 first polls of its captures, all
but two of which were late by less than 10 ms. Its heartbeats are no later on average, but for the first ones of
a process. Without a seed its polls end on time, so that it drops no join."""

USUAL_US = 80 * MS
"""From JoinGroup response to first assignment, on the busy machine, in the usual run."""

USUAL_LATE_US = 11 * MS
"""Mean lateness of threads in that run; proportional to the square root of that time (fitted)."""

LONGEST_US = 500 * MS
WARM_UP_LEAST_US, WARM_UP_SHARE, WARM_UP_MOST_US = 55 * MS, 1.35, 450 * MS
"""From first assignment to first record of a backlog: minimum, factor and maximum of the time
to that assignment (fitted to the first members of captures, 33 of which begin with a backlog)."""

MIN_LATE_US, MAX_LATE_US = 1 * MS, 90 * MS
"""Range of a heartbeat's mean lateness in a run; 100 ms would be the thread's next turn."""

MIN_BACKGROUND_US = 100
"""The least mean lateness of a background thread; the logs have whole milliseconds."""

MIN_IN_A_ROW = 3
"""Fewer are those of processes that have just started and run slowly."""

MIN_HEARTBEATS = 4
"""Minimum number of heartbeats for a mean."""

BROKER_SESSION_MS = 9_000
"""``broker.session.timeout.ms`` of the captured cluster."""

BROKER_HEARTBEAT_MS = 2_000
"""``broker.heartbeat.interval.ms``: the maximum age of a broker's last heartbeat at its crash."""

FENCING_TURN_MS = BROKER_SESSION_MS // 8
"""Interval at which a controller checks for expired sessions (``QuorumController``)."""

_FOUND = re.compile(r"Discovered group coordinator .*?(?:nodeId=|\(id: \+?)(\d+)")

METADATA_US, METADATA_P99_US = 100 * MS, 350 * MS
"""How long a broker takes to apply that another one was fenced: median, 99th percentile. In eight
captures the second of two brokers showed records 7 to 113 ms after the first, 64 ms in the middle."""

RESUMED_US, RESUMED_P99_US = 3 * MS, 25 * MS
"""How much longer a resumed process takes for the first response: median, 99th percentile; it took
4, 4, 5 and 17 ms from the resumption until it found itself fenced."""

LATE_WARM_UP_US = 90 * MS
"""The warm-up of a process that starts while others run."""


WARM_UPS_US = {"librdkafka": 95 * MS, "aiokafka": 10 * MS, "kafka-python": 140 * MS}
"""The same by other clients, without the requests: measured in their captures, which begin with a
backlog or with a record every 25 ms."""


def noise_of(capture: Capture) -> Noise:
    """Return the delays of a captured run's machine."""
    late = _lateness(capture)
    if capture.quiet:
        usual = QUIET_BACKGROUND if _in_background(capture) else QUIET
        return usual if late is None else _noise_with_lateness(usual, late)
    taken = [
        taken for up in facts.start_ups(capture) if (taken := _first_assignment_delay(capture, up))
    ]
    slow = median(taken) / USUAL_US if taken else 1.0
    noise = replace(
        BUSY,
        way_p99=min(LONGEST_US, int(BUSY.way_p99 * max(1.0, slow))),
        late_p99=min(LONGEST_US, int(BUSY.late_p99 * max(1.0, slow))),
    )
    return _noise_with_lateness(noise, int(USUAL_LATE_US * sqrt(slow)) if late is None else late)


def background_noise_of(capture: Capture) -> Noise | None:
    """Return the delays of members with a background thread, if other members of the run have none.

    A classic member's threads wake each other up and are late by more, so the two are counted apart.
    """
    if _in_background(capture) or not any(map(_has_background, capture.traces)):
        return None
    late = _background_lateness(capture)
    usual = QUIET_BACKGROUND if capture.quiet else BUSY
    return usual if late is None else _noise_with_lateness(usual, late)


def _noise_with_lateness(noise: Noise, mean_us: int) -> Noise:
    """Return the delays of a machine whose threads have this mean lateness."""
    factor = mean_us / noise.late_mean
    return replace(
        noise,
        late=max(1, int(noise.late * factor)),
        late_p99=max(noise.late_p99, min(LONGEST_US, int(noise.late_p99 * factor))),
        late_mean=mean_us,
    )


def _in_background(capture: Capture) -> bool:
    """Return whether all members are Java clients of the consumer protocol."""
    return all(map(_has_background, capture.traces))


def _has_background(trace: Trace) -> bool:
    return trace.protocol == "consumer" and "lib" not in trace.conf


def _lateness(capture: Capture) -> int | None:
    """Return the mean lateness of heartbeats; None if too few are known.

    Without logged ones it comes from those up to which heartbeats can be counted: the ones that told
    of a rebalance, or the faulted member's last.
    """
    if _in_background(capture):
        return _background_lateness(capture)
    logged = logged_lateness(capture)
    if len(logged) >= MIN_HEARTBEATS:
        return min(MAX_LATE_US, max(MIN_LATE_US, sum(logged) // len(logged)))
    late_us = _mean_lateness(heartbeats_to_rebalances(capture))
    if late_us is None:
        late_us = _mean_lateness(_last(capture))
    if late_us is None or not 0 <= late_us <= MAX_LATE_US:
        return None
    if not all(profile_of(member_settings(t).client).takes_late_joins for t in capture.traces):
        late_us = min(late_us, EVENT_LOOP.late_mean)
    return max(late_us, MIN_LATE_US)


def _last(capture: Capture) -> list[Heartbeats]:
    """Return the known heartbeats of the faulted member."""
    faulted = next((act.member for act in capture.actions if act.member is not None), None)
    known = None if faulted is None else heartbeats(capture, faulted)
    return [] if known is None else [known]


def _background_lateness(capture: Capture) -> int | None:
    """Return the mean lateness of the heartbeats of all members, from those that the logs show."""
    late_us = _mean_lateness(counted_heartbeats(capture))
    return None if late_us is None else min(MAX_LATE_US, max(MIN_BACKGROUND_US, late_us))


def _mean_lateness(counted: Sequence[Heartbeats]) -> int | None:
    """Return how late counted heartbeats were on average; None if they are too few."""
    known = [each for each in counted if each.number >= MIN_IN_A_ROW]
    number = sum(each.number for each in known)
    if number < MIN_HEARTBEATS:
        return None
    late_us = sum(each.last_us - each.enabled_us - each.number * each.interval_us for each in known)
    return late_us // number


def _first_assignment_delay(capture: Capture, up: facts.StartUp) -> int | None:
    """Return an initial member's time from JoinGroup response to assignment."""
    if not is_first(capture, up) or up.joined_us is None or up.assigned_us is None:
        return None
    return up.assigned_us - up.joined_us


def broker_session_ms(capture: Capture, seed: int | None) -> int:
    """Return how long a dead broker is not fenced.

    No log of clients or coordinators shows when it last sent a heartbeat, nor when the controller
    checks. Lookups of the coordinator show when brokers heard of the fence: they come from the metadata
    cache, which is updated before replicas are (``BrokerMetadataPublisher``). Without lookups, it is the
    configured timeout, or drawn with these two times.
    """
    window = _looked_up(capture)
    if window is not None:
        last_us, first_us = window
        share = 0.5 if seed is None else draw(stream_key(seed, "broker session", "lookup"), 0)
        return (last_us + int(share * (first_us - last_us)) - capture.fault_us) // MS
    if seed is None:
        return BROKER_SESSION_MS
    age, turn = (draw(stream_key(seed, "broker session", part), 0) for part in ("age", "turn"))
    return BROKER_SESSION_MS - int(age * BROKER_HEARTBEAT_MS) + int(turn * FENCING_TURN_MS)


def _looked_up(capture: Capture) -> tuple[int, int] | None:
    """Return when a lookup last named the killed coordinator, and when one first named another broker."""
    killed = next((act for act in capture.actions if act.verb == "crash_broker"), None)
    if killed is None or not capture.coordinator_killed:
        return None
    found = sorted(
        (line.at_us, int(match[1]))
        for log in capture.client_logs.values()
        for line in log
        if line.at_us > killed.at_us and (match := _FOUND.match(line.text))
    )
    dead = killed.broker or capture.coordinator
    first_us = next((at_us for at_us, broker in found if broker != dead), None)
    if first_us is None:
        return None
    return max([killed.at_us, *(at_us for at_us, _ in found if at_us < first_us)]), first_us


def is_first(capture: Capture, up: facts.StartUp) -> bool:
    """Return whether an incarnation is one of those that formed the group."""
    return up.incarnation == 1 and up.started_us < capture.fault_us


def warm_up_us(capture: Capture, up: facts.StartUp) -> int:
    """Return the time that a new process needs to find its first position."""
    client = next(m.client for m in facts.members(capture) if m.member == up.member)
    if client in WARM_UPS_US:
        return WARM_UPS_US[client]
    way_in = _first_assignment_delay(capture, up)
    if way_in is None:
        return LATE_WARM_UP_US
    return min(WARM_UP_MOST_US, WARM_UP_LEAST_US + int(WARM_UP_SHARE * way_in))


def drawn(median_us: int, p99_us: int, stream: str, subject: str, seed: int | None) -> int:
    """Return one time from a lognormal distribution; its median without a seed."""
    if seed is None:
        return median_us
    shape = Lognormal(lognormal=LognormalShape(median=median_us, p99=p99_us))
    return sampler(shape, stream_key(seed, stream, subject))(0)
