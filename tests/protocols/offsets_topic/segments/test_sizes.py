"""The size of a batch, and its header, are known before it is written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.header import NO_VALUE, BatchHeader, batch_size, header_to_be
from protocols.offsets_topic.segments.record import LogRecord

lengths = st.one_of(
    st.integers(0, 300),
    st.sampled_from([54, 55, 56, 57, 58, 59, 63, 64, 8_185, 8_191, 8_192, 70_000]),
)
pairs = st.lists(st.tuples(lengths, st.none() | lengths), min_size=1, max_size=5)


def sizes_of(lengths_of):
    return [(key, NO_VALUE if value is None else value) for key, value in lengths_of]


def written(lengths_of, **more):
    records = [
        LogRecord(7 + n, 5_000, b"k" * key, None if value is None else b"v" * value)
        for n, (key, value) in enumerate(lengths_of)
    ]
    return encode_batch(records, **more)


@given(pairs)
def test_a_size_is_that_of_the_bytes(lengths_of):
    """Whatever the lengths of keys and values, tombstones and empty ones among them."""
    assert len(written(lengths_of)) == batch_size(sizes_of(lengths_of))


def test_a_size_counts_the_offsets_of_many_records():
    """From the 65th record on, and again from the 8193rd, an offset delta takes a byte more."""
    for count in (63, 64, 65, 66, 8_192, 8_193, 8_194):
        assert len(written([(1, 1)] * count)) == batch_size([(1, 1)] * count)


@given(pairs, st.integers(0, 9))
def test_a_header_to_be_is_the_header_but_for_the_checksum(lengths_of, epoch):
    """Rolling and compaction decide the same with it."""
    data = written(lengths_of, partition_leader_epoch=epoch)
    size = batch_size(sizes_of(lengths_of))

    assert BatchHeader.read(data)._replace(crc=0) == header_to_be(
        7, len(lengths_of), size, epoch, 5_000
    )
