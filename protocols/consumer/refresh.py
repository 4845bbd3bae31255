"""Metadata requests of a calm client whose responses bring nothing new.

A host that skips whole periods skips such requests as well: they change only their own times and
numbers. Two things may differ. With the classic protocol, a turn of the poll loop that applies metadata
reads all responses that have arrived, a turn of a calm client may leave some unread
(``PollClock.partial``). With the consumer protocol, a response wakes the background thread, which takes
the events that are queued then (``QueueTimes``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from protocols.consumer import metadata
from protocols.consumer.reader import MS, Reader, backoff_us, turn_interval_us
from protocols.messages import MetadataRequest, MetadataResponse
from protocols.values import replace


class NextRequest(NamedTuple):
    """The next metadata request of a calm client."""

    node: int
    request: MetadataRequest
    age_us: int
    """The time from a response to the next request."""

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
    if consumer.profile.refreshes_in_steps:
        return None
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
    request = metadata.request_of(known)
    return NextRequest(known.brokers[0], request, age_ms * MS, thread_us)


def brings_nothing(
    state: State, consumer: Reader, response: MetadataResponse, apply: Apply
) -> bool:
    """Return whether a response says only what the client knows, and applies already."""
    known, topics = state.metadata, {topic.name: topic for topic in response.topics}
    if response.brokers != known.brokers or topics != known.topics:
        return False
    if not consumer.positions.follows(metadata.leaders_of(topics.values())):
        return False
    after = refreshed_state(state, consumer, 0, 1, apply)
    return bool(replace(after, reads=state.reads) == state)


def refreshed_state(
    state: State, consumer: Reader, fetched_us: int, times: int, apply: Apply
) -> State:
    """Return the state after *times* such responses, the last one at *fetched_us*."""
    known = state.metadata
    after = replace(
        known,
        version=known.version + times,
        fetched_us=fetched_us,
        equivalent=1,
        retry_us=fetched_us + backoff_us(consumer, "metadata", 0, fetched_us),
    )
    number = state.reads.next_correlation_id + times
    reads = replace(state.reads, metadata=after, next_correlation_id=number)
    return apply(replace(state, reads=reads), consumer)
