"""Committing, fetching and deleting offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.messages.errors import (
    UNKNOWN_EPOCH,
    UNKNOWN_GENERATION,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_OFFSET,
    ErrorCode,
)


class OffsetToCommit(NamedTuple):
    """The next offset to read of one partition."""

    partition: TopicPartition
    offset: int
    leader_epoch: int = UNKNOWN_EPOCH
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    """Commit the offsets of a group (API 8)."""

    group_id: str
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    """Versions 2 to 4 only; -1: the broker's setting."""

    offsets: tuple[OffsetToCommit, ...]
    """In the order of the client's hash map."""

    version: int = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    errors: tuple[tuple[TopicPartition, ErrorCode], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest:
    """Request committed offsets (API 9)."""

    group_id: str
    partitions: tuple[TopicPartition, ...] | None = None
    """None: all of the group."""

    require_stable: bool = True
    member_id: str | None = None
    member_epoch: int = -1
    """Of a member of the consumer protocol; -1: the client is not such a member."""

    version: int = 9


class FetchedOffset(NamedTuple):
    """One committed offset; -1 if there is none."""

    partition: TopicPartition
    offset: int = UNKNOWN_OFFSET
    leader_epoch: int = UNKNOWN_EPOCH
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    error: ErrorCode = ErrorCode.NONE
    offsets: tuple[FetchedOffset, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest:
    """Delete committed offsets of topics without subscribers (API 47)."""

    group_id: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    error: ErrorCode = ErrorCode.NONE
    errors: tuple[tuple[TopicPartition, ErrorCode], ...] = ()
