"""Requests that wait for the log, for how long, and the effects of a failed append."""

from __future__ import annotations

import pytest

from protocols.facts import CommitAccepted
from protocols.groups.classic.states import State
from protocols.machine import Append, Report, Send, SetTimer
from protocols.messages import (
    DeleteGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetToCommit,
)
from protocols.messages.errors import ErrorCode

from ..groups.classic.driver import GroupDriver
from ..groups.classic.wire import GROUP, errors_of, some


def other_commit(driver: GroupDriver):
    """A commit of another group on the same offsets partition."""
    offset = OffsetToCommit(some(0)[0], 1)
    return driver.send(OffsetCommitRequest(group_id="other", offsets=(offset,)))


def test_each_turn_that_writes_is_one_append():
    """Facts come before the append they explain, and the answer once it is durable."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.hold = True
    start = len(driver.effects)

    driver.commit(a, {0: 1, 1: 1})
    written = driver.effects[start:]
    driver.replicate()

    assert [SetTimer, Report, Append] == [type(effect) for effect in written]
    assert [Send] == [type(effect) for effect in driver.effects[start + 3 :]]
    (reported,) = driver.emitted(CommitAccepted)
    assert (GROUP, a, 1, 2) == (
        reported.group,
        reported.member_id,
        reported.generation,
        len(reported.offsets),
    )


def test_heartbeats_wait_behind_any_group_of_the_partition():
    """Their session starts at once, their answer waits."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.advance(1_000)
    driver.hold = True
    other_commit(driver)

    beat = driver.heartbeat(a)

    assert not beat.answered
    assert 45_000 == driver.session_ms(a)
    driver.replicate()
    assert ErrorCode.NONE == beat.error


def test_answers_are_released_in_order_up_to_the_durable_offset():
    """Each waits for everything proposed before it."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.hold = True
    calls = [driver.commit(a, {0: 1}), driver.heartbeat(a), driver.commit(a, {0: 2})]
    start = len(driver.log) - 2

    driver.replicate(start)
    assert [False] * 3 == [call.answered for call in calls]
    driver.replicate(start + 1)
    assert [True, True, False] == [call.answered for call in calls]
    driver.replicate(start + 2)
    assert calls[2].answered


def test_joins_and_syncs_do_not_wait():
    """Their answers have a path of their own."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.hold = True
    other_commit(driver)

    assert some(0) == driver.sync(a).answer.assignment
    driver.join("a", a)
    assert 2 == driver.join("b", b).answer.generation_id


def test_refusals_do_not_wait():
    """They are thrown, not computed, so nothing holds them back."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.hold = True
    other_commit(driver)

    assert ErrorCode.ILLEGAL_GENERATION == driver.heartbeat(a, 9).error
    assert [ErrorCode.ILLEGAL_GENERATION] == errors_of(driver.commit(a, generation=9))
    assert ErrorCode.GROUP_ID_NOT_FOUND == (
        driver.send(OffsetDeleteRequest(group_id="x", partitions=some(0))).error
    )


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda d, a: d.heartbeat(a), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (lambda d, a: d.commit(a), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (lambda d, a: d.leave(a), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (lambda d, a: d.fetch(0, stable=True), ErrorCode.NOT_COORDINATOR),
        (
            lambda d, a: d.send(OffsetDeleteRequest(group_id=GROUP, partitions=some(0))),
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ),
        (
            lambda d, a: d.send(DeleteGroupsRequest(group_ids=(GROUP,))),
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ),
    ],
    ids=["heartbeat", "commit", "leave", "stable fetch", "offset delete", "delete groups"],
)
def test_a_request_that_waits_too_long_times_out(ask, expected: ErrorCode):
    """After five seconds, counted from when it was handled."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.hold = True
    other_commit(driver)
    driver.advance(1_000)
    call = ask(driver, a)
    driver.advance(4_999.999)

    assert not call.answered

    driver.advance(0.001)

    answer = call.answer
    if hasattr(answer, "results"):
        assert [(GROUP, expected)] == list(answer.results)
    elif hasattr(answer, "error"):
        assert expected == answer.error
    else:
        assert [expected] == errors_of(call)


def test_a_commit_that_took_too_long_may_yet_be_durable():
    """Neither log nor memory is undone; a client that got an error may see it stored."""
    driver = GroupDriver()
    driver.hold = True
    call = driver.commit(offsets={0: 7})
    driver.advance(5_000)

    assert [ErrorCode.COORDINATOR_NOT_AVAILABLE] == errors_of(call)
    assert -1 == driver.committed()
    driver.replicate()
    assert 7 == driver.committed()
    assert 1 == len(call.answers)


def test_a_join_that_timed_out_keeps_its_member():
    """It still counts as joined; a retry replaces the answered request."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.hold = True
    other_commit(driver)
    first = driver.join("a", a)
    driver.advance(5_000)

    assert (ErrorCode.COORDINATOR_NOT_AVAILABLE, "") == (first.error, first.answer.member_id)
    assert a in driver.group.joining
    second = driver.join("a", a)
    driver.replicate()
    driver.join("b", b)
    assert 2 == second.answer.generation_id
    assert 1 == len(first.answers)


def test_a_join_that_is_not_repeated_still_counts():
    """The phase ends with its member in it, without an answer to it."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.hold = True
    other_commit(driver)
    driver.join("a", a)
    driver.advance(5_000)
    driver.replicate()

    joined = driver.join("b", b)

    assert (2, a) == (joined.answer.generation_id, joined.answer.leader)
    assert a in driver.group.pending_syncs


def test_a_sync_that_timed_out_stays_parked():
    """The assignment is sent to the others."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.join("a", a)
    driver.join("b", b)
    driver.hold = True
    other_commit(driver)
    follower = driver.sync(b)
    driver.advance(5_000)
    driver.replicate()
    driver.hold = False

    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == follower.error
    leader = driver.sync(a, {a: some(0), b: some(1)})
    assert some(0) == leader.answer.assignment
    assert 1 == len(follower.answers)
    assert State.STABLE == driver.state


def test_an_append_that_failed_takes_offsets_back():
    """And everything proposed after it; the log continues from there."""
    driver = GroupDriver()
    driver.commit(offsets={0: 1})
    driver.hold = True
    calls = [
        driver.commit(offsets={0: 2}),
        driver.commit(offsets={0: 3}),
        driver.fetch(0, stable=True),
    ]

    driver.reject(1, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert [ErrorCode.NOT_COORDINATOR] * 2 == [errors_of(call)[0] for call in calls[:2]]
    assert ErrorCode.NOT_COORDINATOR == calls[2].error
    assert 1 == driver.coordinator.next_log_offset
    assert 1 == driver.fetch(0, stable=True).answer.offsets[0].offset


def test_an_append_that_failed_leaves_earlier_ones_alone():
    """They may yet be durable."""
    driver = GroupDriver()
    driver.hold = True
    first, second = driver.commit(offsets={0: 1}), driver.commit(offsets={0: 2})

    driver.reject(1, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert not first.answered
    assert second.answered
    driver.replicate()
    assert [ErrorCode.NONE] == errors_of(first)
    assert 1 == driver.committed()


def test_an_append_that_failed_does_not_turn_a_group_back():
    """Its members and generation moved first, and stay."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.hold = True
    start = len(driver.log)
    other_commit(driver)
    driver.leave(b)

    driver.reject(start, ErrorCode.NOT_ENOUGH_REPLICAS)

    assert (State.PREPARING_REBALANCE, [a]) == (driver.state, list(driver.group.members))
    assert "other" not in driver.shard.groups


def test_a_group_whose_own_record_failed_stays_in_memory():
    """Only one that the failed record made is removed."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.hold = True
    start = len(driver.log)
    driver.leave(a)
    assert start < len(driver.log)

    driver.reject(start, ErrorCode.NOT_ENOUGH_REPLICAS)

    assert State.EMPTY == driver.state


def test_a_group_deleted_and_recreated_is_restored():
    """Both appends fail: the new group is removed, the old one returns."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.leave(a)
    start = len(driver.log)
    driver.hold = True
    driver.send(DeleteGroupsRequest(group_ids=(GROUP,)))
    joined = driver.join("s", instance="S")

    driver.reject(start, ErrorCode.NOT_ENOUGH_REPLICAS)

    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == joined.error
    assert (State.EMPTY, 2) == (driver.state, driver.group.generation)


@pytest.mark.parametrize("log_offset", [0, 5])
def test_only_an_append_in_flight_can_fail(log_offset: int):
    """The error lists the appends that can."""
    driver = GroupDriver()
    driver.commit()

    with pytest.raises(ValueError, match=f"no append at log offset {log_offset} is in flight"):
        driver.coordinator.rejected(log_offset, ErrorCode.NOT_ENOUGH_REPLICAS, 0)


def test_one_timer_serves_all_who_wait():
    """It is set for the first, not for each, and again only when it runs out."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.advance(10_000)
    driver.heartbeat(a)
    driver.hold = True
    other_commit(driver)
    first = driver.timers["operation-timeout"]
    driver.advance(2_000)
    late = driver.heartbeat(a)

    assert first == driver.timers["operation-timeout"]
    driver.advance(3_000)
    assert first + 2_000_000 == driver.timers["operation-timeout"]
    assert not late.answered
    driver.advance(2_000)
    assert late.answered
