"""Requests of a client: correlation ids, sending, timeouts, coordinator lookup, commits' offsets, fetch sessions.

Requests to the coordinator are kept until their response; one timer is set for the earliest
deadline. Requests to other brokers are kept in the client's ``reads``. Source:
``InFlightRequests``, ``NetworkClient``, ``CoordinatorRequestManager``,
``AbstractCoordinator.ensureCoordinatorReady``, ``FetchSessionHandler``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field
from functools import lru_cache
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from assignors.java import (
    DEFAULT_LENGTH,
    hash_map_order,
    java_hash,
    length_of_map_copy,
    topic_partition_hash,
)
from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.consumer import metadata, offset_fetcher, validation
from protocols.consumer.reader import MS, Reader, Reads, backoff_us, reconnect_backoff_us
from protocols.machine import Effect, Send, SetTimer, Step
from protocols.messages import (
    UNKNOWN_EPOCH,
    FetchPartition,
    FindCoordinatorRequest,
    Message,
    OffsetCommitResponse,
    OffsetToCommit,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

LOOKUP = "lookup"
"""Timer: look the coordinator up again."""


LOSES_COORDINATOR = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""Errors of a broker that is not, or no longer, the coordinator."""


RETRIED = LOSES_COORDINATOR | {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NETWORK_EXCEPTION,
}
"""Errors after which commitSync retries; NETWORK_EXCEPTION is a lost connection."""


@dataclass(frozen=True, slots=True)
class Known:
    """The group's coordinator was found."""

    broker: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """The coordinator is being looked up, or will be at ``retry_us``."""

    attempt: int = 0
    lookup: int | None = None
    """Correlation id of the FindCoordinator in flight."""

    retry_us: int = 0


NEVER_ASKED = Unknown()

_Partitions = tuple[TopicPartition, ...]
_ORDERS = 1 << 12
"""The number of orders of commits to remember."""


def ask_for_coordinator(
    unknown: Unknown, reader: Reader, brokers: tuple[int, ...], number: int, now: int
) -> Step[Unknown]:
    """Look the coordinator up, unless a lookup is in flight or the back-off runs.

    *brokers*: those in the metadata, if any; *number*: the correlation id if a request is sent.
    """
    if unknown.lookup is not None:
        return Step(unknown)
    if now < unknown.retry_us:
        return Step(unknown, (SetTimer(LOOKUP, unknown.retry_us),))
    known = brokers or reader.brokers
    node = known[unknown.attempt % len(known)]
    limit = now + reader.settings.request_timeout_ms * MS
    request = FindCoordinatorRequest(group_id=reader.group_id)
    sent = (Send(node, request, number), SetTimer(LOOKUP, limit))
    return Step(replace(unknown, lookup=number), sent)


def back_off_lookup(unknown: Unknown, reader: Reader, now: int) -> Step[Unknown]:
    """Retry the lookup after the back-off."""
    retry = now + backoff_us(reader, "lookup", unknown.attempt, now)
    return Step(Unknown(unknown.attempt + 1, None, retry), (SetTimer(LOOKUP, retry),))


REQUESTS = "requests"
"""Timer: the oldest request in flight has reached its deadline."""


class RequestInFlight(Protocol):
    """A request to the coordinator without a response yet."""

    @property
    def broker(self) -> int:
        """The coordinator it went to."""
        ...

    @property
    def deadline_us(self) -> int:
        """When (us) it times out."""
        ...


class RequestState(Protocol):
    """The part of a client's state that its requests use: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def reads(self) -> Reads:
        """Requests to any broker about metadata and positions."""
        ...

    @property
    def coordinator(self) -> Known | Unknown:
        """The group's coordinator, or the progress of its lookup."""
        ...

    @property
    def in_flight(self) -> Mapping[int, RequestInFlight]:
        """Requests to the coordinator without a response yet, by correlation id."""
        ...

    @property
    def request_timer_us(self) -> int | None:
        """When the timer for the earliest deadline fires; None: it is not set."""
        ...


A = TypeVar("A", bound=RequestState)


def on_reads(state: A, move: Callable[[Reads], Step[Reads]]) -> Step[A]:
    """Apply *move* to the client's ``reads``."""
    step = move(state.reads)
    if step.state is state.reads:
        return Step(state, step.effects)
    return Step(replace(state, reads=step.state), step.effects)


def take_number(state: A) -> tuple[int, A]:
    """Return a fresh number: a correlation id, or the key of a commit."""
    number, reads = state.reads.numbered()
    return number, replace(state, reads=reads)


def look_up(state: A, reader: Reader, now: int) -> Step[A]:
    """Look the coordinator up, unless a lookup is in flight or the back-off runs."""
    unknown = state.coordinator
    assert isinstance(unknown, Unknown), "the coordinator is known"
    number, after = take_number(state)
    step = ask_for_coordinator(unknown, reader, state.reads.metadata.brokers, number, now)
    if step.state is unknown:
        return Step(state, step.effects)
    return Step(replace(after, coordinator=step.state), step.effects)


def send(state: A, message: Message, flight: RequestInFlight) -> Step[A]:
    """Send a request to the coordinator and record it as in flight."""
    number, reads = state.reads.numbered()
    effects: tuple[Effect, ...] = (Send(coordinator_node(flight.broker), message, number),)
    timer = state.request_timer_us
    if timer is None or flight.deadline_us < timer:
        timer = flight.deadline_us
        effects += (SetTimer(REQUESTS, timer),)
    flights = {**state.in_flight, number: flight}
    return Step(replace(state, reads=reads, in_flight=flights, request_timer_us=timer), effects)


def without_request(state: A, number: int) -> A:
    """Return the state without the request ``number`` in flight."""
    left = {n: flight for n, flight in state.in_flight.items() if n != number}
    return replace(state, in_flight=left)


def fail_requests(state: A, broker: int, fail: Callable[[A, int], Step[A]]) -> Step[A]:
    """Remove every request in flight to *broker*; *fail* handles each, by its number."""
    step = Step(state)
    for number in [n for n, flight in state.in_flight.items() if flight.broker == broker]:
        failed = fail(without_request(step.state, number), number)
        step = Step(failed.state, step.effects + failed.effects)
    return step


def timed_out_brokers(state: RequestState, now: int) -> list[int]:
    """Return the brokers with a request past its deadline, each once."""
    late = [flight.broker for flight in state.in_flight.values() if flight.deadline_us <= now]
    return list(dict.fromkeys(late))


def rearm_request_timer(state: A) -> Step[A]:
    """Set the timer for the earliest deadline of the requests in flight."""
    if not state.in_flight:
        return Step(replace(state, request_timer_us=None))
    deadline = min(flight.deadline_us for flight in state.in_flight.values())
    return Step(replace(state, request_timer_us=deadline), (SetTimer(REQUESTS, deadline),))


def on_request_timeout(state: A, disconnect: Callable[[A, int], Step[A]], now: int) -> Step[A]:
    """Close the connection to every coordinator with a request past its deadline.

    *disconnect*: handles the loss of the connection to a node. Source:
    ``NetworkClient.handleTimedOutRequests``.
    """
    step = Step(state)
    for broker in timed_out_brokers(state, now):
        lost = disconnect(step.state, coordinator_node(broker))
        step = Step(lost.state, step.effects + lost.effects)
    return step.then(rearm_request_timer)


def on_data_connection_lost(
    state: A, reader: Reader, broker: int, fail_lookup: Callable[[A], Step[A]], now: int
) -> Step[A]:
    """Retry the requests of a broken data connection: validations, a lookup, ListOffsets.

    *fail_lookup*: ends the coordinator lookup in flight.
    """
    failures = reader.fetcher.failures(broker)
    reader.fetcher.disconnected(broker, now + reconnect_backoff_us(reader, failures, now))
    step = on_reads(state, lambda reads: validation.on_connection_lost(reads, reader, broker, now))
    if isinstance(state.coordinator, Unknown) and state.coordinator.lookup is not None:
        step = step.then(fail_lookup)
    return step.then(
        lambda s: on_reads(s, lambda reads: offset_fetcher.on_connection_lost(reads, reader, now))
    )


def on_metadata_timer(state: A, reader: Reader, now: int) -> Step[A]:
    """Request metadata again, because of the age limit or because a request timed out."""
    return on_reads(state, lambda reads: metadata.on_timer(reads, reader, now))


def automatic_order(offsets: Iterable[OffsetToCommit]) -> tuple[OffsetToCommit, ...]:
    """Return offsets in the order of a Java HashMap filled one by one (automatic commits)."""
    return _in_order(offsets, _automatic_places)


def explicit_order(offsets: Iterable[OffsetToCommit]) -> tuple[OffsetToCommit, ...]:
    """Return offsets in the order of a copy of such a map (commitSync and commitAsync)."""
    return _in_order(offsets, _explicit_places)


def _in_order(
    offsets: Iterable[OffsetToCommit], places: Callable[[_Partitions], list[int]]
) -> tuple[OffsetToCommit, ...]:
    entries = tuple(offsets)
    if len(entries) < 2:
        return entries
    return tuple([entries[at] for at in places(tuple([entry.partition for entry in entries]))])


@lru_cache(maxsize=_ORDERS)  # a consumer commits the same partitions repeatedly
def _automatic_places(partitions: _Partitions) -> list[int]:
    return _map_places(partitions, DEFAULT_LENGTH)


@lru_cache(maxsize=_ORDERS)
def _explicit_places(partitions: _Partitions) -> list[int]:
    places = _automatic_places(partitions)
    copied = tuple(partitions[at] for at in places)
    length = length_of_map_copy(len(copied))
    return [places[at] for at in _map_places(copied, length)]


def _map_places(partitions: _Partitions, length: int) -> list[int]:
    """Return the places of the partitions in the order of a map that they are put into.

    Of a repeated partition the last one counts.
    """
    places = {tp: at for at, tp in enumerate(partitions)}
    ordered = hash_map_order(places, topic_partition_hash, length)
    by_topic = {topic: index for index, topic in enumerate(_topic_order(ordered))}
    return [places[tp] for tp in sorted(ordered, key=lambda tp: by_topic[tp.topic])]


def _topic_order(partitions: Iterable[TopicPartition]) -> list[str]:
    return hash_map_order((tp.topic for tp in partitions), java_hash)


def all_consumed(reader: Reader) -> list[OffsetToCommit]:
    """Return every valid position: a commit of them covers all records returned by poll.

    Each has the leader epoch of the last record before it, or none after a reset. Source:
    ``SubscriptionState.allConsumed``.
    """
    return [OffsetToCommit(*entry) for entry in reader.positions.consumed()]


GivenOffsets = tuple[OffsetToCommit, ...] | None
"""The argument of a commit of the application; None: it is called without one."""


def given_offsets(reader: Reader, offsets: GivenOffsets) -> tuple[OffsetToCommit, ...]:
    """Return what a commit of the application covers, in its order.

    Without offsets: all records returned by poll; with a client that works in the background, what
    an automatic commit would (librdkafka: ``rd_kafka_commit`` of stored offsets).
    """
    if offsets is not None:
        return explicit_order(offsets)
    if reader.profile.in_background:
        return automatic_offsets(reader)
    return explicit_order(all_consumed(reader))


def automatic_offsets(
    reader: Reader, only: frozenset[TopicPartition] | None = None
) -> tuple[OffsetToCommit, ...]:
    """Return what an automatic commit covers now, in its order.

    *only*: of these partitions, which are given away; their offsets may be committed already.
    """
    store = reader.store
    if store is None:
        offsets = [
            entry for entry in all_consumed(reader) if only is None or entry.partition in only
        ]
    elif only is None:
        offsets = store.to_commit(reader.positions)
    else:
        offsets = store.of_removed(only, reader.positions)
    if not reader.profile.commits_epochs:
        offsets = [
            OffsetToCommit(entry.partition, entry.offset, UNKNOWN_EPOCH) for entry in offsets
        ]
    return automatic_order(offsets)


def next_tick(due_us: int, interval_us: int, now: int) -> int:
    """Return when the next commit is due of a clock that ticks in fixed steps.

    >>> next_tick(5_000, 5_000, 5_000), next_tick(5_000, 5_000, 16_000)
    (10000, 20000)
    """
    step = max(interval_us, 1)
    return due_us + ((now - due_us) // step + 1) * step


def first_error(response: OffsetCommitResponse) -> ErrorCode:
    """Return the first error in a response, which decides how the commit ends."""
    errors = (error for _, error in response.errors if error is not ErrorCode.NONE)
    return next(errors, ErrorCode.NONE)


T = TypeVar("T")


class FetchSession(Generic[T]):
    """A consumer's fetch session at a broker (KIP-227): its partitions in cache order.

    A full fetch sets the order, an incremental one keeps it, and a partition that returned data
    moves to the end. The host keeps a value for each partition.
    """

    __slots__ = ("cached",)

    def __init__(self) -> None:
        self.cached: dict[TopicPartition, T] = {}

    def renew(
        self, wanted: Iterable[FetchPartition], keep: Callable[[T | None, FetchPartition], T]
    ) -> None:
        """Apply a fetch: append new partitions, and remove those no longer requested.

        *keep* returns the host's value of a partition, given its earlier value, if there was one.
        """
        before = self.cached
        parts = {part.partition: part for part in wanted}
        if parts.keys() == before.keys():
            self.cached = {tp: keep(value, parts[tp]) for tp, value in before.items()}
            return
        order = [tp for tp in before if tp in parts] + [tp for tp in parts if tp not in before]
        self.cached = {tp: keep(before.get(tp), parts[tp]) for tp in order}

    def answered(self, partition: TopicPartition) -> None:
        """Move a partition that returned data to the end."""
        if len(self.cached) > 1:
            self.cached[partition] = self.cached.pop(partition)
