"""The heartbeat of the consumer protocol: joining, owning, leaving, in one request (KIP-848)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from protocols.messages.constants import UNKNOWN_MEMBER_ID
from protocols.messages.errors import ErrorCode

JOIN_EPOCH = 0
"""The member epoch of a member that joins, or joins again."""

LEAVE_EPOCH = -1
"""The member epoch of a member that leaves for good."""

TEMPORARY_LEAVE_EPOCH = -2
"""The member epoch of a static member that leaves and means to come back."""


class TopicPartitions(NamedTuple):
    """Partitions of one topic, which the consumer protocol names by its id."""

    topic_id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatRequest:
    """Join, stay in, or leave a group of the consumer protocol (API 68).

    None (and -1 for the timeout) means "as I said before", never "nothing".
    """

    group_id: str
    member_id: str = UNKNOWN_MEMBER_ID
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    """In the broker's syntax (RE2J); an empty one takes the pattern back."""

    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None
    """What the member owns; sent when it changed."""

    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatResponse:
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: tuple[TopicPartitions, ...] | None = None
    """What the member shall own; None: nothing new."""
