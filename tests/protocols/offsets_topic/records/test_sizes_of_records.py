"""The sizes of records that are not encoded to learn them."""

from __future__ import annotations

import pytest

from protocols.offsets_topic.records import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
)
from protocols.offsets_topic.records.codec import encode_key, encode_value, sizes_of
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)

KEY = OffsetCommitKey("billing", "orders", 3)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def committed(**more: object) -> OffsetCommitValue:
    return OffsetCommitValue(offset=1 << 40, commit_timestamp=7, **more)


@pytest.mark.parametrize(
    "value",
    [
        committed(),
        committed(metadata="é" * 9),
        committed(topic_id=TOPIC_ID, value_version=4),
        committed(value_version=4),
        committed(value_version=4, unknown_tags=((9, b"abc"),)),
        committed(trailing=b"more"),
    ],
)
def test_an_offset_commit_has_the_size_of_its_bytes(value):
    """With and without an id of its topic, metadata, unknown tags, and bytes behind it."""
    size = len(encode_value(KEY.record_type, value))

    assert (len(encode_key(KEY)), size) == sizes_of(Record(KEY, value))


def test_a_record_of_a_group_has_the_size_of_its_bytes():
    """It is encoded to learn them."""
    key, value = ConsumerGroupMetadataKey("billing"), ConsumerGroupMetadataValue(epoch=2)
    size = len(encode_value(key.record_type, value))

    assert (len(encode_key(key)), size) == sizes_of(Record(key, value))


@pytest.mark.parametrize("key", [KEY, GroupMetadataKey("billing")])
def test_a_tombstone_has_no_value(key):
    """Its size is -1, as in a batch."""
    assert (len(encode_key(key)), -1) == sizes_of(Record(key, None))
