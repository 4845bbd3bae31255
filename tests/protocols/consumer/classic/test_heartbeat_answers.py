"""The effects of heartbeat answers on a member."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.classic.periods import moves_requests
from protocols.consumer.classic.state import Generation, Membership
from protocols.consumer.clients import JAVA, profile_of
from protocols.consumer.lookup import Unknown
from protocols.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, manual_member, offsets, parts
from .test_background import background

E = ErrorCode


def test_a_rebalance_announced_leaves_the_member_stable():
    """It keeps generation and heartbeats, may commit, and rejoins at its next poll."""
    driver = manual_member()
    driver.learn()
    before = len(driver.times_ms(HeartbeatRequest))
    driver.advance(6_000)
    driver.commit_sync({0: 3})

    assert Membership.STABLE is driver.membership
    assert 2 == len(driver.times_ms(HeartbeatRequest)) - before
    assert 1 == driver.one(OffsetCommitRequest).generation_id
    driver.committed()
    driver.poll()
    assert "group is already rebalancing" == driver.one(JoinGroupRequest).reason


def test_a_rebalance_announced_while_joining_is_ignored():
    """Not stable, not news."""
    driver = ClientDriver(heartbeat_interval_ms=1_000)
    driver.look_up()
    driver.joined()
    driver.poll()
    reason = driver.state.rejoin
    driver.learn()

    assert reason == driver.state.rejoin
    assert Membership.COMPLETING_REBALANCE is driver.membership


@pytest.mark.parametrize(
    ("error", "kept"), [(E.UNKNOWN_MEMBER_ID, ""), (E.ILLEGAL_GENERATION, "m-1")]
)
def test_a_member_the_coordinator_does_not_know_resets_itself(error, kept):
    """Generation gone, thread stopped; the id survives only a wrong generation."""
    driver = manual_member()
    driver.learn(error)
    sent = len(driver.times_ms(HeartbeatRequest))
    driver.advance(20_000)

    assert Generation(member_id=kept) == driver.state.generation
    assert Membership.UNJOINED is driver.membership
    assert sent == len(driver.times_ms(HeartbeatRequest))


@pytest.mark.parametrize("error", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION, E.FENCED_INSTANCE_ID])
def test_errors_for_an_older_generation_are_ignored(error):
    """The member has a newer generation; an error of the old one has no effect."""
    driver = manual_member()
    driver.advance(3_000)
    late = driver.lose(HeartbeatRequest)
    driver.learn()
    driver.join(0, 1, generation=2)
    driver.respond(late, HeartbeatResponse(error=error))
    driver.tick()

    assert 2 == driver.state.generation.id
    assert Membership.STABLE is driver.membership


def test_a_fenced_member_throws_once_and_may_come_back():
    """The thread dies with FENCED_INSTANCE_ID, the next poll throws it; a later one joins."""
    driver = manual_member(group_instance_id="i-1")
    driver.learn(E.FENCED_INSTANCE_ID)
    failed = driver.poll()

    assert Failed("FencedInstanceIdException", E.FENCED_INSTANCE_ID) == failed
    assert [] == driver.calls

    driver.poll()
    assert [("lost", parts(0, 1))] == driver.calls
    assert driver.pending(JoinGroupRequest)


@pytest.mark.parametrize("error", [E.GROUP_AUTHORIZATION_FAILED, E.UNKNOWN_SERVER_ERROR])
def test_after_an_unexpected_answer_the_next_heartbeat_follows_soon(error):
    """``HeartbeatResponseHandler`` fails the heartbeat; its listener only sets the back-off."""
    driver = manual_member()
    driver.learn(error)
    *_, failed_ms = driver.times_ms(HeartbeatRequest)
    driver.advance(1_000)

    assert failed_ms < driver.times_ms(HeartbeatRequest)[-1] <= failed_ms + 500
    assert Membership.STABLE is driver.membership
    assert not driver.pending(JoinGroupRequest)


def test_a_disconnect_only_loses_the_coordinator():
    """Nothing is revoked, the lookup follows at the thread's next turns."""
    driver = manual_member()
    driver.disconnect()
    driver.tick()

    assert Membership.STABLE is driver.membership
    assert isinstance(driver.state.coordinator, Unknown)
    assert 2 == len(driver.ever(FindCoordinatorRequest))


def test_a_zombie_is_handed_more_before_it_learns_of_its_eviction():
    """It is removed silently: polls return records until one handles the error."""
    driver = manual_member(max_poll_records=5)
    driver.hand({0: 25})
    driver.advance_until(HeartbeatRequest)
    driver.poll()
    driver.beaten(E.UNKNOWN_MEMBER_ID)
    driver.poll()
    driver.tick()
    handed = len(driver.batches())
    driver.poll()

    assert 3 == handed
    assert 3 == len(driver.batches())
    assert [("lost", parts(0, 1))] == driver.calls


def test_a_member_that_will_notice_its_removal_does_not_move_with_whole_periods():
    """The client checks its ownership at a fixed time; until then it goes on as a member."""
    driver = manual_member()
    profile = replace(JAVA, checks_ownership_us=12_000_000)
    driver.client.consumer = replace(driver.client.consumer, profile=profile)
    assert moves_requests(driver.state)
    driver.learn(E.UNKNOWN_MEMBER_ID)

    assert 12_000_000 == driver.state.beat.notices_us
    assert Membership.STABLE is driver.membership
    assert not moves_requests(driver.state)

    driver.advance_until(HeartbeatRequest)
    driver.now_us = 11_900_000  # its heartbeat thread reads the answer 100 ms later
    driver.learn(E.UNKNOWN_MEMBER_ID)
    assert Membership.STABLE is not driver.membership


# -- other clients -------------------------------------------------------------------------------


@pytest.mark.parametrize(("client", "named"), [("aiokafka", None), ("librdkafka", "i")])
def test_aiokafka_names_its_instance_only_where_it_joins(client: str, named: str | None):
    """Heartbeat v1 and OffsetCommit v3 have no field for it: a replaced member is unknown, not fenced."""
    driver = background(client, group_instance_id="i", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.commit_async({0: 3})

    assert "i" == driver.ever(JoinGroupRequest)[0].message.group_instance_id
    for kind in (HeartbeatRequest, OffsetCommitRequest):
        assert named == driver.ever(kind)[0].message.group_instance_id


@pytest.mark.parametrize(("client", "kept"), [("aiokafka", ""), ("librdkafka", "m-1")])
def test_aiokafka_drops_its_member_id_for_a_wrong_generation(client: str, kept: str):
    """``reset_generation``: the old id stays in the group until its session ends."""
    driver = background(client, enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.ILLEGAL_GENERATION)

    assert kept == driver.state.generation.member_id


def test_a_fenced_kafka_python_stops_its_heartbeats_and_reads_on():
    """``_do_heartbeat`` only disables them; an automatic commit that is fenced ends it."""
    driver = manual_member(group_instance_id="i")
    consumer = driver.client.consumer
    driver.client.consumer = replace(consumer, profile=profile_of("kafka-python"))
    driver.learn(E.FENCED_INSTANCE_ID)
    sent = len(driver.ever(HeartbeatRequest))
    driver.poll()
    driver.records({0: 5})
    driver.advance(20_000)

    assert [(0, 5)] == [(part.first, part.next_offset) for part in driver.poll()]
    assert sent == len(driver.ever(HeartbeatRequest))


@pytest.mark.parametrize("error", [E.NONE, E.UNKNOWN_MEMBER_ID])
def test_a_removed_aiokafka_commits_as_no_member_before_it_joins_again(error):
    """``_on_join_prepare`` behind ``reset_generation``; an empty group accepts it. "Lost" is not called."""
    driver = background("aiokafka")
    driver.stable({0: 0})
    driver.hand({0: 5})
    driver.calls.clear()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.UNKNOWN_MEMBER_ID)
    commit = driver.one(OffsetCommitRequest)
    assert (-1, "", offsets({0: 5})) == (commit.generation_id, commit.member_id, commit.offsets)
    assert not driver.calls
    driver.committed(error)

    assert [("revoked", parts(0))] == driver.calls
    assert driver.pending(JoinGroupRequest)
    assert not driver.pending(OffsetCommitRequest)
