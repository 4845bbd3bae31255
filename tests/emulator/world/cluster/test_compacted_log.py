"""A stored log rolls, is compacted and is as large as the same log with all its bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.world.cluster.offsets_log.stored_log import NOTHING, Amount, StoredLog
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    encode,
)
from protocols.offsets_topic.segments.batch import Batch, encode_batch
from protocols.offsets_topic.segments.cleaner import Compaction, compact
from protocols.offsets_topic.segments.offset_map import build_offset_map
from protocols.offsets_topic.segments.reader import read_log
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.segment import LogSettings, Segment, log_to_clean, roll_reason

SMALL = LogSettings(
    segment_bytes=600, segment_ms=400, delete_retention_ms=300, min_cleanable_dirty_ratio=0.3
)


class Memory:
    """A spool that is no file."""

    def __init__(self):
        self.data = b""

    def add(self, data):
        self.data += data
        return len(self.data) - len(data)

    def read(self, position, size):
        return self.data[position : position + size]


class WholeLog:
    """A log all of whose bytes are there, by the rules of ``protocols.offsets_topic.segments`` alone."""

    def __init__(self, settings):
        self.settings = settings
        self.segments = [Segment(0, 0)]
        self.batches = {0: []}
        self.end = 0
        self.checkpoint = None

    def append(self, records, epoch, now_ms):
        stored = [LogRecord(self.end + n, now_ms, *encode(each)) for n, each in enumerate(records)]
        batch = Batch.read(encode_batch(stored, partition_leader_epoch=epoch))
        active = self.segments[-1]
        if active.size_bytes and roll_reason(active, batch.header, self.settings, now_ms):
            self.segments.append(Segment(self.end, self.end, created_ms=now_ms))
            self.batches[self.end] = []
        self.segments[-1] = self.segments[-1].appended(batch.header)
        self.batches[self.segments[-1].base_offset].append(batch)
        self.end = batch.header.next_offset

    def to_clean(self, high_watermark, now_ms):
        return log_to_clean(
            self.segments,
            self.settings,
            checkpoint=self.checkpoint,
            last_stable_offset=high_watermark,
            now_ms=now_ms,
        )

    def clean(self, what, high_watermark, now_ms):
        def read(segment):
            return self.batches[segment.base_offset]

        compaction = Compaction(
            mapped=build_offset_map(self.segments, read, what),
            now_ms=now_ms,
            high_watermark=high_watermark,
            delete_retention_ms=self.settings.delete_retention_ms,
        )
        made = [
            (each.base_offset, each.replaces, [Batch.read(data) for data in each.batches])
            for each in compact(self.segments, read, compaction, self.settings.segment_bytes)
        ]
        self.checkpoint = compaction.mapped.end_offset
        kept = [each for each in self.segments if each.base_offset >= self.checkpoint]
        self.batches = {each.base_offset: self.batches[each.base_offset] for each in kept}
        fresh = []
        for base_offset, replaced, batches in made:
            segment = Segment(base_offset, base_offset, created_ms=replaced[0].created_ms)
            for batch in batches:
                segment = segment.appended(batch.header)
            self.batches[base_offset] = batches
            fresh.append(segment)
        self.segments = fresh + kept

    @property
    def content(self):
        return {
            each.base_offset: b"".join(batch.data for batch in self.batches[each.base_offset])
            for each in self.segments
        }


def record(key, length):
    """Return a record: of a group, of a partition; without a length a tombstone."""
    name = GroupMetadataKey("g" * key) if key > 4 else OffsetCommitKey("g", "topic", key)
    if length is None or key > 4:
        return Record(name, None)
    return Record(name, OffsetCommitValue(7, 1_000, metadata="m" * length))


records = st.builds(record, st.integers(0, 6), st.none() | st.sampled_from([0, 1, 60, 63, 200]))
batches = st.lists(records, min_size=1, max_size=4).map(tuple)
steps = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 1), batches | st.just("clean")), max_size=70
)


def content_of(log):
    return {base_offset: b"".join(parts) for base_offset, parts in log.content(log.end)}


def amount_in(content):
    found = [each for data in content.values() for each in read_log(data)]
    size = sum(map(len, content.values()))
    return Amount(size, sum(len(each.records) for each in found))


@given(steps, st.sampled_from([SMALL, LogSettings(segment_bytes=300, min_compaction_lag_ms=90)]))
def test_it_is_byte_for_byte_what_the_rules_make_of_all_bytes(plan, settings):
    """Whatever is appended and however often it is compacted; and it knows its size all along."""
    log, whole = StoredLog(NOTHING, settings, spool=Memory()), WholeLog(settings)
    now_ms, epoch, ends = 1_000, 0, [0, 0]
    for wait, rise, act in plan:
        now_ms += wait
        epoch += rise
        if act == "clean":
            high_watermark = ends[-1 - rise]
            log.settle(high_watermark)
            what = whole.to_clean(high_watermark, now_ms)
            assert what == log.to_clean(high_watermark, now_ms)
            if what.eligible:
                whole.clean(what, high_watermark, now_ms)
                log.clean(what, high_watermark, now_ms)
        else:
            ends.append(ends[-1] + len(act))
            whole.append(act, epoch, now_ms)
            log.append(act, epoch, now_ms)
        expected = whole.content
        assert expected == content_of(log)
        assert amount_in(expected) == log.amount(log.end)
        assert len(expected) == log.segments


@given(steps, st.data())
def test_a_fork_has_the_segments_of_what_it_has(plan, data):
    """Those that began behind its end are gone, and it rolls where it would have rolled."""
    log, whole = StoredLog(NOTHING, SMALL, spool=Memory()), WholeLog(SMALL)
    ends = [0]
    appends = [(n * 30, act) for n, (_, _, act) in enumerate(plan) if act != "clean"]
    for now_ms, act in appends:
        log.append(act, 0, now_ms)
        ends.append(log.end)
    cut = data.draw(st.integers(0, len(ends) - 1))
    log.settle(data.draw(st.sampled_from(ends[: cut + 1])))
    before = content_of(log)
    fork = log.fork(ends[cut])
    for now_ms, act in appends[:cut]:
        whole.append(act, 0, now_ms)
    following = data.draw(st.lists(batches, max_size=12))
    for act in following:
        whole.append(act, 1, 5_000)
        fork.append(act, 1, 5_000)

    assert before == content_of(log)
    assert whole.content == {
        base: data for base, data in content_of(fork).items() if data or not base
    }
    assert amount_in(content_of(fork)) == fork.amount(fork.end)


@given(steps)
def test_a_log_that_is_never_compacted_holds_each_key_once(plan):
    """However many segments it has: only what a load comes to is in memory."""
    log = StoredLog(NOTHING, SMALL, is_compacted=False)
    for wait, _, act in plan:
        if act != "clean":
            log.append(act, 0, wait)
    log.settle(log.end)

    assert [] == [each for segment in log._segments for each in segment.newest]
    assert len(log._newest) <= 7
