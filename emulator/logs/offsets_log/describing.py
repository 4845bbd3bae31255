"""The state of each group after each record of a log, and that state as JSON values.

The rules are those of ``protocols.offsets_topic.replay``. Where a load would fail, the record is
skipped and the reason is shown, so that the rest of a broken log can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from assignors.types import TopicPartition
from protocols.java_maps import NOTHING
from protocols.offsets_topic.records import (
    ZERO_TOPIC_ID,
    MalformedRecordError,
    MemberMetadata,
    Record,
    decode_assignment,
    group_of,
)
from protocols.offsets_topic.records.as_json import Json
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
)
from protocols.offsets_topic.records.markers import (
    ControlType,
    EndTxnMarker,
)
from protocols.offsets_topic.records.share import (
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupTargetAssignmentMemberValue,
)
from protocols.offsets_topic.records.streams import (
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupTargetAssignmentMemberValue,
)
from protocols.offsets_topic.replay import (
    BrokenLogError,
    ClassicGroup,
    GroupState,
    GroupType,
    Loaded,
    Member,
    MemberGroup,
    OffsetsOfPartitions,
    replayed,
    transaction_ended,
)

Numbers = dict[str, list[int]]
"""Partitions by topic, or tasks by subtopology."""


def groups_of(loaded: Loaded) -> list[str]:
    """Return the ids of all groups, and of offsets whose group no longer exists."""
    named = {*loaded.groups, *loaded.offsets.committed}
    for of_producer in loaded.offsets.pending.values():
        named.update(group_id for group_id, offsets in of_producer.items() if offsets)
    return sorted(named)


def group_json(loaded: Loaded, group_id: str) -> Json:
    """Return a group's type, state, members and offsets; an absent group is Dead."""
    match loaded.groups.get(group_id):
        case None:
            shown: Json = {"type": None, "state": GroupState.DEAD}
        case ClassicGroup() as classic:
            shown = _classic_json(classic)
        case MemberGroup() as group:
            shown = _member_group_json(group)
    return shown | _offset_json(loaded, group_id)


# -- classic groups --------------------------------------------------------------------------


def _classic_json(group: ClassicGroup) -> Json:
    shown: Json = {"type": GroupType.CLASSIC, "state": group.state}
    metadata = group.metadata
    if metadata is None:
        return shown | {"protocolType": "", "members": []}
    return shown | {
        "protocolType": metadata.protocol_type,
        "generation": metadata.generation,
        "protocol": metadata.protocol,
        "leader": metadata.leader,
        "members": [_classic_member_json(member) for member in metadata.members],
    }


def _classic_member_json(member: MemberMetadata) -> Json:
    return {
        "memberId": member.member_id,
        "groupInstanceId": member.group_instance_id,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "assigned": _classic_assignment(member.assignment),
    }


def _classic_assignment(assignment: bytes) -> Numbers | Json:
    """Return partitions by topic; bytes that are not of the consumer protocol unchanged."""
    if not assignment:
        return {}
    try:
        return _by_topic(decode_assignment(assignment))
    except MalformedRecordError:
        return {"raw": assignment.hex()}


def _by_topic(partitions: Iterable[TopicPartition]) -> Numbers:
    topics = Numbers()
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics


# -- groups of the newer protocols -----------------------------------------------------------


def _member_group_json(group: MemberGroup) -> Json:
    shown: Json = {
        "type": group.type,
        "state": group.state,
        "groupEpoch": group.epoch,
        "targetEpoch": group.target_epoch,
        "members": [_member_json(group, name) for name in sorted(group.members)],
    }
    waiting = sorted(set(group.targets) - set(group.members))
    if waiting:
        shown["targetsOfOthers"] = {name: _numbers(group.targets[name]) for name in waiting}
    patterns = {
        key[1]: list(value.topics)
        for key, value in sorted(group.more.items(), key=_in_order)
        if isinstance(value, ConsumerGroupRegularExpressionValue)
    }
    return shown | ({"regularExpressions": patterns} if patterns else {})


def _in_order(item: tuple[Any, Any]) -> tuple[int, Any]:
    key = item[0]
    return key.record_type, key


def _member_json(group: MemberGroup, member_id: str) -> Json:
    member = group.members[member_id]
    metadata, target = member.metadata, group.targets.get(member_id)
    shown: Json = {"memberId": member_id}
    if group.type is not GroupType.SHARE:
        shown["instanceId"] = getattr(metadata, "instance_id", None)
    return shown | {
        "clientId": metadata and metadata.client_id,
        "clientHost": metadata and metadata.client_host,
        "memberEpoch": member.epoch,
        "previousMemberEpoch": member.current and member.current.previous_member_epoch,
        "state": member.state,
        **_current_json(member),
        "target": {} if target is None else _numbers(target),
    }


def _current_json(member: Member) -> Json:
    match member.current:
        case ConsumerGroupCurrentMemberAssignmentValue() as current:
            revoking = _partitions(current.partitions_pending_revocation)
            return {
                "assigned": _partitions(current.assigned_partitions),
                "pendingRevocation": revoking,
            }
        case ShareGroupCurrentMemberAssignmentValue() as current:
            return {"assigned": _partitions(current.assigned_partitions)}
        case StreamsGroupCurrentMemberAssignmentValue() as current:
            revoking = _tasks(
                current.active_tasks_pending_revocation,
                current.standby_tasks_pending_revocation,
                current.warmup_tasks_pending_revocation,
            )
            return {
                "assigned": _tasks(
                    current.active_tasks, current.standby_tasks, current.warmup_tasks
                ),
                "pendingRevocation": revoking,
            }
    return {"assigned": {}}


def _numbers(target: Any) -> Numbers | dict[str, Numbers]:
    match target:
        case ConsumerGroupTargetAssignmentMemberValue() | ShareGroupTargetAssignmentMemberValue():
            return _partitions(target.topic_partitions)
        case StreamsGroupTargetAssignmentMemberValue():
            return _tasks(target.active_tasks, target.standby_tasks, target.warmup_tasks)
    raise AssertionError(target)


def _partitions(topics: Iterable[Any]) -> Numbers:
    """Return partitions by topic id."""
    return {topic.topic_id: sorted(topic.partitions) for topic in topics}


def _tasks(active: Iterable[Any], standby: Iterable[Any], warmup: Iterable[Any]) -> Json:
    """Return tasks by role and subtopology; roles without tasks are omitted."""
    roles = {"active": active, "standby": standby, "warmup": warmup}
    found = {
        role: {each.subtopology_id: sorted(each.partitions) for each in tasks}
        for role, tasks in roles.items()
    }
    return {role: tasks for role, tasks in found.items() if tasks}


# -- offsets ---------------------------------------------------------------------------------


def _offset_json(loaded: Loaded, group_id: str) -> Json:
    offsets = loaded.offsets
    committed = offsets.committed.get(group_id, NOTHING)
    shown: Json = {"offsets": _offsets_by_topic(committed)}
    producers = offsets.producers_of(group_id)
    if producers:
        shown["pendingOffsets"] = [
            {"producerId": each, "offsets": _offsets_by_topic(offsets.pending[each][group_id])}
            for each in producers
        ]
    names = {stored.value.topic_id: partition.topic for partition, stored in committed.items()}
    names.pop(ZERO_TOPIC_ID, None)
    return shown | ({"topicIds": _sorted(names)} if names else {})


def _offsets_by_topic(offsets: OffsetsOfPartitions) -> dict[str, dict[int, int]]:
    topics = dict[str, dict[int, int]]()
    for partition, stored in sorted(offsets.items()):
        topics.setdefault(partition.topic, {})[partition.partition] = stored.value.offset
    return topics


def _sorted(names: Mapping[str, str]) -> dict[str, str]:
    return {topic_id: names[topic_id] for topic_id in sorted(names)}


NOTHING_LOADED: Final = Loaded()


class Followed(NamedTuple):
    """The result of one record."""

    loaded: Loaded
    group_ids: tuple[str, ...]
    """The groups that it concerns, in order of their ids."""

    failure: str | None = None
    """Why a load would fail here."""


def follow(loaded: Loaded, record: Record, log_offset: int, producer_id: int) -> Followed:
    """Apply a record to the groups.

    *producer_id*: of its batch; -1 outside transactions.
    """
    group_id = group_of(record.key)
    group_ids = () if group_id is None else (group_id,)
    try:
        return Followed(replayed(loaded, record, log_offset, producer_id), group_ids)
    except BrokenLogError as error:
        return Followed(loaded, group_ids, str(error))


def follow_marker(loaded: Loaded, marker: EndTxnMarker, producer_id: int) -> Followed:
    """Apply the end of a producer's transaction to the groups."""
    is_committed = marker.control_type is ControlType.COMMIT
    return Followed(*transaction_ended(loaded, producer_id, is_committed=is_committed))
