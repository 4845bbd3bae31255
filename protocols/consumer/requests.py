"""Requests of a client: correlation ids, sending, timeouts, lost connections.

Requests to the coordinator are kept until their response; one timer is set for the earliest
deadline. Requests to other brokers are kept in the client's ``reads``. Source:
``InFlightRequests``, ``NetworkClient``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from assignors.types import TopicPartition
from protocols.consumer import metadata, offset_fetcher, validation
from protocols.consumer.lookup import (
    LOOKUP,
    Known,
    Unknown,
    WithoutBroker,
    ask_for_coordinator,
    back_off_lookup,
    without_dropped,
)
from protocols.consumer.reader import Reader, Reads, reconnect_backoff_us
from protocols.machine import CancelTimer, Close, Effect, Send, SetTimer, Step
from protocols.messages import (
    Envelope,
    FetchedRecords,
    Message,
    OffsetToCommit,
    coordinator_node,
)
from protocols.values import replace

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


def look_up(
    state: A, reader: Reader, now: int, without_broker: WithoutBroker = back_off_lookup
) -> Step[A]:
    """Look the coordinator up, unless a lookup is in flight or the back-off runs.

    *without_broker*: what the client does while the reconnect back-off of every broker runs; to a
    classic consumer the lookup has failed (``AbstractCoordinator.lookupCoordinator``).
    """
    unknown = state.coordinator
    assert isinstance(unknown, Unknown), "the coordinator is known"
    number, after = take_number(state)
    step = ask_for_coordinator(unknown, reader, state.reads, number, without_broker, now)
    if step.state is unknown:
        return Step(state, step.effects)
    return Step(replace(after, coordinator=step.state), step.effects)


def begin_call(state: A) -> A:
    """Let a call of the application look the coordinator up at once, and pause briefly at first.

    A back-off ends with the call that it began in (``AbstractCoordinator.ensureCoordinatorReady``).
    """
    unknown = state.coordinator
    if not isinstance(unknown, Unknown) or not unknown.retry_us:
        return state
    return replace(state, coordinator=replace(unknown, retry_us=0, pauses=0))


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


def are_in_flight(state: RequestState) -> bool:
    """Return whether a request of the client, other than a fetch, has no response yet."""
    reads = state.reads
    asks = reads.metadata.in_flight is not None or reads.listing or reads.validating
    return bool(state.in_flight or asks)


def without_request(state: A, number: int) -> A:
    """Return the state without the request ``number`` in flight."""
    left = {n: flight for n, flight in state.in_flight.items() if n != number}
    return replace(state, in_flight=left)


def fail_requests(state: A, broker: int, fail: Callable[[A, int], Step[A]]) -> Step[A]:
    """Remove every request in flight to *broker*; *fail* handles each, by its number.

    Their connection is broken, or the client closes it here.
    """
    step = Step(state, (Close(coordinator_node(broker)),))
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
    unknown = step.state.coordinator
    if isinstance(unknown, Unknown):
        step = Step(replace(step.state, coordinator=without_dropped(unknown, broker)), step.effects)
        if unknown.asked_broker == broker:
            step = step.then(fail_lookup)
    return step.then(
        lambda s: on_reads(
            s, lambda reads: offset_fetcher.on_connection_lost(reads, reader, broker, now)
        )
    )


def on_fetch_failed(state: A, reader: Reader, failed: list[FetchedRecords], now: int) -> Step[A]:
    """Handle the errors of a fetch, by partition."""
    return on_reads(state, lambda r: offset_fetcher.on_fetch_failed(r, reader, failed, now))


def throw_out_of_range(state: A, reader: Reader) -> Step[A]:
    """Throw for the first position that is out of range, unless it has moved since."""
    return on_reads(state, lambda reads: offset_fetcher.throw_out_of_range(reads, reader))


def on_metadata_timer(state: A, reader: Reader, now: int) -> Step[A]:
    """Request metadata again, because of the age limit or because a request timed out."""
    return on_reads(state, lambda reads: metadata.on_timer(reads, reader, now))


# -- for a host that skips whole periods of a client ----------------------------------------------


class OpenRequest(NamedTuple):
    """A request to the coordinator without a response yet."""

    sent_us: int
    is_sync: bool
    """Whether commitSync waits for it."""


class Renumbered(NamedTuple):
    """The correlation ids of a client behind skipped periods."""

    more: int
    """How many more it has used."""

    open: Mapping[int, int]
    """Those of the requests and commits that have not ended, by the ids that they had before."""


def renewed(state: A) -> Step[A]:
    """Set the timers of requests for those in flight: a response leaves them where they are."""
    armed = rearm_request_timer(state)
    effects = armed.effects or (CancelTimer(REQUESTS),)
    if isinstance(state.coordinator, Known):
        effects += (CancelTimer(LOOKUP),)
    return Step(armed.state, effects)


def moved_offsets(
    offsets: tuple[OffsetToCommit, ...], records: Mapping[TopicPartition, int]
) -> tuple[OffsetToCommit, ...]:
    """Return the offsets of a commit behind so many records more of each partition."""
    return tuple(
        [entry._replace(offset=entry.offset + records.get(entry.partition, 0)) for entry in offsets]
    )


def renumbered(responses: tuple[Envelope, ...], numbers: Mapping[int, int]) -> tuple[Envelope, ...]:
    """Return responses that no thread has read, with the numbers that their requests have then."""
    return tuple(
        [
            Envelope(header._replace(correlation_id=numbers[header.correlation_id]), body)
            for header, body in responses
        ]
    )
