"""Whatever a record holds, its bytes hold; and whatever its bytes hold, it does."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.offsets_topic.group_rules import as_replayed
from protocols.offsets_topic.records import (
    RECORD_TYPES,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownKey,
    UnknownValue,
    decode,
    encode,
    group_of,
    size,
)
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
)

from .strategies import LAYOUTS, known_records, records, records_of


@pytest.mark.plain_of(3)
@pytest.mark.parametrize(
    ("record_type", "version"), LAYOUTS, ids=[f"{kind.name}-v{number}" for kind, number in LAYOUTS]
)
@settings(max_examples=15)
@given(data=st.data())
def test_any_record_comes_back_from_its_bytes(data, record_type, version):
    """Of every type and version, with nulls, empty things, defaults and unknown tagged fields."""
    record = data.draw(records_of(record_type, version))

    assert record == decode(*encode(record))


@given(records)
def test_bytes_come_back_from_the_record_they_are_read_as(record):
    """Also those of unknown types and versions."""
    written = encode(record)

    assert written == encode(decode(*written))


@given(records)
def test_a_records_size_is_that_of_its_bytes(record):
    """A tombstone's is its key's."""
    key, value = encode(record)

    assert len(key) + len(value or b"") == size(record)


def test_keys_of_different_types_are_never_equal():
    """Though they hold the same names: a compacted log is a map of keys."""
    named = [
        record_type.key.cls(*("g", "m", 0)[: len(record_type.key.fields)])
        for record_type in RECORD_TYPES.values()
    ]

    for one, other in itertools.combinations(named, 2):
        assert one != other
    assert len(named) == len(set(named))


@given(known_records)
def test_every_known_key_names_its_group(record):
    """So that a log can be searched for one."""
    assert record.key[0] == group_of(record.key)


def test_an_unknown_key_names_no_group():
    """Its content is unknown."""
    assert group_of(UnknownKey(9, b"\x00\x01g")) is None


# -- what 4.4 does not know ------------------------------------------------------------------


@pytest.mark.parametrize("number", [9, 18, 24, -1])
def test_a_type_that_is_not_known_is_kept_as_it_is(number):
    """With a value or without, even one too short to have a version: a load skips it."""
    key = number.to_bytes(2, signed=True) + b"\x00\x01g"

    for value in (None, b"", b"\x00", b"\x00\x05rest"):
        record = decode(key, value)

        assert UnknownKey(number, b"\x00\x01g") == record.key
        assert (key, value) == encode(record)


@pytest.mark.parametrize("version", [5, 32_767, -1])
def test_an_unknown_version_differs_from_an_unknown_type(version):
    """The key is known, the value is not: a load fails."""
    raw = version.to_bytes(2, signed=True) + b"rest"
    record = decode(bytes.fromhex("0002 0001 67"), raw)

    assert not isinstance(record.key, UnknownKey)
    assert UnknownValue(raw) == record.value
    assert version == record.value.value_version
    assert raw == encode(record)[1]


def test_a_value_without_a_version_has_none():
    """It can only be that of an unknown type."""
    assert UnknownValue(b"\x01").value_version is None


# -- what is the same in other words ---------------------------------------------------------


def test_a_tagged_field_is_read_at_any_place():
    """An unknown one before it, another one of its tag before that: the last one counts."""
    head = bytes.fromhex("0003 0001 67"), bytes.fromhex("0000 00000002")
    hash_of = [bytes.fromhex(f"00 08 00000000000000{number:02x}") for number in (1, 2)]
    unknown = bytes.fromhex("63 02 abcd")
    tags = b"\x03" + hash_of[0] + unknown + hash_of[1]
    record = decode(head[0], head[1] + tags)

    assert 2 == record.value.metadata_hash
    assert ((99, b"\xab\xcd"),) == record.value.unknown_tags
    assert (head[0], head[1] + b"\x02" + hash_of[1] + unknown) == encode(record)


def test_a_default_that_is_written_out_is_read():
    """Kafka leaves it out; so do we when we write it again."""
    key, epoch = bytes.fromhex("0003 0001 67"), bytes.fromhex("0000 00000002")
    record = decode(key, epoch + bytes.fromhex("01 00 08 0000000000000000"))

    assert 0 == record.value.metadata_hash
    assert (key, epoch + b"\x00") == encode(record)


def test_any_negative_length_is_null():
    """As Kafka reads it; it is written as -1."""
    key = bytes.fromhex("0002 0001 67")
    head, tail = (
        bytes.fromhex("0003 0000 00000000"),
        bytes.fromhex("ffff 0000000000000000 00000000"),
    )
    record = decode(key, head + bytes.fromhex("8000") + tail)

    assert record.value.protocol is None
    assert head + bytes.fromhex("ffff") + tail == encode(record)[1]


def test_bytes_after_the_last_field_are_kept_in_a_value_alone():
    """Kafka ignores both."""
    key, value = encode(Record(ConsumerGroupMemberMetadataKey("g", "m"), None))[0], b"\x00\x07more"
    record = decode(key + b"more", None)

    assert ConsumerGroupMemberMetadataKey("g", "m") == record.key
    assert key == encode(record)[0]
    assert value == encode(decode(bytes.fromhex("0003 0001 67"), value))[1]


# -- the oldest form -------------------------------------------------------------------------


def test_the_oldest_form_of_a_commit_is_replayed_as_the_newest():
    """Its tombstone too; everything else is replayed as it is."""
    old, new = LegacyOffsetCommitKey("g", "t", 1), OffsetCommitKey("g", "t", 1)
    stored = LegacyOffsetCommitValue(offset=7, metadata="m", commit_timestamp=9)
    group = Record(ConsumerGroupMetadataKey("g"), None)

    assert Record(
        new, OffsetCommitValue(offset=7, metadata="m", commit_timestamp=9)
    ) == as_replayed(Record(old, stored))
    assert Record(new, None) == as_replayed(Record(old, None))
    assert group == as_replayed(group)
