"""The state of a calm client relative to a time, and the same state some periods later.

A group that is not disturbed does the same again and again. A host that finds every part of a run
in the state of one period before skips whole periods: all times move, and with them the positions
and the correlation ids.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.classic.state import Beat, ClientState, Consumer
from protocols.consumer.positions import Reading
from protocols.consumer.reader import NOTHING_ASKED, NOTHING_KNOWN, Reads
from protocols.messages import FetchResponse
from protocols.values import replace

Arrived = list[tuple[int, FetchResponse]]
"""Responses that no thread has read yet, with their times."""


def relative(
    state: ClientState,
    consumer: Consumer,
    until_us: int | None,
    arrived: Arrived,
    now: int,
) -> tuple[object, ...]:
    """Return all that decides what a calm client does next, without the absolute times.

    *until_us*: when the poll that waits returns; None: the application is outside poll. When the
    metadata are due is left out: :func:`metadata_due_us`.
    """
    beat, reads = state.beat, state.reads
    assert beat is not None, "a stable client has a heartbeat thread"
    automatic = consumer.settings.enable_auto_commit
    rest = replace(state, beat=None, autocommit_us=0, request_timer_us=None, reads=NOTHING_ASKED)
    return (
        rest,
        None if until_us is None else until_us - now,
        (beat.phase_us - now, beat.due_us - now, beat.session_us - now, beat.failures),
        state.autocommit_us - now if automatic else None,
        consumer.clock.polled_us - now,
        _without_times(reads),
        unread_state(arrived, consumer.positions.readings, now),
        _data_plane(consumer),
    )


def _without_times(reads: Reads) -> tuple[object, ...]:
    known = reads.metadata
    topics = replace(known, version=0, seen=0, fetched_us=0, retry_us=0)
    return replace(reads, next_correlation_id=0, metadata=NOTHING_KNOWN, taken_us=None), topics


def _data_plane(consumer: Consumer) -> tuple[object, ...]:
    fetcher, positions = consumer.fetcher, consumer.positions
    return (
        fetcher.buffer_state,
        fetcher.in_flight,
        tuple((r.partition, r.leader, r.current, r.epochs) for r in positions.readings.values()),
        tuple((broker, *readings) for broker, readings in positions.by_leader.items()),
    )


def metadata_due_us(state: ClientState, consumer: Consumer) -> int:
    """Return when the client next requests metadata."""
    return metadata.due_us(state.metadata, consumer)


def moved(state: ClientState, consumer: Consumer, later_us: int, requests: int) -> ClientState:
    """Return the state *later_us* later, after *requests* more; metadata keep their age."""
    beat = state.beat
    assert beat is not None, "a stable client has a heartbeat thread"
    reads = state.reads
    commit_us = state.autocommit_us
    if consumer.settings.enable_auto_commit:
        commit_us += later_us
    return replace(
        state,
        beat=Beat(
            beat.phase_us + later_us,
            beat.due_us + later_us,
            beat.session_us + later_us,
            beat.failures,
        ),
        autocommit_us=commit_us,
        reads=replace(reads, next_correlation_id=reads.next_correlation_id + requests),
    )


def unread_state(
    arrived: Arrived, readings: Mapping[TopicPartition, Reading], now: int
) -> tuple[object, ...]:
    """Return the responses that wait for a poll, relative to *now* and to the positions."""
    found: list[object] = []
    for at_us, response in arrived:
        found += (at_us - now, response.node)
        for part in response.partitions:
            position = readings[part.partition].position
            found += (part.partition, part.first - position, part.next_offset - position)
    return tuple(found)


def moved_responses(
    arrived: Arrived, later_us: int, records: Mapping[TopicPartition, int]
) -> Arrived:
    """Return the responses with so many records of each partition in between."""
    return [(at_us + later_us, _moved(response, records)) for at_us, response in arrived]


def _moved(response: FetchResponse, records: Mapping[TopicPartition, int]) -> FetchResponse:
    parts = []
    for part in response.partitions:
        count = records.get(part.partition, 0)
        moved = part._replace(first=part.first + count, next_offset=part.next_offset + count)
        parts.append(moved)
    return FetchResponse(response.node, tuple(parts))
