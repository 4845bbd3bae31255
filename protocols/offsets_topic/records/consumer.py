"""Record types 3, 4, 5 and 16: a group of the consumer protocol (KIP-848), and its members.

A group of this protocol is written fact by fact; types 6 to 8 are in ``consumer_assignments``.
What a later release added is a tagged field.

Source: ``ConsumerGroupMetadata*``, ``ConsumerGroupPartitionMetadata*``,
``ConsumerGroupMemberMetadata*`` and ``ConsumerGroupRegularExpression*.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from protocols.offsets_topic.records.layout import (
    BYTES,
    INT32,
    INT64,
    STRING,
    UUID,
    Array,
    Field,
    RecordType,
    Struct,
    UnknownTags,
)
from protocols.offsets_topic.records.parts import GROUP_KEY, MEMBER_KEY

# -- type 3: the group's epoch ---------------------------------------------------------------


class ConsumerGroupMetadataKey(NamedTuple):
    """Record type 3."""

    group_id: str
    record_type: Literal[3] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataValue:
    """Which epoch the group is at."""

    epoch: int
    metadata_hash: int = 0
    """Of all that decides an assignment but the members; 0: not known."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


CONSUMER_GROUP_METADATA: Final = RecordType(
    number=3,
    key=Struct(ConsumerGroupMetadataKey, GROUP_KEY),
    value=Struct(
        ConsumerGroupMetadataValue,
        (Field("epoch", INT32), Field("metadataHash", INT64, tag=0, default=0)),
    ),
)


# -- type 4: the topics it reads -------------------------------------------------------------


class ConsumerGroupPartitionMetadataKey(NamedTuple):
    """Record type 4."""

    group_id: str
    record_type: Literal[4] = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """Where the replicas of one partition are."""

    partition: int
    racks: tuple[str, ...]
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """One topic as the group saw it."""

    topic_id: str
    topic_name: str
    num_partitions: int
    partition_metadata: tuple[PartitionMetadata, ...]
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataValue:
    """Topics the group reads; only 4.0 wrote it, later releases write tombstones alone."""

    topics: tuple[TopicMetadata, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


_PARTITION_METADATA = Struct(
    PartitionMetadata, (Field("partition", INT32), Field("racks", Array(STRING)))
)
_TOPIC_METADATA = Struct(
    TopicMetadata,
    (
        Field("topicId", UUID),
        Field("topicName", STRING),
        Field("numPartitions", INT32),
        Field("partitionMetadata", Array(_PARTITION_METADATA)),
    ),
)
CONSUMER_GROUP_PARTITION_METADATA: Final = RecordType(
    number=4,
    key=Struct(ConsumerGroupPartitionMetadataKey, GROUP_KEY),
    value=Struct(ConsumerGroupPartitionMetadataValue, (Field("topics", Array(_TOPIC_METADATA)),)),
    written_version=None,
)


# -- type 5: a member ------------------------------------------------------------------------


class ConsumerGroupMemberMetadataKey(NamedTuple):
    """Record type 5."""

    group_id: str
    member_id: str
    record_type: Literal[5] = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol:
    """One assignor that a classic member can run."""

    name: str
    metadata: bytes
    """A subscription of the consumer protocol (``embedded``)."""

    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberMetadata:
    """What only a member that speaks the classic protocol has."""

    session_timeout_ms: int = 0
    supported_protocols: tuple[ClassicProtocol, ...] = ()
    unknown_tags: UnknownTags = ()


_CLASSIC_DEFAULT = ClassicMemberMetadata()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataValue:
    """What a member told of itself."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    """With a slash before it, such as ``/10.0.0.7``."""

    subscribed_topic_names: tuple[str, ...]
    """Sorted."""

    subscribed_topic_regex: str | None
    """Empty if the member never gave one."""

    rebalance_timeout_ms: int
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None = _CLASSIC_DEFAULT
    """None for a member of the consumer protocol, which is written; absent means the default."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


_CLASSIC_PROTOCOL = Struct(ClassicProtocol, (Field("name", STRING), Field("metadata", BYTES)))
_CLASSIC_MEMBER = Struct(
    ClassicMemberMetadata,
    (Field("sessionTimeoutMs", INT32), Field("supportedProtocols", Array(_CLASSIC_PROTOCOL))),
)
CONSUMER_GROUP_MEMBER_METADATA: Final = RecordType(
    number=5,
    key=Struct(ConsumerGroupMemberMetadataKey, MEMBER_KEY),
    value=Struct(
        ConsumerGroupMemberMetadataValue,
        (
            Field("instanceId", STRING, nullable=True),
            Field("rackId", STRING, nullable=True),
            Field("clientId", STRING),
            Field("clientHost", STRING),
            Field("subscribedTopicNames", Array(STRING)),
            Field("subscribedTopicRegex", STRING, nullable=True),
            Field("rebalanceTimeoutMs", INT32),
            Field("serverAssignor", STRING, nullable=True),
            Field(
                "classicMemberMetadata",
                _CLASSIC_MEMBER,
                nullable=True,
                tag=0,
                default=_CLASSIC_DEFAULT,
            ),
        ),
    ),
)


# -- type 16: a pattern of topic names -------------------------------------------------------


class ConsumerGroupRegularExpressionKey(NamedTuple):
    """Record type 16."""

    group_id: str
    regular_expression: str
    record_type: Literal[16] = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionValue:
    """Which topics a pattern matched."""

    topics: tuple[str, ...]
    """Sorted."""

    version: int
    """Of the cluster's metadata when it was looked up."""

    timestamp: int
    """Epoch ms."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


CONSUMER_GROUP_REGULAR_EXPRESSION: Final = RecordType(
    number=16,
    key=Struct(ConsumerGroupRegularExpressionKey, (*GROUP_KEY, Field("regularExpression", STRING))),
    value=Struct(
        ConsumerGroupRegularExpressionValue,
        (Field("topics", Array(STRING)), Field("version", INT64), Field("timestamp", INT64)),
    ),
)
