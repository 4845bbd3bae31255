"""Joining, syncing, heartbeats, leaving, and where the coordinator is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import Subscription, TopicPartition
from protocols.messages.constants import (
    CONSUMER_PROTOCOL_TYPE,
    UNKNOWN_GENERATION,
    UNKNOWN_MEMBER_ID,
)
from protocols.messages.errors import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorRequest:
    """Ask any broker which one coordinates a group."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    error: ErrorCode = ErrorCode.NONE
    node_id: int = -1


class Protocol(NamedTuple):
    """One assignor a member can run, with what it wants that assignor's leader to know."""

    name: str
    metadata: Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest:
    """Ask to enter a classic group, or to enter its next generation (API 11)."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    """Set for a static member, which may restart without a rebalance (KIP-345)."""

    protocol_type: str = CONSUMER_PROTOCOL_TYPE
    protocols: tuple[Protocol, ...] = ()
    """The most wanted assignor first."""

    reason: str = ""
    """Only logged (KIP-800)."""

    version: int = 9


class JoinGroupMember(NamedTuple):
    """One member as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    generation_id: int = UNKNOWN_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    """Tell a restarted static leader to keep the assignment (KIP-814)."""

    member_id: str = ""
    members: tuple[JoinGroupMember, ...] = ()
    """For the leader only, in the order of the coordinator's member map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    """Bring the leader's assignment, or ask for one's own part of it (API 14)."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = CONSUMER_PROTOCOL_TYPE
    protocol_name: str | None = None
    assignments: tuple[tuple[str, tuple[TopicPartition, ...]], ...] = ()
    """Leader only: member id and its partitions."""

    version: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """Say that the member lives (API 12)."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    error: ErrorCode = ErrorCode.NONE


class LeavingMember(NamedTuple):
    """One entry of a LeaveGroup request."""

    member_id: str
    group_instance_id: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest:
    """Take members out of a group (API 13)."""

    group_id: str
    members: tuple[LeavingMember, ...]
    version: int = 5


class LeftMember(NamedTuple):
    """The answer to one entry of a LeaveGroup request."""

    member_id: str
    group_instance_id: str | None
    error: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()
