"""Record batches, byte for byte."""

from __future__ import annotations

import pytest
from crc32c import crc32c
from hypothesis import given

from protocols.offsets_topic.segments.batch import Batch, encode_batch, encode_empty_batch
from protocols.offsets_topic.segments.compression import Compression
from protocols.offsets_topic.segments.header import (
    DELETE_HORIZON,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    NO_PRODUCER,
    TRANSACTIONAL,
    BadBatch,
    BatchHeader,
    InflatesTooFar,
    Producer,
)
from protocols.offsets_topic.segments.record import LogRecord, RecordFields

from .drawn import batches, commits, golden

BATCHES = golden("batch")
NOON = 1767225600000
EXAMPLE_E = bytes.fromhex(
    "0000000000000064 00000068 00000003 02 d1d2ba4c 0000 00000001"
    "0000019b76daa800 0000019b76daa800 ffffffffffffffff ffff 00000000 00000002"
    "54 00 00 00  18 000100016700017400000000"
    "30 000400000000000000050000000101000000000000000700 00"
    "16 00 00 02  0a 0003000167  01  00"
)


def unhexed(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def records_added(batch: Batch) -> list[LogRecord]:
    """Return a batch's records as they are read field by field."""
    fields = RecordFields.empty()
    batch.add_to(fields)
    return [
        LogRecord(*each, headers=fields.headers.get(place, ()))
        for place, each in enumerate(zip(*fields[:4], strict=True))
    ]


def golden_records(case) -> list[LogRecord]:
    return [
        LogRecord(offset, each["timestamp"], unhexed(each["key_hex"]), unhexed(each["value_hex"]))
        for offset, each in zip(case["offsets"], case["fields"]["records"], strict=True)
    ]


@pytest.mark.parametrize("case", BATCHES, ids=lambda case: case["id"])
def test_batches_are_written_as_kafka_writes_them(case):
    """The fields of a golden case give its bytes."""
    fields = case["fields"]
    encoded = encode_batch(
        golden_records(case),
        base_offset=fields["base_offset"],
        partition_leader_epoch=fields["partition_leader_epoch"],
        attributes=TRANSACTIONAL if fields["transactional"] else 0,
        producer=Producer(fields["producer_id"], fields["producer_epoch"], fields["base_sequence"]),
    )

    assert case["hex"] == encoded.hex()


@pytest.mark.parametrize("case", BATCHES, ids=lambda case: case["id"])
def test_batches_of_kafka_are_read(case):
    """The bytes of a golden case give its fields."""
    batch = Batch.read(bytes.fromhex(case["hex"]))
    header = batch.header
    named = ("base_offset", "partition_leader_epoch", "producer_id", "producer_epoch")

    assert golden_records(case) == batch.records()
    assert (case["crc"], case["size"]) == (header.crc, header.size)
    assert [case["fields"][name] for name in named] == [getattr(header, name) for name in named]
    assert case["fields"]["transactional"] == header.is_transactional


def test_the_worked_example_of_two_records():
    """A commit and a tombstone in one batch, every field of the header."""
    batch = Batch.read(EXAMPLE_E)

    assert batch.header == BatchHeader(
        base_offset=100,
        batch_length=104,
        partition_leader_epoch=3,
        magic=2,
        crc=0xD1D2BA4C,
        attributes=0,
        last_offset_delta=1,
        base_timestamp=NOON,
        max_timestamp=NOON,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=0,
        record_count=2,
    )
    assert [(100, 12, 24), (101, 5, None)] == [
        (each.offset, len(each.key), None if each.value is None else len(each.value))
        for each in batch.records()
    ]
    assert EXAMPLE_E == encode_batch(batch.records(), partition_leader_epoch=3)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_the_bytes_of_a_batch_that_counts_no_records_are_not_read(codec: Compression):
    """``DefaultRecordBatch.iterator`` looks at the count first, whatever the codec."""
    spoilt = bytearray(EXAMPLE_E)
    spoilt[21:23], spoilt[57:61] = codec.to_bytes(2), bytes(4)
    spoilt[17:21] = crc32c(spoilt[21:]).to_bytes(4)

    assert [] == Batch.read(bytes(spoilt)).records()


@given(batches())
def test_batches_come_back(drawn):
    """Any records, any codec and any header values are read as they were written."""
    encoded, put = drawn
    batch = Batch.read(encoded)

    assert put == batch.records()
    assert put == records_added(batch)
    assert batch == Batch(0, BatchHeader.read(encoded), encoded)


@given(batches())
def test_a_batch_is_written_again_from_its_parts(drawn):
    """Header and records hold all there is."""
    encoded, _ = drawn
    header = BatchHeader.read(encoded)
    again = encode_batch(
        Batch.read(encoded).records(),
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes,
        producer=Producer(header.producer_id, header.producer_epoch, header.base_sequence),
        delete_horizon_ms=header.delete_horizon_ms,
    )

    assert encoded == again


def test_the_checksum_leaves_out_what_a_leader_fills_in():
    """Base offset and leader epoch may change without a new one."""
    there = bytearray(EXAMPLE_E)
    there[0:8] = (7).to_bytes(8)
    there[12:16] = (9).to_bytes(4)

    assert (7, 9) == Batch.read(bytes(there)).header[:3:2]


def test_a_coordinator_writes_base_sequence_0_without_a_producer():
    """With neither producer id nor epoch."""
    header = commits(["a"]).header

    assert (-1, -1, 0) == (header.producer_id, header.producer_epoch, header.base_sequence)
    assert (-1, -1, 0) == NO_PRODUCER


def test_the_delete_horizon_takes_the_place_of_the_base_timestamp():
    """Bit 6 says so, and the records count from there, backwards if need be."""
    put = [LogRecord(5, NOON, b"k", None), LogRecord(6, NOON + 3, b"l", None)]
    batch = Batch.read(encode_batch(put, delete_horizon_ms=NOON + 86_400_000))

    assert 0x0040 == batch.header.attributes
    assert NOON + 86_400_000 == batch.header.base_timestamp == batch.header.delete_horizon_ms
    assert NOON + 3 == batch.header.max_timestamp
    assert put == batch.records()


def test_without_the_bit_there_is_no_delete_horizon():
    """The base timestamp is the first record's."""
    header = commits(["a"], time=NOON).header

    assert (None, NOON) == (header.delete_horizon_ms, header.base_timestamp)


def test_append_time_holds_for_all_records():
    """Bit 3: the maximal timestamp counts, whatever the deltas say."""
    put = [LogRecord(0, NOON, b"k", b"v"), LogRecord(1, NOON + 9, b"k", b"v")]
    batch = Batch.read(encode_batch(put, attributes=LOG_APPEND_TIME))

    assert [NOON + 9] * 2 == [record.timestamp for record in batch.records()]


def test_an_emptied_batch_keeps_its_numbers_and_nothing_else():
    """Offsets, producer, times of the last record; no records, no codec, no horizon."""
    put = [LogRecord(5, NOON, b"k", b"v"), LogRecord(9, NOON + 4, b"l", None)]
    attributes = TRANSACTIONAL | Compression.ZSTD
    full = encode_batch(
        put, attributes=attributes, producer=Producer(7, 1, 40), delete_horizon_ms=NOON + 99
    )
    empty = Batch.read(encode_empty_batch(BatchHeader.read(full)))

    assert [] == empty.records() == records_added(empty)
    assert HEADER_BYTES == empty.header.size
    assert (
        BatchHeader.read(full)._replace(
            batch_length=49,
            crc=crc32c(empty.data[21:]),
            attributes=TRANSACTIONAL,
            base_timestamp=-1,
            record_count=0,
        )
        == empty.header
    )


@pytest.mark.parametrize(
    ("base", "offsets", "expected"), [(-1, 3, -1), (40, 3, 42), (2**31 - 2, 4, 1)]
)
def test_the_last_sequence_follows_from_the_first(base, offsets, expected):
    """It wraps to 0 behind the largest int; without a first there is no last."""
    batch = commits(["a"] * offsets, producer=Producer(7, 0, base))

    assert expected == batch.header.last_sequence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:60], "60 bytes are no batch"),
        (lambda data: data[:-1], "says it has 116 bytes and has 115"),
        (lambda data: data + b"\0", "says it has 116 bytes and has 117"),
        (
            lambda data: data[:70] + b"\xff" + data[71:],
            "where the header of offset 100 says d1d2ba4c",
        ),
        (lambda data: data[:16] + b"\x01" + data[17:], "message format 1 is not read; 2 is"),
        (lambda data: data[:16] + b"\x00" + data[17:], "message format 0 is not read; 2 is"),
    ],
)
def test_other_bytes_than_a_batch_are_named(change, message):
    """Old formats by their names."""
    with pytest.raises(BadBatch, match=message):
        Batch.read(change(EXAMPLE_E))


def resealed(data: bytes, at: int, new: bytes) -> Batch:
    """Return the example with other bytes and the checksum that fits them."""
    changed = data[:at] + new + data[at + len(new) :]
    return Batch.read(changed[:17] + crc32c(changed[21:]).to_bytes(4) + changed[21:])


@pytest.mark.parametrize(
    ("at", "new", "message"),
    [
        (57, "00000003", "record 3 of 3 runs past the end"),
        (57, "00000001", "12 bytes are left over after 1 records"),
        (57, "ffffffff", "cannot have -1 records"),
        (61, "52", "record 1 of 2 has -1 bytes more than its fields take"),
        (61, "55", "record 1 of 2"),
        (65, "ff", "record 1 of 2"),
        (103, "02", "record 1 of 2"),
        (108, "ffffffffffff", "record 2 of 2 has a number of 32 bits that goes on after 5 bytes"),
        (115, "10", "record 2 of 2 cannot have 8 headers"),
    ],
)
def test_records_that_do_not_add_up_are_named(at, new, message):
    """The checksum is right, the record that cannot be read is counted."""
    batch = resealed(EXAMPLE_E, at, bytes.fromhex(new))

    with pytest.raises(BadBatch, match=message):
        batch.records()
    with pytest.raises(BadBatch, match=message):
        records_added(batch)


def test_a_batch_that_inflates_too_far_is_named():
    """The bound is the caller's."""
    put = [LogRecord(0, NOON, b"k", bytes(10_000))]
    batch = Batch.read(encode_batch(put, attributes=Compression.ZSTD))

    assert put == batch.records(max_bytes=11_000)
    with pytest.raises(
        InflatesTooFar, match="zstd: the records are longer than the limit `unpacked`, 9000 bytes"
    ):
        batch.records(max_bytes=9_000)


def test_a_batch_without_records_is_not_written_by_mistake():
    """Compaction has a function of its own for it."""
    with pytest.raises(ValueError, match="encode_empty_batch"):
        encode_batch([])


def test_a_batch_spans_no_more_offsets_than_it_can_say():
    """Two records may be 2**31 - 1 apart."""
    ends = [LogRecord(0, NOON, b"k", b"v"), LogRecord(2**31 - 1, NOON, b"k", b"v")]

    assert ends == Batch.read(encode_batch(ends)).records()
    with pytest.raises(ValueError, match="not 2147483649"):
        encode_batch([ends[0], ends[1]._replace(offset=2**31)])
    with pytest.raises(ValueError, match="not 0"):
        encode_batch(ends[:1], last_offset=-1)


def test_attributes_never_say_delete_horizon_without_one():
    """The bit follows the argument."""
    put = [LogRecord(0, NOON, b"k", b"v")]

    assert 0 == BatchHeader.read(encode_batch(put, attributes=DELETE_HORIZON)).attributes
