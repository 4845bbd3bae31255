"""One compaction after the other: each rule with a log in which it shows."""

from __future__ import annotations

import pytest

from protocols.offsets_topic.segments.batch import Batch, encode_batch
from protocols.offsets_topic.segments.cleaner import Compaction, compact, group_segments
from protocols.offsets_topic.segments.compression import Compression
from protocols.offsets_topic.segments.header import (
    DELETE_HORIZON,
    TRANSACTIONAL,
    BadBatch,
    Producer,
)
from protocols.offsets_topic.segments.offset_map import OffsetMap
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.segment import LogSettings, Segment, log_to_clean

from .drawn import commits
from .logs import Log, contents
from .test_transactions import ABORT, COMMIT, ended, sent

NOW = 1_000_000_000
DAY_MS = 86_400_000


def kinds(log: Log) -> list[tuple[int, int, int]]:
    """Return base offset, last offset and record count of each batch."""
    return [
        (batch.header.base_offset, batch.header.last_offset, batch.header.record_count)
        for batch in log.all_batches()
    ]


def test_the_newest_record_of_each_key_stays_where_it_is():
    """Offsets are kept, gaps appear, emptied batches go."""
    log = Log.of(
        [commits(["a", "b"], 0), commits(["a", "c"], 2), commits(["a"], 4), commits(["d"], 5)],
        [commits(["z"], 6)],
    )
    clean = log.compacted()

    assert [(1, "b"), (3, "c"), (4, "a"), (5, "d"), (6, "z")] == contents(clean)
    assert [(0, 1, 1), (2, 3, 1), (4, 4, 1), (5, 5, 1), (6, 6, 1)] == kinds(clean)
    assert 6 == clean.checkpoint


def test_a_batch_that_changes_keeps_its_numbers():
    """Offsets, leader epoch, producer, codec; timestamps count from the first one left."""
    put = [
        LogRecord(10, 500, b"a", b"old"),
        LogRecord(11, 570, b"b", b"kept", ((b"h", None),)),
        LogRecord(12, 510, b"a", b"old too"),
    ]
    batch = encode_batch(
        put,
        base_offset=9,
        last_offset=14,
        partition_leader_epoch=5,
        attributes=TRANSACTIONAL | Compression.LZ4,
        producer=Producer(7, 2, 30),
    )
    log = Log.of([Batch.read(batch), commits(["a"], 15), ended(COMMIT, 16, 7)], [])
    (rewritten, *_) = log.compacted().all_batches()
    header = rewritten.header

    assert put[1:2] == rewritten.records()
    assert (9, 14, 5) == (header.base_offset, header.last_offset, header.partition_leader_epoch)
    assert Producer(7, 2, 30) == (header.producer_id, header.producer_epoch, header.base_sequence)
    assert TRANSACTIONAL | Compression.LZ4 == header.attributes
    assert (570, 570) == (header.base_timestamp, header.max_timestamp)


def test_a_batch_that_does_not_change_is_copied():
    """To the bit, even where another writer would choose other bytes."""
    odd = bytearray(encode_batch([LogRecord(0, 5, b"a", b"v")], attributes=Compression.GZIP))
    batch = Batch.read(bytes(odd))

    assert batch.data == Log.of([batch], []).compacted().all_batches()[0].data


def test_records_without_a_key_go():
    """They have no place in a compacted log."""
    put = [LogRecord(0, 5, None, b"v"), LogRecord(1, 5, b"a", b"v")]
    log = Log.of([Batch.read(encode_batch(put))], [])

    assert [(1, "a")] == contents(log.compacted())


def test_a_tombstone_takes_two_passes_a_day_apart():
    """The first sets the horizon, one before it changes nothing, one at it drops the tombstone."""
    log = Log.of([commits(["a", "b"], 0), commits(["-a", "c"], 2)], [commits(["x"], 4)])
    first = log.compacted(NOW)
    early = first.compacted(NOW + DAY_MS - 1)
    late = first.compacted(NOW + DAY_MS)

    assert [(1, "b"), (2, "-a"), (3, "c"), (4, "x")] == contents(first)
    assert [None, NOW + DAY_MS, None] == [
        each.header.delete_horizon_ms for each in first.all_batches()
    ]
    assert first.batches == early.batches
    assert [(1, "b"), (3, "c"), (4, "x")] == contents(late)


def test_a_tombstone_never_goes_in_the_pass_that_meets_it_first():
    """However old it is."""
    log = Log.of([commits(["a", "-a"], 0, time=1)], [])

    assert [(1, "-a")] == contents(log.compacted(10**15))


def test_a_horizon_once_set_stays():
    """When other records leave the batch, and when its tombstone has gone."""
    log = Log.of([commits(["-a", "b", "c"], 0)], [commits(["b"], 3)], [commits(["x"], 4)], [])
    first = Log(log.segments[:1] + log.segments[1:2], log.batches).compacted(NOW)
    again = Log((*first.segments[:1], *log.segments[1:]), {**log.batches, **first.batches})
    second = again.compacted(NOW + 5)
    third = again.compacted(NOW + DAY_MS)

    assert [(0, "-a"), (2, "c"), (3, "b"), (4, "x")] == contents(second)
    assert [(2, "c"), (3, "b"), (4, "x")] == contents(third)
    assert NOW + DAY_MS == second.all_batches()[0].header.delete_horizon_ms
    assert NOW + DAY_MS == third.all_batches()[0].header.delete_horizon_ms
    assert DELETE_HORIZON == third.all_batches()[0].header.attributes
    assert [1_000] == [each.timestamp for each in third.all_batches()[0].records()]


def test_a_superseded_tombstone_goes_at_once():
    """It is as old as what it deleted."""
    log = Log.of([commits(["a", "-a", "a"], 0)], [])

    assert [(2, "a")] == contents(log.compacted())


def test_data_of_an_aborted_transaction_goes_at_once():
    """Although it is the newest of its key; what it hid is back."""
    log = Log.of(
        [commits(["a"], 0), sent(["a", "b"], 1, 7), ended(ABORT, 3, 7)], [commits(["x"], 4)]
    )

    assert [(0, "a"), (4, "x")] == contents(log.compacted())


def test_data_of_an_aborted_transaction_goes_behind_the_mapped_part_too():
    """It never counts, whichever record is newest."""
    log = Log.of([commits(["a", "b"], 0), sent(["c"], 2, 7), ended(ABORT, 3, 7)], [])

    assert [(0, "a"), (1, "b")] == contents(log.compacted(entries=1))


@pytest.mark.parametrize("kind", [ABORT, COMMIT])
def test_a_marker_stays_until_its_data_is_gone_and_then_a_day(kind):
    """It needs one pass in which its data goes, one that sets its horizon, and one at that."""
    log = Log.of([sent(["a"], 0, 7), ended(kind, 1, 7), commits(["a"], 2)], [commits(["x"], 3)])
    first = log.compacted(NOW)
    second = first.compacted(NOW)
    early = second.compacted(NOW + DAY_MS - 1)
    late = second.compacted(NOW + DAY_MS)

    marker = log.all_batches()[1]
    assert marker == first.all_batches()[0]
    assert [(1, 1, 1), (2, 2, 1), (3, 3, 1)] == kinds(second) == kinds(early)
    assert NOW + DAY_MS == second.all_batches()[0].header.delete_horizon_ms
    assert marker.records() == second.all_batches()[0].records()
    assert [(2, 2, 1), (3, 3, 1)] == kinds(late)


def test_a_marker_of_data_that_stays_stays():
    """As long as one batch of the transaction is there."""
    log = Log.of([sent(["a"], 0, 7), ended(COMMIT, 1, 7)], [commits(["x"], 2)])

    assert log.batches == log.compacted().compacted(NOW + 9 * DAY_MS).batches


@pytest.mark.parametrize("number", [7, 0])
def test_the_last_batch_of_an_active_producer_stays_without_records(number):
    """For its sequence; once the producer is gone, or has written more, it goes."""
    log = Log.of(
        [
            commits(["a"], 0, producer=Producer(number, 0, 0)),
            commits(["a"], 1, producer=Producer(number, 0, 1)),
            commits(["a"], 2),
        ],
        [commits(["x"], 3)],
    )

    assert [(1, 1, 0), (2, 2, 1), (3, 3, 1)] == kinds(log.compacted(active=True))
    assert [(2, 2, 1), (3, 3, 1)] == kinds(log.compacted())
    assert kinds(log.compacted()) == kinds(log.compacted(active=True).compacted())


def test_the_marker_of_an_active_producers_newest_epoch_stays():
    """It is all that is known of the epoch: emptied, when its day is over."""
    log = Log.of(
        [sent(["a"], 0, 7), ended(COMMIT, 1, 7, epoch=1), commits(["a"], 2)], [commits(["x"], 3)]
    )
    second = log.compacted(NOW, active=True).compacted(NOW, active=True)
    late = second.compacted(NOW + DAY_MS, active=True)
    newer = Log.of([*second.batches[0], ended(COMMIT, 3, 7, epoch=2)], [commits(["x"], 4)])

    assert (1, 1, 0) not in kinds(newer.compacted(NOW + DAY_MS, active=True))
    assert [(1, 1, 1), (2, 2, 1), (3, 3, 1)] == kinds(second)
    assert [(1, 1, 0), (2, 2, 1), (3, 3, 1)] == kinds(late)
    assert [(2, 2, 1), (3, 3, 1)] == kinds(late.compacted(NOW + DAY_MS))


def test_the_batch_that_ends_at_the_high_watermark_stays_without_records():
    """Or the end of the log would be forgotten; one that ends elsewhere goes."""
    log = Log.of([commits(["a"], 0), sent(["b"], 1, 7), ended(ABORT, 2, 7)], [])
    late = log.compacted(NOW).compacted(NOW).compacted(NOW + DAY_MS)

    assert [(0, 0, 1), (2, 2, 0)] == kinds(late)
    assert 2 == late.all_batches()[1].header.last_offset

    longer = Log(
        (*late.segments[:-1], Segment(3, 3).appended(commits(["x"], 3).header)),
        {
            **late.batches,
            3: (commits(["x"], 3),),
        },
    )
    assert [(0, 0, 1), (3, 3, 1)] == kinds(longer.compacted())


def test_behind_the_mapped_part_records_stay():
    """A full map shortens the pass; the next one goes on from there."""
    log = Log.of([commits(["a", "b", "a", "c", "b", "c"], 0)], [commits(["x"], 6)])
    first = log.compacted(entries=2)
    second = first.compacted(entries=9)

    assert 2 == first.checkpoint
    assert contents(log) == contents(first)
    assert [(2, "a"), (4, "b"), (5, "c"), (6, "x")] == contents(second)


def test_the_first_record_behind_the_mapped_part_stays_without_a_key():
    """``Cleaner.shouldRetainRecord`` looks at no record past the latest offset of its map."""
    put = [LogRecord(0, 5, b"a", b"v"), LogRecord(1, 5, None, b"v")]
    log = Log.of([Batch.read(encode_batch(put))], [])
    mapped = OffsetMap({b"a": 0}, [0], [], 0, 1)
    compaction = Compaction(mapped=mapped, now_ms=NOW, high_watermark=2)
    kept = [
        record.offset
        for cleaned in compact(log.segments, log.read, compaction)
        for batch in map(Batch.read, cleaned.batches)
        for record in batch.records()
    ]

    assert [0, 1] == kept


def test_segments_behind_the_mapped_part_are_not_copied():
    """Not even read."""
    log = Log.of([commits(["a"], 0)], [commits(["a"], 1)], [commits(["a"], 2)])
    compaction = Compaction(
        mapped=OffsetMap({b"a": 0}, [0], [], 0, 1), now_ms=NOW, high_watermark=3
    )

    assert [log.segments[:1]] == [
        each.replaces for each in compact(log.segments, log.read, compaction)
    ]


def test_nothing_from_the_uncleanable_part_is_touched():
    """An open transaction keeps what lies behind its first record, segment and all."""
    log = Log.of(
        [commits(["a", "a"], 0)],
        [commits(["b", "b"], 2), sent(["c"], 4, 7)],
        [commits(["a"], 5)],
        [],
    )
    clean = log.compacted(stable=4)

    assert 2 == clean.checkpoint
    assert [(1, "a")] == contents(clean)[:1]
    assert log.segments[1:] == clean.segments[1:]
    assert {base: log.batches[base] for base in (2, 5)} == {
        base: clean.batches[base] for base in (2, 5)
    }


@pytest.mark.parametrize(
    ("limit", "runs"), [(1_000, [3]), (999, [2, 1]), (599, [1, 1, 1]), (1, [1, 1, 1])]
)
def test_neighbours_are_merged_up_to_the_size_of_a_segment(limit, runs):
    """By the sizes they have before they are cleaned."""
    segments = [Segment(0, 5, 300), Segment(5, 9, 300), Segment(9, 10, 400)]

    assert runs == [len(group) for group in group_segments(segments, limit)]


def test_merged_segments_keep_their_offsets_within_an_int():
    """An empty one does not count."""
    far = 2**31
    near = [Segment(0, 5, 3), Segment(5, far, 3)]

    assert 1 == len(group_segments(near, 100))
    assert 2 == len(group_segments([near[0], Segment(5, far + 1, 3)], 100))
    assert 1 == len(group_segments([near[0], Segment(far, far + 1, 0)], 100))


def test_merged_segments_have_the_first_ones_name():
    """They are one stream of batches."""
    log = Log.of([commits(["a"], 0)], [commits(["a", "b"], 1)], [commits(["c"], 3)], [])
    clean = log.compacted()

    assert [0, 4] == [segment.base_offset for segment in clean.segments]
    assert [(1, "a"), (2, "b"), (3, "c")] == contents(clean)
    assert [0, 1, 3, 4] == [
        segment.base_offset for segment in log.compacted(segment_bytes=1).segments
    ]


def test_a_segment_may_be_left_with_nothing():
    """Its file is empty then, until a later pass merges it."""
    log = Log.of([commits(["a"], 0)], [commits(["a"], 1)], [])
    clean = log.compacted(segment_bytes=1)

    assert [(0, 0), (1, 70), (2, 0)] == [
        (segment.base_offset, segment.size_bytes) for segment in clean.segments
    ]


def test_transactions_span_segments_whose_batches_are_not_read():
    """Unread batches of one segment are skipped for the next."""
    log = Log.of([sent(["a"], 0, 7)], [ended(COMMIT, 1, 7)], [])
    compaction = Compaction(
        mapped=OffsetMap({b"a": 0}, [0], [], 0, 2), now_ms=NOW, high_watermark=9
    )
    untaken = list(compact(log.segments, log.read, compaction, 1))
    taken = [list(each.batches) for each in compact(log.segments, log.read, compaction, 1)]

    assert [[], []] == [list(each.batches) for each in untaken]
    assert [[log.all_batches()[0].data], [log.all_batches()[1].data]] == taken


def test_records_that_cannot_be_read_end_a_compaction():
    """Kafka marks the partition uncleanable."""
    broken = encode_batch([LogRecord(0, 5, b"a", b"v" * 9)], attributes=Compression.SNAPPY)
    header = Batch.read(broken).header._replace(record_count=2)
    batch = Batch(0, header, broken)

    with pytest.raises(BadBatch, match="record 2 of 2"):
        Log.of([batch], []).compacted()


def test_the_dirtiest_log_is_cleaned_first():
    """The cleaner goes by the ratio."""
    log = Log.of([commits(["a"] * 9, 0)], [commits(["a"], 9)], [])
    whole, part = (
        log.to_clean(),
        log_to_clean(log.segments, LogSettings(), checkpoint=9, last_stable_offset=10, now_ms=NOW),
    )

    assert whole == max(part, whole, key=lambda each: each.cleanable_ratio)
    assert (True, False) == (whole.eligible, part.eligible)
