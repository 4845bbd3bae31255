"""The records of ``__consumer_offsets``: typed keys and values, and their bytes.

A :class:`Record` is a key and a value; a value of None is a tombstone. :func:`encode` and
:func:`decode` convert records to bytes and back, for every type and version that Kafka 4.4 reads or
writes; ``RECORD_TYPES`` lists the types.

The record types are declared in ``classic``, ``consumer``, ``share`` and ``streams``, in the
language of ``schema``; ``embedded`` has the consumer protocol, ``markers`` the control records.
``reading`` and ``writing`` compile a declaration, with the types of ``wire`` and ``tagged``;
``as_json`` prints. Only the types of classic groups are imported here: a run without groups of the
other types does not load them, nor the control records, which only logs of Kafka's brokers have.

Sources: ``GroupCoordinatorRecordHelpers``, ``GroupCoordinatorRecordSerde`` and the message
schemas of Kafka 4.4.0.
"""

from __future__ import annotations

from protocols.offsets_topic.records.classic import (
    NO_EXPIRY,
    UNKNOWN_EPOCH,
    ZERO_TOPIC_ID,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    expiring,
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
from protocols.offsets_topic.records.embedded import (
    CONSUMER_PROTOCOL_VERSION,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from protocols.offsets_topic.records.errors import MalformedRecordError, UnwritableRecordError
from protocols.offsets_topic.records.record import (
    RECORD_TYPES,
    Record,
    UnknownKey,
    UnknownValue,
    Value,
    group_of,
)
from protocols.offsets_topic.records.schema import Key

__all__ = [
    "CONSUMER_PROTOCOL_VERSION",
    "NO_EXPIRY",
    "RECORD_TYPES",
    "UNKNOWN_EPOCH",
    "ZERO_TOPIC_ID",
    "GroupMetadataKey",
    "GroupMetadataValue",
    "Key",
    "LegacyOffsetCommitKey",
    "LegacyOffsetCommitValue",
    "MalformedRecordError",
    "MemberMetadata",
    "OffsetCommitKey",
    "OffsetCommitValue",
    "Record",
    "UnknownKey",
    "UnknownValue",
    "UnwritableRecordError",
    "Value",
    "decode",
    "decode_assignment",
    "decode_key",
    "decode_subscription",
    "decode_value",
    "encode",
    "encode_assignment",
    "encode_key",
    "encode_subscription",
    "encode_value",
    "expiring",
    "group_of",
    "size",
    "subscribed_topics",
]
