"""Elections when brokers are down: from the ISR, in the order of the replicas, or no leader."""

from __future__ import annotations

import pytest

from emulator.events import (
    BrokerFenced,
    BrokerUnfenced,
    BrokerUp,
    IsrChanged,
    LeaderChanged,
    LogTruncated,
)

from .cluster_bench import BROKER_SESSION_US, LOAD, MS, REPLICATION, SECOND, Bench

UNCLEAN = '"unclean.leader.election.enable" = true'


def dead(bench, *brokers):
    """Kill brokers one after the other, each noticed before the next one dies."""
    for broker in brokers:
        bench.brokers.crash(broker, 0)
        bench.wait(BROKER_SESSION_US + SECOND)


@pytest.fixture
def bench():
    return Bench()


# -- clean elections -----------------------------------------------------------------------------


def test_a_silent_broker_is_fenced_after_its_session(bench):
    """Counted from its last sign of life, whatever else happens to it meanwhile."""
    bench.brokers.pause(1, 0)
    bench.wait(4 * SECOND)
    bench.brokers.crash(1, 0)
    bench.wait(5 * SECOND - 1)
    assert [] == bench.written(BrokerFenced)
    bench.wait(1)

    assert [1] == [what.broker for what in bench.written(BrokerFenced)]


def test_a_broker_that_speaks_again_in_time_begins_a_new_session(bench):
    """The old one is forgotten."""
    bench.brokers.pause(1, 0)
    bench.wait(8 * SECOND)
    bench.brokers.resume(1, 0)
    bench.brokers.pause(1, 0)
    bench.wait(8 * SECOND)

    assert [] == bench.written(BrokerFenced)


def test_the_next_replica_in_sync_leads(bench):
    """In the order of the replicas; the ISR is without the dead."""
    dead(bench, 1)
    assert (2, (2, 3)) == (bench.leader, bench.isr)
    dead(bench, 2)

    assert (3, (3,)) == (bench.leader, bench.isr)
    offsets = [
        w for w in bench.written(LeaderChanged) if w.partition == bench.shard.replicas.partition
    ]
    assert [(2, 1, True), (3, 2, True)] == [(w.broker, w.epoch, w.clean) for w in offsets]


def test_one_that_is_dead_and_not_yet_noticed_may_be_elected(bench):
    """The controller does not know; it elects again when it does."""
    bench.brokers.crash(1, 0)
    bench.wait(SECOND)
    bench.brokers.crash(2, 0)
    bench.wait(BROKER_SESSION_US - SECOND)
    assert (2, []) == (bench.leader, sorted(bench.shard.hosts))
    bench.wait(SECOND + LOAD)

    assert (3, [3]) == (bench.leader, sorted(bench.shard.hosts))


def test_the_last_one_in_sync_keeps_the_partition_to_itself(bench):
    """Without it the partition has no leader, even if other replicas live."""
    dead(bench, 2, 3, 1)
    bench.brokers.restart(2, 0)
    bench.settle()

    assert (-1, (1,)) == (bench.leader, bench.isr)
    bench.brokers.restart(1, 0)
    bench.settle()
    assert (1, (1, 2)) == (bench.leader, bench.isr)
    assert 2 == bench.shard.replicas.epoch


def test_a_killed_leader_that_is_back_in_time_is_replaced_all_the_same(bench):
    """Its new process may not register before the old one's session is over."""
    bench.brokers.crash(1, 0)
    bench.wait(SECOND)
    bench.brokers.restart(1, 0)
    bench.wait(BROKER_SESSION_US - SECOND - 1)
    assert (1, []) == (bench.leader, sorted(bench.shard.hosts))
    assert [] == bench.written(LeaderChanged) == bench.written(BrokerUp)
    bench.wait(1 + SECOND)

    assert (2, (1, 2, 3)) == (bench.leader, bench.isr)
    assert [1] == [what.broker for what in bench.written(BrokerUp)]


def test_a_paused_leader_that_runs_in_time_leads_in_its_old_epoch(bench):
    """It was never replaced, and what it had not replicated is safe."""
    bench.commit(5)
    bench.wait(1 * MS)
    bench.brokers.pause(1, 0)
    bench.wait(SECOND)
    bench.brokers.resume(1, 0)
    bench.wait(LOAD)

    assert (1, 0, 5) == (bench.leader, bench.shard.replicas.epoch, bench.committed())
    assert 1 == bench.host().log.high_watermark
    assert (
        []
        == bench.written(LeaderChanged)
        == bench.written(IsrChanged)
        == bench.written(LogTruncated)
    )


def test_leaders_of_topics_are_elected_by_the_same_rules(bench):
    """Each partition for itself."""
    dead(bench, 2)
    leaders = [log.replicas.leader for _, log in bench.world.topics.partitions()]
    in_sync = [log.replicas.isr for _, log in bench.world.topics.partitions()]

    assert [1, 3, 3] == leaders
    assert [(1, 3), (3, 1), (3, 1)] == in_sync


def test_a_topic_that_is_created_while_a_broker_is_gone_is_led_by_a_living_one(bench):
    """The dead broker is not in sync."""
    dead(bench, 2)
    log = bench.world.topics.logs["t"]
    bench.world.topics.add_partitions(log, 6, bench.now)
    bench.world.controller.adopt(None)

    assert [1, 3, 3] == [partition.replicas.leader for partition in log.partitions[3:]]


# -- unclean elections ---------------------------------------------------------------------------


def test_where_it_is_allowed_a_replica_that_is_not_in_sync_leads():
    """Records that it lacks are lost, although they had been safe."""
    bench = Bench(settings=UNCLEAN)
    bench.commit(1)
    bench.settle()
    dead(bench, 2, 3)
    bench.commit(2)
    bench.commit(3)
    bench.settle()
    assert 3 == bench.host().log.high_watermark
    dead(bench, 1)
    bench.brokers.restart(3, 0)
    bench.wait(LOAD)

    assert (3, (3,), 1) == (bench.leader, bench.isr, bench.committed())
    assert 1 == bench.host().log.high_watermark
    last = bench.written(LeaderChanged, partition=bench.shard.replicas.partition)[-1]
    assert (3, False) == (last.broker, last.clean)
    bench.brokers.restart(1, 0)
    bench.settle()
    (cut,) = bench.written(LogTruncated)
    assert (1, 1, 3) == (cut.broker, cut.first, cut.next_offset)
    assert (1, 3) == bench.isr


def test_an_unclean_leader_is_elected_at_once_if_one_is_alive():
    """With the fencing of the last one in sync; the first in the order of the replicas."""
    bench = Bench(settings=UNCLEAN)
    heals = [bench.cut("broker-1", f"broker-{other}") for other in (2, 3)]
    bench.commit(1)
    bench.wait(60 * SECOND)
    assert ((1,), 1) == (bench.isr, bench.host().log.high_watermark)
    for heal in heals:
        bench.brokers.pause(1, 0)
        heal()
    bench.wait(BROKER_SESSION_US + LOAD)

    assert (2, -1) == (bench.leader, bench.committed())


def test_a_replica_in_sync_is_preferred_to_one_that_is_not():
    """Unclean is the last resort."""
    bench = Bench(settings=UNCLEAN)
    bench.commit(1)
    bench.settle()
    dead(bench, 2)
    bench.commit(2)
    bench.settle()
    bench.brokers.crash(1, 0)
    bench.brokers.restart(2, 0)
    bench.wait(BROKER_SESSION_US + LOAD)

    assert (3, 2, (2, 3)) == (bench.leader, bench.committed(), bench.isr)


# -- the ISR -------------------------------------------------------------------------------------


def isr_changes(bench):
    partition = bench.shard.replicas.partition
    return [(what.isr, what.why) for what in bench.written(IsrChanged, partition=partition)]


def test_a_broker_that_returns_fetches_what_it_misses_and_is_in_sync_again(bench):
    """After one replication, from when it was back."""
    dead(bench, 2)
    bench.commit(1)
    bench.settle()
    bench.brokers.restart(2, 0)
    bench.wait(REPLICATION - 1)
    assert (1, 3) == bench.isr
    bench.wait(1)

    assert (1, 2, 3) == bench.isr
    assert [((1, 3), "gone"), ((1, 2, 3), "caught up")] == isr_changes(bench)
    assert [2] == [what.broker for what in bench.written(BrokerUnfenced)]


def test_one_that_is_gone_before_it_has_caught_up_stays_out(bench):
    """It is as if it had not come."""
    dead(bench, 2)
    bench.brokers.restart(2, 0)
    bench.wait(REPLICATION // 2)
    bench.brokers.crash(2, 0)
    bench.wait(SECOND)

    assert (1, 3) == bench.isr


def shrunk_after(lag_s, *, traffic=True, seconds=100):
    """Cut a follower from its leader; return how long that keeps it in the ISR."""
    bench = Bench(settings=f'"replica.lag.time.max.ms" = "{lag_s}s"')
    bench.cut("broker-1", "broker-2")
    for number in range(seconds):
        if bench.isr != (1, 2, 3):
            break
        if traffic:
            bench.commit(number)
        bench.wait(SECOND)
    return bench, bench.now


@pytest.mark.parametrize("lag_s", [4, 20, 30])
def test_a_follower_that_does_not_catch_up_is_taken_out_of_the_isr(lag_s):
    """Between once and one and a half times ``replica.lag.time.max.ms`` after it last had all."""
    bench, after_us = shrunk_after(lag_s)

    assert (1, 3) == bench.isr
    assert lag_s * SECOND < after_us <= lag_s * 3 // 2 * SECOND + SECOND
    assert [((1, 3), "lagging")] == isr_changes(bench)
    bench.settle()
    assert bench.host().log.end == bench.host().log.high_watermark


def test_a_follower_that_lacks_nothing_stays_in_the_isr():
    """However long it has not fetched: there was nothing to fetch."""
    bench, _ = shrunk_after(4, traffic=False)

    assert (1, 2, 3) == bench.isr
    calm = [log.replicas.isr for _, log in bench.world.topics.partitions()]
    assert [(1, 3), (2, 3), (3, 1, 2)] == calm


def test_a_follower_that_can_fetch_again_is_taken_in_again():
    """Also by a leader that had taken it out."""
    bench = Bench(settings='"replica.lag.time.max.ms" = "4s"')
    heal = bench.cut("broker-1", "broker-2")
    bench.commit(1)
    bench.wait(10 * SECOND)
    assert (1, 3) == bench.isr
    heal()
    bench.wait(REPLICATION)

    assert (1, 2, 3) == bench.isr


def test_a_restarted_leader_counts_its_turns_from_its_start():
    """It looks at its followers every half of the time that they may lag."""
    bench = Bench(settings='"replica.lag.time.max.ms" = "4s"')
    bench.brokers.crash(1, 0)
    bench.wait(BROKER_SESSION_US + 700 * MS)
    bench.brokers.restart(1, 0)
    bench.wait(SECOND - LOAD)
    bench.world.controller.move(bench.shard, 1, 0)
    bench.wait(LOAD)
    bench.cut("broker-1", "broker-2")
    bench.commit(1)
    bench.wait(5 * SECOND - 1)
    assert (1, 2, 3) == bench.isr
    bench.wait(1)

    assert (1, 3) == bench.isr


def test_a_topics_high_watermark_stops_until_its_isr_has_shrunk():
    """Its records become visible then, all at once."""
    bench = Bench(settings='"replica.lag.time.max.ms" = "4s"')
    bench.settle()
    heal = bench.cut("broker-1", "broker-2")
    log = bench.world.topics.logs["t"].partitions[0]
    stood = log.high_watermark(bench.now)
    bench.wait(3 * SECOND)
    assert stood == log.high_watermark(bench.now)
    bench.wait(5 * SECOND)

    assert (1, 3) == log.replicas.isr
    assert log.end(bench.now - REPLICATION) == log.high_watermark(bench.now)
    heal()
    bench.settle()
    assert (1, 2, 3) == log.replicas.isr


@pytest.mark.parametrize(("copies", "error"), [(1, "NONE"), (3, "COORDINATOR_NOT_AVAILABLE")])
def test_commits_never_need_more_in_sync_than_there_are_copies(copies, error):
    """``min.insync.replicas`` counts up to the number of replicas (``Partition.effectiveMinIsr``)."""
    factor = f'"offsets.topic.replication.factor" = {copies}'
    bench = Bench(settings=f'"min.insync.replicas" = 4\n{factor}')
    dead(bench, 2)
    call = bench.commit(1)
    bench.wait(10 * SECOND)

    assert error == call.error


def test_topics_need_as_many_in_sync_as_the_broker_says():
    """But never more than they have copies."""
    bench = Bench(settings='"min.insync.replicas" = 2\n"default.replication.factor" = 3')
    dead(bench, 2, 3)
    log = bench.world.topics.logs["t"].partitions[0]
    stood = log.high_watermark(bench.now)
    bench.wait(3 * SECOND)

    assert ((1,), stood) == (log.replicas.isr, log.high_watermark(bench.now))
    alone = Bench(settings='"min.insync.replicas" = 2\n"default.replication.factor" = 1')
    alone.wait(3 * SECOND)
    single = alone.world.topics.logs["t"].partitions[0]
    assert single.end(alone.now) == single.high_watermark(alone.now) > 0
