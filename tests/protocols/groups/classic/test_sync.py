"""SyncGroup: the leader's assignment and the wait for it."""

from __future__ import annotations

import pytest

from protocols.facts import Departure, GroupStabilised, MemberRemoved, RebalanceStarted
from protocols.groups.classic.states import State
from protocols.groups.shard import Fix
from protocols.messages import HeartbeatRequest, SyncGroupRequest, SyncGroupResponse
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import GROUP, protocols, some


def completing(driver: GroupDriver, *clients: str, **more) -> list[str]:
    """Bring a new group to its first sync phase."""
    ids = [driver.enter(client, **more)[0] for client in clients]
    while driver.state is State.PREPARING_REBALANCE:
        driver.advance(3_000)
    return ids


def test_an_unknown_group_knows_no_member():
    """The answer is empty but for the error."""
    driver = GroupDriver()
    request = SyncGroupRequest(
        group_id="other", generation_id=1, member_id="a-1", protocol_name="range"
    )

    assert SyncGroupResponse(error=ErrorCode.UNKNOWN_MEMBER_ID) == driver.send(request).answer


@pytest.mark.parametrize(
    "given",
    [{"protocol_type": "connect"}, {"protocol_name": "sticky"}],
    ids=["type", "name"],
)
def test_a_protocol_that_is_not_the_groups_is_refused(given: dict):
    """Since version 5 members say which protocol they mean."""
    driver = GroupDriver()
    (a,) = driver.stable("a")

    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == driver.sync(a, **given).error


def test_old_members_need_not_name_the_protocol():
    """Left out it fits; the answer names it."""
    driver = GroupDriver()
    (a,) = driver.stable("a")

    answer = driver.sync(a, protocol_type=None, protocol_name=None, version=4).answer

    assert (ErrorCode.NONE, "consumer", "range", some(0)) == (
        answer.error,
        answer.protocol_type,
        answer.protocol_name,
        answer.assignment,
    )


@pytest.mark.parametrize("missing", ["protocol_type", "protocol_name"])
def test_since_version_5_the_protocol_must_be_named(missing: str):
    """The broker refuses before it looks at the group."""
    driver = GroupDriver()

    refused = driver.sync("a-1", **{missing: None}, generation=1)

    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == refused.error


def test_a_follower_after_the_leader_is_served_at_once():
    """From what is stored; its session is not touched."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b")
    driver.sync(a, {a: some(0), b: some(1)})
    driver.advance(2_000)

    assert some(1) == driver.sync(b).answer.assignment
    assert 43_000 == driver.session_ms(b)
    assert "sync-g" not in driver.timers


def test_a_follower_before_the_leader_waits_for_the_log():
    """Both are answered when the record is durable, with a fresh session."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b")
    follower = driver.sync(b)
    driver.hold = True
    leader = driver.sync(a, {a: some(0), b: some(1)})
    driver.advance(1_000)

    assert not leader.answered
    assert not follower.answered

    driver.replicate()

    assert [some(0), some(1)] == [leader.answer.assignment, follower.answer.assignment]
    assert [45_000, 45_000] == [driver.session_ms(a), driver.session_ms(b)]
    (event,) = driver.emitted(GroupStabilised)
    assert {a: some(0), b: some(1)} == dict(event.assignment)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_stored_begins_a_rebalance(raw: ErrorCode, said: ErrorCode):
    """All parked requests get the mapped error."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b")
    follower = driver.sync(b)
    driver.refuse = raw

    leader = driver.sync(a, {a: some(0)})

    assert [said, said] == [leader.error, follower.error]
    assert State.PREPARING_REBALANCE == driver.state
    assert f"Error {said.name} when" in driver.facts[-1].reason
    assert 1 == driver.group.generation


def test_an_assignment_that_takes_too_long_begins_a_rebalance():
    """The record stays in the log and may yet become durable, to no effect."""
    driver = GroupDriver()
    (a,) = completing(driver, "a")
    driver.hold = True
    synced = driver.sync(a, {a: some(0)})
    driver.advance(4_999)

    assert not synced.answered

    driver.advance(1)

    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == synced.error
    assert State.PREPARING_REBALANCE == driver.state
    driver.replicate()
    assert State.PREPARING_REBALANCE == driver.state
    record = driver.group_records()[-1]
    assert record is not None
    assert 1 == record.generation


def test_a_rebalance_overtakes_an_assignment_on_its_way_to_the_log():
    """When the record is durable, no member gets it."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b")
    driver.hold = True
    leader = driver.sync(a, {a: some(0), b: some(1)})

    driver.join("b", b, offers=protocols(topics=("u",)))

    assert ErrorCode.REBALANCE_IN_PROGRESS == leader.error
    driver.replicate()
    assert State.PREPARING_REBALANCE == driver.state
    assert 0 == len(driver.group.assignments)


def test_an_assignment_that_fails_after_a_rebalance_has_begun_begins_no_other():
    """Its generation is over already."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b")
    driver.hold = True
    start = len(driver.log)
    driver.sync(a, {a: some(0)})
    driver.join("b", b, offers=protocols(topics=("u",)))
    rebalances = len(driver.emitted(RebalanceStarted))

    driver.reject(start, ErrorCode.NOT_ENOUGH_REPLICAS)

    assert rebalances == len(driver.emitted(RebalanceStarted))
    assert State.PREPARING_REBALANCE == driver.state


def test_a_leader_that_syncs_twice_writes_twice():
    """The first record to be durable settles it; the older request is never answered."""
    driver = GroupDriver()
    (a,) = completing(driver, "a")
    driver.hold = True
    first = driver.sync(a, {a: some(0)})
    second = driver.sync(a, {a: some(1)})

    assert 3 == len(driver.log)
    driver.replicate()

    assert not first.answered
    assert some(0) == second.answer.assignment


def test_a_dying_leader_releases_the_followers():
    """A parked follower outlives its own timer, then gets REBALANCE_IN_PROGRESS."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b")
    driver.advance(1_000)
    driver.send(HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=a))
    follower = driver.sync(b)
    driver.advance(44_500)

    assert not follower.answered

    driver.advance(500)

    assert ErrorCode.REBALANCE_IN_PROGRESS == follower.error
    assert [b] == list(driver.group.members)
    assert b == driver.group.leader_id


def test_no_member_syncs():
    """After the rebalance timeout all are removed, even with heartbeats."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b", rebalance_ms=10_000)
    for _ in range(2):
        driver.advance(4_999)
        driver.heartbeat(a)
        driver.heartbeat(b)

    driver.advance(2)

    assert (State.EMPTY, 2) == (driver.state, driver.group.generation)
    assert [Departure.DID_NOT_SYNC] * 2 == [fact.why for fact in driver.emitted(MemberRemoved)]
    record = driver.group_records()[-1]
    assert record is not None
    assert (2, ()) == (record.generation, record.members)


def test_silent_followers_are_dropped_from_a_stable_group():
    """They had the rebalance timeout to fetch their assignment."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b", rebalance_ms=10_000)
    driver.sync(a, {a: some(0)})

    assert State.STABLE == driver.state
    driver.advance(10_000)

    assert State.PREPARING_REBALANCE == driver.state
    assert [a] == list(driver.group.members)
    assert f"heartbeat-g-{b}" not in driver.timers


def test_a_silent_leader_is_dropped():
    """Followers that wait for it get REBALANCE_IN_PROGRESS, and one of them leads."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b", rebalance_ms=10_000)
    follower = driver.sync(b)

    driver.advance(10_000)

    assert ErrorCode.REBALANCE_IN_PROGRESS == follower.error
    assert b == driver.group.leader_id
    assert a not in driver.group.members


def test_before_kafka_12890_heartbeats_keep_a_member_that_never_syncs():
    """Its session is all that ends the sync phase."""
    driver = GroupDriver(lacks=(Fix.PENDING_SYNCS,))
    a, b = completing(driver, "a", "b", session_ms=45_000, rebalance_ms=10_000)
    for _ in range(3):
        driver.heartbeat(a)
        driver.heartbeat(b)
        driver.advance(30_000)

    assert State.COMPLETING_REBALANCE == driver.state
    assert {a, b} == set(driver.group.pending_syncs)
    driver.heartbeat(b)
    driver.advance(15_000)

    assert State.PREPARING_REBALANCE == driver.state
    assert [b] == list(driver.group.members)


def test_once_all_have_synced_the_sync_timer_is_cancelled():
    """Even before the assignment is durable."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b")
    driver.sync(b)
    driver.hold = True

    driver.sync(a, {})

    assert "sync-g" not in driver.timers


def test_each_generation_waits_for_its_own_syncs():
    """A member missing in the last one starts with a full timeout."""
    driver = GroupDriver()
    a, b = completing(driver, "a", "b")
    driver.sync(a, {})
    assert [b] == list(driver.group.pending_syncs)

    driver.join("a", a)

    assert [] == list(driver.group.pending_syncs)
    driver.join("b", b)
    assert {a, b} == set(driver.group.pending_syncs)


def test_the_record_of_an_assignment_has_the_start_of_the_sync_phase():
    """Its timestamp is that of the state in which it was written."""
    driver = GroupDriver()
    (a,) = completing(driver, "a")
    began_ms = driver.now_ms
    driver.advance(700)

    driver.sync(a, {a: some(0)})

    record = driver.group_records()[-1]
    assert record is not None
    assert began_ms == record.current_state_timestamp
    assert driver.now_ms == driver.group.state_since_ms


def test_user_data_of_a_member_without_partitions_is_not_kept():
    """The leader's data are kept for those that it gives something."""
    driver = GroupDriver()
    leader, other = completing(driver, "a", "b")
    leader, other = (leader, other) if driver.group.leader_id == leader else (other, leader)

    driver.sync(leader, {leader: some(0)}, user_data=((leader, b"l"), (other, b"o")))

    assert {leader: b"l"} == dict(driver.group.user_data)
