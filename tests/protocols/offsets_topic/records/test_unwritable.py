"""Values for which there are no bytes are refused by name, and nothing is lost in silence."""

from __future__ import annotations

import pytest

from protocols.offsets_topic.records import (
    RECORD_TYPES,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownKey,
    UnwritableRecordError,
    encode,
    expiring,
)
from protocols.offsets_topic.records.streams import StreamsGroupMetadataKey
from protocols.offsets_topic.records.wire import (
    COMPACT,
    LONGEST_STRING,
    PLAIN,
    string_reader,
    string_writer,
)

COMMIT = OffsetCommitValue(offset=1, commit_timestamp=2)
KEY = OffsetCommitKey("g", "t", 0)
MEMBER = MemberMetadata(
    member_id="m", client_id="c", client_host="h", session_timeout=1, subscription=b""
)
GROUP = GroupMetadataValue(protocol_type="", generation=0, protocol=None, leader=None)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            Record(KEY, COMMIT._replace(offset=2**63)),
            "OffsetCommitValue.offset: 9223372036854775808 is no int64",
        ),
        (Record(KEY, COMMIT._replace(metadata=None)), "OffsetCommitValue.metadata: null, which"),
        (
            Record(KEY, COMMIT._replace(metadata="é" * 16_384)),
            "OffsetCommitValue.metadata: 32768 bytes; at most",
        ),
        (
            Record(KEY, COMMIT._replace(metadata="\ud800")),
            "OffsetCommitValue.metadata: half of a surrogate",
        ),
        (Record(KEY, COMMIT._replace(topic_id="t")), "OffsetCommitValue.topicId: 't' is no uuid"),
        (Record(KEY, COMMIT._replace(topic_id="AAAAAAAAAAAAAAAAAAAAAB")), "is no uuid"),
        (
            Record(KEY, COMMIT._replace(expire_timestamp=5)),
            "OffsetCommitValue.expire_timestamp: set, but version 4",
        ),
        (
            Record(KEY, expiring(COMMIT, 5)._replace(leader_epoch=1)),
            "OffsetCommitValue.leader_epoch: set, but version 1",
        ),
        (
            Record(KEY, COMMIT._replace(value_version=5)),
            "OffsetCommitValue.value_version: 5 is none of 0 to 4",
        ),
        (
            Record(KEY, COMMIT._replace(value_version=None)),
            "OffsetCommitValue.value_version: None is none",
        ),
        (Record(KEY, GROUP), "GroupMetadataValue: not the value of a key of type 1"),
        (Record(UnknownKey(9, b""), GROUP), "GroupMetadataValue: not the value of a key of type 9"),
        (
            Record(KEY._replace(partition=2**31), None),
            "OffsetCommitKey.partition: 2147483648 is no int32",
        ),
        (Record(UnknownKey(2**15, b""), None), "UnknownKey.type: 32768 is no int16"),
        (Record("key", None), "str: not the key of a record"),
        (
            Record(
                GroupMetadataKey("g"),
                GroupMetadataValue(
                    protocol_type="",
                    generation=0,
                    protocol=None,
                    leader=None,
                    members=(
                        MEMBER,
                        MemberMetadata(
                            member_id="m",
                            client_id="c",
                            client_host="h",
                            session_timeout=1,
                            subscription=None,
                        ),
                    ),
                ),
            ),
            r"GroupMetadataValue.members\[\].subscription: null, which",
        ),
    ],
)
def test_values_that_cannot_be_written_are_refused(record, expected):
    """With the field and its value."""
    with pytest.raises(UnwritableRecordError, match=expected):
        encode(record)


def test_a_list_of_numbers_is_written_whole_or_not():
    """Its fields are named, too."""
    number = RECORD_TYPES[17]
    value = number.value.cls(epoch=1, metadata_hash=2, validated_topology_epoch=2**40)

    with pytest.raises(UnwritableRecordError, match="validatedTopologyEpoch: 1099511627776 is no"):
        encode(Record(StreamsGroupMetadataKey("g"), value))


def test_unknown_tags_need_a_version_that_has_tags():
    """Or they would be lost."""
    for version in range(4):
        with pytest.raises(UnwritableRecordError, match="unknown_tags: set, but version"):
            encode(Record(KEY, COMMIT._replace(unknown_tags=((9, b""),), value_version=version)))


def test_the_oldest_form_has_no_tags_at_all():
    """Only its own fields can be refused."""
    key = RECORD_TYPES[0].key.cls("g", "t", 1)
    value = LegacyOffsetCommitValue(offset=1, commit_timestamp="now")

    with pytest.raises(UnwritableRecordError, match="commitTimestamp: 'now' is no int64"):
        encode(Record(key, value))


@pytest.mark.parametrize("family", [COMPACT, PLAIN])
def test_the_longest_string_is_written_and_read(family):
    """One of a byte more is refused."""
    text = "é" * (LONGEST_STRING // 2) + "e"
    write = string_writer("metadata", family, nullable=False)
    written = write(text)

    assert (text, len(written)) == string_reader("metadata", family, nullable=False)(written, 0)
    with pytest.raises(UnwritableRecordError, match="at most 32767"):
        write(f"{text}e")
