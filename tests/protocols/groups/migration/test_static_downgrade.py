"""The last member of the consumer protocol gives its instance id to a classic one."""

from __future__ import annotations

import pytest

from protocols.facts import GroupConverted, GroupEpochRaised, MemberAdded
from protocols.groups.classic.states import State
from protocols.messages import TEMPORARY_LEAVE_EPOCH, LeaveGroupRequest, LeavingMember
from protocols.messages.errors import ErrorCode

from .driver import AGAIN, GROUP, Migration, some

OLD, NEW = "C", "y"


def settled(**settings: int | str) -> Migration:
    """X and the static C, each with half of four partitions, and C away for a while."""
    it = Migration(**settings)
    it.stable("x")
    it.join(OLD, instance="i")
    it.join_classic("x")
    it.sync("x", 2)
    it.beat(OLD, instance="i")
    it.acknowledge(OLD, instance="i")
    assert "Stable" == it.state
    assert ErrorCode.NONE == it.commit(OLD, 2, 2)
    it.beat(OLD, TEMPORARY_LEAVE_EPOCH, instance="i")
    return it


def test_the_group_is_classic_and_goes_on_as_it_was():
    """The new member has the old one's assignment and generation; the others are not affected."""
    it = settled()
    theirs = it.target(OLD)

    joined = it.join_classic(NEW, group_instance_id="i").answer

    assert (True, State.STABLE, 2) == (it.is_classic, it.classic.state, it.classic.generation)
    assert (ErrorCode.NONE, 2, "", ()) == (
        joined.error,
        joined.generation_id,
        joined.leader,
        joined.members,
    )
    assert some(*sorted(theirs)) == it.sync(NEW, 2, group_instance_id="i").answer.assignment
    assert ErrorCode.NONE == it.beat_classic("x", 2)
    sessions = {name for name in it.timers if name.startswith("heartbeat-")}
    assert {f"heartbeat-g-{it.ids['x']}", f"heartbeat-g-{it.ids[NEW]}"} == sessions


def test_the_records_replace_the_member_and_then_the_group():
    """All in one batch, the group's own record last."""
    it = settled()
    it.join_classic(NEW, group_instance_id="i")

    replaced = ["8x", "7x", "5x", "5", "7", "8", "5", "8"]
    deleted = ["8x", "8x", "7x", "7x", "6x", "5x", "5x", "4x", "3x"]
    assert [*replaced, *deleted, "2"] == it.types


def test_both_facts_name_who_came():
    """The member takes a place, and the group goes over with all that each was to have."""
    it = settled()
    it.facts.clear()
    it.join_classic(NEW, group_instance_id="i")
    (added,), (converted,) = it.emitted(MemberAdded), it.emitted(GroupConverted)

    assert (OLD, it.ids[NEW]) == (added.replaced, added.member_id)
    assert ("classic", 2, it.ids[NEW], NEW) == (
        converted.protocol,
        converted.generation,
        converted.member_id,
        converted.client,
    )
    assert {it.ids["x"]: 2, it.ids[NEW]: 2} == {
        member: len(given) for member, given in converted.assignment
    }


def test_with_a_target_that_is_behind_the_group_rebalances():
    """The answer names no generation that anybody knows; the member joins again with its id."""
    it = settled()
    it.enter("z")
    it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(it.ids["z"]),)))
    assert it.group.epoch > it.group.target_epoch
    epoch = it.group.epoch
    it.facts.clear()

    joined = it.join_classic(NEW, group_instance_id="i").answer

    assert (State.PREPARING_REBALANCE, epoch) == (it.classic.state, it.classic.generation)
    assert (ErrorCode.NONE, 0) == (joined.error, joined.generation_id)
    assert [] == it.emitted(GroupEpochRaised)
    assert ErrorCode.NONE != it.sync(NEW, 0, group_instance_id="i").error
    assert AGAIN == it.beat_classic("x", epoch)
    second = it.join_classic(NEW, group_instance_id="i")
    assert epoch + 1 == it.join_classic("x", 0, 1).answer.generation_id
    assert epoch + 1 == second.answer.generation_id


def test_a_member_without_a_target_has_no_assignment():
    """It joined within the assignment interval; the classic group rebalances."""
    it = Migration(group_consumer_assignment_interval_ms=60_000)
    it.join(OLD, instance="i")
    it.enter("x")
    assert it.ids["x"] not in it.group.targets
    it.beat(OLD, TEMPORARY_LEAVE_EPOCH, instance="i")

    it.join_classic(NEW, group_instance_id="i")

    assert (True, State.PREPARING_REBALANCE) == (it.is_classic, it.classic.state)
    assert {it.ids["x"], it.ids[NEW]} == set(it.classic.members)


@pytest.mark.parametrize(
    "settings",
    [
        {"group_consumer_migration_policy": "upgrade"},
        {"group_max_size": 1},
    ],
)
def test_policy_and_size_may_forbid_it(settings):
    """Then it is a replacement like any other: a consumer group of classic members alone."""
    it = Migration(**settings)
    it.join(OLD, instance="i")
    it.enter("x")
    it.beat(OLD, TEMPORARY_LEAVE_EPOCH, instance="i")

    it.join_classic(NEW, group_instance_id="i")

    assert not it.is_classic
    assert it.group.classic_members == len(it.group.members)


def test_while_another_consumer_member_stays_nothing_is_converted():
    """Whichever member joins."""
    it = settled()
    it.join("D")
    it.join_classic(NEW, group_instance_id="i")

    assert not it.is_classic
    assert it.group.member(OLD) is None


def test_a_refused_join_converts_nothing():
    """An unknown member with the instance id, and one whose assignors no member shares."""
    it = settled()
    before = len(it.log)

    assert (
        ErrorCode.FENCED_INSTANCE_ID
        == it.join_classic("z", member_id="Z", group_instance_id="i").error
    )
    other = it.join_classic("w", names=("range",), group_instance_id="i")
    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == other.error
    assert (False, before) == (it.is_classic, len(it.log))


def test_a_failed_append_is_reverted():
    """The consumer group is restored, with the old member away."""
    it = settled()
    it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS

    refused = it.join_classic(NEW, group_instance_id="i")

    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == refused.error
    assert (False, -2) == (it.is_classic, it.member(OLD).current.epoch)
    it.ids.pop(NEW, None)
    assert ErrorCode.NONE == it.join_classic(NEW, group_instance_id="i").error
    assert it.is_classic


def test_a_failover_afterwards_finds_the_classic_group_and_every_offset():
    """The log alone says so."""
    it = settled()
    it.join_classic(NEW, group_instance_id="i")
    it.fail_over()

    assert (True, State.STABLE) == (it.is_classic, it.classic.state)
    stored = it.coordinator.state.durable.offset(GROUP, "t", 2)
    assert stored is not None
    assert 7 == stored.offset
    assert ErrorCode.NONE == it.beat_classic(NEW, 2)
