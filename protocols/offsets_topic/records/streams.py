"""Record types 17 and 19 to 23: a streams group, its members, tasks and topology (KIP-1071).

Type 18 is retired.

Source: ``StreamsGroup*Key/Value.json``.
"""

from typing import Annotated, Final, Literal, NamedTuple

from assignors.values import dataclass
from protocols.offsets_topic.records.schema import (
    Int8,
    Int16,
    Int32,
    Int64,
    Part,
    RecordType,
    RecordValue,
    Tag,
    Uint16,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue(Part):
    """One setting or tag."""

    key: str
    value: str


# -- type 17: the group's epoch --------------------------------------------------------------


class StreamsGroupMetadataKey(NamedTuple):
    """The key of record type 17."""

    group_id: str
    record_type: Literal[17] = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMetadataValue(RecordValue):
    """The epoch of a group, and the epoch of its validated topology."""

    epoch: Int32
    metadata_hash: Int64
    validated_topology_epoch: Annotated[Int32, Tag(0)] = -1
    last_assignment_configs: Annotated[tuple[KeyValue, ...] | None, Tag(1)] = ()
    stored_description_topology_epoch: Annotated[Int32, Tag(2)] = -1
    failed_description_topology_epoch: Annotated[Int32, Tag(3)] = -1


STREAMS_GROUP_METADATA: Final = RecordType(StreamsGroupMetadataKey, StreamsGroupMetadataValue)


# -- type 19: a member -----------------------------------------------------------------------


class StreamsGroupMemberMetadataKey(NamedTuple):
    """The key of record type 19."""

    group_id: str
    member_id: str
    record_type: Literal[19] = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Part):
    """The address at which a member answers queries of its state."""

    host: str
    port: Uint16


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMemberMetadataValue(RecordValue):
    """The metadata that a member sent."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: Int32
    topology_epoch: Int32
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: tuple[KeyValue, ...]
    """Sorted by key."""


STREAMS_GROUP_MEMBER_METADATA: Final = RecordType(
    StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue
)


# -- types 20 and 21: the target assignment --------------------------------------------------


class StreamsGroupTargetAssignmentMetadataKey(NamedTuple):
    """The key of record type 20."""

    group_id: str
    record_type: Literal[20] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMetadataValue(RecordValue):
    """The group epoch for which the target was computed."""

    assignment_epoch: Int32
    assignment_timestamp: Annotated[Int64, Tag(0)] = 0
    """Epoch ms; 0: unknown."""


STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: Final = RecordType(
    StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue
)


class StreamsGroupTargetAssignmentMemberKey(NamedTuple):
    """The key of record type 21."""

    group_id: str
    member_id: str
    record_type: Literal[21] = 21


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIds(Part):
    """Tasks of one subtopology."""

    subtopology_id: str
    partitions: tuple[Int32, ...]
    """Sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMemberValue(RecordValue):
    """The target assignment of one member."""

    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]


STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = RecordType(
    StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue
)


# -- type 22: the current assignment ---------------------------------------------------------


class StreamsGroupCurrentMemberAssignmentKey(NamedTuple):
    """The key of record type 22."""

    group_id: str
    member_id: str
    record_type: Literal[22] = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedTaskIds(Part):
    """Tasks of one subtopology, and the epochs in which the member got them."""

    subtopology_id: str
    partitions: tuple[Int32, ...]
    assignment_epochs: Annotated[tuple[Int32, ...] | None, Tag(0)] = ()
    """One per partition of active tasks; empty for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupCurrentMemberAssignmentValue(RecordValue):
    """The tasks of one member, and the tasks that it has to revoke."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    active_tasks: tuple[AssignedTaskIds, ...]
    standby_tasks: tuple[AssignedTaskIds, ...]
    warmup_tasks: tuple[AssignedTaskIds, ...]
    active_tasks_pending_revocation: tuple[AssignedTaskIds, ...]
    standby_tasks_pending_revocation: tuple[AssignedTaskIds, ...]
    warmup_tasks_pending_revocation: tuple[AssignedTaskIds, ...]


STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = RecordType(
    StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue
)


# -- type 23: the topology -------------------------------------------------------------------


class StreamsGroupTopologyKey(NamedTuple):
    """The key of record type 23."""

    group_id: str
    record_type: Literal[23] = 23


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopic(Part):
    """A topic that the group creates."""

    name: str
    partitions: Int32
    """0: no number is enforced."""

    replication_factor: Int16
    """0: the broker's default."""

    topic_configs: tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopartitionGroup(Part):
    """Topics that must have equal partition counts, by their index in the subtopology."""

    source_topics: tuple[Int16, ...]
    source_topic_regex: tuple[Int16, ...]
    repartition_source_topics: tuple[Int16, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology(Part):
    """One part of the topology, whose tasks are spread over the members."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    source_topic_regex: tuple[str, ...]
    state_changelog_topics: tuple[InternalTopic, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: tuple[InternalTopic, ...]
    copartition_groups: tuple[CopartitionGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTopologyValue(RecordValue):
    """The topology of one epoch."""

    epoch: Int32
    subtopologies: tuple[Subtopology, ...]


STREAMS_GROUP_TOPOLOGY: Final = RecordType(StreamsGroupTopologyKey, StreamsGroupTopologyValue)
