"""Metadata requests of a calm client whose responses bring nothing new.

A host that skips whole periods skips such requests as well: they change only their own times and
numbers, and in a client that works in the background, when its poll last ran. Two things may differ.
With the classic protocol, a turn of the poll loop that applies metadata reads all responses that have
arrived, a turn of a calm client may leave some unread (``PollClock.partial``). With the consumer
protocol, a response wakes the background thread, which takes the events that are queued then
(``QueueTimes``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from protocols.consumer import metadata
from protocols.consumer.fetching import Connection
from protocols.consumer.lookup import candidates
from protocols.consumer.reader import MS, Metadata, Reader, backoff_us, turn_interval_us
from protocols.messages import MetadataRequest, MetadataResponse
from protocols.values import replace


class NextRequest(NamedTuple):
    """The next metadata request of a calm client."""

    nodes: tuple[int, ...]
    """The brokers of which one gets it, whatever is in flight then."""

    request: MetadataRequest
    age_us: int
    """The time from a response to the next request, or in steps from one request to the next."""

    in_steps: bool
    thread_us: int
    """The time between two turns of the heartbeat thread."""


State = Any
"""The state of a client of either protocol: it has ``reads`` and ``metadata``."""

Apply = Callable[[State, Any], State]
"""Applies new metadata to the state of a client, as its poll does."""


def next_request(state: State, consumer: Reader) -> NextRequest | None:
    """Return the next metadata request; None: it is not one of many at equal distances.

    The deadline of the application (``max.poll.interval.ms``) may not decide when the heartbeat
    thread runs, because a turn of the poll loop moves it.
    """
    known, settings = state.metadata, consumer.settings
    if known.wanted or known.in_flight is not None or known.attempt:
        return None
    if not metadata.covers_all(known) or not known.brokers:
        return None
    age_ms, thread_us = settings.metadata_max_age_ms, turn_interval_us(settings)
    thread_ms = thread_us // MS
    if age_ms <= 2 * thread_ms or age_ms <= settings.retry_backoff_max_ms:
        return None
    if settings.max_poll_interval_ms <= 2 * settings.heartbeat_interval_ms + thread_ms:
        return None
    nodes = candidates(consumer, state.reads)
    if any(consumer.fetcher.connection(node) is not Connection.READY for node in nodes):
        return None
    if not _is_usual(known, consumer):
        return None
    request, in_steps = metadata.request_of(known), consumer.profile.refreshes_in_steps
    return NextRequest(nodes, request, age_ms * MS, in_steps, thread_us)


def _is_usual(known: Metadata, consumer: Reader) -> bool:
    """Return whether a request of a client that refreshes in steps is a step."""
    if not consumer.profile.refreshes_in_steps:
        return True
    settings, due_us = consumer.settings, metadata.due_us(known, consumer)
    pauses_ms = 2 * settings.retry_backoff_max_ms
    return due_us == known.step_us and settings.metadata_max_age_ms > pauses_ms


def brings_nothing(
    state: State, consumer: Reader, response: MetadataResponse, apply: Apply
) -> bool:
    """Return whether a response says only what the client knows, and applies already."""
    known, topics = state.metadata, {topic.name: topic for topic in response.topics}
    if response.brokers != known.brokers or topics != known.topics:
        return False
    leaders = metadata.leaders_of(topics.values(), epochs=consumer.profile.knows_epochs)
    if not consumer.positions.follows(leaders):
        return False
    after = refreshed_state(state, consumer, 0, 1, apply)
    return bool(replace(after, reads=state.reads) == state)


def refreshed_state(
    state: State, consumer: Reader, fetched_us: int, times: int, apply: Apply
) -> State:
    """Return the state after *times* such responses, the last one at *fetched_us*."""
    known, step_us, equivalent = state.metadata, state.metadata.step_us, 1
    if step_us is not None:  # a step is no age limit: it ends no series of equivalent responses
        step_us += times * consumer.settings.metadata_max_age_ms * MS
        equivalent = known.equivalent + times
    after = replace(
        known,
        version=known.version + times,
        fetched_us=fetched_us,
        step_us=step_us,
        step_seen=step_us is None,
        equivalent=equivalent,
        retry_us=fetched_us + backoff_us(consumer, "metadata", equivalent - 1, fetched_us),
    )
    number = state.reads.next_correlation_id + times
    reads = replace(state.reads, metadata=after, next_correlation_id=number)
    return apply(replace(state, reads=reads), consumer)
