"""The offsets of a commit, their order in the request, and the errors that are retried."""

from __future__ import annotations

from collections.abc import Iterable

from assignors.java import (
    DEFAULT_LENGTH,
    hash_map_order,
    java_hash,
    length_of_map_copy,
    topic_partition_hash,
)
from assignors.types import TopicPartition
from protocols.consumer.reader import Reader
from protocols.consumer.requests import LOSES_COORDINATOR
from protocols.messages import OffsetCommitResponse, OffsetToCommit
from protocols.messages.errors import ErrorCode

RETRIED = LOSES_COORDINATOR | {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NETWORK_EXCEPTION,
}
"""Errors after which commitSync retries; NETWORK_EXCEPTION is a lost connection."""


def automatic_order(offsets: Iterable[OffsetToCommit]) -> tuple[OffsetToCommit, ...]:
    """Return offsets in the order of a Java HashMap filled one by one (automatic commits)."""
    return _in_map_order(offsets, DEFAULT_LENGTH)


def explicit_order(offsets: Iterable[OffsetToCommit]) -> tuple[OffsetToCommit, ...]:
    """Return offsets in the order of a copy of such a map (commitSync and commitAsync)."""
    entries = automatic_order(offsets)
    return _in_map_order(entries, length_of_map_copy(len(entries)))


def _in_map_order(offsets: Iterable[OffsetToCommit], length: int) -> tuple[OffsetToCommit, ...]:
    by_partition = {entry.partition: entry for entry in offsets}
    ordered = hash_map_order(by_partition, topic_partition_hash, length)
    by_topic = {topic: index for index, topic in enumerate(_topic_order(ordered))}
    return tuple(by_partition[tp] for tp in sorted(ordered, key=lambda tp: by_topic[tp.topic]))


def _topic_order(partitions: Iterable[TopicPartition]) -> list[str]:
    return hash_map_order((tp.topic for tp in partitions), java_hash)


def all_consumed(reader: Reader) -> list[OffsetToCommit]:
    """Return every valid position: a commit of them covers all records returned by poll.

    Each has the leader epoch of the last record before it, or none after a reset. Source:
    ``SubscriptionState.allConsumed``.
    """
    return [OffsetToCommit(*entry) for entry in reader.positions.consumed()]


def first_error(response: OffsetCommitResponse) -> ErrorCode:
    """Return the first error in a response, which decides how the commit ends."""
    errors = (error for _, error in response.errors if error is not ErrorCode.NONE)
    return next(errors, ErrorCode.NONE)
