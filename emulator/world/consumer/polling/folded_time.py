"""The share of the consumers' time that was computed without events, and why the rest was live.

A consumer is folded between a poll that :mod:`emulator.world.consumer.polling.poll_loop` takes over and the
next event that ends it, and while whole periods of the run are skipped; otherwise it is live. The
poll loop gives the reason at each poll that it does not take over; it holds until the next poll.
Nothing of this is an event: the digest does not depend on it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field

from assignors.values import dataclass


class Live(enum.StrEnum):
    """Why every poll and fetch of a consumer is an event."""

    EXACT = "exact mode"
    NOT_STABLE = "the member joins, rebalances or leaves"
    REQUEST = "a request is in flight or due when it polls"
    INTERRUPTED = "after a heartbeat, commit or fault, until the next poll"
    CLIENT = "the client works in the background"
    FETCHES = "the client has a rule of its own for fetches"
    HEARTBEATS = "its heartbeats wait for the application"
    STORE = "its offsets are kept outside Kafka"
    BY_HAND = "it reads partitions that the application has assigned"
    COMMITS = "the application commits by itself"
    WORKERS = "a pool of workers processes its records"
    OWN = "code of the user processes its records"
    POISON = "the handler can fail"
    DEDUPLICATION = "each processed record is compared with a seen-set"
    CONTEXT = "the time of a record depends on lag, or on other records in work"
    FORWARDED = "another consumer appends records to its topics"
    TRIGGER = "a fault waits for a step of a member"
    PAUSED = "its application has paused partitions"
    HANG = "a fault delays the next record"
    OWNERS = "a partition has two owners, or its log was truncated"
    GAPS = "a topic has offsets without records"
    FETCH = "a fetch is affected by a fault"


@dataclass(frozen=True, slots=True)
class FoldedShare:
    """The time of all consumers of a run, from start to end, in microseconds."""

    folded_us: int
    live_us: Mapping[Live, int]
    """By reason, the longest first."""

    @property
    def share(self) -> float:
        """The folded part of the time, between 0 and 1; 1 if no consumer ran."""
        total = self.folded_us + sum(self.live_us.values())
        return self.folded_us / total if total else 1.0

    def live_shares(self) -> dict[str, float]:
        """Return the part of the time by reason, the largest first."""
        total = self.folded_us + sum(self.live_us.values())
        return {reason.value: us / total for reason, us in self.live_us.items()}


@dataclass(slots=True, eq=False)
class FoldedTime:
    """Measures folded and live time of all consumers of a run."""

    folded_us: int = 0
    live_us: dict[Live, int] = field(default_factory=dict)

    def result(self) -> FoldedShare:
        """Return the time measured so far."""
        ranked = sorted(self.live_us.items(), key=lambda item: (-item[1], item[0]))
        return FoldedShare(self.folded_us, {reason: us for reason, us in ranked if us})


class MemberTime:
    """The state of one process, folded or live, since the last change."""

    __slots__ = ("_reason", "_since_us", "_time")

    def __init__(self, time: FoldedTime, now: int, *, folding: bool) -> None:
        """Begin at *now*; the member is live until it is stable, without *folding* always."""
        self._time = time
        self._since_us = now
        self._reason: Live | None = Live.NOT_STABLE if folding else Live.EXACT

    def go_on(self, now: int, reason: Live | None) -> None:
        """Note why the process is live from now on; None: it is folded."""
        if reason is not self._reason:
            self.end(now)
            self._reason = reason

    def skip(self, length_us: int) -> None:
        """Note that a stretch of whole periods was not played."""
        self._time.folded_us += length_us
        self._since_us += length_us

    def end(self, now: int) -> None:
        """Note that the process, or the run, ended."""
        time, passed = self._time, now - self._since_us
        if self._reason is None:
            time.folded_us += passed
        else:
            time.live_us[self._reason] = time.live_us.get(self._reason, 0) + passed
        self._since_us = now
