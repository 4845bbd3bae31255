"""What a real machine adds to the protocol's own times, for replays of what ran on it.

The figures were read off all captures: the way of a message from half a quick round trip, the
lateness of threads from how much longer than its interval the period of heartbeats is, the slow
first steps of a Java process from its first rebalance. A busy run gets as much more of it as its
members were slower than usual in getting their first assignment; how late its threads were is
also told by the faulted member's last heartbeat: each before it was that late.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from statistics import median

from emulator.conformance.captured.capture import Capture
from emulator.conformance.prediction import facts
from emulator.conformance.prediction.contacts import heartbeats
from emulator.scenario.model import Lognormal, LognormalShape
from emulator.world.draws import draw, sampler, stream_key

MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """All in microseconds."""

    way: int
    """A message's way, its median and its 99th percentile."""

    way_p99: int
    late: int
    """How late a thread wakes up, likewise; and on average."""

    late_p99: int
    late_mean: int
    wake_up: int
    """How long one thread of a consumer needs to run for the other; its median."""

    first_sync: int
    """From a young process's first JoinGroup answer to its SyncGroup, likewise."""

    first_sync_p99: int


QUIET = Noise(
    way=500,
    way_p99=4 * MS,
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
    late=7 * MS,
    late_p99=184 * MS,
    late_mean=15 * MS,
    wake_up=1_400,
    first_sync=14 * MS,
    first_sync_p99=80 * MS,
)
USUAL_US = 80 * MS
"""From JoinGroup answer to first assignment, on the busy machine, in the usual run."""

USUAL_LATE_US = 11 * MS
"""How late threads are in that run, on average; it goes with the root of that time (fitted)."""

LONGEST_US = 500 * MS
WARM_UP_LEAST_US, WARM_UP_SHARE, WARM_UP_MOST_US = 40 * MS, 1.35, 450 * MS
"""From first assignment to first record of a backlog: so much, and more where the way to that
assignment was slow (fitted to the 33 first members of captures that begin with a backlog)."""

LEAST_LATE_US, MOST_LATE_US = 1 * MS, 90 * MS
"""A heartbeat's lateness, on average over a run; one of 100 ms would be the thread's next turn."""

FEWEST_HEARTBEATS = 4
"""Fewer do not tell an average."""

BROKER_SESSION_MS = 9_000
"""``broker.session.timeout.ms`` of the captured cluster."""

BROKER_HEARTBEAT_MS = 2_000
"""``broker.heartbeat.interval.ms``: so old may a broker's last heartbeat be when it dies."""

FENCING_TURN_MS = BROKER_SESSION_MS // 8
"""So often a controller looks for sessions that have run out (``QuorumController``)."""

LATE_WARM_UP_US = 90 * MS
"""The same for a process that starts while others run."""


def noise_of(capture: Capture) -> Noise:
    """Return the noise of a captured run's machine."""
    late = _lateness(capture)
    if capture.quiet:
        return QUIET if late is None else _as_late(QUIET, late)
    taken = [taken for up in facts.start_ups(capture) if (taken := _way_in(capture, up))]
    slow = median(taken) / USUAL_US if taken else 1.0
    noise = replace(
        BUSY,
        way_p99=min(LONGEST_US, int(BUSY.way_p99 * max(1.0, slow))),
        late_p99=min(LONGEST_US, int(BUSY.late_p99 * max(1.0, slow))),
    )
    return _as_late(noise, int(USUAL_LATE_US * sqrt(slow)) if late is None else late)


def _as_late(noise: Noise, mean_us: int) -> Noise:
    """Return the noise of a machine whose threads were that late on average."""
    factor = mean_us / noise.late_mean
    return replace(
        noise,
        late=max(1, int(noise.late * factor)),
        late_p99=max(noise.late_p99, min(LONGEST_US, int(noise.late_p99 * factor))),
        late_mean=mean_us,
    )


def _lateness(capture: Capture) -> int | None:
    """Return how late heartbeats were, from when the faulted member's last one was sent."""
    faulted = next((act.member for act in capture.actions if act.member is not None), None)
    known = None if faulted is None else heartbeats(capture, faulted)
    if known is None:
        return None
    lasted_us = known.last_us - known.enabled_us
    number = lasted_us // known.interval_us
    if number < FEWEST_HEARTBEATS:
        return None
    late_us = lasted_us // number - known.interval_us
    return late_us if LEAST_LATE_US <= late_us <= MOST_LATE_US else None


def _way_in(capture: Capture, up: facts.StartUp) -> int | None:
    """Return how long one of the first members took from JoinGroup answer to assignment."""
    if not is_first(capture, up) or up.joined_us is None or up.assigned_us is None:
        return None
    return up.assigned_us - up.joined_us


def broker_session_ms(seed: int | None) -> int:
    """Return after how long a silent broker is missed; as it is set without a seed.

    No log of clients or coordinators tells when a broker last sent a heartbeat, nor when the
    controller would look.
    """
    if seed is None:
        return BROKER_SESSION_MS
    age, turn = (draw(stream_key(seed, "broker session", part), 0) for part in ("age", "turn"))
    return BROKER_SESSION_MS - int(age * BROKER_HEARTBEAT_MS) + int(turn * FENCING_TURN_MS)


def is_first(capture: Capture, up: facts.StartUp) -> bool:
    """Say whether an incarnation is one of those that formed the group."""
    return up.incarnation == 1 and up.started_us < capture.fault_us


def warm_up_us(capture: Capture, up: facts.StartUp) -> int:
    """Return how long a young process takes to find its first position."""
    way_in = _way_in(capture, up)
    if way_in is None:
        return LATE_WARM_UP_US
    return min(WARM_UP_MOST_US, WARM_UP_LEAST_US + int(WARM_UP_SHARE * way_in))


def drawn(median_us: int, p99_us: int, stream: str, who: str, seed: int | None) -> int:
    """Return one time of a lognormal distribution; its median without a seed."""
    if seed is None:
        return median_us
    shape = Lognormal(lognormal=LognormalShape(median=median_us, p99=p99_us))
    return sampler(shape, stream_key(seed, stream, who))(0)
