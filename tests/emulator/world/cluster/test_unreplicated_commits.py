"""Commits that were appended and not replicated when the coordinator's broker died."""

from __future__ import annotations

import pytest

from emulator.events import LogTruncated

from .cluster_bench import (
    BROKER_SESSION_US,
    COPIED,
    HALFWAY,
    LATENCY,
    LOAD,
    MS,
    SECOND,
    Bench,
)


@pytest.fixture
def bench():
    return Bench()


def committing(bench, wait_us):
    """Commit 1 safely, commit 2, and kill the coordinator's broker so long after."""
    bench.commit(1)
    bench.settle()
    call = bench.commit(2)
    bench.wait(wait_us)
    bench.fail_over()
    return call


@pytest.mark.parametrize(
    ("wait_us", "answered", "left"), [(HALFWAY, False, 1), (COPIED, False, 2), (12 * MS, True, 2)]
)
def test_a_commit_survives_if_it_reached_the_next_leader(bench, wait_us, answered, left):
    """Its client gets the answer only once it is safe."""
    call = committing(bench, wait_us)
    bench.settle()

    assert answered == (call.answer is not None)
    assert left == bench.committed()
    assert bench.host().log.end == bench.host().log.high_watermark == left


def test_unreplicated_records_are_truncated_when_the_dead_leader_returns(bench):
    """It follows the elected leader."""
    committing(bench, HALFWAY)
    bench.commit(7)
    bench.brokers.restart(1, 0)
    bench.settle()

    (cut,) = bench.written(LogTruncated)
    assert ("__consumer_offsets", 1, 1, 2, 1) == (
        cut.partition.topic,
        cut.broker,
        cut.first,
        cut.next_offset,
        cut.leader_epoch,
    )
    assert (1, 2, 3) == bench.isr
    assert 7 == bench.committed()


def test_records_above_the_high_watermark_are_replayed_and_later_safe(bench):
    """Until then a plain fetch shows the older offset, and a stable fetch has to wait."""
    bench.commit(1)
    bench.settle()
    bench.commit(2)
    bench.wait(COPIED)
    bench.brokers.crash(1, 0)
    bench.wait(BROKER_SESSION_US - SECOND)
    bench.brokers.pause(3, 0)
    bench.wait(SECOND + LOAD)
    plain, stable, beat = bench.fetch(), bench.fetch(require_stable=True), bench.commit(3)
    bench.wait(2 * LATENCY)

    assert (2, 3, 1) == (bench.leader, bench.host().log.end, bench.host().log.high_watermark)
    assert [1] == [found.offset for found in plain.answer.offsets]
    assert stable.answer is beat.answer is None
    bench.brokers.resume(3, 0)
    bench.settle()
    assert [2] == [found.offset for found in stable.answer.offsets]
    assert "NONE" == beat.error


def test_a_commit_that_timed_out_counts_when_it_is_replicated_after_all(bench):
    """The log keeps it, and so does the memory [Q2]."""
    bench.brokers.pause(2, 0)
    call = bench.commit(5)
    bench.wait(5 * SECOND - 1)
    assert call.answer is None
    bench.wait(1 + LATENCY)

    assert "COORDINATOR_NOT_AVAILABLE" == call.error
    assert (5, 0) == (bench.committed(), bench.host().log.high_watermark)
    bench.brokers.resume(2, 0)
    bench.settle()
    assert 1 == bench.host().log.high_watermark
    seen = bench.fetch()
    bench.settle()
    assert [5] == [found.offset for found in seen.answer.offsets]


def test_too_few_in_sync_let_commits_time_out_and_not_fail_fast():
    """``min.insync.replicas`` is not looked at when a record is appended."""
    bench = Bench(settings='"min.insync.replicas" = 2')
    for broker in (2, 3):
        bench.brokers.crash(broker, 0)
    bench.wait(BROKER_SESSION_US + SECOND)
    call = bench.commit(5)
    bench.wait(4 * SECOND)

    assert ((1,), None, 1, 0) == (
        bench.isr,
        call.answer,
        bench.host().log.end,
        bench.host().log.high_watermark,
    )
    bench.wait(2 * SECOND)
    assert "COORDINATOR_NOT_AVAILABLE" == call.error
    bench.brokers.restart(3, 0)
    bench.settle()
    assert ((1, 3), 1) == (bench.isr, bench.host().log.high_watermark)


def test_heartbeats_queue_behind_a_commit_that_is_not_safe(bench):
    """Of whatever group of the partition [Q1]; they count when they come."""
    leader, _ = bench.form()
    bench.brokers.pause(2, 0)
    bench.commit(5, member_id=leader, generation_id=2)
    beat = bench.heartbeat(leader, 2)
    bench.wait(SECOND)

    assert beat.answer is None
    bench.brokers.resume(2, 0)
    bench.settle()
    assert "NONE" == beat.error
