"""Two coordinators of one group: the older one does not know that it is none any more."""

from __future__ import annotations

import pytest

from emulator.events import CoordinatorUnloaded, LogTruncated, Processed

from ..stage import staged
from .cluster_bench import BROKER_SESSION_US, LATENCY, LOAD, MS, REPLICATION, SECOND, Bench


@pytest.fixture
def torn():
    """A stable group whose coordinator the controller has not heard for a while."""
    bench = Bench()
    members = bench.form()
    heal = bench.cut("broker-1", "controller")
    for _ in range(3):
        bench.wait(BROKER_SESSION_US // 3)
        for member in members:
            bench.heartbeat(member, 2, broker=1)
    bench.wait(LOAD + LATENCY)
    assert [1, 2] == sorted(bench.shard.hosts)
    assert 2 == bench.leader
    return bench, *members, heal


def test_until_it_is_fenced_nothing_is_different():
    """Followers fetch from it, and what it writes is safe."""
    bench = Bench()
    bench.cut("broker-1", "controller")
    bench.wait(BROKER_SESSION_US - SECOND)
    call = bench.commit(1)
    bench.wait(REPLICATION + LATENCY)

    assert "NONE" == call.error
    assert [1] == sorted(bench.shard.hosts)


def test_it_answers_heartbeats_as_long_as_nothing_is_pending(torn):
    """Both do, and both keep the member's session."""
    bench, leader, other, _ = torn
    for _ in range(5):
        bench.wait(2 * SECOND)
        beats = [
            bench.heartbeat(member, 2, broker=broker)
            for broker in (1, 2)
            for member in (leader, other)
        ]
        bench.wait(LATENCY)
        assert ["NONE"] * 4 == [beat.error for beat in beats]


def test_each_has_timers_of_its_own(torn):
    """A member that speaks to one of them only is removed by the other."""
    bench, leader, other, _ = torn
    for _ in range(4):
        bench.wait(2 * SECOND)
        bench.heartbeat(leader, 2, broker=1)
        bench.heartbeat(other, 2, broker=2)

    assert [[leader], [other]] == [list(bench.group(broker).members) for broker in (1, 2)]
    assert {"PREPARING_REBALANCE"} == {bench.group(broker).state.name for broker in (1, 2)}


def test_it_answers_reads_by_what_it_knows(torn):
    """Which may be older than what is committed elsewhere."""
    bench, leader, _, _ = torn
    late = bench.commit(7, broker=2, member_id=leader, generation_id=2)
    bench.wait(REPLICATION + LATENCY)
    old, new = bench.fetch(broker=1), bench.fetch(broker=2)
    bench.wait(LATENCY)

    assert "NONE" == late.error
    assert [-1, 7] == [call.answer.offsets[0].offset for call in (old, new)]


def test_its_writes_wait_until_they_time_out(torn):
    """They are not replicated; heartbeats after them wait as long."""
    bench, leader, _, _ = torn
    commit = bench.commit(9, broker=1, member_id=leader, generation_id=2)
    beat = bench.heartbeat(leader, 2, broker=1)
    bench.wait(5 * SECOND - 1)
    assert commit.answer is beat.answer is None
    bench.wait(1 + LATENCY)

    assert ["COORDINATOR_NOT_AVAILABLE"] * 2 == [commit.error, beat.error]
    assert 9 == bench.committed(broker=1)
    assert -1 == bench.committed(broker=2)


def test_it_steps_down_when_it_hears_of_its_successor(torn):
    """Waiting clients get NOT_COORDINATOR, and its own records are truncated."""
    bench, leader, _, heal = torn
    commit = bench.commit(9, broker=1, member_id=leader, generation_id=2)
    end = bench.host(1).log.end
    heal()
    bench.wait(LATENCY)

    assert "NOT_COORDINATOR" == commit.error
    assert [2] == sorted(bench.shard.hosts)
    (unloaded,) = bench.written(CoordinatorUnloaded)
    assert (1, 0, False) == (unloaded.broker, unloaded.leader_epoch, unloaded.loading)
    (cut,) = bench.written(LogTruncated)
    assert (1, end - 1, end) == (cut.broker, cut.first, cut.next_offset)
    bench.settle()
    assert (1, 2, 3) == bench.isr


def test_with_the_only_copy_it_goes_on_and_loses_nothing():
    """It has no successor; when it is connected again it leads as before, in a new epoch."""
    bench = Bench(settings='"offsets.topic.replication.factor" = 1')
    heal = bench.cut("broker-1", "controller")
    bench.wait(BROKER_SESSION_US + SECOND)
    assert -1 == bench.leader
    call = bench.commit(3, broker=1)
    bench.wait(REPLICATION + LATENCY)
    host = bench.host(1)
    heal()
    bench.settle()

    assert "NONE" == call.error
    assert (1, 2) == (bench.leader, bench.shard.replicas.epoch)
    assert host is bench.host()
    assert 3 == bench.committed()
    bench.commit(4)
    bench.settle()
    assert 2 == host.log.high_watermark


def test_one_way_out_is_enough_to_be_fenced_and_one_way_in_to_know_nothing():
    """Arriving heartbeats keep a session; lost answers carry no metadata."""
    unheard, untold = Bench(), Bench()
    for bench, (sender, receiver) in (
        (unheard, ("broker-1", "controller")),
        (untold, ("controller", "broker-1")),
    ):
        bench.world.run.wire.cut([sender], [receiver])
        bench.brokers.on_network_change(0)
        bench.wait(BROKER_SESSION_US + LOAD)

    assert [2, 1] == [unheard.leader, untold.leader]
    untold.world.controller.move(untold.shard, 3, 0)
    untold.settle()
    assert [1, 3] == sorted(untold.shard.hosts)


def test_a_leader_that_cannot_ask_the_controller_cannot_shrink_its_isr():
    """So its high watermark does not move, however long a follower has been away."""
    bench = Bench()
    bench.world.run.wire.cut(["controller"], ["broker-1"])
    bench.cut("broker-1", "broker-2")
    call = bench.commit(1)
    bench.wait(60 * SECOND)

    assert (1, (1, 2, 3), 0) == (bench.leader, bench.isr, bench.host().log.high_watermark)
    assert "COORDINATOR_NOT_AVAILABLE" == call.error


def test_a_broker_out_of_touch_shows_who_led_when_it_last_heard(torn):
    """In its metadata, and to those who look for the coordinator."""
    bench, _, _, heal = torn
    controller, replicas = bench.world.controller, bench.shard.replicas

    assert [(1, 2, 3), (2, 3), (2, 3)] == [controller.alive(broker) for broker in (1, 2, 3)]
    assert [1, 2, 2] == [replicas.leader_known_to(broker) for broker in (1, 2, 3)]
    heal()
    assert [(1, 2, 3)] * 3 == [controller.alive(broker) for broker in (1, 2, 3)]
    assert [2, 2, 2] == [replicas.leader_known_to(broker) for broker in (1, 2, 3)]


# -- with consumers ------------------------------------------------------------------------------

CUT = """
[[fault]]
cut = ["coordinator of g", "controller"]
at = "10s"
for = "20s"
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_group_finds_its_new_coordinator_and_loses_nothing(seed):
    """In the end all members look it up; none is left behind."""
    seen = staged(
        CUT, run_for="60s", group='commit = "sync"', topic='rate = "5/s"\npartitions = 3', seed=seed
    )

    assert 0 == seen.run.ledger.lost
    assert [] == [finding for finding in seen.run.findings if finding.severity == "error"]
    done = {event.what.partition for event in seen.after(50 * SECOND, Processed)}
    assert 3 == len(done)


def test_a_cut_that_is_over_in_time_is_not_noticed():
    """No broker is fenced, no leader moves."""
    seen = staged(CUT.replace("20s", "8s"), run_for="30s")
    usual = staged(run_for="30s")

    assert [(e.at_us, e.what) for e in usual.events] == [
        (e.at_us, e.what) for e in seen.events if "fault" not in repr(e.what)
    ]


def test_the_new_leader_takes_over_when_it_knows():
    """One that is out of touch itself leads nothing until then."""
    bench = Bench()
    heal = bench.cut("broker-2", "controller")
    bench.wait(SECOND)
    bench.brokers.crash(1, 0)
    bench.wait(BROKER_SESSION_US - SECOND)
    assert -1 != bench.leader
    heal()
    bench.wait(SECOND + LOAD + 10 * MS)

    assert bench.leader in bench.shard.hosts
