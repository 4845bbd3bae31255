"""State that survives when the broker of a coordinator dies, step by step of a rebalance.

A replication takes 10 ms: after 5 ms the followers have a record, after 10 ms the leader knows that
they do.
"""

from __future__ import annotations

import pytest

from emulator.events import CoordinatorLoaded, CoordinatorMoved, LeaderChanged

from .cluster_bench import COPIED, HALFWAY, LATENCY, LOAD, REPLICATION, SECOND, Bench


@pytest.fixture
def bench():
    return Bench()


# -- what survives at each step (4.4) ------------------------------------------------------------


def test_a_group_whose_creation_was_not_replicated_is_unknown(bench):
    """Member ids handed out in it are unknown."""
    asked = bench.join()
    bench.wait(HALFWAY)
    bench.fail_over()

    assert "MEMBER_ID_REQUIRED" == asked.error
    assert bench.group() is None
    again = bench.join(asked.answer.member_id)
    bench.settle()
    assert "UNKNOWN_MEMBER_ID" == again.error


def test_an_empty_group_stays_empty_in_its_generation(bench):
    """With the same time since when it has been."""
    leader, other = bench.form()
    bench.leave(leader)
    bench.leave(other)
    bench.settle()
    before = bench.group_state(), bench.group().state_since_ms
    bench.fail_over()

    assert ("EMPTY", 3, ()) == before[0]
    assert before == (bench.group_state(), bench.group().state_since_ms)


def test_a_first_rebalance_under_way_is_forgotten(bench):
    """The record of the group's creation is all there is; every joiner starts over."""
    one, two = bench.new_id(), bench.new_id()
    bench.join(one)
    bench.settle()
    joined = bench.join(two)
    bench.wait(COPIED)
    bench.fail_over()

    assert ("EMPTY", 0, ()) == bench.group_state()
    assert joined.answer is None
    again = [bench.join(one), bench.join(two)]
    bench.settle()
    assert ["UNKNOWN_MEMBER_ID"] * 2 == [call.error for call in again]


def test_a_rebalance_of_an_empty_group_leaves_it_empty(bench):
    """In the generation in which it became so."""
    leader, other = bench.form()
    bench.leave(leader)
    bench.leave(other)
    bench.settle()
    bench.join(bench.new_id())
    bench.wait(COPIED)
    bench.fail_over()

    assert ("EMPTY", 3, ()) == bench.group_state()


def test_a_rebalance_of_a_stable_group_is_as_if_it_had_not_begun(bench):
    """A member that left is back, one that joined in the unfinished rebalance is unknown."""
    leader, other = bench.form()
    third = bench.new_id()
    joined = bench.join(third)
    left = bench.leave(other)
    bench.wait(COPIED)
    assert ("PREPARING_REBALANCE", 2) == bench.group_state()[:2]
    bench.fail_over()

    assert ("STABLE", 2, tuple(sorted((leader, other)))) == bench.group_state()
    assert "NONE" == left.error
    assert joined.answer is None
    again = bench.join(third)
    bench.settle()
    assert "UNKNOWN_MEMBER_ID" == again.error


def completing(bench):
    """Let a third member join and the leader bring the assignment of generation 3."""
    leader, other = bench.form()
    third = bench.new_id()
    for member in (third, other, leader):
        bench.join(member)
    bench.settle()
    assert ("COMPLETING_REBALANCE", 3) == bench.group_state()[:2]
    waiting = bench.sync(other, 3)
    bench.sync(leader, 3, leader, other, third)
    return leader, other, third, waiting


def test_an_assignment_that_was_not_replicated_is_lost(bench):
    """The group has its old state; members of the new generation get ILLEGAL_GENERATION."""
    leader, other, third, _ = completing(bench)
    bench.wait(HALFWAY)
    bench.fail_over()

    assert ("STABLE", 2, tuple(sorted((leader, other)))) == bench.group_state()
    beat, stranger = bench.heartbeat(leader, 3), bench.heartbeat(third, 3)
    bench.settle()
    assert ["ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"] == [beat.error, stranger.error]


def test_an_assignment_that_reached_the_next_leader_counts(bench):
    """Although the waiting clients got no answer."""
    leader, other, third, waiting = completing(bench)
    bench.wait(COPIED)
    bench.fail_over()

    assert waiting.answer is None
    assert ("STABLE", 3, tuple(sorted((leader, other, third)))) == bench.group_state()
    beat = bench.heartbeat(third, 3)
    bench.settle()
    assert "NONE" == beat.error


def test_a_stable_group_stays_stable_and_every_member_has_a_full_session(bench):
    """Counted from the end of the load: no member is removed for the outage."""
    leader, other = bench.form()
    bench.fail_over()

    assert ("STABLE", 2, tuple(sorted((leader, other)))) == bench.group_state()
    bench.wait(5 * SECOND)
    beat = bench.heartbeat(leader, 2)
    bench.wait(2 * SECOND)
    assert "NONE" == beat.error
    assert ("PREPARING_REBALANCE", 2, (leader,)) == bench.group_state()


def test_a_load_brings_one_assignor_of_each_member(bench):
    """Only what its generation ran with was written down."""
    leader, _ = bench.form()
    bench.fail_over()

    kept = bench.group().members[leader].protocols
    assert ["range"] == [protocol.name for protocol in kept]


# -- a coordinator that moves --------------------------------------------------------------------


def moved(bench, to=2):
    bench.world.controller.move(bench.shard, to, 0)


def test_a_clean_move_answers_everyone_who_waits(bench):
    """Commits that are not safe, joins and syncs that are parked: no coordinator any more."""
    leader, other = bench.form()
    joined = bench.join(leader)
    commit = bench.commit(9, member_id=other, generation_id=2)
    moved(bench)
    bench.wait(LATENCY)

    assert ["NOT_COORDINATOR"] * 2 == [joined.error, commit.error]
    assert 1 not in bench.shard.hosts
    asked = bench.heartbeat(leader, 2, broker=1)
    bench.wait(LATENCY)
    assert "NOT_COORDINATOR" == asked.error


def test_a_clean_move_answers_a_sync_phase_under_way(bench):
    """The leader's assignment that is not safe yet, and everyone who waits for it."""
    leader, other, third, waiting = completing(bench)
    late = bench.sync(third, 3)
    moved(bench)
    bench.wait(LATENCY)

    assert ["NOT_COORDINATOR"] * 2 == [waiting.error, late.error]
    bench.settle()
    assert ("STABLE", 2, tuple(sorted((leader, other)))) == bench.group_state()


def test_a_clean_move_loses_what_the_next_leader_does_not_have(bench):
    """It was not safe, and its client gets NOT_COORDINATOR."""
    bench.commit(1)
    bench.settle()
    late = bench.commit(2)
    bench.wait(HALFWAY)
    moved(bench)
    bench.settle()

    assert "NOT_COORDINATOR" == late.error
    assert (2, 1) == (bench.leader, bench.committed())


def test_a_move_has_the_leader_its_epoch_and_the_load(bench):
    """The group's move follows from the load, the load from the new leader."""
    bench.form()
    moved(bench, 3)
    bench.settle()
    (changed,) = bench.written(LeaderChanged)
    (loaded,) = bench.written(CoordinatorLoaded)

    assert (3, 1, True) == (changed.broker, changed.epoch, changed.clean)
    assert (3, 1, bench.host().log.end) == (loaded.broker, loaded.leader_epoch, loaded.records)
    assert (0, LOAD) == (loaded.waited_us, loaded.loaded_us)
    (written,) = bench.written(CoordinatorMoved)
    assert ("g", 3, 2, LOAD) == (
        written.group,
        written.broker,
        written.generation,
        written.loaded_us,
    )


def test_replication_goes_on_under_the_new_leader(bench):
    """The old one follows it."""
    moved(bench)
    bench.settle()
    call = bench.commit(4)
    bench.wait(REPLICATION + LATENCY)

    assert "NONE" == call.error
    assert (1, 2, 3) == bench.isr
