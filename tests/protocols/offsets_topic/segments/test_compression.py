"""Codecs, in the forms Kafka's own readers and writers use, and bounded."""

from __future__ import annotations

import gzip
import struct
import time
import tracemalloc

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets_topic.segments.compression import Compression, compress, decompress
from protocols.offsets_topic.segments.header import BadBatch, InflatesTooFar
from protocols.offsets_topic.segments.record import RecordFields, add_records

XERIAL = bytes.fromhex("82534e4150505900 00000001 00000001")
PACKED = [codec for codec in Compression if codec]


@given(st.sampled_from(Compression), st.binary() | st.binary(max_size=40).map(lambda b: b * 3000))
def test_compressed_data_is_restored(codec, data):
    """With all five codecs."""
    assert data == decompress(compress(data, codec), codec)


@pytest.mark.parametrize("codec", PACKED)
def test_compression_is_the_same_each_time(codec):
    """No time, name or random number gets into what is written."""
    data = b"offsets " * 1000

    assert compress(data, codec) == compress(data, codec)
    assert len(compress(data, codec)) < len(data) / 4


def test_snappy_is_framed_in_blocks_as_snappy_java_does():
    """A header of 16 bytes, then blocks of at most 32 KiB behind their lengths."""
    data = bytes(range(256)) * 300
    framed = compress(data, Compression.SNAPPY)
    lengths = []
    at = len(XERIAL)
    while at < len(framed):
        (length,) = struct.unpack_from(">i", framed, at)
        lengths.append(cramjam.snappy.decompress_raw_len(framed[at + 4 : at + 4 + length]))
        at += 4 + length

    assert framed.startswith(XERIAL)
    assert [32768, 32768, len(data) - 65536] == lengths


def test_snappy_of_other_clients_is_one_plain_block():
    """No header means no frame."""
    assert b"offsets" * 9 == decompress(
        bytes(cramjam.snappy.compress_raw(b"offsets" * 9)), Compression.SNAPPY
    )


def test_snappy_streams_may_follow_each_other():
    """A second header in the middle begins another stream."""
    twice = compress(b"one", Compression.SNAPPY) + compress(b"two", Compression.SNAPPY)

    assert b"onetwo" == decompress(twice, Compression.SNAPPY)


@pytest.mark.parametrize("length", [-(2**31), -4, 0, 100])
def test_snappy_blocks_have_a_length_that_can_be(length):
    """At least one byte, and no more than there are."""
    block = bytes(cramjam.snappy.compress_raw(b"offsets"))
    with pytest.raises(BadBatch, match=f"a block of {length} bytes where {len(block)} are left"):
        decompress(XERIAL + struct.pack(">i", length) + block, Compression.SNAPPY)


def test_a_snappy_block_may_be_missing_behind_its_length():
    """Its length is read; one that is cut off itself is told apart."""
    with pytest.raises(BadBatch, match="a block of 7 bytes where 0 are left"):
        decompress(XERIAL + struct.pack(">i", 7), Compression.SNAPPY)
    with pytest.raises(BadBatch, match="ends within the length"):
        decompress(XERIAL + struct.pack(">i", 7)[:3], Compression.SNAPPY)


def test_gzip_may_have_several_members():
    """As Java's stream reads them."""
    assert b"onetwo" == decompress(gzip.compress(b"one") + gzip.compress(b"two"), 1)


def test_a_gzip_member_without_data_may_follow_at_the_bound():
    """It adds no byte to what has filled the bound."""
    packed = gzip.compress(b"one") + gzip.compress(b"")

    assert b"one" == decompress(packed, Compression.GZIP, max_bytes=3)


def test_lz4_blocks_stand_alone():
    """Kafka's reader refuses a frame whose flags say that blocks need earlier ones."""
    frame = compress(b"offsets" * 100, Compression.LZ4)
    version, independent = frame[4] >> 6, frame[4] >> 5 & 1

    assert (bytes.fromhex("04224d18"), 1, 1) == (frame[:4], version, independent)


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_ends_in_a_named_error_and_takes_no_memory(codec):
    """Data that inflates to 30 MB is stopped at the bound, with a few MB of memory."""
    bomb = compress(bytes(30_000_000), codec)
    tracemalloc.start()
    try:
        with pytest.raises(InflatesTooFar, match="limit `unpacked`, 1000000 bytes"):
            decompress(bomb, codec, max_bytes=1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 6_000_000


@pytest.mark.parametrize("codec", Compression)
def test_the_bound_itself_is_allowed(codec):
    """So many bytes and not one more."""
    packed = compress(b"x" * 100_000, codec)

    assert b"x" * 100_000 == decompress(packed, codec, max_bytes=100_000)
    with pytest.raises(InflatesTooFar):
        decompress(packed, codec, max_bytes=99_999)


def test_an_unknown_codec_is_named():
    """Bits 5 to 7 of nothing that Kafka 4.4 knows."""
    with pytest.raises(BadBatch, match="compression 6 is not known; 0 to 4 are"):
        decompress(b"", 6)


def assert_bounded_or_named(data: bytes, codec: Compression) -> None:
    """Assert that bytes come out, not too many, or an error that names the codec."""
    try:
        found, said = decompress(data, codec, max_bytes=100_000), ""
    except BadBatch as error:
        found, said = b"", str(error)

    assert len(found) <= 100_000
    assert not said or said.startswith(codec.name.lower())


@given(st.sampled_from(PACKED), st.binary(max_size=300), st.data())
def test_damaged_data_is_an_error_or_other_data(codec, data, more):
    """Any change to the bytes ends in a named error or in bytes, in nothing else."""
    packed = bytearray(compress(data, codec))
    packed[more.draw(st.integers(0, len(packed) - 1))] ^= more.draw(st.integers(1, 255))
    del packed[more.draw(st.integers(0, len(packed))) :]

    assert_bounded_or_named(bytes(packed), codec)


@given(st.sampled_from(PACKED), st.binary(max_size=100))
def test_uncompressed_bytes_are_an_error_or_other_data(codec, data):
    """Any bytes at all."""
    assert_bounded_or_named(data, codec)


@pytest.mark.parametrize("codec", [Compression.SNAPPY, Compression.GZIP])
def test_very_many_empty_parts_cost_no_more_than_their_bytes(codec):
    """What was read before them is not copied for each one."""
    begin = compress(b"x" * 2**22, codec)
    empty = b"\x00\x00\x00\x01\x00" if codec is Compression.SNAPPY else compress(b"", codec)
    before = time.process_time()

    assert 2**22 == len(decompress(begin + empty * 20_000, codec))
    assert time.process_time() - before < 3


def test_a_batch_of_very_many_records_is_refused():
    """A few kilobytes of zstd may hold millions of the smallest records."""
    smallest = b"\x0c\x00\x00\x00\x01\x01\x00"

    with pytest.raises(
        BadBatch, match="1,000,001 records in one batch; the limit `records` is 1,000,000"
    ):
        add_records(RecordFields.empty(), smallest, 0, 1_000_001, 0, 0)
