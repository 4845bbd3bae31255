"""A consumer group of which only classic members are left."""

from __future__ import annotations

import pytest

from protocols.facts import Departure, GroupConverted, GroupEpochRaised, MemberRemoved
from protocols.groups.classic.states import State
from protocols.messages import (
    HeartbeatRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetFetchRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import encode_assignment

from .driver import AGAIN, GROUP, Migration, consumers, mixed, some


def test_the_last_consumer_member_leaves_a_classic_group():
    """With the targets as assignments, in generation of the group epoch, and a rebalance begins."""
    it = mixed()

    it.leave("C")

    assert ["8x", "8x", "7x", "7x", "6x", "5x", "5x", "4x", "3x", "2"] == it.types
    assert (State.PREPARING_REBALANCE, 2) == (it.classic.state, it.classic.generation)
    assert AGAIN == it.beat_classic("x", 2)
    assert 3 == it.join_classic("x", 0, 1).answer.generation_id
    assert "heartbeat-g-" + it.ids["x"] in it.timers


def test_the_timers_of_the_consumer_group_go_on_without_effect():
    """Those of all its members, also of the one that left."""
    it = mixed()
    before = {name: at for name, at in it.timers.items() if name.startswith(("session-", "re"))}

    it.leave("C")

    assert before.keys() >= {f"session-timeout-g-{name}" for name in ("C", it.ids["x"])}
    assert before == {name: it.timers[name] for name in before}
    it.join_classic("x", 0, 1)
    it.sync("x", 3, {"x": range(4)})
    for _ in range(10):
        it.advance(5_000)
        assert ErrorCode.NONE == it.beat_classic("x", 3)
    assert not before.keys() & it.timers.keys()


def test_a_member_that_left_expires_if_the_append_of_the_downgrade_fails():
    """The group is a consumer group again, and the session of the member is still running."""
    it = mixed()
    it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS

    it.leave("C")
    assert not it.is_classic
    it.keep_alive("x", 2, until_ms=46_000)

    assert it.is_classic
    assert [Departure.LEFT, Departure.EXPIRED] == [fact.why for fact in it.emitted(MemberRemoved)]


def test_a_sync_timer_outlives_a_downgrade_and_an_upgrade():
    """X synced with the classic group; the timer of its join before fences it in the next one."""
    it = mixed()
    it.join("D")
    it.join_classic("x", 0, 1)
    epoch = it.group.epoch
    it.leave("C")
    it.leave("D")
    it.join_classic("x", 0, 1)
    it.sync("x", it.classic.generation, {"x": range(4)})
    resync = it.timers[f"resync-timeout-g-{it.ids['x']}"]
    it.advance(100)
    it.join("E")

    assert (False, resync) == (it.is_classic, it.timers[f"resync-timeout-g-{it.ids['x']}"])
    assert epoch < it.group.epoch
    it.keep_alive("x", it.member(it.ids["x"]).current.epoch, until_ms=resync // 1000)
    assert it.group.member(it.ids["x"]) is None
    assert Departure.DID_NOT_SYNC is it.emitted(MemberRemoved)[-1].why


def test_events_have_the_change_and_only_written_epochs():
    """The member that left, its epoch, and the assignments of the others."""
    it = mixed()
    it.facts.clear()
    it.leave("C")
    (converted,) = it.emitted(GroupConverted)

    assert ("classic", 2, "C", "") == (
        converted.protocol,
        converted.generation,
        converted.member_id,
        converted.client,
    )
    assert ((it.ids["x"], some(0, 1)),) == converted.assignment
    assert [] == it.emitted(GroupEpochRaised)


def test_the_last_consumer_member_falls_silent():
    """It is a removal like any other."""
    it = mixed()
    for _ in range(9):
        it.advance(5_000)
        it.send(HeartbeatRequest(group_id=GROUP, generation_id=2, member_id=it.ids["x"]))

    assert it.is_classic
    assert [Departure.EXPIRED] == [fact.why for fact in it.emitted(MemberRemoved)]


def test_the_last_consumer_member_does_not_revoke_in_time():
    """Its rebalance timeout converts the group as its session would."""
    it = consumers()
    it.beat("C", rebalance_timeout_ms=5_000)
    it.enter("x")
    it.beat("C")
    assert it.revoking("C")
    it.advance(5_000)

    assert it.is_classic
    assert [Departure.DID_NOT_REVOKE] == [fact.why for fact in it.emitted(MemberRemoved)]


def test_the_last_consumer_member_is_removed_by_an_administrator():
    """By LeaveGroup."""
    it = mixed()
    it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember("C"),)))

    assert it.is_classic


@pytest.mark.parametrize(
    "settings",
    [{"group_consumer_migration_policy": "upgrade"}],
)
def test_policy_may_forbid_the_downgrade(settings):
    """It stays a consumer group with classic members alone."""
    it = mixed(**settings)
    it.leave("C")

    assert not it.is_classic
    assert [it.ids["x"]] == list(it.group.members.entries)
    assert ErrorCode.NONE == it.beat_classic("x", 2)
    assert 3 == it.join_classic("x").answer.generation_id


def test_while_another_consumer_member_stays_nothing_is_converted():
    """Nor when the last classic member leaves."""
    it = mixed()
    it.join("D")
    it.leave("D")
    assert not it.is_classic
    it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(it.ids["x"]),)))

    assert not it.is_classic
    assert {"t": {0, 1, 2, 3}} == it.beat("C").assignment


def test_there_and_back_again_loses_no_offset():
    """Classic, consumer, classic: the committed offset is there all the time."""
    it = mixed()
    assert ErrorCode.NONE == it.commit("C", 2, 2)
    it.leave("C")

    stored = it.coordinator.state.durable.offset(GROUP, "t", 2)
    assert stored is not None
    assert 7 == stored.offset
    it.fail_over()
    assert it.is_classic


def test_a_group_that_was_too_large_becomes_classic_when_it_is_small_enough():
    """Classic members alone, and one more of them goes."""
    it = mixed(group_max_size=1)
    it.enter("y")
    it.leave("C")
    assert not it.is_classic

    it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(it.ids["y"]),)))

    assert it.is_classic
    assert [it.ids["x"]] == list(it.classic.members)


def test_a_look_up_that_ends_among_classic_members_converts_nothing():
    """No member left."""
    it = mixed(group_consumer_migration_policy="upgrade")
    it.join("D", subscribed_topic_names=None, subscribed_topic_regex="t")
    it.leave("C")
    it.leave("D")
    it.advance(0)

    assert not it.is_classic


def emptied() -> Migration:
    """A consumer group without members that has an offset."""
    it = consumers()
    it.commit("C", it.member("C").current.epoch, 2)
    it.leave("C")
    return it


def test_a_refused_join_removes_an_empty_group_from_memory_alone():
    """It comes with an old member id; until the next one there is no group, and no tombstones follow."""
    it = emptied()
    before = len(it.log)

    refused = it.join_classic("x", member_id="old")

    assert (ErrorCode.UNKNOWN_MEMBER_ID, before) == (refused.error, len(it.log))
    assert not it.exists
    assert [("classic", "old")] == [
        (each.protocol, each.member_id) for each in it.emitted(GroupConverted)
    ]
    assert ErrorCode.GROUP_ID_NOT_FOUND == it.commit("C", 1, 2)
    assert ErrorCode.GROUP_ID_NOT_FOUND == it.beat("C", 1).error
    (fetched,) = it.send(
        OffsetFetchRequest(group_id=GROUP, partitions=some(2), require_stable=True)
    ).answer.offsets
    assert -1 == fetched.offset

    it.join_classic("x", member_id="")
    assert (["2"], True) == (it.types, it.is_classic)


@pytest.mark.parametrize("fails", [True, False])
def test_an_empty_group_removed_from_memory_is_in_the_log(fails):
    """A new coordinator finds it, and so does one whose next append fails."""
    it = emptied()
    it.join_classic("x", member_id="old")

    if fails:
        it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
        it.join_classic("x", member_id="")
    else:
        it.fail_over()

    assert (False, "Empty") == (it.is_classic, it.state)


def test_a_member_without_partitions_has_an_assignment_without_partitions_in_the_record():
    """As the leader writes it in any other generation, not as no bytes at all."""
    it = mixed()
    for name in "wyz":
        it.enter(name)
    idle = next(name for name, given in it.group.targets.items() if not given)

    it.leave("C")

    value = it.batches[-1][-1].value
    (stored,) = [each for each in value.members if each.member_id == idle]
    assert encode_assignment(()) == stored.assignment
