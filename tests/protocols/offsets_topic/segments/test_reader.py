"""Streams of bytes as batches and gaps."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.compression import Compression
from protocols.offsets_topic.segments.header import BadBatch
from protocols.offsets_topic.segments.reader import (
    Gap,
    Limits,
    intact_batches,
    read_batches,
    read_log,
)
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.resync import CHUNK_BYTES, GapKind

from .drawn import batches, commits
from .streams import BYTES, LOG, STARTS, OneByOne, gaps, offsets, patched, read


def test_a_sound_log_has_no_gap():
    """Batch by batch, with positions in bytes."""
    found = read(BYTES)

    assert STARTS[:-1] == [each.batch.position for each in found]
    assert [0, 1, 2, 3, 4, 5, 6] == offsets(found)
    assert LOG == [each.batch._replace(position=0) for each in found]


def test_nothing_is_nothing():
    """An empty stream has neither batches nor gaps."""
    assert [] == read(b"")


@given(st.lists(batches(), max_size=4))
def test_any_batches_are_read(drawn):
    """Whatever is in them, one behind the other."""
    found = read(b"".join(encoded for encoded, _ in drawn), Limits())

    assert [put for _, put in drawn] == [each.records for each in found]


def test_records_that_cannot_be_read_are_a_gap_of_their_batch():
    """Its checksum is right; the rest is read."""
    bomb = encode_batch([LogRecord(9, 0, b"k", bytes(50_000))], attributes=Compression.ZSTD)
    found = read(BYTES + bomb + commits(["z"], 10).data)
    (gap,) = [each for each in found if isinstance(each, Gap)]

    assert (GapKind.BAD_RECORDS, len(BYTES), len(bomb)) == (gap.kind, gap.position, gap.size)
    assert (
        "offset 9: zstd: the records are longer than the limit `unpacked`, 40000 bytes"
        == gap.reason
    )
    assert 10 == offsets(found)[-1]


def test_a_batch_longer_than_allowed_is_a_gap():
    """Whether it lies in memory anyway or would have to be read."""
    long = commits(["k" * 30_000], 7).data
    found = read(BYTES + long + commits(["z"], 8).data)

    assert [(GapKind.BAD_LENGTH, len(BYTES), len(long))] == gaps(found)
    assert 8 == offsets(found)[-1]
    assert 8 == len(list(read_batches(BYTES + long + BYTES[: STARTS[3]])))


def test_a_source_may_give_little_at_a_time():
    """Only nothing at all is its end."""
    assert list(read_log(BYTES + b"junk")) == list(read_log(OneByOne(BYTES + b"junk")))


def test_batches_lie_across_the_borders_of_what_is_read_at_once():
    """Nothing depends on where a chunk ends."""
    many = b"".join(commits(["key"] * 5, 5 * n).data for n in range(5000))
    found = list(read_log(io.BytesIO(many)))

    assert len(many) > 2 * CHUNK_BYTES
    assert list(range(25_000)) == offsets(found)
    assert found == list(read_log(many))


@pytest.mark.long
def test_memory_does_not_grow_with_a_sound_log():
    """A window of about a chunk."""
    one = commits(["key" * 20] * 5).data
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_log(io.BytesIO(one * 20_000)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert 20_000 == count
    assert peak < len(one) * 20_000 + 4 * CHUNK_BYTES


def test_compaction_reads_sound_logs_only():
    """The first gap is an error with its position."""
    assert LOG == [each._replace(position=0) for each in intact_batches(BYTES)]
    with pytest.raises(BadBatch, match=f"at byte {STARTS[1]}: checksum"):
        list(intact_batches(patched(BYTES, STARTS[1] + 80, b"\xff")))
