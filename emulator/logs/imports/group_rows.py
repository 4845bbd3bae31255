"""A record about a group as a row of ``groups``.

Subscriptions and assignments of classic members are bytes defined by the clients; if they are not
those of the consumer protocol, or cannot be read, topics and assignment are null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

from protocols.offsets_topic.records import (
    RECORD_TYPES,
    GroupMetadataValue,
    Key,
    MalformedRecordError,
    MemberMetadata,
    Record,
    Value,
    subscribed_topics,
)
from protocols.offsets_topic.records.consumer import (
    AssignedPartitions,
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartitions,
)
from protocols.offsets_topic.records.embedded import read_assignment
from protocols.offsets_topic.records.share import (
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
)
from protocols.offsets_topic.records.streams import (
    AssignedTaskIds,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyValue,
    TaskIds,
)

Row = dict[str, Any]
"""Values by column of a table; a missing value is null."""

CONSUMER_PROTOCOL: Final = "consumer"
"""The protocol type whose bytes can be decoded."""

EMPTY, STABLE = "Empty", "Stable"
MEMBER_STATES: Final = {0: "stable", 1: "unrevoked partitions", 2: "unreleased partitions"}
"""States of a member of a consumer group; streams groups use the same numbers."""

KINDS: Final = {
    number: record_type.key.cls.__name__.removesuffix("Key")
    for number, record_type in RECORD_TYPES.items()
}
"""Names of record types by their numbers."""


def group_row(record: Record, log_offset: int, timestamp: int) -> Row:
    """Return a record of a known type that is not a commit as a row."""
    key, value = record
    row = {
        "log_offset": log_offset,
        "timestamp": timestamp,
        "group": key[0],
        "record_type": key.record_type,
        "kind": KINDS[key.record_type],
        "is_tombstone": value is None,
        "member_id": getattr(key, "member_id", None),
    }
    if value is None:
        return row
    return row | _ROWS.get(type(value), _nothing)(key, value)


# -- classic groups ----------------------------------------------------------------------------


def _of_classic_group(_: Key, value: GroupMetadataValue) -> Row:
    is_known = value.protocol_type == CONSUMER_PROTOCOL
    return {
        "epoch": value.generation,
        "members": [_classic_member(member, is_known=is_known) for member in value.members],
        "protocol": value.protocol,
        "leader": value.leader,
        "state": STABLE if value.members else EMPTY,
    }


def _classic_member(member: MemberMetadata, *, is_known: bool) -> Row:
    row: Row = {
        "member_id": member.member_id,
        "instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "session_timeout_ms": member.session_timeout,
        "rebalance_timeout_ms": member.rebalance_timeout,
    }
    if is_known:
        row["topics"] = _read(subscribed_topics, member.subscription)
        row["assignment"] = _read(_classic_assignment, member.assignment)
    return row


def _classic_assignment(data: bytes) -> list[Row]:
    return [
        {"topic": each.topic, "partitions": each.partitions}
        for each in read_assignment(data).assigned_partitions
    ]


def _read(reader: Callable[[bytes], Iterable[Any]], data: bytes) -> list[Any] | None:
    """Return the decoded bytes of a client; None if they are empty or malformed."""
    if not data:
        return None
    try:
        return list(reader(data))
    except MalformedRecordError:
        return None


# -- members of the newer protocols ------------------------------------------------------------


def _of_consumer_member(key: Key, value: ConsumerGroupMemberMetadataValue) -> Row:
    classic: ClassicMemberMetadata | None = value.classic_member_metadata
    member = _member(key, value) | {
        "instance_id": value.instance_id,
        "session_timeout_ms": classic.session_timeout_ms if classic else None,
        "rebalance_timeout_ms": value.rebalance_timeout_ms,
        "topics": list(value.subscribed_topic_names),
    }
    return {"members": [member], "protocol": value.server_assignor}


def _of_share_member(key: Key, value: ShareGroupMemberMetadataValue) -> Row:
    return {"members": [_member(key, value) | {"topics": list(value.subscribed_topic_names)}]}


def _of_streams_member(key: Key, value: StreamsGroupMemberMetadataValue) -> Row:
    member = _member(key, value) | {
        "instance_id": value.instance_id,
        "rebalance_timeout_ms": value.rebalance_timeout_ms,
    }
    return {"members": [member]}


def _member(key: Key, value: Any) -> Row:
    """Return the fields that all kinds of members have."""
    member_id = cast("Any", key).member_id
    return {
        "member_id": member_id,
        "client_id": value.client_id,
        "client_host": value.client_host,
    }


# -- assignments of the newer protocols --------------------------------------------------------


def _of_target(key: Key, value: Any) -> Row:
    return _assigned(key, value.topic_partitions)


def _of_streams_target(key: Key, value: StreamsGroupTargetAssignmentMemberValue) -> Row:
    return _assigned(key, value.active_tasks)


def _of_current(key: Key, value: Any) -> Row:
    return _assigned(key, value.assigned_partitions) | _place(value)


def _of_streams_current(key: Key, value: StreamsGroupCurrentMemberAssignmentValue) -> Row:
    return _assigned(key, value.active_tasks) | _place(value)


def _place(value: Any) -> Row:
    return {
        "epoch": value.member_epoch,
        "state": MEMBER_STATES.get(value.state, f"unknown ({value.state})"),
    }


def _assigned(
    key: Key, parts: Sequence[TopicPartitions | AssignedPartitions | TaskIds | AssignedTaskIds]
) -> Row:
    assignment = [
        {
            "topic": each.subtopology_id
            if isinstance(each, TaskIds | AssignedTaskIds)
            else each.topic_id,
            "partitions": list(each.partitions),
        }
        for each in parts
    ]
    return {"members": [{"member_id": cast("Any", key).member_id, "assignment": assignment}]}


# -- the rest ----------------------------------------------------------------------------------


def _of_epoch(_: Key, value: Any) -> Row:
    return {"epoch": value.epoch}


def _of_target_epoch(_: Key, value: Any) -> Row:
    return {"epoch": value.assignment_epoch}


def _nothing(_: Key, __: Value) -> Row:
    return {}


_ROWS: Final[dict[type, Callable[[Key, Any], Row]]] = {
    GroupMetadataValue: _of_classic_group,
    ConsumerGroupMemberMetadataValue: _of_consumer_member,
    ShareGroupMemberMetadataValue: _of_share_member,
    StreamsGroupMemberMetadataValue: _of_streams_member,
    ConsumerGroupTargetAssignmentMemberValue: _of_target,
    ShareGroupTargetAssignmentMemberValue: _of_target,
    StreamsGroupTargetAssignmentMemberValue: _of_streams_target,
    ConsumerGroupCurrentMemberAssignmentValue: _of_current,
    ShareGroupCurrentMemberAssignmentValue: _of_current,
    StreamsGroupCurrentMemberAssignmentValue: _of_streams_current,
    ConsumerGroupMetadataValue: _of_epoch,
    ShareGroupMetadataValue: _of_epoch,
    StreamsGroupMetadataValue: _of_epoch,
    StreamsGroupTopologyValue: _of_epoch,
    ConsumerGroupTargetAssignmentMetadataValue: _of_target_epoch,
    ShareGroupTargetAssignmentMetadataValue: _of_target_epoch,
    StreamsGroupTargetAssignmentMetadataValue: _of_target_epoch,
    ConsumerGroupRegularExpressionValue: _nothing,
}
