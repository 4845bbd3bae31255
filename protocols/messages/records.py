"""Fetching records, listing offsets, metadata of topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.messages.constants import UNKNOWN_EPOCH
from protocols.messages.epochs import EpochStart, LeaderAndEpoch
from protocols.messages.errors import ErrorCode

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2


class FetchPartition(NamedTuple):
    """Where to read one partition."""

    partition: TopicPartition
    offset: int
    current_leader_epoch: int = UNKNOWN_EPOCH
    """The epoch in which the client believes the broker to lead; -1: not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """Ask a broker for records of partitions it leads (API 1)."""

    partitions: tuple[FetchPartition, ...]
    """Everything the client wants from this broker now, in its request order."""


class FetchedRecords(NamedTuple):
    """The answer for one partition: the records ``first`` up to ``next_offset``, exclusive."""

    partition: TopicPartition
    first: int
    next_offset: int
    error: ErrorCode = ErrorCode.NONE
    epochs: tuple[EpochStart, ...] = ()
    """The leader epochs of its batches, rising; where unknown, none. May tell of more than these."""

    current_leader: LeaderAndEpoch | None = None
    """With an error: who leads, if the broker knows better than who asked (KIP-951)."""


class FetchResponse(NamedTuple):
    """Records, in the broker's order (spec consumer-client 1.2, rule 4)."""

    node: int
    partitions: tuple[FetchedRecords, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest:
    """Ask a leader where reading can start (API 2)."""

    partitions: tuple[tuple[TopicPartition, int], ...]
    """With a timestamp each, in epoch ms; -1 latest, -2 earliest."""


class ListedOffset(NamedTuple):
    """The answer for one partition; offset -1: no record is that young."""

    partition: TopicPartition
    offset: int
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    offsets: tuple[ListedOffset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest:
    """Ask any broker for topics and their leaders (API 3)."""

    topics: tuple[str, ...] | None = None
    """None: all topics (pattern subscriptions)."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic as a broker's metadata cache shows it."""

    name: str
    topic_id: str
    leaders: tuple[int, ...]
    """Broker id by partition; -1 where there is none."""

    racks: tuple[tuple[str, ...], ...] = ()
    """Racks of the replicas by partition; empty where no rack is configured."""

    leader_epochs: tuple[int, ...] = ()
    """Leader epoch by partition; empty where none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse:
    brokers: tuple[int, ...]
    topics: tuple[TopicDescription, ...]
