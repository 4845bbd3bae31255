"""Leader epochs on the wire: who leads since when, and where an epoch's records end (KIP-320)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.messages.constants import NO_LEADER, UNKNOWN_EPOCH, UNKNOWN_OFFSET
from protocols.messages.errors import ErrorCode


class LeaderAndEpoch(NamedTuple):
    """Who leads a partition, and in which leader epoch (``Metadata.LeaderAndEpoch``)."""

    leader: int = NO_LEADER
    epoch: int = UNKNOWN_EPOCH


class EpochStart(NamedTuple):
    """Where the records of one leader epoch begin in a partition's log."""

    epoch: int
    offset: int


class EpochToCheck(NamedTuple):
    """One position to check: the epoch of the last record before it."""

    partition: TopicPartition
    leader_epoch: int
    current_leader_epoch: int = UNKNOWN_EPOCH
    """The epoch in which the client believes the broker to lead; -1: not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsForLeaderEpochRequest:
    """Ask a leader where the records of leader epochs end in its log (API 23)."""

    partitions: tuple[EpochToCheck, ...]


class EpochEndOffset(NamedTuple):
    """The answer for one partition; epoch and offset -1: the log knows no such epoch."""

    partition: TopicPartition
    leader_epoch: int = UNKNOWN_EPOCH
    """The epoch asked for, or the last one before it that has records."""

    end_offset: int = UNKNOWN_OFFSET
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsForLeaderEpochResponse:
    end_offsets: tuple[EpochEndOffset, ...]
