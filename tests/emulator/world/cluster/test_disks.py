"""Disks that are slow or full, of leaders and of followers."""

from __future__ import annotations

from emulator.events import Appended, AppendFailed, CommitAccepted, CommitRefused, IsrChanged
from protocols.offsets_topic.segments.header import HEADER_BYTES

from ...modes.both_ways import hold_both_ways
from ..stage import staged
from .cluster_bench import LATENCY, MS, REPLICATION, SECOND, Bench

SLOW = 200 * MS


def test_an_append_on_a_slow_disk_is_replicated_as_much_later():
    """Waiting requests are answered then."""
    bench = Bench()
    bench.brokers.slow_disk(1, SLOW, 0)
    call = bench.commit(1)
    bench.wait(SLOW + REPLICATION + LATENCY - 1)
    assert call.answer is None
    bench.wait(1)

    assert "NONE" == call.error


def test_requests_wait_while_a_slow_disk_writes():
    """Answers without a record, too: the partition does one thing after the other."""
    bench = Bench()
    leader, _ = bench.form()
    bench.brokers.slow_disk(1, SLOW, 0)
    bench.commit(1, member_id=leader, generation_id=2)
    plain = bench.fetch()
    bench.wait(SLOW - 1)
    assert plain.answer is None
    bench.wait(1 + LATENCY)

    assert "NONE" == plain.error


def test_requests_that_waited_for_a_slow_disk_are_one_batch():
    """All of it is one record batch, as Kafka batches queued requests.

    The news that the first is safe comes while that is written, and waits for its end.
    """
    bench = Bench()
    bench.brokers.slow_disk(1, SLOW, 0)
    calls = []
    for number in range(5):
        calls.append(bench.commit(number))
        bench.wait(10 * MS)
    bench.settle()

    assert [2 * SLOW + LATENCY] + [2 * SLOW + REPLICATION + LATENCY] * 4 == [
        call.at_us for call in calls
    ]
    assert 4 == bench.committed()
    written = [(what.log_offset, dict(what.records)) for what in bench.written(Appended)]
    assert [(0, {"OffsetCommit": 1}), (1, {"OffsetCommit": 4})] == written
    one, four = (what.size for what in bench.written(Appended))
    assert HEADER_BYTES + 4 * (one - HEADER_BYTES) == four
    assert [1, 2, 3, 4, 5] == [what.log_offset + 1 for what in bench.written(CommitAccepted)]


def test_a_batch_that_has_waited_fails_as_a_whole():
    """The disk is full by then: all its requests get an error, and all of it is reverted."""
    bench = Bench()
    bench.brokers.slow_disk(1, SLOW, 0)
    first = bench.commit(1)
    bench.wait(10 * MS)
    calls = [bench.commit(number) for number in (2, 3, 4)]
    bench.brokers.fill_disk(1, 0)
    bench.wait(SLOW + REPLICATION + LATENCY)

    assert ["NONE"] + ["NOT_COORDINATOR"] * 3 == [call.error for call in (first, *calls)]
    assert (1, 1) == (bench.committed(), bench.host().log.end)
    assert [(1, 3)] == [(what.log_offset, what.records) for what in bench.written(AppendFailed)]
    assert ["NOT_COORDINATOR"] * 3 == [what.error for what in bench.written(CommitRefused)]
    assert 1 == len(bench.written(CommitAccepted))


def test_news_of_the_log_goes_before_what_has_waited():
    """So that what is safe is seen as safe."""
    bench = Bench()
    bench.brokers.slow_disk(1, SLOW, 0)
    bench.commit(1)
    bench.wait(SLOW + REPLICATION - 1)
    bench.commit(2)
    stable = bench.fetch(require_stable=True)
    bench.wait(SLOW + REPLICATION + LATENCY + 1)

    assert [2] == [found.offset for found in stable.answer.offsets]


def test_sessions_that_run_out_while_it_writes_are_looked_at_again():
    """A heartbeat that came before wins."""
    bench = Bench()
    leader, other = bench.form()
    bench.wait(4_900 * MS)
    bench.brokers.slow_disk(1, SECOND, 0)
    bench.commit(1, member_id=leader, generation_id=2)
    bench.heartbeat(other, 2)
    bench.wait(2 * SECOND)

    assert ("STABLE", 2) == bench.group_state()[:2]
    assert {leader, other} == set(bench.group().members)


def test_a_slow_follower_in_sync_holds_everything_back_by_as_much():
    """Of every partition it has a copy of."""
    bench = Bench()
    bench.brokers.slow_disk(3, SLOW, 0)
    call = bench.commit(1)
    log = bench.world.topics.logs["t"].partitions[0]
    bench.wait(SLOW + REPLICATION + LATENCY)

    assert "NONE" == call.error
    assert SLOW + REPLICATION + LATENCY == call.at_us
    bench.settle()
    assert log.end(bench.now - SLOW - REPLICATION) == log.high_watermark(bench.now)
    bench.brokers.slow_disk(3, 0, 0)
    assert log.end(bench.now - REPLICATION) == log.high_watermark(bench.now)


def test_a_follower_slower_than_the_commit_timeout_lets_commits_time_out():
    """Though each counts when it is replicated."""
    bench = Bench()
    bench.brokers.slow_disk(3, 7 * SECOND, 0)
    call = bench.commit(1)
    bench.wait(6 * SECOND)
    assert "COORDINATOR_NOT_AVAILABLE" == call.error
    bench.wait(2 * SECOND)

    assert 1 == bench.host().log.high_watermark
    assert (1, 2, 3) == bench.isr


def test_a_follower_too_slow_for_the_lag_leaves_the_isr():
    """It returns when its disk has recovered."""
    bench = Bench(settings='"replica.lag.time.max.ms" = "4s"')
    bench.brokers.slow_disk(3, 5 * SECOND, 0)
    for number in range(10):
        bench.commit(number)
        bench.wait(SECOND)
    assert (1, 2) == bench.isr
    bench.brokers.slow_disk(3, 0, 0)
    for number in range(10):
        bench.commit(number)
        bench.wait(SECOND)

    assert (1, 2, 3) == bench.isr


# -- full disks ----------------------------------------------------------------------------------


def test_a_commit_that_cannot_be_written_is_taken_back():
    """Its client gets NOT_COORDINATOR; readers see the old offset."""
    bench = Bench()
    bench.commit(1)
    bench.settle()
    bench.brokers.fill_disk(1, 0)
    call = bench.commit(2)
    bench.wait(LATENCY)

    assert "NOT_COORDINATOR" == call.error
    assert (1, 1) == (bench.committed(), bench.host().log.end)
    (failed,) = bench.written(AppendFailed)
    assert (1, "g", 1, 1, "KAFKA_STORAGE_ERROR") == (
        failed.broker,
        failed.group,
        failed.log_offset,
        failed.records,
        failed.error,
    )
    assert ["NOT_COORDINATOR"] == [what.error for what in bench.written(CommitRefused)]
    assert 1 == len(bench.written(CommitAccepted))


def test_a_group_that_cannot_be_written_does_not_exist():
    """Ids handed out in it are unknown."""
    bench = Bench()
    bench.brokers.fill_disk(1, 0)
    bench.join()
    bench.settle()

    assert bench.group() is None
    bench.brokers.clear_disk(1, 0)
    bench.new_id()
    assert ("EMPTY", 0, ()) == bench.group_state()


def test_an_assignment_that_cannot_be_written_restarts_the_rebalance():
    """All parked members get an error; nothing else of the group is reverted."""
    bench = Bench()
    leader, other = bench.form()
    joined = [bench.join(leader), bench.join(other)]
    bench.settle()
    waiting = bench.sync(other, 3)
    bench.brokers.fill_disk(1, 0)
    stored = bench.sync(leader, 3, leader, other)
    bench.wait(LATENCY)

    assert 3 == joined[1].answer.generation_id
    assert ["NOT_COORDINATOR"] * 2 == [waiting.error, stored.error]
    assert ("PREPARING_REBALANCE", 3) == bench.group_state()[:2]


def test_heartbeats_need_no_disk():
    """Reads do not need it either."""
    bench = Bench()
    leader, _ = bench.form()
    bench.brokers.fill_disk(1, 0)
    beat, seen = bench.heartbeat(leader, 2), bench.fetch()
    bench.wait(LATENCY)

    assert ["NONE"] * 2 == [beat.error, seen.error]


def test_records_written_before_the_disk_was_full_are_replicated():
    """Followers continue to read them."""
    bench = Bench()
    call = bench.commit(1)
    bench.brokers.fill_disk(1, 0)
    bench.settle()

    assert "NONE" == call.error


def test_a_follower_with_a_full_disk_stops_fetching():
    """It holds the high watermark back until it is out of the ISR."""
    bench = Bench(settings='"replica.lag.time.max.ms" = "4s"')
    bench.brokers.fill_disk(2, 0)
    call = bench.commit(1)
    bench.wait(4 * SECOND)
    assert call.answer is None
    bench.wait(4 * SECOND)

    assert (1, 3) == bench.isr
    assert 1 == bench.host().log.high_watermark
    partition = bench.shard.replicas.partition
    assert ["lagging"] == [what.why for what in bench.written(IsrChanged, partition=partition)]
    bench.brokers.clear_disk(2, 0)
    bench.settle()
    assert (1, 2, 3) == bench.isr


def test_records_of_a_topic_wait_while_its_leaders_disk_is_full():
    """Its producer tries again until there is room."""
    bench = Bench()
    bench.settle()
    log = bench.world.topics.logs["t"].partitions[0]
    bench.brokers.fill_disk(1, 0)
    stood = log.high_watermark(bench.now)
    bench.wait(2 * SECOND)

    assert stood == log.high_watermark(bench.now)
    bench.brokers.clear_disk(1, 0)
    assert stood < log.high_watermark(bench.now)


# -- with consumers ------------------------------------------------------------------------------


def test_a_group_survives_the_full_disk_of_its_coordinator():
    """Commits are refused meanwhile, and nothing is lost when they are not any more."""
    fault = '[[fault]]\nfill_disk = "coordinator of g"\nat = "10s"\nfor = "5s"\n'
    seen = staged(fault, run_for="25s", topic='rate = "5/s"\npartitions = 3')

    assert seen.all(AppendFailed)
    assert {10, 11, 12, 13, 14} >= {at // SECOND for at in seen.times(AppendFailed)}
    assert 0 == seen.run.ledger.reprocessed == seen.run.ledger.lost
    assert seen.after(15 * SECOND, CommitAccepted)


def test_the_timeout_of_an_append_that_has_ended_keeps_no_batch_open():
    """It used to wait for the disk like a request, in the exact mode alone."""
    settings = {"heartbeat.interval.ms": 1_300, "auto.commit.interval.ms": 400}
    group = {"id": "g", "topics": ["t"], "members": 2, "commit": "auto", "settings": settings}
    at_once = {"settings": {"group.initial.rebalance.delay.ms": 0}, "replication": "0s"}
    document = {
        "title": "a disk as slow as commits are often",
        "run_for": "22s",
        "lag_every": "600s",
        "cluster": at_once,
        "topic": [{"name": "t", "partitions": 4, "rate": "20/s"}],
        "group": [group],
        "fault": [
            {"slow_disk": "coordinator of g", "by": "400ms", "for": "9s", "at": "13399ms"},
        ],
    }

    assert hold_both_ways(document, 1_118) > 0
