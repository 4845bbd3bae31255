"""When partitions stall because of brokers, and when they go on."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator.events import CoordinatorLoaded, PartitionResumed, PartitionStalled

from .cluster_bench import BROKER_SESSION_US, LOAD, MS, SECOND, T0, Bench

T1, T2 = TopicPartition("t", 1), TopicPartition("t", 2)


def stalls(bench, partition):
    """Return each stall of a partition: when it began, and when it was over."""
    kinds = (PartitionStalled, PartitionResumed)
    times = [
        (type(event.what), event.at_us)
        for event in bench.events
        if isinstance(event.what, kinds) and event.what.partition == partition
    ]
    assert [kinds[at % 2] for at in range(len(times))] == [kind for kind, _ in times]
    moments = [at_us for _, at_us in times]
    return list(zip(moments[::2], [*moments[1::2], None], strict=False))


def test_a_dead_replica_in_sync_stalls_what_others_lead():
    """Until it is fenced no high watermark moves; the leader lives all the time."""
    bench = Bench()
    bench.wait(SECOND)
    follower = next(b for b in (1, 2, 3) if b != bench.world.topics.find(T0).replicas.leader)
    bench.brokers.crash(follower, 0)
    bench.wait(20 * SECOND)

    assert [(SECOND, SECOND + BROKER_SESSION_US)] == stalls(bench, T0)


def test_an_offsets_partition_stalls_until_its_coordinator_has_loaded():
    """A new leader alone does not take commits yet."""
    bench = Bench()
    bench.wait(SECOND)
    bench.brokers.crash(1, 0)
    bench.wait(20 * SECOND)
    (loaded,) = [e.at_us for e in bench.events if isinstance(e.what, CoordinatorLoaded)]

    assert SECOND + BROKER_SESSION_US + LOAD == loaded
    assert [(SECOND, loaded)] == stalls(bench, bench.shard.replicas.partition)


def test_a_full_disk_takes_no_commits():
    """The leader of the offsets partition lives, and can write nothing."""
    bench = Bench()
    bench.wait(SECOND)
    bench.brokers.fill_disk(1, 0)
    bench.wait(SECOND)
    bench.brokers.clear_disk(1, 0)
    bench.wait(SECOND)

    assert [(SECOND, 2 * SECOND)] == stalls(bench, bench.shard.replicas.partition)


def test_a_partition_without_a_replica_stays_stalled():
    """Its only replica does not come back."""
    bench = Bench(settings='"default.replication.factor" = 1\n"min.insync.replicas" = 1')
    bench.wait(SECOND)
    bench.brokers.crash(bench.world.topics.find(T0).replicas.leader, 0)
    bench.wait(60 * SECOND)

    assert [(SECOND, None)] == stalls(bench, T0)


def test_a_restart_in_order_stalls_no_topic():
    """Leaders move before their broker stops, and it has left the ISR."""
    bench = Bench()
    bench.wait(SECOND)
    bench.brokers.stop(1, 0)
    bench.wait(5 * SECOND)
    bench.brokers.restart(1, 0)
    bench.wait(5 * SECOND)

    assert [] == [stall for stall in stalls(bench, T0) if stall[1] is None or stall[1] > stall[0]]
    assert all(
        end - begin <= LOAD + MS for begin, end in stalls(bench, bench.shard.replicas.partition)
    )


def test_partitions_resume_when_their_leaders_have_applied_that_a_broker_is_fenced():
    """Each broker draws its own time."""
    bench = Bench(cluster='metadata_time = { uniform = ["20ms", "200ms"] }')
    leaders = {T1: 2, T2: 3}
    bench.wait(SECOND)
    bench.brokers.crash(1, 0)
    bench.wait(20 * SECOND)

    fenced = SECOND + BROKER_SESSION_US
    replicas = {tp: bench.world.topics.find(tp).replicas for tp in leaders}
    assert leaders == {tp: each.leader for tp, each in replicas.items()}
    over = {tp: stalls(bench, tp)[0][1] - fenced for tp in leaders}
    assert all(20 * MS <= late <= 200 * MS for late in over.values())
    assert over[T1] != over[T2]


def test_a_new_coordinator_loads_when_it_has_applied_its_election():
    """Until then its broker names the dead one, and refuses requests of the group."""
    bench = Bench(cluster='metadata_time = "300ms"')
    bench.wait(SECOND)
    bench.brokers.crash(1, 0)
    bench.wait(BROKER_SESSION_US + 200 * MS)
    leader = bench.shard.replicas.leader
    assert 1 != leader
    assert 1 == bench.shard.replicas.leader_known_to(leader)
    assert 1 in bench.world.controller.alive(leader)
    assert leader not in bench.shard.hosts
    bench.wait(SECOND)
    (loaded,) = [e.at_us for e in bench.events if isinstance(e.what, CoordinatorLoaded)]

    assert SECOND + BROKER_SESSION_US + 300 * MS + LOAD == loaded
    assert 1 not in bench.world.controller.alive(leader)


def test_a_decision_that_follows_a_pending_one_is_applied_with_it():
    """The second fence restarts the time of the last broker."""
    bench = Bench(
        cluster='metadata_time = "3s"',
        settings='"min.insync.replicas" = 1',
    )
    bench.wait(SECOND)
    bench.brokers.crash(1, 0)
    bench.wait(SECOND)
    bench.brokers.crash(2, 0)
    bench.wait(20 * SECOND)

    resumed = 2 * SECOND + BROKER_SESSION_US + 3 * SECOND
    assert [resumed] == [end for _, end in stalls(bench, T1)]


def test_a_broker_that_dies_before_it_has_applied_a_decision_begins_with_current_metadata():
    """Its next process reads them when it starts."""
    bench = Bench(cluster='metadata_time = "3s"')
    bench.wait(SECOND)
    bench.brokers.crash(1, 0)
    bench.wait(BROKER_SESSION_US + SECOND)
    bench.brokers.crash(2, 0)
    bench.wait(MS)

    assert (2, 3) == bench.world.controller.alive(2)
    assert bench.world.controller.alive(3) == (1, 2, 3)
