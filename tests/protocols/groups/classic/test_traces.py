"""Whole stories, step by step, as a coordinator of Kafka 4.4.0 plays them."""

from __future__ import annotations

from protocols.facts import RebalanceStarted
from protocols.groups.classic.states import State
from protocols.messages import HeartbeatRequest, OffsetCommitResponse
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import errors_of, some


def test_the_first_member_waits_for_others_then_leads_alone():
    """A new group of one: id, delay of three seconds, generation 1, assignment once durable."""
    driver = GroupDriver()
    driver.hold = True

    asked = driver.join("a")

    assert ErrorCode.MEMBER_ID_REQUIRED == asked.error
    member_id = asked.answer.member_id
    assert 1 == len(driver.log)
    assert 45_000 == driver.session_ms(member_id)
    assert (State.EMPTY, 0) == (driver.state, driver.group.generation)

    driver.replicate()
    driver.advance(1)
    joined = driver.join("a", member_id)

    assert not joined.answered
    assert State.PREPARING_REBALANCE == driver.state
    assert 300_000 == driver.session_ms(member_id)
    assert 3_001_000 == driver.timers["join-g"]
    assert (3_000, 297_000) == driver.group.window

    driver.advance(3_000)

    assert (ErrorCode.NONE, 1, member_id) == (
        joined.error,
        joined.answer.generation_id,
        joined.answer.leader,
    )
    assert [member_id] == [member.member_id for member in joined.answer.members]
    assert State.COMPLETING_REBALANCE == driver.state
    assert 45_000 == driver.session_ms(member_id)
    assert 303_001_000 == driver.timers["sync-g"]

    driver.advance(1)
    synced = driver.sync(member_id, {member_id: some(0, 1)})

    assert not synced.answered
    assert "sync-g" not in driver.timers
    assert 2 == len(driver.log)

    driver.advance(20)
    driver.replicate()

    assert State.STABLE == driver.state
    assert some(0, 1) == synced.answer.assignment
    assert 45_000 == driver.session_ms(member_id)


def test_a_second_member_joins_a_stable_group():
    """The first learns it from its heartbeat, commits in the old generation, and rejoins."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    b = driver.new_id("b")

    assert State.STABLE == driver.state

    b_joined = driver.join("b", b)

    assert State.PREPARING_REBALANCE == driver.state
    assert (300_000, 300_000_000) == (
        driver.session_ms(b),
        driver.timers["join-g"] - driver.now_us,
    )
    driver.advance(10)
    assert [ErrorCode.NONE] == errors_of(driver.commit(a, generation=1))
    assert 45_000 == driver.session_ms(a)
    driver.advance(10)
    assert ErrorCode.REBALANCE_IN_PROGRESS == driver.heartbeat(a, 1).error
    assert 45_000 == driver.session_ms(a)

    a_joined = driver.join("a", a)

    assert [2, 2] == [call.answer.generation_id for call in (a_joined, b_joined)]
    assert a == a_joined.answer.leader
    assert {a, b} == {member.member_id for member in a_joined.answer.members}
    assert () == b_joined.answer.members
    assert [45_000, 45_000] == [driver.session_ms(a), driver.session_ms(b)]
    assert 300_000_000 == driver.timers["sync-g"] - driver.now_us
    assert [ErrorCode.ILLEGAL_GENERATION] == errors_of(driver.commit(a, generation=1))
    assert [ErrorCode.REBALANCE_IN_PROGRESS] == errors_of(driver.commit(a, generation=2))
    assert ErrorCode.NONE == driver.heartbeat(b, 2).error

    b_synced = driver.sync(b)
    assert not b_synced.answered
    a_synced = driver.sync(a, {a: some(0), b: some(1)})

    assert [some(0), some(1)] == [a_synced.answer.assignment, b_synced.answer.assignment]
    assert State.STABLE == driver.state


def test_a_follower_dies():
    """Its session runs out; the survivor rejoins; nothing is written before it syncs."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.heartbeat(b)
    written = len(driver.log)
    for _ in range(4):
        driver.advance(10_000)
        driver.heartbeat(a)
    driver.advance(4_999)
    assert State.STABLE == driver.state

    driver.advance(1)

    assert State.PREPARING_REBALANCE == driver.state
    assert [f"removing member {b} on heartbeat expiration."] == [
        fact.reason for fact in driver.emitted(RebalanceStarted)[1:]
    ]
    assert 300_000_000 == driver.timers["join-g"] - driver.now_us
    assert ErrorCode.REBALANCE_IN_PROGRESS == driver.heartbeat(a).error

    joined = driver.join("a", a)

    assert 2 == joined.answer.generation_id
    assert written == len(driver.log)
    driver.sync(a)
    assert written + 1 == len(driver.log)


def test_the_last_member_leaves():
    """The group is empty one generation on, at once; the answer waits for that record."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.hold = True

    left = driver.leave(a)

    assert (State.EMPTY, 2) == (driver.state, driver.group.generation)
    assert not left.answered
    emptied = driver.group_records()[-1]
    assert emptied is not None
    assert ("consumer", 2, None, None, ()) == (
        emptied.protocol_type,
        emptied.generation,
        emptied.protocol,
        emptied.leader,
        emptied.members,
    )
    driver.replicate()
    assert [ErrorCode.NONE] == errors_of(left)
    driver.hold = False

    _, joined = driver.enter("a")
    driver.advance(2_999)
    assert not joined.answered
    driver.advance(1)
    assert 3 == joined.answer.generation_id


def test_a_coordinator_moves_while_a_member_joins():
    """The new coordinator knows the last stable generation and nothing of the join under way."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    b, b_joined = driver.enter("b")

    driver.fail_over()

    assert (ErrorCode.NOT_COORDINATOR, b) == (b_joined.error, b_joined.answer.member_id)
    assert (State.STABLE, 1, [a]) == (
        driver.state,
        driver.group.generation,
        list(driver.group.members),
    )
    assert 45_000 == driver.session_ms(a)
    assert ErrorCode.NONE == driver.heartbeat(a, 1).error
    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.join("b", b).error
    assert ErrorCode.MEMBER_ID_REQUIRED == driver.join("b").error


def test_while_a_shard_loads_heartbeats_succeed():
    """A loading coordinator answers NONE to any heartbeat, and keeps no session."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.coordinator.unload(driver.now_us)

    driver.begin_load()

    assert ErrorCode.NONE == driver.send(_heartbeat("nobody")).error
    assert {} == driver.timers
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS == driver.join("b").error
    answer = driver.commit(a, generation=1).answer
    assert isinstance(answer, OffsetCommitResponse)
    assert [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] == [error for _, error in answer.errors]


def test_a_static_follower_restarts():
    """A new id takes its place without a rebalance; the old one is fenced from then on."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    leader, old = ids["R"], ids["S"]
    driver.hold = True

    returned = driver.join("S", instance="S")

    assert not returned.answered
    assert 3 == len(driver.log)
    driver.replicate()
    answer = returned.answer
    assert (ErrorCode.NONE, 1, leader, (), False) == (
        answer.error,
        answer.generation_id,
        answer.leader,
        answer.members,
        answer.skip_assignment,
    )
    new = answer.member_id
    assert new != old
    assert State.STABLE == driver.state
    assert some(1) == driver.sync(new, group_instance_id="S").answer.assignment
    assert ErrorCode.FENCED_INSTANCE_ID == driver.heartbeat(old, 1, "S").error
    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.heartbeat(old, 1).error


def _heartbeat(member_id: str):
    return HeartbeatRequest(group_id="g", generation_id=7, member_id=member_id)
