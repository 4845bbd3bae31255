"""Requests without a response yet, for a host that skips whole periods of a client."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.consumer.committing import first_error
from protocols.consumer.requests import A
from protocols.messages import Envelope, HeartbeatResponse, OffsetCommitResponse, OffsetToCommit
from protocols.values import replace


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


def renewed(state: A) -> A:
    """Return the state with the earliest deadline of its requests in flight as request timer."""
    deadlines = [flight.deadline_us for flight in state.in_flight.values()]
    return replace(state, request_timer_us=min(deadlines, default=None))


def moved_offsets(
    offsets: tuple[OffsetToCommit, ...], records: Mapping[TopicPartition, int]
) -> tuple[OffsetToCommit, ...]:
    """Return the offsets of a commit behind so many records more of each partition."""
    return tuple(
        [entry._replace(offset=entry.offset + records.get(entry.partition, 0)) for entry in offsets]
    )


def has_succeeded(response: Envelope, in_flight: Container[int]) -> bool:
    """Return whether a response says that a heartbeat or commit *in_flight* has succeeded."""
    body = response.body
    if response.header.correlation_id not in in_flight:
        return False
    if type(body) is OffsetCommitResponse:
        return not first_error(body)
    return type(body) is HeartbeatResponse and not body.error


def renumbered(responses: tuple[Envelope, ...], numbers: Mapping[int, int]) -> tuple[Envelope, ...]:
    """Return responses that no thread has read, with the numbers that their requests have then."""
    return tuple(
        [
            Envelope(header._replace(correlation_id=numbers[header.correlation_id]), body)
            for header, body in responses
        ]
    )
