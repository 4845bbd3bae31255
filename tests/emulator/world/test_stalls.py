"""When partitions stall because of brokers, and when they go on."""

from __future__ import annotations

from emulator.events import CoordinatorLoaded, PartitionResumed, PartitionStalled

from .cluster_bench import BROKER_SESSION_US, LOAD, MS, SECOND, T0, Bench


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
