"""Requests of administrators: describe and delete groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import Subscription, TopicPartition
from protocols.messages.errors import ErrorCode
from protocols.messages.membership import TopicPartitions


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    """Delete empty groups with all their offsets (API 42)."""

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
    """Request the state of one group (API 15)."""

    group_id: str
    version: int = 6
    """From version 6, a group that does not exist is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupResponse:
    group_id: str
    state: str
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeRequest:
    """Request the state of one group of the consumer protocol (API 69)."""

    group_id: str


class DescribedConsumer(NamedTuple):
    """One member of a consumer group as an administrator sees it."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    assignment: tuple[TopicPartitions, ...]
    target: tuple[TopicPartitions, ...]
    is_classic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeResponse:
    group_id: str
    error: ErrorCode = ErrorCode.NONE
    state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()
