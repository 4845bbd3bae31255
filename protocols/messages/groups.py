"""Describing and deleting groups, as an administrator does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import Subscription, TopicPartition
from protocols.messages.errors import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    """Drop empty groups with all their offsets (API 42)."""

    group_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    results: tuple[tuple[str, ErrorCode], ...]


class DescribedMember(NamedTuple):
    """One member as an administrator sees it."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: Subscription | None
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupRequest:
    """Ask for the state of one group (API 15)."""

    group_id: str
    version: int = 6
    """From version 6 on a group that does not exist is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupResponse:
    group_id: str
    state: str
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()
