"""Commits under both protocols: what they cover, in which order, and which errors are retried.

Source: ``SubscriptionState.allConsumed``, ``OffsetCommitResponseHandler``; the orders are those of the
maps that Kafka's clients pass on.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import lru_cache
from typing import Final

from assignors.java import (
    DEFAULT_LENGTH,
    hash_map_order,
    java_hash,
    length_of_map_copy,
    topic_partition_hash,
)
from assignors.types import TopicPartition
from protocols.consumer.clients import CommitClock
from protocols.consumer.lookup import LOSES_COORDINATOR
from protocols.consumer.reader import MS, NEVER, Reader
from protocols.consumer.requests import A
from protocols.machine import SetTimer, Step
from protocols.messages import (
    UNKNOWN_EPOCH,
    Envelope,
    HeartbeatResponse,
    OffsetCommitResponse,
    OffsetToCommit,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

_OF_COORDINATORS = LOSES_COORDINATOR | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NETWORK_EXCEPTION,
}
RETRIED = _OF_COORDINATORS | {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
"""Errors after which commitSync retries; NETWORK_EXCEPTION is a lost connection."""


def retried(reader: Reader) -> frozenset[ErrorCode]:
    """Return the errors after which a client repeats a commit that it waits for."""
    return RETRIED if reader.profile.repeats_for_partitions else _OF_COORDINATORS


_Partitions = tuple[TopicPartition, ...]
_ORDERS = 1 << 12
"""The number of orders of commits to remember."""


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


AUTO_COMMIT: Final = "auto-commit"
"""Timer: the next automatic commit of a client that works in the background is due."""


def begin_interval(state: A, reader: Reader, now: int) -> Step[A]:
    """Begin the interval of automatic commits with the consumer, not with its assignment.

    A clock of fixed steps does not run with an interval of 0 (librdkafka ``rd_kafka_cgrp_new``).
    """
    settings = reader.settings
    if not settings.enable_auto_commit:
        return Step(state)
    if reader.profile.commit_clock is CommitClock.TICKS and not settings.auto_commit_interval_ms:
        return Step(replace(state, autocommit_us=NEVER))
    due_us = now + settings.auto_commit_interval_ms * MS
    return Step(replace(state, autocommit_us=due_us), (SetTimer(AUTO_COMMIT, due_us),))


def first_error(response: OffsetCommitResponse) -> ErrorCode:
    """Return the first error in a response, which decides how the commit ends."""
    errors = (error for _, error in response.errors if error is not ErrorCode.NONE)
    return next(errors, ErrorCode.NONE)


def has_succeeded(response: Envelope, in_flight: Container[int]) -> bool:
    """Return whether a response says that a heartbeat or commit *in_flight* has succeeded."""
    body = response.body
    if response.header.correlation_id not in in_flight:
        return False
    if type(body) is OffsetCommitResponse:
        return not first_error(body)
    return type(body) is HeartbeatResponse and not body.error
