"""What lands in ``__consumer_offsets``: typed keys and values, and their bytes.

A :class:`Record` is a key and a value; a value of None is a tombstone. ``encode`` and ``decode``
go from records to bytes and back, for every type and version that Kafka 4.4 reads or writes.

Where what is: the layouts are tables beside the classes they describe (``commits``, ``classic``,
``consumer``, ``consumer_assignments``, ``share``, ``streams``, ``streams_assignments``,
``embedded``, ``markers``), in the words of ``layout``; ``RECORD_TYPES`` lists them. ``reading``
and ``writing`` turn a table into functions, of what ``wire`` and ``tagged`` know of Kafka's
types. ``words`` prints.

What a run does not need is imported when it is first asked for: a hundred classes take their time.

Sources: ``GroupCoordinatorRecordHelpers``, ``GroupCoordinatorRecordSerde`` and the message
schemas of Kafka 4.4.0 (spec records).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from protocols.offsets_topic.records.classic import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from protocols.offsets_topic.records.codec import (
    decode,
    decode_key,
    decode_value,
    encode,
    encode_key,
    encode_value,
    size,
)
from protocols.offsets_topic.records.commits import (
    NO_EXPIRY,
    UNKNOWN_EPOCH,
    ZERO_TOPIC_ID,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    expiring,
)
from protocols.offsets_topic.records.embedded import (
    CONSUMER_PROTOCOL_VERSION,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from protocols.offsets_topic.records.errors import MalformedRecordError, UnwritableRecordError
from protocols.offsets_topic.records.markers import (
    ControlType,
    EndTxnMarker,
    UnknownControlRecord,
    decode_control,
    encode_control,
)
from protocols.offsets_topic.records.record import (
    Record,
    UnknownKey,
    UnknownValue,
    as_replayed,
    group_of,
)
from protocols.offsets_topic.records.record_types import RECORD_TYPES

if TYPE_CHECKING:
    from protocols.offsets_topic.records.consumer import (
        ClassicMemberMetadata,
        ClassicProtocol,
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupMemberMetadataValue,
        ConsumerGroupMetadataKey,
        ConsumerGroupMetadataValue,
        ConsumerGroupPartitionMetadataKey,
        ConsumerGroupPartitionMetadataValue,
        ConsumerGroupRegularExpressionKey,
        ConsumerGroupRegularExpressionValue,
        PartitionMetadata,
        TopicMetadata,
    )
    from protocols.offsets_topic.records.consumer_assignments import (
        AssignedPartitions,
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupCurrentMemberAssignmentValue,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMemberValue,
        ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupTargetAssignmentMetadataValue,
    )
    from protocols.offsets_topic.records.parts import TopicPartitions
    from protocols.offsets_topic.records.share import (
        ShareGroupCurrentMemberAssignmentKey,
        ShareGroupCurrentMemberAssignmentValue,
        ShareGroupMemberMetadataKey,
        ShareGroupMemberMetadataValue,
        ShareGroupMetadataKey,
        ShareGroupMetadataValue,
        ShareGroupStatePartitionMetadataKey,
        ShareGroupStatePartitionMetadataValue,
        ShareGroupTargetAssignmentMemberKey,
        ShareGroupTargetAssignmentMemberValue,
        ShareGroupTargetAssignmentMetadataKey,
        ShareGroupTargetAssignmentMetadataValue,
        TopicInfo,
        TopicPartitionsInfo,
    )
    from protocols.offsets_topic.records.streams import (
        CopartitionGroup,
        Endpoint,
        InternalTopic,
        KeyValue,
        StreamsGroupMemberMetadataKey,
        StreamsGroupMemberMetadataValue,
        StreamsGroupMetadataKey,
        StreamsGroupMetadataValue,
        StreamsGroupTopologyKey,
        StreamsGroupTopologyValue,
        Subtopology,
    )
    from protocols.offsets_topic.records.streams_assignments import (
        AssignedTaskIds,
        StreamsGroupCurrentMemberAssignmentKey,
        StreamsGroupCurrentMemberAssignmentValue,
        StreamsGroupTargetAssignmentMemberKey,
        StreamsGroupTargetAssignmentMemberValue,
        StreamsGroupTargetAssignmentMetadataKey,
        StreamsGroupTargetAssignmentMetadataValue,
        TaskIds,
    )
    from protocols.offsets_topic.records.unions import Key, Value
    from protocols.offsets_topic.records.words import key_words, marker_words, value_words

__all__ = [
    "CONSUMER_PROTOCOL_VERSION",
    "NO_EXPIRY",
    "RECORD_TYPES",
    "UNKNOWN_EPOCH",
    "ZERO_TOPIC_ID",
    "AssignedPartitions",
    "AssignedTaskIds",
    "ClassicMemberMetadata",
    "ClassicProtocol",
    "ConsumerGroupCurrentMemberAssignmentKey",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadataKey",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadataKey",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupPartitionMetadataKey",
    "ConsumerGroupPartitionMetadataValue",
    "ConsumerGroupRegularExpressionKey",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMemberKey",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadataKey",
    "ConsumerGroupTargetAssignmentMetadataValue",
    "ControlType",
    "CopartitionGroup",
    "EndTxnMarker",
    "Endpoint",
    "GroupMetadataKey",
    "GroupMetadataValue",
    "InternalTopic",
    "Key",
    "KeyValue",
    "LegacyOffsetCommitKey",
    "LegacyOffsetCommitValue",
    "MalformedRecordError",
    "MemberMetadata",
    "OffsetCommitKey",
    "OffsetCommitValue",
    "PartitionMetadata",
    "Record",
    "ShareGroupCurrentMemberAssignmentKey",
    "ShareGroupCurrentMemberAssignmentValue",
    "ShareGroupMemberMetadataKey",
    "ShareGroupMemberMetadataValue",
    "ShareGroupMetadataKey",
    "ShareGroupMetadataValue",
    "ShareGroupStatePartitionMetadataKey",
    "ShareGroupStatePartitionMetadataValue",
    "ShareGroupTargetAssignmentMemberKey",
    "ShareGroupTargetAssignmentMemberValue",
    "ShareGroupTargetAssignmentMetadataKey",
    "ShareGroupTargetAssignmentMetadataValue",
    "StreamsGroupCurrentMemberAssignmentKey",
    "StreamsGroupCurrentMemberAssignmentValue",
    "StreamsGroupMemberMetadataKey",
    "StreamsGroupMemberMetadataValue",
    "StreamsGroupMetadataKey",
    "StreamsGroupMetadataValue",
    "StreamsGroupTargetAssignmentMemberKey",
    "StreamsGroupTargetAssignmentMemberValue",
    "StreamsGroupTargetAssignmentMetadataKey",
    "StreamsGroupTargetAssignmentMetadataValue",
    "StreamsGroupTopologyKey",
    "StreamsGroupTopologyValue",
    "Subtopology",
    "TaskIds",
    "TopicInfo",
    "TopicMetadata",
    "TopicPartitions",
    "TopicPartitionsInfo",
    "UnknownControlRecord",
    "UnknownKey",
    "UnknownValue",
    "UnwritableRecordError",
    "Value",
    "as_replayed",
    "decode",
    "decode_assignment",
    "decode_control",
    "decode_key",
    "decode_subscription",
    "decode_value",
    "encode",
    "encode_assignment",
    "encode_control",
    "encode_key",
    "encode_subscription",
    "encode_value",
    "expiring",
    "group_of",
    "key_words",
    "marker_words",
    "size",
    "subscribed_topics",
    "value_words",
]

_LATER = (
    "unions",
    "consumer",
    "consumer_assignments",
    "parts",
    "share",
    "streams",
    "streams_assignments",
    "words",
)


def __getattr__(name: str) -> Any:
    """Find a public name in the modules that are not imported with the package (PEP 562)."""
    if name in __all__:
        for module in _LATER:
            found = vars(import_module(f"{__name__}.{module}"))
            if name in found:
                return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
