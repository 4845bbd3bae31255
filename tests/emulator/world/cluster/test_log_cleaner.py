"""The log cleaner: when a segment rolls, when the cleaner looks, and what a load then costs."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator.events import Appended, CoordinatorLoaded, LogCompacted, SegmentRolled, TopicCreated
from protocols.messages import OffsetCommitRequest, OffsetToCommit

from .cluster_bench import LOAD, MS, SECOND, Bench

MINUTE = 60 * SECOND

SHORT = """
"log.roll.ms" = "10s"
"log.cleaner.delete.retention.ms" = "1min"
"""


OF_TWO_KEYS = """
"log.cleaner.dedupe.buffer.size" = 1048584
"log.cleaner.io.buffer.load.factor" = 0.00005
"""


KEPT_FROM_LOOKING = [("pause", "resume"), ("fill_disk", "clear_disk")]


def bench_of(settings="", **more):
    return Bench(settings=SHORT + settings, **more)


def commit_for(bench, length_us, every_us=SECOND, partition=0, metadata=""):
    """Commit again and again for some time."""
    until = bench.now + length_us
    while bench.now < until:
        offset = OffsetToCommit(
            TopicPartition("t", partition), bench.now // SECOND, metadata=metadata
        )
        bench.ask(OffsetCommitRequest(group_id="g", offsets=(offset,)))
        bench.wait(every_us)


def amount(bench, broker=None):
    log = bench.host(broker).log
    return log.log.amount(log.end)


def test_a_segment_rolls_with_the_first_batch_that_is_too_late_for_it():
    """Never by the passing of time alone."""
    bench = bench_of()
    bench.commit(1)
    bench.wait(MINUTE)
    assert [] == bench.written(SegmentRolled)
    bench.commit(2)
    bench.wait(SECOND)

    (rolled,) = bench.written(SegmentRolled)
    assert (1, "segment.ms", 2) == (rolled.base_offset, rolled.why, rolled.segments)


def test_a_segment_rolls_when_it_is_full():
    """With the batch that does not fit any more."""
    bench = Bench(settings='"offsets.topic.segment.bytes" = "1MiB"')
    while not bench.written(SegmentRolled):
        commit_for(bench, 20 * MS, 20 * MS, metadata="m" * 4_000)
    sizes = [what.size for what in bench.written(Appended)]

    assert "segment.bytes" == bench.written(SegmentRolled)[0].why
    assert sum(sizes[:-1]) <= 2**20 < sum(sizes)


def test_the_cleaner_compacts_a_full_segment_when_it_looks_next():
    """Fifteen seconds apart; the active segment stays as it is."""
    bench = bench_of()
    commit_for(bench, 12 * SECOND)
    before = amount(bench)
    (rolled,) = bench.written(SegmentRolled)
    bench.wait(15 * SECOND - bench.now - 1)
    assert [] == bench.written(LogCompacted)
    bench.wait(2)

    (compacted,) = bench.written(LogCompacted)
    assert (0, rolled.base_offset) == (compacted.first, compacted.next_offset)
    assert 12 - rolled.base_offset + 1 == compacted.records == amount(bench).records
    assert rolled.base_offset - 1 == compacted.removed_records
    assert before.size - compacted.removed_size == compacted.size == amount(bench).size


def test_a_load_costs_what_compaction_has_left():
    """Not what was ever written."""
    bench = bench_of(cluster='load_bytes = "1KiB/s"\nload_records = "10/s"')
    commit_for(bench, 2 * MINUTE)
    written = sum(what.size for what in bench.written(Appended))
    left = amount(bench)
    bench.world.controller.move(bench.shard, 2, 0)
    bench.wait(MINUTE)

    (loaded,) = bench.written(CoordinatorLoaded)
    assert left == (loaded.size, loaded.records)
    assert left.size < written / 2
    assert loaded.loaded_us == LOAD + -(-left.size * SECOND // 1024) + left.records * SECOND // 10
    assert 119 == bench.committed()


def test_without_a_cleaner_everything_stays():
    """``log.cleaner.enable`` is how a year without compaction comes about."""
    bench = bench_of('"log.cleaner.enable" = false')
    commit_for(bench, 2 * MINUTE)

    assert [] == bench.written(LogCompacted)
    assert 120 == amount(bench).records


def test_a_log_that_is_hardly_dirty_is_left_alone():
    """Up to ``log.cleaner.min.cleanable.ratio``; a tenth may be much."""
    often = bench_of('"log.cleaner.min.cleanable.ratio" = 0.0')
    never = bench_of('"log.cleaner.min.cleanable.ratio" = 1')
    for bench in (often, never):
        commit_for(bench, 2 * MINUTE)

    assert len(often.written(LogCompacted)) > 4
    assert [] == never.written(LogCompacted)


def test_records_younger_than_the_minimal_lag_stay():
    """They are removed once they are old enough, without another append."""
    bench = bench_of('"log.cleaner.min.compaction.lag.ms" = "2min"')
    commit_for(bench, 12 * SECOND)
    bench.wait(90 * SECOND)
    assert [] == bench.written(LogCompacted)
    bench.wait(MINUTE)

    assert 1 == len(bench.written(LogCompacted))


def test_records_older_than_the_maximal_lag_make_a_log_overdue():
    """However little of it is dirty."""
    bench = bench_of(
        '"log.cleaner.min.cleanable.ratio" = 1\n"log.cleaner.max.compaction.lag.ms" = "30s"'
    )
    bench.wait(MS)
    commit_for(bench, 12 * SECOND)
    bench.wait(10 * SECOND)
    assert [] == bench.written(LogCompacted)
    bench.wait(MINUTE)

    assert 1 == len(bench.written(LogCompacted))


def test_unreplicated_records_are_not_compacted():
    """Compaction stops at the high watermark, and continues when that moves."""
    bench = bench_of('"min.insync.replicas" = 3\n"replica.lag.time.max.ms" = "1d"')
    commit_for(bench, 5 * SECOND)
    cut = bench.cut("broker-1", "broker-3")
    commit_for(bench, 8 * SECOND)
    assert 1 == len(bench.written(SegmentRolled))
    bench.wait(20 * SECOND)
    assert [] == bench.written(LogCompacted)
    cut()
    bench.wait(20 * SECOND)

    assert 1 == len(bench.written(LogCompacted))


def test_a_successor_has_the_compacted_log():
    """It continues from there."""
    bench = bench_of()
    commit_for(bench, 40 * SECOND)
    before = amount(bench)
    bench.fail_over()
    assert before == amount(bench)
    commit_for(bench, MINUTE)
    compacted = bench.written(LogCompacted)

    assert [1, bench.leader] == sorted({what.broker for what in compacted})
    assert compacted[-1].records < 30


def tombstones(bench):
    """Return how many tombstones the compacted part of the log holds."""
    cleaned = [each.cleaned for each in bench.host().log.log._segments if each.cleaned]
    records = [one for batches in cleaned for batch in batches for one in batch.records()]
    return sum(1 for one in records if one.value is None)


def test_a_tombstone_goes_with_the_first_compaction_after_its_time():
    """The one that keeps it first sets the time: ``log.cleaner.delete.retention.ms`` later."""
    bench = bench_of()
    bench.commit(1)
    bench.wait(SECOND)
    (created,) = bench.written(TopicCreated)
    bench.shard.topic_deleted("t", created.topic_id)
    commit_for(bench, 30 * SECOND, partition=1)
    assert 1 == tombstones(bench)
    commit_for(bench, 40 * SECOND, partition=1)
    assert 1 == tombstones(bench)
    commit_for(bench, 40 * SECOND, partition=1)

    assert 0 == tombstones(bench)


@pytest.mark.parametrize(("kept_from", "again"), KEPT_FROM_LOOKING)
def test_a_look_that_could_not_be_is_made_up_for(kept_from, again):
    """Of a paused broker, and of one whose disk was full: the log needs no further append."""
    bench = bench_of()
    commit_for(bench, 12 * SECOND)
    getattr(bench.brokers, kept_from)(1, 0)
    bench.wait(5 * SECOND)
    assert [] == bench.written(LogCompacted)
    getattr(bench.brokers, again)(1, 0)
    bench.wait(15 * SECOND)

    assert 1 == len(bench.written(LogCompacted))


def test_a_small_offset_map_ends_a_compaction_early():
    """Records after the last key that fits are compacted by the next one."""
    benches = bench_of(), bench_of(OF_TWO_KEYS)
    for bench in benches:
        for partition in range(3):
            commit_for(bench, 4 * SECOND, partition=partition)
        bench.wait(20 * SECOND)
    (whole,), (first, *_) = (bench.written(LogCompacted) for bench in benches)

    assert 8 == first.next_offset < whole.next_offset
