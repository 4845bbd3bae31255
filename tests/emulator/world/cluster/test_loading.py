"""Loading an offsets partition: what it costs, who waits, what is answered meanwhile."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator.events import (
    CommitRefused,
    CoordinatorLoaded,
    CoordinatorMoved,
    CoordinatorUnloaded,
)
from emulator.world.cluster.broker_threads import Load, Loader
from emulator.world.kernel import Kernel
from protocols.coordinator.machine import Phase
from protocols.messages import OffsetCommitRequest, OffsetToCommit

from .cluster_bench import BROKER_SESSION_US, LATENCY, LOAD, MS, SECOND, Bench

LARGE = """
load_bytes = "100MiB/s"
load_records = "500000/s"
offsets_backlog = "20GiB"
offsets_backlog_records = 100_000_000
"""
"""A year without compaction."""

LARGE_US = LOAD + int(20 * 1024 / 100 * SECOND) + 200 * SECOND


def move(bench, to):
    bench.world.controller.move(bench.shard, to, 0)


# -- what it costs -------------------------------------------------------------------------------


def test_a_load_takes_its_fixed_time_and_that_of_every_byte_and_record():
    """Records from before the run count as well as later ones."""
    bench = Bench(cluster=LARGE)
    bench.commit(1)
    bench.settle()
    move(bench, 2)
    bench.wait(LARGE_US)
    assert Phase.LOADING is bench.host().coordinator.phase
    bench.wait(SECOND)

    (loaded,) = bench.written(CoordinatorLoaded)
    assert (
        (20 * 2**30, 100_000_000)
        < (loaded.size, loaded.records)
        == (bench.host().log.log.amount(bench.host().log.end))
    )
    assert LARGE_US < loaded.loaded_us < LARGE_US + MS
    assert 1 == bench.committed()


def test_the_backlog_takes_log_offsets():
    """Records of the run follow it, and are safe like any others."""
    bench = Bench(cluster=LARGE)
    bench.commit(1)
    bench.settle()

    assert (100_000_001, 100_000_001) == (bench.host().log.end, bench.host().log.high_watermark)


def test_without_a_speed_only_the_fixed_time_counts():
    """However much was written."""
    bench = Bench()
    for number in range(200):
        bench.commit(number)
    bench.settle()
    move(bench, 3)
    bench.settle()

    (loaded,) = bench.written(CoordinatorLoaded)
    assert (LOAD, 200) == (loaded.loaded_us, loaded.records)


@pytest.mark.parametrize(
    ("speed", "backlog", "more_us"),
    [
        ('load_bytes = "1MiB/s"', 'offsets_backlog = "3MiB"', 3 * SECOND),
        ('load_records = "1000/s"', "offsets_backlog_records = 2500", 2_500 * MS),
    ],
)
def test_bytes_and_records_cost_each_for_themselves(speed, backlog, more_us):
    """One of them may be left out."""
    bench = Bench(cluster=f"{speed}\n{backlog}")
    move(bench, 2)
    bench.wait(LOAD + more_us)

    assert LOAD + more_us == bench.written(CoordinatorLoaded)[0].loaded_us


# -- who waits -----------------------------------------------------------------------------------


def test_partitions_of_one_broker_load_one_after_the_other():
    """In the order in which it began to lead them; brokers do not wait for each other."""
    kernel, done = Kernel(), []
    one, other = Loader(kernel), Loader(kernel)
    for loader, number, takes in ((one, 1, 30), (one, 2, 5), (other, 3, 20), (one, 4, 5)):
        note = lambda number=number: done.append((kernel.now, number))  # noqa: E731  one a load
        loader.load(Load(number, lambda takes=takes: takes, note))
    kernel.run(1_000)

    assert [(20, 3), (30, 1), (35, 2), (40, 4)] == done


def test_an_obsolete_load_makes_room_for_the_next():
    """Whether it waits or is in progress."""
    kernel, done = Kernel(), []
    loader = Loader(kernel)
    for number in (1, 2, 3, 4):
        note = lambda number=number: done.append((kernel.now, number))  # noqa: E731  one a load
        loader.load(Load(number, lambda: 30, note))
    loader.cancel(3)
    kernel.at(10, 1, 0, lambda _: loader.cancel(1))
    kernel.run(1_000)

    assert [(40, 2), (70, 4)] == done


TWO = """
[[group]]
id = "h"
coordinator = 1
topics = ["t"]
member = [{ name = "other", start = "by act" }]
"""


def test_groups_of_one_broker_come_back_one_after_the_other():
    """The second partition waits for the first."""
    bench = Bench(more=TWO, cluster='load_bytes = "1MiB/s"\noffsets_backlog = "2MiB"')
    bench.brokers.stop(1, 0)
    bench.wait(10 * SECOND)
    loaded = bench.written(CoordinatorLoaded)

    assert [(0, LOAD + 2 * SECOND), (LOAD + 2 * SECOND, LOAD + 2 * SECOND)] == [
        (what.waited_us, what.loaded_us) for what in loaded
    ]
    assert [LOAD + 2 * SECOND, 2 * (LOAD + 2 * SECOND)] == [
        what.loaded_us for what in bench.written(CoordinatorMoved)
    ]


# -- what is answered meanwhile ------------------------------------------------------------------


def test_while_it_loads_heartbeats_succeed_and_other_requests_are_refused():
    """Clients retry; no session expires."""
    bench = Bench()
    leader, other = bench.form()
    move(bench, 2)
    bench.wait(LOAD // 2)
    asked = [
        bench.heartbeat(leader, 2),
        bench.commit(1, member_id=leader, generation_id=2),
        bench.fetch(),
        bench.join(other),
        bench.sync(other, 2),
    ]
    bench.wait(LATENCY)

    assert ["NONE", *["COORDINATOR_LOAD_IN_PROGRESS"] * 4] == [call.error for call in asked]


def test_a_load_fails_when_the_leadership_is_lost():
    """An event is emitted, and clients get NOT_COORDINATOR."""
    bench = Bench()
    bench.commit(1)
    bench.settle()
    move(bench, 2)
    bench.wait(LOAD // 2)
    move(bench, 3)
    asked = bench.fetch(broker=2)
    bench.wait(LOAD)

    assert "NOT_COORDINATOR" == asked.error
    assert [(1, False), (2, True)] == [
        (what.broker, what.loading) for what in bench.written(CoordinatorUnloaded)
    ]
    assert [3] == [what.broker for what in bench.written(CoordinatorLoaded)]
    assert 1 == bench.committed()


def test_a_load_in_progress_dies_with_its_broker():
    """It starts again on the next one, when the broker has been fenced."""
    bench = Bench()
    move(bench, 2)
    bench.wait(LOAD // 2)
    bench.brokers.crash(2, 0)
    bench.wait(BROKER_SESSION_US + LOAD)

    assert 1 == bench.leader
    assert [LOAD] == [what.loaded_us for what in bench.written(CoordinatorLoaded)]
    assert Phase.ACTIVE is bench.host().coordinator.phase


def test_a_paused_broker_finishes_its_load_when_it_runs_again():
    """Its groups are not forgotten."""
    bench = Bench()
    move(bench, 2)
    bench.wait(LOAD // 2)
    bench.brokers.pause(2, 0)
    bench.wait(2 * SECOND)
    assert [] == bench.written(CoordinatorLoaded)
    bench.brokers.resume(2, 0)
    bench.wait(1)

    assert Phase.ACTIVE is bench.host().coordinator.phase
    assert [2] == [what.broker for what in bench.written(CoordinatorLoaded)]


def test_a_load_slower_than_the_sessions_removes_no_member():
    """Every member has a full session from its end."""
    bench = Bench(cluster='load_bytes = "1MiB/s"\noffsets_backlog = "20MiB"')
    members = bench.form()
    move(bench, 2)
    bench.wait(LOAD + 21 * SECOND)
    beats = [bench.heartbeat(member, 2) for member in members]
    bench.wait(LATENCY)

    assert ["NONE"] * 2 == [beat.error for beat in beats]


# -- commits without a coordinator ---------------------------------------------------------------


def refusals(bench):
    return [(what.commit, what.by, what.error) for what in bench.written(CommitRefused)]


def test_a_commit_to_a_loading_coordinator_is_emitted_as_refused():
    """Like one that a serving coordinator refuses."""
    bench = Bench()
    move(bench, 2)
    bench.wait(LOAD // 2)
    call = bench.commit(1)
    bench.settle()

    assert "COORDINATOR_LOAD_IN_PROGRESS" == call.error
    assert [("clerk.1#1", "coordinator", "COORDINATOR_LOAD_IN_PROGRESS")] == refusals(bench)


def test_a_commit_to_a_broker_that_does_not_lead_is_emitted_as_refused():
    """Other refused requests emit nothing."""
    bench = Bench()
    calls = [bench.commit(1, 3), bench.heartbeat("m", broker=3)]
    bench.settle()

    assert ["NOT_COORDINATOR"] * 2 == [call.error for call in calls]
    assert [("clerk.1#1", "coordinator", "NOT_COORDINATOR")] == refusals(bench)


@pytest.mark.parametrize("broker", [2, 3], ids=["loads", "follows"])
def test_what_no_broker_knows_is_refused_before_its_coordinator_is_looked_for(broker):
    """The broker answers for a partition that does not exist, without a coordinator."""
    bench = Bench()
    move(bench, 2)
    bench.wait(LOAD // 2)
    unknown = OffsetToCommit(TopicPartition("t", 99), 1)
    call = bench.ask(OffsetCommitRequest(group_id="g", offsets=(unknown,)), broker)
    bench.settle()

    assert "UNKNOWN_TOPIC_OR_PARTITION" == call.error


def test_commits_that_wait_for_a_slow_disk_as_the_leader_goes_are_emitted_as_refused():
    """They are answered by the broker that led."""
    bench = Bench()
    bench.brokers.slow_disk(1, SECOND, 0)
    bench.commit(1)
    bench.wait(10_000)
    waiting = bench.commit(2)
    move(bench, 2)
    bench.settle()

    assert "NOT_COORDINATOR" == waiting.error
    assert [("clerk.1#2", "coordinator", "NOT_COORDINATOR")] == refusals(bench)
