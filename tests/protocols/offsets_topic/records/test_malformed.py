"""Bytes with something wrong give a value or the named error with its place, nothing else."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocols.offsets_topic.records import (
    RECORD_TYPES,
    MalformedRecordError,
    Record,
    UnknownKey,
    UnwritableRecordError,
    decode,
    encode,
)
from protocols.offsets_topic.records.schema import INT32
from protocols.offsets_topic.records.tagged import presence_reader
from protocols.offsets_topic.records.wire import (
    COMPACT,
    PLAIN,
    Family,
    Reader,
    Writer,
    array_reader,
    array_writer,
    fixed_reader,
    fixed_writer,
    numbers_reader,
    numbers_writer,
    read_varint,
    varint,
)

from .strategies import known_records, refusal, spoilt

HEADS = [
    (record_type, version)
    for record_type in RECORD_TYPES.values()
    for version in (*record_type.versions, record_type.last_version + 1)
]


def read_or_refused(key: bytes, value: bytes | None) -> None:
    """Decode; what can be read can be written, and reads the same again."""
    error = refusal(decode, key, value)
    if error is None:
        written = encode(decode(key, value))
        assert written == encode(decode(*written))
    else:
        assert 0 <= error.position <= len({"key": key, "value": value}[error.part])
        assert error.field
        assert error.problem


@given(st.data(), known_records)
def test_spoilt_bytes_are_read_or_refused(data, record):
    """Cut, changed, shortened, stretched: in the key or in the value."""
    key, value = encode(record)
    if value is not None and data.draw(st.booleans()):
        value = data.draw(spoilt(value))
    else:
        key = data.draw(spoilt(key))

    read_or_refused(key, value)


@given(st.sampled_from(HEADS), st.binary(max_size=60))
def test_any_bytes_under_a_known_type_are_read_or_refused(head, body):
    """Most are refused."""
    record_type, version = head
    (key, _) = encode(
        Record(record_type.key.cls(*("g", "m", 0)[: len(record_type.key.fields)]), None)
    )

    read_or_refused(key, version.to_bytes(2) + body)


@given(st.binary(max_size=40), st.none() | st.binary(max_size=40))
def test_any_bytes_at_all_are_read_or_refused(key, value):
    """Also a key that is too short to have a type."""
    read_or_refused(key, value)


@given(known_records)
def test_bytes_cut_off_anywhere_are_refused_where_they_end(record):
    """Nothing that a value needs may be missing; what follows it may."""
    key, value = encode(record)
    needed = 0 if value is None else len(value) - len(record.value.trailing)
    for end in range(needed):
        with pytest.raises(MalformedRecordError) as refused:
            decode(key, value[:end])
        assert "value" == refused.value.part
        assert refused.value.position <= end
    for end in range(2, len(key)):
        with pytest.raises(MalformedRecordError):
            decode(key[:end], None)


# -- one by one ------------------------------------------------------------------------------


def refused(key: str, value: str | None) -> tuple[str, int, str, str]:
    """Return part, position, field and problem of the error."""
    with pytest.raises(MalformedRecordError) as error:
        decode(bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    return error.value.part, error.value.position, error.value.field, error.value.problem


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("00", None, ("key", 0, "type", "2 bytes wanted, 1 left")),
        (
            "0002 0005 67",
            None,
            ("key", 4, "GroupMetadataKey.group", "cut off: 5 bytes wanted, 1 left"),
        ),
        ("0002 ffff", None, ("key", 2, "GroupMetadataKey.group", "null, which it may not be")),
        (
            "0002 0001 67",
            "03",
            ("value", 0, "GroupMetadataValue.version", "2 bytes wanted, 1 left"),
        ),
        (
            "0003 0001 67",
            "0000 0000",
            ("value", 2, "ConsumerGroupMetadataValue.epoch", "cut off: 4 bytes wanted, 2 left"),
        ),
        (
            "0008 0001 67 0001 6d",
            "0000 00000001 0000",
            (
                "value",
                6,
                "ConsumerGroupCurrentMemberAssignmentValue.previousMemberEpoch",
                "cut off: 4 bytes wanted, 2 left",
            ),
        ),
        (
            "0002 0001 67",
            "0003 0001 ff",
            ("value", 4, "GroupMetadataValue.protocolType", "not UTF-8: byte 0xff"),
        ),
        (
            "0002 0001 67",
            "0001 0000 00000000 ffff ffff 7fffffff 00",
            (
                "value",
                12,
                "GroupMetadataValue.members",
                "2147483647 elements cannot be in the 1 bytes that are left",
            ),
        ),
        (
            "0007 0001 67 0001 6d",
            "0000 02 00000000000000000000000000000000 ffffffff0f 00",
            (
                "value",
                19,
                "ConsumerGroupTargetAssignmentMemberValue.topicPartitions[0].partitions",
                "4294967295 is not a length, count or tag",
            ),
        ),
        (
            "0007 0001 67 0001 6d",
            "0000 02 00000000000000000000000000000000 81808001 00",
            (
                "value",
                19,
                "ConsumerGroupTargetAssignmentMemberValue.topicPartitions[0].partitions",
                "2097152 elements cannot be in the 1 bytes that are left",
            ),
        ),
        (
            "0003 0001 67",
            "0000 00000001 01 00 09 000000000000000000",
            (
                "value",
                9,
                "ConsumerGroupMetadataValue.metadataHash",
                "its size is given as 9 bytes, but it has 8",
            ),
        ),
        (
            "0001 0001 67 0001 74 00000000",
            "0004 0000000000000001 ffffffff 01 0000000000000002 01 00 10 00",
            ("value", 26, "OffsetCommitValue.tag 0", "cut off: 16 bytes wanted, 1 left"),
        ),
        (
            "0003 0001 67",
            "0000 00000001 01 63 05 00",
            ("value", 9, "ConsumerGroupMetadataValue.tag 99", "cut off: 5 bytes wanted, 1 left"),
        ),
        (
            "0013 0001 67 0001 6d",
            "0000 00 00 01 01 00000000 00000000 01 01 01 ff",
            (
                "value",
                17,
                "StreamsGroupMemberMetadataValue.userEndpoint.port",
                "cut off: 2 bytes wanted, 1 left",
            ),
        ),
        (
            "0013 0001 67 0001 6d",
            "0000 00 00 01 01 00000000 00000000 01",
            (
                "value",
                15,
                "StreamsGroupMemberMetadataValue.userEndpoint",
                "cut off: 1 bytes wanted, 0 left",
            ),
        ),
    ],
)
def test_an_error_has_its_place(key, value, expected):
    """The part, the byte in it, the field with its path, and the problem."""
    part, position, field, problem = refused(key, value)

    assert expected[:3] == (part, position, field)
    assert problem.startswith(expected[3])


def test_an_error_reads_as_a_sentence():
    """For people."""
    with pytest.raises(
        MalformedRecordError,
        match=r"^value, byte 2, ConsumerGroupMetadataValue.epoch: cut off: 4 bytes wanted, 0 left$",
    ):
        decode(bytes.fromhex("0003 0001 67"), b"\x00\x00")


def test_errors_are_made_again_from_their_arguments():
    """As the simulation's kernel does."""
    for error in (MalformedRecordError(1, "a", "b", "key"), UnwritableRecordError("a", "b")):
        assert str(error) == str(type(error)(*error.args))


def test_a_string_is_not_longer_than_kafka_lets_it_be():
    """In compact layouts nothing else would bound it."""
    long = b"a" * 32_768
    body = b"\x00\x00\x00\x00" + varint(len(long) + 1) + long

    with pytest.raises(MalformedRecordError, match="clientId: 32768 bytes; a string has at most"):
        decode(bytes.fromhex("0005 0001 67 0001 6d"), body)


@given(st.integers(0, 2**31 - 1), st.binary(max_size=2))
@example(0x80, b"")
@example(2**31 - 1, b"")
def test_a_varint_is_read_as_it_is_written(number, before):
    """At any place; it takes exactly its own bytes."""
    written = varint(number)

    assert (number, len(before + written)) == read_varint(
        before + written + b"\x80", len(before), ""
    )


def test_a_varint_ends():
    """After five bytes at most, and before the bytes do."""
    for data, problem in ((b"\x80" * 5, "more than 5"), (b"\x80" * 4, "end inside"), (b"", "end")):
        with pytest.raises(MalformedRecordError, match=problem):
            read_varint(data, 0, "count")


def test_a_key_may_be_its_type_alone():
    """That of a newer Kafka, of which nothing more is known."""
    assert UnknownKey(1_000, b"") == decode((1_000).to_bytes(2), None).key


def arrays(family: Family, *, nullable: bool) -> list[tuple[Reader, Writer]]:
    """Return how an array of numbers is read and written: one by one, and all at once."""
    number, written = fixed_reader(INT32, ""), fixed_writer(INT32, "")
    return [
        (
            array_reader(number, "ids", family, nullable=nullable),
            array_writer(written, "ids", family, nullable=nullable),
        ),
        (
            numbers_reader(INT32, "ids", family, nullable=nullable),
            numbers_writer(INT32, "ids", family, nullable=nullable),
        ),
    ]


@pytest.mark.parametrize(("family", "null"), [(PLAIN, b"\xff" * 4), (COMPACT, b"\x00")])
def test_an_array_is_null_only_where_it_may_be(family: Family, null: bytes):
    """Where it may not, neither its bytes nor its value are taken."""
    for read, write in arrays(family, nullable=True):
        assert (null, (None, len(null))) == (write(None), read(null, 0))
    for read, write in arrays(family, nullable=False):
        with pytest.raises(MalformedRecordError, match="ids: null"):
            read(null, 0)
        with pytest.raises(UnwritableRecordError, match="ids: null"):
            write(None)


@pytest.mark.parametrize("family", [PLAIN, COMPACT])
@pytest.mark.parametrize("count", [0, 126, 127, 128])
def test_an_array_is_read_as_it_is_written(family: Family, count: int):
    """An empty one is not null; a compact count takes its second byte from 127 on."""
    numbers = tuple(range(count))
    for read, write in arrays(family, nullable=True):
        assert (numbers, len(write(numbers))) == read(write(numbers), 0)


@pytest.mark.parametrize("before", [0x80, 0xFF])
def test_any_negative_byte_says_that_a_struct_is_null(before: int):
    """Kafka writes -1 and reads an int8 below 0."""
    read = presence_reader(fixed_reader(INT32, ""), "endpoint", tagged=False)

    assert (None, 1) == read(bytes((before,)), 0)


def test_a_number_that_is_cut_off_is_refused_alone_too():
    """As inside a tagged field."""
    with pytest.raises(MalformedRecordError, match="n: cut off: 4 bytes wanted, 1 left"):
        fixed_reader(INT32, "n")(b"\x00", 0)


def test_a_huge_count_of_tagged_fields_takes_no_memory():
    """The bytes end first."""
    value = b"\x00\x00" + struct.pack(">i", 1) + varint(2**31 - 1) + b"\x63\x00" * 10

    with pytest.raises(MalformedRecordError, match="tagged fields"):
        decode(bytes.fromhex("0003 0001 67"), value)
