"""State and configuration that clients of both protocols share, and their back-off.

Source: ``Metadata``, ``OffsetFetcher``, ``ExponentialBackoff`` (KIP-580).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.consumer.calls import Failed
from protocols.consumer.fetching import Fetcher
from protocols.consumer.positions import FetchPosition, Positions
from protocols.messages import TopicDescription
from protocols.settings import ConsumerSettings
from protocols.values import replace

if TYPE_CHECKING:
    from protocols.consumer.clients import ClientProfile
    from protocols.consumer.offset_store import OffsetStore


class Reader(Protocol):
    """The part of a client's configuration that shared code uses."""

    @property
    def group_id(self) -> str:
        """The group id."""
        ...

    @property
    def settings(self) -> ConsumerSettings:
        """Its configuration."""
        ...

    @property
    def topics(self) -> tuple[str, ...] | None:
        """The topics subscribed to by name; None with a pattern."""
        ...

    @property
    def matches(self) -> Callable[[str], bool] | None:
        """Whether a topic name matches the pattern; None: the client evaluates no pattern."""
        ...

    @property
    def jitter(self) -> Callable[[str, int], float]:
        """A draw in [0, 1) by purpose and time (us)."""
        ...

    @property
    def epoch_ms(self) -> int:
        """Wall clock, in epoch ms, at time 0."""
        ...

    @property
    def brokers(self) -> tuple[int, ...]:
        """The bootstrap list."""
        ...

    @property
    def fetcher(self) -> Fetcher:
        """Its data plane."""
        ...

    @property
    def profile(self) -> ClientProfile:
        """What differs between clients."""
        ...

    @property
    def store(self) -> OffsetStore | None:
        """What automatic commits cover; None: all records returned."""
        ...

    @property
    def positions(self) -> Positions:
        """Where each assigned partition is read."""
        ...


@dataclass(frozen=True, slots=True)
class Metadata:
    """The client's copy of topics and leaders, and when to request it again."""

    topics: dict[str, TopicDescription] = field(default_factory=dict)
    version: int = 0
    seen: int = 0
    """The version that poll has applied."""

    fetched_us: int | None = None
    in_flight: int | None = None
    asked_broker: int | None = None
    """The broker that the request in flight was sent to."""

    wanted: bool = True
    """An update was requested before the age limit."""

    step_us: int | None = None
    """The next step of a client that refreshes in steps; None: it has not begun, or has no interval."""

    is_step: bool = False
    """Whether the request in flight is such a step."""

    step_seen: bool = True
    """Whether poll has applied the response to the last step."""

    watched: tuple[str, ...] | None = ()
    """The topics to request, by name or id; None: all."""

    by_id: bool = False
    """Whether topics are requested by id: the coordinator evaluates the pattern subscribed to."""

    asked: tuple[str, ...] | None = ()
    """The topics of the last request."""

    attempt: int = 0
    equivalent: int = 0
    """The responses in a row that brought no topic and no leader epoch that is new."""

    retry_us: int = 0
    brokers: tuple[int, ...] = ()


NOTHING_KNOWN = Metadata()


class Listing(NamedTuple):
    """A ListOffsets in flight: its broker and its partitions."""

    node: int
    partitions: tuple[TopicPartition, ...]


class Validation(NamedTuple):
    """An OffsetsForLeaderEpoch in flight: its broker and its positions."""

    node: int
    positions: dict[TopicPartition, FetchPosition]


@dataclass(frozen=True, slots=True)
class Reads:
    """Metadata, ListOffsets and validation requests to any broker, and their results."""

    next_correlation_id: int = 0
    metadata: Metadata = NOTHING_KNOWN
    listing: dict[int, Listing] = field(default_factory=dict)
    """ListOffsets in flight, by correlation id."""

    validating: dict[int, Validation] = field(default_factory=dict)
    """OffsetsForLeaderEpoch in flight, by correlation id."""

    validation_failure: Failed | None = None
    """The exception of the next poll, because a log was truncated."""

    out_of_range: dict[TopicPartition, int] = field(default_factory=dict)
    """Positions out of range without a reset policy; each makes one poll throw."""

    taken_us: int | None = None
    """When committed offsets last became positions."""

    def numbered(self) -> tuple[int, Reads]:
        """Return a fresh correlation id."""
        number = self.next_correlation_id
        return number, replace(self, next_correlation_id=number + 1)

    def without_times(self) -> tuple[Reads, Metadata]:
        """Return these without the times and numbers that move on in a run that does not change."""
        known = replace(self.metadata, version=0, seen=0, fetched_us=0, retry_us=0, equivalent=0)
        step_us = None if known.step_us is None else 0
        rest = replace(self, next_correlation_id=0, metadata=NOTHING_KNOWN, taken_us=None)
        return rest, replace(known, step_us=step_us)


NOTHING_ASKED = Reads()


MS = 1_000

NEVER = 1 << 62
"""A time (us) after every deadline."""


def backoff_us(reader: Reader, what: str, attempt: int, now: int) -> int:
    """Return the exponential back-off before attempt number ``attempt`` + 2, in microseconds.

    ``min(max, uniform(0.8, 1.2) * base * 2^attempt)``.
    """
    settings = reader.settings
    jitter = reader.jitter(what, now)
    return _exponential(settings.retry_backoff_ms, settings.retry_backoff_max_ms, attempt, jitter)


def interval_us(reader: Reader, what: str, interval_ms: int, now: int) -> int:
    """Return an interval, less or more by up to a fifth, in microseconds."""
    return _exponential(interval_ms, 2 * interval_ms, 0, reader.jitter(what, now))


def reconnect_backoff_us(reader: Reader, failures: int, now: int) -> int:
    """Return the back-off before a reconnect to a broker, in microseconds.

    *failures*: how often the connection broke before, without a response in between. Source:
    ``ClusterConnectionStates.updateReconnectBackoff``.
    """
    settings = reader.settings
    base, limit = settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms
    return _exponential(base, limit, failures, reader.jitter("reconnect", now))


def _exponential(base_ms: int, limit_ms: int, attempt: int, jitter: float) -> int:
    if limit_ms <= base_ms:
        return limit_ms * MS
    spread = 0.8 + 0.4 * jitter
    return int(min(limit_ms, spread * base_ms * 2 ** min(attempt, 20)) * MS)


def next_tick(due_us: int, interval_us: int, now: int) -> int:
    """Return when (us) something is due next that repeats in fixed steps.

    >>> next_tick(5_000, 5_000, 5_000), next_tick(5_000, 5_000, 16_000)
    (10000, 20000)
    """
    return due_us + ((now - due_us) // interval_us + 1) * interval_us


def turn_interval_us(settings: ConsumerSettings) -> int:
    """Return the longest wait of a client's thread before its next turn, in microseconds.

    It is ``retry.backoff.ms``, of which 0 counts as 1 ms. Source: ``AbstractCoordinator.HeartbeatThread``,
    ``AsyncKafkaConsumer.pollForFetches``.
    """
    return max(settings.retry_backoff_ms, 1) * MS


class Counts(NamedTuple):
    """How many entries of each kind were collected, and since when (us)."""

    since_us: int
    waits: int
    partial: int


class Notes(NamedTuple):
    """What was collected in a stretch of time, relative to its beginning (us)."""

    waits: tuple[int, ...]
    partial: tuple[int, ...]


class PollClock:
    """When the application last entered poll, when it waits there, and what it leaves unread."""

    __slots__ = ("is_waiting", "joined_from_us", "partial", "polled_us", "waits", "watched_us")

    def __init__(self) -> None:
        self.polled_us = 0
        self.joined_from_us = 0
        """When the last turn before a join began (us)."""

        self.is_waiting = False
        """Whether a poll waits for records."""

        self.waits: array[int] | None = None
        """Begin and end of each wait, in turns (us); None: they are not collected."""

        self.partial: array[int] = array("q")
        """When a poll returned records and left responses unread (us)."""

        self.watched_us = 0
        """Since when both are collected (us)."""

    def watch(self, now: int) -> None:
        """Collect the waits, and the polls that leave responses unread, from now on."""
        self.waits = array("q", [now] if self.is_waiting else [])
        self.partial = array("q")
        self.watched_us = now

    def wait(self, now: int) -> None:
        """Note that a poll waits; polls without records that follow each other are one wait."""
        if not self.is_waiting:
            self.is_waiting = True
            if self.waits is not None:
                self.waits.append(now)

    def leave(self, now: int, *, leaves_unread: bool) -> None:
        """Note that a poll returns records; *leaves_unread*: other responses have arrived."""
        if leaves_unread and self.waits is not None:
            self.partial.append(now)
        if self.is_waiting:
            self.is_waiting = False
            if self.waits is not None:
                self.waits.append(now)

    @property
    def counts(self) -> Counts | None:
        """How much was collected; None: nothing is."""
        if self.waits is None:
            return None
        return Counts(self.watched_us, len(self.waits), len(self.partial))

    def counts_on(self, counts: Counts | None) -> bool:
        """Return whether nothing since *counts* is missing: ``watch`` was not called again after them."""
        return counts is not None and counts.since_us == self.watched_us

    def since(self, counts: Counts | None, begin_us: int) -> Notes | None:
        """Return what was collected after *counts*, relative to *begin_us*; None: it is unknown."""
        if self.waits is None or counts is None or not self.counts_on(counts):
            return None
        return Notes(
            tuple([at_us - begin_us for at_us in self.waits[counts.waits :]]),
            tuple([at_us - begin_us for at_us in self.partial[counts.partial :]]),
        )

    def repeat(self, notes: Notes | None, begin_us: int, period_us: int, times: int) -> None:
        """Note the waits and polls of so many equal periods."""
        if self.waits is not None and notes is not None:
            every = range(begin_us, begin_us + times * period_us, period_us)
            self.waits.extend([at + since for at in every for since in notes.waits])
            self.partial.extend([at + since for at in every for since in notes.partial])
