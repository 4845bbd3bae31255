"""Records without a column are counted, and the first faults are reported."""

from __future__ import annotations

from crc32c import crc32c

from emulator.logs.offsets_log.columns_left_out import MAX_FAULTS, Unreadable
from protocols.offsets_topic.records import Record, encode
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.reader import Gap
from protocols.offsets_topic.segments.record import LogRecord

from .columns_expected import KEY, VALUE, assert_equal, log_of, log_record, read


def test_unreadable_records_are_counted_and_the_rest_is_read():
    """A gap between batches, a truncated value, an invalid key."""
    good, spoilt_batch = log_of((KEY, VALUE)), bytearray(log_of((KEY, VALUE)))
    spoilt_batch[-1] ^= 1
    key, value = encode(Record(KEY, VALUE))
    cut = encode_batch([LogRecord(3, 1, key, (value or b"")[:9]), LogRecord(4, 1, b"\0", value)])
    rows, left_out = read(good + bytes(spoilt_batch) + cut + good)

    assert 2 == len(rows)
    assert (1, len(spoilt_batch), 2) == (left_out.gaps, left_out.gap_bytes, left_out.unreadable)
    assert [Gap, Unreadable, Unreadable] == [type(each) for each in left_out.faults]


def test_a_batch_whose_records_do_not_add_up_is_a_gap():
    """Its first records are not shown."""
    batch = bytearray(log_of((KEY, VALUE), (KEY, VALUE)))
    batch[57:61] = (3).to_bytes(4)  # records
    batch[17:21] = crc32c(batch[21:]).to_bytes(4)
    rows, left_out = assert_equal(log_of((KEY, VALUE)) + bytes(batch))

    assert (1, 1, len(batch)) == (len(rows), left_out.gaps, left_out.gap_bytes)


def test_only_the_first_faults_are_kept():
    """All are counted."""
    log = encode_batch([LogRecord(at, 0, b"", b"") for at in range(MAX_FAULTS + 50)])
    rows, left_out = read(log)

    assert [] == rows
    assert (MAX_FAULTS + 50, MAX_FAULTS) == (left_out.unreadable, len(left_out.faults))


def test_numbers_of_more_than_64_bits_are_no_rows():
    """An offset behind the last one that can be; its neighbours are read."""
    last = 2**63 - 1
    put = [log_record(last - 1, (KEY, VALUE)), log_record(last, (KEY, VALUE))]
    whole = encode_batch([*put, log_record(last + 1, (KEY, VALUE))])
    rows, left_out = read(whole)

    assert [last - 1, last] == [row["log_offset"] for row in rows]
    assert [last + 1] == [each.log_offset for each in left_out.faults]
