"""Metadata requests of a calm client whose responses bring nothing new.

A host that skips whole periods skips such requests as well: they change only their own times and
numbers. One thing may differ: a turn of the poll loop that applies metadata reads all responses that
have arrived, a turn of a calm client may leave some unread (``PollClock.partial``).
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.consumer import metadata
from protocols.consumer.classic.membership import note_new_metadata
from protocols.consumer.classic.state import ClientState, Consumer
from protocols.consumer.reader import MS, backoff_us
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


def next_request(state: ClientState, consumer: Consumer) -> NextRequest | None:
    """Return the next metadata request; None: it is not one of many at equal distances.

    The deadline of the application (``max.poll.interval.ms``) may not decide when the heartbeat
    thread runs, because a turn of the poll loop moves it.
    """
    known, settings = state.metadata, consumer.settings
    if known.wanted or known.in_flight is not None or known.attempt:
        return None
    if not metadata.covers_all(known) or not known.brokers:
        return None
    age_ms, thread_ms = settings.metadata_max_age_ms, max(settings.retry_backoff_ms, 1)
    if age_ms <= 2 * thread_ms or age_ms <= settings.retry_backoff_max_ms:
        return None
    if settings.max_poll_interval_ms <= 2 * settings.heartbeat_interval_ms + thread_ms:
        return None
    request = MetadataRequest(topics=known.watched)
    return NextRequest(known.brokers[0], request, age_ms * MS, thread_ms * MS)


def brings_nothing(state: ClientState, consumer: Consumer, response: MetadataResponse) -> bool:
    """Return whether a response says only what the client knows, and applies already."""
    known, topics = state.metadata, {topic.name: topic for topic in response.topics}
    if response.brokers != known.brokers or topics != known.topics:
        return False
    if not consumer.positions.follows(metadata.leaders_of(topics.values())):
        return False
    after = refreshed_state(state, consumer, 0, 1)
    return replace(after, reads=state.reads) == state


def refreshed_state(
    state: ClientState, consumer: Consumer, fetched_us: int, times: int
) -> ClientState:
    """Return the state after *times* such responses, the last one at *fetched_us*."""
    known = state.metadata
    after = replace(
        known,
        version=known.version + times,
        fetched_us=fetched_us,
        retry_us=fetched_us + backoff_us(consumer, "metadata", 0, fetched_us),
    )
    number = state.reads.next_correlation_id + times
    reads = replace(state.reads, metadata=after, next_correlation_id=number)
    return note_new_metadata(replace(state, reads=reads), consumer)
