"""Record types 20 to 22: which tasks the members of a streams group shall run, and run.

Source: ``StreamsGroupTargetAssignmentMetadata*``, ``StreamsGroupTargetAssignmentMember*`` and
``StreamsGroupCurrentMemberAssignment*.json`` (KIP-1071).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from protocols.offsets_topic.records.layout import (
    INT8,
    INT32,
    INT64,
    STRING,
    Array,
    Field,
    RecordType,
    Struct,
    UnknownTags,
)
from protocols.offsets_topic.records.parts import GROUP_KEY, MEMBER_KEY


class StreamsGroupTargetAssignmentMetadataKey(NamedTuple):
    """Record type 20."""

    group_id: str
    record_type: Literal[20] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMetadataValue:
    """For which group epoch the target was computed."""

    assignment_epoch: int
    assignment_timestamp: int = 0
    """Epoch ms; 0: not known."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: Final = RecordType(
    number=20,
    key=Struct(StreamsGroupTargetAssignmentMetadataKey, GROUP_KEY),
    value=Struct(
        StreamsGroupTargetAssignmentMetadataValue,
        (Field("assignmentEpoch", INT32), Field("assignmentTimestamp", INT64, tag=0, default=0)),
    ),
)


class StreamsGroupTargetAssignmentMemberKey(NamedTuple):
    """Record type 21."""

    group_id: str
    member_id: str
    record_type: Literal[21] = 21


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIds:
    """Some tasks of one subtopology."""

    subtopology_id: str
    partitions: tuple[int, ...]
    """Sorted."""

    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMemberValue:
    """Which tasks a member shall run."""

    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


_TASK_IDS = Struct(TaskIds, (Field("subtopologyId", STRING), Field("partitions", Array(INT32))))
STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = RecordType(
    number=21,
    key=Struct(StreamsGroupTargetAssignmentMemberKey, MEMBER_KEY),
    value=Struct(
        StreamsGroupTargetAssignmentMemberValue,
        (
            Field("activeTasks", Array(_TASK_IDS)),
            Field("standbyTasks", Array(_TASK_IDS)),
            Field("warmupTasks", Array(_TASK_IDS)),
        ),
    ),
)


class StreamsGroupCurrentMemberAssignmentKey(NamedTuple):
    """Record type 22."""

    group_id: str
    member_id: str
    record_type: Literal[22] = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedTaskIds:
    """Some tasks of one subtopology, and since when the member has them."""

    subtopology_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = ()
    """One a partition, of active tasks; empty for the others."""

    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupCurrentMemberAssignmentValue:
    """Which tasks a member runs, and which it was told to give up."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: tuple[AssignedTaskIds, ...]
    standby_tasks: tuple[AssignedTaskIds, ...]
    warmup_tasks: tuple[AssignedTaskIds, ...]
    active_tasks_pending_revocation: tuple[AssignedTaskIds, ...]
    standby_tasks_pending_revocation: tuple[AssignedTaskIds, ...]
    warmup_tasks_pending_revocation: tuple[AssignedTaskIds, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


_ASSIGNED_TASK_IDS = Struct(
    AssignedTaskIds,
    (
        Field("subtopologyId", STRING),
        Field("partitions", Array(INT32)),
        Field("assignmentEpochs", Array(INT32), nullable=True, tag=0, default=()),
    ),
)
STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = RecordType(
    number=22,
    key=Struct(StreamsGroupCurrentMemberAssignmentKey, MEMBER_KEY),
    value=Struct(
        StreamsGroupCurrentMemberAssignmentValue,
        (
            Field("memberEpoch", INT32),
            Field("previousMemberEpoch", INT32),
            Field("state", INT8),
            Field("activeTasks", Array(_ASSIGNED_TASK_IDS)),
            Field("standbyTasks", Array(_ASSIGNED_TASK_IDS)),
            Field("warmupTasks", Array(_ASSIGNED_TASK_IDS)),
            Field("activeTasksPendingRevocation", Array(_ASSIGNED_TASK_IDS)),
            Field("standbyTasksPendingRevocation", Array(_ASSIGNED_TASK_IDS)),
            Field("warmupTasksPendingRevocation", Array(_ASSIGNED_TASK_IDS)),
        ),
    ),
)
