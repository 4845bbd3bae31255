"""A leader that is alone in the ISR waits for no follower: what it appends is safe at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.events import IsrChanged

from ..cluster.cluster_bench import BROKER_SESSION_US, LOAD, MS, REPLICATION, SECOND, T0, Bench

FACTOR_ONE = {
    "settings": '"offsets.topic.replication.factor" = 1\n"default.replication.factor" = 1'
}


def shrunk():
    """Kill two of three brokers, one after the other; the last one leads alone."""
    bench = Bench()
    for broker in (1, 2):
        bench.brokers.crash(broker, 0)
        bench.wait(BROKER_SESSION_US + LOAD)
    bench.settle()
    assert (3, (3,)) == (bench.leader, bench.isr)
    return bench


def late_us(bench):
    """Return how long a commit waits for its answer."""
    begun_us, call = bench.now, bench.commit(7)
    bench.settle()
    return call.at_us - begun_us


@pytest.mark.parametrize("make", [lambda: Bench(**FACTOR_ONE), shrunk], ids=["factor 1", "shrunk"])
def test_a_commit_is_answered_when_it_is_appended(make):
    """No follower has to have it (``Partition.maybeIncrementLeaderHW``)."""
    bench = make()
    alone_us = late_us(bench)

    assert REPLICATION == late_us(Bench()) - alone_us
    assert alone_us < MS


@pytest.mark.parametrize("make", [lambda: Bench(**FACTOR_ONE), shrunk], ids=["factor 1", "shrunk"])
def test_a_record_is_visible_when_it_is_appended(make):
    """Records in flight when the ISR shrank became visible then."""
    bench = make()
    log = bench.world.topics.find(T0)
    offset = log.end(bench.now)

    assert offset == log.high_watermark(bench.now)
    assert log.appended_at(offset) == log.visible_us(offset)


def test_waiting_records_are_safe_when_the_leader_is_left_alone():
    """The ISR shrinks to the leader: no follower is waited for any more."""
    bench = Bench()
    bench.brokers.crash(2, 0)
    bench.brokers.crash(3, 0)
    waiting = bench.commit(7)
    bench.wait(BROKER_SESSION_US - 1)
    assert bench.host().log.end > bench.host().log.high_watermark
    bench.wait(LOAD)

    assert (1, (1,)) == (bench.leader, bench.isr)
    assert bench.host().log.end == bench.host().log.high_watermark
    assert waiting.answer is not None


@given(st.integers(0, 3 * REPLICATION))
def test_with_a_follower_in_sync_again_it_is_waited_for(after_us):
    """It is taken in with what was appended up to then, though more is on its way to it."""
    bench = shrunk()
    bench.brokers.restart(2, 0)
    bench.wait(after_us)
    bench.commit(5)
    bench.settle()

    assert (2, 3) == bench.isr == bench.written(IsrChanged)[-1].isr
    assert bench.world.topics.find(T0).replicas.isr != (3,)
    assert REPLICATION == late_us(bench) - late_us(Bench(**FACTOR_ONE))


def test_too_few_in_sync_replicas_make_nothing_safe():
    """``min.insync.replicas`` holds the high watermark of a leader alone."""
    bench = Bench(settings='"min.insync.replicas" = 2')
    bench.brokers.crash(2, 0)
    bench.brokers.crash(3, 0)
    bench.wait(BROKER_SESSION_US + SECOND)
    log = bench.world.topics.find(T0)

    assert (1,) == bench.isr
    assert log.high_watermark(bench.now) < log.end(bench.now)
