"""Describing a group of the consumer protocol, as an administrator does (API 69)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from protocols.messages.consumer_group import TopicPartitions
from protocols.messages.errors import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeRequest:
    """Ask for the state of one group of the consumer protocol."""

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
