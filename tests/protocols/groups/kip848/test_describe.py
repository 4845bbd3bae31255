"""A group as administrators see it, and groups of both protocols side by side."""

from __future__ import annotations

from protocols.messages import (
    ConsumerGroupDescribeRequest,
    DescribeGroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import GROUP, IDS, ConsumerGroupDriver, owned, topic

DESCRIBE = ConsumerGroupDescribeRequest(group_id=GROUP)


def test_a_group_is_shown_as_it_is_durable():
    """Epochs, assignor, and each member with what it has and shall have."""
    it = ConsumerGroupDriver()
    it.hold = True
    it.join("A", rack_id="r")
    assert (ErrorCode.GROUP_ID_NOT_FOUND, "") == (
        it.send(DESCRIBE).error,
        it.send(DESCRIBE).answer.state,
    )
    it.replicate()

    shown = it.send(DESCRIBE).answer

    assert ("Stable", 2, 2, "uniform") == (
        shown.state,
        shown.group_epoch,
        shown.assignment_epoch,
        shown.assignor,
    )
    (member,) = shown.members
    assert ("A", 2, "r", "/10.0.0.7") == (
        member.member_id,
        member.member_epoch,
        member.rack_id,
        member.client_host,
    )
    assert owned(0, 1, 2, 3, 4, 5) == member.assignment == member.target
    assert not member.is_classic


def test_states_follow_what_happens():
    """Assigning until the target is computed, reconciling until all members are stable."""
    it = ConsumerGroupDriver()
    it.join("A")
    assert "Stable" == it.state
    it.join("B")
    assert "Reconciling" == it.state
    it.leave("B")
    assert "Assigning" == it.state
    it.leave("A")
    assert "Empty" == it.state


def test_the_older_description_does_not_know_the_group():
    """Tools that speak of classic groups see none."""
    it = ConsumerGroupDriver()
    it.join("A")

    answer = it.send(DescribeGroupRequest(group_id=GROUP)).answer

    assert (ErrorCode.GROUP_ID_NOT_FOUND, "Dead") == (answer.error, answer.state)


def classic_join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocols=(),
    )


def test_requests_of_classic_strangers_are_refused():
    """The group has no such member."""
    it = ConsumerGroupDriver()
    it.join("A")

    for request in (
        HeartbeatRequest(group_id=GROUP, generation_id=2, member_id="X"),
        SyncGroupRequest(group_id=GROUP, generation_id=2, member_id="X", protocol_name="range"),
    ):
        assert ErrorCode.UNKNOWN_MEMBER_ID == it.send(request).error
    left = it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember("X"),))).answer
    assert ErrorCode.UNKNOWN_MEMBER_ID in {left.error, *(each.error for each in left.members)}
    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == it.send(classic_join()).error
    assert "Stable" == it.state


def test_revoked_partitions_are_shown_until_the_member_confirms():
    """Partitions of a deleted topic are not shown at all."""
    it = ConsumerGroupDriver(topic(partitions=2), topic("u", 1))
    it.join("A", "t", "u")
    it.join("B")
    it.beat("A")
    assert it.revoking("A")
    it.topics_are(topic(partitions=2))

    shown = {each.member_id: each for each in it.send(DESCRIBE).answer.members}

    assert [{0, 1}] == [set(each.partitions) for each in shown["A"].assignment]
    assert [IDS["t"]] == [each.topic_id for each in shown["A"].assignment]
    assert IDS["u"] not in [each.topic_id for each in shown["A"].target]
