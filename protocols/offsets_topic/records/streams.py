"""Record types 17, 19 and 23: a streams group, its members and its topology (KIP-1071).

Types 20 to 22 are in ``streams_assignments``; type 18 is retired.

Source: ``StreamsGroupMetadata*``, ``StreamsGroupMemberMetadata*`` and
``StreamsGroupTopology*.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from protocols.offsets_topic.records.layout import (
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    Array,
    Field,
    RecordType,
    Struct,
    UnknownTags,
)
from protocols.offsets_topic.records.parts import GROUP_KEY, MEMBER_KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue:
    """One setting or tag."""

    key: str
    value: str
    unknown_tags: UnknownTags = ()


_KEY_VALUE = Struct(KeyValue, (Field("key", STRING), Field("value", STRING)))


# -- type 17: the group's epoch --------------------------------------------------------------


class StreamsGroupMetadataKey(NamedTuple):
    """Record type 17."""

    group_id: str
    record_type: Literal[17] = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMetadataValue:
    """Which epoch the group is at, and which topology it has checked."""

    epoch: int
    metadata_hash: int
    validated_topology_epoch: int = -1
    last_assignment_configs: tuple[KeyValue, ...] | None = ()
    stored_description_topology_epoch: int = -1
    failed_description_topology_epoch: int = -1
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


STREAMS_GROUP_METADATA: Final = RecordType(
    number=17,
    key=Struct(StreamsGroupMetadataKey, GROUP_KEY),
    value=Struct(
        StreamsGroupMetadataValue,
        (
            Field("epoch", INT32),
            Field("metadataHash", INT64),
            Field("validatedTopologyEpoch", INT32, tag=0, default=-1),
            Field("lastAssignmentConfigs", Array(_KEY_VALUE), nullable=True, tag=1, default=()),
            Field("storedDescriptionTopologyEpoch", INT32, tag=2, default=-1),
            Field("failedDescriptionTopologyEpoch", INT32, tag=3, default=-1),
        ),
    ),
)


# -- type 19: a member -----------------------------------------------------------------------


class StreamsGroupMemberMetadataKey(NamedTuple):
    """Record type 19."""

    group_id: str
    member_id: str
    record_type: Literal[19] = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a member answers queries of its state."""

    host: str
    port: int
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMemberMetadataValue:
    """What a member told of itself."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: tuple[KeyValue, ...]
    """Sorted by key."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


_ENDPOINT = Struct(Endpoint, (Field("host", STRING), Field("port", UINT16)))
STREAMS_GROUP_MEMBER_METADATA: Final = RecordType(
    number=19,
    key=Struct(StreamsGroupMemberMetadataKey, MEMBER_KEY),
    value=Struct(
        StreamsGroupMemberMetadataValue,
        (
            Field("instanceId", STRING, nullable=True),
            Field("rackId", STRING, nullable=True),
            Field("clientId", STRING),
            Field("clientHost", STRING),
            Field("rebalanceTimeoutMs", INT32),
            Field("topologyEpoch", INT32),
            Field("processId", STRING),
            Field("userEndpoint", _ENDPOINT, nullable=True),
            Field("clientTags", Array(_KEY_VALUE)),
        ),
    ),
)


# -- type 23: the topology -------------------------------------------------------------------


class StreamsGroupTopologyKey(NamedTuple):
    """Record type 23."""

    group_id: str
    record_type: Literal[23] = 23


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopic:
    """A topic that the group makes for itself."""

    name: str
    partitions: int
    """0: no number is enforced."""

    replication_factor: int
    """0: the broker's default."""

    topic_configs: tuple[KeyValue, ...]
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopartitionGroup:
    """Topics that must have equally many partitions, by their places in the subtopology."""

    source_topics: tuple[int, ...]
    source_topic_regex: tuple[int, ...]
    repartition_source_topics: tuple[int, ...]
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology:
    """One part of the topology, whose tasks are spread over the members."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    source_topic_regex: tuple[str, ...]
    state_changelog_topics: tuple[InternalTopic, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: tuple[InternalTopic, ...]
    copartition_groups: tuple[CopartitionGroup, ...]
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTopologyValue:
    """The topology of one epoch."""

    epoch: int
    subtopologies: tuple[Subtopology, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


_INTERNAL_TOPIC = Struct(
    InternalTopic,
    (
        Field("name", STRING),
        Field("partitions", INT32),
        Field("replicationFactor", INT16),
        Field("topicConfigs", Array(_KEY_VALUE)),
    ),
)
_COPARTITION_GROUP = Struct(
    CopartitionGroup,
    (
        Field("sourceTopics", Array(INT16)),
        Field("sourceTopicRegex", Array(INT16)),
        Field("repartitionSourceTopics", Array(INT16)),
    ),
)
_SUBTOPOLOGY = Struct(
    Subtopology,
    (
        Field("subtopologyId", STRING),
        Field("sourceTopics", Array(STRING)),
        Field("sourceTopicRegex", Array(STRING)),
        Field("stateChangelogTopics", Array(_INTERNAL_TOPIC)),
        Field("repartitionSinkTopics", Array(STRING)),
        Field("repartitionSourceTopics", Array(_INTERNAL_TOPIC)),
        Field("copartitionGroups", Array(_COPARTITION_GROUP)),
    ),
)
STREAMS_GROUP_TOPOLOGY: Final = RecordType(
    number=23,
    key=Struct(StreamsGroupTopologyKey, GROUP_KEY),
    value=Struct(
        StreamsGroupTopologyValue,
        (Field("epoch", INT32), Field("subtopologies", Array(_SUBTOPOLOGY))),
    ),
)
